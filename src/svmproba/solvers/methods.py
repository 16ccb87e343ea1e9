r"""Solve the bags of a block, one after the other, and certify every model.

Four methods share the problem, its storage and its certificate: Newton steps for tables of
moderate width (:mod:`~svmproba.solvers.newton.path`), exact paths for those that are small and
nearly separable (:mod:`~svmproba.solvers.exact_path.homotopy`), pair steps on a kernel matrix for
wide rows of not too many records, such as exact kernel rows (:mod:`~svmproba.solvers.dual.smo`),
and coordinate sweeps for wide rows of many records, such as text
(:mod:`~svmproba.solvers.dual.coordinate_descent`). Models that all but the last leave with too
large a gap are solved once more by Newton steps from a cold start.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from joblib import cpu_count

from svmproba.solvers.core.rows import signed_rows
from svmproba.solvers.dual.coordinate_descent import solve_sweeps
from svmproba.solvers.dual.smo import solve_pairs
from svmproba.solvers.exact_path.homotopy import Route, find_route, new_walk, walk_path
from svmproba.solvers.newton.lagrangian import DIRECT_WIDTH, State, clear, new_state
from svmproba.solvers.newton.path import LEAST_WIDTH, Guide, solve_path
from svmproba.solvers.problem import Array, Problem, Reach, certify, product, stretch
from svmproba.solvers.runtime.threads import blas_threads

#: Memory that one running block may use for scores and multipliers: it takes a portion of its bags
#: at a time, so that large blocks need no more than small ones. A single bag is the least.
BLOCK_BYTES = 2**21
#: Records up to which the kernel matrix of wide rows is kept (128 MB).
_KERNEL_ROWS, _LARGE_PRODUCT = 4000, 10**9
#: Rows of the kernel matrix that are computed at once.
_KERNEL_BLOCK = 1024
#: Multiple of the margins' movement in a few bags that bounds the working rows.
_WIDTHS = 2.5

Tally = Callable[[Any, Any], tuple[Array, Array]]


class Shared(NamedTuple):
    """What every block needs."""

    rows: Any
    reach: Reach
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


def choose_method(n: int, width: int, hard: bool) -> str:
    """Name of the fastest method; pair steps do not know hard margins."""
    if width <= DIRECT_WIDTH or (hard and n <= _KERNEL_ROWS):
        return "newton"
    return "pairs" if n <= _KERNEL_ROWS else "sweeps"


def with_kernel(shared: Shared, n_workers: int = 1) -> Shared:
    """Add the kernel matrix of the signed rows without the bias, if they are wide and not many."""
    if shared.problem.signs.shape[0] > _KERNEL_ROWS or shared.width <= DIRECT_WIDTH:
        return shared
    kernel = _kernel_matrix(shared.rows, shared.problem, n_workers)
    return shared._replace(problem=shared.problem._replace(kernel=kernel))


def _kernel_matrix(rows: Any, problem: Problem, n_workers: int) -> Array:
    """Products of all pairs of signed rows."""
    n, d = rows.shape
    if not isinstance(rows, np.ndarray):
        signed = rows.multiply(problem.signs[:, None]).tocsr()
        return (signed @ signed.T).toarray()
    dense = isinstance(problem.table, np.ndarray)
    signed = problem.table[:, :d] if dense else rows * problem.signs[:, None]
    kernel = np.empty((n, n))

    def fill(first: int) -> None:
        part = slice(first, first + _KERNEL_BLOCK)
        np.matmul(signed[part], signed.T, out=kernel[part])

    # Threads of our own: those of BLAS change the rounding with their number, and go on spinning
    # after a product, which would steal the first milliseconds.
    n_threads = min(n_workers, cpu_count()) if n * n * d > _LARGE_PRODUCT else 1
    with blas_threads(), ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(fill, range(0, n, _KERNEL_BLOCK)))
    return kernel


def no_guide(n_grid: int) -> Guide:
    """Return the guide that guesses nothing: start from zero, work on all rows."""
    return Guide(np.empty((0, 0)), np.empty((0, 0)), np.ones(n_grid), np.full(n_grid, np.inf))


def _plain(shared: Shared) -> Shared:
    """Return the same task by Newton steps with nothing guessed and a sharper aim."""
    guide = no_guide(shared.grid.shape[0])
    return shared._replace(tol=shared.tol / 3.0, method="newton", guide=guide)


def bounds_of(shared: Shared, counts: Any) -> Array:
    """Bounds at C = 1."""
    base = np.array(counts, np.float64, order="C")
    if shared.weight is not None:
        base *= shared.weight
    return base


def full_path(shared: Shared, state: State, stop: Any) -> tuple[Array, Array]:
    """Weights with the bias, and multipliers, of the full sample."""
    n, n_grid = shared.problem.signs.shape[0], shared.grid.shape[0]
    base = np.ones(n) if shared.weight is None else shared.weight
    sharp = shared._replace(tol=shared.tol / 10.0)
    coef, alphas = np.empty((n_grid, shared.width)), np.empty((n_grid, n))
    _solve(sharp, state, base, stop, coef, alphas)
    return coef, alphas


def with_route(shared: Shared, counts: Any, stop: Any) -> Shared:
    """Take exact paths from the full sample's solution, if those of a few bags are short."""
    problem, base = shared.problem, bounds_of(shared, counts)
    full = np.ones(base.shape[1]) if shared.weight is None else shared.weight
    route = find_route(problem, shared.width, full, base, shared.grid, shared.tol, stop)
    return shared if route is None else shared._replace(method="homotopy", route=route)


