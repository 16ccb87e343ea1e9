r"""The system of the free records, kept as an inverse that changes by one record at a time.

In a solution of :mod:`~svmproba.solvers.problem` a multiplier is at 0, at its bound, or free; the
free records :math:`J` lie on their margin, :math:`a_j^\top v = t_j`. What follows from a change
elsewhere is one product with the inverse of

.. math:: \begin{pmatrix}0 & y_J^\top\\ y_J & K_{JJ}\end{pmatrix}.

References
----------
Cauwenberghs & Poggio (2000). Incremental and decremental support vector machine learning.
NeurIPS 13.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from svmproba.solvers.core.compiled import JIT
from svmproba.solvers.core.rows import aligned, row_add, row_dot, rows_add
from svmproba.solvers.problem import Array

# By record: multiplier, its bound, margin minus target.
ALPHA, CAP, LEAD = range(3)
# Scratch by record: rates of the bound and of the target, numbers; row length, wanted margin. By
# place in the list of those near their margin: distance to it, its rate, when it is used up, row
# length, and +1 at 0, -1 at the bound, 0 if free.
D_CAP, D_TARGET, LIST, NORM, TARGET, SPACE, RATE, REACH, LENGTH, SIDE = range(10)
# Lists of records: near their margin, far from it, with a moving bound; place of each in the first;
# how many are near and far.
NEAR, FAR, MOVERS, SLOT, N_LISTED = range(5)
# Vectors: change of the point, sum of the rows at moving bounds, way since the last look.
D_POINT, PUSH, WAY = range(3)
# Where a multiplier is: at 0, between its bounds, at its bound.
ZERO, FREE, BOUND = range(3)
N_FREE, AGE = range(2)
# Scratch whose first number says for which way of the point, as a share of the records' mean
# distance, those near their margin are watched.
WATCHED = 3
_FIRST_WATCHED = 0.25

#: Targets are smaller than 1 by other shares up to this one: where hundreds of records lie on
#: their margin (columns with few values), equal targets would make the pivots go in circles. What
#: bounds the optimum still does.
SCATTER = 1e-7
#: A step without an end is so long: the multipliers then prove that the hard margins cannot hold.
ENDLESS = 1e30


class Pivots(NamedTuple):
    """Solutions under several sets of bounds; slot 0 is the one that moves."""

    table: Array  # (n, width), signed rows, the bias at column d
    d: int
    f: Array  # (slots, 3, n), by record: see the names above
    v: Array  # (slots, width), point
    inverse: Array  # (slots, side, side), of the free records' system, the bias first
    free: Any  # (slots, side), the free records, from 1 on; unsigned: see State in lagrangian
    where: Any  # (slots, n)
    count: Any  # (slots, 2)
    z: Array  # (10, n)
    zv: Array  # (3, width)
    zq: Array  # (4, side), the last row: see WATCHED
    lists: Any  # (5, n or more), unsigned
    stop: Any  # (1,), set from outside to end everything soon


def new_pivots(table: Array, d: int, slots: int, stop: Any) -> Pivots:
    """Allocate the work space of one table."""
    n, width = table.shape
    side = min(n, d + 1) + 2
    z = aligned(10, n)
    z[TARGET] = 1.0 - SCATTER * np.modf(0.7548776662 * np.arange(1, n + 1))[0]
    z[NORM] = np.sqrt(np.einsum("ij,ij->i", table, table))
    zq = np.zeros((4, side))
    zq[WATCHED] = _FIRST_WATCHED
    return Pivots(
        table,
        d,
        aligned(slots, 3, n),
        aligned(slots, width),
        np.zeros((slots, side, side)),
        np.zeros((slots, side), np.uint32),
        np.zeros((slots, n), np.int8),
        np.zeros((slots, 2), np.int64),
        z,
        aligned(3, width),
        zq,
        np.zeros((5, max(n, 2)), np.uint32),
        stop,
    )


@njit(**JIT)
def copy_slot(p, source, target):
    """Copy one solution over another."""
    side = p.count[source, N_FREE] + 1
    for i in range(p.where.shape[1]):
        p.where[target, i] = p.where[source, i]
        for k in range(3):
            p.f[target, k, i] = p.f[source, k, i]
    for k in range(p.v.shape[1]):
        p.v[target, k] = p.v[source, k]
    for a in range(side):
        p.free[target, a] = p.free[source, a]
        for b in range(side):
            p.inverse[target, a, b] = p.inverse[source, a, b]
    for k in range(2):
        p.count[target, k] = p.count[source, k]


@njit(**JIT)
def schur(p, t, x, u):
    """Return what is left of record t's own product after the free ones; u solves their system."""
    row, y, q = p.table[t], p.table[t, p.d], p.count[0, N_FREE]
    own = row_dot(p.table, t, row) - y * y
    if q == 0:
        return own, own
    x[0] = y
    for a in range(1, q + 1):
        x[a] = row_dot(p.table, p.free[0, a], row) - y * p.table[p.free[0, a], p.d]
    rest = own
    for a in range(q + 1):
        s, r = 0.0, p.inverse[0, a]
        for b in range(q + 1):
            s += r[b] * x[b]
        u[a] = s
        rest -= s * x[a]
    return own, rest


