r"""Search for the records whose margins should be hard, for all C and floors of one bag.

For a choice :math:`S` of hard margins the problem is convex. The search starts from several
choices (that of the last C, of the last floor, of a rising penalty on the records that come
closest), swaps records while that lowers the objective, and then releases some at random and
repairs, over and over. Its effort is counted in convex solutions, so results do not depend on the
machine, and a larger budget continues where a smaller one stops.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from svmproba.solvers.constrained.lower_bounds import lower_bound
from svmproba.solvers.constrained.swaps import (
    BEST,
    GOAL,
    HERE,
    KEPT,
    KEY,
    MOVING,
    OTHER,
    PLAIN,
    descend,
    draw,
    missing,
    refill,
    releases,
    sort,
    switch,
    useful,
)
from svmproba.solvers.core.compiled import JIT, entry
from svmproba.solvers.core.references import by_reference
from svmproba.solvers.exact_path.follow import DONE
from svmproba.solvers.exact_path.moves import SCATTER, SEED, SOLVES
from svmproba.solvers.exact_path.workspace import CAP, copy_slot

# Outcomes.
OPTIMAL, FEASIBLE, IMPOSSIBLE, NONE_FOUND = range(4)
# What a search starts from.
_LAST_C, _LAST_FLOORS, _PENALTY, _CALLER = (np.int64(k) for k in range(4))

#: Releases in a disturbance: from 2 to this. Worse places are accepted up to this share.
_RELEASES, _ACCEPTED = 10, 2e-3
#: Share of second and later choices in a repair.
_SECOND = 0.2
#: Disturbed rankings tried before it is said that no point was found, their noise in margins, and
#: the share of it that stays while the penalty rises: without it, most end in the same few places.
_RANKINGS, _NOISE, _LASTING = 20, 2.0, 0.3
#: Convex solutions after which the search turns from the best place to a new start, or back, if it
#: may spend more than twice as many; how much above the best value a new start may be.
_CHAIN, _NEW = 150, 0.02
#: Crossings of a new place with the best one, and the share dropped of what one of them has alone.
_CROSSINGS, _DROPPED = 4, 0.8
#: The first C of all, times the sum of the squares of the rows.
_FIRST_C = 10.0
#: Of so many values of C in a row the first is started in every way, the others from the last
#: C's choices: those cost next to nothing and are nearly always the best start.
AFRESH = 4
#: Slack at which a penalised choice is made hard, and rounds until then.
_NEARLY, _ROUNDS = 1e-2, 20


@njit(**JIT)
def _choose(t, C, cap):
    """Set the goal ``cap * mass`` for the records with the largest keys, as the floors need."""
    key, goal, rest, index, order = t.work[0], t.work[GOAL], t.rest, t.lists[0], t.work[KEY]
    need, member, mass, base = t.need, t.member, t.mass, t.base
    for g in range(need.shape[0]):
        rest[g] = need[g]
    for i in range(goal.shape[0]):
        key[i], index[i] = -order[i], i
    sort(key, index, goal.shape[0])
    for a in range(goal.shape[0]):
        i = index[a]
        needed = useful(member, i, rest)
        goal[i] = (cap if needed else C) * base[i]
        for g in range(need.shape[0]):
            rest[g] -= mass[i] * member[i, g] if needed else 0.0


@njit(**JIT)
def _disturb(t, move, C, short):
    """Release some records at random, the gainful more often, and repair; returns the value."""
    key, index, v, tally, banned, base = t.work[0], t.lists[0], 0.0, t.tally, t.banned, t.base
    for _ in range(2 + np.int64(draw(tally) * (_RELEASES - 1))):
        m, total, a = releases(t, C, key, index), 0.0, 0
        for b in range(m):
            total += np.sqrt(-key[b])
        x = draw(tally) * total
        while a + 1 < m and x > np.sqrt(-key[a]):
            x -= np.sqrt(-key[a])
            a += 1
        if m > 0 and v < np.inf:
            banned[index[a]] = draw(tally) < 0.5
            _, v = switch(t, move, index[a], C * base[index[a]], np.inf)
    v = refill(t, move, v, np.inf, _SECOND, short)
    for i in range(banned.shape[0]):
        banned[i] = False
    return v


@njit(**JIT)
def _start(t, move, C, kind, k, noise, chosen, cutoff):
    """Solve for the first choice of the k-th floors into slot 0; returns its value."""
    space, key, goal, lead, cap = t.space, t.work[KEY], t.work[GOAL], t.lead, t.cap
    base, tally = t.base, t.tally
    copy_slot(space, KEPT + k - kind if kind <= _LAST_FLOORS else PLAIN, MOVING)
    rounds, factor, blur = 0, 2.0, t.work[2]
    for i in range(key.shape[0]):
        blur[i] = noise * (draw(tally) + draw(tally) - 1.0) if noise > 0.0 else 0.0
        key[i] = lead[i] + (1e6 if cap[i] == np.inf else 0.0) + blur[i]
        goal[i] = np.inf if cap[i] == np.inf else C * base[i]
        if kind == _CALLER:
            goal[i] = np.inf if chosen[i] else C * base[i]
    if kind == _LAST_FLOORS:
        _choose(t, C, np.inf)
    if kind == _PENALTY:
        rounds = _ROUNDS
    for _ in range(rounds):
        _choose(t, C, factor * C)
        if move(space, goal, np.inf, True, tally)[0] != DONE:
            return np.inf
        for i in range(key.shape[0]):
            key[i] = lead[i]
        _choose(t, C, np.inf)
        worst = 0.0
        for i in range(key.shape[0]):
            worst = max(worst, -lead[i] if goal[i] == np.inf else 0.0)
            key[i] += _LASTING * blur[i]
        if worst < _NEARLY:
            break
        factor *= 2.0
    return move(space, goal, cutoff, True, tally)[1]


@njit(**JIT)
def _cross(t, move, C, short):
    """Keep what two places agree on and a little more, and repair; returns the value."""
    space, goal, cap, base, tally = t.space, t.work[GOAL], t.cap, t.base, t.tally
    swap = draw(tally) < 0.5
    copy_slot(space, OTHER if swap else BEST, MOVING)
    other = space.values[BEST if swap else OTHER, CAP]
    for i in range(goal.shape[0]):
        goal[i] = cap[i]
        alone = goal[i] == np.inf and other[i] < np.inf
        if alone and draw(tally) < _DROPPED:
            goal[i] = C * base[i]
    v = move(space, goal, np.inf, True, tally)[1]
    return refill(t, move, v, np.inf, _SECOND, short)


@njit(**JIT)
def _improve(t, move, C, k, chosen, best, solves, short):
    """Improve slot BEST, whose value is given, until the budget is spent; returns its value.

    From the best place, from a new start, by crossing the two, and again.
    """
    space, tally, idle, here, v = t.space, t.tally, 0, best, best
    stop = space.stop
    chain = _CHAIN if solves > 2 * _CHAIN else solves
    turn, afresh, crossings = tally[SOLVES] + chain, False, 0
    copy_slot(space, BEST, MOVING)
    while True:
        if v < np.inf:
            v = descend(t, move, C, v, solves, short)
            if v < here * (1.0 + _ACCEPTED):
                here = v
                copy_slot(space, MOVING, HERE)
        if v < best:
            best = v
            copy_slot(space, MOVING, BEST)
        before = tally[SOLVES]
        if before >= solves or idle >= 100 or stop[0]:
            return best
        if before >= turn:
            turn, afresh = before + _CHAIN, not afresh
            if not afresh and here < np.inf:
                crossings = _CROSSINGS
                copy_slot(space, HERE, OTHER)
            here = np.inf if afresh else best
            copy_slot(space, BEST, HERE)
        copy_slot(space, HERE, MOVING)
        if here == np.inf:
            v = _start(t, move, C, _PENALTY, k, _NOISE, chosen, best * (1.0 + _NEW))
        elif crossings > 0 and not afresh:
            crossings -= 1
            v = _cross(t, move, C, short)
        else:
            v = _disturb(t, move, C, short)
        idle = idle + 1 if tally[SOLVES] - before <= 1 else 0  # nothing to release


@njit(**JIT)
def _all_hard(t, move, C):
    """Solve with all margins of the floors hard; returns the value and a proven lower bound."""
    space, goal, member, need, base, tally = (
        t.space, t.work[GOAL], t.member, t.need, t.base, t.tally
    )  # fmt: skip
    for i in range(goal.shape[0]):
        goal[i] = np.inf if useful(member, i, need) else C * base[i]
    copy_slot(space, PLAIN, MOVING)
    end, v = move(space, goal, np.inf, True, tally)
    return v, lower_bound(t, goal, end == DONE)


@entry
def search_bag(t, move, grid, needs, solves, seed, alpha, chosen, points, values, codes, kept):
    """Solve one bag for every C and all floors.

    Parameters
    ----------
    t : Task
        With ``KEPT + len(needs)`` slots.
    move : function
        :func:`svmproba.solvers.exact_path.moves.move`, by its address.
    grid : array of shape (n_C,)
        Increasing values of C.
    needs : array of shape (n_floors, n_sets)
        Mass that must have its margin in each set. Best in increasing order.
    solves : int
        Convex solutions to spend on one problem.
    seed : int
    alpha : array of shape (n,)
        Where to begin: balanced multipliers within the bounds of C = 1.
    chosen : boolean array of shape (n,) or (0,)
        A choice of hard margins to start with.
    points : array of shape (n_C, n_floors, width)
        Overwritten: weights, the bias at column d.
    values : array of shape (n_C, n_floors, 2)
        Overwritten: value, and a proven lower bound, that of the plain SVM unless solved.
    codes : array of shape (n_C, n_floors)
        Overwritten: outcomes.
    kept : boolean array of shape (n_C, n_floors, n)
        Overwritten: the hard margins.
    """
    t = by_reference(t)
    space, goal, n, tally, stop = t.space, t.work[GOAL], t.mass.shape[0], t.tally, t.space.stop
    base, mass, member, need, point = t.base, t.mass, t.member, t.need, t.point
    cap, start, length = t.cap, t.alpha, t.length
    n_floors, n_sets, squares = needs.shape[0], needs.shape[1], 0.0
    # One array: each NumPy function that makes another takes a tenth of a second to compile.
    room = np.empty((4, max(n_floors, n_sets)))
    total, short, least, ready = room[0], room[1, :n_sets], room[2], room[3]
    for g in range(room.shape[1]):
        total[g], least[g], ready[g] = 0.0, np.inf, 0.0
    for i in range(n):
        squares += base[i] * length[i] * length[i]
        for g in range(n_sets):
            total[g] += mass[i] * member[i, g]
            least[g] = min(least[g], mass[i]) if member[i, g] else least[g]
    C = min(_FIRST_C / squares, grid[0])  # at a small C almost any start is near the solution
    for i in range(n):
        goal[i] = C * base[i]
        cap[i], start[i] = goal[i], C * alpha[i]
    move(space, goal, np.inf, False, tally)
    for c in range(grid.shape[0]):
        C = grid[c]
        if c > 0:
            copy_slot(space, PLAIN, MOVING)
        for i in range(n):
            goal[i] = C * base[i]
        _, plain = move(space, goal, np.inf, True, tally)
        if plain == np.inf:  # rounding: begin again
            for i in range(n):
                cap[i], start[i] = goal[i], C * alpha[i]
            _, plain = move(space, goal, np.inf, False, tally)
        copy_slot(space, MOVING, PLAIN)
        below = lower_bound(t, goal, np.bool_(True))
        for floors in range(needs.shape[0]):
            if stop[0]:
                return
            k, low = np.int64(floors), below
            tally[SOLVES], tally[SEED] = 0, seed + 7919 * (c * needs.shape[0] + k)
            every = True  # no choice to make
            for g in range(n_sets):
                need[g] = needs[k, g]
                every = every and (needs[k, g] <= 0.0 or needs[k, g] > total[g] - least[g])
            copy_slot(space, PLAIN, MOVING)
            best, code, held = (
                plain,
                OPTIMAL,
                plain < np.inf and not missing(t, short, np.bool_(True)),
            )
            if not held:
                best, first = np.inf, 0
                for kind in (_CALLER, _LAST_C, _LAST_FLOORS, _PENALTY):
                    absent = (kind == _CALLER and chosen.shape[0] == 0) or (
                        kind <= _LAST_FLOORS and (k < kind or ready[k - kind] == 0.0)
                    )
                    enough = best < np.inf and (every or c % AFRESH > 0)
                    if absent or enough:
                        continue
                    v = _start(t, move, C, kind, k, 0.0, chosen, best)
                    if v < best:
                        best = v
                        copy_slot(space, MOVING, BEST)
                while best == np.inf and not every and first < _RANKINGS:
                    first += 1
                    best = _start(t, move, C, _PENALTY, k, _NOISE, chosen, np.inf)
                    copy_slot(space, MOVING, BEST)
                code = NONE_FOUND
                if every and best == np.inf:  # once more, by no way round: for the proof
                    best, low = _all_hard(t, move, C)
                    copy_slot(space, MOVING, BEST)
                    code = IMPOSSIBLE if low == np.inf else NONE_FOUND
                if best < np.inf:
                    code = OPTIMAL if every else FEASIBLE
                    if not every:
                        best = _improve(t, move, C, k, chosen, best, solves, short)
                    copy_slot(space, BEST, MOVING)
                    copy_slot(space, BEST, KEPT + k)
                    low = lower_bound(t, cap, np.bool_(True)) if every else low
            ready[k] = 1.0 if not held and best < np.inf else 0.0
            values[c, k, 0], codes[c, k] = best, code
            values[c, k, 1] = max(low, below)
            for j in range(points.shape[2]):
                points[c, k, j] = (1.0 + SCATTER) * point[j]
            for i in range(n):
                kept[c, k, i] = ready[k] > 0.0 and cap[i] == np.inf
