"""No proof is wrong: bounds and claims of the constrained SVM against closed forms."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from svmproba.solvers.constrained.bags import fit_constrained
from svmproba.solvers.constrained.local_search import FEASIBLE, IMPOSSIBLE, OPTIMAL
from svmproba.solvers.constrained.single import Constrained, solve_constrained

from ..tiny import Tiny, needs, optimum, tiny
from ..twins import Instance, clarabel_solution, needed_mass

#: Bounds asked for, and convex solutions to spend: few, so that much is left to the proof.
WAYS = {"bb": 40, "quantile": 10, "svm": 10}


def _solve(problem: Tiny, bound: str) -> Constrained:
    rows, signs, weight, C, floors = problem
    need = needed_mass(signs, weight, **floors)
    fixed: dict[str, Any] = {"need": need, "weight": weight, "effort": WAYS[bound], "bound": bound}
    return solve_constrained(rows, signs, C, **fixed)


def _faults(problem: Tiny, found: Constrained, best: float) -> list[str]:
    """Say what is wrong with a solution."""
    rows, signs, weight, _, floors = problem
    faults = []
    if found.bound > best * (1 + 1e-7):
        faults.append(f"bound {found.bound}, optimum {best}")
    if (found.status == "infeasible" or found.coef is None) and best < np.inf:
        faults.append(f"{found.status}, optimum {best}")
    if found.status == "optimal" and abs(found.objective - best) > 1e-6 * best:
        faults.append(f"optimal {found.objective}, optimum {best}")
    if found.coef is not None:
        if (found.status == "optimal") != (found.gap <= 1e-6):
            faults.append(f"{found.status}, gap {found.gap}")
        need, groups = needs(signs, weight, floors)
        mass = (signs * (rows @ found.coef + found.intercept) >= 1.0) @ groups
        if (mass < need - 1e-12 * groups.sum(0)).any():
            faults.append(f"floors {need}, reached {mass}")
    return faults


def _judge(seeds: range) -> dict[tuple[int, str], list[str]]:
    faults: dict[tuple[int, str], list[str]] = {}
    for seed in seeds:
        problem = tiny(seed)
        best = optimum(problem)
        for bound in WAYS:
            wrong = _faults(problem, _solve(problem, bound), best)
            if wrong:
                faults[seed, bound] = wrong
    return faults


@pytest.mark.parametrize("first", range(0, 1500, 250))
def test_no_proof_is_wrong(first):
    assert not _judge(range(first, first + 250))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1500, 19500, 3000))
def test_no_proof_is_wrong_in_many(first):
    assert not _judge(range(first, first + 3000))


def test_the_branch_and_bound_ends_with_a_proof():
    """Nearly always: points lose a little when they are made strictly feasible."""
    ends = [_solve(tiny(seed), "bb").status in ("optimal", "infeasible") for seed in range(300)]
    assert np.mean(ends) >= 0.99


@pytest.mark.parametrize("seed", range(12))
def test_closed_forms_agree_with_enumeration_by_an_interior_point_method(seed):
    problem = tiny(seed)
    rows, signs, weight, C, floors = problem
    need, groups = needs(signs, weight, floors)
    best, here = np.inf, weight > 0
    for bits in product((False, True), repeat=len(signs)):
        if (np.array(bits) @ groups >= need - 1e-12 * groups.sum(0)).all():
            bounds = np.where(bits, np.inf, C * weight)[here]
            instance = Instance(rows[here], signs[here], np.ones(here.sum()), bounds)
            best = min(best, clarabel_solution(instance).value)
    assert optimum(problem) == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("seed", range(60))
def test_bags_are_judged_as_single_problems_are(seed):
    """The same problem at three values of C, as CEBB2 solves it."""
    rows, signs, weight, C, floors = tiny(seed)
    grid = C * np.array([0.1, 1.0, 10.0])
    levels = [[floors.get(name, 0.0) for name in ("min_tpr", "min_tnr", "min_accuracy")]]
    fit = fit_constrained(rows, signs, weight[None], grid, np.array(levels), effort="fast")
    for c, C_here in enumerate(grid):
        best = optimum(Tiny(rows, signs, weight, C_here, floors))
        value, bound, status = (float(part[0, c, 0]) for part in (fit[2], fit[3], fit[4]))
        assert bound <= best * (1 + 1e-7)
        assert value >= best * (1 - 1e-7)
        if best == np.inf:
            assert status == IMPOSSIBLE
            assert np.isnan(fit.coef[0, c, 0]).all()
        else:
            assert status == (OPTIMAL if bound >= value * (1 - 1e-6) else FEASIBLE)


@pytest.mark.parametrize("size", [1e-6, 1e-9, 1e-12, 1e-30, 1e9, 1e30])
@pytest.mark.parametrize("seed", range(0, 60, 5))
def test_the_unit_of_the_weights_does_not_matter(seed, size):
    problem = tiny(seed)
    weight = np.where(problem.weight > 0, problem.weight + 0.01, 0.0)  # not whole
    one = problem._replace(weight=weight)
    other = one._replace(weight=size * weight, C=problem.C / size)
    best = optimum(one)
    for bound in WAYS:
        assert not _faults(other, _solve(other, bound), best)


@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1e6, 1e9])
@pytest.mark.parametrize("seed", range(0, 60, 5))
def test_the_unit_of_the_columns_does_not_matter(seed, scale):
    problem = tiny(seed)
    other = problem._replace(rows=scale * problem.rows, C=problem.C / scale**2)
    best = optimum(problem) / scale**2
    for bound in WAYS:
        assert not _faults(other, _solve(other, bound), best)


def test_a_full_tree_forgets_no_bound(monkeypatch):
    monkeypatch.setattr("svmproba.solvers.constrained.single._ROOM", 3)
    for seed in range(150):
        problem = tiny(seed)
        best, found = optimum(problem), _solve(problem, "bb")
        assert found.bound <= best * (1 + 1e-7)
        assert found.status != "optimal" or found.objective <= best * (1 + 1e-6)
