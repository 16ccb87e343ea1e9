r"""Whether some weights on given columns reach the floors, by boxes of weights.

The gap :math:`q_+(w)-q_-(w)` does not change when all samples are moved by the same vector. If
:math:`w` lies in a box with centre :math:`c` and half-widths :math:`r`, no score of
:math:`x-o` exceeds :math:`c^\top(x-o)+r^\top|x-o|`, and the order statistics of these limits
bound the gaps of the box. The origin :math:`o` is the positive or the negative at the gap of the
centre: samples close to it decide, and their limits are close to their scores. Boxes whose bound
is too small are closed, the others are halved. The largest weight of a rule may have the size 1,
so that the faces of the cube are enough.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from svmproba.solvers.core.compiled import JIT, entry

#: Outcomes: the rules of all boxes fall short, weights were found, or too many boxes.
IMPOSSIBLE, FOUND, UNKNOWN = 0, 1, 2
#: Boxes that may wait, per column. A box is halved until its sides are about the margin.
_DEPTH = 64


@njit(**JIT)
def _select(values, order, first, last, place):
    """Which of the samples in [first, last) has the `place`-th smallest value; changes `order`."""
    low, high, target = first, last - 1, first + place
    while low < high:
        pivot = values[order[(low + high) // 2]]
        i, j = low, high
        while i <= j:
            while values[order[i]] < pivot:
                i += 1
            while values[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if target <= j:
            high = j
        elif target >= i:
            low = i
        else:
            break
    return order[target]


@njit(**JIT)
def _limit(rows, scores, half, origin, n_plus, need_plus, need_minus, limits, order):
    """Bound of the gaps of a box, with the samples moved so that `origin` is at 0."""
    m, n = rows.shape
    limits[:] = 0.0
    for j in range(m):
        if half[j] > 0.0:
            zero = rows[j, origin]
            for i in range(n):
                limits[i] += half[j] * abs(rows[j, i] - zero)
    for i in range(n_plus):
        limits[i] = scores[i] + limits[i]
    for i in range(n_plus, n):
        limits[i] = scores[i] - limits[i]
    high = limits[_select(limits, order, 0, n_plus, n_plus - need_plus)]
    return high - limits[_select(limits, order, n_plus, n, need_minus - 1)]


@entry
def search_boxes(rows, n_plus, need_plus, need_minus, least, most, w):
    """Look at `most` boxes at most; gives the outcome and their number, writes weights to `w`."""
    m, n = rows.shape
    room = 2 * m + _DEPTH * m
    centre, half = np.zeros((room, m)), np.ones((room, m))
    for j in range(m):
        centre[2 * j, j], centre[2 * j + 1, j] = 1.0, -1.0
        half[2 * j, j] = half[2 * j + 1, j] = 0.0
    waiting, boxes = 2 * m, 0
    scores, limits, order = np.empty(n), np.empty(n), np.arange(n)
    c, r = np.empty(m), np.empty(m)
    while waiting > 0:
        waiting -= 1
        c[:], r[:] = centre[waiting], half[waiting]
        boxes += 1
        scores[:] = 0.0
        for j in range(m):
            scores += c[j] * rows[j]
        top = _select(scores, order, 0, n_plus, n_plus - need_plus)
        bottom = _select(scores, order, n_plus, n, need_minus - 1)
        if scores[top] - scores[bottom] >= least:
            w[:] = c
            return FOUND, boxes
        need = n_plus, need_plus, need_minus
        if _limit(rows, scores, r, top, *need, limits, order) < least:
            continue
        if _limit(rows, scores, r, bottom, *need, limits, order) < least:
            continue
        side = np.argmax(r)
        if boxes >= most or waiting + 2 > room or r[side] == 0.0:
            return UNKNOWN, boxes
        r[side] /= 2.0
        for k in range(2):
            centre[waiting], half[waiting] = c, r
            centre[waiting, side] += r[side] if k else -r[side]
            waiting += 1
    return IMPOSSIBLE, boxes
