r"""All bags of a kernel at once on torch, one C after the other, every member certified.

The kernel matrix stays on the device. For each C, a shared first-order method
(:mod:`~svmproba.solvers.gpu.splitting`) brings most members to the tolerance, and Newton steps
(:mod:`~svmproba.solvers.gpu.active_sets`) bring the others there. What is returned is certified in
float64 by :func:`~svmproba.solvers.problem.certify_gram_tensors`.

Memory: five matrices (n, n), and some 20 numbers for each sample of each bag and C of a block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from svmproba._types import Floats
from svmproba.solvers.blocks import Collector, Ensemble
from svmproba.solvers.gpu.active_sets import Gram, Settled, newton_steps, settle
from svmproba.solvers.gpu.ensemble import in_blocks, moved
from svmproba.solvers.gpu.kernels import device_gram
from svmproba.solvers.gpu.splitting import Splitting, make_splitting, split_steps
from svmproba.solvers.methods import Task
from svmproba.solvers.runtime.devices import MATRICES, memory_budget

#: First-order steps between two looks at the gaps, and how many looks.
_STEPS, _LOOKS = 10, 6
#: Bags that tell whether a penalty smaller by this factor is better, and the first penalty as a
#: multiple of the kernel's diagonal, if not the inverse of the first C.
_PILOTS, _FACTOR, _LARGEST = 8, 4.0, 32.0
#: Float64 numbers that a member needs for each sample at the C that is solved.
_PER_SAMPLE = 20


class Block(NamedTuple):
    """The members of some bags."""

    beta: Floats  # (n_C, bags, n)
    intercept: Tensor  # (n_C, bags)
    gap: Tensor  # (n_C, bags)
    scores: Tensor  # (bags, n_C, n)
    counts: Tensor  # (bags, n)


def solve_gram(
    task: Task, counts: Any, device: torch.device, report: Callable[[int], None] | None, stop: Any
) -> Ensemble:
    """Fit all bags, counts (n_bags, n), of a task with a kernel matrix.

    Tally and report: see :func:`~svmproba.solvers.ensemble.fit_ensemble`.
    """
    assert task.gram is not None
    kernel = device_gram(task.gram, device)
    signs, targets = moved(task.problem.signs, device), moved(task.problem.targets, device)
    budget = memory_budget(device)
    gram = Gram(kernel, float(kernel.diagonal().abs().max()), signs, targets, budget // 8)
    weight = None if task.weight is None else moved(task.weight, device)
    (n_bags, n), n_grid = counts.shape, len(task.grid)
    members = Collector(n_grid, n_bags, n)
    left = budget - MATRICES * kernel.nbytes - gram.batch_bytes
    size = int(max(1, min(n_bags, left // (8 * n * (_PER_SAMPLE + 2 * n_grid)))))

    def solve(part: slice) -> Block:
        return _solve_block(gram, weight, task.grid, task.tol, counts[part], stop)

    for part, block in in_blocks(solve, n_bags, size):
        tallied = (None, None) if task.tally is None else task.tally(block.scores, block.counts)
        arrays = (block.beta, block.intercept.cpu().numpy(), block.gap.cpu().numpy())
        members.add(part.start, Ensemble(*arrays, *tallied))
        if report is not None:
            report(len(block.counts))
    return members.join()


def _solve_block(
    gram: Gram, weight: Tensor | None, grid: Floats, tol: float, counts: Any, stop: Any
) -> Block:
    """Solve the members of some bags, C by C, each from the one before."""
    counted = torch.as_tensor(counts, device=gram.signs.device)
    base = counted.to(torch.float64)
    if weight is not None:
        base = base * weight
    n_grid, (n_bags, n) = len(grid), base.shape
    scores = base.new_empty((n_bags, n_grid, n))
    beta = torch.empty((n_grid, n_bags, n), dtype=torch.float64)
    intercept, gap = base.new_empty((2, n_grid, n_bags))
    found = settle(gram, base, torch.zeros_like(base))
    largest = max(1.0 / grid[0], _LARGEST * float(gram.kernel.diagonal().mean()))
    tried = [make_splitting(gram.kernel, largest)]
    for k, C in enumerate(grid.tolist()):
        while _smaller_is_better(gram, tried, base[:_PILOTS], C, found):
            del tried[0]
        found = _solve_one(gram, tried[0], base, C, tol, found, stop)
        scores[:, k], gap[k], intercept[k] = found.scores, found.gap, found.intercept
        beta[k] = found.beta.cpu()
    return Block(beta.numpy(), intercept, gap, scores, counted)


class Start(NamedTuple):
    """Where first-order steps start at one C; the first axis is the members'."""

    low: Tensor  # (p, n), bounds of the signed multipliers
    high: Tensor  # (p, n)
    z: Tensor  # (p, n)
    lack: Tensor  # (p, n), signs times targets - scores


def _start(gram: Gram, base: Tensor, C: float, last: Settled) -> Start:
    low, high = (C * base * gram.signs).clamp(max=0.0), (C * base * gram.signs).clamp(min=0.0)
    return Start(low, high, last.beta, gram.signs * gram.targets - last.scores)


def _smaller_is_better(
    gram: Gram, tried: list[Splitting], base: Tensor, C: float, last: Settled
) -> bool:
    """Try on a few bags whether the second penalty is better; it shrinks as C grows."""
    if len(tried) == 1:
        tried.append(make_splitting(gram.kernel, tried[0].rho / _FACTOR))
    last = Settled(*(part[: len(base)] for part in last))
    low, high, z, lack = _start(gram, base, C, last)
    wanted, gaps = gram.signs * gram.targets, []
    for shared in tried:
        beta, _ = split_steps(shared, wanted, low, high, z, lack / shared.rho, 2 * _STEPS)
        gaps.append(float(settle(gram, C * base, beta).gap.clamp_(min=1e-9).log().mean()))
    return gaps[1] < gaps[0]


def _solve_one(
    gram: Gram, shared: Splitting, base: Tensor, C: float, tol: float, last: Settled, stop: Any
) -> Settled:
    """Solve one C, from the solutions of the last."""
    wanted, bounds = gram.signs * gram.targets, C * base
    low, high, z, lack = _start(gram, base, C, last)
    w = lack / shared.rho
    found = Settled(*(torch.empty_like(part) for part in last))
    place = torch.arange(len(base), device=base.device)
    for _ in range(_LOOKS):
        z, w = split_steps(shared, wanted, low, high, z, w, _STEPS)
        now = settle(gram, bounds, z.clone())
        found.write(place, now, torch.arange(len(place), device=place.device))
        left = torch.nonzero(now.gap > tol)[:, 0]
        if len(left) == 0 or stop[0]:
            return found
        if len(left) < len(place):
            parts = (place, z, w, low, high, bounds)
            place, z, w, low, high, bounds = (part[left] for part in parts)
    share = (found.beta * gram.signs / (C * base)).nan_to_num_(nan=0.0)
    newton_steps(gram, found, base, C, share, tol, stop)
    return found
