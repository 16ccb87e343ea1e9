r"""Follow an exact solution while bounds and targets move.

With bounds :math:`c_i(\tau)` and targets :math:`t_i(\tau)` that are linear in :math:`\tau`, the
solution is piecewise linear in :math:`\tau` (Hastie, Rosset, Tibshirani & Zhu 2004). Let :math:`J`
be the free records, :math:`B` those at their bound. Between two events

.. math:: \begin{pmatrix}0 & y_J^\top\\ y_J & Q_{JJ}\end{pmatrix}
   \begin{pmatrix}\dot b\\ \dot\alpha_J\end{pmatrix} =
   \begin{pmatrix}-y_B^\top\dot c_B\\ \dot t_J-Q_{JB}\,\dot c_B\end{pmatrix}.

An event is a free multiplier that reaches a bound, or a record that reaches its margin. It adds or
removes one row of the matrix. A point that solves nothing yet solves the problem with other
targets: from there these move to the right ones (`list_near`).

References
----------
Hastie, Rosset, Tibshirani & Zhu (2004). The entire regularization path for the support vector
machine. JMLR 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from svmproba.solvers.core.compiled import JIT, ONCE
from svmproba.solvers.core.rows import row_dot, rows_add, rows_dot
from svmproba.solvers.exact_path.active_set import (
    ENDLESS,
    combine,
    enter,
    find_leads,
    leave,
    locate,
    multiply,
    rebuild,
    settle,
)
from svmproba.solvers.exact_path.workspace import BOUND, FREE, ZERO

# How a path ended: at its goal, above the cutoff, without a solution, after too many events.
DONE, CUT, INFEASIBLE, STUCK = (np.int64(k) for k in range(4))
# Events: the end is reached, the list of near records is used up, a free multiplier reaches 0 or
# its bound, a record reaches its margin.
_END, _LOOK, _DOWN, _UP, _MARGIN = range(5)

#: Share of the terms of a sum that may be rounding, and the same after the second solution.
_NOISE, _REFINED = 1e-12, 1e-15
#: Share of the terms that is left of their sum, below which it is solved for again.
_SLOW = 1e-4
#: Rate below which a distance is never used up, imbalance that is none.
_NEVER, _BALANCED = 1e-300, 1e-12
#: Changes of the inverse after which everything is computed afresh.
MAX_AGE = 64
#: Hard margins whose multipliers grow by more than this factor are taken for ones that cannot all
#: hold. (A value is at least half the sum of its multipliers, so it would be as large.)
_CEILING = 1e14


class Task(NamedTuple):
    """Where to stop, and how careful to be on the way."""

    horizon: float  # tau at the end; if infinite, bounds rise until their margins hold
    rising: int  # how many of them do
    cutoff: float  # value above which the path is given up
    max_events: int
    slack: float  # by which bounds and margins may be exceeded, so that ties do not stop the path
    exact: bool  # solve for the rates after each event, not only for their change
    renew: bool  # list the near records anew where the point has moved, and compute what has aged


@njit(**ONCE)
def update_leads(path):
    """Bring the leads up to date."""
    near, way = path.near, path.way
    for a in range(near.size[0]):
        path.lead[near.place[a]] = near.side[a] * near.space[a]
    for a in range(path.n_far[0]):
        i = path.far[a]
        path.lead[i] += row_dot(path.table, path.row[i], way)
    for k in range(way.shape[0]):
        way[k] = 0.0
    near.size[0], path.n_far[0] = 0, 0


@njit(**JIT)
def list_near(path, radius, adopt):
    """List the records to watch: up to ``radius`` lengths from their margin, free, or wrong.

    If ``adopt``, targets start where this point is the solution, and are pulled to their place.
    """
    near, far, lead, where = path.near, path.far, path.lead, path.where
    n_near, n_far = np.uint64(0), np.uint64(0)
    for i in range(path.size[0]):  # without branches: see newton
        wrong = (lead[i] < 0.0) == (where[i] == ZERO)
        close = wrong | (where[i] == FREE) | (abs(lead[i]) <= radius * path.length[i])
        near.place[n_near], far[n_far] = i, i
        n_near += np.uint64(close)
        n_far += np.uint64(not close)
    for a in range(n_near):
        i = near.place[a]
        side = 1.0 if where[i] == ZERO else -1.0
        side = 0.0 if where[i] == FREE else side
        space, pull = side * lead[i], 0.0
        if adopt and space < 0.0:
            # Scattered, so that the records do not all reach their margins at once.
            space *= -(0.25 + (0.6180339887 * i) % 1.0)
        if adopt:
            pull = side * space - lead[i]
        near.side[a], near.space[a], near.pull[a] = side, space, pull
        near.row[a], near.length[a], path.position[i] = path.row[i], path.length[i], a
    near.size[0], path.n_far[0] = n_near, n_far


@njit(**ONCE)
def _aim(path):
    """Solve for the rates of J and of the point; returns how much of the latter may be rounding.

    Where the rates all but cancel in the point's, which ties make them do, the system is solved
    once more, for what is left.
    """
    free, near, speed, push, d = path.free, path.near, path.speed, path.push, path.d
    size, z, change = free.size[0], free.product, free.image
    balance, terms = push[d] + path.balance[0], 0.0
    for k in range(speed.shape[0]):
        speed[k] = push[k]
        terms += abs(push[k])
    terms -= abs(push[d])
    for p in range(size):
        free.rate[p] = 0.0
    for turn in range(2):
        speed[d] = free.rate[0]
        rows_dot(path.table, free.row[1:], size - 1, speed, z[1:])
        z[0] = -balance
        for p in range(1, size):
            z[p] = near.pull[path.position[free.place[p]]] - z[p]
        multiply(free, change)
        speed[d] = 0.0
        rows_add(path.table, free.row[1:], change[1:], size - 1, speed)
        balance += speed[d]
        for p in range(size):
            free.rate[p] += change[p]
        speed[d] = free.rate[0]
        if turn == 1 or size == 1:
            break
        for p in range(1, size):
            terms += abs(free.rate[p]) * path.length[free.place[p]]
        if _length(speed) > _SLOW * terms:
            return _NOISE * terms
    return _REFINED * terms


@njit(**JIT)
def _length(x):
    """Return the length of a vector."""
    s = 0.0
    for k in range(x.shape[0]):
        s += x[k] * x[k]
    return np.sqrt(s)


@njit(**JIT)
def _turn(table, d, free, speed, size, x):
    """Change the rates of the first seats as their margins ask for that follow x times an image."""
    change = free.product
    bias = speed[d] - x * free.image[0]
    for p in range(1, size):
        change[p] = -x * free.image[p]
        free.rate[p] += change[p]
    rows_add(table, free.row[1:], change[1:], size - 1, speed)
    speed[d] = bias


@njit(**ONCE)
def _turn_for_leaver(path, p, up):
    """Give seat p the rate that it will have outside J."""
    free = path.free
    for q in range(free.size[0]):
        free.image[q] = -free.inverse[p, q] / free.inverse[p, p]
    x = (free.rise[p] if up else 0.0) - free.rate[p]
    _turn(path.table, path.d, free, path.speed, free.size[0], x)


@njit(**ONCE)
def _turn_for_newcomer(path, rest, rate):
    """Give the last seat, whose rate was another one, the rate that keeps its margin."""
    free, speed, last = path.free, path.speed, path.free.size[0] - 1
    row, pull = path.table[free.row[last]], path.near.pull[path.position[free.place[last]]]
    change = pull
    for k in range(row.shape[0]):
        change -= row[k] * speed[k]
    change /= rest
    for k in range(path.d):
        speed[k] += change * row[k]
    _turn(path.table, path.d, free, speed, last, change)
    free.rate[last] = rate + change


@njit(**ONCE)
def _find_bias(path, push):
    """With no free record, move the bias to the first that can balance the push; -1 if none can."""
    near, y, step, who = path.near, np.sign(push), np.inf, np.int64(-1)
    for a in range(near.size[0]):
        helps = y * near.side[a] * path.table[near.row[a], path.d] < 0.0
        if helps and near.space[a] < step:
            step, who = max(near.space[a], 0.0), np.int64(a)
    if who >= 0:
        for a in range(near.size[0]):
            near.space[a] += y * step * near.side[a] * path.table[near.row[a], path.d]
        path.point[path.d] += y * step
    return who


@njit(**ONCE)
def _next_event(path, left, room, noise, slack):
    """Return the way to the next event, its kind, and its seat or its position in the list."""
    free, near, step, kind, who = path.free, path.near, left, _END, np.int64(-1)
    if room < np.inf:
        speed = _length(path.speed)
        if speed * step > room:
            step, kind = room / speed, _LOOK
    for p in range(1, free.size[0]):
        x, loose = free.rate[p], slack * min(free.cap[p], ENDLESS)
        if free.alpha[p] + step * x < -loose:
            step, kind, who = max(-(free.alpha[p] + loose) / x, 0.0), _DOWN, np.int64(p)
        x -= free.rise[p]
        if free.alpha[p] - free.cap[p] + step * x > loose:
            step, kind, who = max((free.cap[p] + loose - free.alpha[p]) / x, 0.0), _UP, np.int64(p)
    rows_dot(path.table, near.row, near.size[0], path.speed, near.rate)
    for a in range(near.size[0]):  # apart: these vectorise, and wait for nothing
        near.rate[a] = near.side[a] * (near.rate[a] - near.pull[a])
        when = max(near.space[a] + slack, 0.0) / max(-near.rate[a], _NEVER)
        near.reach[a] = when if -near.rate[a] > noise * near.length[a] else np.inf
    for a in range(near.size[0]):
        if near.reach[a] < step:
            step, kind, who = near.reach[a], _MARGIN, np.int64(a)
    return step, kind, who


@njit(**ONCE)
def _advance(path, step):
    """Go along the present direction."""
    free, near = path.free, path.near
    for a in range(near.size[0]):
        near.space[a] += step * near.rate[a]
    for p in range(1, free.size[0]):
        free.alpha[p] += step * free.rate[p]
        free.cap[p] += step * free.rise[p]
    for k in range(path.point.shape[0]):
        path.point[k] += step * path.speed[k]
        path.way[k] += step * path.speed[k]


@njit(**JIT)
def refresh(path):
    """Compute the inverse, the point and the leads from the multipliers.

    What rounding has left of the free leads and of the balance is removed.
    """
    free, point, d = path.free, path.point, path.d
    z, change = free.product, free.image
    rebuild(path)
    locate(path)
    balance = path.balance[0]
    for _ in range(2 if free.size[0] > 1 else 0):
        rows_dot(path.table, free.row[1:], free.size[0] - 1, point, z[1:])
        z[0] = -balance
        for p in range(1, free.size[0]):
            z[p] = path.target[free.place[p]] - z[p]
        multiply(free, change)
        bias, point[d] = point[d] + change[0], balance
        rows_add(path.table, free.row[1:], change[1:], free.size[0] - 1, point)
        balance, point[d] = point[d], bias
        for p in range(1, free.size[0]):
            free.alpha[p] += change[p]
    for p in range(1, free.size[0]):
        path.alpha[free.place[p]] = free.alpha[p]
    path.balance[0] = 0.0
    find_leads(path)


@njit(**ONCE)
def _begin(path, for_good):
    """Take what the free records need to their seats, and add up the moving bounds."""
    free = path.free
    for p in range(1, free.size[0]):
        i = free.place[p]
        free.row[p], free.alpha[p], free.cap[p] = path.row[i], path.alpha[i], path.cap[i]
        free.rise[p] = path.rise[i]
    combine(path, path.rise, BOUND, path.push)
    mass = path.gain[0] = 0.0
    for i in range(path.size[0] if for_good else 0):
        mass += path.alpha[i] * path.target[i]
        path.gain[0] += path.rise[i] * path.target[i] * (path.where[i] == BOUND)
    for k in range(path.way.shape[0]):
        path.way[k] = 0.0
    return mass


@njit(**ONCE)
def _look(path, watched):
    """List the records that may reach their margin soon; returns how far the point may move.

    None can before the point has moved by its lead over the length of its row.
    """
    update_leads(path)
    mean, n = 0.0, path.size[0]
    for i in range(n):
        mean += abs(path.lead[i]) / path.length[i]
    radius = watched * mean / n if watched < np.inf else np.inf
    list_near(path, radius, False)
    return radius


@njit(**ONCE)
def _let_in(path, i, time, for_good, exact):
    """Let record i, which has reached its margin, into J.

    Returns whether its bound has risen for good, whether the rates must be solved for, and whether
    all hard margins may still hold.
    """
    rise = path.rise[i] if path.where[i] == BOUND else 0.0
    cap = path.cap[i] + time * path.rise[i]
    risen = for_good and rise != 0.0
    rest = enter(path, i, cap if path.where[i] == BOUND else 0.0, np.inf if risen else cap)
    if risen:
        path.cap[i], path.rise[i], path.free.rise[path.free.size[0] - 1] = np.inf, 0.0, 0.0
    if rest > 0.0 and not exact:
        _turn_for_newcomer(path, rest, rise)
    return np.int64(risen), exact or rest == 0.0, rest >= 0.0


@njit(**JIT)
def follow(path, task, stop):
    """Follow the solution until the horizon; the near records are listed, unless ``renew``.

    Returns how that ended. The leads are those of the start, until they are brought up to date.
    """
    free, near, exact, for_good = path.free, path.near, task.exact, task.horizon == np.inf
    rising, end, last = task.rising, STUCK, path.events[0] + task.max_events
    now, settled, gone, seen = 0.0, 0.0, 0.0, 0
    mass = _begin(path, for_good)
    ceiling = _CEILING * mass if for_good else np.inf
    aim, noise, radius, relist = True, 0.0, np.inf, task.renew
    while path.events[0] < last and not stop[0]:
        if for_good:
            weight = _length(path.point[: path.d])
            if rising == 0 or mass > ceiling or mass - 0.5 * weight * weight > task.cutoff:
                above = mass - 0.5 * weight * weight > task.cutoff
                end = DONE if rising == 0 else CUT if above else INFEASIBLE
                break
        push = path.push[path.d] + path.balance[0]
        unbalanced = free.size[0] == 1 and abs(push) > _BALANCED
        if relist or (unbalanced and task.renew):
            radius, gone, seen = _look(path, np.inf if unbalanced else path.watched[0]), 0.0, 0
        relist = unbalanced and task.renew
        if unbalanced:  # no multiplier is free to balance the others: move the bias until one is
            kind, who = _MARGIN, _find_bias(path, push)
        else:
            # 1. Find the next event.
            if aim:
                rounding = _aim(path)
                noise = rounding if exact else 0.0
            left, room = task.horizon - now, radius - gone
            step, kind, who = _next_event(path, left, room, noise, task.slack)
            # 2. Go there.
            if step == np.inf:  # the multipliers that grow prove that there is no solution
                end, now = INFEASIBLE, now + ENDLESS
                for p in range(1, free.size[0]):
                    free.alpha[p] += ENDLESS * free.rate[p]
                break
            if for_good:
                mass += step * path.gain[0]
                for p in range(1, free.size[0]):
                    mass += step * free.rate[p] * path.target[free.place[p]]
            if task.renew:
                gone += step * _length(path.speed)
            _advance(path, step)
            now += step
            seen += near.size[0]
        # 3. Handle it.
        if kind == _END:
            end = DONE
            break
        path.events[0] += 1
        aim = exact
        if kind == _MARGIN:
            possible = who >= 0
            if possible:
                i = np.int64(near.place[who])
                risen, aim, possible = _let_in(path, i, now - settled, for_good, exact)
                rising -= risen
            if not possible:
                end = INFEASIBLE
                break
        elif kind != _LOOK:
            if not exact and free.size[0] > 2:
                _turn_for_leaver(path, who, kind == _UP)
            aim = exact or free.size[0] == 2
            leave(path, who, kind == _UP)
        if kind == _LOOK:  # a look costs as much as what was watched since the last one
            path.watched[0] *= 0.6 if seen > path.size[0] else 1.5
            relist = True
        if task.renew and path.age[0] > MAX_AGE:
            settle(path, now - settled)
            settled = now
            refresh(path)
            near.size[0], path.n_far[0] = 0, 0
            relist = True
    settle(path, now - settled)
    return end
