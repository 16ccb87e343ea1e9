r"""Fit all models of all bags: blocks through joblib, bounded memory, every model certified.

A bag is a vector of counts, never a copy of the data: the bounds of bag b at C are
``C * counts[b] * weight``. Bags are independent given what is computed once from the full sample
(see :class:`~svmproba.solvers.newton.Guide`), so the result does not depend on the number of jobs
or on the size of the blocks.

Three methods share the problem, its storage and its certificate: Newton steps for tables of
moderate width (:mod:`~svmproba.solvers.newton`), pair steps on a kernel matrix for wide rows of
not too many records, such as exact kernel rows (:mod:`~svmproba.solvers.pairs`), and coordinate
sweeps for wide rows of many records, such as text (:mod:`~svmproba.solvers.sweeps`). Models that
the first two leave with too large a gap are solved once more by Newton steps from a cold start.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from .lagrangian import DIRECT_WIDTH, State, clear, new_state
from .newton import LEAST_WIDTH, Guide, solve_path
from .pairs import solve_pairs
from .problem import Array, Problem, certify, product
from .rows import signed_rows
from .sweeps import solve_sweeps

#: Memory that one running block may use for scores and multipliers. A single bag is the least.
BLOCK_BYTES = 64 * 2**20
#: Bags a block at most: progress is shown and Ctrl-C is heard between blocks.
_BLOCK_BAGS = 32
#: Records up to which the kernel matrix of the rows is kept (128 MB), and the columns from which a
#: system of the size of the inner records can pay.
_KERNEL_ROWS, _KERNEL_WIDTH, _LARGE_PRODUCT = 4000, 32, 10**9
#: Columns whose mean is more than so many standard deviations from 0 are centred.
_OFFSET = 3.0
#: Bags solved on all rows to learn how far margins move from their prediction, and the multiple of
#: that movement that bounds the working rows.
_PILOTS, _WIDTHS = 2, 2.5

Tally = Callable[[Array, Any], tuple[Array, Array]]
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

    Returns
    -------
    Ensemble
        Models that missed ``tol`` are returned with the gap they have.
    """
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
    method = _method(problem, width, bool(np.isinf(counts).any()))
    shared = _Shared(
        rows, problem, width, grid, tol, _cold(n_grid), weight, tally, method, os.getpid()
    )
    coef, intercept = np.empty((n_grid, n_bags, d)), np.empty((n_grid, n_bags))
    gap = np.empty((n_grid, n_bags))
    summed, stacked = None, []
    size = _block_size(n, n_grid, n_bags, n_workers)
    starts = range(0, n_bags, size)
    try:
        with threadpool_limits(1):
            if method == "newton" and n_bags > 2 * _PILOTS:
                guide = _interruptible(_learn_guide, shared, counts[:_PILOTS], stop)
                shared = shared._replace(guide=guide)
            # Processes get large arrays as memory maps; read-only ones would be compiled anew.
            parallel = Parallel(
                n_jobs=n_jobs, prefer="threads", return_as="generator", mmap_mode="c"
            )
            blocks = parallel(
                delayed(_run_block)(shared, counts[s : s + size], stop) for s in starts
            )
            for s, block in zip(starts, blocks, strict=True):
                part = slice(s, s + size)
                coef[:, part], intercept[:, part], gap[:, part] = block[:3]
                if tally is not None:
                    summed = block[3] if summed is None else summed + block[3]
                    stacked.append(block[4])
                if report is not None:
                    report(block[2].shape[1])
    except BaseException:
        stop[0] = 1  # blocks that still run in threads leave at their next Newton step
        raise
    if mean is not None:
        intercept -= coef @ mean
    return Ensemble(coef, intercept, gap, summed, np.concatenate(stacked, -1) if stacked else None)


def _centred(rows: Any) -> tuple[Any, Array | None]:
    """Centre dense columns that are far from 0; exact, because the bias is free."""
    if not isinstance(rows, np.ndarray):
        return rows, None
    mean, std = rows.mean(axis=0), rows.std(axis=0)
    if np.all(np.abs(mean) <= _OFFSET * std) or not np.isfinite(mean).all():
        return np.ascontiguousarray(rows, np.float64), None
    return np.ascontiguousarray(rows - mean), mean


