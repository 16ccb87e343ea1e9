r"""Swap records in and out of a choice of hard margins while that lowers the objective.

What a release gains and what an addition costs is guessed from the inverse of the free records'
system: half the square of the multiplier's excess over its diagonal, half the square of the slack
over the Schur complement. The exact moves of :mod:`~svmproba.solvers.exact_path.moves` then decide.

The function ``move`` is passed as an argument: called by its address it is compiled once, not
once more into every function above it, which would take five times as long.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from svmproba._types import Floats
from svmproba.solvers.core.compiled import JIT
from svmproba.solvers.core.references import by_reference
from svmproba.solvers.exact_path.active_set import image
from svmproba.solvers.exact_path.follow import DONE
from svmproba.solvers.exact_path.moves import SEED, SOLVES, new_moves
from svmproba.solvers.exact_path.workspace import Space, copy_slot, moving_path, open_free

# Slots: the one that moves, the descent's place and its side steps, the best, the search's place,
# one to cross with, the plain SVM; from KEPT on one for each floor, of the last C.
# Typed, for a literal would be a type of its own and everything below compiled again.
MOVING, PLACE, SIDE, BEST, HERE, OTHER, PLAIN, KEPT = (np.int64(k) for k in range(8))

#: A swap must gain so much, relatively. Records added by guess, and releases tried, at most.
_GAIN, _WIDTH, _TRIES = 1e-7, 12, 8
#: Margins below 1 by rounding count as held. (Masses are compared to the last digit: the floors,
#: see `mass_in_sets`, leave room for the rounding of their sums.)
ROUNDING = 1e-9


class Task(NamedTuple):
    """One bag: its records and the work space."""

    space: Space
    alpha: Floats  # (n,), of the solution that moves, as the next five
    cap: Floats
    lead: Floats
    point: Floats
    target: Floats
    length: Floats
    mass: Floats  # (n,), multiplicities
    base: Floats  # (n,), the same, slightly less: bounds at C = 1
    member: Any  # (n, n_sets), boolean: the sets of records that have floors
    need: Floats  # (n_sets,), mass that must have its margin in each
    rest: Floats  # (n_sets,), what is still to be chosen of it
    tally: Any  # (3,), counters
    work: Floats  # (5, n), keys of lists, a goal of bounds
    lists: Any  # (3, n)
    banned: Any  # (n,)


# Rows of the work space that are no keys of lists.
KEY, GOAL = 3, 4


def slightly_less(mass: Floats) -> Floats:
    """Return bounds whose sums by class never agree, so that some multiplier is always free.

    Each is smaller by another share below 1e-8; what bounds the optimum still does.
    """
    return mass * (1.0 - 1e-8 * np.modf(0.6180339887 * np.arange(1, len(mass) + 1))[0])


def new_task(table: Floats, d: int, sets: Any, mass: Floats, slots: int, stop: Any) -> Task:
    """Allocate the work space of one bag.

    Parameters
    ----------
    table : array of shape (n, width)
        Signed rows, dense (see :mod:`~svmproba.solvers.core.rows`).
    d : int
        Column of the bias.
    sets : boolean array of shape (n_sets, n)
        Records that count for each floor.
    mass : array of shape (n,)
        Multiplicities.
    slots : int
        How many solutions can be kept.
    stop : array of one byte
        Everything ends soon once it is set.
    """
    n, space = len(mass), new_moves(table, d, slots, stop)
    path = moving_path(space)
    here = path.places
    return Task(
        space,
        here.alpha,
        here.cap,
        here.lead,
        path.point,
        here.target,
        here.length,
        mass,
        slightly_less(mass),
        np.ascontiguousarray(sets.T),
        np.zeros(len(sets)),
        np.zeros(len(sets)),
        np.zeros(3, np.int64),
        np.zeros((5, n)),
        np.zeros((3, n), np.int64),
        np.zeros(n, np.bool_),
    )


@njit(**JIT)
def draw(tally):
    """Next number in [0, 1)."""
    x = np.uint64(tally[SEED]) * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    tally[SEED] = np.int64(x)
    return np.float64(x >> np.uint64(11)) / 9007199254740992.0


@njit(**JIT)
def missing(t, short, held):
    """Find the mass each floor lacks, of the hard records or of all that hold; is any short."""
    cap, lead, mass, member, need = t.cap, t.lead, t.mass, t.member, t.need
    for g in range(need.shape[0]):
        short[g] = need[g]
    for i in range(mass.shape[0]):
        if cap[i] == np.inf or (held and lead[i] >= -ROUNDING):
            for g in range(need.shape[0]):
                short[g] -= mass[i] * member[i, g]
    lacks = False
    for g in range(need.shape[0]):
        lacks = lacks or short[g] > 0.0
    return lacks


@njit(**JIT)
def useful(member, i, short):
    """Whether record i counts for a floor that is short."""
    yes = False
    for g in range(short.shape[0]):
        yes = yes or (short[g] > 0.0 and member[i, g])
    return yes


@njit(**JIT)
def sort(key, index, m):
    """Sort m keys with their index, ascending (Shell): NumPy's takes seconds to compile."""
    gap = m // 2
    while gap > 0:
        for a in range(gap, m):
            x, i, b = key[a], index[a], a
            while b >= gap and key[b - gap] > x:
                key[b], index[b] = key[b - gap], index[b - gap]
                b -= gap
            key[b], index[b] = x, i
        gap = 1 if gap == 2 else gap * 5 // 11


