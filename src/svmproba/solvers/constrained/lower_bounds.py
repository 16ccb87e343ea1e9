"""The lower bounds of :mod:`~svmproba.solvers.problem` for the work space of the exact path."""

from __future__ import annotations

from numba import njit

from svmproba.solvers import problem
from svmproba.solvers.core.compiled import JIT

_lower_bound = problem.lower_bound


@njit(**JIT)
def lower_bound(t, goal, solved):
    """Return what the multipliers of slot 0 prove about the value under the bounds ``goal``."""
    space = t.space
    return _lower_bound(
        space.table, space.d, t.alpha, goal, t.target, t.length, space.vectors[0], solved
    )
