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

import numpy as np
from numba import njit

from svmproba.solvers.core.compiled import JIT, ONCE
from svmproba.solvers.core.rows import row_add, rows_add, rows_dot
from svmproba.solvers.exact_path.workspace import BOUND, FREE, ZERO
from svmproba.solvers.problem import Array

#: Share of a row's squared length outside the span of J below which it depends on J.
_DEPENDENT = 1e-9
#: A change of multipliers without an end is so long. They then prove that the hard margins cannot
#: all hold.
ENDLESS = 1e30


def cold_start(table: Array, d: int, bound: Array) -> tuple[Array, int]:
    """Return balanced multipliers within their bounds, and the place of one that may be free.

    The smaller class is at its bounds. Of the other as much is, the worst first by the direction
    between the means of the classes.
    """
    rows, signs = table[:, :d], table[:, d]
    masses = [bound[signs == sign].sum() for sign in (1.0, -1.0)]
    sums = [(bound * (signs == sign)) @ rows for sign in (1.0, -1.0)]
    small = 1.0 if masses[0] <= masses[1] else -1.0
    others = np.flatnonzero(signs != small)
    margins = rows[others] @ (sums[0] / masses[0] + sums[1] / masses[1])
    others = others[np.argsort(margins, kind="stable")]
    alpha = np.where(signs == small, bound, 0.0)
    before = np.concatenate([[0.0], np.cumsum(bound[others])[:-1]])
    alpha[others] = np.clip(alpha.sum() - before, 0.0, bound[others])
    return alpha, int(others[max(np.count_nonzero(alpha[others]) - 1, 0)])


@njit(**JIT)
def multiply(free, out):
    """Multiply ``free.product`` by the inverse; returns the product of both vectors."""
    size, z, total = free.size[0], free.product, 0.0
    for p in range(size):
        row, s = free.inverse[p], 0.0
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
    row, x, z, square = table[i], free.vector, free.product, 0.0
    for k in range(x.shape[0]):
        x[k] = row[k]
    z[0], x[d] = x[d], 0.0
    for k in range(x.shape[0]):
        square += x[k] * x[k]
    rows_dot(table, free.row[1:], free.size[0] - 1, x, z[1:])
    return square - multiply(free, free.image), square


@njit(**JIT)
def _append(free, y, rest, square):
    """Add the record whose image was computed last to the inverse, at the last seat."""
    size, u, inverse = free.size[0], free.image, free.inverse
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
    free.size[0] = size + 1


@njit(**JIT)
def remove(free, p):
    """Take seat p out of the inverse; the last one takes its place."""
    inverse, last = free.inverse, free.size[0] - 1
    if p != last:
        for q in range(last + 1):
            inverse[p, q], inverse[last, q] = inverse[last, q], inverse[p, q]
        for q in range(last + 1):
            inverse[q, p], inverse[q, last] = inverse[q, last], inverse[q, p]
        free.place[p], free.row[p] = free.place[last], free.row[last]
        free.alpha[p], free.rate[p] = free.alpha[last], free.rate[last]
        free.cap[p], free.rise[p] = free.cap[last], free.rise[last]
    row = inverse[last]
    for q in range(last if last > 1 else 0):
        other, x = inverse[q], row[q] / row[last]
        for r in range(last):
            other[r] -= x * row[r]
    inverse[0, 0] = inverse[0, 0] if last > 1 else 0.0
    free.size[0] = last


@njit(**ONCE)
def _park(path, i, up, cap):
    """Put record i, which is not free, at its bound ``cap`` or at 0."""
    path.where[i] = BOUND if up else ZERO
    path.alpha[i] = cap if up else 0.0
    a = path.position[i]
    path.near.space[a], path.near.side[a] = 0.0, -1.0 if up else 1.0
    if up and path.rise[i] != 0.0:
        row_add(path.table, path.row[i], path.rise[i], path.push)
        path.gain[0] += path.rise[i] * path.target[i]


@njit(**ONCE)
def leave(path, p, up):
    """Take the record at seat p out of J, to its bound or to 0."""
    i, cap = path.free.place[p], path.free.cap[p]
    path.age[0] += 1
    remove(path.free, p)
    _park(path, i, up, cap)


@njit(**JIT)
def _exchange(path, i, alpha, cap):
    """Move the multiplier of record i, whose row depends on J, and those of J; the point stays.

    Ends where one of them reaches a bound. Returns the multiplier, or -1 if it is the one. It is
    infinite where there is no end, which means that the hard margins cannot all hold.
    """
    free, u = path.free, path.free.image
    sign = 1.0 if alpha < 0.5 * cap else -1.0
    step, seat = (cap - alpha if sign > 0.0 else alpha), np.int64(0)
    for p in range(1, free.size[0]):
        change, h = -sign * u[p], np.inf
        if abs(change) > 1e-9:
            h = (free.cap[p] - free.alpha[p] if change > 0.0 else free.alpha[p]) / abs(change)
        if h < step:
            step, seat = max(h, 0.0), np.int64(p)
    endless = step == np.inf
    step = ENDLESS if endless else step
    for p in range(1, free.size[0]):
        free.alpha[p] -= step * sign * u[p]
    if endless:
        path.where[i], path.alpha[i] = FREE, alpha + step
        return np.inf
    if seat == 0:
        _park(path, i, sign > 0.0, cap)
        return -1.0
    up = sign * u[seat] < 0.0
    leave(path, seat, up)
    return max(alpha + sign * step, 0.0)


