"""CPU engine for tables of moderate width: Newton paths over the grid of C.

One call follows an increasing grid of C for one bag. What makes it fast:

* *prediction*: the step of the full-sample solution from one C to the next is added to the bag's
  own solution, and multipliers between their bounds grow as the full sample's do;
* *working rows*: records far from their margin keep their multiplier at 0 or at the bound; only
  the others are visited. All records are checked at the end, and if a fixed one has crossed, the
  step is cut back by a line search over all records and the working rows are chosen anew;
* *steps*: see :mod:`~svmproba.solvers.lagrangian` and :mod:`~svmproba.solvers.directions`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from .lagrangian import (
    ALPHA,
    AT_BOUND,
    BAG,
    BASE_PLUS,
    FIXED_PLUS,
    INDEX,
    LAST,
    LAST_POINT,
    MARGIN,
    MEMBER,
    PENALTY,
    POINT,
    PREDICTED,
    ROWS,
    W_ALPHA,
    W_BOUND,
    W_LACK,
    W_NEW,
    W_PENALTY,
    W_SUMMED,
    W_TARGET,
    newton_steps,
)
from .problem import JIT, Array, lean_entry, relative_gap
from .rows import rows_add, score_rows

#: Newton steps for one model before it is given up (and reported with the gap it has).
MAX_STEPS = 400
#: Newton steps on working rows before all rows are looked at again.
_ROUND_STEPS = 10
#: Least half width of the working rows, in margins.
LEAST_WIDTH = 0.1


class Guide(NamedTuple):
    """Prediction from the full sample, by C; empty steps mean a cold start."""

    step: Array  # (n_C, width), change of v from the C before
    margins: Array  # (n_C, n), change of the margins
    growth: Array  # (n_C,), growth of the multipliers between their bounds
    width: Array  # (n_C,), half width of the working rows


# The loops below go through all records of a bag with few branches: which record is drawn, works
# or changes sides is hard to foresee, and a wrong guess costs more than the whole record. Lists
# are written to in any case, and count what belongs there.


@njit(**JIT)
def _begin(problem, state, base):
    """List the bag, positives first; returns its size and the number of positives."""
    bag, m, n_plus = state.i[BAG], np.uint64(0), np.uint64(0)
    for turn in range(2):
        for i in range(base.shape[0]):
            bag[m] = i
            m += np.uint64((base[i] > 0.0) & ((problem.signs[i] > 0.0) == (turn == 0)))
        if turn == 0:
            n_plus = m
    return np.int64(m), np.int64(n_plus)


@njit(**JIT)
def _choose_rows(problem, state, m, m_plus, base, C, width):
    """Gather the working rows, positives first; fix the others at 0 or at their bound."""
    bag, w, rows, changed, change = (
        state.i[BAG], state.w, state.i[ROWS], state.i[INDEX], state.scratch[0],
    )  # fmt: skip
    n_rows = np.uint64(0)
    n_plus = n_rows
    for s in range(2):
        n_changed, linear = np.uint64(0), 0.0
        for a in range(np.uint64(s * m_plus), np.uint64(m if s else m_plus)):
            i = bag[a]
            x, c, t = state.f[ALPHA, i], C * base[i], problem.targets[i]
            lack = t - state.f[MARGIN, i]
            work = (abs(lack) <= width) | ((x > 0.0) & (x < c)) | (c == np.inf)
            bound = (lack > 0.0) & (not work)
            rows[n_rows] = i
            n_rows += np.uint64(work)
            changed[n_changed], change[n_changed] = i, base[i] if bound else -base[i]
            n_changed += np.uint64(bound != state.b[AT_BOUND, i])
            state.b[AT_BOUND, i] = bound
            state.b[MEMBER, i] &= work
            state.f[ALPHA, i] = x if work else (c if bound else 0.0)
            state.f[LAST, i] = state.f[MARGIN, i]
        rows_add(problem.table, changed, change, np.int64(n_changed), state.v[BASE_PLUS + s])
        for q in range(n_changed):
            linear += change[q] * problem.targets[changed[q]]
        state.linear[2 + s] += linear
        n_plus = n_rows if s == 0 else n_plus
    for a in range(n_rows):
        i = rows[a]
        w[W_ALPHA, a], w[W_SUMMED, a], w[W_TARGET, a] = state.f[ALPHA, i], 0.0, problem.targets[i]
        w[W_LACK, a] = problem.targets[i] - state.f[MARGIN, i]
        w[W_BOUND, a], w[W_PENALTY, a] = C * base[i], state.f[PENALTY, i]
    for k in range(state.v.shape[1]):
        state.v[LAST_POINT, k] = state.v[POINT, k]
    for s in range(2):
        state.linear[s] = C * state.linear[2 + s]
        for k in range(state.v.shape[1]):
            state.v[FIXED_PLUS + s, k] = C * state.v[BASE_PLUS + s, k]
    return np.int64(n_plus), np.int64(n_rows)


@njit(**JIT)
def _crossed(problem, state, m, base, C):
    """Loss that the fixed records on the wrong side add to the primal value."""
    wrong = 0.0
    for a in range(m):
        i = state.i[BAG, a]
        lack = problem.targets[i] - state.f[MARGIN, i]
        over = -lack if state.b[AT_BOUND, i] else (lack if state.f[ALPHA, i] == 0.0 else 0.0)
        wrong += base[i] * over if over > 0.0 else 0.0
    return C * wrong


@njit(**JIT)
def _cut_back(problem, state, m, base, C):
    """Go back from the new point towards the last one, to the minimum over all records."""
    bag, v, point = state.i[BAG], state.v[LAST_POINT], state.v[POINT]
    margins, new = state.f[LAST], state.f[MARGIN]
    a0, a1 = 0.0, 0.0
    for k in range(problem.d):
        a0 += v[k] * (point[k] - v[k])
        a1 += (point[k] - v[k]) ** 2
    left, right, tau = 0.0, 1.0, 1.0
    for _ in range(12):
        s = a0 + tau * a1
        for a in range(m):
            i = bag[a]
            z = new[i] - margins[i]
            if problem.targets[i] - margins[i] - tau * z > 0.0 and base[i] < np.inf:
                s -= C * base[i] * z
        if s > 0.0:
            right = tau
        elif tau == 1.0:
            return
        else:
            left = tau
        tau = 0.5 * (left + right)
    for k in range(v.shape[0]):
        point[k] = v[k] + tau * (point[k] - v[k])
    for a in range(m):
        i = bag[a]
        new[i] = margins[i] + tau * (new[i] - margins[i])


@njit(**JIT)
def _predict(problem, state, guide, m, base, grid, k):
    """Move the last solution to the next C; returns the penalty to start with."""
    guided = guide.step.shape[0] > 0
    # The more columns, the more records are between their bounds at the end, and the smoother the
    # start should be: at 300 columns a penalty of 1 takes half the steps of 6.
    sigma = min(max(240.0 / state.v.shape[1], 1.0), 6.0)
    if guided:
        for j in range(guide.step.shape[1]):
            state.v[POINT, j] += guide.step[k, j]
    for a in range(m):
        i = state.i[BAG, a]
        c = grid[k] * base[i]
        if guided:
            state.f[MARGIN, i] += guide.margins[k, i]
        state.f[PREDICTED, i] = state.f[MARGIN, i]
        if k > 0:
            x = state.f[ALPHA, i]
            at_bound = x >= grid[k - 1] * base[i]
            state.f[ALPHA, i] = c if at_bound else min(x * guide.growth[k], c)
        elif c == np.inf:
            state.f[ALPHA, i] = 0.0
        elif guided:
            lack = problem.targets[i] - state.f[MARGIN, i]
            state.f[ALPHA, i] = c * min(max(0.5 + sigma * lack, 0.0), 1.0)
        else:
            state.f[ALPHA, i] = 0.35 * c
    # A cold start begins with a wide smoothing: all records curve, a ridge regression.
    return sigma * grid[k] if guided or k > 0 else 0.3 * grid[k]


@lean_entry
def solve_path(problem, state, base, grid, tol, guide, stop, coef, alphas, moved):
    """Solve the problem with bounds ``C * base`` for every C of an increasing grid.

    Parameters
    ----------
    problem : Problem
    state : State
        Work space, overwritten; see :func:`~svmproba.solvers.lagrangian.clear`.
    base : array of shape (n,)
        Bounds at C = 1: 0 for absent records, infinite for hard margins.
    grid : array of shape (n_C,)
    tol : float
        Relative gap at which a model is left.
    guide : Guide
    stop : array of one byte
        Set to 1 by another thread to leave at once.
    coef : array of shape (n_C, width)
        Overwritten: weights, bias at column d.
    alphas : array of shape (n_C, n)
        Overwritten: multipliers.
    moved : array of shape (n_C,)
        Overwritten: mean change of the margins from the prediction to the solution.
    """
    m, m_plus = _begin(problem, state, base)
    bag, point, margins, alpha = state.i[BAG], state.v[POINT], state.f[MARGIN], state.f[ALPHA]
    hard, largest = np.bool_(False), 1.0
    for i in range(base.shape[0]):
        hard |= base[i] == np.inf
        largest = max(largest, base[i] if base[i] < np.inf else 0.0)
    for i in range(base.shape[0]):
        # A hard margin is penalised as much as the dearest record.
        state.f[PENALTY, i] = min(base[i], largest)
    for k in range(grid.shape[0]):
        C = grid[k]
        sigma = _predict(problem, state, guide, m, base, grid, k)
        half, done, scale = guide.width[k], 0, 1.0
        while True:
            n_plus, n_rows = _choose_rows(problem, state, m, m_plus, base, C, half)
            allowed = MAX_STEPS - done
            if n_rows < m and allowed > _ROUND_STEPS:
                allowed = _ROUND_STEPS
            primal, dual, scale, steps, sigma = newton_steps(
                problem, state, n_plus, n_rows, sigma, hard, 0.95 * tol, allowed, stop
            )
            done += steps
            for a in range(n_rows):
                i = state.i[ROWS, a]
                alpha[i] = state.w[W_NEW, a]
                margins[i] = problem.targets[i] - state.w[W_LACK, a]
            if n_rows == m or done >= MAX_STEPS or stop[0]:
                break
            score_rows(problem.table, bag, m, point, margins)
            wrong = _crossed(problem, state, m, base, C)
            if relative_gap(primal + wrong, dual) <= 0.99 * tol:
                break
            if wrong > 0.1 * tol * abs(primal):
                _cut_back(problem, state, m, base, C)
                half = 2.0 * max(half, LEAST_WIDTH)
        total = 0.0
        for a in range(m):
            total += abs(margins[bag[a]] - state.f[PREDICTED, bag[a]])
        moved[k] = total / m
        for j in range(coef.shape[1]):
            coef[k, j] = scale * point[j]
        for i in range(base.shape[0]):
            alphas[k, i] = alpha[i]
