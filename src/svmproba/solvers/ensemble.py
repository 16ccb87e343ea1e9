r"""Fit the members of all bags: blocks through joblib, bounded memory, every member certified.

A bag is a vector of counts, never a copy of the data: the bounds of bag b at C are
``C * counts[b] * weight``. Bags are independent given what a method learns from the full sample,
so the result does not depend on the number of jobs or on the size of the blocks.

How a block is solved: :mod:`~svmproba.solvers.blocks`, by one of the methods in
:mod:`~svmproba.solvers.methods`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from svmproba._types import Floats, Rows
from svmproba.solvers.blocks import Collector, Ensemble, solve_again, solve_block
from svmproba.solvers.core.rows import signed_rows
from svmproba.solvers.core.tables import as_array, centred, is_dense
from svmproba.solvers.gram import Gram
from svmproba.solvers.methods import (
    Tally,
    Task,
    bounds_of,
    choose_method,
    full_bounds,
    with_products,
    without_products,
)
from svmproba.solvers.newton.guide import full_path
from svmproba.solvers.newton.lagrangian import DIRECT_WIDTH, new_state
from svmproba.solvers.problem import Problem, row_reach
from svmproba.solvers.runtime.devices import resolve_device
from svmproba.solvers.runtime.tasks import Parcel, in_threads, run_tasks
from svmproba.solvers.runtime.threads import as_done, blas_threads, interruptible

#: Bags a block at most, and scores (samples, values of C, bags): progress is shown between blocks.
_BLOCK_BAGS, _BLOCK_SCORES = 128, 2**22
#: Scores of a block in another process, some 0.5 s: dask takes 4 to 7 ms a task.
_SENT_SCORES = 2**22
#: Bytes of dense rows up to which a copy is kept column by column: the certificates' products, of a
#: dozen members at a time, take three quarters of the time then.
_TURNED_BYTES = 2**26
#: Bytes of scores on the training samples up to which they are returned.
_KEPT_BYTES = 2**28


def fit_ensemble(
    rows: Rows | Gram,
    signs: Floats,
    counts: Any,
    grid: Floats,
    *,
    weight: Floats | None = None,
    targets: Floats | None = None,
    tol: float = 1e-3,
    tally: Tally | None = None,
    n_jobs: int | None = None,
    report: Callable[[int], None] | None = None,
    device: str = "cpu",
    keep_scores: bool = False,
) -> Ensemble:
    """Fit the members of every bag for every C.

    Parameters
    ----------
    rows : array (C-contiguous, float64) or CSR matrix, shape (n, d), or Gram
        With a kernel matrix, the coefficients of the members are signed multipliers, d = n.
    signs : array of shape (n,)
        Labels in {-1.0, +1.0}.
    counts : array of shape (n_bags, n)
        How often each sample is in each bag; any non-negative numbers, infinite for a hard margin.
    grid : array of shape (n_C,)
        Increasing values of C, on the scale of ``||w||^2 / 2``.
    weight : array of shape (n,), optional
        Factors of the bounds.
    targets : array of shape (n,), optional
        Margins to reach, by default 1.
    tol : float, default=1e-3
        Relative duality gap that every member should reach.
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
    keep_scores : bool, default=False
        Return the scores of all members on the training samples of a kernel, if they take no more
        than 256 MiB and were computed on the CPU. Other rows are scored sooner than read.

    Returns
    -------
    Ensemble
        Members that missed ``tol`` are returned with the gap they have.
    """
    part = Part(rows, signs, counts, weight, tally, targets)
    fixed: dict[str, Any] = {"tol": tol, "n_jobs": n_jobs, "report": report, "device": device}
    return fit_ensembles([part], grid, **fixed, keep_scores=keep_scores)[0]


class Part(NamedTuple):
    """What one of several ensembles is fitted to, see `fit_ensemble`."""

    rows: Rows | Gram
    signs: Floats
    counts: Any
    weight: Floats | None = None
    tally: Tally | None = None
    targets: Floats | None = None


def fit_ensembles(
    parts: Sequence[Part],
    grid: Floats,
    *,
    tol: float = 1e-3,
    n_jobs: int | None = None,
    report: Callable[[int], None] | None = None,
    device: str = "cpu",
    keep_scores: bool = False,
) -> list[Ensemble]:
    """Fit several ensembles of one grid and number of bags, see `fit_ensemble`.

    On a device, those of rows are fitted together.
    """
    torch_device, n_threads = resolve_device(device), effective_n_jobs(n_jobs)
    stop = np.zeros(1, np.uint8)
    fits: dict[int, Ensemble] = {}
    together: dict[int, Task] = {}
    means: dict[int, Floats | None] = {}
    for k, (rows, signs, counts, weight, tally, targets) in enumerate(parts):
        if isinstance(rows, Gram) and np.isinf(counts).any():
            raise ValueError("a kernel matrix takes no hard margins: counts must be finite.")
        rows, means[k] = (rows, None) if isinstance(rows, Gram) else centred(rows)
        task = _make_task(rows, means[k], signs, grid, weight, targets, tol, tally, n_threads)
        n, n_members = len(signs), len(grid) * len(counts)
        if keep_scores and task.gram is not None and 8 * n * n_members <= _KEPT_BYTES:
            task = task._replace(n_kept=n)
        if torch_device is None or not _suits_device(task, counts, device):
            fits[k] = _fit_in_blocks(task, counts, n_jobs, report, stop)
        elif task.gram is not None:
            from svmproba.solvers.gpu.gram import solve_gram

            fits[k] = solve_gram(task, counts, torch_device, report, stop)
        else:
            together[k] = task
    if together:
        fixed = (list(together.values()), [parts[k].counts for k in together])
        found = _fit_on_device(*fixed, torch_device, n_threads, report, stop)
        fits |= dict(zip(together, found, strict=True))
    return [_off_centre(fits[k], means[k]) for k in range(len(parts))]


def _off_centre(fit: Ensemble, mean: Floats | None) -> Ensemble:
    """Members of rows from which their mean was taken off, for the rows themselves."""
    return fit if mean is None else fit._replace(intercept=fit.intercept - fit.coef @ mean)


def _make_task(
    rows: Rows | Gram,
    mean: Floats | None,
    signs: Floats,
    grid: Floats,
    weight: Floats | None,
    targets: Floats | None,
    tol: float,
    tally: Tally | None,
    n_threads: int,
) -> Task:
    """Bring all arrays to one type: every other layout or dtype would be compiled anew."""
    n, d = rows.shape
    signs, grid = np.array(signs, np.float64), np.array(grid, np.float64)
    targets = np.ones(n) if targets is None else np.array(targets, np.float64)
    weight = None if weight is None else np.array(weight, np.float64)
    if isinstance(rows, Gram):
        problem = Problem(None, d, signs, targets, None)
        return Task(None, None, problem, 1, grid, tol, weight, tally, n_threads, rows)
    reach = row_reach(rows, mean)
    table, width = signed_rows(rows, signs)
    if is_dense(rows) and rows.nbytes <= _TURNED_BYTES:
        rows = np.asfortranarray(rows)
    problem = Problem(table, d, signs, targets, None)
    return Task(rows, reach, problem, width, grid, tol, weight, tally, n_threads)


def _fit_in_blocks(
    task: Task,
    counts: Any,
    n_jobs: int | None,
    report: Callable[[int], None] | None,
    stop: Any,
) -> Ensemble:
    """Fit all bags on the CPU, in threads or wherever joblib sends them."""
    n_grid, (n_bags, n) = len(task.grid), counts.shape
    members = Collector(n_grid, n_bags, task.problem.d, task.n_kept)
    size = _block_size(n, n_grid, n_bags, task.n_threads)
    pieces = [counts[first : first + size] for first in range(0, n_bags, size)]
    run = partial(_run_block, stop=stop, parent=os.getpid())
    if task.gram is not None:
        task.gram.stop = stop
    try:
        with blas_threads():
            task = interruptible(choose_method, task, counts, stop)
            parcel = Parcel(task, without_products, with_products)
            # Rows of a kernel matrix that are computed when needed are not for several threads.
            n_jobs = 1 if task.gram is not None and not task.gram.whole else n_jobs
            for place, block in run_tasks(run, parcel, pieces, n_jobs):
                members.add(place * size, block)
                if report is not None:
                    report(len(pieces[place]))
    except BaseException:
        stop[0] = 1  # blocks that still run in threads end at their next Newton step
        raise
    return members.join()


def _run_block(task: Task, counts: Any, stop: Any, parent: int) -> Ensemble:
    """Solve a block wherever joblib runs it."""
    if os.getpid() != parent:
        with blas_threads():
            return solve_block(task, counts, stop)
    return interruptible(solve_block, task, counts, stop)


def _block_size(n: int, n_grid: int, n_bags: int, n_workers: int) -> int:
    """Bags a block: few enough for all workers to have several blocks, if these are worth it."""
    per_worker, most = 4, min(_BLOCK_BAGS, _BLOCK_SCORES // (n_grid * n))
    if not in_threads():
        per_worker = min(4, max(1, n_bags * n_grid * n // (_SENT_SCORES * n_workers)))
        most = _SENT_SCORES // (n_grid * n)
    return int(max(1, min(most, -(-n_bags // (per_worker * n_workers)))))


def _suits_device(task: Task, counts: Any, device: str) -> bool:
    """Whether the batched engine takes such a task; warns if not and a device was named."""
    hard = bool(np.isinf(counts).any())
    if (task.gram is not None or task.width <= DIRECT_WIDTH) and not hard:
        return True
    if device != "auto":
        wide = f"rows of {task.problem.d} columns (at most {DIRECT_WIDTH - 1})"
        warnings.warn(
            f"device={device!r} does not take {'hard margins' if hard else wide}: the members are "
            "fitted on the CPU.",
            UserWarning,
            stacklevel=3,
        )
    return False


def _fit_on_device(
    tasks: list[Task],
    counts: list[Any],
    device: Any,
    n_threads: int,
    report: Callable[[int], None] | None,
    stop: Any,
) -> list[Ensemble]:
    """Fit all bags by the batched engine, and on the CPU again those that stay above the tolerance.

    The paths of the full samples, where the members start, are found on the CPU.
    """
    from svmproba.solvers.gpu.ensemble import fit_bags, groups_of, make_task

    def full(task: Task) -> tuple[Floats, Floats]:
        problem, state = task.problem, new_state(task.problem, task.width)
        fixed: Any = (problem, state, full_bounds(task), task.grid, task.tol, stop)
        coef, alphas = interruptible(full_path, *fixed)
        return coef[:, : problem.d + 1], alphas

    def again(task: Task, counted: Any) -> tuple[Floats, ...]:
        state = new_state(task.problem, task.width)
        return interruptible(solve_again, task, state, bounds_of(task, counted), stop)

    shapes = [(len(task.problem.signs), task.problem.d + 1) for task in tasks]
    fits: dict[int, Ensemble] = {}
    for group in groups_of(shapes, len(tasks[0].grid), len(counts[0]), device):
        chosen, bags = [tasks[k] for k in group], [counts[k] for k in group]
        with blas_threads():
            paths = dict(as_done(full, chosen, min(n_threads, len(group))))
        size = max(shapes[k][0] for k in group)
        on_device = [
            make_task(task, as_array(task.rows), paths[k], bags[k], device, size, len(group))
            for k, task in enumerate(chosen)
        ]
        solvers = [partial(again, task) for task in chosen]
        tallies = [task.tally for task in chosen]
        found = fit_bags(on_device, bags, solvers, tallies, report)
        fits |= dict(zip(group, found, strict=True))
    return [fits[k] for k in range(len(tasks))]
