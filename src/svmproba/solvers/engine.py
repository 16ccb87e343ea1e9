r"""Fit all models of all bags: blocks through joblib, bounded memory, every model certified.

A bag is a vector of counts, never a copy of the data: the bounds of bag b at C are
``C * counts[b] * weight``. Bags are independent given what is computed once from the full sample
(see :class:`~svmproba.solvers.newton.Guide`), so the result does not depend on the number of jobs
or on the size of the blocks.

Four methods share the problem, its storage and its certificate: Newton steps for tables of
moderate width (:mod:`~svmproba.solvers.newton`), exact paths for those that are small and nearly
separable (:mod:`~svmproba.solvers.homotopy`), pair steps on a kernel matrix for wide rows of not
too many records, such as exact kernel rows (:mod:`~svmproba.solvers.pairs`), and coordinate sweeps
for wide rows of many records, such as text (:mod:`~svmproba.solvers.sweeps`). Models that all but
the last leave with too large a gap are solved once more by Newton steps from a cold start.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import cpu_count, effective_n_jobs
from threadpoolctl import threadpool_limits

from .devices import resolve_device
from .homotopy import Route, find_route, walk_path
from .lagrangian import DIRECT_WIDTH, State, clear, new_state
from .newton import LEAST_WIDTH, Guide, solve_path
from .pairs import solve_pairs
from .pieces import new_walk
from .problem import Array, Problem, certify, product
from .rows import signed_rows
from .sweeps import solve_sweeps
from .tasks import Parcel, in_threads, one_blas_thread, run_tasks

#: Memory that one running block may use for scores and multipliers: it takes a portion of its bags
#: at a time, so that large blocks need no more than small ones. A single bag is the least.
BLOCK_BYTES = 2 * 2**20
#: Bags a block at most, and scores (records, values of C, bags): progress is shown between blocks.
_BLOCK_BAGS, _BLOCK_SCORES = 128, 2**22
#: Scores of a block in another process at least, some 0.1 s: dask takes 4 to 7 ms a task.
_SENT_SCORES = 2**20
#: Records up to which the kernel matrix of the rows is kept (128 MB), and the columns from which a
#: system of the size of the inner records can pay.
_KERNEL_ROWS, _KERNEL_WIDTH, _LARGE_PRODUCT = 4000, 32, 10**9
#: Rows of the kernel matrix that are computed at once.
_KERNEL_BLOCK = 1024
#: Columns whose mean is more than so many standard deviations from 0 are centred.
_OFFSET = 3.0
#: Bags solved on all rows to learn how far margins move from their prediction, and the multiple of
#: that movement that bounds the working rows.
_PILOTS, _WIDTHS = 2, 2.5

Tally = Callable[[Any, Any], tuple[Array, Array]]
Result = TypeVar("Result")


class Ensemble(NamedTuple):
    """The fitted models, and what was tallied from their scores on the training records."""

    coef: Array  # (n_C, n_bags, d)
    intercept: Array  # (n_C, n_bags)
    gap: Array  # (n_C, n_bags), relative duality gaps
    summed: Array | None  # sum over the blocks of the tally's first result
    stacked: Array | None  # the tally's second results joined along their last axis, the bags


class _Shared(NamedTuple):
    """What every block needs."""

    rows: Any
    problem: Problem
    width: int
    grid: Array
    tol: float
    guide: Guide
    weight: Array | None
    tally: Tally | None
    method: str
    parent: int
    route: Route | None = None


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
        See :func:`~svmproba.solvers.devices.resolve_device`. On another device than ``"cpu"``,
        `tally` gets tensors. Hard margins and rows of 400 columns or more stay on the CPU, with a
        warning unless the device is ``"auto"``.

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
    n_workers = effective_n_jobs(n_jobs)
    table, width = signed_rows(rows, signs)
    problem = Problem(table, d, signs, targets, _kernel(rows, signs, width, n_workers))
    stop = np.zeros(1, np.uint8)
    method = _method(problem, width, hard)
    shared = _Shared(
        rows, problem, width, grid, tol, _cold(n_grid), weight, tally, method, os.getpid()
    )
    if torch_device is not None and _suits_device(method, hard, d, device):
        fit = _fit_on_device(shared, counts, torch_device, report, stop)
        return fit if mean is None else fit._replace(intercept=fit.intercept - fit.coef @ mean)
    coef, intercept = np.empty((n_grid, n_bags, d)), np.empty((n_grid, n_bags))
    gap = np.empty((n_grid, n_bags))
    size = _block_size(n, n_grid, n_bags, n_workers)
    starts = range(0, n_bags, size)
    summed, stacked = None, [np.empty(0)] * len(starts)
    try:
        with threadpool_limits(1):
            if method == "newton" and n_bags > 2 * _PILOTS:
                shared = _interruptible(_learn, shared, counts[:_PILOTS], stop)
            parcel = Parcel(shared, _without_products, _with_products)
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
    per_worker = 4
    if not in_threads():
        per_worker = min(4, max(1, n_bags * n_grid * n // (_SENT_SCORES * n_workers)))
    most = min(_BLOCK_BAGS, _BLOCK_SCORES // (n_grid * n))
    return int(max(1, min(most, -(-n_bags // (per_worker * n_workers)))))


def _kernel(rows: Any, signs: Array, width: int, n_workers: int) -> Array:
    """Kernel matrix of the signed rows without the bias, or an empty one."""
    n, d = rows.shape
    if n > _KERNEL_ROWS or width < _KERNEL_WIDTH:
        return np.empty((0, 0))
    if isinstance(rows, np.ndarray):
        kernel = np.empty((n, n))

        def fill(first: int) -> None:
            part = slice(first, first + _KERNEL_BLOCK)
            np.matmul(rows[part], rows.T, out=kernel[part])

        # Threads of our own: those of BLAS change the rounding with their number, and go on
        # spinning after a product, which would steal the first milliseconds.
        n_threads = min(n_workers, cpu_count()) if n * n * d > _LARGE_PRODUCT else 1
        with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(fill, range(0, n, _KERNEL_BLOCK)))
    else:
        kernel = (rows @ rows.T).toarray()
    kernel *= signs
    kernel *= signs[:, None]
    return kernel


def _method(problem: Problem, width: int, hard: bool) -> str:
    """Name of the fastest method; pair steps do not know hard margins."""
    if width <= DIRECT_WIDTH or (hard and problem.kernel.shape[0]):
        return "newton"
    return "pairs" if problem.kernel.shape[0] else "sweeps"


def _cold(n_grid: int) -> Guide:
    """Return the guide that guesses nothing: start from zero, work on all rows."""
    return Guide(np.empty((0, 0)), np.empty((0, 0)), np.ones(n_grid), np.full(n_grid, np.inf))


def _plain(shared: _Shared) -> _Shared:
    """Return the same task by Newton steps with nothing guessed and a sharper aim."""
    guide = _cold(shared.grid.shape[0])
    return shared._replace(tol=shared.tol / 3.0, method="newton", guide=guide)


def _full_path(shared: _Shared, state: State, stop: Any) -> tuple[Array, Array]:
    """Weights with the bias, and multipliers, of the full sample."""
    n, n_grid = shared.problem.signs.shape[0], shared.grid.shape[0]
    base = np.ones(n) if shared.weight is None else shared.weight
    sharp = shared._replace(tol=shared.tol / 10.0)
    coef, alphas = np.empty((n_grid, shared.width)), np.empty((n_grid, n))
    _solve(sharp, state, base, stop, coef, alphas)
    return coef, alphas


def _learn(shared: _Shared, counts: Any, stop: Any) -> _Shared:
    """Learn from the full sample and a few bags how to solve the others."""
    problem, base = shared.problem, _base(shared, counts)
    full = np.ones(base.shape[1]) if shared.weight is None else shared.weight
    route = find_route(problem, shared.width, full, base, shared.grid, shared.tol, stop)
    if route is not None:
        return shared._replace(method="homotopy", route=route)
    return shared._replace(guide=_learn_guide(shared, counts, stop))


def _learn_guide(shared: _Shared, counts: Any, stop: Any) -> Guide:
    """Path of the full sample, and how far the margins of a few bags move from it."""
    problem, grid, d = shared.problem, shared.grid, shared.problem.d
    state = new_state(problem, shared.width)
    coef, alphas = _full_path(shared, state, stop)
    mass = alphas.sum(axis=1)
    growth = np.ones(grid.shape[0])
    np.divide(mass[1:], mass[:-1], out=growth[1:], where=mass[:-1] > 0.0)
    step = np.diff(coef, axis=0, prepend=0.0)
    margins = product(np.ascontiguousarray(step[:, :d]), shared.rows.T, np.empty_like(alphas))
    margins = (margins + step[:, d : d + 1]) * problem.signs
    guide = Guide(step, margins, growth, shared.guide.width)
    guided = shared._replace(guide=guide)
    pilots = [_solve(guided, state, b, stop, coef, alphas) for b in _base(shared, counts)]
    return guide._replace(width=np.maximum(_WIDTHS * np.max(pilots, axis=0), LEAST_WIDTH))


def _base(shared: _Shared, counts: Any) -> Array:
    """Bounds at C = 1."""
    base = np.array(counts, np.float64, order="C")
    if shared.weight is not None:
        base *= shared.weight
    return base


def _solve(
    shared: _Shared, state: Any, base: Array, stop: Any, coef: Array, alphas: Array
) -> Array:
    """Write weights with the bias and multipliers of one bag; return the margins' movement."""
    moved = np.zeros(shared.grid.shape[0])
    task = (shared.problem, state, base, shared.grid, shared.tol)
    if shared.method == "newton":
        clear(state)
        solve_path(*task, shared.guide, stop, coef, alphas, moved)
    elif shared.method == "homotopy":
        walk_path(*task, shared.route, stop, coef, alphas, moved)
    elif shared.method == "pairs":
        solve_pairs(*task, stop, coef, alphas)
    else:
        solve_sweeps(*task, stop, coef, alphas)
    return moved


