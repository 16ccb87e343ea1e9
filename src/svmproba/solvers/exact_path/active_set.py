r"""The free records and the inverse of their system, which changes by one record at a time.

In a solution of :mod:`~svmproba.solvers.problem` a multiplier is at 0, at its bound, or free. The
free records :math:`J` lie on their margins. What follows from a change elsewhere is one product
with the inverse of

.. math:: \begin{pmatrix}0 & y_J^\top\\ y_J & Q_{JJ}\end{pmatrix},

where :math:`Q` holds the products of the signed rows without the bias.

References
----------
Cauwenberghs & Poggio (2000). Incremental and decremental support vector machine learning.
NeurIPS 13.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from svmproba._types import Floats
from svmproba.solvers.core.compiled import JIT
from svmproba.solvers.core.rows import row_add, rows_add, rows_dot
from svmproba.solvers.exact_path.workspace import BOUND, FREE, ZERO

#: Share of a row's squared length outside the span of J below which it depends on J.
_DEPENDENT = 1e-9
#: A change of multipliers without an end is so long. They then prove that the hard margins cannot
#: all hold.
ENDLESS = 1e30


def cold_start(table: Floats, d: int, bound: Floats) -> tuple[Floats, int]:
    """Return balanced multipliers within their bounds, and the place of one that may be free.

    The smaller class is at its bounds. Of the other as much is, the worst first by the direction
    between the means of the classes.
    """
    rows, signs = table[:, :d], table[:, d]
    masses = [max(bound[signs == sign].sum(), 1e-300) for sign in (1.0, -1.0)]
    sums = [bound * (signs == sign) @ rows for sign in (1.0, -1.0)]
    small = 1.0 if masses[0] <= masses[1] else -1.0
    others: Any = np.flatnonzero(signs != small)
    margins = rows[others] @ (sums[0] / masses[0] + sums[1] / masses[1])
    others = others[np.argsort(margins, kind="stable")]
    alpha = np.where(signs == small, bound, 0.0)
    before = np.concatenate([[0.0], np.cumsum(bound[others])[:-1]])
    alpha[others] = np.clip(alpha.sum() - before, 0.0, bound[others])
    return alpha, int(others[max(int(np.count_nonzero(alpha[others])) - 1, 0)])


@njit(**JIT)
def multiply(inverse, z, size, out):
    """Multiply z by the inverse; returns the product of both vectors."""
    total = 0.0
    for p in range(size):
        row, s = inverse[p], 0.0
        for q in range(size):
            s += row[q] * z[q]
        out[p] = s
        total += s * z[p]
    return total


@njit(**JIT)
def image(table, d, free, i):
    """Find the rates of J and of the bias that keep its margins while row i gets the rate -1.

    They are written to ``free.image``. Returns what is left of the squared row after J, and the
    squared row.
    """
    row, x, z, u, square = table[i], free.vector, free.product, free.image, 0.0
    inverse, size, rows = free.inverse, free.size[0], free.row[1:]
    for k in range(x.shape[0]):
        x[k] = row[k]
    z[0], x[d] = x[d], 0.0
    for k in range(x.shape[0]):
        square += x[k] * x[k]
    rows_dot(table, rows, size - 1, x, z[1:])
    return square - multiply(inverse, z, size, u), square


@njit(**JIT)
def _append(free, y, rest, square):
    """Add the record whose image was computed last to the inverse, at the last seat."""
    n_seats, u, inverse = free.size, free.image, free.inverse
    size = n_seats[0]
    if size == 1:
        inverse[0, 0], inverse[0, 1], inverse[1, 0], inverse[1, 1] = -square, y, y, 0.0
    else:
        last = inverse[size]
        for p in range(size):
            row, x = inverse[p], u[p] / rest
            for q in range(size):
                row[q] += x * u[q]
            row[size], last[p] = -x, -x
        last[size] = 1.0 / rest
    n_seats[0] = size + 1


@njit(**JIT)
def remove(free, p):
    """Take seat p out of the inverse; the last one takes its place."""
    inverse, n_seats, place, row_of = free.inverse, free.size, free.place, free.row
    alpha, rate, cap, rise, last = free.alpha, free.rate, free.cap, free.rise, n_seats[0] - 1
    if p != last:
        for q in range(last + 1):
            inverse[p, q], inverse[last, q] = inverse[last, q], inverse[p, q]
        for q in range(last + 1):
            inverse[q, p], inverse[q, last] = inverse[q, last], inverse[q, p]
        place[p], row_of[p], alpha[p] = place[last], row_of[last], alpha[last]
        rate[p], cap[p], rise[p] = rate[last], cap[last], rise[last]
    row = inverse[last]
    for q in range(last if last > 1 else 0):
        other, x = inverse[q], row[q] / row[last]
        for r in range(last):
            other[r] -= x * row[r]
    inverse[0, 0] = inverse[0, 0] if last > 1 else 0.0
    n_seats[0] = last


@njit(**JIT)
def park(table, places, near, i, up, cap):
    """Put record i, which is not free, at its bound ``cap`` or at 0."""
    rise, a = places.rise[i], places.position[i]
    places.where[i] = BOUND if up else ZERO
    places.alpha[i] = cap if up else 0.0
    near.space[a], near.side[a] = 0.0, -1.0 if up else 1.0
    if up and rise != 0.0:
        row_add(table, np.int64(places.row[i]), rise, places.push)
        places.gain[0] += rise * places.target[i]


@njit(**JIT)
def _exchange(path, i, alpha, cap):
    """Move the multiplier of record i, whose row depends on J, and those of J; the point stays.

    Ends where one of them reaches a bound. Returns the multiplier; -1 if it is the one, and
    infinite where there is no end, which means that the hard margins cannot all hold.
    """
    table, places, near, free, age = path.table, path.places, path.near, path.free, path.age
    u, others, caps = free.image, free.alpha, free.cap
    sign = 1.0 if alpha < 0.5 * cap else -1.0
    step, seat = (cap - alpha if sign > 0.0 else alpha), np.int64(0)
    for p in range(1, free.size[0]):
        change, h = -sign * u[p], np.inf
        if abs(change) > 1e-9:
            h = (caps[p] - others[p] if change > 0.0 else others[p]) / abs(change)
        if h < step:
            step, seat = max(h, 0.0), np.int64(p)
    endless = step == np.inf
    step = ENDLESS if endless else step
    for p in range(1, free.size[0]):
        others[p] -= step * sign * u[p]
    if endless:
        places.where[i], places.alpha[i] = FREE, alpha + step
        return np.inf
    age[0] += 1
    up, who, new = sign > 0.0, i, -1.0
    if seat > 0:
        up, who, cap = sign * u[seat] < 0.0, np.int64(free.place[seat]), caps[seat]
        new = max(alpha + sign * step, 0.0)
        remove(free, seat)
    park(table, places, near, who, up, cap)
    return new


@njit(**JIT)
def enter(path, table, d, places, near, free, i, alpha, cap):
    """Take record i into J, at a multiplier and a bound; see `_exchange` for dependent rows.

    Returns what is left of its squared row after J; 0 after an exchange, and negative where that
    has no end.
    """
    row, rise = np.int64(places.row[i]), places.rise[i]
    changed, alpha = free.size[0] == 1, max(alpha, 0.0)
    if places.where[i] == BOUND and rise != 0.0:
        row_add(table, row, -rise, places.push)
        places.gain[0] -= rise * places.target[i]
    rest, square = image(table, d, free, row)
    full = free.size[0] == free.inverse.shape[0]
    while free.size[0] > 1 and (rest <= _DEPENDENT * (1.0 + square) or full):
        changed, full = True, False
        alpha = _exchange(path, i, alpha, cap)
        if alpha < 0.0 or alpha == np.inf:
            break
        rest, square = image(table, d, free, row)
    if alpha >= 0.0 and alpha < np.inf:
        size = free.size[0]
        _append(free, table[row, d], rest, square)
        free.place[size], free.row[size], free.rise[size] = i, row, rise
        free.alpha[size], free.cap[size] = alpha, cap
        places.where[i], near.side[places.position[i]] = FREE, 0.0
    if changed:
        rest = -1.0 if alpha == np.inf else 0.0
    return rest


@njit(**JIT)
def rebuild(path):
    """Compute the inverse anew. The first of dependent records stay free, as in `enter`."""
    table, d, places, near = path.table, path.d, path.places, path.near
    free, age = path.free, path.age
    where, alpha, cap = places.where, places.alpha, places.cap
    free.size[0], free.inverse[0, 0] = 1, 0.0
    for i in range(places.size[0]):
        if where[i] == FREE:  # an exchange may have parked it meanwhile
            enter(path, table, d, places, near, free, np.int64(i), alpha[i], cap[i])
    for p in range(1, free.size[0]):
        alpha[free.place[p]] = free.alpha[p]
    age[0] = 0


@njit(**JIT)
def settle(places, free, time):
    """Bring bounds and multipliers up to date, ``time`` after they were."""
    alpha, cap, rise, where, place = places.alpha, places.cap, places.rise, places.where, free.place
    for i in range(places.size[1]):
        cap[i] += time * rise[i]
        alpha[i] = cap[i] if where[i] >= BOUND else alpha[i]
    for p in range(1, free.size[0]):
        alpha[place[p]] = free.alpha[p]


@njit(**JIT)
def combine(table, places, value, least, listed, x, out):
    """Overwrite out by the sum of the rows times their values, from the status ``least`` on."""
    row, where, count = places.row, places.where, np.uint64(0)
    for k in range(out.shape[0]):
        out[k] = 0.0
    for i in range(places.size[1]):  # without branches: see newton
        listed[count], x[count] = row[i], value[i]
        count += np.uint64((where[i] >= least) & (value[i] != 0.0))
    rows_add(table, listed, x, np.int64(count), out)


@njit(**JIT)
def locate(path):
    """Compute the weights and the balance from the multipliers."""
    places, point, bias = path.places, path.point, path.point[path.d]
    least = np.int64(FREE)
    combine(path.table, places, places.alpha, least, path.listed, path.value, point)
    path.balance[0], point[path.d] = point[path.d], bias


@njit(**JIT)
def find_leads(table, places, point):
    """Compute the leads from the point."""
    lead, target = places.lead, places.target
    rows_dot(table, places.row, places.size[0], point, lead)
    for i in range(places.size[0]):
        lead[i] -= target[i]


@njit(**JIT)
def values(places, d, point):
    """Return the primal and the dual value; hard margins are taken to hold."""
    alpha, cap, lead, target = places.alpha, places.cap, places.lead, places.target
    norm, loss, linear = 0.0, 0.0, 0.0
    for k in range(d):
        norm += point[k] * point[k]
    for i in range(places.size[0]):
        linear += alpha[i] * target[i]
        loss += (cap[i] if cap[i] < np.inf else 0.0) * max(-lead[i], 0.0)
    return 0.5 * norm + loss, linear - 0.5 * norm
