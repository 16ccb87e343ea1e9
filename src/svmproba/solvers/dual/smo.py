r"""Sequential minimal optimisation on a shared kernel matrix, for kernels.

With signed multipliers :math:`\beta_i=\alpha_iy_i` the dual is
:math:`\max\sum_i\beta_iy_it_i-\tfrac12\beta^\top K\beta` over boxes with :math:`\sum_i\beta_i=0`.
A step moves one pair, :math:`\beta_i` up and :math:`\beta_j` down by the same amount: the steepest
:math:`i`, and the :math:`j` that gains most to second order (Fan, Chen & Lin 2005). With
:math:`F_i = y_it_i - f_i` nothing else is needed: the bias lies between the largest
:math:`F` that may rise and the smallest that may fall, and the gap is
:math:`\sum_ic_i\max(0, y_i(F_i-b)) - \sum_i\beta_iF_i`.

The kernel matrix is computed once for all bags and all C, so a step costs two rows of it; the
solution of one C, scaled by the best common factor, starts the next.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from svmproba.solvers.core.compiled import JIT, entry
from svmproba.solvers.core.rows import row_add
from svmproba.solvers.problem import relative_gap

#: Steps per sample and C before a member is left to Newton steps.
_STEPS_PER_SAMPLE = 100


@njit(**JIT)
def _pair(kernel, diagonal, beta, low, high, F):
    """Return the pair to move, (-1, -1) when none may, and the two ends of the bias."""
    m = beta.shape[0]
    top, bottom, i, j = -np.inf, np.inf, np.int64(-1), np.int64(-1)
    for a in range(m):
        if F[a] > top and beta[a] < high[a]:
            top = F[a]
            i = a
        if F[a] < bottom and beta[a] > low[a]:
            bottom = F[a]
    if i >= 0:
        row, best, own = kernel[i], 0.0, 1.0  # gains are compared as fractions: no division
        for a in range(m):
            rise = top - F[a]
            curve = max(diagonal[i] + diagonal[a] - 2.0 * row[a], 1e-12)
            if rise * rise * own > best * curve and rise > 0.0 and beta[a] > low[a]:
                best = rise * rise
                own = curve
                j = a
    return i, j, top, bottom


@njit(**JIT)
def _move(kernel, diagonal, beta, low, high, F, i, j):
    """Best step of a pair inside its boxes."""
    curve = max(diagonal[i] + diagonal[j] - 2.0 * kernel[i, j], 1e-12)
    step = min((F[i] - F[j]) / curve, min(high[i] - beta[i], beta[j] - low[j]))
    up, down = kernel[i], kernel[j]
    # A bound that is reached is reached exactly: the sets above are found by comparison.
    beta[i] = high[i] if step == high[i] - beta[i] else beta[i] + step
    beta[j] = low[j] if step == beta[j] - low[j] else beta[j] - step
    for a in range(F.shape[0]):
        F[a] -= step * (up[a] - down[a])


@njit(**JIT)
def _gap(y, t, beta, low, high, F, bias):
    """Return the relative gap at this bias."""
    linear, product, hinge = 0.0, 0.0, 0.0
    for a in range(beta.shape[0]):
        linear += beta[a] * y[a] * t[a]
        product += beta[a] * F[a]
        hinge += max(0.0, y[a] * (F[a] - bias)) * (high[a] - low[a])
    norm = linear - product
    return relative_gap(0.5 * norm + hinge, linear - 0.5 * norm)


@njit(**JIT)
def _scale(y, t, beta, F, most):
    """Multiply the multipliers by the best factor between 1 and ``most``."""
    linear, norm = 0.0, 0.0
    for a in range(beta.shape[0]):
        linear += beta[a] * y[a] * t[a]
        norm += beta[a] * (y[a] * t[a] - F[a])
    factor = min(max(linear / norm, 1.0), most) if norm > 0.0 else 1.0
    for a in range(beta.shape[0]):
        F[a] = y[a] * t[a] - factor * (y[a] * t[a] - F[a])
        beta[a] *= factor


@entry
def solve_pairs(problem, state, base, grid, tol, stop, coef, alphas):
    """Solve the problem with finite bounds ``C * base`` for every C of an increasing grid.

    Parameters and results as in :func:`svmproba.solvers.newton.path.solve_path`.
    """
    n, width = base.shape[0], coef.shape[1]
    bag = np.flatnonzero(base > 0.0)
    m = bag.shape[0]
    y, t = problem.signs[bag], problem.targets[bag]
    kernel = state.square[:m]  # rows of the bag, packed to the left: they are read over and over
    diagonal = np.empty(m)
    for a in range(m):
        row = problem.kernel[bag[a]]
        for b in range(m):
            kernel[a, b] = row[bag[b]] * y[a] * y[b]
        diagonal[a] = kernel[a, a]
    beta, low, high, F = np.zeros(m), np.zeros(m), np.zeros(m), y * t
    for k in range(grid.shape[0]):
        if k > 0:
            _scale(y, t, beta, F, grid[k] / grid[k - 1])
        for a in range(m):
            c = grid[k] * base[bag[a]]
            low[a], high[a] = min(0.0, c * y[a]), max(0.0, c * y[a])
            beta[a] = min(max(beta[a], low[a]), high[a])
        bias = 0.0
        for step in range(_STEPS_PER_SAMPLE * m):
            i, j, top, bottom = _pair(kernel, diagonal, beta, low, high, F)
            if step % 64 == 0 or j < 0:
                bias = 0.5 * (top + bottom) if i >= 0 and bottom < np.inf else F[0]
                if stop[0] or j < 0 or _gap(y, t, beta, low, high, F, bias) <= 0.85 * tol:
                    break
            _move(kernel, diagonal, beta, low, high, F, i, j)
        for q in range(width):
            coef[k, q] = 0.0
        for i in range(n):
            alphas[k, i] = 0.0
        for a in range(m):
            alphas[k, bag[a]] = abs(beta[a])
            if beta[a] != 0.0:
                row_add(problem.table, bag[a], abs(beta[a]), coef[k])
        coef[k, problem.d] = bias
