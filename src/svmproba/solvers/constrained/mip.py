r"""The constrained SVM by mixed-integer solvers: SCIP, Gurobi or CPLEX.

That :math:`\zeta_i=1` forbids slack is said without a large constant: to SCIP by a special ordered
set :math:`\{\xi_i,\zeta_i\}` of which one may differ from 0, to the others by an indicator. The
paper's :math:`\xi_i\le M(1-\zeta_i)` is there for those who ask for it: with :math:`M=1000` and an
integrality tolerance of 1e-5 it lets slack of 0.01 pass. All solvers start from our solution, and
what they return is polished (:func:`~svmproba.solvers.constrained.feasible_point.polish`), so that
every result is strictly feasible.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmproba._types import Bools, Floats
from svmproba.solvers.constrained.feasible_point import class_sets, polish
from svmproba.solvers.constrained.single import Constrained, solve_constrained

#: Relative distance to the solver's bound within which its claim of optimality is passed on: its
#: tolerances allow slack that the polished point does not have.
_TRUSTED = 1e-4
_PACKAGES = {
    "scip": ("pyscipopt", "svmproba[exact]"),
    "gurobi": ("gurobipy", "gurobipy"),
    "cplex": ("cplex", "cplex"),
}
_TOO_LARGE = (
    "The licence of {} allows only smaller problems than this one ({} records, {} columns): use "
    'solver="search", "bb" or "scip", or a full licence.'
)


class _Model(NamedTuple):
    """The problem as the solvers see it, with a point to start from."""

    rows: Floats  # (n, d), the records of positive weight
    signs: Floats
    cost: Floats  # C times weight
    mass: Floats
    counted: Any  # records with a binary variable
    groups: list[tuple[Any, float]]  # records of a floor, mass they need
    start: Constrained | None
    big_m: float | None
    time_limit: float


class _Outcome(NamedTuple):
    coef: Floats | None
    bound: float
    claim: str  # "optimal", "infeasible" or ""


def solve_exact(
    rows: Any,
    signs: Floats,
    C: float,
    *,
    need: Floats,
    sets: Bools | None = None,
    weight: Floats | None = None,
    solver: str = "scip",
    time_limit: float = 60.0,
    start: Constrained | None = None,
    effort: str | int = "default",
    big_m: float | None = None,
    seed: int = 0,
) -> Constrained:
    """Solve one constrained SVM with a mixed-integer solver, on one thread.

    Parameters
    ----------
    rows, signs, C, need, sets, weight
        As in :func:`~svmproba.solvers.constrained.single.solve_constrained`.
    solver : {"scip", "gurobi", "cplex"}, default="scip"
    time_limit : float, default=60
        Seconds.
    start : Constrained, optional
        Where to start; by default our own search with the given effort and seed.
    effort : {"fast", "default", "thorough"} or int, default="default"
    big_m : float, optional
        Use the paper's formulation with this constant.
    seed : int, default=0

    Returns
    -------
    Constrained
        Never worse than the start; "optimal" and "infeasible" only where the solver proved it.
    """
    if solver not in _PACKAGES:
        raise ValueError(f"solver must be one of {tuple(_PACKAGES)}, got {solver!r}.")
    module = _imported(solver)
    weight = np.ones(len(signs)) if weight is None else np.asarray(weight, np.float64)
    need = np.asarray(need, np.float64)
    sets = class_sets(signs) if sets is None else sets
    if start is None:
        start = solve_constrained(
            rows, signs, C, need=need, sets=sets, weight=weight, effort=effort, seed=seed
        )
    if start.status in ("optimal", "infeasible"):
        return start
    model = _model(rows, signs, C, need, sets, weight, start, big_m, time_limit)
    outcome = _SOLVERS[solver](module, model)
    best = start
    if outcome.coef is not None:
        polished = polish(rows, signs, weight, C, need, outcome.coef, sets)
        if polished is not None and polished[2] < start.objective:
            coef, intercept, objective = polished
            held = signs * (rows @ coef + intercept) >= 1.0
            best = start._replace(
                coef=coef, intercept=intercept, objective=objective, satisfied=held,
                status="feasible",
            )  # fmt: skip
    if best.coef is None:
        claim = outcome.claim == "infeasible"
        return best._replace(status="infeasible" if claim else "no_feasible_point_found")
    bound = min(max(outcome.bound, best.bound), best.objective)
    proven = outcome.claim == "optimal" and bound >= (1.0 - _TRUSTED) * best.objective
    return best._replace(bound=float(bound), status="optimal" if proven else "feasible")


def _imported(solver: str) -> Any:
    """Import a solver's package, or say what to install."""
    package, install = _PACKAGES[solver]
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(
            f'solver="{solver}" needs the package {package}: pip install "{install}".'
        ) from error


