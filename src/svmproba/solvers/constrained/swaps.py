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

from svmproba.solvers.core.compiled import JIT
from svmproba.solvers.exact_path.active_set import image
from svmproba.solvers.exact_path.moves import DONE, SEED, SOLVES, moving_path, new_moves
from svmproba.solvers.exact_path.workspace import Space, copy_slot, open_path
from svmproba.solvers.problem import Array

# Slots: the one that moves, the descent's place and its side steps, the best, the search's place,
# one to cross with, the plain SVM; from KEPT on one for each floor, of the last C.
# Typed, for a literal would be a type of its own and everything below compiled again.
MOVING, PLACE, SIDE, BEST, HERE, OTHER, PLAIN, KEPT = (np.int64(k) for k in range(8))

#: A swap must gain so much, relatively. Records added by guess, and releases tried, at most.
_GAIN, _WIDTH, _TRIES = 1e-7, 12, 8
#: Margins below 1 by rounding count as held. (Masses are compared to the last digit: the floors,
#: see `needed_mass`, leave room for the rounding of their sums.)
ROUNDING = 1e-9


class Task(NamedTuple):
    """One bag: its records and the work space."""

    space: Space
    alpha: Array  # (n,), of the solution that moves, as the next five
    cap: Array
    lead: Array
    point: Array
    target: Array
    length: Array
    mass: Array  # (n,), multiplicities
    base: Array  # (n,), the same, slightly less: bounds at C = 1
    group: Any  # (n,), bit g is set where the record counts for floor g
    need: Array  # (3,), mass that must have its margin: positives, negatives, all
    rest: Array  # (3,), what is still to be chosen of it
    tally: Any  # (3,), counters
    work: Array  # (5, n), keys of lists, a goal of bounds
    lists: Any  # (3, n)
    banned: Any  # (n,)


# Rows of the work space that are no keys of lists.
KEY, GOAL = 3, 4


def slightly_less(mass: Array) -> Array:
    """Return bounds whose sums by class never agree, so that some multiplier is always free.

    Each is smaller by another share below 1e-8; what bounds the optimum still does.
    """
    return mass * (1.0 - 1e-8 * np.modf(0.6180339887 * np.arange(1, len(mass) + 1))[0])


