r"""Sequential minimal optimisation on a shared kernel matrix: the method for kernels.

With signed multipliers :math:`\beta_i=\alpha_iy_i` the dual is
:math:`\max\sum_i\beta_iy_it_i-\tfrac12\beta^\top K\beta` over boxes with :math:`\sum_i\beta_i=0`.
A step moves one pair, :math:`\beta_i` up and :math:`\beta_j` down by the same amount: the steepest
:math:`i`, and the :math:`j` that gains most to second order [1]_. :math:`F_i = y_it_i - f_i` is
all that is needed: the bias lies between the largest :math:`F` that may rise and the smallest that
may fall, and the gap is :math:`\sum_ic_i\max(0, y_i(F_i-b)) - \sum_i\beta_iF_i`.

The kernel matrix is computed once for all bags and all C. The solution of one C, scaled by the
best common factor, starts the next.

Speed is a matter of vector instructions. Compilers do not vectorise the search for a largest
value, but they do vectorise ``LANES`` searches side by side: lane l holds the best of the samples
l, l + LANES, l + 2 LANES, ... Arrays are therefore padded to a multiple of LANES, and contiguous.
Rows of the kernel matrix are packed to the samples of the bag when a step first needs them: on
the paper's tables that is one row in two to four. Rows and F are float32, twice as many to an
instruction; bounds and multipliers are float64. The matrix is divided by a power of two, its unit,
and all multipliers are multiplied by it: every positive definite matrix fits into float32 that
way. What float32 leaves is seen by the certificate, and then
:func:`~svmproba.solvers.dual.working_sets.polish` takes it away.

References
----------
.. [1] R.-E. Fan, P.-H. Chen and C.-J. Lin, *Working set selection using second order information
   for training support vector machines*, Journal of Machine Learning Research 6, 2005.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from svmproba.solvers.core.compiled import JIT, entry
from svmproba.solvers.problem import relative_gap

#: Searches side by side. On rows of 576 samples 64 took 0.2 µs a pass, one search 0.76 µs.
LANES = 64
#: Steps for each sample and C before a member is left to Newton steps. The paper's tables need
#: one with the rbf kernel.
_STEPS_PER_SAMPLE = 100
#: Steps between two looks at the gap.
_LOOK = 64
#: Relative gaps that sums of float32 can tell.
_FINEST = 1e-4
#: What keeps a sample out of a search; numbers of the type that the searches work with.
_FAR, _ZERO, _ONE, _TWO = np.float32(1e30), np.float32(0), np.float32(1), np.float32(2)
#: Least curvature along a pair, a few roundings of the entries of a matrix with the unit 1.
_FLAT = np.float32(1e-6)


@njit(**JIT)
def _shift(F, up, down, step):
    for a in range(F.shape[0]):
        F[a] -= step * (up[a] - down[a])


@njit(**JIT)
def _ends(F, no_rise, no_fall, highest, lowest):
    """Largest F that may rise and smallest that may fall, in each lane."""
    for lane in range(LANES):
        highest[lane] = -_FAR
    for lane in range(LANES):
        lowest[lane] = _FAR
    for start in range(0, F.shape[0], LANES):
        part = F[start : start + LANES]
        bar = no_rise[start : start + LANES]
        for lane in range(LANES):
            value = part[lane] - bar[lane]
            highest[lane] = value if value > highest[lane] else highest[lane]
        bar = no_fall[start : start + LANES]
        for lane in range(LANES):
            value = part[lane] + bar[lane]
            lowest[lane] = value if value < lowest[lane] else lowest[lane]


@njit(**JIT)
def _gains(F, row, curves, own, top, no_fall, gains):
    """Largest gain of a step that raises one multiplier and lowers another, in each lane."""
    for lane in range(LANES):
        gains[lane] = _ZERO
    for start in range(0, F.shape[0], LANES):
        part, values = F[start : start + LANES], row[start : start + LANES]
        bar, curve = no_fall[start : start + LANES], curves[start : start + LANES]
        for lane in range(LANES):
            slope = top - part[lane] - bar[lane]
            slope = slope if slope > _ZERO else _ZERO
            bend = own + curve[lane] - _TWO * values[lane]
            bend = bend if bend > _FLAT else _FLAT
            gain = slope * slope / bend
            gains[lane] = gain if gain > gains[lane] else gains[lane]


@njit(**JIT)
def _bar(beta, low, high, no_rise, no_fall, a):
    """Note whether a multiplier may rise and fall."""
    no_rise[a] = _ZERO if beta[a] < high[a] else _FAR
    no_fall[a] = _ZERO if beta[a] > low[a] else _FAR


@njit(**JIT)
def _pack(kernel, bag, packed, held, a):
    """Copy a row of the kernel matrix at the samples of the bag, if not yet done."""
    if not held[a]:
        row = kernel[bag[a]]
        for b in range(bag.shape[0]):
            packed[a, b] = row[bag[b]]
        held[a] = True


@njit(**JIT)
def _steepest(F, no_rise, highest, lowest):
    """Return the sample with the largest F that may rise, and both ends of the bias."""
    best, bottom = 0, lowest[0]
    for lane in range(1, LANES):
        if highest[lane] > highest[best]:
            best = lane
        if lowest[lane] < bottom:
            bottom = lowest[lane]
    i = best
    for a in range(best, F.shape[0], LANES):
        if F[a] - no_rise[a] > F[i] - no_rise[i]:
            i = a
    return i, highest[best], bottom


@njit(**JIT)
def _partner(F, row, diagonal, own, top, no_fall, gains):
    """Return the sample to lower, -1 where none gains."""
    found = 0
    for lane in range(1, LANES):
        if gains[lane] > gains[found]:
            found = lane
    best, j = _ZERO, np.int64(-1)
    for a in range(found, F.shape[0], LANES):
        slope = max(top - F[a] - no_fall[a], _ZERO)
        gain = slope * slope / max(own + diagonal[a] - _TWO * row[a], _FLAT)
        if gain > best:
            best = gain
            j = a
    return j


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


@njit(**JIT)
def _solve(
    kernel, bag, packed, held, y, t, diagonal, beta, low, high, F, tol, span, stop, bars, best
):
    """Take steps until the gap is closed or all pairs are within ``span``; gives the bias."""
    m = F.shape[0]
    highest, lowest, gains = best[0], best[1], best[2]
    no_rise, no_fall = bars[0], bars[1]
    for a in range(m):
        _bar(beta, low, high, no_rise, no_fall, a)
    bias = 0.0
    for step in range(_STEPS_PER_SAMPLE * m):
        _ends(F, no_rise, no_fall, highest, lowest)
        i, top, bottom = _steepest(F, no_rise, highest, lowest)
        if top <= -0.5 * _FAR or bottom >= 0.5 * _FAR:
            # One class only: nothing may move.
            return np.float64(bottom if top <= -0.5 * _FAR else top)
        bias = 0.5 * (np.float64(top) + np.float64(bottom))
        if top - bottom <= span:
            break
        _pack(kernel, bag, packed, held, i)
        row, own = packed[i], diagonal[i]
        _gains(F, row, diagonal, own, top, no_fall, gains)
        j = _partner(F, row, diagonal, own, top, no_fall, gains)
        if j < 0 or stop[0]:
            break
        if step % _LOOK == 0 and _gap(y, t, beta, low, high, F, bias) <= 0.85 * tol:
            break
        _pack(kernel, bag, packed, held, j)
        bend = max(own + diagonal[j] - _TWO * row[j], _FLAT)
        size = min(np.float64((F[i] - F[j]) / bend), min(high[i] - beta[i], beta[j] - low[j]))
        # A bound that is reached is reached exactly: `_bar` compares.
        beta[i] = high[i] if size == high[i] - beta[i] else beta[i] + size
        beta[j] = low[j] if size == beta[j] - low[j] else beta[j] - size
        _bar(beta, low, high, no_rise, no_fall, i)
        _bar(beta, low, high, no_rise, no_fall, j)
        _shift(F, row, packed[j], np.float32(size))
    return bias


class Space(NamedTuple):
    """Memory for many bags."""

    packed: NDArray[np.float32]  #: (n * (n + LANES),), so that the rows of all bags are contiguous
    held: NDArray[np.bool_]  #: (n,), which rows of the bag are packed


def new_space(n: int) -> Space:
    """Allocate what `solve_pairs` works in. Pages that no bag touches are never committed."""
    return Space(np.empty(n * (n + LANES), np.float32), np.empty(n, np.bool_))


@entry
def solve_pairs(kernel, unit, signs, targets, space, base, grid, tol, stop, bias, alphas):
    """Solve the problem with finite bounds ``C * base`` for every C of an increasing grid.

    ``kernel`` (n, n) is the kernel matrix divided by its unit. Writes biases (n_C,) and
    multipliers (n_C, n).
    """
    bag = np.flatnonzero(base > 0.0)
    m = bag.shape[0]
    size = -(-m // LANES) * LANES
    packed, held = space.packed[: m * size].reshape(m, size), space.held
    # Padding has bounds of 0: it may neither rise nor fall.
    exact = np.zeros((5, size))
    y, t, beta, low, high = exact[0], exact[1], exact[2], exact[3], exact[4]
    F, diagonal = np.zeros(size, np.float32), np.zeros(size, np.float32)
    bars, best = np.empty((2, size), np.float32), np.empty((3, LANES), np.float32)
    for a in range(m):
        y[a], t[a], diagonal[a] = signs[bag[a]], targets[bag[a]], kernel[bag[a], bag[a]]
        F[a], held[a] = y[a] * t[a], False
        packed[a, m:] = 0.0
    alphas[:] = 0.0
    for k in range(grid.shape[0]):
        if k > 0:
            _scale(y, t, beta, F, grid[k] / grid[k - 1])
        for a in range(m):
            c = unit * (grid[k] * base[bag[a]])
            low[a], high[a] = min(0.0, c * y[a]), max(0.0, c * y[a])
            beta[a] = min(max(beta[a], low[a]), high[a])
        bias[k] = _solve(
            kernel, bag, packed, held,
            y, t, diagonal, beta, low, high, F, max(tol, _FINEST), -_ONE, stop, bars, best,
        )  # fmt: skip
        for a in range(m):
            alphas[k, bag[a]] = abs(beta[a]) / unit


def padded_square(m: int) -> NDArray[np.float32]:
    """Allocate a matrix for the entries of m samples with each other."""
    size = -(-m // LANES) * LANES
    return np.zeros((m, size), np.float32)


@entry
def solve_set(packed, unit, chosen, signs, targets, diagonals, betas, lows, highs, F, span, stop):
    """Move the multipliers of some samples until no pair of them differs by more than ``span``.

    ``packed`` (see `padded_square`) is the kernel matrix of the chosen samples, divided by its
    unit. ``F`` may be less a constant: float32 keeps most digits near 0. Updates ``betas`` (n,)
    and returns by how much each of the chosen ones moved.
    """
    m, size = packed.shape
    held = np.ones(m, np.bool_)
    exact = np.zeros((5, size))
    y, t, beta, low, high = exact[0], exact[1], exact[2], exact[3], exact[4]
    slope, diagonal = np.zeros(size, np.float32), np.zeros(size, np.float32)
    bars, best = np.empty((2, size), np.float32), np.empty((3, LANES), np.float32)
    for a in range(m):
        i = chosen[a]
        y[a], t[a], beta[a] = signs[i], targets[i], unit * betas[i]
        low[a], high[a] = unit * lows[i], unit * highs[i]
        diagonal[a], slope[a] = diagonals[i] / unit, F[i]
    _solve(
        packed, chosen, packed, held,
        y, t, diagonal, beta, low, high, slope, -1.0, np.float32(span), stop, bars, best,
    )  # fmt: skip
    moved = np.empty(m)
    for a in range(m):
        now = beta[a] / unit
        moved[a] = now - betas[chosen[a]]
        betas[chosen[a]] = now
    return moved