def _solve_block(shared: _Shared, counts: Any, stop: Any) -> tuple[Any, ...]:
    """Models of some bags with their certificates and the tally of their scores."""
    problem, n_grid, (n_bags, n) = shared.problem, shared.grid.shape[0], counts.shape
    size = min(n_bags, max(1, BLOCK_BYTES // (2 * 8 * n_grid * n)))  # bags a portion
    # Used again for each portion: dask's workers give freed memory back, and new pages cost.
    coef, (alphas, scores) = np.empty((size, n_grid, shared.width)), np.empty((2, size, n_grid, n))
    space = new_walk if shared.method == "homotopy" else new_state
    state: Any = space(problem, shared.width)
    w, (bias, gap) = np.empty((n_grid, n_bags, problem.d)), np.empty((2, n_grid, n_bags))
    summed, stacked = None, []
    for first in range(0, n_bags, size):
        if stop[0]:
            break  # nobody waits for the result
        part = slice(first, first + size)
        n_here = counts[part].shape[0]
        work = (coef[:n_here], alphas[:n_here], scores[:n_here])
        solved = _solve_portion(shared, state, counts[part], stop, *work)
        w[:, part], bias[:, part], gap[:, part] = solved
        if shared.tally is not None:
            total, each = shared.tally(scores[:n_here], counts[part])
            summed = total if summed is None else summed + total
            stacked.append(each)
    return w, bias, gap, summed, np.concatenate(stacked, -1) if stacked else None


def _solve_portion(
    shared: _Shared, state: Any, counts: Any, stop: Any, coef: Array, alphas: Array, scores: Array
) -> tuple[Array, ...]:
    """Weights (n_C, bags, d), biases and gaps (n_C, bags) of some bags; fills in their scores."""
    problem, d = shared.problem, shared.problem.d
    base = _base(shared, counts)
    for b in range(base.shape[0]):
        _solve(shared, state, base[b], stop, coef[b], alphas[b])
    w, bias = np.ascontiguousarray(coef[:, :, :d]), coef[:, :, d].copy()
    fixed = (shared.rows, problem.signs, problem.targets)
    gap, _ = certify(*fixed, base, shared.grid, w, bias, alphas, scores)
    missed = np.flatnonzero((gap > shared.tol).any(axis=1)).tolist()
    if missed and shared.method == "homotopy":
        state = new_state(problem, shared.width)
    for b in missed if shared.method != "sweeps" else ():
        one, again_w, again_bias, score = _solve_again(shared, state, base[b : b + 1], stop)
        better = one < gap[b]
        gap[b, better], scores[b, better] = one[better], score[better]
        w[b, better], bias[b, better] = again_w[better], again_bias[better]
    return w.transpose(1, 0, 2), bias.T, gap.T


def _solve_again(shared: _Shared, state: State, base: Array, stop: Any) -> tuple[Array, ...]:
    """Gaps, weights, biases and scores of one bag, bounds (1, n), from a cold start."""
    problem, d, n_grid = shared.problem, shared.problem.d, shared.grid.shape[0]
    coef, alphas = np.empty((1, n_grid, shared.width)), np.empty((1, n_grid, base.shape[1]))
    _solve(_plain(shared), state, base[0], stop, coef[0], alphas[0])
    w, bias = coef[:, :, :d].copy(), coef[:, :, d].copy()
    fixed = (shared.rows, problem.signs, problem.targets)
    gap, scores = certify(*fixed, base, shared.grid, w, bias, alphas)
    return gap[0], w[0], bias[0], scores[0]


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
    shared: _Shared, counts: Any, device: Any, report: Callable[[int], None] | None, stop: Any
) -> Ensemble:
    """Fit all bags by the batched engine; what it leaves above the tolerance, on the CPU."""
    from .batched import fit_bags, make_task

    problem, d = shared.problem, shared.problem.d
    state = new_state(problem, shared.width)

    def again(counted: Any) -> tuple[Array, ...]:
        base = _base(shared, counted)
        return _interruptible(_solve_again, shared, state, base, stop)

    with threadpool_limits(1):
        full, alphas = _interruptible(_full_path, shared, state, stop)
    rows = shared.rows if isinstance(shared.rows, np.ndarray) else shared.rows.toarray()
    fixed = (rows, problem.signs, problem.targets, shared.weight, shared.grid, shared.tol)
    task = make_task(*fixed, (full[:, : d + 1], alphas), counts, device)
    return Ensemble(*fit_bags(task, counts, again, shared.tally, report))


def _without_products(shared: _Shared) -> _Shared:
    """Leave out what a worker makes sooner than it gets it."""
    return shared._replace(problem=shared.problem._replace(table=None, kernel=np.empty((0, 0))))


def _with_products(shared: _Shared) -> _Shared:
    rows, signs = shared.rows, shared.problem.signs
    table, width = signed_rows(rows, signs)
    kernel = _kernel(rows, signs, width, 1)
    return shared._replace(problem=shared.problem._replace(table=table, kernel=kernel))


def _run_block(shared: _Shared, counts: Any, stop: Any) -> tuple[Any, ...]:
    """Solve a block wherever joblib runs it."""
    if os.getpid() != shared.parent:
        with one_blas_thread():
            return _solve_block(shared, counts, stop)
    return _interruptible(_solve_block, shared, counts, stop)


def _interruptible(function: Callable[..., Result], *args: Any) -> Result:
    """Call a function so that Ctrl-C is heard: compiled code does not look for signals."""
    if threading.current_thread() is not threading.main_thread():
        return function(*args)
    pool = ThreadPoolExecutor(1)
    try:
        return pool.submit(function, *args).result()
    finally:
        pool.shutdown(wait=False)  # after Ctrl-C the caller tells the thread to stop
