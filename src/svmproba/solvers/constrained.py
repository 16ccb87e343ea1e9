r"""The constrained SVM: rates on the training records with a floor under them.

.. math::

    \min_{w, b, \xi, \zeta}\ \tfrac12\|w\|^2 + C\sum_i c_i\xi_i \quad\text{s.t.}\quad
    y_i(w^\top x_i + b)\ge1-\xi_i,\quad \zeta_i = 1\Rightarrow\xi_i = 0,\quad
    \sum_{i\in G}c_i\zeta_i\ge k_G,

with multiplicities :math:`c_i` and a group :math:`G` for each floor: the positives (true positive
rate), the negatives (true negative rate), all (accuracy). As in the paper a record counts only
where its margin is at least 1, and :math:`k_G=\lceil\lambda\sum_Gc_i\rceil`. For fixed
:math:`\zeta` the problem is the convex one of :mod:`~svmproba.solvers.problem` with infinite
bounds; :mod:`~svmproba.solvers.search` looks for a good :math:`\zeta`,
:mod:`~svmproba.solvers.branching` for a bound or a proof. Every result is strictly feasible.

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

from .branching import N_FULL, N_OPEN, branch, new_tree
from .moves import SOLVES, move
from .penalties import is_large, penalty_path
from .pointers import call_with
from .polish import polish
from .problem import Array
from .rows import aligned
from .search import IMPOSSIBLE, OPTIMAL, search_bag
from .swaps import GOAL, KEPT, Task, new_task, slightly_less

#: Convex solutions spent on one problem, by effort.
EFFORT = {"fast": 20, "default": 10_000, "thorough": 40_000}
#: Convex solutions spent on one branch and bound, and at a time, between looks at the clock.
_PROOF, _CHUNK = 20_000, 200
#: Open nodes kept at most, and the relative gap that counts as a proof.
_ROOM, PROVEN = 20_000, 1e-6
BOUNDS = ("svm", "quantile", "bb")


class Constrained(NamedTuple):
    """A solution; arrays are None where no feasible point is known."""

    coef: Array | None  # (d,)
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
        return float((self.objective - self.bound) / self.objective)


class Bag(NamedTuple):
    """A bag ready to be searched: its records, centred, and a start."""

    task: Task
    here: Any  # (m,), which records
    mean: Array  # (d,)
    alpha: Array  # (m,), balanced multipliers at C = 1


def prepare(rows: Any, signs: Array, weight: Array, n_floors: int) -> Bag:
    """Gather the records of positive weight and allocate the work space."""
    here = np.flatnonzero(weight > 0.0)
    part = rows[here]
    part = part.toarray() if sp.issparse(part) else part
    y, c = np.ascontiguousarray(signs[here]), np.ascontiguousarray(weight[here], np.float64)
    mean = c @ part / c.sum()
    d = part.shape[1]
    table = aligned(len(here), -(-(d + 1) // 8) * 8)
    table[:, :d] = (part - mean) * y[:, None]
    table[:, d] = y
    # The smaller class at its bounds; of the larger one those nearest to it, until the sums agree.
    base = slightly_less(c)
    small = 1.0 if base[y > 0.0].sum() <= base[y < 0.0].sum() else -1.0
    toward = (base * (y == small)) @ table[:, :d]
    large = np.flatnonzero(y != small)
    large = large[np.argsort(table[large, :d] @ toward, kind="stable")]
    alpha = np.where(y == small, base, 0.0)
    before = np.concatenate([[0.0], np.cumsum(base[large])[:-1]])
    alpha[large] = np.clip(alpha.sum() - before, 0.0, base[large])
    return Bag(new_task(table, d, y, c, int(KEPT) + n_floors), here, mean, alpha)


def run_search(
    bag: Bag, grid: Array, needs: Array, solves: int, seed: int, chosen: Any
) -> tuple[Array, Array, Any, Any]:
    """Search one bag; returns points, values, outcomes, hard margins (see ``search_bag``)."""
    task, shape = bag.task, (len(grid), len(needs))
    points = np.zeros((*shape, task.p.table.shape[1]))
    values, codes = np.zeros((*shape, 2)), np.zeros(shape, np.int64)
    kept = np.zeros((*shape, len(task.mass)), np.bool_)
    _call(
        search_bag, task, grid, needs, solves, seed, bag.alpha, chosen,
        points, values, codes, kept,
    )  # fmt: skip
    return points, values, codes, kept


def _call(function: Any, task: Task, *args: Any) -> Any:
    """Call a compiled search with the compiled move."""
    examples = (task.p, task.work[GOAL], 1.0, True, task.tally)
    return call_with(function, move, examples, task, *args)


def solve_constrained(
    rows: Any,
    signs: Array,
    C: float,
    *,
    need: Array,
    weight: Array | None = None,
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
    need : array of shape (3,)
        Mass that must have its margin, see :func:`needed_mass`.
    weight : array of shape (n,), optional
        Multiplicities; 0 for absent records.
    effort : {"fast", "default", "thorough"} or int, default="default"
        Convex solutions to spend. Large tables (see :mod:`~svmproba.solvers.penalties`) are solved
        in one way only, with the plain SVM's bound.
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
    solves = effort if isinstance(effort, int) else _lookup(effort)
    if bound not in BOUNDS:
        raise ValueError(f"bound must be one of {BOUNDS}, got {bound!r}.")
    weight = np.ones(len(signs)) if weight is None else np.asarray(weight, np.float64)
    need, grid = np.asarray(need, np.float64), np.array([C], np.float64)
    here = np.flatnonzero(weight > 0.0)
    if is_large(len(here), rows.shape[1]):
        return _by_penalties(rows, signs, weight, C, need, here)
    bag = prepare(rows, signs, weight, 1)
    task = bag.task
    chosen = np.zeros(0, np.bool_) if start is None else np.asarray(start, np.bool_)[bag.here]
    points, values, codes, _ = run_search(bag, grid, need[None], solves, seed, chosen)
    point, (value, lower), code = points[0, 0], values[0, 0], codes[0, 0]
    spent = int(task.tally[SOLVES])
    if code in (OPTIMAL, IMPOSSIBLE):
        lower = value
    elif bound != "svm":
        stop = np.inf if time_limit is None else time.perf_counter() + time_limit
        tree = new_tree(len(task.mass), _ROOM if bound == "bb" else len(task.mass) + 1)
        while True:
            chunk = _CHUNK if bound == "bb" else 1
            value, below = _call(branch, task, C, value, PROVEN, chunk, tree, point)
            spent += int(task.tally[SOLVES])
            finished = below >= value * (1.0 - PROVEN) or spent > solves + _PROOF
            finished = finished or tree.count[N_FULL] or not tree.count[N_OPEN]
            if bound == "quantile" or finished or time.perf_counter() > stop:
                break
        lower = max(lower, below)
        if value == np.inf and below == np.inf:
            code = IMPOSSIBLE
    if code != IMPOSSIBLE and value == np.inf:
        # A floor under one class is always met by its constant classifier.
        point, value = np.zeros(len(point)), np.inf
        if polish(rows, signs, weight, C, need, point[: len(bag.mean)]) is not None:
            return _finished(rows, signs, weight, C, need, point, bag, value, lower, spent)
    if code == IMPOSSIBLE or value == np.inf:
        status = "infeasible" if code == IMPOSSIBLE else "no_feasible_point_found"
        return Constrained(None, np.nan, np.inf, float(lower), status, None, spent)
    return _finished(rows, signs, weight, C, need, point, bag, value, lower, spent)


def _by_penalties(
    rows: Any, signs: Array, weight: Array, C: float, need: Array, here: Any
) -> Constrained:
    """Solve a large table."""
    y, c = np.ascontiguousarray(signs[here]), np.ascontiguousarray(weight[here])
    points, lower = penalty_path(rows[here], y, c, np.array([C]), need[None])
    below, best = float(lower[0, 0]), points[0, 0]
    if best is None:
        return Constrained(None, np.nan, np.inf, below, "no_feasible_point_found", None, 0)
    coef, intercept, value = best
    satisfied = signs * (rows @ coef + intercept) >= 1.0
    status = "optimal" if below >= value * (1.0 - PROVEN) else "feasible"
    return Constrained(coef, intercept, value, min(below, value), status, satisfied, 0)


def _finished(
    rows: Any, signs: Array, weight: Array, C: float, need: Array, point: Array, bag: Bag,
    value: float, lower: float, spent: int,
) -> Constrained:  # fmt: skip
    """Polish a point and say how good it is."""
    polished = polish(rows, signs, weight, C, need, point[: len(bag.mean)])
    assert polished is not None
    coef, intercept, reached = polished
    proven = lower >= value * (1.0 - PROVEN)
    satisfied = signs * (rows @ coef + intercept) >= 1.0
    status = "optimal" if proven else "feasible"
    return Constrained(
        coef, intercept, reached, float(min(lower, reached)), status, satisfied, spent
    )


def _lookup(effort: str) -> int:
    if effort not in EFFORT:
        raise ValueError(f"effort must be one of {tuple(EFFORT)}, got {effort!r}.")
    return EFFORT[effort]
