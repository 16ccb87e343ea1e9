"""The lower bounds of :mod:`~svmproba.solvers.problem` for the work space of the exact path."""

from __future__ import annotations

from numba import njit

from svmproba.solvers import problem
from svmproba.solvers.core.compiled import JIT
from svmproba.solvers.exact_path.pivots import ALPHA, D_POINT, NORM, TARGET

_lower_bound = problem.lower_bound


@njit(**JIT)
def lower_bound(p, goal, solved):
    """Return what the multipliers of slot 0 prove about the value under the bounds ``goal``."""
    alpha, targets, norms = p.f[0, ALPHA], p.z[TARGET], p.z[NORM]
    return _lower_bound(p.table, p.d, alpha, goal, targets, norms, p.zv[D_POINT], solved)
