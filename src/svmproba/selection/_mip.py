r"""The selection by mixed-integer solvers: HiGHS, which comes with SciPy, or SCIP.

.. math::
    \min\sum_g a_gz_g\quad\text{s.t.}\quad |w_k|\le z_{g(k)},\quad
    y_i(w^\top x_i-\tau)\ge\delta-M_i(1-\zeta_i),\quad\sum_+\zeta_i\ge k_+,\ \sum_-\zeta_i\ge k_-.

A known solution enters as a limit on the cost: only cheaper ones are looked for, and none is
there where the solver says so. The limit makes the :math:`M_i` small, since few columns fit in it:
:math:`|w^\top x_i|\le R_i`, the largest sum of :math:`|x_{ik}|` that the limit allows, and
:math:`\tau` lies between the scores that enough samples of either class can have.
"""

from __future__ import annotations

import time
from functools import reduce
from importlib import import_module
from math import gcd
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, sparse

from svmproba._types import Floats
from svmproba.selection._proof import Outcome
from svmproba.selection._task import Task, threshold
from svmproba.selection._weights import Candidate, improve

#: Relative excess of a bound that is rounding of the solver.
_SLACK = 1e-6


class _Model(NamedTuple):
    """Rows of the program; the variables are w, τ, z and ζ."""

    objective: Floats
    matrix: Any
    low: Floats
    upper: Floats  # of the variables; all but w and τ are at least 0
    lower: Floats
    n_columns: int
    n_groups: int


def cost_step(costs: Floats) -> float:
    """Return what two costs differ by at least: the greatest common divisor of whole ones."""
    if np.all(costs == np.rint(costs)) and costs.max() < 2**53:
        return float(reduce(gcd, (int(cost) for cost in costs)))
    return _SLACK * float(costs.min())


def round_up(bound: float, costs: Floats) -> float:
    """Round a bound up to the next cost that a selection can have."""
    step = cost_step(costs)
    return max(0.0, float(np.ceil(bound / step - _SLACK) * step)) if step >= 1.0 else bound


def solve_exact(
    task: Task, solver: str, time_limit: float, start: Candidate | None, rng: np.random.Generator
) -> Outcome:
    """Look for a cheaper selection than the start until there is a proof or no time."""
    best, bound, deadline = start, 0.0, time.monotonic() + time_limit
    while time.monotonic() < deadline:
        limit = task.costs.sum() if best is None else task.cost(best.chosen) - cost_step(task.costs)
        if best is not None and limit < bound:
            break
        model = _model(task, limit)
        weights, claim = _SOLVERS[solver](model, deadline - time.monotonic())
        bound = max(bound, round_up(min(claim, np.inf), task.costs))
        if weights is None:
            break
        found = _checked(task, weights[: model.n_columns], rng)
        if found is None:  # correct within the solver's tolerances alone
            break
        best = found
    if best is None:
        return Outcome(None, bound)
    return Outcome(best, min(bound, task.cost(best.chosen)))


def _reach(task: Task, limit: float) -> Floats:
    """Largest score of each sample with weights of at most 1 on groups within the limit."""
    sizes = np.array([np.abs(task.columns[g]).sum(axis=0) for g in task.groups])
    order = np.argsort(-sizes / task.costs[:, None], axis=0)
    cost = np.cumsum(task.costs[order], axis=0)
    share = np.clip((limit - cost + task.costs[order]) / task.costs[order], 0.0, 1.0)
    return np.asarray((share * np.take_along_axis(sizes, order, axis=0)).sum(axis=0))


def _model(task: Task, limit: float) -> _Model:
    (p, n), n_groups = task.columns.shape, len(task.groups)
    reach = _reach(task, limit)
    plus, minus = np.sort(reach[: task.n_plus])[::-1], np.sort(reach[task.n_plus :])[::-1]
    high, low = plus[task.need_plus - 1], minus[task.need_minus - 1]
    signs = np.where(np.arange(n) < task.n_plus, 1.0, -1.0)
    big = task.margin + reach + np.where(signs > 0.0, high, low)
    owner = np.empty(p, np.intp)
    for g, places in enumerate(task.groups):
        owner[places] = g
    one = sparse.csr_array((np.ones(p), (np.arange(p), owner)), shape=(p, n_groups))
    eye, none = sparse.eye_array(p), None
    counts = np.zeros((2, n))
    counts[0, : task.n_plus] = counts[1, task.n_plus :] = 1.0
    matrix = sparse.block_array(
        [
            [eye, none, one, none],
            [-eye, none, one, none],
            [(signs * task.columns).T, -signs[:, None], none, sparse.diags_array(-big)],
            [none, none, none, counts],
            [none, none, -task.costs[None, :], none],
        ],
        format="csr",
    )
    least = [np.zeros(2 * p), task.margin - big, [task.need_plus, task.need_minus], [-limit]]
    edge = np.concatenate([np.ones(p), [high], np.ones(n_groups + n)])
    lower = np.concatenate([-np.ones(p), [-low], np.zeros(n_groups + n)])
    objective = np.concatenate([np.zeros(p + 1), task.costs, np.zeros(n)])
    return _Model(objective, matrix, np.concatenate(least), edge, lower, p, n_groups)


