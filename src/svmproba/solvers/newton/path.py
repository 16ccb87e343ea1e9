"""Newton paths over the grid of C, for tables of moderate width.

One call follows an increasing grid of C for one bag. What makes it fast:

* *prediction*: the step of the full-sample solution from one C to the next is added to the bag's
  own solution, and multipliers between their bounds grow as the full sample's do;
* *working rows*: samples far from their margin keep their multiplier at 0 or at the bound; only
  the others are visited. All samples are checked at the end, and if a fixed one has crossed, the
  step is cut back by a line search over all samples and the working rows are chosen anew;
* *steps*: see :mod:`~svmproba.solvers.newton.lagrangian` and
  :mod:`~svmproba.solvers.newton.directions`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from svmproba._types import Floats
from svmproba.solvers.core.compiled import JIT, lean_entry
from svmproba.solvers.core.rows import rows_add, rows_dot
from svmproba.solvers.problem import relative_gap

from svmproba.solvers.newton.lagrangian import (  # isort: skip
    ALPHA, AT_BOUND, BAG, BASE, BASE_PLUS, FIXED_PLUS, INDEX, INNER, LAST, LAST_POINT, MARGIN,
    MEMBER, N_INNER, PENALTY, PLACES, POINT, PREDICTED, ROWS, TARGET, TURNED, W_ALPHA, W_BOUND,
    W_LACK, W_NEW, W_PENALTY, W_SUMMED, W_TARGET, WORKS, newton_steps,
)  # fmt: skip

#: Newton steps for one member before it is left with the gap it has.
MAX_STEPS = 400
#: Newton steps on working rows before all rows are looked at again.
_ROUND_STEPS = 10
#: Least half width of the working rows, in margins.
LEAST_WIDTH = 0.1
#: Stands for the bound of a hard margin where an infinite one would be multiplied by 0.
_LARGE = 1e300


class Guide(NamedTuple):
    """Prediction from the full sample, by C; empty steps mean a cold start."""

    step: Floats  # (n_C, width), change of v from the C before
    margins: Floats  # (n_C, n), change of the margins
    growth: Floats  # (n_C,), growth of the multipliers between their bounds
    width: Floats  # (n_C,), half width of the working rows


# The loops below go through all samples of a bag, by their places in it, and nearly all vectorise.
# Those that list some of them do so without branches, because a mispredicted branch costs more than
# a sample: every sample is written to the list, and the length grows only if it belongs there.


@njit(**JIT)
def _begin(problem, state, base):
    """List the bag, positives first; returns its size and the number of positives."""
    bag, m, m_plus, largest = state.i[BAG], np.uint64(0), np.uint64(0), 1.0
    for turn in range(2):
        for i in range(base.shape[0]):
            bag[m] = i
            m += np.uint64((base[i] > 0.0) & ((problem.signs[i] > 0.0) == (turn == 0)))
        if turn == 0:
            m_plus = m
    for a in range(m):
        x = base[bag[a]]
        state.f[TARGET, a], state.f[BASE, a] = problem.targets[bag[a]], x
        largest = max(largest, x if x < np.inf else 0.0)
    for i in range(base.shape[0]):
        # A hard margin is penalised as much as the most costly sample.
        state.f[PENALTY, i] = min(base[i], largest)
    return np.int64(m), np.int64(m_plus)


@njit(**JIT)
def _sort_out(state, m, C, width):
    """Mark the working rows; fix the other samples at 0 or at their bound."""
    alpha, margin, target, base = state.f[ALPHA], state.f[MARGIN], state.f[TARGET], state.f[BASE]
    at_bound, turned, works = state.b[AT_BOUND], state.b[TURNED], state.b[WORKS]
    for a in range(m):
        x, c, lack = alpha[a], C * base[a], target[a] - margin[a]
        work = (abs(lack) <= width) | ((x > 0.0) & (x < c)) | (c == np.inf)
        bound = (lack > 0.0) & (not work)
        works[a], turned[a], at_bound[a] = work, bound != at_bound[a], bound
        alpha[a] = x if work else (c if bound else 0.0)
        state.f[LAST, a] = margin[a]


@njit(**JIT)
def _choose_rows(problem, state, m, m_plus, C, width):
    """Gather the working rows, positives first, and bring the sums of the fixed ones up to date."""
    bag, rows, places, w, v = state.i[BAG], state.i[ROWS], state.i[PLACES], state.w, state.v
    changed, change, base, target = state.i[INDEX], state.scratch[0], state.f[BASE], state.f[TARGET]
    _sort_out(state, m, C, width)
    for q in range(state.count[N_INNER]):
        state.b[MEMBER, state.i[INNER, q]] = False
    n_rows, n_plus = np.uint64(0), np.uint64(0)
    for s in range(2):
        n_changed, linear = np.uint64(0), 0.0
        for a in range(np.uint64(s * m_plus), np.uint64(m if s else m_plus)):
            places[n_rows] = a
            n_rows += np.uint64(state.b[WORKS, a])
            x = base[a] if state.b[AT_BOUND, a] else -base[a]
            changed[n_changed], change[n_changed] = bag[a], x
            n_changed += np.uint64(state.b[TURNED, a])
            linear += x * target[a] if state.b[TURNED, a] else 0.0
        rows_add(problem.table, changed, change, np.int64(n_changed), v[BASE_PLUS + s])
        state.linear[2 + s] += linear
        state.linear[s] = C * state.linear[2 + s]
        for k in range(v.shape[1]):
            v[FIXED_PLUS + s, k] = C * v[BASE_PLUS + s, k]
        n_plus = n_rows if s == 0 else n_plus
    for q in range(n_rows):
        a = places[q]
        rows[q] = bag[a]
        w[W_ALPHA, q], w[W_SUMMED, q], w[W_TARGET, q] = state.f[ALPHA, a], 0.0, target[a]
        w[W_LACK, q], w[W_BOUND, q] = target[a] - state.f[MARGIN, a], C * base[a]
        w[W_PENALTY, q] = state.f[PENALTY, bag[a]]
    for k in range(v.shape[1]):
        v[LAST_POINT, k] = v[POINT, k]
    return np.int64(n_plus), np.int64(n_rows)


@njit(**JIT)
def _crossed(state, m, C):
    """Loss that the fixed samples on the wrong side add to the primal value."""
    alpha, margin, target, base = state.f[ALPHA], state.f[MARGIN], state.f[TARGET], state.f[BASE]
    wrong = 0.0
    for a in range(m):
        side = np.float64(alpha[a] == 0.0) - np.float64(state.b[AT_BOUND, a])
        wrong += min(base[a], _LARGE) * max(side * (target[a] - margin[a]), 0.0)
    return C * wrong


@njit(**JIT)
def _cut_back(problem, state, m, C):
    """Go back from the new point towards the last one, to the minimum over all samples."""
    v, point, target, base = state.v[LAST_POINT], state.v[POINT], state.f[TARGET], state.f[BASE]
    margins, new = state.f[LAST], state.f[MARGIN]
    a0, a1 = 0.0, 0.0
    for k in range(problem.d):
        step = point[k] - v[k]
        a0 += v[k] * step
        a1 += step * step
    left, right, tau = 0.0, 1.0, 1.0
    for _ in range(12):
        s = a0 + tau * a1
        for a in range(m):
            z = new[a] - margins[a]
            if target[a] - margins[a] - tau * z > 0.0 and base[a] < np.inf:
                s -= C * base[a] * z
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
        new[a] = margins[a] + tau * (new[a] - margins[a])


@njit(**JIT)
def _predict(state, guide, m, grid, k):
    """Move the last solution to the next C; returns the penalty to start with."""
    alpha, margin, target, base = state.f[ALPHA], state.f[MARGIN], state.f[TARGET], state.f[BASE]
    guided = guide.step.shape[0] > 0
    # The more columns, the more samples are between their bounds at the end, and the smoother the
    # start should be: at 300 columns a penalty of 1 takes half the steps of 6.
    sigma = min(max(240.0 / state.v.shape[1], 1.0), 6.0)
    if guided:
        for j in range(guide.step.shape[1]):
            state.v[POINT, j] += guide.step[k, j]
        for a in range(m):
            margin[a] += guide.margins[k, state.i[BAG, a]]
    for a in range(m):
        state.f[PREDICTED, a] = margin[a]
    if k > 0:
        for a in range(m):
            x, c = alpha[a], grid[k] * base[a]
            alpha[a] = c if x >= grid[k - 1] * base[a] else min(x * guide.growth[k], c)
    else:
        for a in range(m):
            share = min(max(0.5 + sigma * (target[a] - margin[a]), 0.0), 1.0) if guided else 0.35
            alpha[a] = share * grid[k] * base[a] if base[a] < np.inf else 0.0
    # A cold start begins with a wide smoothing: all samples curve, a ridge regression.
    return sigma * grid[k] if guided or k > 0 else 0.3 * grid[k]


@lean_entry
def solve_path(problem, state, base, grid, tol, guide, stop, coef, alphas, moved):
    """Solve the problem with bounds ``C * base`` for every C of an increasing grid.

    Parameters
    ----------
    problem : Problem
    state : State
        Work space, overwritten; see :func:`~svmproba.solvers.newton.lagrangian.clear`.
    base : array of shape (n,)
        Bounds at C = 1: 0 for absent samples, infinite for hard margins.
    grid : array of shape (n_C,)
    tol : float
        Relative gap at which a member is done.
    guide : Guide
    stop : array of one byte
        Set to 1 by another thread to end at once.
    coef, alphas : arrays of shapes (n_C, width) and (n_C, n)
        Overwritten: weights with the bias at column d, and multipliers.
    moved : array of shape (n_C,)
        Overwritten: mean change of the margins from the prediction to the solution.
    """
    m, m_plus = _begin(problem, state, base)
    bag, point, margins, alpha = state.i[BAG], state.v[POINT], state.f[MARGIN], state.f[ALPHA]
    hard = np.bool_(False)
    for a in range(m):
        hard |= state.f[BASE, a] == np.inf
    for k in range(grid.shape[0]):
        C = grid[k]
        sigma = _predict(state, guide, m, grid, k)
        half, done, scale = guide.width[k], 0, 1.0
        while True:
            n_plus, n_rows = _choose_rows(problem, state, m, m_plus, C, half)
            allowed = MAX_STEPS - done
            if n_rows < m and allowed > _ROUND_STEPS:
                allowed = _ROUND_STEPS
            primal, dual, scale, steps, sigma = newton_steps(
                problem, state, n_plus, n_rows, sigma, hard, 0.95 * tol, allowed, stop
            )
            done += steps
            for q in range(n_rows):
                a = state.i[PLACES, q]
                alpha[a] = state.w[W_NEW, q]
                margins[a] = state.f[TARGET, a] - state.w[W_LACK, q]
            if n_rows == m or done >= MAX_STEPS or stop[0]:
                break
            rows_dot(problem.table, bag, m, point, margins)
            wrong = _crossed(state, m, C)
            if relative_gap(primal + wrong, dual) <= 0.99 * tol:
                break
            if wrong > 0.1 * tol * abs(primal):
                _cut_back(problem, state, m, C)
                half = 2.0 * max(half, LEAST_WIDTH)
        total = 0.0
        for a in range(m):
            total += abs(margins[a] - state.f[PREDICTED, a])
        moved[k] = total / m
        for j in range(coef.shape[1]):
            coef[k, j] = scale * point[j]
        for i in range(base.shape[0]):
            alphas[k, i] = 0.0
        for a in range(m):
            alphas[k, bag[a]] = alpha[a]