@njit(**JIT)
def park(p, i, up):
    """Set record i, no longer free, at its bound or at 0."""
    p.f[0, ALPHA, i] = p.f[0, CAP, i] if up else 0.0
    p.where[0, i] = BOUND if up else ZERO
    a = p.lists[SLOT, i]
    p.z[SPACE, a], p.z[SIDE, a] = 0.0, -1.0 if up else 1.0
    if up and p.z[D_CAP, i] != 0.0:
        row_add(p.table, i, p.z[D_CAP, i], p.zv[PUSH])


@njit(**JIT)
def leave(p, a):
    """Take the a-th free record out of the system."""
    q, m, x = p.count[0, N_FREE], p.inverse[0], p.zq[2]
    if q > 1:
        pivot = 1.0 / m[a, a]
        for k in range(q + 1):
            x[k] = m[a, k]
        for i in range(q + 1):
            s, row = x[i] * pivot, m[i]
            for k in range(q + 1):
                row[k] -= s * x[k]
        for k in range(q + 1):
            m[a, k] = m[q, k]
        for k in range(q + 1):
            m[k, a] = m[k, q]
    p.free[0, a] = p.free[0, q]
    p.count[0, N_FREE] = q - 1
    p.count[0, AGE] += 1


@njit(**JIT)
def enter(p, t):
    """Put record t into the system; where its row depends on the others', exchange it for one.

    The exchange moves multipliers and leaves the point where it is. Returns False where it has no
    end, which means that the hard margins cannot all hold.
    """
    m, free, x, u = p.inverse[0], p.free[0], p.zq[1], p.zq[2]
    alpha, cap, y = p.f[0, ALPHA], p.f[0, CAP], p.table[t, p.d]
    p.count[0, AGE] += 1
    while True:
        q = p.count[0, N_FREE]
        own, rest = schur(p, t, x, u)
        if q == 0:
            m[0, 0], m[0, 1], m[1, 0], m[1, 1] = -own, y, y, 0.0
            break
        if rest > 1e-9 * (own + 1.0) and q + 2 <= m.shape[0]:
            s = 1.0 / rest
            for a in range(q + 1):
                h, row = u[a] * s, m[a]
                for b in range(q + 1):
                    row[b] += h * u[b]
                row[q + 1] = -h
                m[q + 1, a] = -h
            m[q + 1, q + 1] = s
            break
        sign = 1.0 if alpha[t] < 0.5 * cap[t] else -1.0
        step, who = (cap[t] - alpha[t] if sign > 0.0 else alpha[t]), 0
        for a in range(1, q + 1):
            i, change, h = free[a], -sign * u[a], np.inf
            if change < -1e-9:
                h = alpha[i] / -change
            elif change > 1e-9:
                h = (cap[i] - alpha[i]) / change
            if h < step:
                step, who = max(h, 0.0), a
        endless = step == np.inf
        step = ENDLESS if endless else step
        for a in range(1, q + 1):
            alpha[free[a]] -= step * sign * u[a]
        alpha[t] += step * sign
        if endless:
            return False
        if who == 0:
            park(p, t, sign > 0.0)
            return True
        i, up = np.int64(free[who]), sign * u[who] < 0.0
        leave(p, who)
        park(p, i, up)
    p.where[0, t] = FREE
    p.z[SIDE, p.lists[SLOT, t]] = 0.0
    p.count[0, N_FREE] += 1
    free[p.count[0, N_FREE]] = t
    return True


@njit(**JIT)
def refresh(p, correct):
    """Recompute the inverse, the point and the leads from the multipliers.

    With ``correct``, what rounding has left of the free leads and of the balance is removed.
    """
    d, table, v, lead, free = p.d, p.table, p.v[0], p.f[0, LEAD], p.free[0]
    bias, x, u = v[d], p.zq[0], p.zq[1]
    q = p.count[0, N_FREE]
    for a in range(q):
        p.z[LIST, a] = free[a + 1]
    p.count[0, N_FREE] = 0
    for a in range(q):
        i = np.int64(p.z[LIST, a])
        if p.where[0, i] == FREE:  # an exchange may have parked it meanwhile
            enter(p, i)
    p.count[0, AGE] = 0
    q = p.count[0, N_FREE]
    for k in range(v.shape[0]):
        v[k] = 0.0
    for i in range(p.where.shape[1]):
        if p.f[0, ALPHA, i] > 0.0:
            row_add(table, i, p.f[0, ALPHA, i], v)
    balance, v[d] = v[d], bias
    for _ in range(2 if correct and q > 0 else 0):
        u[0] = -balance
        for a in range(1, q + 1):
            u[a] = p.z[TARGET, free[a]] - row_dot(table, free[a], v)
        for a in range(q + 1):
            s, row = 0.0, p.inverse[0, a]
            for b in range(q + 1):
                s += row[b] * u[b]
            x[a] = s
        bias = v[d] + x[0]
        v[d] = balance
        for a in range(1, q + 1):
            p.f[0, ALPHA, free[a]] += x[a]
        rows_add(table, free[1:], x[1:], q, v)
        balance, v[d] = v[d], bias
    if q > 0 and not correct:
        bias = 0.0
        for a in range(1, q + 1):
            y = table[free[a], d]
            bias += (p.z[TARGET, free[a]] - row_dot(table, free[a], v) + y * v[d]) * y / q
        v[d] = bias
    for i in range(p.where.shape[1]):
        lead[i] = row_dot(table, i, v) - p.z[TARGET, i]
