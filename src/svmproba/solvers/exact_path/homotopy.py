r"""CPU engine for small, nearly separable tables: the exact path of the solution.

With bounds :math:`c_i(\tau)` and targets :math:`t_i(\tau)` that are linear in :math:`\tau`, the
solution is piecewise linear in :math:`\tau` (Hastie, Rosset, Tibshirani & Zhu 2004). Let
:math:`J` be the records strictly between their bounds, :math:`B` those at their bound. On a piece

.. math:: \begin{pmatrix}0 & y_J^\top\\ y_J & Q_{JJ}\end{pmatrix}
   \begin{pmatrix}\dot b\\ \dot\alpha_J\end{pmatrix} =
   \begin{pmatrix}-y_B^\top\dot c_B\\ \dot t_J-Q_{JB}\,\dot c_B\end{pmatrix},

and a piece ends where a multiplier reaches a bound or a record its margin. Each such event adds or
removes one row of the matrix, whose inverse is kept. A bag starts from the solution of the full
sample, whose bounds go over to those of the bag; then C goes up the grid. Nearly separable tables
have few events, a dozen for each C, and an event is cheaper than a Newton step. What is wrong at
the end of a piece (a record that was not watched, rounding) becomes a change of the targets, and
is taken back along one more piece.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from svmproba.solvers.core.compiled import JIT, ONCE, lean_entry
from svmproba.solvers.core.rows import rows_dot
from svmproba.solvers.exact_path.pieces import (
    ABSENT,
    ALPHA,
    BAG,
    BASE,
    BOUND,
    DEPENDENT,
    EVENTS,
    INNER,
    INNER_ALPHA,
    INNER_LIMIT,
    INNER_RISE,
    LIMIT,
    MARGIN,
    MEMBER_PLACE,
    POINT,
    PULL,
    PULLED,
    REACH,
    RISE,
    ROWS,
    SEATS,
    SIDE,
    SLOT,
    SPACE,
    TARGET,
    TOTAL,
    WATCHED,
    WATCHED_PLACE,
    ZERO,
    add_listed,
    append,
    begin_set,
    follow,
    image,
    new_walk,
)
from svmproba.solvers.problem import Array, Problem, relative_gap

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


class Route(NamedTuple):
    """Where bags start, and which records they watch."""

    alpha: Array  # (n,), multipliers of a solution
    bound: Array  # (n,), its bounds
    status: Any  # (n,) int8: 0 at zero, 1 between the bounds, 2 at the bound
    bias: float
    width: Array  # (n_C,), distance from the margin up to which records are watched


def find_route(
    problem: Problem, width: int, full: Array, base: Array, grid: Array, tol: float, stop: Any
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
    walk, needed = new_walk(problem, width), np.zeros(n_grid)
    coef, alphas = np.empty((n_grid, width)), np.empty((n_grid, n))
    start = _cold_route(problem, grid[0] * full, n_grid)
    task = (problem, walk, full, grid[:1].copy(), tol, start, stop, coef[:1], alphas[:1], needed)
    if walk_path(*task) < 1:
        return None
    bias = float(coef[0, problem.d])
    status, here = np.full(n, ZERO, np.int8), full > 0.0
    status[here] = walk.status[: np.count_nonzero(here)]
    route = Route(alphas[0].copy(), start.bound, status, bias, start.width)
    needed[:] = 0.0
    for bag in base:
        solved = walk_path(problem, walk, bag, grid, tol, route, stop, coef, alphas, needed)
        if solved < n_grid or walk.count[EVENTS] > _SHORT * n_grid:
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


def _cold_route(problem: Problem, bound: Array, n_grid: int) -> Route:
    """Start with the smaller class at its bounds, and as much of the other, the worst first.

    It solves the problem for other targets; the first piece leads to the right ones.
    """
    d, signs = problem.d, problem.signs
    rows = problem.table[:, :d]
    sums = [bound * (signs == sign) @ rows for sign in (1.0, -1.0)]
    masses = [bound[signs == sign].sum() for sign in (1.0, -1.0)]
    margin = rows @ (sums[0] / masses[0] + sums[1] / masses[1])
    small = 1.0 if masses[0] <= masses[1] else -1.0
    alpha = np.where(signs == small, bound, 0.0)
    others = np.flatnonzero(signs != small)
    others = others[np.argsort(margin[others], kind="stable")]
    before = np.concatenate([[0.0], np.cumsum(bound[others])[:-1]])
    alpha[others] = np.clip(min(masses) - before, 0.0, bound[others])
    status = np.where(alpha > 0.0, BOUND, ZERO).astype(np.int8)
    last = others[max(int(np.count_nonzero(alpha[others])) - 1, 0)]
    status[last] = INNER
    bias = signs[last] * (problem.targets[last] - rows[last] @ (alpha @ rows))
    return Route(alpha, bound, status, float(bias), np.full(n_grid, np.inf))


@njit(**ONCE)
def _begin(problem, walk, base, route, C):
    """List the bag, then the records outside that still have a multiplier; returns both ends."""
    f, bag, m, end = walk.f, walk.i[BAG], np.uint64(0), np.uint64(0)
    for i in range(base.shape[0]):  # without branches: see newton
        bag[m] = i
        m += np.uint64(base[i] > 0.0)
    end = m
    for i in range(base.shape[0]):
        bag[end] = i
        end += np.uint64((base[i] == 0.0) & (route.alpha[i] > 0.0))
    for a in range(end):
        i = bag[a]
        f[ALPHA, a], f[TARGET, a], f[BASE, a] = route.alpha[i], problem.targets[i], base[i]
        walk.status[a] = route.status[i] if a < m else ABSENT
        f[LIMIT, a] = route.bound[i] if a < m else route.alpha[i]
        f[RISE, a] = C * base[i] - f[LIMIT, a]
    return np.int64(m), np.int64(end)


@njit(**JIT)
def _total(problem, walk, m):
    """Make the weights those of the multipliers, and let the next piece balance these."""
    total, point = walk.v[TOTAL], walk.v[POINT]
    add_listed(problem, walk, walk.f[ALPHA], m, np.int64(INNER), total)
    for k in range(problem.d):
        point[k] = total[k]
    walk.along[1] = -total[problem.d]


@njit(**ONCE)
def _build(problem, walk, m, end):
    """Choose J anew among the records that were in it; returns whether any is left."""
    walk.count[SEATS] = 0
    for a in range(m):
        if walk.status[a] != INNER:
            continue
        if walk.count[SEATS] == 0:
            begin_set(problem, walk, a)
            continue
        rest, square = image(problem, walk, walk.i[BAG, a])
        if rest > DEPENDENT * (1.0 + square) and walk.count[SEATS] < walk.inverse.shape[0]:
            append(walk, a, rest)
        else:
            at_bound = walk.f[ALPHA, a] > 0.5 * walk.f[LIMIT, a]
            walk.status[a] = BOUND if at_bound else ZERO
            walk.f[ALPHA, a] = walk.f[LIMIT, a] * at_bound
    _total(problem, walk, end)
    rows_dot(problem.table, walk.i[BAG], m, walk.v[POINT], walk.f[MARGIN])
    return walk.count[SEATS] > 0


@njit(**ONCE)
def _watch(walk, m, width):
    """Choose the records to watch, and targets for which this point is the solution."""
    f, w, status, places, n_rows = walk.f, walk.w, walk.status, walk.i[WATCHED_PLACE], np.uint64(0)
    for a in range(m):  # without branches: see newton
        lack = f[TARGET, a] - f[MARGIN, a]
        inner, wrong = status[a] == INNER, (lack > 0.0) == (status[a] == ZERO)
        places[n_rows] = a
        n_rows += np.uint64(inner | wrong | (abs(lack) <= width))
    for q in range(n_rows):
        a = places[q]
        lack, side = f[TARGET, a] - f[MARGIN, a], 0.0
        if status[a] != INNER:
            side = 1.0 if status[a] == ZERO else -1.0
        wrong = side * lack > 0.0
        # A wrong one gets some space, or all of them would meet their margins at once.
        space = 0.5 * abs(lack) if wrong else abs(side * lack)
        pull = lack + side * space if wrong or side == 0.0 else 0.0
        w[SPACE, q], w[SIDE, q], w[PULLED, q], f[PULL, a] = space, side, pull, pull
        walk.i[WATCHED, q], walk.i[SLOT, a] = walk.i[BAG, a], q
    walk.count[ROWS] = n_rows
    for p in range(1, walk.count[SEATS]):
        a = walk.i[MEMBER_PLACE, p]
        walk.j[INNER_ALPHA, p] = f[ALPHA, a]
        walk.j[INNER_LIMIT, p], walk.j[INNER_RISE, p] = f[LIMIT, a], f[RISE, a]


@njit(**ONCE)
def _arrive(problem, walk, m, C):
    """Settle multipliers and margins after a piece; returns the gap and the width it took."""
    alpha, margin, target, base = walk.f[ALPHA], walk.f[MARGIN], walk.f[TARGET], walk.f[BASE]
    status, point, now = walk.status, walk.v[POINT], walk.w[REACH]
    for p in range(1, walk.count[SEATS]):
        alpha[walk.i[MEMBER_PLACE, p]] = walk.j[INNER_ALPHA, p]
    for a in range(m):
        c = C * base[a]
        alpha[a] = c if status[a] == BOUND else min(max(alpha[a], 0.0), c)
    _total(problem, walk, m)
    rows_dot(problem.table, walk.i[BAG], m, point, now)
    hinge, linear, norm, width = 0.0, 0.0, 0.0, 0.0
    for k in range(problem.d):
        norm += point[k] * point[k]
    for a in range(m):
        before, after = target[a] - margin[a], target[a] - now[a]
        turned = (status[a] == INNER) | ((after > 0.0) != (before > 0.0))
        width = max(width, abs(before) if turned else 0.0)
    for a in range(m):
        margin[a] = now[a]
        hinge += C * base[a] * max(target[a] - now[a], 0.0)
        linear += alpha[a] * target[a]
    if abs(walk.along[1]) > 1e-6 * linear:
        return np.inf, width
    return relative_gap(0.5 * norm + hinge, linear - 0.5 * norm), width


@lean_entry
def walk_path(problem, walk, base, grid, tol, route, stop, coef, alphas, width):
    """Solve the problem with bounds ``C * base`` for every C of an increasing grid.

    Parameters
    ----------
    problem : Problem
        With dense rows.
    walk : Walk
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
    m, end = _begin(problem, walk, base, route, grid[0])
    walk.v[POINT, problem.d] = route.bias
    walk.count[EVENTS] = 0
    for k in range(grid.shape[0]):
        for j in range(coef.shape[1]):
            coef[k, j] = 0.0
        for i in range(base.shape[0]):
            alphas[k, i] = 0.0
    build, level = True, 0.0
    for k in range(grid.shape[0]):
        limit, repairs = walk.count[EVENTS] + _MAX_EVENTS, 0
        if level == 0.0:
            limit += 3 * base.shape[0]
        while True:
            for a in range(m if level > 0.0 else 0):
                walk.f[LIMIT, a] = level * walk.f[BASE, a]
                walk.f[RISE, a] = (grid[k] - level) * walk.f[BASE, a]
            if build and not _build(problem, walk, m, end):
                return k
            _watch(walk, m, route.width[k])
            if not follow(problem, walk, end, limit, stop):
                return k
            end, level = m, grid[k]
            gap, needed = _arrive(problem, walk, m, level)
            width[k] = max(width[k], needed)
            build = gap > 0.5 * tol and repairs > 0
            if gap <= 0.5 * tol:
                break
            repairs += 1
            if repairs > _REPAIRS:
                return k
        for j in range(coef.shape[1]):
            coef[k, j] = walk.v[POINT, j]
        for a in range(m):
            alphas[k, walk.i[BAG, a]] = walk.f[ALPHA, a]
    return grid.shape[0]
