r"""The constrained SVM: rates on the training records with a floor under them.

.. math::

    \min_{w, b, \xi, \zeta}\ \tfrac12\|w\|^2 + C\sum_i c_i\xi_i \quad\text{s.t.}\quad
    y_i(w^\top x_i + b)\ge1-\xi_i,\quad \zeta_i = 1\Rightarrow\xi_i = 0,\quad
    \sum_{i\in G}c_i\zeta_i\ge k_G,

with multiplicities :math:`c_i` and a set :math:`G` for each floor: the positives (true positive
rate), the negatives (true negative rate), all (accuracy), or those of a subgroup. As in the paper
a record counts only where its margin is at least 1, and
:math:`k_G=\lceil\lambda\sum_Gc_i\rceil`. For fixed
:math:`\zeta` the problem is the convex one of :mod:`~svmproba.solvers.problem` with infinite
bounds; :mod:`~svmproba.solvers.constrained.local_search` looks for a good :math:`\zeta`,
:mod:`~svmproba.solvers.constrained.branch_and_bound` for a bound or a proof. Every result is
strictly feasible.

References
----------
Benítez-Peña, Blanquero, Carrizosa & Ramírez-Cobo (2019). On support vector machines under a
multiple-cost scenario. Advances in Data Analysis and Classification 13.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import typeof

from svmproba._types import Bools, Floats
from svmproba.solvers.constrained.branch_and_bound import N_FULL, N_OPEN, branch, new_tree
from svmproba.solvers.constrained.feasible_point import class_sets, polish
from svmproba.solvers.constrained.local_search import IMPOSSIBLE, search_bag
from svmproba.solvers.constrained.penalties import is_large, penalty_path
from svmproba.solvers.constrained.swaps import GOAL, KEPT, Task, new_task, slightly_less
from svmproba.solvers.core.compiled import call_with
from svmproba.solvers.core.references import Reference
from svmproba.solvers.core.rows import aligned, whole
from svmproba.solvers.exact_path.active_set import cold_start
from svmproba.solvers.exact_path.moves import SOLVES, move
from svmproba.solvers.problem import relative_gaps
from svmproba.solvers.runtime.threads import interruptible

#: Convex solutions spent on one branch and bound, and at a time, between looks at the clock.
_PROOF, _CHUNK = 20_000, 200
#: Largest number of a table, or its inverse, beyond which the table is scaled.
_FAR = 2.0**10
#: Open nodes kept at most, the relative gap that counts as a proof, and the one at which nodes are
#: closed: points lose a little when they are made strictly feasible.
_ROOM, PROVEN, _CLOSED = 20_000, 1e-6, 5e-7
#: Weights, bias and objective.
Point = tuple[Floats, float, float]
BOUNDS = ("svm", "quantile", "bb")


class Effort(NamedTuple):
    """Convex solutions spent on one problem."""

    alone: int
    in_bag: int  # neighbours on the grid share what they find


EFFORT = {
    "fast": Effort(20, 12),
    "default": Effort(10_000, 300),
    "thorough": Effort(40_000, 1500),
}


class Constrained(NamedTuple):
    """A solution; arrays are None where no feasible point is known."""

    coef: Floats | None  # (d,)
    intercept: float
    objective: float
    bound: float  # proven lower bound of the optimum
    status: str  # "optimal", "feasible", "infeasible" or "no_feasible_point_found"
    satisfied: Any  # (n,), boolean: the records with a margin of at least 1
    solves: int  # convex solutions spent

    @property
    def gap(self) -> float:
        """Relative distance between objective and bound."""
        if self.objective == self.bound:
            return 0.0
        return float(relative_gaps(np.array(self.objective), np.array(self.bound)))


class Bag(NamedTuple):
    """A bag ready to be searched: its records, centred, and a start."""

    task: Task
    here: Any  # (m,), which records
    alpha: Floats  # (m,), balanced multipliers at C = 1
    scale: float  # factor of the records: C is divided by its square


def prepare(
    rows: Any, signs: Floats, weight: Floats, n_floors: int, stop: Any, sets: Bools | None = None
) -> Bag:
    """Gather the records of positive weight and allocate the work space."""
    sets = class_sets(signs) if sets is None else sets
    here = np.flatnonzero(weight > 0.0)
    part = rows[here]
    part = part.toarray() if sp.issparse(part) else part
    y, c = np.ascontiguousarray(signs[here]), np.ascontiguousarray(weight[here], np.float64)
    mean = c @ part / c.sum()
    d = part.shape[1]
    table = aligned(len(here), whole(d + 1))
    table[:, :d] = (part - mean) * y[:, None]
    table[:, d] = y
    largest = np.abs(table[:, :d]).max(initial=0.0)
    scale = 1.0
    differ = largest > 1e-12 * np.abs(part).max(initial=0.0)  # by more than rounding
    if differ and not 1 / _FAR < largest < _FAR:
        scale = 2.0 ** -np.frexp(largest)[1]  # a power of 2: nothing is rounded
        table[:, :d] *= scale
    alpha, _ = cold_start(table, d, slightly_less(c))
    return Bag(new_task(table, d, sets[:, here], c, int(KEPT) + n_floors, stop), here, alpha, scale)


def run_search(
    bag: Bag, grid: Floats, needs: Floats, solves: int, seed: int, chosen: Any
) -> tuple[Floats, Floats, Any, Any]:
    """Search one bag; returns points, values, outcomes, hard margins (see ``search_bag``)."""
    task, shape = bag.task, (len(grid), len(needs))
    points = np.zeros((*shape, task.point.shape[0]))
    values, codes = np.zeros((*shape, 2)), np.zeros(shape, np.int64)
    kept = np.zeros((*shape, len(task.mass)), np.bool_)
    _call(
        search_bag, task, grid / bag.scale**2, needs, solves, seed, bag.alpha, chosen,
        points, values, codes, kept,
    )  # fmt: skip
    points[..., : task.space.d] *= bag.scale
    values *= bag.scale**2
    return points, values, codes, kept


def run_branch(bag: Bag, C: float, best: float, solves: int, tree: Any) -> tuple[Any, float, float]:
    """Go on branching; returns the weights of a better point or None, its value, the bound."""
    task, square = bag.task, bag.scale**2
    point = np.full(task.point.shape[0], np.nan)
    value, below = _call(branch, task, C / square, best / square, _CLOSED, solves, tree, point)
    coef = None if np.isnan(point[0]) else bag.scale * point[: task.space.d]
    return coef, value * square, below * square


def feasible_weights(bag: Bag, C: float, need: Floats, solves: int) -> tuple[Any, float]:
    """Look for weights that serve the floors by branching, after a search at C that found none.

    Returns None where there are none or the budget is spent, and a lower bound, infinite where it
    is proven that there are none.
    """
    bag.task.need[:] = need
    tree = new_tree(len(bag.task.mass), _ROOM)
    for _ in range(1 + solves // _CHUNK):
        coef, _, below = run_branch(bag, C, np.inf, _CHUNK, tree)
        if coef is not None or tree.count[N_FULL] or not tree.count[N_OPEN]:
            break
    return coef, below


def _call(function: Any, task: Task, *args: Any) -> Any:
    """Call a compiled search with the compiled move."""
    kinds = (Reference(typeof(task.space)), *map(typeof, (task.work[GOAL], 1.0, True, task.tally)))
    return call_with(function, move, kinds, task, *args)


def solve_constrained(
    rows: Any,
    signs: Floats,
    C: float,
    *,
    need: Floats,
    sets: Bools | None = None,
    weight: Floats | None = None,
    effort: str | int = "default",
    bound: str = "svm",
    time_limit: float | None = None,
    start: Any = None,
    seed: int = 0,
) -> Constrained:
    """Solve one constrained SVM.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
        Records; stored densely.
    signs : array of shape (n,)
        Labels in {-1.0, +1.0}.
    C : float
        On the scale of ``||w||^2 / 2``.
    need : array of shape (n_sets,)
        Mass that must have its margin in each set of records, see
        :func:`~svmproba.solvers.constrained.feasible_point.mass_in_sets`.
    sets : boolean array of shape (n_sets, n), optional
        These sets; by default the positives, the negatives, all.
    weight : array of shape (n,), optional
        Multiplicities; 0 for absent records.
    effort : {"fast", "default", "thorough"} or int, default="default"
        Convex solutions to spend. Large tables (see
        :mod:`~svmproba.solvers.constrained.penalties`) are solved in one way only, with the
        plain SVM's bound.
    bound : {"svm", "quantile", "bb"}, default="svm"
        How to bound the optimum: by the plain SVM (costs nothing), by the first node of the
        branch and bound, or by all of it.
    time_limit : float, optional
        Seconds for the branch and bound; the number of convex solutions bounds it anyway.
    start : boolean array of shape (n,), optional
        Records whose margins a first choice makes hard.
    seed : int, default=0

    Returns
    -------
    Constrained
    """
    solves = effort if isinstance(effort, int) else look_up(effort).alone
    if bound not in BOUNDS:
        raise ValueError(f"bound must be one of {BOUNDS}, got {bound!r}.")
    weight = np.ones(len(signs)) if weight is None else np.asarray(weight, np.float64)
    need = np.asarray(need, np.float64)
    stop = np.zeros(1, np.uint8)
    sets = class_sets(signs) if sets is None else sets
    fixed = (rows, signs, weight, C, need, sets)
    try:
        if is_large(int(np.count_nonzero(weight)), rows.shape[1]):
            return interruptible(_by_penalties, *fixed, stop)
        search = (solves, seed, start, bound, time_limit)
        return interruptible(_by_search, *fixed, *search, stop)
    except BaseException:
        stop[0] = 1  # the search leaves its thread at its next break
        raise


def _by_search(
    rows: Any, signs: Floats, weight: Floats, C: float, need: Floats, sets: Bools, solves: int,
    seed: int, start: Any, bound: str, time_limit: float | None, stop: Any,
) -> Constrained:  # fmt: skip
    """Search, and bound or prove what was found; where nothing was, look on by branching."""
    bag = prepare(rows, signs, weight, 1, stop, sets)
    task, d = bag.task, rows.shape[1]
    chosen = np.zeros(0, np.bool_) if start is None else np.asarray(start, np.bool_)[bag.here]
    grid = np.array([C], np.float64)
    points, values, codes, _ = run_search(bag, grid, need[None], solves, seed, chosen)
    point, (value, lower), spent = points[0, 0], values[0, 0], int(task.tally[SOLVES])
    fixed = (rows, signs, weight, C, need)
    # A floor under one class is always met by its constant classifier.
    found = polish(*fixed, point[:d], sets) if value < np.inf else None
    found = polish(*fixed, np.zeros(d), sets) if found is None else found
    wanted = codes[0, 0] != IMPOSSIBLE and (found is None or bound != "svm")
    if wanted and not _proven(found, lower):
        until = np.inf if time_limit is None else time.perf_counter() + time_limit
        whole = bound == "bb" or found is None
        tree = new_tree(len(task.mass), _ROOM if whole else len(task.mass) + 1)
        limit = spent + (_PROOF if bound == "bb" else max(solves, _CHUNK))
        best = found[2] if value == np.inf and found is not None else value
        while True:
            coef, best, below = run_branch(bag, C, best, _CHUNK if whole else 1, tree)
            if coef is not None:
                found = _better(found, polish(*fixed, coef, sets))
            spent += int(task.tally[SOLVES])
            finished = below >= best * (1.0 - _CLOSED) or spent > limit or stop[0]
            finished = finished or tree.count[N_FULL] or not tree.count[N_OPEN]
            enough = bound != "bb" and found is not None
            if enough or finished or time.perf_counter() > until:
                break
        lower = max(lower, below)
    if found is None:
        status = "infeasible" if lower == np.inf else "no_feasible_point_found"
        return Constrained(None, np.nan, np.inf, float(lower), status, None, spent)
    return _finished(rows, signs, found, lower, spent)


def _by_penalties(
    rows: Any, signs: Floats, weight: Floats, C: float, need: Floats, sets: Bools, stop: Any
) -> Constrained:
    """Solve a large table."""
    here = np.flatnonzero(weight > 0.0)
    y, c = np.ascontiguousarray(signs[here]), np.ascontiguousarray(weight[here])
    points, lower = penalty_path(rows[here], y, c, np.array([C]), need[None], stop, sets[:, here])
    below, best = float(lower[0, 0]), points[0, 0]
    if best is None:
        return Constrained(None, np.nan, np.inf, below, "no_feasible_point_found", None, 0)
    return _finished(rows, signs, best, below, 0)


def _finished(rows: Any, signs: Floats, point: Point, lower: float, spent: int) -> Constrained:
    """Say how good a strictly feasible point is."""
    coef, intercept, value = point
    satisfied = signs * (rows @ coef + intercept) >= 1.0
    status = "optimal" if _proven(point, lower) else "feasible"
    return Constrained(coef, intercept, value, float(min(lower, value)), status, satisfied, spent)


def _proven(point: Point | None, lower: float) -> bool:
    return point is not None and bool(lower >= point[2] * (1.0 - PROVEN))


def _better(point: Point | None, other: Point | None) -> Point | None:
    return other if point is None or (other is not None and other[2] < point[2]) else point


def look_up(effort: str) -> Effort:
    """Return the effort of that name."""
    if effort not in EFFORT:
        raise ValueError(f"effort must be one of {tuple(EFFORT)}, got {effort!r}.")
    return EFFORT[effort]