def new_task(table: Array, d: int, signs: Array, mass: Array, slots: int, stop: Any) -> Task:
    """Allocate the work space of one bag.

    Parameters
    ----------
    table : array of shape (n, width)
        Signed rows, dense (see :mod:`~svmproba.solvers.core.rows`).
    d : int
        Column of the bias.
    signs, mass : arrays of shape (n,)
        Labels and multiplicities.
    slots : int
        How many solutions can be kept.
    stop : array of one byte
        Everything ends soon once it is set.
    """
    n, space = len(signs), new_moves(table, d, slots, stop)
    p = moving_path(space)
    return Task(
        space,
        p.alpha,
        p.cap,
        p.lead,
        p.point,
        p.target,
        p.length,
        mass,
        slightly_less(mass),
        np.where(signs > 0.0, 1, 2) | 4,
        np.zeros(3),
        np.zeros(3),
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
    for g in range(3):
        short[g] = t.need[g]
    for i in range(t.mass.shape[0]):
        if t.cap[i] == np.inf or (held and t.lead[i] >= -ROUNDING):
            for g in range(3):
                short[g] -= t.mass[i] * (t.group[i] >> g & 1)
    return max(short[0], max(short[1], short[2])) > 0.0


@njit(**JIT)
def useful(t, i, short):
    """Whether record i counts for a floor that is short."""
    yes = False
    for g in range(3):
        yes = yes or (short[g] > 0.0 and (t.group[i] >> g & 1) == 1)
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
    free, m = open_path(t.space).free, np.int64(0)
    for p in range(1, free.size[0]):
        i = free.place[p]
        rest = t.alpha[i] - C * t.base[i]
        if t.cap[i] == np.inf and rest > 1e-6 * C * t.base[i]:
            index[m] = i
            key[m] = -0.5 * rest * rest / max(free.inverse[p, p], 1e-300)
            m += 1
    return m


@njit(**JIT)
def additions(t, short, banned, key, index):
    """List the records that may be added, the cheapest by guess first."""
    path, m = open_path(t.space), np.int64(0)
    for i in range(t.mass.shape[0]):
        if t.cap[i] < np.inf and not banned[i] and useful(t, i, short):
            index[m], key[m] = i, -t.lead[i]
            m += 1
    sort(key, index, m)
    m = min(m, _WIDTH)
    for a in range(m):
        x = max(key[a], 0.0)
        rest, _ = image(path.table, path.d, path.free, index[a])
        key[a] = 0.5 * x * x / max(rest, 1e-3)
    sort(key, index, m)
    return m


@njit(**JIT)
def switch(t, move, i, cap, cutoff):
    """Give record i another bound; returns how that ended, and the value."""
    goal = t.work[GOAL]
    for k in range(goal.shape[0]):
        goal[k] = t.cap[k]
    goal[i] = cap
    return move(t.space, goal, cutoff, True, t.tally)


@njit(**JIT)
def trim(t, move, C, v, short):
    """Release what the floors do not need; returns the value of slot 0, which was v."""
    key, index = t.work[0], t.lists[0]
    while True:
        missing(t, short, False)
        m, who, best = releases(t, C, key, index), np.int64(-1), 0.0
        for a in range(m):
            i, spare = index[a], True
            for g in range(3):
                spare = spare and not (t.group[i] >> g & 1 and short[g] + t.mass[i] > 0.0)
            if spare and key[a] < best:
                who, best = i, key[a]
        if who < 0 or v == np.inf:
            return v
        _, v = switch(t, move, who, C * t.base[who], np.inf)


@njit(**JIT)
def refill(t, move, v, cutoff, share, short):
    """Add records until the floors hold; returns the value, infinite above the cutoff."""
    key, index = t.work[2], t.lists[2]
    while v < np.inf and missing(t, short, False):
        m, pick = additions(t, short, t.banned, key, index), 0
        if m == 0:
            return np.inf
        while pick + 1 < m and share > 0.0 and draw(t.tally) < share:
            pick += 1
        _, v = switch(t, move, index[pick], np.inf, cutoff)
    return v


@njit(**JIT)
def descend(t, move, C, v, solves, short):
    """Swap records of slot 0, whose value is v, while that lowers the value; returns it."""
    space, key, index, more, others = t.space, t.work[0], t.lists[0], t.work[1], t.lists[1]
    best = trim(t, move, C, v, short)
    copy_slot(space, MOVING, PLACE)
    better = True
    while better:
        m, better = releases(t, C, key, index), False
        sort(key, index, m)
        for a in range(min(m, _TRIES)):
            if t.tally[SOLVES] >= solves:
                break
            goal, i = best * (1.0 - _GAIN), index[a]
            if a > 0:
                copy_slot(space, PLACE, MOVING)
            end, low = switch(t, move, i, C * t.base[i], np.inf)
            if end != DONE:
                continue
            t.banned[i] = True
            new = np.inf if missing(t, short, False) else low
            n_more = additions(t, short, t.banned, more, others) if new == np.inf else 0
            copy_slot(space, MOVING, SIDE)
            for b in range(n_more):
                if low + more[b] >= goal or t.tally[SOLVES] >= solves:
                    break
                if b > 0:
                    copy_slot(space, SIDE, MOVING)
                new = refill(t, move, switch(t, move, others[b], np.inf, goal)[1], goal, 0.0, short)
                if new < goal:
                    break
            t.banned[i] = False
            if new < goal:
                best = trim(t, move, C, new, short)
                copy_slot(space, MOVING, PLACE)
                better = True
                break
    copy_slot(space, PLACE, MOVING)
    return best
