r"""The inner loop: semismooth Newton on the augmented Lagrangian of the working rows.

For multipliers :math:`\alpha` and penalties :math:`\sigma_i` the inner problem is

.. math:: \varphi(v) = \tfrac12\|w\|^2 + \sum_i
   \big(\alpha_i^+h_i - \tfrac12(\alpha_i^+)^2\big)/\sigma_i, \quad
   h_i = \sigma_i(t_i - a_i^\top v) + \alpha_i,\quad \alpha_i^+ = \mathrm{clip}(h_i, 0, c_i),

smooth and piecewise quadratic, with gradient :math:`(w, 0) - A^\top\alpha^+` and generalised
Hessian :math:`E + A_J^\top\Sigma A_J`. The penalties are proportional to the bounds, so a sample
of multiplicity two acts as two samples. Every Newton step also yields a primal and a dual value,
so the loop stops at the first point whose relative gap is small enough, converged or not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types

from svmproba._types import Floats
from svmproba.solvers.core.compiled import JIT, body_of, generic
from svmproba.solvers.core.rows import aligned, rows_add, rows_dot, whole
from svmproba.solvers.newton.directions import (
    apply_updates,
    backward_solve,
    dual_system,
    factor,
    forward_solve,
    primal_system,
    sync_gram,
    update_factor,
)
from svmproba.solvers.problem import Problem, class_scales, relative_gap

#: Columns up to which the Newton matrix is formed and factored.
DIRECT_WIDTH = 400
#: The factor is updated at most (columns / this) times, then computed anew.
_UPDATE_SHARE = 6
#: Growth of the penalty when one Newton step was enough for a multiplier step, and, where there
#: are hard margins, with every multiplier step.
_GROWTH, _HARD_GROWTH = 1.5, 4.0


class State(NamedTuple):
    """Work space of one bag, packed into few arrays: compiling is much faster that way."""

    f: Floats  # (7, n), by place in the bag, the last by sample: see the names below
    w: Floats  # (8, n), by working row: see the names below
    v: Floats  # (10, width), vectors: see the names below
    i: Any  # (6, n + 1): working rows, inner rows, scratch, rows in the Gram matrix, the bag, the
    #         working rows' places in it; unsigned, or compiled code asks of every index whether it
    #         counts from the end
    b: Any  # (5, n), by sample: between its bounds, in the Gram matrix; by place in the bag: fixed
    #         at its bound, new there or no longer, working
    scratch: Floats  # (2, max(n, width) or a little more)
    gram: Floats  # (width, width) or (0, 0)
    square: Floats  # large enough for either direction
    updates: Floats  # (limit + 1, width): changes of the factor, their pivots; see directions
    linear: Floats  # (5,): linear terms of the samples fixed at their bound, now and at C = 1;
    #                the penalty in the factor, 0 when there is none
    count: Any  # (3,): rows in the Gram matrix, inner rows, updates


# Multiplier, margin, the margin before the round and as predicted, target, bound at C = 1; penalty
# at sigma = 1.
ALPHA, MARGIN, LAST, PREDICTED, TARGET, BASE, PENALTY = range(7)
# Multiplier, new multiplier, the one that is in the class sums, t - margin and its change along
# the direction, bound, penalty at sigma = 1, target.
W_ALPHA, W_NEW, W_SUMMED, W_LACK, W_CHANGE, W_BOUND, W_PENALTY, W_TARGET = range(8)
# Point, gradient, direction, point before the round; sums of the multipliers by class: all, of the
# samples fixed at their bound, and of these at C = 1.
POINT, GRADIENT, DIRECTION, LAST_POINT = range(4)
PLUS, MINUS, FIXED_PLUS, FIXED_MINUS, BASE_PLUS, BASE_MINUS = range(4, 10)
ROWS, INNER, INDEX, LISTED, BAG, PLACES = range(6)
MEMBER, IN_GRAM, AT_BOUND, TURNED, WORKS = range(5)
_N_GRAM, N_INNER, _N_UPDATES = range(3)
_SIGMA = 4


def new_state(problem: Problem, width: int, widest: int = DIRECT_WIDTH) -> State:
    """Allocate the work space; it serves one bag after the other.

    Newton steps on rows of more than ``widest`` columns need the kernel matrix.
    """
    n = problem.signs.shape[0]
    direct = width if width <= widest else 0
    side = direct or (0 if problem.kernel is None else whole(n))
    return State(
        aligned(7, n),
        aligned(8, n),
        aligned(10, width),
        np.zeros((6, n + 1), np.uint32),
        np.zeros((5, n), np.bool_),
        aligned(2, max(whole(n), width)),
        aligned(direct, direct),
        aligned(side, side),
        aligned(direct // _UPDATE_SHARE + 1, direct),
        np.zeros(5),
        np.zeros(3, np.int64),
    )


def clear(state: State) -> None:
    """Forget the last bag. Not compiled: that would cost more time than it saves."""
    for part in (state.v, state.gram, state.b, state.f[: MARGIN + 1], state.linear, state.count):
        part[...] = 0


@njit(**JIT)
def _hard_scale(state, n_rows):
    """Factor of v that makes every hard margin hold; 1 when no factor does."""
    scale = 1.0
    for a in range(n_rows):
        t, r = state.w[W_TARGET, a], state.w[W_LACK, a]
        # Margins that just hold count too: their certificate is rounded in another order.
        if state.w[W_BOUND, a] == np.inf and t > r:
            scale = max(scale, (1.0 + 1e-12) * t / (t - r))
    return scale


@njit(**JIT)
def _clip(state, n_rows, sigma, scale):
    """Set the new multipliers; returns the hinge sum and their product with the lacks."""
    alpha, new, lack = state.w[W_ALPHA], state.w[W_NEW], state.w[W_LACK]
    bound, penalty, target = state.w[W_BOUND], state.w[W_PENALTY], state.w[W_TARGET]
    hinge, product = 0.0, 0.0
    for a in range(n_rows):
        x = min(max(sigma * penalty[a] * lack[a] + alpha[a], 0.0), bound[a])
        new[a] = x
        product += x * lack[a]
        r = scale * lack[a] + (1.0 - scale) * target[a]
        hinge += bound[a] * r if r > 0.0 else 0.0
    return hinge, product


@njit(**JIT)
def _class_sums(problem, state, first, last, total):
    """Bring the sum of one class up to date, list its inner rows; returns its linear term."""
    rows, inner, member = state.i[ROWS], state.i[INNER], state.b[MEMBER]
    new, summed = state.w[W_NEW], state.w[W_SUMMED]
    bound, target = state.w[W_BOUND], state.w[W_TARGET]
    changed, change = state.i[INDEX], state.scratch[0]
    linear, n_inner, n_changed = 0.0, np.uint64(state.count[N_INNER]), np.uint64(0)
    for a in range(np.uint64(first), np.uint64(last)):
        i, x = rows[a], new[a]
        linear += x * target[a]
        inside = (x > 0.0) & (x < bound[a])
        member[i] = inside
        inner[n_inner] = i
        n_inner += np.uint64(inside)
        changed[n_changed], change[n_changed] = i, x - summed[a]
        n_changed += np.uint64(x != summed[a])
        summed[a] = x
    rows_add(problem.table, changed, change, np.int64(n_changed), total)
    state.count[N_INNER] = n_inner
    return linear


@njit(**JIT)
def _evaluate(problem, state, n_plus, n_rows, sigma, hard):
    """Set the new multipliers and their sums by class, and find the two sides of the gap.

    Returns (primal, dual, part of the gap that only a multiplier step can close, scale).
    """
    d, linear, v = problem.d, state.linear, state.v[POINT]
    plus, minus = state.v[PLUS], state.v[MINUS]
    fixed_plus, fixed_minus = state.v[FIXED_PLUS], state.v[FIXED_MINUS]
    scale = _hard_scale(state, n_rows) if hard else 1.0
    hinge, product = _clip(state, n_rows, sigma, scale)
    state.count[N_INNER] = 0
    up = linear[0] + _class_sums(problem, state, np.int64(0), n_plus, plus)
    down = linear[1] + _class_sums(problem, state, n_plus, n_rows, minus)
    x, y = class_scales(plus[d], -minus[d])
    length, norm, at_bound = 0.0, 0.0, (fixed_plus[d] + fixed_minus[d]) * v[d]
    for k in range(d):
        length += v[k] * v[k]
        at_bound += (fixed_plus[k] + fixed_minus[k]) * v[k]
        s = x * plus[k] + y * minus[k]
        norm += s * s
    primal = 0.5 * scale * scale * length + hinge + linear[0] + linear[1] - scale * at_bound
    return primal, x * up + y * down - 0.5 * norm, max(hinge - product, 0.0), scale


@njit(**JIT)
def _line_search(state, n_rows, sigma, first, a0, a1):
    """Step length in (0, 1] whose slope is well below the first one (Illinois)."""
    alpha, lack, change = state.w[W_ALPHA], state.w[W_LACK], state.w[W_CHANGE]
    bound, penalty = state.w[W_BOUND], state.w[W_PENALTY]
    left, right, low, high, tau = 0.0, 1.0, first, 0.0, 1.0
    for trial in range(40):
        slope = a0 + tau * a1
        for a in range(n_rows):
            h = sigma * penalty[a] * (lack[a] + tau * change[a]) + alpha[a]
            slope += min(max(h, 0.0), bound[a]) * change[a]
        if slope <= 0.02 * abs(first) and (trial == 0 or slope >= 0.02 * first):
            break
        if slope > 0.0:
            right, high = tau, slope
            low *= 0.5 if trial > 0 else 1.0
        else:
            left, low = tau, slope
            high *= 0.5
        tau = left - low * (right - left) / (high - low)
    return tau


@generic
def _by_inner(problem, state, sigma):
    """Find the direction in the space of the inner samples, if there is a kernel matrix.

    For compiled code only, as the functions in `core.rows`. Returns whether it did.
    """
    raise NotImplementedError


@body_of(_by_inner)
def _by_inner_of(problem, state, sigma):
    if isinstance(problem.types[problem.fields.index("kernel")], types.NoneType):
        return lambda problem, state, sigma: False  # the rest is not even compiled

    def by_inner(problem, state, sigma):
        d, g, p = problem.d, state.v[GRADIENT], state.v[DIRECTION]
        n_inner, width, x, y = state.count[N_INNER], g.shape[0], state.scratch[0], state.scratch[1]
        size = dual_system(
            problem.table, d, g, sigma, state.f[PENALTY], state.i[INNER], n_inner, problem.signs,
            problem.kernel, state.square, x, y,
        )  # fmt: skip
        factor(state.square, size)
        for side in range(2):
            forward_solve(state.square, size, state.scratch[side])
            backward_solve(state.square, size, state.scratch[side])
        yx, yy = 0.0, 0.0
        for a in range(n_inner):
            s = problem.signs[state.i[INNER, a]]
            yx += s * x[a]
            yy += s * y[a]
        bias = (yx - g[d]) / yy
        for k in range(width):
            p[k] = -g[k]
        for a in range(n_inner):
            x[a] -= bias * y[a]
        rows_add(problem.table, state.i[INNER], x, n_inner, p)
        p[d] = bias
        return True

    return by_inner


@njit(**JIT)
def _direction(problem, state, sigma):
    """Newton direction at the new multipliers, by the cheapest way."""
    table, d, g, p = problem.table, problem.d, state.v[GRADIENT], state.v[DIRECTION]
    n_inner, width, x, y = state.count[N_INNER], g.shape[0], state.scratch[0], state.scratch[1]
    if n_inner == 0:  # nothing curves in the bias: move it by one margin, if it is off balance
        for k in range(width):
            p[k] = -g[k]
        balanced = abs(g[d]) <= 1e-10 * (state.v[PLUS, d] - state.v[MINUS, d])
        p[d] = 0.0 if balanced else -np.sign(g[d])
        return
    if _by_inner(problem, state, sigma):
        return
    n_updates = np.int64(-1)
    changed = sync_gram(
        table, state.f[PENALTY], state.i[INNER], n_inner, state.b[MEMBER], state.b[IN_GRAM],
        state.i[LISTED], state.count, state.i[INDEX], x, state.gram,
    )  # fmt: skip
    if state.linear[_SIGMA] == sigma:
        n_updates = update_factor(
            table, sigma, state.i[INDEX], x, changed, state.square, state.updates,
            state.count[_N_UPDATES], y,
        )  # fmt: skip
    if n_updates < 0:
        primal_system(d, sigma, state.gram, state.square)
        factor(state.square, width)
        n_updates = np.int64(0)
    state.linear[_SIGMA], state.count[_N_UPDATES] = sigma, n_updates
    for k in range(width):
        p[k] = -g[k]
    forward_solve(state.square, width, p)
    apply_updates(state.updates, n_updates, p, y)
    backward_solve(state.square, width, p)


@njit(**JIT)
def newton_steps(problem, state, n_plus, n_rows, sigma, hard, tol, max_steps, stop):
    """Minimise over the working rows until the gap is at most ``tol``.

    Returns (primal, dual, scale, steps, sigma); the new multipliers and lacks are in the state.
    """
    d, v, g, p = problem.d, state.v[POINT], state.v[GRADIENT], state.v[DIRECTION]
    rows, lack, change = state.i[ROWS], state.w[W_LACK], state.w[W_CHANGE]
    plus, minus = state.v[PLUS], state.v[MINUS]
    fixed_plus, fixed_minus = state.v[FIXED_PLUS], state.v[FIXED_MINUS]
    for k in range(v.shape[0]):
        plus[k] = fixed_plus[k]
        minus[k] = fixed_minus[k]
    steps, inner_steps = 0, 0
    while True:
        primal, dual, open_part, scale = _evaluate(problem, state, n_plus, n_rows, sigma, hard)
        if relative_gap(primal, dual) <= tol or steps >= max_steps or stop[0]:
            return primal, dual, scale, steps, sigma
        residual, length = 0.0, 0.0
        g[d] = -plus[d] - minus[d]
        for k in range(d):
            g[k] = v[k] - plus[k] - minus[k]
            residual += g[k] * g[k]
            length += v[k] * v[k]
        rest = primal - dual - open_part
        ready = 0.5 * residual <= open_part and rest <= 2.0 * open_part
        if hard:  # the gap is no guide while a hard margin is violated: nearly solve, then push
            balanced = abs(g[d]) <= 1e-2 * (plus[d] - minus[d])
            ready = (residual <= 1e-4 * length and balanced) or inner_steps >= 20
        if inner_steps > 0 and ready:
            for a in range(n_rows):
                state.w[W_ALPHA, a] = state.w[W_NEW, a]
            growth = _GROWTH if inner_steps == 1 else 1.0
            sigma *= _HARD_GROWTH if hard and sigma < 1e12 else growth
            inner_steps = 0
            continue
        _direction(problem, state, sigma)
        first, a0, a1 = g[d] * p[d], 0.0, 0.0
        a0 -= (fixed_plus[d] + fixed_minus[d]) * p[d]
        for k in range(d):
            first += g[k] * p[k]
            a0 += (v[k] - fixed_plus[k] - fixed_minus[k]) * p[k]
            a1 += p[k] * p[k]
        if not first < 0.0:
            # At a minimum, only the multipliers can still move. Otherwise rounding has spoilt the
            # direction, or it is NaN: stay here.
            steps = steps + 1 if ready and inner_steps == 0 else max_steps
            inner_steps = 1
            continue
        rows_dot(problem.table, rows, n_rows, p, change)
        for a in range(n_rows):
            change[a] = -change[a]
        tau = _line_search(state, n_rows, sigma, first, a0, a1)
        for k in range(d + 1):
            v[k] += tau * p[k]
        for a in range(n_rows):
            lack[a] += tau * change[a]
        steps += 1
        inner_steps += 1
