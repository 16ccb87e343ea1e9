r"""All members of a block of bags at once on torch, of one table or of several, all certified.

Each member starts from the full sample's solution at its C, and Newton steps
(:mod:`~svmproba.solvers.gpu.newton`) bring it to the required gap. The certificate is that of
:mod:`~svmproba.solvers.problem`, evaluated on the device in float64 for the numbers that are
returned. Bags with members above the tolerance are solved again by the caller, on the CPU.

Tables that share bags and grid, as those of pairs of classes do, are solved together where all of
their bags fit into memory: they are padded to one number of samples, by samples in no bag whose
rows and targets are 0.

The same calls on the same device give the same bits. Another device, or another size of the
blocks, rounds differently: the members then differ within the tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from svmproba._types import Floats
from svmproba.solvers.blocks import Collector, Ensemble
from svmproba.solvers.gpu.newton import Models, Results, Table, make_table, newton_steps
from svmproba.solvers.gpu.torch_ops import Samples
from svmproba.solvers.methods import Tally, Task
from svmproba.solvers.problem import Reach, certify_tensors, stretch
from svmproba.solvers.runtime.devices import memory_budget

#: Float64 numbers that a member needs at its peak for each sample, and Hessians it holds.
_PER_SAMPLE, _PER_HESSIAN = 10, 4
#: One part of so many of the memory is for the products of columns.
PRODUCTS_SHARE = 6
#: Tables are solved together with those of at least so many times their samples.
_ALIKE = 0.8
#: Bags that tell which of two starts is the nearer one, and by which factor it has to be.
_PILOTS, _NEARER = 8, 0.5


class DeviceTask(NamedTuple):
    """What the blocks share, on the device; padded samples come last."""

    n: int  # samples without padding
    table: Table
    reach: Reach  # tensors
    signs: Tensor  # (n,)
    targets: Tensor  # (n,)
    weight: Tensor | None  # (n,)
    grid: Tensor  # (n_C,)
    start: Models  # one member for each C, for all bags; no base
    tol: float


class Block(NamedTuple):
    """The members of some bags."""

    coef: Floats  # (bags, n_C, d)
    intercept: Floats  # (bags, n_C)
    gap: Floats  # (bags, n_C)
    scores: Tensor  # (bags, n_C, n), on the device
    counts: Tensor  # (bags, n), on the device


def make_task(
    task: Task,
    rows: Floats,
    path: tuple[Floats, Floats],
    pilots: Any,
    device: torch.device,
    size: int | None = None,
    n_tables: int = 1,
) -> DeviceTask:
    """Move to the device what all bags share.

    ``rows`` (n, d) are the task's, dense. The path holds weights with the bias (n_C, d + 1) and
    multipliers (n_C, n) of the full sample. The start is chosen on some bags, counts (bags, n).
    All is padded to ``size`` samples. ``n_tables`` share the memory.
    """
    problem, reach, n = task.problem, task.reach, len(rows)
    more = (size or n) - n
    parts = (moved(part, device) for part in (problem.signs, problem.targets, path[1]))
    labels, wanted, alphas = (pad(part, (0, more)) for part in parts)
    Cs, point = moved(task.grid, device), moved(path[0], device)
    piece_bytes = memory_budget(device) // PRODUCTS_SHARE // n_tables
    # The signs of padded samples are 0, and with them their rows in the table.
    table = make_table(pad(moved(rows, device), (0, 0, 0, more)), labels, wanted, piece_bytes)
    weight = None if task.weight is None else pad(moved(task.weight, device), (0, more))
    lack = wanted - point @ table.rows.T
    base = torch.ones_like(wanted) if weight is None else weight
    share = (alphas / (Cs[:, None] * base)).nan_to_num_(nan=0.0).clamp_(0.0, 1.0)
    # The more columns, the more samples end between their bounds: start with more smoothing.
    penalty = torch.full_like(Cs, min(max(60.0 / point.shape[1], 0.25), 1.5))
    zero = torch.zeros(len(Cs), dtype=torch.int64, device=device)
    samples = Samples(lack[:, :0], share, lack)
    start = Models(samples, zero, Cs, point, penalty, zero, zero == 0, [len(Cs)])
    reach = reach._replace(inner=moved(reach.inner, device), outer=moved(reach.outer, device))
    made = DeviceTask(n, table, reach, labels, wanted, weight, Cs, start, task.tol)
    return made._replace(start=_nearer_start(made, pilots[:_PILOTS]))


def moved(array: Any, device: torch.device) -> Tensor:
    """Copy an array to a device, in float64."""
    return torch.as_tensor(np.asarray(array, np.float64), device=device)


def _nearer_start(task: DeviceTask, pilots: Any) -> Models:
    """Choose, for each C, where the multipliers start: the full sample's, or smoothed ones.

    The latter are better guesses where bags move the margins of many samples. The former are far
    better where few samples matter (separable classes).
    """
    start = task.start
    lack, step = start.samples.lack, start.penalty[:, None]
    smooth = (0.5 + step * lack).clamp_(0.0, 1.0)
    gaps = []
    for share in (start.samples.share, torch.addcmul(smooth, lack, step).clamp_(0.0, 1.0)):
        models = _spread(_starting(task, share), _base(task, pilots))
        gap, _ = _certify(task, models.C, models.samples.base, models.point, models.samples.share)
        gaps.append(gap.view(-1, len(task.grid)).mean(0))
    exact = gaps[0] < _NEARER * gaps[1]
    chosen = _starting(task, torch.where(exact[:, None], start.samples.share, smooth)).start
    return chosen._replace(penalty=torch.where(exact, 2.0, 1.0) * start.penalty)


def _starting(task: DeviceTask, share: Tensor) -> DeviceTask:
    samples = task.start.samples._replace(share=share)
    return task._replace(start=task.start._replace(samples=samples))


def _certify(
    task: DeviceTask, C: Tensor, base: Tensor, point: Tensor, share: Tensor
) -> tuple[Tensor, Tensor]:
    fixed = (task.table.rows, task.table.sums, task.reach, task.targets)
    return certify_tensors(*fixed, C[:, None] * base, point, share)


def _base(task: DeviceTask, counts: Any) -> Tensor:
    """Bounds at C = 1, in one byte each where they are counts."""
    base = pad(torch.as_tensor(counts, device=task.grid.device), (0, len(task.targets) - task.n))
    if task.weight is not None:
        return base.to(torch.float64) * task.weight
    return base if base.dtype == torch.uint8 else base.to(torch.float64)


def _spread(task: DeviceTask, base: Tensor) -> Models:
    """Members of all bags and C at the start, bag by bag."""
    n_bags, n_grid = len(base), len(task.grid)
    k = torch.arange(n_grid, device=base.device).repeat(n_bags)
    models = task.start.take(k, [len(k)])
    samples = models.samples._replace(base=base.repeat_interleave(n_grid, 0))
    return models._replace(samples=samples, place=torch.arange(len(k), device=base.device))


def block_size(
    n: int,
    width: int,
    n_grid: int,
    n_bags: int,
    device: torch.device,
    per_sample: int = _PER_SAMPLE,
) -> int:
    """Bags a block: what fits beside the products of columns."""
    per_model = 8 * (per_sample * n + _PER_HESSIAN * width**2)
    left = memory_budget(device) - memory_budget(device) // PRODUCTS_SHARE
    return int(max(1, min(n_bags, left // (n_grid * per_model))))


def groups_of(
    shapes: Sequence[tuple[int, int]], n_grid: int, n_bags: int, device: torch.device
) -> list[list[int]]:
    """Divide tables, (samples, columns with the bias), into groups that are solved together.

    Those of a group have as many columns and about as many samples, and all of their bags fit
    into memory; a table that does not fit is alone. Gives the places of the tables.
    """
    groups: list[list[int]] = []
    for place in sorted(range(len(shapes)), key=lambda place: shapes[place][::-1]):
        n, width = shapes[place]
        group = groups[-1] if groups else []
        alike = bool(group) and shapes[group[0]][1] == width and shapes[group[0]][0] >= _ALIKE * n
        if alike and block_size(n, width, n_grid * (len(group) + 1), n_bags, device) == n_bags:
            group.append(place)
        else:
            groups.append([place])
    return groups


def fit_bags(
    tasks: Sequence[DeviceTask],
    counts: Sequence[Any],
    again: Sequence[Callable[[Any], tuple[Floats, ...]]],
    tallies: Sequence[Tally | None],
    report: Callable[[int], None] | None,
) -> list[Ensemble]:
    """Fit all bags of the tables of a group, counts (n_bags, n) each, block by block.

    Bags with members above the tolerance are solved by another engine:
    ``again(counts (1, n)) -> coef (n_C, d), intercept (n_C,), gap (n_C,), scores (n_C, n)``.
    Tally and report: see :func:`~svmproba.solvers.ensemble.fit_ensemble`.
    """
    first = tasks[0]
    (n, width), n_bags, n_grid = first.table.rows.shape, len(counts[0]), len(first.grid)
    members = [Collector(n_grid, n_bags, width - 1) for _ in tasks]
    size = block_size(n, width, n_grid * len(tasks), n_bags, first.grid.device)

    def solve(part: slice) -> list[Block]:
        return solve_block(tasks, [counted[part] for counted in counts])

    for part, blocks in in_blocks(solve, n_bags, size):
        for k, block in enumerate(blocks):
            _improve(block, counts[k][part], first.tol, again[k])
            tally = tallies[k]
            tallied = (None, None) if tally is None else tally(block.scores, block.counts)
            arrays = (block.coef.transpose(1, 0, 2), block.intercept.T, block.gap.T)
            members[k].add(part.start, Ensemble(*arrays, *tallied))
            if report is not None:
                report(len(block.gap))
    return [collector.join() for collector in members]


def in_blocks(solve: Callable[[slice], Any], n_bags: int, size: int) -> Iterator[tuple[slice, Any]]:
    """Yield slices of the bags and what ``solve`` returns for them.

    A block that does not fit in the memory is halved, and so are all that follow.
    """
    first = 0
    while first < n_bags:
        part = slice(first, min(first + size, n_bags))
        try:
            solved = solve(part)
        except torch.cuda.OutOfMemoryError:
            if size == 1:
                raise
            size = -(-size // 2)
            torch.cuda.empty_cache()
            continue
        yield part, solved
        first = part.stop


def _improve(
    block: Block, counts: Any, tol: float, again: Callable[[Any], tuple[Floats, ...]]
) -> None:
    """Solve once more the bags with members above the tolerance, and keep what is better."""
    for b in np.flatnonzero((block.gap > tol).any(axis=1)).tolist():
        coef, intercept, gap, scores = again(counts[b : b + 1])
        better = np.flatnonzero(gap < block.gap[b])
        block.gap[b, better], block.coef[b, better] = gap[better], coef[better]
        block.intercept[b, better] = intercept[better]
        place = torch.as_tensor(better, device=block.scores.device)
        block.scores[b, place] = block.scores.new_tensor(scores[better])


def solve_block(tasks: Sequence[DeviceTask], counts: Sequence[Any]) -> list[Block]:
    """Solve the members of some bags of every table, all at once."""
    bases = [_base(task, counted) for task, counted in zip(tasks, counts, strict=True)]
    models = _joined([_spread(task, base) for task, base in zip(tasks, bases, strict=True)])
    sizes = models.sizes
    results = Results(torch.empty_like(models.point), torch.empty_like(models.samples.lack))
    # Not quite the tolerance: the loop's sums and the certificate's are rounded differently.
    newton_steps([task.table for task in tasks], models, 0.99 * tasks[0].tol, results)
    del models
    results.point[~results.point.isfinite().all(1)] = 0.0  # the zero member, whose gap is large
    found = zip(*(part.split(sizes) for part in results), strict=True)
    parts = zip(tasks, counts, bases, found, strict=True)
    return [_certified(task, counted, base, Results(*own)) for task, counted, base, own in parts]


def _joined(parts: list[Models]) -> Models:
    """Put the models of several tables together."""
    if len(parts) == 1:
        return parts[0]
    samples, *others, sizes = zip(*parts, strict=True)
    _, *together = (torch.cat(part) for part in others)
    place = torch.arange(len(together[0]), device=together[0].device)
    joined = Samples(*(torch.cat(part) for part in zip(*samples, strict=True)))
    fields: list[Any] = [joined, place, *together, [size for own in sizes for size in own]]
    return Models(*fields)


def _certified(task: DeviceTask, counts: Any, base: Tensor, results: Results) -> Block:
    """Certify the members of the bags of one table; overwrites the results."""
    stretch(results.point[:, :-1], results.point[:, -1], task.targets, task.reach)
    gap, scores = _certify(
        task, task.grid.repeat(len(base)), base.repeat_interleave(len(task.grid), 0), *results
    )
    scores *= task.signs
    shape = (len(base), len(task.grid), -1)
    point = results.point.cpu().numpy().reshape(shape)
    return Block(
        np.ascontiguousarray(point[:, :, :-1]),
        point[:, :, -1].copy(),
        gap.cpu().numpy().reshape(shape[:2]),
        scores.view(shape)[:, :, : task.n],
        torch.as_tensor(counts, device=base.device),
    )
