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

from .pieces import (
    ABSENT,
    ALPHA,
    BAG,
    BOUND,
    DEPENDENT,
    EVENTS,
    INNER,
    INNER_ALPHA,
    INNER_LIMIT,
    INNER_RISE,
    LIMIT,
    MARGIN,
    MEMBER,
    PLACES,
    POINT,
    PULL,
    PULLED,
    RISE,
    ROWS,
    SIDE,
    SLOT,
    SPACE,
    TOTAL,
    WATCHED,
    ZERO,
    append,
    begin_set,
    follow,
    image,
    new_walk,
)
from .problem import JIT, Array, Problem, lean_entry, relative_gap
from .rows import row_add, row_dot

#: Tables that may have short paths: records times columns, and the records that the direction
#: between the means of the classes gets wrong, as a share and as a number.
_MOST_NUMBERS, _MOST_WRONG, _MOST_WRONG_RECORDS = 50_000, 0.1, 45
#: Events for one C up to which Newton steps are not worth compiling as well, and before a bag is
#: given up.
_SHORT, _MAX_EVENTS = 50, 400
#: Watched are the records up to so many times the distance that the first bags needed.
_WIDTHS, _LEAST_WIDTH = 1.5, 0.1
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
    route = Route(alphas[0].copy(), start.bound, walk.status.copy(), bias, start.width)
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


@njit(**JIT)
def _begin(walk, base, route):
    """List the bag, then the records outside that still have a multiplier; returns both ends."""
    m, end = np.int64(0), np.int64(0)
    for i in range(base.shape[0]):
        m += base[i] > 0.0
    end, m = m, np.int64(0)
    for i in range(base.shape[0]):
        x = route.alpha[i]
        walk.f[ALPHA, i] = x
        if base[i] > 0.0:
            walk.status[i] = route.status[i]
            walk.i[BAG, m] = i
            m += 1
        else:
            walk.status[i] = ABSENT
            walk.f[LIMIT, i], walk.f[RISE, i] = x, -x
            walk.i[BAG, end] = i
            end += x > 0.0
    return m, end


@njit(**JIT)
def _total(problem, walk, m):
    """Make the weights those of the multipliers, and let the next piece balance these."""
    total, point = walk.v[TOTAL], walk.v[POINT]
    for k in range(total.shape[0]):
        total[k] = 0.0
    for a in range(m):
        i = walk.i[BAG, a]
        if walk.f[ALPHA, i] > 0.0:
            row_add(problem.table, i, walk.f[ALPHA, i], total)
    for k in range(problem.d):
        point[k] = total[k]
    walk.along[1] = -total[problem.d]


@njit(**JIT)
def _build(problem, walk, m, end):
    """Choose J anew among the records that were in it; returns whether any is left."""
    walk.count[PLACES] = 0
    for a in range(m):
        i = walk.i[BAG, a]
        if walk.status[i] != INNER:
            continue
        if walk.count[PLACES] == 0:
            begin_set(problem, walk, i)
            continue
        rest, square = image(problem, walk, i)
        if rest > DEPENDENT * (1.0 + square) and walk.count[PLACES] < walk.inverse.shape[0]:
            append(walk, i, rest)
        else:
            at_bound = walk.f[ALPHA, i] > 0.5 * walk.f[LIMIT, i]
            walk.status[i] = BOUND if at_bound else ZERO
            walk.f[ALPHA, i] = walk.f[LIMIT, i] * at_bound
    _total(problem, walk, end)
    for a in range(m):
        walk.f[MARGIN, walk.i[BAG, a]] = row_dot(problem.table, walk.i[BAG, a], walk.v[POINT])
    return walk.count[PLACES] > 0


@njit(**JIT)
def _watch(problem, walk, m, width):
    """Choose the records to watch, and targets for which this point is the solution."""
    n_rows, w = np.int64(0), walk.w
    for a in range(m):
        i = walk.i[BAG, a]
        status = walk.status[i]
        lack = problem.targets[i] - walk.f[MARGIN, i]
        side = 0.0
        if status != INNER:
            side = 1.0 if status == ZERO else -1.0
        wrong = side * lack > 0.0
        if side == 0.0 or wrong or abs(lack) <= width:
            # A wrong one gets some space, or all of them would meet their margins at once.
            space = 0.5 * abs(lack) if wrong else abs(side * lack)
            pull = lack + side * space if wrong or side == 0.0 else 0.0
            w[SPACE, n_rows], w[SIDE, n_rows], w[PULLED, n_rows] = space, side, pull
            walk.f[PULL, i] = pull
            walk.i[WATCHED, n_rows] = i
            walk.i[SLOT, i] = n_rows
            n_rows += 1
    walk.count[ROWS] = n_rows
    for p in range(1, walk.count[PLACES]):
        i = walk.i[MEMBER, p]
        walk.j[INNER_ALPHA, p] = walk.f[ALPHA, i]
        walk.j[INNER_LIMIT, p], walk.j[INNER_RISE, p] = walk.f[LIMIT, i], walk.f[RISE, i]


@njit(**JIT)
def _arrive(problem, walk, m, base, C):
    """Settle multipliers and margins after a piece; returns the gap and the width it took."""
    for p in range(1, walk.count[PLACES]):
        walk.f[ALPHA, walk.i[MEMBER, p]] = walk.j[INNER_ALPHA, p]
    for a in range(m):
        i = walk.i[BAG, a]
        c = C * base[i]
        if walk.status[i] == BOUND:
            walk.f[ALPHA, i] = c
        elif walk.status[i] == INNER:
            walk.f[ALPHA, i] = min(max(walk.f[ALPHA, i], 0.0), c)
    _total(problem, walk, m)
    point, hinge, linear, norm, width = walk.v[POINT], 0.0, 0.0, 0.0, 0.0
    for k in range(problem.d):
        norm += point[k] * point[k]
    for a in range(m):
        i = walk.i[BAG, a]
        t, margin = problem.targets[i], row_dot(problem.table, i, point)
        before, after = t - walk.f[MARGIN, i], t - margin
        if walk.status[i] == INNER or (after > 0.0) != (before > 0.0):
            width = max(width, abs(before))
        walk.f[MARGIN, i] = margin
        hinge += C * base[i] * max(after, 0.0)
        linear += walk.f[ALPHA, i] * t
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
    m, end = _begin(walk, base, route)
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
            for a in range(m):
                i = walk.i[BAG, a]
                walk.f[LIMIT, i] = level * base[i] if level > 0.0 else route.bound[i]
                walk.f[RISE, i] = grid[k] * base[i] - walk.f[LIMIT, i]
            if build and not _build(problem, walk, m, end):
                return k
            _watch(problem, walk, m, route.width[k])
            if not follow(problem, walk, end, limit, stop):
                return k
            end, level = m, grid[k]
            gap, needed = _arrive(problem, walk, m, base, level)
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
            alphas[k, walk.i[BAG, a]] = walk.f[ALPHA, walk.i[BAG, a]]
    return grid.shape[0]
