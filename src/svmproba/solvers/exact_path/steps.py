"""What a move needs between two breaks: a direction, who comes near, who arrives."""

from __future__ import annotations

import numpy as np
from numba import njit

from svmproba.solvers.core.compiled import JIT
from svmproba.solvers.core.rows import row_add, row_dot, rows_add
from svmproba.solvers.exact_path.pivots import (
    BOUND,
    CAP,
    D_CAP,
    D_POINT,
    D_TARGET,
    FAR,
    FREE,
    LEAD,
    LENGTH,
    N_FREE,
    N_LISTED,
    NEAR,
    NORM,
    PUSH,
    SIDE,
    SLOT,
    SPACE,
    TARGET,
    WAY,
    ZERO,
    enter,
)

#: Share of the terms of a sum that may be rounding, and the same after the second solution.
_NOISE, _REFINED = 1e-12, 1e-15
#: Squared share of the terms that is left of their sum, below which it is solved for again.
_SLOW = 1e-8


@njit(**JIT)
def find_bias(p, push):
    """With no free record, move the bias to the first that can balance the push; -1 if none can."""
    lead, y, step, who = p.f[0, LEAD], np.sign(push), np.inf, np.int64(-1)
    for i in range(p.where.shape[1]):
        h, helps = np.inf, y * p.table[i, p.d] > 0.0
        if p.where[0, i] == BOUND and helps:
            h = max(-lead[i], 0.0)
        elif p.where[0, i] == ZERO and not helps and p.f[0, CAP, i] > 0.0:
            h = max(lead[i], 0.0)
        if h < step:
            step, who = h, i
    if who >= 0:
        p.v[0, p.d] += y * step
        for i in range(p.where.shape[1]):
            lead[i] += y * step * p.table[i, p.d]
    return who


@njit(**JIT)
def arrive(p, i, for_good):
    """Free record i, which has reached its margin; returns 1 if its bound was rising for good.

    Returns -1 where the hard margins cannot all hold.
    """
    rose = 0
    p.f[0, LEAD, i] = 0.0
    if p.where[0, i] == BOUND and p.z[D_CAP, i] != 0.0:
        row_add(p.table, i, -p.z[D_CAP, i], p.zv[PUSH])
        if for_good:
            p.f[0, CAP, i], p.z[D_CAP, i] = np.inf, 0.0
            rose = 1
    return rose if enter(p, i) else -1


@njit(**JIT)
def look(p, watched):
    """Bring all leads up to date and list the records that may reach their margin soon.

    None can before the point has moved by its lead over the length of its row. ``watched`` is the
    way, as a share of the mean one, for which the list shall do. Returns how many are listed, and
    how far the point may move.
    """
    n, lead, way, norm, near = p.where.shape[1], p.f[0, LEAD], p.zv[WAY], p.z[NORM], p.lists[NEAR]
    far, side, listed = p.lists[FAR], p.z[SIDE], p.lists[N_LISTED]
    for a in range(listed[0]):
        if side[a] != 0.0:
            lead[near[a]] = side[a] * p.z[SPACE, a]
    for a in range(listed[1]):
        lead[far[a]] += row_dot(p.table, far[a], way)
    for k in range(way.shape[0]):
        way[k] = 0.0
    mean = 0.0
    for i in range(n):
        mean += abs(lead[i]) / norm[i]
    radius = watched * mean / n if watched < np.inf else np.inf
    n_near, n_far = np.uint64(0), np.uint64(0)
    for i in range(n):
        close = (abs(lead[i]) <= radius * norm[i]) | (p.where[0, i] == FREE)
        near[n_near], p.lists[SLOT, i], far[n_far] = i, n_near, i
        n_near += np.uint64(close)
        n_far += np.uint64(not close)
    for a in range(n_near):
        i = near[a]
        side[a] = 1.0 if p.where[0, i] == ZERO else (-1.0 if p.where[0, i] == BOUND else 0.0)
        p.z[SPACE, a], p.z[LENGTH, a] = side[a] * lead[i], norm[i]
    listed[0], listed[1] = n_near, n_far
    return np.int64(n_near), radius


@njit(**JIT)
def forget(p):
    """Drop the lists: the leads are up to date, or will be."""
    p.lists[N_LISTED, 0], p.lists[N_LISTED, 1] = 0, 0


@njit(**JIT)
def direction(p):
    """Set the rates of the free multipliers and of the point.

    Where the rates all but cancel in the point's, which ties make them do, the system is solved
    for what is left. Returns the rate of the dual value's linear part, the speed, and how much of
    it may be rounding.
    """
    d, table, free, push, dv = p.d, p.table, p.free[0], p.zv[PUSH], p.zv[D_POINT]
    x, u, more, q = p.zq[0], p.zq[1], p.zq[2], p.count[0, N_FREE]
    u[0], dv[d], gain, speed, noise, share = -push[d], 0.0, 0.0, 0.0, 0.0, _REFINED
    for a in range(1, q + 1):
        i = free[a]
        u[a] = p.z[D_TARGET, i] - (row_dot(table, i, push) - table[i, d] * push[d])
    for k in range(d):
        dv[k] = push[k]
        noise += abs(push[k])
    for turn in range(2 if q > 0 else 0):
        balance = 0.0
        for a in range(q + 1):
            s, row = 0.0, p.inverse[0, a]
            for b in range(q + 1):
                s += row[b] * u[b]
            x[a] = s if turn == 0 else x[a] + s
            more[a] = s
        rows_add(table, free[1:], more[1:], q, dv)
        for a in range(1, q + 1):
            balance += more[a] * table[free[a], d]
        dv[d] = x[0]
        if turn == 1:
            break
        for a in range(1, q + 1):
            noise += abs(x[a]) * p.z[NORM, free[a]]
        for k in range(d + 1):
            speed += dv[k] * dv[k]
        if speed > _SLOW * noise * noise:
            share = _NOISE
            break
        u[0] -= balance  # what is left of the equations, for the second turn
        for a in range(1, q + 1):
            u[a] = p.z[D_TARGET, free[a]] - row_dot(table, free[a], dv)
    for a in range(1, q + 1):
        gain += x[a] * p.z[TARGET, free[a]]
    speed = 0.0
    for k in range(d + 1):
        speed += dv[k] * dv[k]
    return gain, np.sqrt(speed), share * noise
