r"""Exact solutions, carried from one set of bounds to the next.

A change of one bound takes some dozens of events (:mod:`~svmproba.solvers.exact_path.follow`), each
a few microseconds, and ends at the exact solution. A hard margin is a bound that rises until the
margin holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from svmproba._types import Floats
from svmproba.solvers.core.compiled import JIT, lean_entry
from svmproba.solvers.core.references import by_reference
from svmproba.solvers.exact_path.active_set import find_leads, locate, rebuild, remove, values
from svmproba.solvers.exact_path.follow import (
    DONE,
    MAX_AGE,
    STUCK,
    Care,
    Task,
    follow,
    list_near,
    refresh,
    update_leads,
)
from svmproba.solvers.exact_path.workspace import (
    BOUND,
    FREE,
    ZERO,
    Space,
    moving_path,
    new_space,
    open_free,
    open_path,
)

# Counters of the caller: moves, failures, random numbers.
SOLVES, FAILURES, SEED = range(3)

#: Targets are smaller than 1 by other shares up to this one: where hundreds of records lie on
#: their margin (columns with few values), equal targets would make the path go in circles. What
#: bounds the optimum still does.
SCATTER = 1e-7
#: Events after which a move is given up, in all and for each record: many records of few columns
#: take many.
_EVENTS, _EVENTS_EACH = 4000, 10
#: For which way of the point, as a share of the records' mean distance from their margins, near
#: records are listed at first.
_FIRST_WATCHED = 0.25
#: Largest relative gap of a solution.
EXACT = 1e-6


def new_moves(table: Floats, d: int, slots: int, stop: Any) -> Space:
    """Allocate the work space of one table, with scattered targets."""
    space = new_space(table, d, slots, stop)
    path, n = moving_path(space), len(table)
    path.places.target[:n] = 1.0 - SCATTER * np.modf(0.7548776662 * np.arange(1, n + 1))[0]
    path.watched[0] = _FIRST_WATCHED
    return space


@njit(**JIT)
def _start_cold(path):
    """Take balanced multipliers within their bounds for the solution with other targets."""
    table, d, places, free, point = path.table, path.d, path.places, path.free, path.point
    near, far, n_far, balance, bias = path.near, path.far, path.n_far, path.balance, 0.0
    alpha, cap, lead, where = places.alpha, places.cap, places.lead, places.where
    place, row = free.place, free.row
    for i in range(places.size[0]):
        where[i] = ZERO if alpha[i] <= 0.0 else (BOUND if alpha[i] >= cap[i] else FREE)
    rebuild(path)
    locate(path)
    balance[0] = point[d] = 0.0
    find_leads(table, places, point)
    for p in range(1, free.size[0]):
        bias -= lead[place[p]] * table[row[p], d] / (free.size[0] - 1)
    point[d] = bias
    find_leads(table, places, point)
    list_near(places, near, far, n_far, np.inf, np.bool_(True))


@njit(**JIT)
def _set_rates(places, free, age, goal):
    """Let finite bounds move to their goals; returns whether any does."""
    alpha, cap, rise, where = places.alpha, places.cap, places.rise, places.where
    place, moving = free.place, False
    for i in range(places.size[0]):
        rise[i] = 0.0
        if goal[i] == np.inf or goal[i] == cap[i]:
            continue
        if cap[i] == np.inf and alpha[i] <= goal[i]:
            cap[i] = goal[i]
            continue
        if cap[i] == np.inf:  # now at a bound that comes down from where its multiplier is
            for p in range(1, free.size[0]):
                if place[p] == i:
                    remove(free, np.int64(p))
                    age[0] += 1
                    break
            where[i], cap[i] = BOUND, alpha[i]
        rise[i] = goal[i] - cap[i]
        moving = True
    return moving


@njit(**JIT)
def _set_hard(places, goal, solved):
    """End the change of the finite bounds, and let those of hard margins rise; returns how many."""
    alpha, cap, rise, where = places.alpha, places.cap, places.rise, places.where
    rising = np.int64(0)
    for i in range(places.size[0]):
        rise[i] = 0.0
        if goal[i] < np.inf:  # to the last digit
            cap[i] = goal[i]
            alpha[i] = goal[i] if where[i] == BOUND else alpha[i]
        elif where[i] != BOUND:
            cap[i] = np.inf
        elif solved:
            rise[i] = max(cap[i], 1e-300)
            rising += 1
    return rising


@njit(**JIT)
def _carry(path, horizon, rising, cutoff, renew, stop):
    """Follow the solution, and remove rounding where there may be some."""
    age, most = path.age, np.int64(_EVENTS + _EVENTS_EACH * path.places.size[0])
    end = follow(path, Task(horizon, most, 0.0), Care(rising, cutoff, renew), stop)
    update_leads(path)
    if age[0] > MAX_AGE or not renew:
        refresh(path)
    return end


@lean_entry
def move(space, goal, cutoff, exact, tally):
    """Carry slot 0 to the bounds ``goal``; infinite ones are hard margins.

    Unless ``exact``, slot 0 holds no solution yet but any balanced multipliers within their
    bounds.

    Returns how that ended, and the value: a lower bound to the last digit, infinite unless the end
    is a solution.
    """
    path, end, stop = by_reference(open_path(space, open_free(space))), DONE, space.stop
    places, free, age, point, d = path.places, path.free, path.age, path.point, path.d
    tally[SOLVES] += 1
    if not exact:
        _start_cold(path)
    if _set_rates(places, free, age, goal) or not exact:
        end = _carry(path, 1.0, np.int64(0), np.inf, exact, stop)
    rising = _set_hard(places, goal, end == DONE)
    if rising > 0:
        end = _carry(path, np.inf, rising, cutoff, np.bool_(True), stop)
    primal, dual = values(places, d, point)
    if end == DONE and abs(primal - dual) > EXACT * primal:
        refresh(path)
        primal, dual = values(places, d, point)
        if abs(primal - dual) > EXACT * primal:
            end = STUCK
    tally[FAILURES] += end == STUCK
    return end, min(primal, dual) if end == DONE else np.inf
