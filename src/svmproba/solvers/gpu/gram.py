r"""All bags of a kernel at once on torch, one C after the other, every member certified.

The kernel matrix stays on the device. For each C, first-order steps that all bags share
(:mod:`~svmproba.solvers.gpu.splitting`) bring most members to the tolerance, and Newton steps
(:mod:`~svmproba.solvers.gpu.active_sets`) bring the others there. What is returned is certified in
float64 by :func:`~svmproba.solvers.problem.certify_gram_tensors`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from svmproba._types import Floats
from svmproba.solvers.blocks import Collector, Ensemble, polish_missed
from svmproba.solvers.gpu.active_sets import Gram, Settled, newton_steps, settle
from svmproba.solvers.gpu.ensemble import in_blocks, moved
from svmproba.solvers.gpu.kernels import device_gram
from svmproba.solvers.gpu.splitting import Splitting, make_splitting, split_steps
from svmproba.solvers.methods import Task
from svmproba.solvers.runtime.devices import MATRICES, memory_budget

#: First-order steps between two looks at the gaps.
_STEPS = 10
#: Bags that tell whether a penalty smaller by this factor is better, and the first penalty as a
#: multiple of the kernel's diagonal, if not the inverse of the first C.
_PILOTS, _FACTOR, _LARGEST = 8, 4.0, 32.0
#: Samples up to which Newton steps wait for all C: in larger batches, but from worse starts.
#: Looks at each C up to so many samples, and beyond, where Newton steps cost more.
_TOGETHER, _LOOKS, _MORE_LOOKS = 4096, 10, 15
#: Float64 numbers for each sample of a member that Newton steps work on, and of any other.
_PER_SAMPLE, _PER_RESULT = 20, 4


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
    at_once = n_grid if n <= _TOGETHER else 1
    left = max(budget - MATRICES * kernel.nbytes, budget // 4)
    per_bag = 8 * n * (_PER_SAMPLE * at_once + _PER_RESULT * n_grid)
    size = int(max(1, min(n_bags, left // per_bag)))
    members = Collector(n_grid, n_bags, n)

    def solve(part: slice) -> tuple[Settled, Tensor]:
        counted = torch.as_tensor(counts[part], device=device)
        base = counted.to(torch.float64)
        base = base if weight is None else base * weight
        found = _solve_block(gram, base, task.grid, task.tol, stop)
        _polish(task, found, base, stop)
        return found, counted

    for part, (found, counted) in in_blocks(solve, n_bags, size):
        shape = (n_grid, len(counted), -1)
        scores = found.scores.view(shape).transpose(0, 1)
        tallied = (None, None) if task.tally is None else task.tally(scores, counted)
        arrays = (array.cpu().numpy() for array in (found.beta, found.intercept, found.gap))
        beta, intercept, gap = (array.reshape(shape[: array.ndim + 1]) for array in arrays)
        members.add(part.start, Ensemble(beta, intercept, gap, *tallied))
        if report is not None:
            report(len(counted))
    return members.join()


def _polish(task: Task, found: Settled, base: Tensor, stop: Any) -> None:
    """Improve on the CPU the few members that missed the tolerance."""
    n_grid = len(task.grid)
    parts = (found.intercept, found.beta, found.scores, found.gap)
    of_bags = [part.view(n_grid, len(base), *part.shape[1:]).transpose(0, 1) for part in parts]
    missed = torch.nonzero((of_bags[3] > task.tol).any(1))[:, 0]
    if len(missed) == 0 or stop[0]:
        return
    bias, beta, scores, gap = (part[missed].cpu().numpy() for part in of_bags)
    polish_missed(task, base[missed].cpu().numpy(), stop, bias, beta, scores, gap, beta)
    for part, improved in zip(of_bags, (bias, beta, scores, gap), strict=True):
        part[missed] = torch.from_numpy(improved).to(part)


def _solve_block(gram: Gram, base: Tensor, grid: Floats, tol: float, stop: Any) -> Settled:
    """Solve the members of bags with bounds (bags, n) at C = 1, one C after the other."""
    n_bags, n = base.shape
    last = settle(gram, base, torch.zeros_like(base))
    found = Settled(*(part.new_empty((len(grid) * n_bags, *part.shape[1:])) for part in last))
    Cs = torch.as_tensor(grid, device=base.device).repeat_interleave(n_bags)
    largest = max(1.0 / float(grid[0]), _LARGEST * float(gram.kernel.diagonal().mean()))
    tried = [make_splitting(gram.kernel, gram.signs * gram.targets, largest)]
    for k, C in enumerate(grid.tolist()):
        if stop[0]:
            break  # the result is not used
        while _smaller_is_better(gram, tried, base[:_PILOTS], C, last):
            del tried[0]
        here = slice(k * n_bags, (k + 1) * n_bags)
        now = Settled(*(part[here] for part in found))
        _first_steps(gram, tried[0], base, C, tol, last, now)
        if n > _TOGETHER:
            newton_steps(gram, now, base, Cs[here], tol, stop)
        last = now
    newton_steps(gram, found, base, Cs, tol, stop)
    return found


def _start(
    gram: Gram, rho: float, base: Tensor, C: float, last: Settled
) -> tuple[Tensor, Tensor, Tensor]:
    """Bounds of the signed multipliers and the point where first-order steps start."""
    bounds = base * (C * gram.signs)
    point = torch.add(last.beta, gram.signs * gram.targets - last.scores, alpha=1.0 / rho)
    return bounds.clamp(max=0.0), bounds.clamp(min=0.0), point


def _smaller_is_better(
    gram: Gram, tried: list[Splitting], base: Tensor, C: float, last: Settled
) -> bool:
    """Try on a few bags whether the second penalty is better; it shrinks as C grows."""
    if len(tried) == 1:
        wanted = gram.signs * gram.targets
        tried.append(make_splitting(gram.kernel, wanted, tried[0].rho / _FACTOR))
    last, gaps = Settled(*(part[: len(base)] for part in last)), []
    for shared in tried:
        beta = split_steps(shared, *_start(gram, shared.rho, base, C, last), 2 * _STEPS)
        gaps.append(settle(gram, C * base, beta).gap.clamp_(min=1e-9).log_().mean())
    return bool(gaps[1] < gaps[0])


def _first_steps(
    gram: Gram, shared: Splitting, base: Tensor, C: float, tol: float, last: Settled, found: Settled
) -> None:
    """Take first-order steps at one C, from the solutions of the last; write what is found."""
    bounds, (low, high, point) = C * base, _start(gram, shared.rho, base, C, last)
    place = torch.arange(len(base), device=base.device)
    for _ in range(_LOOKS if base.shape[1] <= _TOGETHER else _MORE_LOOKS):
        now = settle(gram, bounds, split_steps(shared, low, high, point, _STEPS))
        found.write(place, now)
        left = torch.nonzero(now.gap > tol)[:, 0]
        if len(left) == 0:
            return
        if len(left) < len(place):
            parts = (place, point, low, high, bounds)
            place, point, low, high, bounds = (part[left] for part in parts)
