"""Solve the bags of a block one after the other, certify every member, tally their scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from svmproba._types import Floats
from svmproba.solvers.core.tables import product
from svmproba.solvers.dual.working_sets import polish
from svmproba.solvers.methods import METHODS, Task, bounds_of, newton_serves
from svmproba.solvers.newton.guide import no_guide
from svmproba.solvers.newton.lagrangian import new_state
from svmproba.solvers.problem import certify, certify_gram, stretch

#: Memory that a running block may use for scores and multipliers. It takes a portion of its bags at
#: a time, at least one, so that large blocks need no more memory than small ones.
BLOCK_BYTES = 2**21
#: Times that a member on a kernel matrix goes on from scores in float64: its steps use float32.
_ROUNDS = 3


class Ensemble(NamedTuple):
    """Fitted members of some bags, and what was tallied from their scores on the training rows."""

    coef: Floats  # (n_C, n_bags, d)
    intercept: Floats  # (n_C, n_bags)
    gap: Floats  # (n_C, n_bags), relative duality gaps
    summed: Floats | None  # sum over the blocks of the tally's first result
    stacked: Floats | None  # the tally's second results joined along their last axis, the bags
    scores: Floats | None = None  # (n_C, n_bags, n), on the training rows, if they are kept


class Collector:
    """Joins the members of parts of the bags, which may come in any order."""

    def __init__(self, n_grid: int, n_bags: int, d: int, n_kept: int = 0) -> None:
        self._coef = np.empty((n_grid, n_bags, d))
        self._intercept, self._gap = np.empty((2, n_grid, n_bags))
        self._scores = np.empty((n_grid, n_bags, n_kept)) if n_kept else None
        self._summed: Floats | None = None
        self._stacked: dict[int, Floats] = {}

    def add(self, first: int, part: Ensemble) -> None:
        """Put the members of the bags from ``first`` on in their place."""
        place = slice(first, first + part.gap.shape[1])
        self._coef[:, place], self._intercept[:, place] = part.coef, part.intercept
        self._gap[:, place] = part.gap
        if self._scores is not None and part.scores is not None:
            self._scores[:, place] = part.scores
        if part.summed is not None and part.stacked is not None:
            self._summed = part.summed if self._summed is None else self._summed + part.summed
            self._stacked[first] = part.stacked

    def join(self) -> Ensemble:
        """Return all members."""
        parts = [self._stacked[first] for first in sorted(self._stacked)]
        stacked = np.concatenate(parts, -1) if parts else None
        tallied = (self._summed, stacked)
        return Ensemble(self._coef, self._intercept, self._gap, *tallied, self._scores)


def solve_block(task: Task, counts: Any, stop: Any) -> Ensemble:
    """Solve some bags, counts (bags, n), unless ``stop`` is set meanwhile."""
    problem, n_grid, (n_bags, n) = task.problem, task.grid.shape[0], counts.shape
    size = min(n_bags, max(1, BLOCK_BYTES // (2 * 8 * n_grid * n)))  # bags a portion
    # Used again for each portion: dask's workers give freed memory back, and new pages cost time.
    coef = np.empty((size, n_grid, task.width))
    alphas, scores = np.empty((2, size, n_grid, n))
    space = METHODS[task.method].space(problem, task.width)
    members = Collector(n_grid, n_bags, problem.d, task.n_kept)
    for first in range(0, n_bags, size):
        if stop[0]:
            break  # the result is not used
        part = counts[first : first + size]
        work = (coef[: len(part)], alphas[: len(part)], scores[: len(part)])
        members.add(first, _solve_portion(task, space, part, stop, *work))
    return members.join()


def _solve_portion(
    task: Task, space: Any, counts: Any, stop: Any, coef: Floats, alphas: Floats, scores: Floats
) -> Ensemble:
    """Solve some bags in the given memory."""
    method, base = METHODS[task.method], bounds_of(task, counts)
    for b in range(base.shape[0]):
        method.solve(task, space, base[b], stop, (coef[b], alphas[b]))
    w, bias, gap = _certified(task, base, coef, alphas, scores)
    if task.gram is not None:
        polish_missed(task, base, stop, bias, alphas, scores, gap, w)
    again = newton_serves(task) and not stop[0]
    missed = np.flatnonzero((gap > task.tol).any(axis=1)).tolist() if again else []
    if missed and method.space is not new_state:
        space = new_state(task.problem, task.width)
    for b in missed:
        again_w, again_bias, again_gap, score = solve_again(task, space, base[b : b + 1], stop)
        better = again_gap < gap[b]
        gap[b, better], scores[b, better] = again_gap[better], score[better]
        w[b, better], bias[b, better] = again_w[better], again_bias[better]
    summed, stacked = (None, None) if task.tally is None else task.tally(scores, counts)
    kept = scores.transpose(1, 0, 2) if task.n_kept else None
    return Ensemble(w.transpose(1, 0, 2), bias.T, gap.T, summed, stacked, kept)


def polish_missed(
    task: Task,
    base: Floats,
    stop: Any,
    bias: Floats,
    alphas: Floats,
    scores: Floats,
    gap: Floats,
    w: Floats,
) -> None:
    """Improve members on a kernel matrix that missed the tolerance; changes all arrays.

    Bounds at C = 1 are (bags, n), biases and gaps (bags, n_C), signed multipliers, scores and
    weights (bags, n_C, ·).
    """
    signs, targets = task.problem.signs, task.problem.targets
    missed = np.repeat(np.argwhere(gap > task.tol), _ROUNDS, axis=0)
    for b, k in missed.tolist():
        if gap[b, k] <= task.tol:
            continue
        one, bounds, beta = task.grid[k : k + 1], task.grid[k] * base[b], alphas[b, k].copy()
        products = scores[b, k] - bias[b, k]
        if task.rows is not None:  # the scores are those of stretched weights
            products = np.asarray(task.rows @ (task.rows.T @ beta))
        found = polish(task.gram, signs, targets, bounds, beta, products, task.tol / 3.0, stop)
        alpha, score = np.abs(beta)[np.newaxis, np.newaxis], np.empty((1, 1, len(beta)))
        point = np.full((1, 1, 1), found)
        member = _certified(task._replace(grid=one), base[b : b + 1], point, alpha, score)
        if member[2][0, 0] < gap[b, k]:
            w[b, k], bias[b, k], gap[b, k] = (part[0, 0] for part in member)
            alphas[b, k], scores[b, k] = alpha[0, 0], score[0, 0]


def solve_again(task: Task, space: Any, base: Floats, stop: Any) -> tuple[Floats, ...]:
    """Solve one bag, bounds (1, n), by Newton steps from a cold start, to a third of the tolerance.

    Returns weights, biases, gaps and scores of its members.
    """
    n_grid = task.grid.shape[0]
    coef = np.empty((1, n_grid, task.width))
    alphas, scores = np.empty((2, 1, n_grid, base.shape[1]))
    plain = task._replace(tol=task.tol / 3.0, plan=no_guide(n_grid))
    METHODS["newton"].solve(plain, space, base[0], stop, (coef[0], alphas[0]))
    w, bias, gap = _certified(task, base, coef, alphas, scores)
    return w[0], bias[0], gap[0], scores[0]


def _certified(
    task: Task, base: Floats, coef: Floats, alphas: Floats, scores: Floats
) -> tuple[Floats, Floats, Floats]:
    """Weights, biases and gaps of members; writes their scores.

    A point that is not finite becomes the zero member, whose gap is large.
    """
    problem = task.problem
    coef[~np.isfinite(coef).all(axis=-1)] = 0.0
    if task.rows is None:
        bias, shared = coef[..., 0].copy(), (problem.signs, problem.targets, base, task.grid)
        gap = certify_gram(task.gram, *shared, bias, alphas, scores)
        return alphas, bias, gap
    if task.gram is None:
        w, bias = coef[..., : problem.d].copy(), coef[..., problem.d].copy()
    else:
        w, bias = np.empty((*alphas.shape[:2], problem.d)), coef[..., 0].copy()
        for b in range(len(alphas)):
            product(alphas[b] * problem.signs, task.rows, w[b])
    stretch(w, bias, problem.targets, task.reach)
    fixed = (task.rows, problem.signs, problem.targets, base, task.grid)
    gap, _ = certify(*fixed, w, bias, alphas, scores, task.reach)
    return w, bias, gap
