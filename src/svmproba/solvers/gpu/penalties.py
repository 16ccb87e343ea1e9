r"""Constrained SVMs of large tables on torch: rising penalties for thousands of models at once.

The method is that of :mod:`~svmproba.solvers.constrained.penalties`, for all bags, C and floors
of a block side by side. The samples nearest to their margin, as many as the floors need, get the
bounds :math:`2C, 4C, 8C, \ldots` and are chosen anew after each solution, until their margins hold;
one last, much larger bound stands for a hard margin. Newton steps
(:mod:`~svmproba.solvers.gpu.newton`) lead from one solution to the next. Each is judged by its best
bias, and a model's best point is what is returned; the caller makes it strictly feasible
(:func:`~svmproba.solvers.constrained.feasible_point.confirm`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from svmproba._types import Floats, Rows
from svmproba.solvers.blocks import Ensemble
from svmproba.solvers.core.tables import as_array
from svmproba.solvers.gpu.ensemble import PRODUCTS_SHARE, block_size, in_blocks, moved
from svmproba.solvers.gpu.newton import Models, Results, Table, make_table, newton_steps
from svmproba.solvers.gpu.torch_ops import Samples
from svmproba.solvers.problem import ZERO, tensor_gap
from svmproba.solvers.runtime.devices import memory_budget

#: Relative gaps of solutions on the way and of the last one.
_ROUGH, _TOL = 1e-2, 1e-3
#: Rounds of penalties, and the slack at which a choice is made hard.
_ROUNDS, _NEARLY = 12, 1e-2
#: Growth of the bounds in a round, and in the last one.
_GROWTH, _HARD = 2.0, 64.0
#: Share by which weights may be scaled up where no bias satisfies the floors, as in `polish`.
_SCALED = 1e-4
#: Float64 numbers that a member needs at its peak for each sample.
_PER_SAMPLE = 16
#: Numbers that are sorted at once.
_SORTED = 2**26


class _Block(NamedTuple):
    """What is fixed for the models of some bags: (bags, C, floors), flattened."""

    table: Table
    n_plus: int  # the first so many samples are positive
    mass: Tensor  # (bags, n)
    bag: Tensor  # (p,)
    C: Tensor  # (p,)
    need: Tensor  # (p, 3)


class _Models(NamedTuple):
    """Models whose floors do not hold yet."""

    place: Tensor  # (q,), places in the block
    point: Tensor  # (q, d + 1)
    lack: Tensor  # (q, n), 1 - margin
    share: Tensor  # (q, n), multipliers as shares of their bounds
    factor: Tensor  # (q, n), what the bounds of the samples are multiplied by
    level: Tensor  # (q,), that of the chosen samples


class _Best(NamedTuple):
    """The best that is known of all models of a block."""

    point: Tensor  # (p, d + 1), weights and bias; infinite where only larger weights would do
    value: Tensor  # (p,), objective
    bound: Tensor  # (p,), proven lower bound


def best_shift(
    edge: Tensor, n_plus: int, mass: Tensor, need: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Find the best bias of many members, and the samples that their floors need.

    The edge of a sample, (p, n), is the bias at which its margin is 1; a positive sample holds from
    there on, a negative one up to there. The first ``n_plus`` samples are positive and the sort is
    stable, so that of samples that tie, the last positive and the first negative one see all that
    hold. ``mass`` (p, n) are multiplicities, ``need`` (p, 3) the mass that must have its margin:
    positives, negatives, all.

    Returns the bias and the sum of the slacks, (p,), infinite where no bias satisfies the floors,
    and which samples are nearest to their margin, as many as the floors need, (p, n).
    """
    edge, order = torch.sort(edge, dim=1, stable=True)
    weight, is_plus = mass.gather(1, order).to(edge.dtype), order < n_plus
    plus = weight * is_plus
    minus = weight - plus
    held_plus, missed_minus = plus.cumsum(1), minus.cumsum(1).sub_(minus)
    total_plus, total_minus = held_plus[:, -1:], minus.sum(1, keepdim=True)
    held_minus = total_minus - missed_minus
    fits = (held_plus >= need[:, :1]) & (held_minus >= need[:, 1:2]) & (weight > 0.0)
    fits &= held_plus + held_minus >= need[:, 2:]
    above, below = (plus * edge).cumsum(1), minus * edge
    loss = above[:, -1:] - above - (total_plus - held_plus) * edge
    loss += missed_minus * edge - below.cumsum(1).sub_(below)
    loss, at = loss.masked_fill_(~fits, torch.inf).min(1)
    shift = edge.gather(1, at[:, None])[:, 0].masked_fill_(loss.isinf(), torch.inf)
    pick = torch.where(is_plus, held_plus - plus < need[:, :1], held_minus - minus < need[:, 1:2])
    pick &= weight > 0.0
    rest = need[:, 2:] - (weight * pick).sum(1, keepdim=True)
    if bool((rest > 0.0).any()):
        lack = torch.where(is_plus, edge, -edge).masked_fill_(pick | (weight == 0.0), torch.inf)
        lack, nearest = torch.sort(lack, dim=1, stable=True)
        weight = weight.gather(1, nearest)
        more = (weight.cumsum(1).sub_(weight) < rest) & lack.isfinite()
        pick |= torch.zeros_like(pick).scatter_(1, nearest, more)
    return shift, loss, torch.zeros_like(pick).scatter_(1, order, pick)


