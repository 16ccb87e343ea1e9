r"""CPU engine: semismooth Newton on the augmented Lagrangian, over working rows.

For multipliers :math:`\alpha` and penalty :math:`\sigma` the inner problem is

.. math:: \varphi(v) = \tfrac12\|w\|^2 + \sum_i
   \big(\alpha_i^+h_i - \tfrac12(\alpha_i^+)^2\big)/\sigma_i, \quad
   h_i = \sigma_i(t_i - a_i^\top v) + \alpha_i,\quad \alpha_i^+ = \mathrm{clip}(h_i, 0, c_i),

smooth and piecewise quadratic, with gradient :math:`(w, 0) - A^\top\alpha^+` and generalised
Hessian :math:`E + A_J^\top\Sigma A_J`. The penalties :math:`\sigma_i` are proportional to the bounds, so a
record of multiplicity two acts as two records. Every Newton step also yields a primal and a dual value, so
the loop stops at the first point whose relative gap is small enough, converged or not.

One call follows an increasing grid of C for one bag. What makes it fast:

* *prediction*: the step of the full-sample solution from one C to the next is added to the bag's
  own solution, and multipliers between their bounds grow as the full sample's do;
* *working rows*: records far from their margin keep their multiplier at 0 or at the bound; only the
  others are visited. All records are checked at the end, and if a fixed one has crossed, the step
  is cut back by a line search over all records and the working rows are chosen anew;
* *directions*: see :mod:`svmproba.solvers.directions`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from .directions import (
    conjugate_direction,
    dual_direction,
    primal_direction,
    sync_gram,
)
from .problem import ENTRY, JIT, Array, class_scales, relative_gap
from .rows import row_add, score_rows

#: Newton steps for one model before it is given up (and reported with the gap it has).
MAX_STEPS = 400
#: Newton steps on working rows before all rows are looked at again.
_ROUND_STEPS = 10
#: First penalty in units of C, its growth, and the least width of the working rows: steps were
#: counted on the 15 data sets of the paper; they hardly depend on these values.
_SIGMA, _SIGMA_GROWTH, _LEAST_WIDTH = 6.0, 1.2, 0.1
#: Columns up to which the Newton matrix is formed and factored.
DIRECT_WIDTH = 400
#: The dual direction is taken up to this share of inner records per column.
_DUAL_SHARE = 0.8


class Problem(NamedTuple):
    """What all models share: signed rows, bias column, labels, margins, kernel matrix or (0, 0)."""

    table: Any
    d: int
    signs: Array
    targets: Array
    kernel: Array


class Guide(NamedTuple):
    """Prediction from the full sample, by C: steps of v and of the margins, growth of the inner
    multipliers, and the half width of the working rows. Empty steps mean a cold start."""

    step: Array
    margins: Array
    growth: Array
    width: Array


class _State(NamedTuple):
    """Work space of one bag, packed into few arrays: compiling is much faster that way."""

    f: Array  # (6, n): multipliers, new multipliers, margins, their change, bounds, penalties at 1
    v: Array  # (7, width): point, gradient, direction, class sums (2), fixed class sums (2)
    i: Any  # (3, n): working rows, inner rows, scratch
    b: Any  # (3, n): between its bounds, in the Gram matrix, fixed at its bound
    scratch: Array  # (3, max(n, width))
    gram: Array
    square: Array
    linear: Array  # (2,): linear terms of the records fixed at their bound


_ALPHA, _NEW, _MARGIN, _CHANGE, _BOUND, _PENALTY = range(6)
_POINT, _GRADIENT, _DIRECTION, _PLUS, _MINUS, _FIXED_PLUS, _FIXED_MINUS = range(7)
_ROWS, _INNER, _INDEX = range(3)
_MEMBER, _IN_GRAM, _AT_BOUND = range(3)


@njit(**JIT)
def _new_state(problem, width, n_bag):
    n = problem.signs.shape[0]
    direct = width if width <= DIRECT_WIDTH else 0
    side = direct
    if problem.kernel.shape[0] > 0:
        side = max(side, min(n_bag, int(_DUAL_SHARE * width) + 1))
    return _State(
        np.zeros((6, n)),
        np.zeros((7, width)),
        np.empty((3, n), np.int64),
        np.zeros((3, n), np.bool_),
        np.empty((3, max(n, width))),
        np.zeros((direct, direct)),
        np.empty((side, side)),
        np.zeros(2),
    )


@njit(**JIT)
def _hard_scale(problem, state, n_rows):
    """Factor of v that makes every hard margin hold; 1 when no factor does."""
    scale = 1.0
    for a in range(n_rows):
        i = state.i[_ROWS, a]
        t, s = problem.targets[i], state.f[_MARGIN, i]
        if state.f[_BOUND, i] == np.inf and s < t and s > 0.0:
            scale = max(scale, (1.0 + 1e-12) * t / s)
    return scale


@njit(**JIT)
def _class_sums(problem, state, first, last, sigma, scale, total):
    """New multipliers of one class; returns their linear term, hinge sum and product with r."""
    rows, alpha, new = state.i[_ROWS], state.f[_ALPHA], state.f[_NEW]
    margins, bounds, targets = state.f[_MARGIN], state.f[_BOUND], problem.targets
    penalty = state.f[_PENALTY]
    linear, hinge, product = 0.0, 0.0, 0.0
    for a in range(first, last):
        i = rows[a]
        t, c = targets[i], bounds[i]
        r = t - margins[i]
        x = min(max(sigma * penalty[i] * r + alpha[i], 0.0), c)
        new[i] = x
        product += x * r
        r = t - scale * margins[i]
        if r > 0.0:
            hinge += c * r
        if x > 0.0:
            linear += x * t
            row_add(problem.table, i, x, total)
    return linear, hinge, product


@njit(**JIT)
def _evaluate(problem, state, n_plus, n_rows, sigma, hard):
    """New multipliers, their sums by class, and the two sides of the gap.

    Returns (primal, dual, part of the gap that only a multiplier step can close, scale).
    """
    d, linear, v = problem.d, state.linear, state.v[_POINT]
    plus, minus = state.v[_PLUS], state.v[_MINUS]
    at_bound, norm = 0.0, 0.0
    for k in range(v.shape[0]):
        plus[k] = state.v[_FIXED_PLUS, k]
        minus[k] = state.v[_FIXED_MINUS, k]
        at_bound += (plus[k] + minus[k]) * v[k]
    for k in range(d):
        norm += v[k] * v[k]
    scale = _hard_scale(problem, state, n_rows) if hard else 1.0
    up, hinge, product = _class_sums(problem, state, np.int64(0), n_plus, sigma, scale, plus)
    down, more, rest = _class_sums(problem, state, n_plus, n_rows, sigma, scale, minus)
    hinge += more
    primal = 0.5 * scale * scale * norm + hinge + linear[0] + linear[1] - scale * at_bound
    x, y = class_scales(plus[d], -minus[d])
    norm = 0.0
    for k in range(d):
        s = x * plus[k] + y * minus[k]
        norm += s * s
    dual = x * (up + linear[0]) + y * (down + linear[1]) - 0.5 * norm
    return primal, dual, max(hinge - product - rest, 0.0), scale


@njit(**JIT)
def _slope(problem, state, n_rows, sigma, tau, a0, a1):
    """Derivative of the inner problem along the direction at step length tau."""
    rows, alpha, change = state.i[_ROWS], state.f[_ALPHA], state.f[_CHANGE]
    margins, bounds, targets = state.f[_MARGIN], state.f[_BOUND], problem.targets
    penalty = state.f[_PENALTY]
    s = a0 + tau * a1
    for a in range(n_rows):
        i = rows[a]
        z = change[i]
        h = sigma * penalty[i] * (targets[i] - margins[i] - tau * z) + alpha[i]
        s -= min(max(h, 0.0), bounds[i]) * z
    return s


@njit(**JIT)
def _line_search(problem, state, n_rows, sigma, first, a0, a1):
    """Step length in (0, 1] whose slope is well below the first one (Illinois)."""
    high = _slope(problem, state, n_rows, sigma, 1.0, a0, a1)
    if high <= 0.1 * abs(first):
        return 1.0
    left, right, low, tau = 0.0, 1.0, first, 1.0
    for _ in range(40):
        tau = left - low * (right - left) / (high - low)
        s = _slope(problem, state, n_rows, sigma, tau, a0, a1)
        if abs(s) <= 0.2 * abs(first):
            break
        if s > 0.0:
            right, high = tau, s
            low *= 0.5
        else:
            left, low = tau, s
            high *= 0.5
    return tau


@njit(**JIT)
def _direction(problem, state, n_rows, sigma):
    """Newton direction at the new multipliers, by the cheapest way."""
    table, d, g, p = problem.table, problem.d, state.v[_GRADIENT], state.v[_DIRECTION]
    n_inner = np.int64(0)  # a literal 0 would be a type of its own: everything compiled twice
    for a in range(n_rows):
        i = state.i[_ROWS, a]
        x = state.f[_NEW, i]
        inside = x > 0.0 and x < state.f[_BOUND, i]
        state.b[_MEMBER, i] = inside
        if inside:
            state.i[_INNER, n_inner] = i
            n_inner += 1
    if n_inner == 0:  # nothing curves in the bias: move it by one margin
        for k in range(g.shape[0]):
            p[k] = -g[k]
        p[d] = -np.sign(g[d])
    elif problem.kernel.shape[0] > 0 and n_inner <= _DUAL_SHARE * g.shape[0]:
        dual_direction(table, d, g, sigma, state.f[_PENALTY], state.i[_INNER], n_inner, problem.signs, problem.kernel,
                       state.square, state.scratch[1], state.scratch[2], p)  # fmt: skip
    elif state.gram.shape[0] > 0:
        sync_gram(table, state.f[_PENALTY], state.i[_ROWS], n_rows, state.b[_MEMBER], state.b[_IN_GRAM], state.i[_INDEX], state.scratch[0],
                  state.gram)  # fmt: skip
        primal_direction(table, d, g, sigma, state.gram, state.square, p)
    else:
        conjugate_direction(table, d, g, sigma, state.f[_PENALTY], state.i[_INNER], n_inner, state.scratch[1], state.scratch[2],
                            state.scratch[0], p)  # fmt: skip


@njit(**JIT)
def _newton(problem, state, n_plus, n_rows, sigma, hard, tol, max_steps, stop):
    """Minimise over the working rows until the gap is at most ``tol``."""
    d, v, g, p = problem.d, state.v[_POINT], state.v[_GRADIENT], state.v[_DIRECTION]
    steps, inner_steps = 0, 0
    while True:
        primal, dual, open_part, scale = _evaluate(problem, state, n_plus, n_rows, sigma, hard)
        if relative_gap(primal, dual) <= tol or steps >= max_steps or stop[0]:
            return primal, dual, scale, steps, sigma
        residual = 0.0
        for k in range(v.shape[0]):
            g[k] = -state.v[_PLUS, k] - state.v[_MINUS, k]
        for k in range(d):
            g[k] += v[k]
            residual += g[k] * g[k]
        rest = primal - dual - open_part
        if inner_steps > 0 and 0.5 * residual <= open_part and rest <= 2.0 * open_part:
            for a in range(n_rows):
                state.f[_ALPHA, state.i[_ROWS, a]] = state.f[_NEW, state.i[_ROWS, a]]
            sigma *= _SIGMA_GROWTH
            inner_steps = 0
            continue
        _direction(problem, state, n_rows, sigma)
        first, a0, a1 = 0.0, 0.0, 0.0
        for k in range(v.shape[0]):
            first += g[k] * p[k]
            a0 -= (state.v[_FIXED_PLUS, k] + state.v[_FIXED_MINUS, k]) * p[k]
        for k in range(d):
            a0 += v[k] * p[k]
            a1 += p[k] * p[k]
        score_rows(problem.table, state.i[_ROWS], n_rows, p, state.f[_CHANGE])
        tau = _line_search(problem, state, n_rows, sigma, first, a0, a1)
        for k in range(v.shape[0]):
            v[k] += tau * p[k]
        for a in range(n_rows):
            state.f[_MARGIN, state.i[_ROWS, a]] += tau * state.f[_CHANGE, state.i[_ROWS, a]]
        steps += 1
        inner_steps += 1


@njit(**JIT)
def _choose_rows(problem, state, bag, base, C, width, base_sum, base_linear):
    """Working rows, positives first; fix the others at 0 or at their bound. Returns their counts."""
    n_rows, n_plus, left = np.int64(0), np.int64(0), np.int64(0)
    for a in range(bag.shape[0]):
        i = bag[a]
        far = problem.targets[i] - state.f[_MARGIN, i]
        x = state.f[_ALPHA, i]
        c = state.f[_BOUND, i]
        work = abs(far) <= width or c == np.inf or (x > 0.0 and x < c)
        bound = not work and far > 0.0
        if bound != state.b[_AT_BOUND, i]:
            x = base[i] if bound else -base[i]
            s = 0 if problem.signs[i] > 0.0 else 1
            row_add(problem.table, i, x, base_sum[s])
            base_linear[s] += x * problem.targets[i]
            state.b[_AT_BOUND, i] = bound
        if work:
            state.i[_ROWS, n_rows] = i
            n_rows += 1
            if problem.signs[i] > 0.0:
                n_plus += 1
        else:
            state.f[_ALPHA, i] = c if bound else 0.0
            state.b[_MEMBER, i] = False
            if state.b[_IN_GRAM, i]:
                state.i[_INNER, left] = i
                left += 1
    if left > 0:
        sync_gram(problem.table, state.f[_PENALTY], state.i[_INNER], left, state.b[_MEMBER], state.b[_IN_GRAM], state.i[_INDEX],
                  state.scratch[0], state.gram)  # fmt: skip
    for s in range(2):
        state.linear[s] = C * base_linear[s]
        for k in range(base_sum.shape[1]):
            state.v[_FIXED_PLUS + s, k] = C * base_sum[s, k]
    return n_plus, n_rows


@njit(**JIT)
def _crossed(problem, state, bag):
    """Loss that the fixed records on the wrong side add to the primal value."""
    wrong = 0.0
    for a in range(bag.shape[0]):
        i = bag[a]
        far = problem.targets[i] - state.f[_MARGIN, i]
        if state.b[_AT_BOUND, i]:
            if far < 0.0:
                wrong -= state.f[_BOUND, i] * far
        elif state.f[_ALPHA, i] == 0.0 and far > 0.0:
            wrong += state.f[_BOUND, i] * far
    return wrong


@njit(**JIT)
def _cut_back(problem, state, bag, v, margins):
    """Go back from the new point towards (v, margins), to the minimum over all records."""
    point, new, bounds = state.v[_POINT], state.f[_MARGIN], state.f[_BOUND]
    a0, a1 = 0.0, 0.0
    for k in range(problem.d):
        a0 += v[k] * (point[k] - v[k])
        a1 += (point[k] - v[k]) ** 2
    left, right, tau = 0.0, 1.0, 1.0
    for _ in range(12):
        s = a0 + tau * a1
        for a in range(bag.shape[0]):
            i = bag[a]
            z = new[i] - margins[i]
            if problem.targets[i] - margins[i] - tau * z > 0.0 and bounds[i] < np.inf:
                s -= bounds[i] * z
        if s > 0.0:
            right = tau
        elif tau == 1.0:
            return
        else:
            left = tau
        tau = 0.5 * (left + right)
    for k in range(v.shape[0]):
        point[k] = v[k] + tau * (point[k] - v[k])
    for a in range(bag.shape[0]):
        i = bag[a]
        new[i] = margins[i] + tau * (new[i] - margins[i])


@njit(**JIT)
def _predict(problem, state, guide, bag, base, C, k):
    """Move the last solution to the next C; returns the penalty to start with."""
    guided = guide.step.shape[0] > 0
    if guided:
        for j in range(guide.step.shape[1]):
            state.v[_POINT, j] += guide.step[k, j]
    for a in range(bag.shape[0]):
        i = bag[a]
        old, c = state.f[_BOUND, i], C * base[i]
        state.f[_BOUND, i] = c
        if guided:
            state.f[_MARGIN, i] += guide.margins[k, i]
        if k > 0:
            x = state.f[_ALPHA, i]
            state.f[_ALPHA, i] = c if x >= old else min(x * guide.growth[k], c)
        elif c == np.inf:
            state.f[_ALPHA, i] = 0.0
        elif guided:
            far = problem.targets[i] - state.f[_MARGIN, i]
            state.f[_ALPHA, i] = c * min(max(0.5 + _SIGMA * far, 0.0), 1.0)
        else:
            state.f[_ALPHA, i] = 0.35 * c
    # A cold start begins with a wide smoothing: all records curve, a ridge regression.
    return _SIGMA * C if guided or k > 0 else 0.3 * C


@njit(**ENTRY)
def solve_path(problem, width, base, grid, tol, guide, stop, coef, alphas, moved):
    """Solve the problem with bounds ``C * base`` for every C of an increasing grid.

    Parameters
    ----------
    problem : Problem
    width : int
        Columns of the signed rows.
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
    n = base.shape[0]
    bag, m, hard = np.empty(n, np.int64), np.int64(0), np.bool_(False)
    for sign in (1.0, -1.0):
        for i in range(n):
            if base[i] > 0.0 and problem.signs[i] == sign:
                bag[m] = i
                m += 1
                hard = hard or base[i] == np.inf
    bag = bag[:m]
    state = _new_state(problem, width, m)
    largest = 0.0
    for i in range(n):
        largest = max(largest, base[i] if base[i] < np.inf else 0.0)
    for i in range(n):
        state.f[_PENALTY, i] = base[i] if base[i] < np.inf else max(largest, 1.0)
    point, margins = state.v[_POINT], state.f[_MARGIN]
    base_sum, base_linear = np.zeros((2, width)), np.zeros(2)
    last_point, last, predicted = np.empty(width), np.empty(n), np.empty(n)
    for k in range(grid.shape[0]):
        C = grid[k]
        sigma = _predict(problem, state, guide, bag, base, C, k)
        for i in range(n):
            predicted[i] = margins[i]
        half, done, scale = guide.width[k], 0, 1.0
        while True:
            n_plus, n_rows = _choose_rows(problem, state, bag, base, C, half, base_sum, base_linear)
            for j in range(width):
                last_point[j] = point[j]
            for i in range(n):
                last[i] = margins[i]
            allowed = MAX_STEPS - done
            if n_rows < m:
                allowed = min(allowed, _ROUND_STEPS)
            primal, dual, scale, steps, sigma = _newton(
                problem, state, n_plus, n_rows, sigma, hard, 0.85 * tol, allowed, stop
            )
            done += steps
            for a in range(n_rows):
                i = state.i[_ROWS, a]
                state.f[_ALPHA, i] = state.f[_NEW, i]
            if n_rows == m or done >= MAX_STEPS or stop[0]:
                break
            score_rows(problem.table, bag, m, point, margins)
            wrong = _crossed(problem, state, bag)
            if relative_gap(primal + wrong, dual) <= 0.97 * tol:
                break
            if wrong > 0.1 * tol * abs(primal):
                _cut_back(problem, state, bag, last_point, last)
                half = 2.0 * max(half, _LEAST_WIDTH)
        total = 0.0
        for a in range(m):
            total += abs(margins[bag[a]] - predicted[bag[a]])
        moved[k] = total / max(m, 1)
        for j in range(width):
            coef[k, j] = scale * point[j]
        for i in range(n):
            alphas[k, i] = state.f[_ALPHA, i]
