r"""Weights on given columns that bring the rates as close to their floors as possible.

The shortfall of a rule is :math:`(k_+-\mathrm{TP})_+/n_++(k_--\mathrm{TN})_+/n_-`, with :math:`k`
the numbers of samples that must be correct. It is a step function of the weights. Along a line
the scores are linear in one number, so that a step of the search costs a few histograms.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from svmproba.solvers.core.compiled import JIT, entry

#: Bins of the histograms. Bins keep the order of scores, so what they separate is separated.
_BINS = 512
#: Least improvement of a step.
_LEAST = 1e-9
#: Steps along a line, in units of the spread of the scores.
_STEPS = np.concatenate([-np.geomspace(0.02, 20.0, 11)[::-1], np.geomspace(0.02, 20.0, 11)])


@njit(**JIT)
def _shortfall(scores, n_plus, need_plus, need_minus, margin, plus, minus):
    """Least shortfall over all thresholds; `plus` and `minus` are room for the histograms."""
    n = scores.shape[0]
    n_minus = n - n_plus
    low, high = np.inf, -np.inf
    for i in range(n):
        shifted = scores[i] - margin if i < n_plus else scores[i] + margin
        low, high = min(low, shifted), max(high, shifted)
    n_bins = plus.shape[0]
    factor = (n_bins - 1) / (high - low) if high > low else 0.0
    plus[:] = 0
    minus[:] = 0
    for i in range(n_plus):
        plus[int((scores[i] - margin - low) * factor)] += 1
    for i in range(n_plus, n):
        minus[int((scores[i] + margin - low) * factor)] += 1
    best = np.inf
    # Correct samples beyond the floors decide between equal shortfalls; they weigh less than one
    # that is missing, so that the result is negative where none is.
    beyond = 0.25 / max(n_plus, n_minus)
    tp, tn = n_plus, 0
    for k in range(n_bins + 1):
        short = max(need_plus - tp, 0) / n_plus + max(need_minus - tn, 0) / n_minus
        best = min(best, short - beyond * (tp / n_plus + tn / n_minus))
        if k < n_bins:
            tp -= plus[k]
            tn += minus[k]
    return best


@njit(**JIT)
def _largest(w, t, direction):
    size = 0.0
    for j in range(w.shape[0]):
        size = max(size, abs(w[j] + t * direction[j]))
    return size


@njit(**JIT)
def _try(base, extra, t, w, direction, n_plus, need_plus, need_minus, margin, room, plus, minus):
    """Shortfall at a step t along a line."""
    for i in range(base.shape[0]):
        room[i] = base[i] + t * extra[i]
    # Weights that vanish have no margin to keep: they are no rule.
    size = _largest(w, t, direction)
    if size == 0.0:
        return np.inf
    return _shortfall(room, n_plus, need_plus, need_minus, margin * size, plus, minus)


@njit(**JIT)
def _line(
    base, extra, w, direction, here, n_plus, need_plus, need_minus, margin, room, plus, minus
):
    """Best step along a line and its shortfall; 0 where none is better than `here`."""
    spread, own = 0.0, 0.0
    for i in range(base.shape[0]):
        spread += base[i] * base[i]
        own += extra[i] * extra[i]
    if own == 0.0:
        return 0.0, here
    unit = np.sqrt(spread / own) if spread > 0.0 else 1.0
    best, place = here, -1
    for k in range(_STEPS.shape[0]):
        value = _try(
            base, extra, unit * _STEPS[k], w, direction, n_plus, need_plus, need_minus, margin,
            room, plus, minus,
        )  # fmt: skip
        if value < best - _LEAST:
            best, place = value, k
    if place < 0:
        return 0.0, here
    step = unit * _STEPS[place]
    low = unit * (_STEPS[place - 1] if place > 0 else 2.0 * _STEPS[place])
    high = unit * (_STEPS[place + 1] if place + 1 < _STEPS.shape[0] else 2.0 * _STEPS[place])
    for _ in range(2):
        first, width = low, (high - low) / 8.0
        for k in range(1, 8):
            t = first + k * width
            value = _try(
                base, extra, t, w, direction, n_plus, need_plus, need_minus, margin, room, plus,
                minus,
            )  # fmt: skip
            if value < best - _LEAST:
                best, step = value, t
        low, high = step - width, step + width
    return step, best


@entry
def climb(columns, w, directions, n_plus, need_plus, need_minus, margin, sweeps):
    """Improve weights along the directions, again and again; changes `w`, gives its shortfall."""
    n = columns.shape[1]
    room, scores, extra = np.empty(n), np.zeros(n), np.empty(n)
    plus, minus = np.empty(_BINS, np.int64), np.empty(_BINS, np.int64)
    for j in range(w.shape[0]):
        scores += w[j] * columns[j]
    size = np.abs(w).max()
    here = _shortfall(scores, n_plus, need_plus, need_minus, margin * size, plus, minus)
    for _ in range(sweeps):
        before = here
        for d in range(directions.shape[0]):
            extra[:] = 0.0
            for j in range(w.shape[0]):
                if directions[d, j] != 0.0:
                    extra += directions[d, j] * columns[j]
            step, here = _line(
                scores, extra, w, directions[d], here, n_plus, need_plus, need_minus, margin, room,
                plus, minus,
            )  # fmt: skip
            if step != 0.0:
                w += step * directions[d]
                scores += step * extra
            if here < 0.0:  # no shortfall is left
                return here
        if here > before - _LEAST:
            break
    return here


@entry
def extend(base, largest, extras, n_plus, need_plus, need_minus, margin):
    """Best step along each of several columns that are not in use yet, and the shortfalls.

    `largest` is the largest weight of the scores `base`; that of an extra column is 1.
    """
    n, n_extras = base.shape[0], extras.shape[0]
    room = np.empty(n)
    plus, minus = np.empty(_BINS, np.int64), np.empty(_BINS, np.int64)
    steps, values = np.zeros(n_extras), np.empty(n_extras)
    w, direction = np.array([largest, 0.0]), np.array([0.0, 1.0])
    for k in range(n_extras):
        steps[k], values[k] = _line(
            base, extras[k], w, direction, np.inf, n_plus, need_plus, need_minus, margin, room,
            plus, minus,
        )  # fmt: skip
    return steps, values