def with_guide(shared: Shared, counts: Any, stop: Any) -> Shared:
    """Learn the path of the full sample, and how far the margins of a few bags move from it."""
    problem, grid, d = shared.problem, shared.grid, shared.problem.d
    state = new_state(problem, shared.width)
    coef, alphas = full_path(shared, state, stop)
    mass = alphas.sum(axis=1)
    growth = np.ones(grid.shape[0])
    np.divide(mass[1:], mass[:-1], out=growth[1:], where=mass[:-1] > 0.0)
    step = np.diff(coef, axis=0, prepend=0.0)
    margins = product(np.ascontiguousarray(step[:, :d]), shared.rows.T, np.empty_like(alphas))
    margins = (margins + step[:, d : d + 1]) * problem.signs
    guide = Guide(step, margins, growth, shared.guide.width)
    guided = shared._replace(guide=guide)
    pilots = [_solve(guided, state, b, stop, coef, alphas) for b in bounds_of(shared, counts)]
    width = np.maximum(_WIDTHS * np.max(pilots, axis=0), LEAST_WIDTH)
    return shared._replace(guide=guide._replace(width=width))


def _solve(shared: Shared, state: Any, base: Array, stop: Any, coef: Array, alphas: Array) -> Array:
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


def solve_block(shared: Shared, counts: Any, stop: Any) -> tuple[Any, ...]:
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
    shared: Shared, state: Any, counts: Any, stop: Any, coef: Array, alphas: Array, scores: Array
) -> tuple[Array, ...]:
    """Weights (n_C, bags, d), biases and gaps (n_C, bags) of some bags; fills in their scores."""
    problem = shared.problem
    base = bounds_of(shared, counts)
    for b in range(base.shape[0]):
        _solve(shared, state, base[b], stop, coef[b], alphas[b])
    w, bias = _models(shared, coef)
    fixed = (shared.rows, problem.signs, problem.targets)
    gap, _ = certify(*fixed, base, shared.grid, w, bias, alphas, scores, shared.reach)
    missed = np.flatnonzero((gap > shared.tol).any(axis=1)).tolist()
    if missed and shared.method == "homotopy":
        state = new_state(problem, shared.width)
    for b in missed if shared.method != "sweeps" else ():
        one, again_w, again_bias, score = solve_again(shared, state, base[b : b + 1], stop)
        better = one < gap[b]
        gap[b, better], scores[b, better] = one[better], score[better]
        w[b, better], bias[b, better] = again_w[better], again_bias[better]
    return w.transpose(1, 0, 2), bias.T, gap.T


def _models(shared: Shared, coef: Array) -> tuple[Array, Array]:
    """Weights and biases of points; where one is not finite, the zero model, whose gap is large."""
    d = shared.problem.d
    coef[~np.isfinite(coef).all(axis=-1)] = 0.0
    w, bias = coef[..., :d].copy(), coef[..., d].copy()
    stretch(w, bias, shared.problem.targets, shared.reach)
    return w, bias


def solve_again(shared: Shared, state: State, base: Array, stop: Any) -> tuple[Array, ...]:
    """Gaps, weights, biases and scores of one bag, bounds (1, n), from a cold start."""
    problem, n_grid = shared.problem, shared.grid.shape[0]
    coef, alphas = np.empty((1, n_grid, shared.width)), np.empty((1, n_grid, base.shape[1]))
    _solve(_plain(shared), state, base[0], stop, coef[0], alphas[0])
    w, bias = _models(shared, coef)
    fixed = (shared.rows, problem.signs, problem.targets)
    gap, scores = certify(*fixed, base, shared.grid, w, bias, alphas, reach=shared.reach)
    return gap[0], w[0], bias[0], scores[0]


def without_products(shared: Shared) -> Shared:
    """Leave out what a worker makes sooner than it gets it."""
    return shared._replace(problem=shared.problem._replace(table=None, kernel=None))


def with_products(shared: Shared) -> Shared:
    """Make them again."""
    table, _ = signed_rows(shared.rows, shared.problem.signs)
    return with_kernel(shared._replace(problem=shared.problem._replace(table=table)))