def _highs(model: _Model, seconds: float) -> tuple[Floats | None, float]:
    whole = np.arange(len(model.objective)) > model.n_columns
    found = optimize.milp(
        model.objective,
        integrality=whole.astype(int),
        bounds=optimize.Bounds(model.lower, model.upper),
        constraints=optimize.LinearConstraint(model.matrix, model.low, np.inf),
        options={"time_limit": max(seconds, 0.01), "mip_rel_gap": 0.0},
    )
    if found.status == 2:
        return None, np.inf
    bound = found.mip_dual_bound
    return found.x, -np.inf if bound is None else float(bound)


def _scip(model: _Model, seconds: float) -> tuple[Floats | None, float]:
    try:
        module: Any = import_module("pyscipopt")
    except ImportError as error:
        raise ImportError(
            'solver="scip" needs the package pyscipopt: pip install "svmproba[exact]".'
        ) from error
    scip = module.Model()
    scip.hideOutput()
    scip.setParam("limits/time", max(seconds, 0.01))
    scip.setParam("parallel/maxnthreads", 1)
    x = [
        scip.addVar(lb=float(low), ub=float(high), vtype="C" if k <= model.n_columns else "B")
        for k, (low, high) in enumerate(zip(model.lower, model.upper, strict=True))
    ]
    starts, index, data = model.matrix.indptr, model.matrix.indices, model.matrix.data
    for row, low in enumerate(model.low):
        here = range(starts[row], starts[row + 1])
        scip.addCons(module.quicksum(float(data[k]) * x[index[k]] for k in here) >= float(low))
    scip.setObjective(
        module.quicksum(float(c) * v for c, v in zip(model.objective, x, strict=True) if c)
    )
    scip.optimize()
    status = scip.getStatus()
    if status == "userinterrupt":  # SCIP hears Ctrl-C itself
        raise KeyboardInterrupt
    if status == "infeasible":
        return None, np.inf
    found = scip.getBestSol() if scip.getNSols() else None
    values = None if found is None else np.array([scip.getSolVal(found, v) for v in x])
    return values, float(scip.getDualbound())


_SOLVERS = {"highs": _highs, "scip": _scip}


def _checked(task: Task, w: Floats, rng: np.random.Generator) -> Candidate | None:
    """Weights of the solver as a selection that holds without its tolerances."""
    used = np.abs(w) > 1e-9
    chosen = tuple(g for g, places in enumerate(task.groups) if used[places].any())
    places = task.places(chosen)
    wide = widest(task, chosen, w[places])
    if threshold(task, places, wide) is not None:
        return Candidate(chosen, wide, -1.0)
    found = improve(task, chosen, [wide, w[places]], rng, kicks=20)
    return found if found.shortfall < 0.0 else None


def widest(task: Task, chosen: tuple[int, ...], w: Floats) -> Floats:
    """Weights of largest margin on the samples that these weights get right, by linear programs.

    The weights choose the needed samples, those get the largest margin, and again.
    """
    rows = task.columns[task.places(chosen)]
    for _ in range(10):
        scores = w @ rows
        plus = np.argsort(-scores[: task.n_plus])[: task.need_plus]
        minus = task.n_plus + np.argsort(scores[task.n_plus :])[: task.need_minus]
        part = np.concatenate([plus, minus])
        signs = np.where(part < task.n_plus, 1.0, -1.0)
        # Largest t with y (w x - τ) - t >= 0.
        matrix = np.column_stack([-(signs * rows[:, part]).T, signs, np.ones(len(part))])
        m = len(w)
        found = optimize.linprog(
            np.r_[np.zeros(m + 1), -1.0],
            A_ub=matrix,
            b_ub=np.zeros(len(part)),
            bounds=[(-1.0, 1.0)] * m + [(None, None)] * 2,
        )
        if found.x is None or np.allclose(found.x[:m], w, rtol=0.0, atol=1e-9):
            break
        if not np.abs(found.x[:m]).max() > 0.0:
            break
        w = found.x[:m]
    return w
