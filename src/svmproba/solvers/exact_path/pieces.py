r"""One piece of the path of a solution: events until the bounds and targets are the wanted ones.

See :mod:`~svmproba.solvers.exact_path.homotopy`. The records strictly between their bounds are
called J; the inverse of their bordered matrix is kept, and changed with every event. The image of a
record in J are the rates of J, and of the bias at seat 0, that keep the margins of J when the
multiplier of the record grows at rate -1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from svmproba.solvers.core.compiled import JIT, ONCE
from svmproba.solvers.core.rows import aligned, rows_add, rows_dot, whole
from svmproba.solvers.problem import Array, Problem

#: Rounding that is allowed for: of margins, and of multipliers as a share of their bound.
_SLACK = 1e-9
#: Rate below which a space never shrinks to nothing.
_NEVER = 1e-300
#: Share of a row's squared length outside the span of J below which it depends on J.
DEPENDENT = 1e-9
# Where a record is: at zero, in J, at its bound; outside the bag.
ZERO, INNER, BOUND, ABSENT = range(4)

# Arguments of one compiled function have one type: for a literal 1, or an unsigned place, it would
# be compiled again.


class Walk(NamedTuple):
    """Work space of one bag, see the names below."""

    f: Array  # (7, n) by place in the bag
    w: Array  # (5, n) by watched record
    j: Array  # (6, side) by seat in J; seat 0 is the bias
    v: Array  # (3, width)
    inverse: Array  # (side, side)
    i: Any  # (7, n or a little more), unsigned: see State in lagrangian
    status: Any  # (n,) by place
    along: Array  # (2,): tau, rate of the imbalance of the multipliers
    count: Any  # (3,): seats in use, watched records, events


# Multiplier, margin, bound at the start of the piece and its rate, rate of the target; target,
# bound at C = 1.
ALPHA, MARGIN, LIMIT, RISE, PULL, TARGET, BASE = range(7)
# Distance to the margin on the right side and its rate, +1 at zero, -1 at the bound, 0 in J; rate
# of the target; tau at which the space is used up, or scratch.
SPACE, RATE, SIDE, PULLED, REACH = range(5)
# Multiplier, its rate, bound, its rate; image of a row in J, its products with J.
INNER_ALPHA, INNER_RATE, INNER_LIMIT, INNER_RISE, IMAGE, PRODUCTS = range(6)
POINT, SPEED, TOTAL = range(3)
# Records by place; records and places of the watched ones, and where a place is among these;
# records and places of J; scratch.
BAG, WATCHED, WATCHED_PLACE, SLOT, MEMBER, MEMBER_PLACE, LISTED = range(7)
SEATS, ROWS, EVENTS = range(3)


def new_walk(problem: Problem, width: int) -> Walk:
    """Allocate the work space; it serves one bag after the other."""
    n = problem.signs.shape[0]
    side = whole(min(n, problem.d + 1) + 2)
    return Walk(
        aligned(7, whole(n)),
        aligned(5, whole(n)),
        aligned(6, side),
        aligned(3, width),
        aligned(side, side),
        np.zeros((7, whole(max(n + 1, side))), np.uint32),
        np.zeros(n, np.int8),
        np.zeros(2),
        np.zeros(3, np.int64),
    )


@njit(**JIT)
def image(problem, walk, i):
    """Solve for the image of record i in J; returns what is left of its square, and the square."""
    size, z, u = walk.count[SEATS], walk.j[PRODUCTS], walk.j[IMAGE]
    row, x, square = problem.table[i], walk.v[TOTAL], 0.0
    for k in range(x.shape[0]):
        x[k] = row[k]
    x[problem.d] = 0.0
    for k in range(x.shape[0]):
        square += x[k] * x[k]
    z[0] = problem.signs[i]
    rows_dot(problem.table, walk.i[MEMBER, 1:], size - 1, x, z[1:])
    rest = square
    for p in range(size):
        row, s = walk.inverse[p], 0.0
        for q in range(size):
            s += row[q] * z[q]
        u[p] = s
        rest -= s * z[p]
    return rest, square


@njit(**JIT)
def _seat(walk, p, place):
    """Write down who has seat p."""
    walk.i[MEMBER, p], walk.i[MEMBER_PLACE, p] = walk.i[BAG, place], place
    walk.status[place] = INNER


@njit(**JIT)
def append(walk, place, rest):
    """Give the record at a place of the bag the last seat; its image is in the work space."""
    size, u, inverse = walk.count[SEATS], walk.j[IMAGE], walk.inverse
    last = inverse[size]
    for p in range(size):
        row, x = inverse[p], u[p] / rest
        for q in range(size):
            row[q] += x * u[q]
        row[size] = -x
        last[p] = -x
    last[size] = 1.0 / rest
    _seat(walk, size, place)
    walk.count[SEATS] = size + 1


@njit(**JIT)
def begin_set(problem, walk, place):
    """Let one record alone be J."""
    i = walk.i[BAG, place]
    walk.count[SEATS] = 1
    walk.inverse[0, 0] = 0.0
    square = image(problem, walk, i)[1]
    y, inverse = problem.signs[i], walk.inverse
    inverse[0, 0], inverse[0, 1], inverse[1, 0], inverse[1, 1] = -square, y, y, 0.0
    _seat(walk, np.int64(1), place)
    walk.count[SEATS] = 2


@njit(**JIT)
def _turn(problem, walk, x):
    """Change the rates of J as its margins need that follow x times an image."""
    size, speed, d, change = walk.count[SEATS], walk.v[SPEED], problem.d, walk.j[PRODUCTS]
    bias = speed[d] - x * walk.j[IMAGE, 0]
    for p in range(1, size):
        change[p] = -x * walk.j[IMAGE, p]
        walk.j[INNER_RATE, p] += change[p]
    rows_add(problem.table, walk.i[MEMBER, 1:], change[1:], size - 1, speed)
    speed[d] = bias


@njit(**JIT)
def _leave(problem, walk, p, status):
    """Take the record at seat p out of J, at zero or at its bound."""
    size, inverse, u = walk.count[SEATS], walk.inverse, walk.j[IMAGE]
    place, last = np.int64(walk.i[MEMBER_PLACE, p]), size - 1
    at_bound = status == BOUND
    for q in range(size):
        u[q] = -inverse[p, q] / inverse[p, p]
    _turn(problem, walk, walk.j[INNER_RISE, p] * at_bound - walk.j[INNER_RATE, p])
    walk.f[ALPHA, place] = walk.j[INNER_LIMIT, p] * at_bound
    walk.status[place] = status
    a = walk.i[SLOT, place]
    walk.w[SPACE, a], walk.w[SIDE, a] = 0.0, -1.0 if at_bound else 1.0
    if p != last:
        for q in range(size):
            inverse[p, q], inverse[last, q] = inverse[last, q], inverse[p, q]
        for q in range(size):
            inverse[q, p], inverse[q, last] = inverse[q, last], inverse[q, p]
        walk.i[MEMBER, p] = walk.i[MEMBER, last]
        walk.i[MEMBER_PLACE, p] = walk.i[MEMBER_PLACE, last]
        for r in range(4):
            walk.j[r, p] = walk.j[r, last]
    row = inverse[last]
    for q in range(last):
        other, x = inverse[q], row[q] / row[last]
        for r in range(last):
            other[r] -= x * row[r]
    walk.count[SEATS] = last


@njit(**JIT)
def _furnish(walk, a, p, alpha, limit, rate):
    """Note the multiplier of watched record a, which is in J now, at seat p."""
    walk.j[INNER_ALPHA, p], walk.j[INNER_RATE, p] = alpha, rate
    walk.j[INNER_LIMIT, p] = limit
    walk.j[INNER_RISE, p] = walk.f[RISE, walk.i[WATCHED_PLACE, a]]
    walk.w[SPACE, a], walk.w[SIDE, a] = 0.0, 0.0


@njit(**ONCE)
def _enter(problem, walk, a):
    """Take watched record a into J; a record that depends on J first drives another one out."""
    i, place = walk.i[WATCHED, a], np.int64(walk.i[WATCHED_PLACE, a])
    was, rise = walk.status[place], walk.f[RISE, place]
    limit = walk.f[LIMIT, place] + walk.along[0] * rise
    alpha, rate, sign = 0.0, 0.0, 1.0
    if was == BOUND:
        alpha, rate, sign = limit, rise, -1.0
    row, speed, d = problem.table[i], walk.v[SPEED], problem.d
    rest, square = image(problem, walk, i)
    if rest <= DEPENDENT * (1.0 + square):
        best, seat = limit, np.int64(-1)
        for p in range(1, walk.count[SEATS]):
            x, y = -sign * walk.j[IMAGE, p], walk.j[INNER_ALPHA, p]
            t = (walk.j[INNER_LIMIT, p] - y) / x if x > 0.0 else -y / x
            if abs(x) > 1e-12 and t < best:
                best, seat = max(t, 0.0), p
        for p in range(1, walk.count[SEATS]):
            walk.j[INNER_ALPHA, p] -= sign * best * walk.j[IMAGE, p]
        if seat < 0:  # it goes through to its other bound
            for k in range(d):
                speed[k] += sign * rise * row[k]
            _turn(problem, walk, sign * rise)
            walk.status[place] = ZERO if was == BOUND else BOUND
            walk.w[SPACE, a], walk.w[SIDE, a] = 0.0, -sign
            walk.f[ALPHA, place] = 0.0 if was == BOUND else limit
            return True
        if walk.count[SEATS] <= 2:
            return False
        alpha += sign * best
        up = -sign * walk.j[IMAGE, seat] > 0.0
        _leave(problem, walk, seat, BOUND if up else ZERO)
        rest, square = image(problem, walk, i)
    size = walk.count[SEATS]
    if rest <= DEPENDENT * (1.0 + square) or size >= walk.inverse.shape[0]:
        return False
    change = walk.w[PULLED, a]
    for k in range(row.shape[0]):
        change -= row[k] * speed[k]
    change /= rest
    for k in range(d):
        speed[k] += change * row[k]
    _turn(problem, walk, change)
    append(walk, place, rest)
    _furnish(walk, a, size, alpha, limit, rate + change)
    return True


@njit(**ONCE)
def _exchange(problem, walk, up):
    """Let the only record of J leave: move the bias until another one takes its place."""
    i, place, n_rows, w = walk.i[MEMBER, 1], walk.i[MEMBER_PLACE, 1], walk.count[ROWS], walk.w
    own = walk.i[SLOT, place]
    direction = -problem.signs[i] if up else problem.signs[i]
    best, next_one = np.inf, np.int64(-1)
    for a in range(n_rows):
        x = w[SIDE, a] * problem.signs[walk.i[WATCHED, a]] * direction
        if x < 0.0 and w[SPACE, a] < best:
            best, next_one = w[SPACE, a], a
    if next_one < 0:
        return False
    for a in range(n_rows):
        w[SPACE, a] += best * w[SIDE, a] * problem.signs[walk.i[WATCHED, a]] * direction
    walk.v[POINT, problem.d] += best * direction
    walk.status[place] = BOUND if up else ZERO
    walk.f[ALPHA, place] = walk.j[INNER_LIMIT, 1] if up else 0.0
    w[SPACE, own], w[SIDE, own] = best, -1.0 if up else 1.0
    place = np.int64(walk.i[WATCHED_PLACE, next_one])
    limit = walk.f[LIMIT, place] + walk.along[0] * walk.f[RISE, place]
    alpha = limit if walk.status[place] == BOUND else 0.0
    begin_set(problem, walk, place)
    _furnish(walk, next_one, np.int64(1), alpha, limit, 0.0)
    return True


@njit(**JIT)
def add_listed(problem, walk, value, m, least, total):
    """Overwrite total by the sum of the rows of status ``least`` or above, times their values."""
    listed, x, status, count = walk.i[LISTED], walk.w[REACH], walk.status, np.uint64(0)
    for k in range(total.shape[0]):
        total[k] = 0.0
    for a in range(m):  # without branches: see newton
        listed[count], x[count] = walk.i[BAG, a], value[a]
        count += np.uint64(status[a] >= least)
    rows_add(problem.table, listed, x, np.int64(count), total)


@njit(**JIT)
def _aim(problem, walk, m):
    """Find the rates of the point and of J from the rates of all that is given."""
    speed, d, size = walk.v[SPEED], problem.d, walk.count[SEATS]
    add_listed(problem, walk, walk.f[RISE], m, np.int64(BOUND), speed)
    z, rate = walk.j[PRODUCTS], walk.j[INNER_RATE]
    z[0] = walk.along[1] - speed[d]
    speed[d] = 0.0
    rows_dot(problem.table, walk.i[MEMBER, 1:], size - 1, speed, z[1:])
    for p in range(1, size):
        z[p] = walk.f[PULL, walk.i[MEMBER_PLACE, p]] - z[p]
    for p in range(size):
        row, s = walk.inverse[p], 0.0
        for q in range(size):
            s += row[q] * z[q]
        rate[p] = s
    rows_add(problem.table, walk.i[MEMBER, 1:], rate[1:], size - 1, speed)
    speed[d] = rate[0]


@njit(**ONCE)
def follow(problem, walk, m, max_events, stop):
    """Follow the solution from tau = 0 to 1; returns whether it got there."""
    n_rows, point, speed = walk.count[ROWS], walk.v[POINT], walk.v[SPEED]
    space, shrink, side, pulled = walk.w[SPACE], walk.w[RATE], walk.w[SIDE], walk.w[PULLED]
    reach, alpha, rate = walk.w[REACH], walk.j[INNER_ALPHA], walk.j[INNER_RATE]
    limit, rise = walk.j[INNER_LIMIT], walk.j[INNER_RISE]
    walk.along[0] = 0.0
    _aim(problem, walk, m)
    while True:
        size = walk.count[SEATS]
        best, row, seat, up = 1.0 - walk.along[0], np.int64(-1), np.int64(-1), False
        for p in range(1, size):
            x, slack = rate[p], _SLACK * limit[p]
            if alpha[p] + best * x < -slack:
                best, seat, up = max(-(alpha[p] + slack) / x, 0.0), p, False
            x -= rise[p]
            if alpha[p] - limit[p] + best * x > slack:
                best, seat, up = max((limit[p] + slack - alpha[p]) / x, 0.0), p, True
        rows_dot(problem.table, walk.i[WATCHED], n_rows, speed, shrink)
        for a in range(n_rows):  # apart: these vectorise, and wait for nothing
            shrink[a] = side[a] * (shrink[a] - pulled[a])
            reach[a] = (space[a] + _SLACK) / max(-shrink[a], _NEVER)
        for a in range(n_rows):
            if reach[a] < best:
                best, row = reach[a], a
        best = max(best, 0.0)
        for a in range(n_rows):
            space[a] += best * shrink[a]
        for p in range(1, size):
            alpha[p] += best * rate[p]
            limit[p] += best * rise[p]
        for k in range(point.shape[0]):
            point[k] += best * speed[k]
        walk.along[0] += best
        if row < 0 and seat < 0:
            return True
        walk.count[EVENTS] += 1
        if walk.count[EVENTS] >= max_events or stop[0]:
            return False
        if row >= 0:
            if not _enter(problem, walk, row):
                return False
        elif size > 2:
            _leave(problem, walk, seat, BOUND if up else ZERO)
        elif _exchange(problem, walk, up):
            _aim(problem, walk, m)
        else:
            return False
