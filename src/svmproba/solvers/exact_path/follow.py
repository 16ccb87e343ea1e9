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

from svmproba.solvers.core.compiled import JIT
from svmproba.solvers.core.rows import row_dot, rows_add, rows_dot
from svmproba.solvers.exact_path.active_set import (
    ENDLESS,
    combine,
    enter,
    find_leads,
    locate,
    multiply,
    park,
    rebuild,
    remove,
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
    """Where to stop, and what may be exceeded on the way."""

    horizon: float  # tau at the end; if infinite, bounds rise until their margins hold
    max_events: int
    slack: float  # by which bounds and margins may be exceeded, so that ties do not stop the path


class Care(NamedTuple):
    """What constrained moves need beyond plain paths.

    With care the rates are solved for after each event, not only for their change. `follow` is
    compiled twice: plain paths pass None, and Numba leaves out what is under ``if care is not
    None``. That is half of the compilation of plain paths.
    """

    rising: int  # how many bounds rise until their margins hold
    cutoff: float  # value above which the path is given up
    renew: bool  # list the near records anew where the point has moved, and compute what has aged


@njit(**JIT)
def update_leads(path):
    """Bring the leads up to date; the lists end."""
    table, row, lead = path.table, path.places.row, path.places.lead
    near, far, n_far, way = path.near, path.far, path.n_far, path.way
    place, side, space, n_near = near.place, near.side, near.space, near.size
    for a in range(n_near[0]):
        lead[place[a]] = side[a] * space[a]
    for a in range(n_far[0]):
        lead[far[a]] += row_dot(table, row[far[a]], way)
    for k in range(way.shape[0]):
        way[k] = 0.0
    n_near[0], n_far[0] = 0, 0


@njit(**JIT)
def list_near(places, near, far, n_far, radius, adopt):
    """List the records to watch: up to ``radius`` lengths from their margin, free, or wrong.

    If ``adopt``, targets start where this point is the solution, and are pulled to their place.
    """
    lead, where, position, all_rows = places.lead, places.where, places.position, places.row
    place, row, side, space = near.place, near.row, near.side, near.space
    pull, length, lengths, n_listed = near.pull, near.length, places.length, near.size
    n_near, n_others = np.uint64(0), np.uint64(0)
    for i in range(places.size[0]):  # without branches: see newton
        wrong = (lead[i] < 0.0) == (where[i] == ZERO)
        close = wrong | (where[i] == FREE) | (abs(lead[i]) <= radius * lengths[i])
        place[n_near], far[n_others] = i, i
        n_near += np.uint64(close)
        n_others += np.uint64(not close)
    for a in range(n_near):
        i = place[a]
        y = 0.0 if where[i] == FREE else (1.0 if where[i] == ZERO else -1.0)
        h, x = y * lead[i], 0.0
        if adopt:
            # Scattered, so that wrong records do not all reach their margins at once.
            h = -h * (0.25 + (0.6180339887 * i) % 1.0) if h < 0.0 else h
            x = y * h - lead[i]
        side[a], space[a], pull[a] = y, h, x
        row[a], length[a], position[i] = all_rows[i], lengths[i], a
    n_listed[0], n_far[0] = n_near, n_others


@njit(**JIT)
def _look(path, watched):
    """List the records that may reach their margin soon; returns how far the point may move.

    None can before the point has moved by its lead over the length of its row. ``watched`` is the
    way, as a share of the mean one, for which the list shall do.
    """
    places, near, far, n_far = path.places, path.near, path.far, path.n_far
    lead, length, n, mean = places.lead, places.length, places.size[0], 0.0
    update_leads(path)
    for i in range(n):
        mean += abs(lead[i]) / length[i]
    radius = watched * mean / n if watched < np.inf else np.inf
    list_near(places, near, far, n_far, radius, np.bool_(False))
    return radius


@njit(**JIT)
def _length(x):
    """Return the length of a vector."""
    s = 0.0
    for k in range(x.shape[0]):
        s += x[k] * x[k]
    return np.sqrt(s)


@njit(**JIT)
def _aim(path):
    """Solve for the rates of J and of the point; returns how much of the latter may be rounding.

    Where the rates all but cancel in the point's, which ties make them do, the system is solved
    once more, for what is left.
    """
    table, d, free, speed, push = path.table, path.d, path.free, path.speed, path.places.push
    pull, position, length = path.near.pull, path.places.position, path.places.length
    size, place, rate, inverse = free.size[0], free.place, free.rate, free.inverse
    z, change, rows = free.product, free.image, free.row[1:]
    balance, terms = push[d] + path.balance[0], 0.0
    for k in range(d):
        speed[k] = push[k]
        terms += abs(push[k])
    for p in range(size):
        rate[p] = 0.0
    for turn in range(2):
        speed[d] = rate[0]
        rows_dot(table, rows, size - 1, speed, z[1:])
        z[0] = -balance
        for p in range(1, size):
            z[p] = pull[position[place[p]]] - z[p]
        multiply(inverse, z, size, change)
        speed[d] = 0.0
        rows_add(table, rows, change[1:], size - 1, speed)
        balance += speed[d]
        for p in range(size):
            rate[p] += change[p]
        speed[d] = rate[0]
        if turn == 1:
            break
        for p in range(1, size):
            terms += abs(rate[p]) * length[place[p]]
        if _length(speed) > _SLOW * terms:
            return _NOISE * terms
    return _REFINED * terms


@njit(**JIT)
def _turn(table, d, free, speed, size, x):
    """Change the rates of the first seats as their margins ask for that follow x times an image."""
    image, change, rate, rows = free.image, free.product, free.rate, free.row[1:]
    bias = speed[d] - x * image[0]
    for p in range(1, size):
        change[p] = -x * image[p]
        rate[p] += change[p]
    rows_add(table, rows, change[1:], size - 1, speed)
    speed[d] = bias


@njit(**JIT)
def _turn_for_leaver(table, d, free, speed, p, up):
    """Give seat p the rate that it will have outside J."""
    row, image, size = free.inverse[p], free.image, free.size[0]
    x = (free.rise[p] if up else 0.0) - free.rate[p]
    for q in range(size):
        image[q] = -row[q] / row[p]
    _turn(table, d, free, speed, size, x)


@njit(**JIT)
def _turn_for_newcomer(table, d, free, speed, pull, rest, rate):
    """Give the last seat, whose rate was another one, the rate that keeps its margin."""
    last, rates = free.size[0] - 1, free.rate
    row, change = table[free.row[last]], pull
    for k in range(row.shape[0]):
        change -= row[k] * speed[k]
    change /= rest
    for k in range(d):
        speed[k] += change * row[k]
    _turn(table, d, free, speed, last, change)
    rates[last] = rate + change


@njit(**JIT)
def _find_bias(table, d, near, point, push):
    """With no free record, move the bias to the first that can balance the push; -1 if none can."""
    row, side, space, n = near.row, near.side, near.space, near.size[0]
    y, step, who = np.sign(push), np.inf, np.int64(-1)
    for a in range(n):
        if y * side[a] * table[row[a], d] < 0.0 and space[a] < step:
            step, who = max(space[a], 0.0), np.int64(a)
    if who >= 0:
        for a in range(n):
            space[a] += y * step * side[a] * table[row[a], d]
        point[d] += y * step
    return who


@njit(**JIT)
def _next_event(table, speed, free, near, left, room, noise, slack):
    """Return the way to the next event, its kind, and its seat or its position in the list."""
    alpha, alpha_rate, cap, rise = free.alpha, free.rate, free.cap, free.rise
    space, rate, side, pull = near.space, near.rate, near.side, near.pull
    reach, length, n, size = near.reach, near.length, near.size[0], free.size[0]
    step, kind, who = left, _END, np.int64(-1)
    if room < np.inf and _length(speed) * step > room:
        step, kind = room / _length(speed), _LOOK
    for p in range(1, size):
        x, loose = alpha_rate[p], slack * min(cap[p], ENDLESS)
        if alpha[p] + step * x < -loose:
            step, kind, who = max(-(alpha[p] + loose) / x, 0.0), _DOWN, np.int64(p)
        x -= rise[p]
        if alpha[p] - cap[p] + step * x > loose:
            step, kind, who = max((cap[p] + loose - alpha[p]) / x, 0.0), _UP, np.int64(p)
    rows_dot(table, near.row, n, speed, rate)
    for a in range(n):  # apart: these vectorise, and wait for nothing
        rate[a] = side[a] * (rate[a] - pull[a])
        when = max(space[a] + slack, 0.0) / max(-rate[a], _NEVER)
        reach[a] = when if -rate[a] > noise * length[a] else np.inf
    for a in range(n):
        if reach[a] < step:
            step, kind, who = reach[a], _MARGIN, np.int64(a)
    return step, kind, who


@njit(**JIT)
def _advance(free, near, point, speed, way, step):
    """Go along the present direction."""
    space, rate, n, size = near.space, near.rate, near.size[0], free.size[0]
    alpha, alpha_rate, cap, rise = free.alpha, free.rate, free.cap, free.rise
    for a in range(n):
        space[a] += step * rate[a]
    for p in range(1, size):
        alpha[p] += step * alpha_rate[p]
        cap[p] += step * rise[p]
    for k in range(point.shape[0]):
        point[k] += step * speed[k]
        way[k] += step * speed[k]


@njit(**JIT)
def refresh(path):
    """Compute the inverse, the point and the leads from the multipliers.

    What rounding has left of the free leads and of the balance is removed.
    """
    table, d, places, free, point = path.table, path.d, path.places, path.free, path.point
    inverse, z, change, place, rows = free.inverse, free.product, free.image, free.place, free.row
    alpha, seated, target, unbalanced = places.alpha, free.alpha, places.target, path.balance
    rebuild(path)
    locate(path)
    size, balance = free.size[0], unbalanced[0]
    for _ in range(2 if size > 1 else 0):
        rows_dot(table, rows[1:], size - 1, point, z[1:])
        z[0] = -balance
        for p in range(1, size):
            z[p] = target[place[p]] - z[p]
        multiply(inverse, z, size, change)
        bias, point[d] = point[d] + change[0], balance
        rows_add(table, rows[1:], change[1:], size - 1, point)
        balance, point[d] = point[d], bias
        for p in range(1, size):
            seated[p] += change[p]
            alpha[place[p]] = seated[p]
    unbalanced[0] = 0.0
    find_leads(table, places, point)


@njit(**JIT)
def _begin(path, hard):
    """Take what the free records need to their seats, and add up the moving bounds."""
    places, free, way, mass = path.places, path.free, path.way, 0.0
    gain = places.gain
    alpha, cap, rise = places.alpha, places.cap, places.rise
    target, where, place = places.target, places.where, free.place
    least = np.int64(BOUND)
    combine(path.table, places, rise, least, path.listed, path.value, places.push)
    for p in range(1, free.size[0]):
        i = place[p]
        free.alpha[p], free.cap[p], free.rise[p] = alpha[i], cap[i], rise[i]
    gain[0] = 0.0
    for i in range(places.size[0] if hard else 0):
        mass += alpha[i] * target[i]
        gain[0] += rise[i] * target[i] * (where[i] == BOUND)
    for k in range(way.shape[0]):
        way[k] = 0.0
    return mass


@njit(**JIT)
def follow(path, task, care, stop):
    """Follow the solution until the horizon; the near records are listed, unless ``care.renew``.

    Returns how that ended. The leads are those of the start, until they are brought up to date.
    """
    table, d, places, free, near = path.table, path.d, path.places, path.free, path.near
    point, speed, way, push, gain = path.point, path.speed, path.way, places.push, places.gain
    balance, watched, age, events = path.balance, path.watched, path.age, path.events
    n_far, where, target = path.n_far, places.where, places.target
    now, settled, gone, seen, radius = 0.0, 0.0, 0.0, 0, np.inf
    aim, noise, relist, end, last = True, 0.0, False, STUCK, events[0] + task.max_events
    rising, hard, renew, exact = np.int64(0), False, False, False
    if care is not None:
        rising, hard, exact = care.rising, task.horizon == np.inf, True
        relist = renew = care.renew
    mass = _begin(path, hard)
    ceiling = _CEILING * mass
    while events[0] < last and not stop[0]:
        if care is not None:  # noqa: SIM102 (Numba leaves out nothing under `and`)
            if hard:
                value = mass - 0.5 * _length(point[:d]) ** 2
                if rising == 0 or mass > ceiling or value > care.cutoff:
                    end = DONE if rising == 0 else (CUT if value > care.cutoff else INFEASIBLE)
                    break
        unbalanced = free.size[0] == 1 and abs(push[d] + balance[0]) > _BALANCED
        if care is not None:
            if renew and (relist or unbalanced):
                radius, gone, seen = _look(path, np.inf if unbalanced else watched[0]), 0.0, 0
            relist = unbalanced
        if unbalanced:  # no multiplier is free to balance the others: move the bias until one is
            kind, who = _MARGIN, _find_bias(table, d, near, point, push[d] + balance[0])
        else:
            # 1. Find the next event.
            if aim:
                rounding = _aim(path)
                noise = rounding if exact else 0.0
            left, room = task.horizon - now, radius - gone
            step, kind, who = _next_event(table, speed, free, near, left, room, noise, task.slack)
            # 2. Go there.
            if step == np.inf:  # the multipliers that grow prove that there is no solution
                for p in range(1, free.size[0]):
                    free.alpha[p] += ENDLESS * free.rate[p]
                end, now = INFEASIBLE, now + ENDLESS
                break
            if care is not None:
                for p in range(1, free.size[0] if hard else 0):
                    mass += step * free.rate[p] * target[free.place[p]]
                mass += step * gain[0]
                gone += step * _length(speed) if renew else 0.0
                seen += near.size[0]
            _advance(free, near, point, speed, way, step)
            now += step
        # 3. Handle it.
        if kind == _END:
            end = DONE
            break
        events[0] += 1
        aim = exact
        if kind == _LOOK:  # a look costs as much as what was watched since the last one
            watched[0] *= 0.6 if seen > places.size[0] else 1.5
            relist = True
        elif kind == _MARGIN:
            rest = -1.0
            if who >= 0:
                i, rate = np.int64(near.place[who]), 0.0
                cap = places.cap[i] + (now - settled) * places.rise[i]
                alpha = cap if where[i] == BOUND else 0.0
                if where[i] == BOUND:
                    rate = places.rise[i]
                risen = hard and rate != 0.0
                rest = enter(path, table, d, places, near, free, i, alpha, np.inf if risen else cap)
                if risen:  # for good: its margin holds
                    places.cap[i], places.rise[i] = np.inf, 0.0
                    free.rise[free.size[0] - 1] = 0.0
                    rising -= 1
            if rest < 0.0:
                end = INFEASIBLE
                break
            age[0] += 1
            aim = exact or rest == 0.0
            if not aim:
                _turn_for_newcomer(table, d, free, speed, near.pull[who], rest, rate)
        else:
            i, cap, aim = np.int64(free.place[who]), free.cap[who], exact or free.size[0] == 2
            if not aim:
                _turn_for_leaver(table, d, free, speed, who, kind == _UP)
            age[0] += 1
            remove(free, who)
            park(table, places, near, i, kind == _UP, cap)
        if care is not None:  # noqa: SIM102
            if renew and age[0] > MAX_AGE:
                settle(places, free, now - settled)
                settled = now
                refresh(path)
                near.size[0], n_far[0], relist = 0, 0, True
    settle(places, free, now - settled)
    return end
