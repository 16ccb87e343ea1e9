r"""Fit all models of all bags: blocks through joblib, bounded memory, every model certified.

A bag is a vector of counts, never a copy of the data: the bounds of bag b at C are
``C * counts[b] * weight``. Bags are independent given what is computed once from the full sample
(see :class:`~svmproba.solvers.newton.path.Guide`), so the result does not depend on the number of
jobs or on the size of the blocks.

How a block is solved: :mod:`~svmproba.solvers.methods`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import effective_n_jobs

from svmproba.solvers.core.compiled import collect_again
from svmproba.solvers.core.rows import signed_rows
from svmproba.solvers.methods import (
    Shared,
    Tally,
    bounds_of,
    choose_method,
    full_path,
    no_guide,
    solve_again,
    solve_block,
    with_guide,
    with_kernel,
    with_products,
    with_route,
    without_products,
)
from svmproba.solvers.newton.lagrangian import DIRECT_WIDTH, new_state
from svmproba.solvers.problem import Array, Problem, row_reach
from svmproba.solvers.runtime.devices import resolve_device
from svmproba.solvers.runtime.tasks import Parcel, in_threads, run_tasks
from svmproba.solvers.runtime.threads import blas_threads, interruptible

#: Bags a block at most, and scores (records, values of C, bags): progress is shown between blocks.
_BLOCK_BAGS, _BLOCK_SCORES = 128, 2**22
#: Scores of a block in another process, some 0.5 s: dask takes 4 to 7 ms a task.
_SENT_SCORES = 2**22
#: Columns whose mean is more than so many standard deviations from 0 are centred.
_OFFSET = 3.0
#: Bytes of dense rows up to which a copy is kept column by column: the certificates' products, of a
#: dozen models at a time, take three quarters of the time then.
_TURNED_BYTES = 2**26
#: Bags solved on all rows to learn how far margins move from their prediction.
_PILOTS = 2

Result = TypeVar("Result")


class Ensemble(NamedTuple):
    """The fitted models, and what was tallied from their scores on the training records."""

    coef: Array  # (n_C, n_bags, d)
    intercept: Array  # (n_C, n_bags)
    gap: Array  # (n_C, n_bags), relative duality gaps
    summed: Array | None  # sum over the blocks of the tally's first result
    stacked: Array | None  # the tally's second results joined along their last axis, the bags


def fit_ensemble(
    rows: Any,
    signs: Array,
    counts: Any,
    grid: Array,
    *,
    weight: Array | None = None,
    targets: Array | None = None,
    tol: float = 1e-3,
    tally: Tally | None = None,
    n_jobs: int | None = None,
    report: Callable[[int], None] | None = None,
    device: str = "cpu",
) -> Ensemble:
    """Solve the problem of every bag for every C.

    Parameters
    ----------
    rows : array (C-contiguous, float64) or CSR matrix of shape (n, d)
    signs : array of shape (n,)
        Labels in {-1.0, +1.0}.
    counts : array of shape (n_bags, n)
        How often each record is in each bag; any non-negative numbers, infinite for a hard margin.
    grid : array of shape (n_C,)
        Increasing values of C, on the scale of ``||w||^2 / 2``.
    weight : array of shape (n,), optional
        Factors of the bounds.
    targets : array of shape (n,), optional
        Wanted margins, by default 1.
    tol : float, default=1e-3
        Relative duality gap that every model should reach.
    tally : callable, optional
        ``tally(scores (bags, n_C, n), counts (bags, n)) -> (to sum, to stack)``, called once a
        block. It must be picklable, and its sums exact, or the result depends on the blocks.
    n_jobs : int, optional
        As in joblib; threads unless ``joblib.parallel_config`` says otherwise.
    report : callable, optional
        Called in the calling thread with the number of bags just finished.
    device : str, default="cpu"
        See :func:`~svmproba.solvers.runtime.devices.resolve_device`. On another device than
        ``"cpu"``, `tally` gets tensors. Hard margins and rows of 400 columns or more stay on the
        CPU, with a warning unless the device is ``"auto"``.

    Returns
    -------
    Ensemble
        Models that missed ``tol`` are returned with the gap they have.
    """
    torch_device, hard = resolve_device(device), bool(np.isinf(counts).any())
    rows, mean = _centred(rows)
    n, d = rows.shape
    n_bags, n_grid = counts.shape[0], len(grid)
    # One type for all: every other layout or dtype would be compiled anew.
    signs, grid = np.array(signs, np.float64), np.array(grid, np.float64)
    targets = np.ones(n) if targets is None else np.array(targets, np.float64)
    weight = None if weight is None else np.array(weight, np.float64)
    n_workers, reach = effective_n_jobs(n_jobs), row_reach(rows, mean)
    table, width = signed_rows(rows, signs)
    if isinstance(rows, np.ndarray) and rows.nbytes <= _TURNED_BYTES:
        rows = np.asfortranarray(rows)
    problem = Problem(table, d, signs, targets, None)
    stop = np.zeros(1, np.uint8)
    method = choose_method(n, width, hard)
    shared = Shared(
        rows, reach, problem, width, grid, tol, no_guide(n_grid), weight, tally, method, os.getpid()
    )
    if torch_device is not None and _suits_device(method, hard, d, device):
        fit = _fit_on_device(with_kernel(shared), counts, torch_device, report, stop)
        return fit if mean is None else fit._replace(intercept=fit.intercept - fit.coef @ mean)
    coef, intercept = np.empty((n_grid, n_bags, d)), np.empty((n_grid, n_bags))
    gap = np.empty((n_grid, n_bags))
    size = _block_size(n, n_grid, n_bags, n_workers)
    starts = range(0, n_bags, size)
    summed, stacked = None, [np.empty(0)] * len(starts)
    try:
        with blas_threads():
            learns = method == "newton" and n_bags > 2 * _PILOTS
            if learns:
                shared = interruptible(with_route, shared, counts[:_PILOTS], stop)
            shared = with_kernel(shared, n_workers)
            if learns and shared.route is None:
                shared = interruptible(with_guide, shared, counts[:_PILOTS], stop)
            parcel = Parcel(shared, without_products, with_products)
            pieces = [counts[s : s + size] for s in starts]
            for place, block in run_tasks(partial(_run_block, stop=stop), parcel, pieces, n_jobs):
                part = slice(starts[place], starts[place] + size)
                coef[:, part], intercept[:, part], gap[:, part] = block[:3]
                if tally is not None:
                    summed = block[3] if summed is None else summed + block[3]
                    stacked[place] = block[4]
                if report is not None:
                    report(block[2].shape[1])
    except BaseException:
        stop[0] = 1  # blocks that still run in threads leave at their next Newton step
        collect_again()
        raise
    if mean is not None:
        intercept -= coef @ mean
    joined = None if tally is None else np.concatenate(stacked, -1)
    return Ensemble(coef, intercept, gap, summed, joined)


def _centred(rows: Any) -> tuple[Any, Array | None]:
    """Centre dense columns that are far from 0; exact, because the bias is free."""
    if not isinstance(rows, np.ndarray):
        return rows, None
    mean, std = rows.mean(axis=0), rows.std(axis=0)
    if np.all(np.abs(mean) <= _OFFSET * std) or not np.isfinite(mean).all():
        return np.ascontiguousarray(rows, np.float64), None
    return np.ascontiguousarray(rows - mean), mean


def _block_size(n: int, n_grid: int, n_bags: int, n_workers: int) -> int:
    """Bags a block: few enough for all workers to have several blocks, if these are worth it."""
    per_worker, most = 4, min(_BLOCK_BAGS, _BLOCK_SCORES // (n_grid * n))
    if not in_threads():
        per_worker = min(4, max(1, n_bags * n_grid * n // (_SENT_SCORES * n_workers)))
        most = _SENT_SCORES // (n_grid * n)
    return int(max(1, min(most, -(-n_bags // (per_worker * n_workers)))))


def _suits_device(method: str, hard: bool, d: int, device: str) -> bool:
    """Whether the batched engine takes such a problem; say so where a device was named."""
    if method == "newton" and not hard:
        return True
    if device != "auto":
        what = "hard margins" if hard else f"rows of {d} columns (at most {DIRECT_WIDTH - 1})"
        warnings.warn(
            f"device={device!r} does not take {what}: the models are fitted on the CPU.",
            UserWarning,
            stacklevel=3,
        )
    return False


def _fit_on_device(
    shared: Shared, counts: Any, device: Any, report: Callable[[int], None] | None, stop: Any
) -> Ensemble:
    """Fit all bags by the batched engine; what it leaves above the tolerance, on the CPU."""
    from svmproba.solvers.gpu.ensemble import fit_bags, make_task

    problem, d = shared.problem, shared.problem.d
    state = new_state(problem, shared.width)

    def again(counted: Any) -> tuple[Array, ...]:
        base = bounds_of(shared, counted)
        return interruptible(solve_again, shared, state, base, stop)

    with blas_threads():
        full, alphas = interruptible(full_path, shared, state, stop)
    dense = isinstance(shared.rows, np.ndarray)
    rows = np.ascontiguousarray(shared.rows if dense else shared.rows.toarray())
    fixed = (rows, shared.reach, problem.signs, problem.targets)
    scale = (shared.weight, shared.grid, shared.tol)
    task = make_task(*fixed, *scale, (full[:, : d + 1], alphas), counts, device)
    return Ensemble(*fit_bags(task, counts, again, shared.tally, report))


def _run_block(shared: Shared, counts: Any, stop: Any) -> tuple[Any, ...]:
    """Solve a block wherever joblib runs it."""
    if os.getpid() != shared.parent:
        with blas_threads():
            return solve_block(shared, counts, stop)
    return interruptible(solve_block, shared, counts, stop)