def _model(
    rows: Any, signs: Floats, C: float, need: Floats, sets: Bools, weight: Floats,
    start: Constrained, big_m: float | None, time_limit: float,
) -> _Model:  # fmt: skip
    """Keep the records of positive weight and the floors that ask for something."""
    here = np.flatnonzero(weight > 0.0)
    part = rows[here]
    part = np.asarray(part.toarray() if sp.issparse(part) else part, np.float64)
    y, c = signs[here], weight[here]
    places = (np.flatnonzero(members[here]) for members in sets)
    groups = [(g, float(k)) for g, k in zip(places, need, strict=True) if k > 0.0]
    counted = np.unique(np.concatenate([g for g, _ in groups]))
    known = None if start.coef is None else start
    return _Model(part, y, C * c, c, counted, groups, known, big_m, time_limit)


def _start_values(model: _Model, start: Constrained) -> tuple[Floats, Floats, Floats]:
    """Return weights, slacks and binaries of the start."""
    assert start.coef is not None
    margins = model.signs * (model.rows @ start.coef + start.intercept)
    return start.coef, np.maximum(1.0 - margins, 0.0), (margins >= 1.0).astype(float)


def _scip(module: Any, model: _Model) -> _Outcome:
    n, d = model.rows.shape
    scip = module.Model()
    scip.hideOutput()
    scip.setParam("limits/time", model.time_limit)
    scip.setParam("parallel/maxnthreads", 1)
    w = [scip.addVar(lb=None) for _ in range(d)]
    b = scip.addVar(lb=None)
    square = [scip.addVar(lb=0.0) for _ in range(d)]  # SCIP wants a linear objective
    slack = [scip.addVar(lb=0.0) for _ in range(n)]
    zeta = {i: scip.addVar(vtype="B") for i in model.counted}
    for j in range(d):
        scip.addCons(w[j] * w[j] <= square[j])
    for i in range(n):
        score = module.quicksum(float(model.rows[i, j]) * w[j] for j in range(d)) + b
        scip.addCons(float(model.signs[i]) * score + slack[i] >= 1.0)
    for i, z in zeta.items():
        if model.big_m is None:
            scip.addConsSOS1([slack[i], z])
        else:
            scip.addCons(slack[i] <= model.big_m * (1.0 - z))
    for group, mass in model.groups:
        scip.addCons(module.quicksum(float(model.mass[i]) * zeta[i] for i in group) >= mass)
    loss = module.quicksum(float(model.cost[i]) * slack[i] for i in range(n))
    scip.setObjective(0.5 * module.quicksum(square) + loss)
    if model.start is not None:
        coef, lack, held = _start_values(model, model.start)
        solution = scip.createSol()
        for j in range(d):
            scip.setSolVal(solution, w[j], coef[j])
            scip.setSolVal(solution, square[j], coef[j] ** 2 + 1e-9)
        scip.setSolVal(solution, b, model.start.intercept)
        for i in range(n):
            scip.setSolVal(solution, slack[i], lack[i])
        for i, z in zeta.items():
            scip.setSolVal(solution, z, held[i])
        scip.addSol(solution)
    scip.optimize()
    if scip.getStatus() == "userinterrupt":  # SCIP hears Ctrl-C itself
        raise KeyboardInterrupt
    found = scip.getBestSol() if scip.getNSols() else None
    weights = None if found is None else np.array([scip.getSolVal(found, x) for x in w])
    return _Outcome(weights, float(scip.getDualbound()), str(scip.getStatus()))


