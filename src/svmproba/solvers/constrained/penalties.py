r"""Constrained SVMs of large tables: rising penalties, solved by Newton steps.

Exact paths (:mod:`~svmproba.solvers.exact_path.moves`) take a step for every record that passes its
margin: too many where there are tens of thousands. Here the records nearest to their margin, as
many as the floors need, get the bounds :math:`2C, 4C, 8C, \ldots` and are chosen anew after each
solution, until their margins hold; then they are made hard. Most values of C take over the choice
of the last one. Every solution's weights are polished
(:func:`~svmproba.solvers.constrained.feasible_point.polish`), and the best point counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from svmproba._types import Bools, Floats
from svmproba.solvers.constrained.feasible_point import class_sets, polish
from svmproba.solvers.constrained.local_search import AFRESH
from svmproba.solvers.core.rows import signed_rows
from svmproba.solvers.newton.lagrangian import State, clear, new_state
from svmproba.solvers.newton.path import LEAST_WIDTH, Guide, solve_path
from svmproba.solvers.problem import ZERO, Problem, certify

#: Relative gap of a solution. Rounds of penalties, and the slack at which a choice is made hard.
_TOL, _ROUNDS, _NEARLY = 1e-3, 12, 1e-2
#: Rounds in which records are released that floors of overlapping sets do not need.
_RELEASES = 8
#: Entries of a table beyond which it is large: exact paths would take minutes for one problem.
_LARGE = 400_000


def is_large(n: int, d: int) -> bool:
    """Whether a table is solved by penalties, not by exact paths."""
    return n * d > _LARGE


#: Records whose margins are made hard, and the solution with them.
_Choice = tuple[Any, Floats]


class _Work(NamedTuple):
    """A bag with its work space."""

    problem: Problem
    state: State
    rows: Any
    weight: Floats
    sets: Bools  # (n_sets, n), records of each floor
    stop: Any  # (1,), set from outside to end everything soon


def _solve(work: _Work, bounds: Floats, point: Floats) -> tuple[Floats, Floats]:
    """Solve the convex problem from a point nearby; returns the new one and the multipliers."""
    problem, n = work.problem, len(bounds)
    d, one = problem.d, np.ones(1)
    margins = problem.signs * (work.rows @ point[:d] + point[d])
    coef, alphas, moved = np.empty((1, len(point))), np.empty((1, n)), np.empty(1)
    guide = Guide(point[None], margins[None], one, np.full(1, 2.0 * LEAST_WIDTH))
    clear(work.state)
    solve_path(problem, work.state, bounds, one, _TOL, guide, work.stop, coef, alphas, moved)
    return coef[0], alphas[0]


def _bound(work: _Work, bounds: Floats, point: Floats, alphas: Floats) -> float:
    """Return the dual value of a convex problem, 0 where nothing is proven.

    Hard margins get bounds that no multiplier exceeds: what bounds this relaxation bounds the
    problem too, and holds where a margin is missed by a little.
    """
    p = work.problem
    bounds = np.where(np.isinf(bounds), alphas.max(), bounds)
    coef, bias = point[: p.d], point[p.d]
    gap, scores = certify(
        work.rows, p.signs, p.targets, bounds[None], np.ones(1),
        np.ascontiguousarray(coef)[None, None], np.full((1, 1), bias), alphas[None, None].copy(),
    )  # fmt: skip
    slack = np.maximum(1.0 - p.signs * scores[0, 0], 0.0)
    primal = 0.5 * coef @ coef + slack @ bounds
    largest = max(primal, ZERO * (bounds @ np.abs(p.targets)))  # what the gap is relative to
    return max(0.0, float(primal - gap[0, 0] * largest))


def _choose(lead: Floats, sets: Bools, weight: Floats, need: Floats) -> Any:
    """Choose the records with the largest leads, as the floors need, for small sets first.

    Those of a subgroup then count for its class, and those of a class for the accuracy.
    """
    order, chosen = np.argsort(-lead, kind="stable"), np.zeros(len(lead), np.bool_)
    asked = np.flatnonzero(need)
    for k in asked[np.argsort(sets[asked].sum(axis=1), kind="stable")]:
        mass = need[k] - weight[chosen & sets[k]].sum()
        index = order[(sets[k] & ~chosen)[order]]
        before = np.cumsum(weight[index]) - weight[index]
        chosen[index[before < mass]] = True
    return chosen


def penalty_path(
    rows: Any, signs: Floats, weight: Floats, grid: Floats, needs: Floats, stop: Any,
    sets: Bools | None = None,
) -> tuple[dict[tuple[int, int], Any], Floats]:  # fmt: skip
    """Solve one bag for every C and all floors.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
    signs, weight : arrays of shape (n,)
        Labels in {-1, +1} and positive multiplicities; both classes are there.
    grid : array of shape (n_C,)
        Increasing values of C.
    needs : array of shape (n_floors, n_sets)
        Mass that must have its margin in each set.
    stop : array of one byte
        Everything ends soon once it is set.
    sets : boolean array of shape (n_sets, n), optional
        Records of each floor; by default the positives, the negatives, all.

    Returns
    -------
    points : dict
        By the places of C and of the floor: weights, bias and objective of a strictly feasible
        point, or None.
    bound : array of shape (n_C, n_floors)
        Proven lower bounds.
    """
    table, width = signed_rows(rows, signs)
    problem = Problem(table, rows.shape[1], signs, np.ones(len(signs)), None)
    sets = class_sets(signs) if sets is None else sets
    work = _Work(problem, new_state(problem, width, widest=width), rows, weight, sets, stop)
    points: dict[tuple[int, int], Any] = {}
    bound = np.zeros((len(grid), len(needs)))
    plain = np.zeros(width)
    last: list[_Choice | None] = [None] * len(needs)
    for j, C in enumerate(grid):
        plain, alphas = _solve(work, C * weight, plain)
        bound[j] = _bound(work, C * weight, plain, alphas)
        for k, need in enumerate(needs):
            if stop[0]:
                return points, bound
            if j % AFRESH == 0:
                last[k] = None
            while True:
                candidates, below, choice = _candidates(work, C, need, plain, last[k])
                polished = [
                    polish(rows, signs, weight, C, need, w[: problem.d], sets) for w in candidates
                ]
                best = min(polished, key=point_value)
                bound[j, k] = max(bound[j, k], below)
                points[j, k] = best
                good = choice is None or polished[-1] is best
                if good or last[k] is None:
                    break
                last[k] = None  # what was taken over is no good here
            last[k] = choice if good else None
    return points, bound


def point_value(point: tuple[Floats, float, float] | None) -> float:
    """Return the objective of a point, infinite where there is none."""
    return np.inf if point is None else point[2]


def _candidates(
    work: _Work, C: float, need: Floats, point: Floats, start: _Choice | None
) -> tuple[list[Floats], float, _Choice | None]:
    """Return points that may be good, what they prove, and the last choice with its solution."""
    problem, weight, factor = work.problem, work.weight, 2.0
    d, signs = problem.d, problem.signs
    lead = signs * (work.rows @ point[:d] + point[d]) - 1.0
    chosen = _choose(lead, work.sets, weight, need)
    found = [np.zeros(len(point)), point]  # the constant classifier and the plain one
    if lead[chosen].min(initial=0.0) >= 0.0:
        return found, 0.0, None
    groups = [weight[members] for members in work.sets]
    masses = np.array([mass.sum() - mass.min(initial=np.inf) for mass in groups])
    # Where the floors leave no choice, penalties relax the problem, and what bounds them bounds it.
    every, below = np.all((need == 0.0) | (need > masses)), 0.0
    if start is not None:
        chosen, point = start
    for _ in range(_ROUNDS if start is None else 0):
        bounds = np.where(chosen, factor * C, C) * weight
        point, alphas = _solve(work, bounds, point)
        below = max(below, _bound(work, bounds, point, alphas)) if every else 0.0
        found.append(point)
        lead = signs * (work.rows @ point[:d] + point[d]) - 1.0
        chosen = _choose(lead, work.sets, weight, need)
        if lead[chosen].min() > -_NEARLY:
            break
        factor *= 2.0
    bounds = np.where(chosen, np.inf, C * weight)
    point, alphas = _solve(work, bounds, point)
    below = max(below, _bound(work, bounds, point, alphas)) if every else 0.0
    found.append(point)
    overlap = work.sets[need > 0.0].sum(axis=0).max(initial=0) > 1
    for _ in range(_RELEASES if overlap else 0):
        lead = signs * (work.rows @ point[:d] + point[d]) - 1.0
        kept = _released(chosen | (lead >= 0.0), alphas - C * weight, work.sets, weight, need)
        if kept is None:
            break
        chosen = kept
        point, alphas = _solve(work, np.where(chosen, np.inf, C * weight), point)
        found.append(point)
    return found, below, (chosen, point)


def _released(held: Any, excess: Floats, sets: Bools, weight: Floats, need: Floats) -> Any:
    """Release records that no floor needs, the costliest first; None if there are none.

    The choice of overlapping sets may serve one set by the way and so more than it needs.
    """
    sets, kept = sets[need > 0.0], held.copy()
    spare = sets @ (weight * held) - need[need > 0.0]
    for i in np.argsort(-excess):
        if excess[i] <= 0.0:
            break
        if held[i] and np.all(spare[sets[:, i]] >= weight[i]):
            kept[i] = False
            spare[sets[:, i]] -= weight[i]
    return kept if kept.sum() < held.sum() else None