@njit(**JIT)
def releases(t, C, key, index):
    """List the hard records whose release gains, with minus the guessed gain."""
    free, alpha, cap, base, m = open_free(t.space), t.alpha, t.cap, t.base, np.int64(0)
    place, inverse, size = free.place, free.inverse, free.size[0]
    for p in range(1, size):
        i = place[p]
        rest = alpha[i] - C * base[i]
        if cap[i] == np.inf and rest > 1e-6 * C * base[i]:
            index[m] = i
            key[m] = -0.5 * rest * rest / max(inverse[p, p], 1e-300)
            m += 1
    return m


@njit(**JIT)
def additions(t, short, banned, key, index):
    """List the records that may be added, the cheapest by guess first."""
    cap, lead, member, m = t.cap, t.lead, t.member, np.int64(0)
    table, d, free = t.space.table, t.space.d, by_reference(open_free(t.space))
    for i in range(member.shape[0]):
        if cap[i] < np.inf and not banned[i] and useful(member, i, short):
            index[m], key[m] = i, -lead[i]
            m += 1
    sort(key, index, m)
    m = min(m, _WIDTH)
    for a in range(m):
        x = max(key[a], 0.0)
        rest, _ = image(table, d, free, index[a])
        key[a] = 0.5 * x * x / max(rest, 1e-3)
    sort(key, index, m)
    return m


@njit(**JIT)
def switch(t, move, i, cap, cutoff):
    """Give record i another bound; returns how that ended, and the value."""
    space, goal, caps, tally = t.space, t.work[GOAL], t.cap, t.tally
    for k in range(goal.shape[0]):
        goal[k] = caps[k]
    goal[i] = cap
    return move(space, goal, cutoff, True, tally)


@njit(**JIT)
def trim(t, move, C, v, short):
    """Release what the floors do not need; returns the value of slot 0, which was v."""
    key, index, member, mass, base = t.work[0], t.lists[0], t.member, t.mass, t.base
    while True:
        missing(t, short, np.bool_(False))
        m, who, best = releases(t, C, key, index), np.int64(-1), 0.0
        for a in range(m):
            i, spare = index[a], True
            for g in range(short.shape[0]):
                spare = spare and not (member[i, g] and short[g] + mass[i] > 0.0)
            if spare and key[a] < best:
                who, best = i, key[a]
        if who < 0 or v == np.inf:
            return v
        _, v = switch(t, move, who, C * base[who], np.inf)


@njit(**JIT)
def refill(t, move, v, cutoff, share, short):
    """Add records until the floors hold; returns the value, infinite above the cutoff."""
    key, index, banned, tally = t.work[2], t.lists[2], t.banned, t.tally
    while v < np.inf and missing(t, short, np.bool_(False)):
        m, pick = additions(t, short, banned, key, index), 0
        if m == 0:
            return np.inf
        while pick + 1 < m and share > 0.0 and draw(tally) < share:
            pick += 1
        _, v = switch(t, move, index[pick], np.inf, cutoff)
    return v


@njit(**JIT)
def descend(t, move, C, v, solves, short):
    """Swap records of slot 0, whose value is v, while that lowers the value; returns it."""
    space, key, index, more, others = t.space, t.work[0], t.lists[0], t.work[1], t.lists[1]
    tally, banned, base = t.tally, t.banned, t.base
    best = trim(t, move, C, v, short)
    copy_slot(space, MOVING, PLACE)
    better = True
    while better:
        m, better = releases(t, C, key, index), False
        sort(key, index, m)
        for a in range(min(m, _TRIES)):
            if tally[SOLVES] >= solves:
                break
            goal, i = best * (1.0 - _GAIN), index[a]
            if a > 0:
                copy_slot(space, PLACE, MOVING)
            end, low = switch(t, move, i, C * base[i], np.inf)
            if end != DONE:
                continue
            banned[i] = True
            new, n_more = low, np.int64(0)
            if missing(t, short, np.bool_(False)):
                new, n_more = np.inf, additions(t, short, banned, more, others)
            copy_slot(space, MOVING, SIDE)
            for b in range(n_more):
                if low + more[b] >= goal or tally[SOLVES] >= solves:
                    break
                if b > 0:
                    copy_slot(space, SIDE, MOVING)
                new = switch(t, move, others[b], np.inf, goal)[1]
                new = refill(t, move, new, goal, 0.0, short)
                if new < goal:
                    break
            banned[i] = False
            if new < goal:
                best = trim(t, move, C, new, short)
                copy_slot(space, MOVING, PLACE)
                better = True
                break
    copy_slot(space, PLACE, MOVING)
    return best
