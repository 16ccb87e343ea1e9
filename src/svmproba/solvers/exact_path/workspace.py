"""The arrays of the kernel: how they are stored, and the names by which it uses them.

Functions that only pass the work space on (the constrained search) take `Space`, a dozen arrays.
The kernel opens it to a `Path`, a view for each name. Both are handed on by reference, see
:mod:`~svmproba.solvers.core.references`; functions take their arrays from them at the start.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from svmproba._types import Floats
from svmproba.solvers.core.compiled import JIT
from svmproba.solvers.core.rows import aligned, whole

#: Where a multiplier is: at 0, between its bounds, at its bound, or at the bound of a record that
#: is no longer in the problem and whose margin does not matter.
ZERO, FREE, BOUND, ABSENT = range(4)
#: Row of `Space.values` that holds the bounds.
CAP = 1


class Free(NamedTuple):
    """The free records J, by seat; seat 0 is the bias."""

    inverse: Floats  # (side, side), of the bordered matrix
    place: Any
    row: Any  # in the table
    alpha: Floats
    rate: Floats  # of alpha; at seat 0 of the bias
    cap: Floats
    rise: Floats  # rate of cap
    image: Floats  # see `active_set.image`
    product: Floats  # scratch
    vector: Floats  # (width,), scratch
    size: Any  # (1,), seats in use


class Near(NamedTuple):
    """The records whose margins are watched, by their position in the list."""

    place: Any
    row: Any
    side: Floats  # +1 at zero, -1 at the bound, 0 if free
    space: Floats  # distance to the margin, on the right side
    rate: Floats  # of space
    pull: Floats  # rate of the target
    reach: Floats  # tau at which space is used up
    length: Floats  # of the row
    size: Any  # (1,)


class Places(NamedTuple):
    """The records, by place."""

    row: Any  # in the table
    alpha: Floats
    cap: Floats  # bound of alpha
    lead: Floats  # margin minus target
    where: Any  # see above
    rise: Floats  # rate of cap
    target: Floats
    length: Floats  # of the row
    position: Any  # in the list of near records
    push: Floats  # (width,), sum of rise times row, of the records at their bound
    gain: Floats  # (1,), the same sum of rise times target
    size: Any  # (2,), records of the problem, and with the absent ones


class Path(NamedTuple):
    """A solution that moves."""

    table: Floats  # (rows, width), signed, the bias at column d
    d: int
    places: Places
    free: Free
    near: Near
    far: Any  # places of the records that are not near
    n_far: Any  # (1,)
    point: Floats  # (width,), weights and bias
    speed: Floats  # rate of the point
    way: Floats  # of the point, since the leads of the far records were computed
    balance: Floats  # (1,), sum of the signed multipliers, to be taken back by tau = 1
    watched: Floats  # (1,), see `follow._look`
    age: Any  # (1,), changes of the inverse since it was computed
    events: Any  # (1,), that were met so far
    listed: Any  # scratch by place
    value: Floats  # scratch by place


class Space(NamedTuple):
    """Solutions under several sets of bounds; slot 0 is the one that moves."""

    table: Floats
    d: int
    values: Floats  # (slots, 3, n)
    points: Floats  # (slots, width)
    inverses: Floats  # (slots, side, side)
    marks: Any  # (slots, n + 2 side)
    counts: Any  # (slots, 2)
    by_place: Floats  # (10, n)
    by_seat: Floats  # (6, side)
    vectors: Floats  # (4, width)
    lists: Any  # (6, n + 1), unsigned: Numba lets signed indices count from the end
    numbers: Floats  # (3,)
    sizes: Any  # (5,)
    stop: Any  # (1,), set from outside to end everything soon


def new_space(table: Floats, d: int, slots: int, stop: Any) -> Space:
    """Allocate the work space of one table; the places are the rows."""
    n, width = table.shape
    side = whole(min(n, d + 1) + 2)
    space = Space(
        table,
        d,
        aligned(slots, 3, whole(n)),
        aligned(slots, width),
        aligned(slots, side, side),
        np.zeros((slots, n + 2 * side), np.uint32),
        np.ones((slots, 2), np.int64),
        aligned(10, whole(n)),
        aligned(6, side),
        aligned(4, width),
        np.zeros((6, n + 1), np.uint32),
        np.zeros(3),
        np.zeros(5, np.int64),
        stop,
    )
    places = moving_path(space).places
    places.size[:] = n
    places.row[:n] = np.arange(n)
    places.target[:] = 1.0
    places.length[:n] = np.sqrt(np.einsum("ij,ij->i", table, table))
    return space


@njit(**JIT)
def open_free(space):
    """Return the free records of the moving solution, by name."""
    s, marks, side = space.by_seat, space.marks[0], space.inverses.shape[1]
    n = marks.shape[0] - 2 * side
    return Free(
        space.inverses[0], marks[n : n + side], marks[n + side :], s[0], s[1], s[2], s[3], s[4],
        s[5], space.vectors[3], space.counts[0][:1],
    )  # fmt: skip


@njit(**JIT)
def open_path(space, free):
    """Return the moving solution of a work space, by name, with what `open_free` returns."""
    values, f, v, lists, sizes, numbers = (
        space.values[0], space.by_place, space.vectors, space.lists, space.sizes, space.numbers
    )  # fmt: skip
    near = Near(lists[2], lists[3], f[3], f[4], f[5], f[6], f[7], f[8], sizes[2:3])
    places = Places(
        lists[0], values[0], values[CAP], values[2], space.marks[0], f[0], f[1], f[2], lists[1],
        v[1], numbers[:1], sizes[:2],
    )  # fmt: skip
    return Path(
        space.table, space.d, places, free, near, lists[4], sizes[3:4], space.points[0], v[0],
        v[2], numbers[1:2], numbers[2:], space.counts[0][1:], sizes[4:], lists[5],
        f[9],
    )  # fmt: skip


def moving_path(space: Space) -> Path:
    """Return the moving solution to Python."""
    # Without compilation (NUMBA_DISABLE_JIT=1) they are Python already.
    path, free = (getattr(f, "py_func", f) for f in (open_path, open_free))
    return path(space, free(space))


@njit(**JIT)
def copy_slot(space, source, target):
    """Copy one solution over another."""
    values, points, inverses = space.values, space.points, space.inverses
    marks, counts = space.marks, space.counts
    for k in range(3):
        for i in range(values.shape[2]):
            values[target, k, i] = values[source, k, i]
    for k in range(points.shape[1]):
        points[target, k] = points[source, k]
    for p in range(counts[source, 0]):
        for q in range(inverses.shape[1]):
            inverses[target, p, q] = inverses[source, p, q]
    for i in range(marks.shape[1]):
        marks[target, i] = marks[source, i]
    for k in range(2):
        counts[target, k] = counts[source, k]
