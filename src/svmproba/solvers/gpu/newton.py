r"""Newton steps on the augmented Lagrangians of thousands of models at once, on torch.

The mathematics is that of :mod:`~svmproba.solvers.newton.lagrangian`, written in shares of the
bounds: :math:`x_i = \alpha_i / c_i\in[0, 1]` with :math:`c_i = C N_i`. For shares :math:`\beta` and
a penalty :math:`s` (one per model), :math:`x = \mathrm{clip}(\beta + s\,l, 0, 1)` with the lacks
:math:`l_i = t_i - a_i^\top v`, the gradient is :math:`(w, 0) - C\sum_i N_ix_ia_i` and the Hessian
:math:`E + sC\sum_{i\in J}N_ia_ia_i^\top`, :math:`J = \{0 < x_i < 1\}`.

The rows are shared, so every sum over samples is one matrix product for all models. That holds for
the Hessians too: the row of model p in (models x samples) @ (samples x products of two columns) is
its Hessian. Nothing is gathered. Models that are done leave the batch.

A batch may hold models of several tables of one shape, one table after the other (pairs of
classes): there is then one product for each table, and everything else is done for all at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor

from svmproba.solvers.gpu import torch_ops
from svmproba.solvers.gpu.torch_ops import Samples, clipped
from svmproba.solvers.problem import tensor_gap

#: Newton steps for one member on the device; those that need more are left to the CPU.
MAX_STEPS = 100
#: Growth of the penalty when one Newton step was enough for a multiplier step.
_GROWTH = 1.5
#: The batch is compacted when no more than this share of its models is still open.
_COMPACT = 0.85
#: Curvature of a bias that has none.
_TINY = 1e-11
#: From so many samples on, those that are inner in no model are left out of the Hessians' product.
_MANY_SAMPLES = 4096
#: Systems that are factored at once: libraries of GPUs have limits for a batch.
_SYSTEMS = 2**15
#: Stands for the number of Newton steps where none leads anywhere.
_STUCK = 1000


class Table(NamedTuple):
    """What all models of a table share, on the device."""

    rows: Tensor  # (n, d + 1), signed rows a_i, bias last
    sums: Tensor  # (n, 2, d + 2), the same with the targets, one class at a time, the other 0
    upper: tuple[Tensor, Tensor]  # columns whose products make the Hessian's upper triangle
    unpack: Tensor  # ((d + 1) ** 2,), places of the Hessian's entries in that triangle
    products: Tensor  # (n, (d + 1)(d + 2) / 2), or no rows: made anew in pieces
    piece: int  # samples a piece


Tables = Sequence[Table]


class Models(NamedTuple):
    """State of the models in the batch; the first axis is theirs."""

    samples: Samples
    place: Tensor  # (p,), where the model's result goes
    C: Tensor  # (p,)
    point: Tensor  # (p, d + 1), weights and bias
    penalty: Tensor  # (p,)
    inner_steps: Tensor  # (p,), Newton steps since the multipliers moved
    open: Tensor  # (p,), gap not yet small enough
    sizes: list[int]  # models of each table

    def take(self, index: Tensor, sizes: list[int]) -> Models:
        """Return some of the models, so many of each table."""
        samples, *others, _ = self
        chosen = Samples(*(part.index_select(0, index) for part in samples))
        fields: list[Any] = [chosen, *(part.index_select(0, index) for part in others), sizes]
        return Models(*fields)


class Results(NamedTuple):
    """Results of the models, filled in as they finish."""

    point: Tensor  # (models, d + 1)
    share: Tensor  # (models, n), multipliers as shares of their bounds


@cache
def operations(device_type: str) -> Any:
    """Return the module with the operations on samples: Triton's on a GPU, where it works."""
    if device_type != "cuda":
        return torch_ops
    try:
        from svmproba.solvers.gpu import triton_ops

        one = torch.ones((1, 1), dtype=torch.float64, device=device_type)
        triton_ops.evaluate(Samples(one, one, one), one[0])
    except Exception:  # no Triton, or no C compiler, which it needs: slower, same results
        return torch_ops
    return triton_ops


