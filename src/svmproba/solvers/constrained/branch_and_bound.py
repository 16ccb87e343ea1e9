r"""Branch and bound over the records whose margins must hold: bounds, and proofs of optimality.

A node asks for the margins of a set :math:`H` and excuses a set :math:`E`; the convex value
:math:`v(H)` bounds all below it. If the records that miss their margin there are too many for the
floors, one of them must hold: in child :math:`j` the :math:`j`-th one holds and those before it
are excused, the costliest first. A record with :math:`v(H\cup\{j\})` above the best known value
is excused at once, and too much mass excused closes the node. The first node alone gives the
quantile bound: the optimum is at least the least value below which enough mass can hold.
Nodes are opened in the order of their bounds, so the search can stop at any time with a bound.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from svmproba._types import Floats
from svmproba.solvers.constrained.lower_bounds import lower_bound
from svmproba.solvers.constrained.swaps import (
    GOAL,
    HERE,
    KEY,
    MOVING,
    PLAIN,
    ROUNDING,
    missing,
    sort,
    switch,
    useful,
)
from svmproba.solvers.core.compiled import JIT, entry
from svmproba.solvers.core.references import by_reference
from svmproba.solvers.exact_path.follow import DONE
from svmproba.solvers.exact_path.moves import SCATTER, SOLVES
from svmproba.solvers.exact_path.workspace import copy_slot

# Marks of records in a node.
_OPEN, _HELD, _EXCUSED = range(3)
# Numbers of the tree: open nodes, nodes ever, whether room is left.
N_OPEN, N_NODES, N_FULL = range(3)


class Tree(NamedTuple):
    """Open nodes, as a heap of places in the store."""

    mark: Any  # (room, n)
    bound: Floats  # (room,)
    heap: Any  # (room,), places, the least bound first; after the open ones, free places
    count: Any  # (3,)
    lost: Floats  # (1,), least bound of the nodes that were closed or left unsolved


def new_tree(n: int, room: int) -> Tree:
    """Return a tree with its first node open: nothing held, nothing excused."""
    store = np.zeros((room, n), np.int8), np.zeros(room), np.arange(room)
    return Tree(*store, np.array([1, 1, 0]), np.full(1, np.inf))


@njit(**JIT)
def _down(tree, a):
    """Let the a-th node of the heap sink to its place."""
    heap, bound, m = tree.heap, tree.bound, tree.count[N_OPEN]
    while True:
        least = a
        for b in (2 * a + 1, 2 * a + 2):
            if b < m and bound[heap[b]] < bound[heap[least]]:
                least = b
        if least == a:
            return
        heap[a], heap[least] = heap[least], heap[a]
        a = least


@njit(**JIT)
def _push(tree, mark, bound):
    """Open a node, if there is room."""
    heap, m = tree.heap, tree.count[N_OPEN]
    if m == heap.shape[0]:
        tree.count[N_FULL] = 1
        tree.lost[0] = min(tree.lost[0], bound)
        return
    place = heap[m]
    tree.bound[place] = bound
    for i in range(mark.shape[0]):
        tree.mark[place, i] = mark[i]
    tree.count[N_OPEN] = m + 1
    tree.count[N_NODES] += 1
    while m > 0 and tree.bound[heap[(m - 1) // 2]] > bound:
        heap[m], heap[(m - 1) // 2] = heap[(m - 1) // 2], heap[m]
        m = (m - 1) // 2


@njit(**JIT)
def _noted(t, v, point):
    """Keep the point of slot 0, whose value is v."""
    for k in range(point.shape[0]):
        point[k] = (1.0 + SCATTER) * t.point[k]
    return v


@entry
def branch(t, move, C, best, tol, solves, tree, point):
    """Open nodes until the bound meets the best value or the budget is spent.

    Parameters
    ----------
    t : Task
        As left by :func:`~svmproba.solvers.constrained.local_search.search_bag` for this C and
        these floors.
    move : function
        :func:`svmproba.solvers.exact_path.moves.move`, by its address.
    C : float
    best : float
        Best known value, infinite if there is none.
    tol : float
        Relative gap at which the search ends.
    solves : int
        Convex solutions to spend, at least those of one node.
    tree : Tree
        Continued, so that the caller can look at the clock.
    point : array of shape (width,)
        Overwritten where a better point is found.

    Returns
    -------
    best, bound : float
        The bound is infinite where no point can satisfy the floors.
    """
    t = by_reference(t)
    space, n, goal, index, key = t.space, t.mass.shape[0], t.work[GOAL], t.lists[0], t.work[KEY]
    need, mass, member, base, lead = t.need, t.mass, t.member, t.base, t.lead
    stop, tally, n_sets = t.space.stop, t.tally, t.need.shape[0]
    mark, short, spare = np.zeros(n, np.int8), np.empty(n_sets), np.empty(n_sets)
    tally[SOLVES] = 0
    while tree.count[N_OPEN] > 0 and tally[SOLVES] < solves and not stop[0]:
        place = tree.heap[0]
        bound = tree.bound[place]
        if bound >= best * (1.0 - tol) or tree.count[N_FULL] == 1:
            break
        for g in range(n_sets):
            spare[g] = -need[g]
        for i in range(n):
            mark[i] = tree.mark[place, i]
            goal[i] = np.inf if mark[i] == _HELD else C * base[i]
            for g in range(n_sets):
                if need[g] > 0.0 and mark[i] != _EXCUSED:
                    spare[g] += mass[i] * member[i, g]
        m = tree.count[N_OPEN] - 1
        tree.heap[0], tree.heap[m] = tree.heap[m], place
        tree.count[N_OPEN] = m
        _down(tree, 0)
        copy_slot(space, PLAIN, MOVING)
        end, v = move(space, goal, best, True, tally)
        bound = max(bound, lower_bound(t, goal, end == DONE))
        held = end == DONE and not missing(t, short, np.bool_(True))
        if held and v < best:
            best = _noted(t, v, point)
        if end != DONE or held or bound >= best * (1.0 - tol):
            tree.lost[0] = min(tree.lost[0], bound)
            continue
        copy_slot(space, MOVING, HERE)
        m = 0
        for i in range(n):
            if mark[i] == _OPEN and lead[i] < -ROUNDING and useful(member, i, short):
                index[m] = i
                m += 1
        for a in range(m):
            copy_slot(space, HERE, MOVING)
            end, x = switch(t, move, index[a], np.inf, best)
            if x < best and not missing(t, short, np.bool_(True)):
                best = _noted(t, x, point)
            key[a] = -max(bound, lower_bound(t, goal, end == DONE))
        sort(key, index, m)
        for a in range(m):  # the costliest first; beyond what may be excused nothing is left
            i, over = index[a], False
            if -key[a] < best * (1.0 - tol):
                mark[i] = _HELD
                _push(tree, mark, -key[a])
            else:
                tree.lost[0] = min(tree.lost[0], -key[a])
            mark[i] = _EXCUSED
            for g in range(n_sets):
                if need[g] > 0.0:
                    spare[g] -= mass[i] * member[i, g]
                    over = over or spare[g] < 0.0
            if over:
                break
    bound = tree.bound[tree.heap[0]] if tree.count[N_OPEN] > 0 else best
    return best, min(best, min(bound, tree.lost[0]))