def _judge(block: _Block, models: _Models) -> tuple[Tensor, Tensor, Tensor]:
    """Return the objectives with the best biases, (q,), these biases, and the choices, (q, n)."""
    values, biases, choices = [], [], []
    size = _SORTED // models.lack.shape[1] + 1
    for place, point, lack in zip(*(part.split(size) for part in models[:3]), strict=True):
        edge = lack.clone()
        edge[:, block.n_plus :].neg_()
        mass, need = block.mass[block.bag[place]], block.need[place]
        shift, loss, chosen = best_shift(edge, block.n_plus, mass, need)
        stuck = torch.nonzero(loss.isinf())[:, 0]
        if len(stuck):
            # Larger weights: y - f(x) becomes y - (1 + s)f(x), what all samples share aside.
            edge = edge[stuck].mul_(1.0 + _SCALED)
            edge[:, : block.n_plus] -= _SCALED
            edge[:, block.n_plus :] += _SCALED
            loss[stuck] = best_shift(edge, block.n_plus, mass[stuck], need[stuck])[1]
        values.append(0.5 * point[:, :-1].square().sum(1) + block.C[place] * loss)
        biases.append(point[:, -1] + shift)
        choices.append(chosen)
    return torch.cat(values), torch.cat(biases), torch.cat(choices)


def _note(block: _Block, models: _Models, best: _Best) -> Tensor:
    """Keep points that are better than what was known; return the choices, (q, n)."""
    value, bias, chosen = _judge(block, models)
    better = value < best.value[models.place]
    place = models.place[better]
    best.value[place], best.point[place] = value[better], models.point[better]
    best.point[place, -1] = bias[better]
    return chosen


def _solve(
    block: _Block, models: _Models, chosen: Tensor, index: Tensor, growth: float, tol: float
) -> tuple[_Models, Tensor]:
    """Raise the bounds that some models have for the chosen samples, and solve.

    Returns these models and their dual values.
    """
    place, point, lack, share, factor, level = (part[index] for part in models)
    level *= growth
    new_factor = torch.where(chosen[index], level[:, None], 1.0)
    share.mul_(factor).div_(new_factor).clamp_(0.0, 1.0)
    C, base = block.C[place], new_factor * block.mass[block.bag[place]]
    step = min(max(120.0 / point.shape[1], 0.5), 3.0)
    order = torch.arange(len(place), device=place.device)
    steps = torch.full_like(C, step), 0 * order
    state = Models(Samples(base, share, lack), order, C, point, *steps, order >= 0, [len(order)])
    # The shares are free to be filled in: the steps go on with copies of those still open.
    results = Results(torch.empty_like(point), share)
    newton_steps([block.table], state, tol, results)
    lack = 1.0 - results.point @ block.table.rows.T
    sums = base.mul_(share).mul_(C[:, None]) @ block.table.sums.flatten(1)
    _, dual = tensor_gap(C, *sums.chunk(2, 1))
    return _Models(place, results.point, lack, share, new_factor, level), dual


