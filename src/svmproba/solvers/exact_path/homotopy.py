r"""CPU engine for small, nearly separable tables: the exact path of the solution.

A bag starts from the solution of the full sample, whose bounds go over to those of the bag; then C
goes up the grid (:mod:`~svmproba.solvers.exact_path.follow`). Nearly separable tables have few
events, a dozen for each C, and an event is cheaper than a Newton step. What is wrong at the end of
a piece (a record that was not watched, rounding) becomes a change of the targets, and is taken back
along one more piece.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from svmproba._types import Floats
from svmproba.solvers.core.compiled import JIT, lean_entry
from svmproba.solvers.core.references import by_reference
from svmproba.solvers.core.rows import rows_dot
from svmproba.solvers.exact_path.active_set import cold_start, find_leads, locate, rebuild, values
from svmproba.solvers.exact_path.follow import DONE, Task, follow, list_near
from svmproba.solvers.exact_path.workspace import (
    ABSENT,
    BOUND,
    FREE,
    ZERO,
    Space,
    moving_path,
    new_space,
    open_free,
    open_path,
)
from svmproba.solvers.problem import Problem, relative_gap

#: Tables that may have short paths: records times columns, and the records that the direction
#: between the means of the classes gets wrong, as a share and as a number.
_MOST_NUMBERS, _MOST_WRONG, _MOST_WRONG_RECORDS = 50_000, 0.1, 45
#: Events for one C up to which Newton steps are not worth compiling as well, and before a bag is
#: given up.
_SHORT, _MAX_EVENTS = 50, 400
#: Watched are the records up to so many times the distance that the first bags needed. More than
#: once: all bags start from one point, where the record that set the distance lies just there.
_WIDTHS, _LEAST_WIDTH = 1.1, 0.1
#: Pieces at one C to put things right.
_REPAIRS = 5
#: Rounding that is allowed for: of margins, and of multipliers as a share of their bound.
_SLACK = 1e-9


class Route(NamedTuple):
    """Where bags start, and which records they watch."""

    alpha: Floats  # (n,), multipliers of a solution
    bound: Floats  # (n,), its bounds
    status: Any  # (n,) int8: 0 at zero, 1 between the bounds, 2 at the bound
    bias: float
    width: Floats  # (n_C,), distance from the margin up to which records are watched


def find_route(
    problem: Problem, width: int, full: Floats, base: Floats, grid: Floats, tol: float, stop: Any
) -> Route | None:
    """Solve the full sample, then a few bags; returns where the others start.

    Parameters
    ----------
    problem : Problem
    width : int
        Columns of its rows, with bias and padding.
    full : array of shape (n,)
        Bounds of the full sample at C = 1.
    base : array of shape (n_bags, n)
        Bounds of the first bags at C = 1.
    grid : array of shape (n_C,)
    tol : float
    stop : array of one byte

    Returns
    -------
    Route or None
        None if the table is not small, dense and nearly separable, or the paths are long.
    """
    n, n_grid = problem.signs.shape[0], grid.shape[0]
    dense = isinstance(problem.table, np.ndarray) and n * width <= _MOST_NUMBERS
    if not dense or not np.isfinite(base).all() or not _nearly_separable(problem):
        return None
    space, needed = new_walk(problem, width), np.zeros(n_grid)
    path = moving_path(space)
    coef, alphas = np.empty((n_grid, width)), np.empty((n_grid, n))
    start = _cold_route(problem, grid[0] * full, n_grid)
    task = (problem, space, full, grid[:1].copy(), tol, start, stop, coef[:1], alphas[:1], needed)
    if walk_path(*task) < 1:
        return None
    bias = float(coef[0, problem.d])
    status, here = np.full(n, ZERO, np.int8), full > 0.0
    status[here] = path.places.where[: np.count_nonzero(here)]
    route = Route(alphas[0].copy(), start.bound, status, bias, start.width)
    needed[:] = 0.0
    for bag in base:
        solved = walk_path(problem, space, bag, grid, tol, route, stop, coef, alphas, needed)
        if solved < n_grid or path.events[0] > _SHORT * n_grid:
            return None
    return route._replace(width=np.maximum(_WIDTHS * needed, _LEAST_WIDTH))


def _nearly_separable(problem: Problem) -> bool:
    """Whether the direction between the means of the classes is nearly always right."""
    rows, signs = problem.table[:, : problem.d], problem.signs
    if abs(signs.sum()) == len(signs):
        return False  # one class alone
    means = [rows[signs == sign].mean(axis=0) for sign in (1.0, -1.0)]
    weights = means[0] + means[1]  # rows are signed
    bias = 0.5 * weights @ (means[1] - means[0])
    n_wrong = np.count_nonzero(rows @ weights + bias * signs <= 0.0)
    return bool(n_wrong <= min(_MOST_WRONG * len(rows), _MOST_WRONG_RECORDS))


def _cold_route(problem: Problem, bound: Floats, n_grid: int) -> Route:
    """Start from any point: it solves the problem for other targets."""
    alpha, last = cold_start(problem.table, problem.d, bound)
    rows, sign = problem.table[:, : problem.d], problem.signs[last]
    status = np.where(alpha > 0.0, BOUND, ZERO).astype(np.int8)
    status[last] = FREE
    bias = sign * (problem.targets[last] - rows[last] @ (alpha @ rows))
    return Route(alpha, bound, status, float(bias), np.full(n_grid, np.inf))


def new_walk(problem: Problem, width: int) -> Space:
    """Allocate the work space; it serves one bag after the other."""
    space = new_space(problem.table, problem.d, 1, np.zeros(1, np.uint8))
    moving_path(space).places.length[:] = 1.0  # records are watched by their distance in margins
    return space


@njit(**JIT)
def _begin(problem, places, base, route, C):
    """List the bag, then the records outside that still have a multiplier."""
    row, alpha, cap, rise = places.row, places.alpha, places.cap, places.rise
    where, target, size = places.where, places.target, places.size
    targets, alphas, bounds, status = problem.targets, route.alpha, route.bound, route.status
    m, end = np.uint64(0), np.uint64(0)
    for i in range(base.shape[0]):  # without branches: see newton
        row[m] = i
        m += np.uint64(base[i] > 0.0)
    end = m
    for i in range(base.shape[0]):
        row[end] = i
        end += np.uint64((base[i] == 0.0) & (alphas[i] > 0.0))
    for a in range(end):
        i = row[a]
        alpha[a], target[a] = alphas[i], targets[i]
        where[a] = status[i] if a < m else ABSENT
        cap[a] = bounds[i] if a < m else alphas[i]
        rise[a] = C * base[i] - cap[a]
    size[0], size[1] = m, end


@njit(**JIT)
def _arrive(path):
    """Compute point and leads after a piece; returns the gap, and the width that it took."""
    table, d, places, free, point = path.table, path.d, path.places, path.free, path.point
    alpha, cap, lead, where, target = (
        places.alpha, places.cap, places.lead, places.where, places.target
    )  # fmt: skip
    margin, place, width, balance = path.value, free.place, 0.0, path.balance
    for p in range(1, free.size[0]):
        i = place[p]
        alpha[i] = min(max(alpha[i], 0.0), cap[i])
    locate(path)
    rows_dot(table, places.row, places.size[0], point, margin)
    for a in range(places.size[0]):
        now = margin[a] - target[a]
        turned = (where[a] == FREE) | ((now < 0.0) != (lead[a] < 0.0))
        width = max(width, abs(lead[a]) if turned else 0.0)
        lead[a] = now
    primal, dual = values(places, d, point)
    if abs(balance[0]) > 1e-6 * (primal + dual):
        return np.inf, width
    return relative_gap(primal, dual), width


@lean_entry
def walk_path(problem, space, base, grid, tol, route, stop, coef, alphas, width):
    """Solve the problem with bounds ``C * base`` for every C of an increasing grid.

    Parameters
    ----------
    problem : Problem
        With dense rows.
    space : Space
        Work space, overwritten.
    base : array of shape (n,)
        Finite bounds at C = 1, 0 for absent records.
    grid : array of shape (n_C,)
    tol : float
        Relative gap that every model should have.
    route : Route
    stop : array of one byte
        Set to 1 by another thread to leave at once.
    coef : array of shape (n_C, width)
        Overwritten: weights, bias at column d.
    alphas : array of shape (n_C, n)
        Overwritten: multipliers.
    width : array of shape (n_C,)
        Raised to the distances from the margin at which records had to be watched.

    Returns
    -------
    int
        How many values of C were solved; the models of the others are left at zero.
    """
    path = by_reference(open_path(space, open_free(space)))
    places, near, point, events = path.places, path.near, path.point, path.events
    row, alpha, cap, rise, size = places.row, places.alpha, places.cap, places.rise, places.size
    far, n_far, d, build, adopt = path.far, path.n_far, path.d, True, np.bool_(True)
    coef[:], alphas[:], events[0] = 0.0, 0.0, 0
    _begin(problem, places, base, route, grid[0])
    point[d] = route.bias
    for k in range(grid.shape[0]):
        last, repairs = events[0] + _MAX_EVENTS, 0
        if k == 0:
            last += 3 * base.shape[0]
        for a in range(size[0] if k > 0 else 0):
            rise[a] = (grid[k] / grid[k - 1] - 1.0) * cap[a]
        while True:
            if build:
                rebuild(path)
                locate(path)
                find_leads(path.table, places, point)
            list_near(places, near, far, n_far, route.width[k], adopt)
            if follow(path, Task(1.0, last - events[0], _SLACK), None, stop) != DONE:
                return k
            size[1] = size[0]
            gap, needed = _arrive(path)
            width[k] = max(width[k], needed)
            build = gap > 0.5 * tol and repairs > 0
            if gap <= 0.5 * tol:
                break
            repairs += 1  # one more piece at this C puts right what is wrong
            if repairs > _REPAIRS:
                return k
            for a in range(size[0]):
                rise[a] = 0.0
        for j in range(coef.shape[1]):
            coef[k, j] = point[j]
        for a in range(size[0]):
            alphas[k, row[a]] = alpha[a]
    return grid.shape[0]