def _block_size(n: int, n_grid: int, n_bags: int, n_workers: int) -> int:
    """Bags a block: few enough for the memory, and for all workers to have several blocks."""
    fitting = BLOCK_BYTES // (2 * 8 * n_grid * n)
    return int(max(1, min(fitting, _BLOCK_BAGS, -(-n_bags // (4 * n_workers)))))


def _kernel(rows: Any, signs: Array, width: int, n_workers: int) -> Array:
    """Kernel matrix of the signed rows without the bias, or an empty one."""
    n, d = rows.shape
    if n > _KERNEL_ROWS or width < _KERNEL_WIDTH:
        return np.empty((0, 0))
    # BLAS threads go on spinning after a product and would steal the first milliseconds.
    with threadpool_limits(n_workers if n * n * d > _LARGE_PRODUCT else 1):
        kernel = rows @ rows.T
    kernel = kernel if isinstance(kernel, np.ndarray) else kernel.toarray()
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


def _learn_guide(shared: _Shared, counts: Any, stop: Any) -> Guide:
    """Path of the full sample, and how far the margins of a few bags move from it."""
    problem, grid = shared.problem, shared.grid
    n, d = problem.signs.shape[0], problem.d
    base = np.ones(n) if shared.weight is None else shared.weight
    state = new_state(problem, shared.width)
    sharp = shared._replace(tol=shared.tol / 10.0)
    coef, alphas = np.empty((grid.shape[0], shared.width)), np.empty((grid.shape[0], n))
    _solve(sharp, state, base, stop, coef, alphas)
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
    shared: _Shared, state: State, base: Array, stop: Any, coef: Array, alphas: Array
) -> Array:
    """Write weights with the bias and multipliers of one bag; return the margins' movement."""
    moved = np.zeros(shared.grid.shape[0])
    task = (shared.problem, state, base, shared.grid, shared.tol)
    if shared.method == "newton":
        clear(state)
        solve_path(*task, shared.guide, stop, coef, alphas, moved)
    elif shared.method == "pairs":
        solve_pairs(*task, stop, coef, alphas)
    else:
        solve_sweeps(*task, stop, coef, alphas)
    return moved


def _solve_block(shared: _Shared, counts: Any, stop: Any) -> tuple[Any, ...]:
    """Models of some bags with their certificates and the tally of their scores."""
    problem, d = shared.problem, shared.problem.d
    base = _base(shared, counts)
    n_bags, n = base.shape
    n_grid = shared.grid.shape[0]
    coef, alphas = np.empty((n_bags, n_grid, shared.width)), np.empty((n_bags, n_grid, n))
    state = new_state(problem, shared.width)
    for b in range(n_bags):
        _solve(shared, state, base[b], stop, coef[b], alphas[b])
    w, bias = np.ascontiguousarray(coef[:, :, :d]), coef[:, :, d].copy()
    fixed = (shared.rows, problem.signs, problem.targets)
    gap, scores = certify(*fixed, base, shared.grid, w, bias, alphas)
    missed = np.flatnonzero((gap > shared.tol).any(axis=1)).tolist()
    for b in missed if shared.method != "sweeps" else ():
        _solve(_plain(shared), state, base[b], stop, coef[b], alphas[b])
        again_w, again_bias = coef[b : b + 1, :, :d].copy(), coef[b : b + 1, :, d].copy()
        one, score = certify(
            *fixed, base[b : b + 1], shared.grid, again_w, again_bias, alphas[b : b + 1]
        )
        better = one[0] < gap[b]
        gap[b, better], scores[b, better] = one[0, better], score[0, better]
        w[b, better], bias[b, better] = again_w[0, better], again_bias[0, better]
    tallied = (None, None) if shared.tally is None else shared.tally(scores, counts)
    return w.transpose(1, 0, 2), bias.T, gap.T, *tallied


def _run_block(shared: _Shared, counts: Any, stop: Any) -> tuple[Any, ...]:
    """Solve a block wherever joblib runs it."""
    if os.getpid() != shared.parent:
        with threadpool_limits(1):
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