def _solve_block(block: _Block, point: Tensor, gap: Tensor) -> _Best:
    """Return the best that is found from the points of the plain models, with their gaps."""
    table, C = block.table, block.C
    place = torch.arange(len(C), device=C.device)
    best = _Best(torch.zeros_like(point), torch.full_like(C, torch.inf), torch.zeros_like(C))
    factor = C.new_ones((len(C), len(table.rows)))
    nothing = _Models(place, torch.zeros_like(point), factor, factor, factor, torch.ones_like(C))
    _note(block, nothing, best)  # the constant classifier: all margins are 0
    lack = 1.0 - point @ table.rows.T
    models = nothing._replace(point=point, lack=lack, share=(lack > 0.0).to(C.dtype))
    hinge = (models.share * lack).mul_(block.mass[block.bag]).sum(1)
    plain = 0.5 * point[:, :-1].square().sum(1) + C * hinge
    largest = plain.maximum(ZERO * C * block.mass.sum(1)[block.bag])  # what gaps are relative to
    best.bound.copy_((plain - gap * largest).nan_to_num_(neginf=0.0).clamp_(min=0.0))
    convex = _is_convex(block)
    for k in range(_ROUNDS + 1):
        chosen = _note(block, models, best)
        worst = torch.where(chosen, models.lack, -torch.inf).amax(1)
        done = (worst <= 0.0) & (models.level == 1.0)  # the plain models satisfy their floors
        hard = (worst < _NEARLY) | (k == _ROUNDS)
        for index, is_last in ((~done & hard, True), (~done & ~hard, False)):
            if not bool(index.any()):
                continue
            growth, tol = (_HARD, _TOL) if is_last else (_GROWTH, _ROUGH)
            some, dual = _solve(block, models, chosen, index, growth, tol)
            # Floors that need all samples of a class or none: the penalised problem is a
            # relaxation, so that its dual value is a bound.
            proven = torch.where(convex[some.place], dual, 0.0)
            best.bound[some.place] = best.bound[some.place].maximum(proven)
            if is_last:
                _note(block, some, best)
        if not bool((~done & ~hard).any()):
            break
        models = some
    return best


def _is_convex(block: _Block) -> Tensor:
    """Whether every floor needs all of its samples or none, (p,)."""
    mass = block.mass.to(block.C.dtype)
    groups = (mass[:, : block.n_plus], mass[:, block.n_plus :], mass)
    # Without its lightest sample no group has the mass that it needs.
    least = [m.masked_fill(m == 0.0, torch.inf).amin(1) for m in groups]
    rest = torch.stack([m.sum(1) - x for m, x in zip(groups, least, strict=True)], 1)[block.bag]
    return ((block.need == 0.0) | (block.need > rest)).all(1)


def find_points(
    rows: Rows,
    signs: Floats,
    counts: Any,
    grid: Floats,
    needs: Floats,
    plain: Ensemble,
    device: torch.device,
) -> Iterator[tuple[slice, Floats, Floats]]:
    """Find good points of the constrained SVMs of all bags, a block of bags at a time.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
    signs, grid : arrays of shapes (n,) and (n_C,)
        Labels in {-1.0, +1.0}, values of C.
    counts : array of shape (n_bags, n)
        Multiplicities.
    needs : array of shape (n_bags, n_floors, 3)
        Mass that must have its margin: positives, negatives, all.
    plain : Ensemble
        Plain SVMs of the same bags and grid.
    device : torch.device

    Yields
    ------
    part : slice
        The bags.
    point : array of shape (bags, n_C, n_floors, d + 1)
        Weights and bias, no worse than the constant classifier. The bias is infinite where only
        slightly larger weights satisfy the floors, and 0 with weights 0 where none do.
    bound : array of shape (bags, n_C, n_floors)
        Proven lower bounds.
    """
    order = np.argsort(-signs, kind="stable")
    y = moved(signs[order], device)
    budget = memory_budget(device) // PRODUCTS_SHARE
    table = make_table(moved(as_array(rows)[order], device), y, torch.ones_like(y), budget)
    n_plus, (n_bags, n_floors, _) = int((signs > 0.0).sum()), needs.shape
    n, width = table.rows.shape
    size = block_size(n, width, len(grid) * n_floors, n_bags, device, _PER_SAMPLE)

    def fit(part: slice) -> tuple[Floats, Floats]:
        return _fit_part(table, n_plus, counts[part][:, order], grid, needs[part], plain, part)

    for part, found in in_blocks(fit, n_bags, size):
        yield part, *found


def _fit_part(
    table: Table,
    n_plus: int,
    counts: Any,
    grid: Floats,
    needs: Floats,
    plain: Ensemble,
    part: slice,
) -> tuple[Floats, Floats]:
    device, (n_bags, n_floors, _) = table.rows.device, needs.shape
    shape = (n_bags, len(grid), n_floors)
    mass = torch.as_tensor(counts, device=device)
    bag, C, _ = (index.ravel() for index in np.indices(shape))
    block = _Block(
        table, n_plus, mass if mass.dtype == torch.uint8 else mass.to(torch.float64),
        torch.as_tensor(bag, device=device), moved(grid[C], device),
        moved(np.repeat(needs, len(grid), 0).reshape(-1, 3), device),
    )  # fmt: skip
    point = np.concatenate([plain.coef[:, part], plain.intercept[:, part, None]], 2)
    gap = plain.gap[:, part]
    best = _solve_block(block, moved(point[C, bag], device), moved(gap[C, bag], device))
    found, bound = best.point.cpu().numpy(), best.bound.cpu().numpy()
    return found.reshape(*shape, -1), bound.reshape(shape)