def _gurobi(module: Any, model: _Model) -> _Outcome:
    (n, d), GRB = model.rows.shape, module.GRB
    try:
        with module.Env(empty=True) as env:
            env.setParam("OutputFlag", 0)
            env.start()
            with module.Model(env=env) as gurobi:
                gurobi.Params.TimeLimit, gurobi.Params.Threads = model.time_limit, 1
                w = gurobi.addMVar(d, lb=-GRB.INFINITY)
                b = gurobi.addVar(lb=-GRB.INFINITY)
                slack = gurobi.addMVar(n)
                zeta = gurobi.addMVar(n, vtype=GRB.BINARY)
                margins = [float(model.signs[i]) * (model.rows[i] @ w + b) for i in range(n)]
                for i in range(n):
                    gurobi.addConstr(margins[i] + slack[i] >= 1.0)
                for i in model.counted:
                    if model.big_m is None:
                        gurobi.addConstr((zeta[i].item() == 1) >> (slack[i].item() <= 0.0))
                    else:
                        gurobi.addConstr(slack[i] <= model.big_m * (1.0 - zeta[i]))
                for group, mass in model.groups:
                    gurobi.addConstr(model.mass[group] @ zeta[group] >= mass)
                gurobi.setObjective(0.5 * (w @ w) + model.cost @ slack)
                if model.start is not None:
                    w.Start, slack.Start, zeta.Start = _start_values(model, model.start)
                    b.Start = model.start.intercept
                gurobi.optimize()
                if gurobi.Status == GRB.INTERRUPTED:
                    raise KeyboardInterrupt
                claims = {GRB.OPTIMAL: "optimal", GRB.INFEASIBLE: "infeasible"}
                claims[GRB.INF_OR_UNBD] = "infeasible"  # the objective is never below 0
                coef = np.array(w.X) if gurobi.SolCount else None
                claim = claims.get(gurobi.Status, "")
                bound = np.inf if claim == "infeasible" else gurobi.ObjBound
                return _Outcome(coef, float(bound), claim)
    except module.GurobiError as error:
        if error.errno == GRB.Error.SIZE_LIMIT_EXCEEDED:
            raise RuntimeError(_TOO_LARGE.format("Gurobi", n, d)) from error
        raise


def _cplex(module: Any, model: _Model) -> _Outcome:
    (n, d), infinity = model.rows.shape, module.infinity
    with module.Cplex() as cplex:
        for stream in ("log", "results", "warning", "error"):
            getattr(cplex, f"set_{stream}_stream")(None)
        cplex.parameters.timelimit.set(model.time_limit)
        cplex.parameters.threads.set(1)
        # Columns: weights, bias, slacks, binaries.
        free, m = d + 1, len(model.counted)
        first_slack, first_zeta = free, free + n
        cplex.variables.add(
            obj=[0.0] * free + model.cost.tolist() + [0.0] * m,
            lb=[-infinity] * free + [0.0] * (n + m),
            ub=[infinity] * (free + n) + [1.0] * m,
            types="C" * (free + n) + "B" * m,
        )
        cplex.objective.set_quadratic([1.0] * d + [0.0] * (1 + n + m))
        place = {int(i): first_zeta + k for k, i in enumerate(model.counted)}
        for i in range(n):
            row = (model.signs[i] * model.rows[i]).tolist()
            terms = [[*range(free), first_slack + i], [*row, float(model.signs[i]), 1.0]]
            cplex.linear_constraints.add(lin_expr=[terms], senses="G", rhs=[1.0])
        for i, z in place.items():
            if model.big_m is None:
                cplex.indicator_constraints.add(
                    lin_expr=[[first_slack + i], [1.0]], sense="L", rhs=0.0, indvar=z
                )
            else:
                terms = [[first_slack + i, z], [1.0, model.big_m]]
                cplex.linear_constraints.add(lin_expr=[terms], senses="L", rhs=[model.big_m])
        for group, mass in model.groups:
            terms = [[place[int(i)] for i in group], model.mass[group].tolist()]
            cplex.linear_constraints.add(lin_expr=[terms], senses="G", rhs=[mass])
        if model.start is not None:
            coef, lack, held = _start_values(model, model.start)
            values = [*coef, model.start.intercept, *lack, *held[model.counted]]
            pair = module.SparsePair(list(range(free + n + m)), [float(x) for x in values])
            cplex.MIP_starts.add(pair, cplex.MIP_starts.effort_level.repair)
        try:
            cplex.solve()
        except module.exceptions.CplexSolverError as error:
            if error.args[2] == module.exceptions.error_codes.CPXERR_RESTRICTED_VERSION:
                raise RuntimeError(_TOO_LARGE.format("CPLEX", n, d)) from error
            raise
        solution = cplex.solution
        status = solution.get_status()
        if status in (solution.status.MIP_abort_feasible, solution.status.MIP_abort_infeasible):
            raise KeyboardInterrupt
        optimal = (solution.status.MIP_optimal, solution.status.optimal_tolerance)
        claim = "optimal" if status in optimal else ""
        if status == solution.status.MIP_infeasible:
            return _Outcome(None, np.inf, "infeasible")
        feasible = solution.is_primal_feasible()
        weights = np.array(solution.get_values(list(range(d)))) if feasible else None
        return _Outcome(weights, float(solution.MIP.get_best_objective()), claim)


_SOLVERS: dict[str, Callable[[Any, _Model], _Outcome]] = {
    "scip": _scip,
    "gurobi": _gurobi,
    "cplex": _cplex,
}
