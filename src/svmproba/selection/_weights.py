"""Weights on given groups of columns: starts, and how a start is improved."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmproba._types import Floats, Ints
from svmproba.selection._lines import climb, extend
from svmproba.selection._task import Task, threshold
from svmproba.solvers.constrained.single import solve_constrained

#: Directions drawn at random for the line searches.
_RANDOM = 6
_SWEEPS = 8
#: Columns beyond which matrices of columns times columns cost too much.
_MANY = 200


class Candidate(NamedTuple):
    """Groups, weights on their columns, and the shortfall, negative where there is none."""

    chosen: tuple[int, ...]
    w: Floats
    shortfall: float


def fisher_direction(rows: Floats, n_plus: int) -> Floats:
    """Fisher's direction with equal classes, scaled to a largest weight of 1."""
    plus, minus = rows[:, :n_plus], rows[:, n_plus:]
    ends = plus.mean(axis=1), minus.mean(axis=1)
    w = ends[0] - ends[1]
    if len(rows) <= _MANY:
        within = 1e-3 * np.eye(len(rows))
        for part, end in zip((plus, minus), ends, strict=True):
            centred = part - end[:, np.newaxis]
            within += centred @ centred.T / part.shape[1]
        w = np.linalg.solve(within, w)
    size = np.abs(w).max()
    return w / size if size > 0.0 else np.ones(len(rows))


def improve(
    task: Task,
    chosen: tuple[int, ...],
    starts: list[Floats],
    rng: np.random.Generator,
    kicks: int = 0,
) -> Candidate:
    """Improve starts and Fisher's direction by line searches; gives the best weights.

    Lines go along the columns, their principal axes and directions drawn at random; with very many
    columns along some of these. The best weights are disturbed and improved again, `kicks` times.
    """
    rows = np.ascontiguousarray(task.columns[task.places(chosen)])
    m = len(rows)
    drawn = rng.standard_normal((max(_RANDOM, kicks), m))
    if m <= _MANY:
        value, vectors = np.linalg.eigh(rows @ rows.T / rows.shape[1] + 1e-9 * np.eye(m))
        axes = (vectors / np.sqrt(value)).T
        drawn = drawn @ axes
        directions = np.ascontiguousarray(np.concatenate([np.eye(m), axes, drawn[:_RANDOM]]))
    else:
        directions = np.zeros((_MANY, m))
        directions[np.arange(_MANY), rng.choice(m, _MANY, replace=False)] = 1.0
    starts = [fisher_direction(rows, task.n_plus), *starts] if m > 1 else [np.ones(1), -np.ones(1)]
    best = Candidate(chosen, starts[0], np.inf)
    for k in range(len(starts) + kicks):
        if k < len(starts):
            w = starts[k].copy()
        else:
            w = best.w * np.exp(0.5 * rng.standard_normal(m)) + 0.1 * drawn[k - len(starts)]
        size = np.abs(w).max()
        if size == 0.0:
            continue
        w /= size
        need = task.n_plus, task.need_plus, task.need_minus, task.margin
        shortfall = climb(rows, w, directions, *need, _SWEEPS)
        if shortfall < best.shortfall:
            best = Candidate(chosen, w / np.abs(w).max(), float(shortfall))
        if shortfall < 0.0:
            break
    return best


def constrained(task: Task, start: Candidate, seed: int) -> Candidate:
    """Try the weights of a constrained SVM with the same floors, then lines from there."""
    rows = np.ascontiguousarray(task.columns[task.places(start.chosen)].T)
    signs = np.where(np.arange(len(rows)) < task.n_plus, 1.0, -1.0)
    need = np.array([task.need_plus, task.need_minus, 0.0])
    found = solve_constrained(rows, signs, 1.0, need=need, effort="fast", seed=seed)
    if found.coef is None or not found.coef.any():
        return start
    w = found.coef / np.abs(found.coef).max()
    if threshold(task, task.places(start.chosen), w) is not None:
        return Candidate(start.chosen, w, -1.0)
    other = improve(task, start.chosen, [w], np.random.default_rng(seed))
    return min(start, other, key=lambda c: c.shortfall)


class Directions(NamedTuple):
    """One column for each group, which stands for it before its own weights are known."""

    weights: list[Floats]
    columns: Floats  # (n_groups, n)


def group_directions(task: Task) -> Directions:
    """Fisher's direction of each group by itself."""
    weights = [
        np.ones(1) if len(g) == 1 else fisher_direction(task.columns[g], task.n_plus)
        for g in task.groups
    ]
    columns = [w @ task.columns[g] for w, g in zip(weights, task.groups, strict=True)]
    return Directions(weights, np.array(columns))


def extensions(
    task: Task, directions: Directions, given: Candidate, groups: Ints, most: int
) -> list[Candidate]:
    """Add one of the groups, leave the other weights; gives the `most` best by shortfall."""
    base = given.w @ task.columns[task.places(given.chosen)]
    largest = np.abs(given.w).max() if len(given.w) else 0.0
    need = task.n_plus, task.need_plus, task.need_minus, task.margin
    steps, values = extend(base, largest, directions.columns[groups], *need)
    return [
        Candidate(
            (*given.chosen, int(groups[k])),
            np.concatenate([given.w, steps[k] * directions.weights[groups[k]]]),
            float(values[k]),
        )
        for k in np.argsort(values, kind="stable")[:most]
    ]