@njit(**ONCE)
def enter(path, i, alpha, cap):
    """Take record i into J, at a multiplier and a bound; see `_exchange` for dependent rows.

    Returns what is left of its squared row after J; 0 after an exchange, and negative where that
    has no end.
    """
    free, row, changed = path.free, np.int64(path.row[i]), path.free.size[0] == 1
    path.age[0] += 1
    alpha = max(alpha, 0.0)
    if path.where[i] == BOUND and path.rise[i] != 0.0:
        row_add(path.table, row, -path.rise[i], path.push)
        path.gain[0] -= path.rise[i] * path.target[i]
    rest, square = image(path.table, path.d, free, row)
    full = free.size[0] == free.inverse.shape[0]
    while free.size[0] > 1 and (rest <= _DEPENDENT * (1.0 + square) or full):
        changed = True
        alpha = _exchange(path, i, alpha, cap)
        if alpha < 0.0 or alpha == np.inf:
            break
        rest, square = image(path.table, path.d, free, row)
        full = False
    if alpha >= 0.0 and alpha < np.inf:
        size = free.size[0]
        _append(free, path.table[row, path.d], rest, square)
        path.where[i] = FREE
        path.near.side[path.position[i]] = 0.0
        free.place[size], free.row[size], free.rise[size] = i, row, path.rise[i]
        free.alpha[size], free.cap[size] = alpha, cap
    if alpha == np.inf:
        rest = -1.0
    elif changed:
        rest = 0.0
    return rest


@njit(**JIT)
def rebuild(path):
    """Compute the inverse anew. The first of dependent records stay free, as in `enter`."""
    path.free.size[0] = 1
    path.free.inverse[0, 0] = 0.0
    for i in range(path.size[0]):
        if path.where[i] == FREE:  # an exchange may have parked it meanwhile
            enter(path, np.int64(i), path.alpha[i], path.cap[i])
    path.age[0] = 0
    for p in range(1, path.free.size[0]):
        path.alpha[path.free.place[p]] = path.free.alpha[p]


@njit(**ONCE)
def settle(path, time):
    """Bring bounds and multipliers up to date, ``time`` after they were."""
    for i in range(path.size[1]):
        path.cap[i] += time * path.rise[i]
        path.alpha[i] = path.cap[i] if path.where[i] >= BOUND else path.alpha[i]
    for p in range(1, path.free.size[0]):
        path.alpha[path.free.place[p]] = path.free.alpha[p]


@njit(**JIT)
def _add_rows(table, row, where, value, least, n, listed, x, out):
    """Overwrite out by the sum of n rows times their values, from the status ``least`` on."""
    count = np.uint64(0)
    for k in range(out.shape[0]):
        out[k] = 0.0
    for i in range(n):  # without branches: see newton
        listed[count], x[count] = row[i], value[i]
        count += np.uint64((where[i] >= least) & (value[i] != 0.0))
    rows_add(table, listed, x, np.int64(count), out)


@njit(**ONCE)
def combine(path, value, least, out):
    """Overwrite out by the sum of the rows times their values, from the status ``least`` on."""
    least, n = np.int64(least), path.size[1]
    _add_rows(path.table, path.row, path.where, value, least, n, path.listed, path.value, out)


@njit(**ONCE)
def locate(path):
    """Compute the weights and the balance from the multipliers."""
    bias = path.point[path.d]
    combine(path, path.alpha, FREE, path.point)
    path.balance[0], path.point[path.d] = path.point[path.d], bias


@njit(**ONCE)
def find_leads(path):
    """Compute the leads from the point."""
    rows_dot(path.table, path.row, path.size[0], path.point, path.lead)
    for i in range(path.size[0]):
        path.lead[i] -= path.target[i]


@njit(**ONCE)
def values(path):
    """Return the primal and the dual value; hard margins are taken to hold."""
    norm, loss, linear = 0.0, 0.0, 0.0
    for k in range(path.d):
        norm += path.point[k] * path.point[k]
    for i in range(path.size[0]):
        linear += path.alpha[i] * path.target[i]
        cap = path.cap[i] if path.cap[i] < np.inf else 0.0
        loss += cap * max(-path.lead[i], 0.0)
    return 0.5 * norm + loss, linear - 0.5 * norm
