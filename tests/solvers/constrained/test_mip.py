"""Mixed-integer solvers as twins of the branch and bound, and what is said without them."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

from svmproba.solvers.constrained.mip import solve_exact
from svmproba.solvers.constrained.single import Constrained, solve_constrained

from ..twins import bags, needed_mass, rates, records

SOLVERS = {"scip": "pyscipopt", "gurobi": "gurobipy", "cplex": "cplex"}
NOTHING = Constrained(None, np.nan, np.inf, 0.0, "no_feasible_point_found", None, 0)
FLOORS = ({"min_tpr": 0.85}, {"min_accuracy": 0.8}, {"min_tpr": 0.7, "min_tnr": 0.65})


def _problem(seed: int = 0):
    rows, signs = records(36, 3, seed)
    return rows, signs, bags(signs, 1, seed)[0]


@pytest.mark.parametrize("floors", FLOORS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers_agree_with_our_branch_and_bound(solver, floors):
    pytest.importorskip(SOLVERS[solver])
    rows, signs, weight = _problem()
    need = needed_mass(signs, weight, **floors)
    ours = solve_constrained(rows, signs, 0.5, need=need, weight=weight, bound="bb")
    assert ours.status == "optimal"
    twin = solve_exact(rows, signs, 0.5, need=need, weight=weight, solver=solver, start=NOTHING)
    assert twin.status == "optimal"
    assert twin.objective == pytest.approx(ours.objective, rel=1e-5)
    assert np.all(rates(rows @ twin.coef + twin.intercept, signs, weight) >= need)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_poor_start_is_improved_and_a_good_one_kept(solver):
    pytest.importorskip(SOLVERS[solver])
    rows, signs, weight = _problem(2)
    need = needed_mass(signs, weight, min_tpr=0.85)
    best = solve_constrained(rows, signs, 5.0, need=need, weight=weight)
    poor = best._replace(coef=0.0 * best.coef, intercept=1.0, objective=1e4, status="feasible")
    for start in (best, poor):
        found = solve_exact(rows, signs, 5.0, need=need, weight=weight, solver=solver, start=start)
        assert found.status == "optimal"
        assert found.objective == pytest.approx(best.objective, rel=1e-5)
        assert found.objective <= start.objective


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_constant_of_the_paper_leaks_and_is_polished(solver):
    pytest.importorskip(SOLVERS[solver])
    rows, signs, weight = _problem(3)
    need = needed_mass(signs, weight, min_tpr=0.85)
    clean = solve_exact(rows, signs, 5.0, need=need, weight=weight, solver=solver, start=NOTHING)
    leaky = solve_exact(
        rows, signs, 5.0, need=need, weight=weight, solver=solver, start=NOTHING, big_m=1000.0
    )
    assert np.all(rates(rows @ leaky.coef + leaky.intercept, signs, weight) >= need)
    assert leaky.objective >= clean.objective * (1 - 1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_clashing_floors_are_proven_infeasible(solver):
    pytest.importorskip(SOLVERS[solver])
    rows, signs, weight = _problem()
    need = needed_mass(signs, weight, min_tpr=1.0, min_tnr=0.9)
    found = solve_exact(rows, signs, 0.5, need=need, weight=weight, solver=solver, start=NOTHING)
    assert found.status == "infeasible"
    assert found.coef is None


@pytest.mark.parametrize("solver", ["gurobi", "cplex"])
def test_a_size_limited_licence_is_recognised(solver):
    pytest.importorskip(SOLVERS[solver])
    rows, signs = records(1200, 5, 0)
    need = needed_mass(signs, np.ones(1200), min_tpr=0.9)
    limited = {"need": need, "solver": solver, "time_limit": 1.0, "effort": "fast"}
    with pytest.raises(RuntimeError, match="allows only smaller problems"):
        solve_exact(rows, signs, 0.5, **limited)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_missing_package_is_named(solver, monkeypatch):
    monkeypatch.setitem(sys.modules, SOLVERS[solver], None)
    rows, signs, _ = _problem()
    with pytest.raises(ImportError, match=f"needs the package {SOLVERS[solver]}: pip install"):
        solve_exact(rows, signs, 0.5, need=np.zeros(3), solver=solver)


def test_a_proven_start_needs_no_solver(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyscipopt", ModuleType("pyscipopt"))
    rows, signs, _ = _problem()
    found = solve_exact(rows, signs, 0.5, need=np.zeros(3), solver="scip")
    assert found.status == "optimal"


def test_unknown_solver():
    rows, signs, _ = _problem()
    with pytest.raises(ValueError, match="solver must be one of"):
        solve_exact(rows, signs, 0.5, need=np.zeros(3), solver="highs")
