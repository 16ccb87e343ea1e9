r"""Dual coordinate descent, for tables too wide for Newton steps, such as text.

The bias is free, so the dual has the constraint :math:`\sum_i\alpha_iy_i=0`; it is kept by an
augmented Lagrangian whose multiplier is the bias,

.. math:: b = b_c + \tau\sum_i\alpha_iy_i, \qquad \alpha_i \leftarrow \mathrm{clip}\Big(\alpha_i -
   \frac{a_i^\top v - t_i}{\|x_i\|^2+\tau}, 0, c_i\Big),

with :math:`b_c\leftarrow b` after every sweep over the samples in random order. Samples that
stay at a bound are left out of the sweeps until the next look at all of them (Hsieh et al. 2008).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from svmproba.solvers.core.compiled import JIT, entry
from svmproba.solvers.core.rows import row_add, row_dot, row_norms
from svmproba.solvers.problem import class_scales, relative_gap

#: Sweeps for one C before the member is left with the gap it has.
_MAX_SWEEPS = 1000


@njit(**JIT)
def _sweep(problem, order, active, bounds, alpha, v, curve, tau, above, below, seed):
    """Visit the active samples in random order; returns (active, two violations, seed)."""
    d = problem.d
    high, low = -np.inf, np.inf
    for a in range(active - 1, 0, -1):
        # A generator of our own: NumPy's state belongs to a thread, results must not.
        seed = seed * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        b = np.int64((seed >> np.uint64(33)) % np.uint64(a + 1))
        order[a], order[b] = order[b], order[a]
    a = np.int64(0)
    while a < active:
        i = order[a]
        x, c = alpha[i], bounds[i]
        slope = row_dot(problem.table, i, v) - problem.targets[i]
        if (x <= 0.0 and slope > above) or (x >= c and slope < below):
            active -= 1
            order[a], order[active] = order[active], order[a]
            continue
        a += 1
        if (x <= 0.0 and slope >= 0.0) or (x >= c and slope <= 0.0):
            continue
        high, low = max(high, slope), min(low, slope)
        step = min(max(x - slope / curve[i], 0.0), c) - x
        if step != 0.0:
            alpha[i] = x + step if x + step < c else c
            row_add(problem.table, i, step, v)
            v[d] += (tau - 1.0) * step * problem.signs[i]
    return active, high, low, seed


@njit(**JIT)
def _check(problem, bag, bounds, alpha, v, margins, plus, minus):
    """Return the relative gap over all samples, and the factor that makes hard margins hold."""
    d = problem.d
    for k in range(v.shape[0]):
        plus[k], minus[k] = 0.0, 0.0
    up, down, scale = 0.0, 0.0, 1.0
    for a in range(bag.shape[0]):
        i = bag[a]
        t, x = problem.targets[i], alpha[i]
        s = row_dot(problem.table, i, v)
        margins[i] = s
        if bounds[i] == np.inf and s < t and s > 0.0:
            scale = max(scale, (1.0 + 1e-12) * t / s)
        if problem.signs[i] > 0.0:
            up += x * t
            if x > 0.0:
                row_add(problem.table, i, x, plus)
        else:
            down += x * t
            if x > 0.0:
                row_add(problem.table, i, x, minus)
    hinge = 0.0
    for a in range(bag.shape[0]):
        i = bag[a]
        r = problem.targets[i] - scale * margins[i]
        if r > 0.0:
            hinge += bounds[i] * r
    p, q = class_scales(plus[d], -minus[d])
    norm, length = 0.0, 0.0
    for k in range(d):
        s = p * plus[k] + q * minus[k]
        norm += s * s
        length += v[k] * v[k]
    primal = 0.5 * scale * scale * length + hinge
    return relative_gap(primal, p * up + q * down - 0.5 * norm), scale


@entry
def solve_sweeps(problem, base, grid, tol, stop, coef, alphas):
    """Solve the problem with bounds ``C * base`` for every C of an increasing grid.

    Parameters and results as in :func:`svmproba.solvers.newton.path.solve_path`.
    """
    n, width = base.shape[0], coef.shape[1]
    d = problem.d
    bag = np.flatnonzero(base > 0.0)
    m = bag.shape[0]
    curve = np.zeros(n)
    row_norms(problem.table, bag, curve)
    tau = 0.0
    for a in range(m):
        curve[bag[a]] -= 1.0  # the bias column
        tau += curve[bag[a]] / m
    tau = tau if tau > 0.0 else 1.0  # rows of zeros: only the bias remains
    for a in range(m):
        curve[bag[a]] += tau
    alpha, bounds, v = np.zeros(n), np.zeros(n), np.zeros(width)
    plus, minus, margins = np.empty(width), np.empty(width), np.empty(n)
    order, seed = bag.copy(), np.uint64(1)
    for k in range(grid.shape[0]):
        linear, norm = 0.0, 0.0
        for j in range(d):
            norm += v[j] * v[j]
        for a in range(m):
            i = bag[a]
            bounds[i] = grid[k] * base[i]
            linear += alpha[i] * problem.targets[i]
        if norm > 0.0:  # the best common factor of the last solution
            factor = min(max(linear / norm, 1.0), grid[k] / grid[k - 1])
            for a in range(m):
                alpha[bag[a]] = min(alpha[bag[a]] * factor, bounds[bag[a]])
            for j in range(d):
                v[j] *= factor
        active, above, below, wanted, scale = m, np.inf, -np.inf, 0.5, 1.0
        for sweep in range(_MAX_SWEEPS):
            active, high, low, seed = _sweep(
                problem, order, active, bounds, alpha, v, curve, tau, above, below, seed
            )
            violation = max(high, 0.0) - min(low, 0.0)
            if stop[0]:
                break
            if violation <= wanted or sweep == _MAX_SWEEPS - 1:
                gap, scale = _check(problem, bag, bounds, alpha, v, margins, plus, minus)
                if gap <= 0.85 * tol:
                    break
                wanted = 0.5 * violation
                active, above, below = m, np.inf, -np.inf
            else:
                above = high if high > 0.0 else np.inf
                below = low if low < 0.0 else -np.inf
            for a in range(m):
                v[d] += tau * alpha[bag[a]] * problem.signs[bag[a]]
        for j in range(width):
            coef[k, j] = scale * v[j]
        for i in range(n):
            alphas[k, i] = alpha[i]
