r"""Exact solutions, carried from one set of bounds to the next.

The solution of :mod:`~svmproba.solvers.problem` is piecewise linear in the bounds :math:`c_i` and
the targets :math:`t_i`. Between two breaks the free records :math:`J` keep their margins and the
others their places:

.. math:: \begin{pmatrix}0 & y_J^\top\\ y_J & K_{JJ}\end{pmatrix}
   \begin{pmatrix}\dot b\\ \dot\alpha_J\end{pmatrix} =
   \begin{pmatrix}-y^\top\dot c\\ \dot t_J - K_J\dot c\end{pmatrix}

with :math:`\dot c` the rates of the records at a moving bound. At a break one record enters or
leaves :math:`J`. A change of one bound takes some dozens of breaks, each a few microseconds, and
ends at the exact solution. A hard margin is a bound that rises until the margin holds.

References
----------
Hastie, Rosset, Tibshirani & Zhu (2004). The entire regularization path for the support vector
machine. JMLR 5.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from svmproba.solvers.core.compiled import JIT, lean_entry
from svmproba.solvers.core.rows import row_add, row_dot
from svmproba.solvers.exact_path.pivots import (
    AGE,
    ALPHA,
    BOUND,
    CAP,
    D_CAP,
    D_POINT,
    D_TARGET,
    ENDLESS,
    FREE,
    LEAD,
    LENGTH,
    MOVERS,
    N_FREE,
    NEAR,
    PUSH,
    RATE,
    REACH,
    SIDE,
    SPACE,
    TARGET,
    WATCHED,
    WAY,
    ZERO,
    enter,
    leave,
    park,
    refresh,
)
from svmproba.solvers.exact_path.steps import arrive, direction, find_bias, forget, look

# How a move ended: at its goal, above the cutoff, without a solution, after too many breaks.
DONE, CUT, INFEASIBLE, STUCK = range(4)
# Counters of the caller: solves, breaks, failures, random numbers.
SOLVES, BREAKS, FAILURES, SEED = range(4)

#: Changes of the inverse after which everything is computed afresh.
_MAX_AGE = 64
#: Breaks after which a move is given up, in all and for each record: many records of few columns
#: take many.
_BREAKS, _BREAKS_EACH = 4000, 10
#: Rate below which a distance is never used up.
_NEVER = 1e-300
#: Largest relative gap of a solution.
EXACT = 1e-6
#: Hard margins whose multipliers grow by more than this factor are taken for ones that cannot all
#: hold. (A value is at least half the sum of its multipliers, so it would be as large.)
_CEILING = 1e14


@njit(**JIT)
def _advance(p, rising, horizon, cutoff, tally):
    """Follow the solution while bounds and targets move at their rates.

    With an infinite horizon the moving bounds rise for good, each until its margin holds;
    ``rising`` counts them.
    """
    d, table, n = p.d, p.table, p.where.shape[1]
    alpha, cap, where, v = p.f[0, ALPHA], p.f[0, CAP], p.where[0], p.v[0]
    d_cap, d_target = p.z[D_CAP], p.z[D_TARGET]
    space, rate, reach, side = p.z[SPACE], p.z[RATE], p.z[REACH], p.z[SIDE]
    dv, push, way, x, free = p.zv[D_POINT], p.zv[PUSH], p.zv[WAY], p.zq[0], p.free[0]
    near, movers = p.lists[NEAR], p.lists[MOVERS]
    for k in range(push.shape[0]):
        push[k] = 0.0
        way[k] = 0.0
    n_movers, mass, shifted = 0, 0.0, np.bool_(False)
    forget(p)
    for i in range(n):
        mass += alpha[i] * p.z[TARGET, i]
        shifted = shifted or d_target[i] != 0.0
        if d_cap[i] != 0.0:
            movers[n_movers] = i
            n_movers += 1
            if where[i] == BOUND:
                row_add(table, i, d_cap[i], push)
    watched, since = np.inf if shifted else p.zq[WATCHED, 0], 0
    n_near, radius = look(p, watched)
    now, gone, end = 0.0, 0.0, np.int64(STUCK)
    ceiling = _CEILING * mass if horizon == np.inf else np.inf
    for _ in range(_BREAKS + _BREAKS_EACH * p.where.shape[1]):
        length, q = 0.0, p.count[0, N_FREE]
        for k in range(d):
            length += v[k] * v[k]
        if p.stop[0]:
            break
        if horizon == np.inf and rising == 0:
            end = np.int64(DONE)
            break
        if mass - 0.5 * length > cutoff or mass > ceiling:
            end = np.int64(CUT if mass - 0.5 * length > cutoff else INFEASIBLE)
            break
        if q == 0 and abs(push[d]) > 1e-12:
            look(p, watched)
            who = find_bias(p, push[d])
            forget(p)
            rose = arrive(p, who, horizon == np.inf) if who >= 0 else -1
            n_near, radius = look(p, watched)
            gone = 0.0
            if rose < 0:
                end = np.int64(INFEASIBLE)
                break
            rising -= rose
            continue
        tally[BREAKS] += 1
        gain, speed, noise = direction(p)
        # The next event: none (0), a record reaches its margin (1), a free multiplier reaches 0
        # (2) or its bound (3), a record far from its margin may have come near (4).
        step, who, kind = horizon - now, np.int64(-1), 0
        if speed * step > radius - gone:
            step, kind = (radius - gone) / speed, 4
        for a in range(n_near):
            rate[a] = row_dot(table, near[a], dv)
        for a in range(n_near if shifted else 0):
            rate[a] -= d_target[near[a]]
        for a in range(n_near):  # apart: these vectorise, and wait for nothing
            rate[a] *= side[a]
            when = max(space[a], 0.0) / max(-rate[a], _NEVER)
            reach[a] = when if -rate[a] > noise * p.z[LENGTH, a] else np.inf
        for a in range(n_near):
            if reach[a] < step and (side[a] < 0.0 or cap[near[a]] > 0.0):
                step, who, kind = reach[a], np.int64(near[a]), 1
        for a in range(1, q + 1):
            i = free[a]
            up = x[a] - d_cap[i]
            if x[a] < 0.0 and alpha[i] < -x[a] * step:
                step, who, kind = max(alpha[i], 0.0) / -x[a], np.int64(a), 2
            elif up > 0.0 and cap[i] - alpha[i] < up * step:
                step, who, kind = max(cap[i] - alpha[i], 0.0) / up, np.int64(a), 3
        if step == np.inf:
            end = np.int64(INFEASIBLE)
            for a in range(n_movers):
                alpha[movers[a]] += ENDLESS * d_cap[movers[a]] * (where[movers[a]] == BOUND)
            for a in range(1, q + 1):
                alpha[free[a]] += ENDLESS * x[a]
            break
        for k in range(d + 1):
            v[k] += step * dv[k]
            way[k] += step * dv[k]
        for a in range(n_near):
            space[a] += step * rate[a]
        for a in range(n_movers):
            i = movers[a]
            cap[i] += step * d_cap[i]
            if where[i] == BOUND:
                alpha[i] = cap[i]
                gain += d_cap[i] * p.z[TARGET, i]
        for a in range(1, q + 1):
            alpha[free[a]] += step * x[a]
        now += step
        mass += step * gain
        gone += step * speed
        if kind == 0:
            end = np.int64(DONE)
            break
        if kind == 1:
            rose = arrive(p, who, horizon == np.inf)
            if rose < 0:
                end = np.int64(INFEASIBLE)
                break
            rising -= rose
        elif kind < 4:
            i = np.int64(free[who])
            leave(p, who)
            park(p, i, kind == 3)
        since += n_near
        if kind == 4:  # a look costs as much as what was watched since the last one
            watched *= 0.6 if since > n else 1.5
        stale = p.count[0, AGE] > _MAX_AGE and not shifted
        if stale:
            refresh(p, True)
            forget(p)
        if stale or kind == 4:
            n_near, radius = look(p, watched)
            gone, since = 0.0, 0
    look(p, watched)
    if not shifted:
        p.zq[WATCHED, 0] = watched
    for i in range(n):
        d_cap[i], d_target[i] = 0.0, 0.0
    if p.count[0, AGE] > _MAX_AGE or shifted:
        refresh(p, True)
    return end


@njit(**JIT)
def value(p):
    """Return the primal and the dual value of slot 0; hard margins are taken to hold."""
    length, loss, mass = 0.0, 0.0, 0.0
    for k in range(p.d):
        length += p.v[0, k] * p.v[0, k]
    for i in range(p.where.shape[1]):
        mass += p.f[0, ALPHA, i] * p.z[TARGET, i]
        if p.f[0, LEAD, i] < 0.0 and p.f[0, CAP, i] < np.inf:
            loss -= p.f[0, CAP, i] * p.f[0, LEAD, i]
    return 0.5 * length + loss, mass - 0.5 * length


@lean_entry
def move(p, goal, cutoff, exact, tally):
    """Carry slot 0 to the bounds ``goal``; infinite ones are hard margins.

    Unless ``exact``, slot 0 holds no solution yet but any balanced multipliers within their
    bounds. They solve the problem with other targets; these move to 1 first.

    Returns how that ended, and the value: a lower bound to the last digit, infinite unless the end
    is a solution.
    """
    alpha, cap, lead, where = p.f[0, ALPHA], p.f[0, CAP], p.f[0, LEAD], p.where[0]
    n, d_cap, moving, rising = where.shape[0], p.z[D_CAP], False, np.int64(0)
    tally[SOLVES] += 1
    if not exact:
        for i in range(n):
            where[i] = ZERO if alpha[i] <= 0.0 else (BOUND if alpha[i] >= cap[i] else FREE)
        p.count[0, N_FREE] = 0
        for i in range(n):
            if where[i] == FREE:
                enter(p, np.int64(i))
        refresh(p, False)
        for i in range(n):
            x, at = lead[i], where[i]
            if at == FREE:
                lead[i] = 0.0
            elif (at == ZERO and x < 0.0) or (at == BOUND and x > 0.0):
                # Scattered, so that the records do not all reach their margins at once.
                lead[i] = -x * (0.25 + (0.6180339887 * i) % 1.0)
            p.z[D_TARGET, i] = lead[i] - x
    for i in range(n):
        if goal[i] == np.inf or goal[i] == cap[i]:
            continue
        if cap[i] == np.inf and alpha[i] <= goal[i]:
            cap[i] = goal[i]
            continue
        if cap[i] == np.inf:  # now at a bound that comes down from where its multiplier is
            for a in range(1, p.count[0, N_FREE] + 1):
                if p.free[0, a] == i:
                    leave(p, a)
                    break
            where[i], cap[i] = BOUND, alpha[i]
        d_cap[i] = goal[i] - cap[i]
        moving = True
    end = np.int64(DONE)
    if moving or not exact:
        end = _advance(p, rising, 1.0, np.inf, tally)
    for i in range(n):
        if goal[i] < np.inf:  # to the last digit
            cap[i] = goal[i]
            alpha[i] = goal[i] if where[i] == BOUND else alpha[i]
        elif where[i] != BOUND:
            cap[i] = np.inf
        elif end == DONE:
            d_cap[i] = max(cap[i], 1e-300)
            rising += 1
    if rising > 0:
        end = _advance(p, rising, np.inf, cutoff, tally)
    primal, dual = value(p)
    if end == DONE and abs(primal - dual) > EXACT * primal:
        refresh(p, True)
        primal, dual = value(p)
        if abs(primal - dual) > EXACT * primal:
            end = np.int64(STUCK)
    tally[FAILURES] += end == STUCK
    return end, min(primal, dual) if end == DONE else np.inf