def make_table(rows: Tensor, signs: Tensor, targets: Tensor, piece_bytes: int) -> Table:
    """Prepare rows (n, d); products of columns never need more than about `piece_bytes`."""
    n, width = rows.shape[0], rows.shape[1] + 1
    signed = torch.cat([rows, torch.ones_like(signs)[:, None]], 1) * signs[:, None]
    i, j = torch.triu_indices(width, width, device=rows.device)
    unpack = torch.empty((width, width), dtype=torch.int64, device=rows.device)
    unpack[i, j] = unpack[j, i] = torch.arange(len(i), device=rows.device)
    # Kept, a part of them is picked in every step; in pieces, both factors are there as well.
    kept = 16 * n * len(i) <= piece_bytes
    piece = n if kept else max(1, min(n, piece_bytes // (24 * len(i))))
    products = signed[:, i] * signed[:, j] if kept else signed[:0, i]
    both = torch.cat([signed, targets[:, None]], 1)
    sums = torch.stack([both * (signs > 0)[:, None], both * (signs < 0)[:, None]], 1)
    return Table(signed, sums, (i, j), unpack.reshape(-1), products, piece)


def _products(models: Tensor, sizes: list[int], matrices: Iterable[Tensor], width: int) -> Tensor:
    """Multiply the models (p, m) of each table by its matrix (m, width)."""
    found = models.new_empty((len(models), width))
    for part, matrix, out in zip(models.split(sizes), matrices, found.split(sizes), strict=True):
        if len(part):
            torch.mm(part, matrix, out=out)
    return found


def _class_sums(tables: Tables, models: Models, weighted: Tensor) -> tuple[Tensor, Tensor]:
    """Sum the multipliers times the rows, by class, each (p, d + 2)."""
    matrices = (table.sums.flatten(1) for table in tables)
    width = tables[0].sums[0].numel()
    sums = _products(weighted, models.sizes, matrices, width).mul_(models.C[:, None])
    plus, minus = sums.chunk(2, 1)
    return plus, minus


def _packed_products(table: Table, inner: Tensor, out: Tensor) -> None:
    """Sum the products of columns over the inner samples: upper triangles (p, entries)."""
    if len(table.products) >= _MANY_SAMPLES:
        here = torch.nonzero((inner != 0).any(0))[:, 0]
        torch.mm(inner.index_select(1, here), table.products.index_select(0, here), out=out)
    elif len(table.products):
        torch.mm(inner, table.products, out=out)
    else:
        i, j = table.upper
        out.zero_()
        for first in range(0, len(table.rows), table.piece):
            rows = table.rows[first : first + table.piece]
            out.addmm_(inner[:, first : first + table.piece], rows[:, i] * rows[:, j])


def _hessians(tables: Tables, sizes: list[int], inner: Tensor, scale: Tensor) -> Tensor:
    """Hessians, (p, d + 1, d + 1), the bias with a trace of curvature."""
    packed = inner.new_empty((len(inner), len(tables[0].upper[0])))
    for table, part, out in zip(tables, inner.split(sizes), packed.split(sizes), strict=True):
        if len(part):
            _packed_products(table, part, out)
    width = tables[0].rows.shape[1]
    packed *= scale[:, None]
    full = packed.index_select(1, tables[0].unpack).view(-1, width, width)
    diagonal = full.diagonal(dim1=1, dim2=2)
    diagonal[:, :-1] += 1.0
    diagonal[:, -1] += _TINY * (1.0 + scale)
    return full


def _directions(hessian: Tensor, gradient: Tensor, scale: Tensor, mass: Tensor) -> Tensor:
    """Newton directions, (p, d + 1)."""
    direction = torch.empty_like(gradient)
    pieces = (part.split(_SYSTEMS) for part in (hessian, gradient, direction))
    for matrix, right, out in zip(*pieces, strict=True):
        factor, _ = torch.linalg.cholesky_ex(matrix)
        half = torch.linalg.solve_triangular(factor, -right[:, :, None], upper=False)
        out.copy_(torch.linalg.solve_triangular(factor.mT, half, upper=True)[:, :, 0])
    # Without inner samples nothing curves in the bias: move it by one margin, if off balance.
    straight = hessian[:, -1, -1] <= 2.0 * _TINY * (1.0 + scale)
    plain = -gradient
    balanced = gradient[:, -1].abs() <= 1e-10 * mass
    plain[:, -1] = torch.where(balanced, 0.0, -gradient[:, -1].sign())
    return torch.where(straight[:, None], plain, direction)


def _gradient(point: Tensor, total: Tensor) -> Tensor:
    gradient = -total[:, :-1]
    gradient[:, :-1] += point[:, :-1]
    return gradient


def _step(tables: Tables, models: Models, ready: Tensor, primal: Tensor, ops: Any) -> Models:
    """Move the multipliers of models that are ready, then every open model along its direction."""
    samples, _, C, point, penalty, inner_steps, is_open, sizes = models
    new_penalty = torch.where(ready & (inner_steps == 1), _GROWTH * penalty, penalty)
    weighted, inner = ops.move(samples, ready, penalty, new_penalty)
    plus, minus = _class_sums(tables, models, weighted)
    gradient, scale = _gradient(point, plus + minus), new_penalty * C
    hessian = _hessians(tables, sizes, inner, scale)
    del weighted, inner
    direction = _directions(hessian, gradient, scale, plus[:, -2] - minus[:, -2])
    first = (gradient * direction).sum(1)
    # At a minimum up to rounding, or NaN: stay here, move the multipliers next.
    moves = is_open & (first < -1e-13 * primal)
    direction = torch.where(moves[:, None], direction, 0.0)
    a0 = (point[:, :-1] * direction[:, :-1]).sum(1)
    a1 = direction[:, :-1].square().sum(1)
    turned = (table.rows.T for table in tables)
    change = _products(-direction, sizes, turned, len(tables[0].rows))
    first = torch.where(moves, first, 0.0)
    tau = ops.line_search(samples, change, new_penalty, C, first, a0, a1)
    return models._replace(
        point=torch.addcmul(point, direction, tau[:, None]),
        penalty=new_penalty,
        inner_steps=torch.where(moves, torch.where(ready, 1, inner_steps + 1), _STUCK),
    )


def _judge(
    models: Models, plus: Tensor, minus: Tensor, hinge: Tensor, tol: float
) -> tuple[Tensor, Tensor]:
    """Close models whose gap is small enough; tell whose multipliers should move, and P."""
    primal = 0.5 * models.point[:, :-1].square().sum(1) + hinge
    gap, dual = tensor_gap(primal, plus, minus)
    models.open.logical_and_(gap > tol)
    total = plus + minus
    gradient = models.point[:, :-1] - total[:, :-2]
    product = total[:, -1] - (total[:, :-1] * models.point).sum(1)
    unsettled = (hinge - product).clamp_(min=0.0)  # what only multipliers can close
    settled = 0.5 * gradient.square().sum(1) <= unsettled
    settled &= primal - dual <= 3.0 * unsettled
    settled &= models.inner_steps > 0
    return models.open & (settled | (models.inner_steps >= _STUCK)), primal


def _note(models: Models, index: Tensor, results: Results) -> None:
    """Store the results of some models."""
    place, penalty = models.place[index], models.penalty[index]
    results.point[place] = models.point[index]
    samples = Samples(*(part.index_select(0, index) for part in models.samples))
    results.share[place] = clipped(samples, penalty)


def newton_steps(tables: Tables, models: Models, tol: float, results: Results) -> int:
    """Improve all models until their gaps are at most ``tol``; fill in the results.

    Models that need more than `MAX_STEPS` end where they are. Returns the number of steps.
    """
    # Triton launches on the current device, torch where its tensors are.
    with torch.cuda.device_of(tables[0].rows):
        return _all_steps(tables, models, tol, results)


def _sizes_among(left: Tensor, sizes: list[int]) -> list[int]:
    """Count the models of each table among the increasing places of some."""
    ends = torch.as_tensor([0, *accumulate(sizes)], device=left.device)
    return [last - first for first, last in pairwise(torch.searchsorted(left, ends).tolist())]


def _all_steps(tables: Tables, models: Models, tol: float, results: Results) -> int:
    ops = operations(tables[0].rows.device.type)
    for step in range(MAX_STEPS + 1):
        weighted, hinge = ops.evaluate(models.samples, models.penalty)
        plus, minus = _class_sums(tables, models, weighted)
        del weighted
        ready, primal = _judge(models, plus, minus, hinge.mul_(models.C), tol)
        n_open = int(models.open.sum())
        if n_open == 0 or step == MAX_STEPS:
            break
        if n_open <= _COMPACT * len(ready):  # closed models stay where they are until now
            _note(models, torch.nonzero(~models.open)[:, 0], results)
            left = torch.nonzero(models.open)[:, 0]
            models = models.take(left, _sizes_among(left, models.sizes))
            ready, primal = ready[left], primal[left]
        models = _step(tables, models, ready, primal, ops)
    _note(models, torch.arange(len(models.place), device=models.place.device), results)
    return step
