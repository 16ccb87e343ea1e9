"""What Newton paths learn once for all bags: the path of the full sample, and how far bags move.

A bag starts each C from its own solution at the C before, plus the step that the full sample takes
(:class:`~svmproba.solvers.newton.path.Guide`). How far the margins of a bag end from this
prediction is measured on a few bags; it bounds the working rows of all others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from svmproba._types import Floats, Rows
from svmproba.solvers.core.tables import product
from svmproba.solvers.newton.lagrangian import State, clear
from svmproba.solvers.newton.path import LEAST_WIDTH, Guide, solve_path
from svmproba.solvers.problem import Problem

#: Multiple of the margins' movement in the first bags that bounds the working rows.
_WIDTHS = 2.5


def no_guide(n_grid: int) -> Guide:
    """Return the guide that predicts nothing: paths start from zero and work on all rows."""
    return Guide(np.empty((0, 0)), np.empty((0, 0)), np.ones(n_grid), np.full(n_grid, np.inf))


def full_path(
    problem: Problem, state: State, full: Floats, grid: Floats, tol: float, stop: Any
) -> tuple[Floats, Floats]:
    """Solve the full sample, whose bounds at C = 1 are ``full`` (n,), to a tenth of ``tol``.

    Returns weights with the bias, (n_C, width), and multipliers, (n_C, n).
    """
    n_grid, width = grid.shape[0], state.v.shape[1]
    coef, alphas, moved = np.empty((n_grid, width)), np.empty((n_grid, len(full))), np.empty(n_grid)
    guide = no_guide(n_grid)
    clear(state)
    solve_path(problem, state, full, grid, tol / 10.0, guide, stop, coef, alphas, moved)
    return coef, alphas


def learn_guide(
    problem: Problem,
    rows: Rows,
    state: State,
    full: Floats,
    pilots: Floats,
    grid: Floats,
    tol: float,
    stop: Any,
) -> Guide:
    """Solve the full sample, then the pilot bags, whose bounds at C = 1 are ``pilots`` (k, n)."""
    d = problem.d
    coef, alphas = full_path(problem, state, full, grid, tol, stop)
    mass = alphas.sum(axis=1)
    growth = np.ones(grid.shape[0])
    np.divide(mass[1:], mass[:-1], out=growth[1:], where=mass[:-1] > 0.0)
    step = np.diff(coef, axis=0, prepend=0.0)
    margins = product(np.ascontiguousarray(step[:, :d]), rows.T, np.empty_like(alphas))
    margins = (margins + step[:, d : d + 1]) * problem.signs
    guide = Guide(step, margins, growth, np.full(grid.shape[0], np.inf))
    moved = np.zeros((len(pilots), grid.shape[0]))
    for bag, movement in zip(pilots, moved, strict=True):
        clear(state)
        solve_path(problem, state, bag, grid, tol, guide, stop, coef, alphas, movement)
    return guide._replace(width=np.maximum(_WIDTHS * moved.max(axis=0), LEAST_WIDTH))
