"""Solvers on small problems, compiled and, by ``make uncompiled``, as the interpreter runs them.

Compiled code reads on where an array ends; the interpreter raises an IndexError. The last test runs
this file with NUMBA_DISABLE_JIT=1; `make uncompiled` runs some others as well and counts lines.
"""

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from svmproba.selection._select import Problem, select
from svmproba.solvers import methods
from svmproba.solvers.constrained import single
from svmproba.solvers.constrained.bags import fit_constrained
from svmproba.solvers.constrained.single import solve_constrained
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.gram import Gram

from .tiny import needs, optimum, tiny
from .twins import CASES, bags, clarabel_solution, needed_mass, objective, records

# Divisions by zero are meant: compiled code returns infinity, as NumPy does.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
TABLES = ["tall", "ties", "few positives", "separable", "wide", "one-hot", "sparse", "weights"]
TABLES += ["mixed bounds", "all hard"]


@pytest.mark.parametrize("name", TABLES)
def test_members_are_certified_and_the_certificate_holds(name):
    case = CASES[name]()
    case = case._replace(counts=case.counts[:2], grid=case.grid[:2])
    fixed, more = case.arguments()
    fit = fit_ensemble(*fixed, **more, n_jobs=1)
    assert fit.gap.max() <= 1e-3
    least = clarabel_solution(case.instance(1, 0))
    found = objective(case.instance(1, 0), fit.coef[1, 0], fit.intercept[1, 0])
    assert found <= least.value * (1.0 + 1e-3) + least.slack + 1e-9


@pytest.mark.parametrize("method", ["smo", "working sets"])
def test_kernel_matrices(method, monkeypatch):
    served = methods.METHODS[method]._replace(serves=lambda shape: True)
    monkeypatch.setattr(methods, "METHODS", {method: served})
    rows, signs = records(40, 3, 1)
    squares = (rows**2).sum(axis=1)
    kernel = np.exp(-0.3 * (squares[:, None] + squares - 2.0 * rows @ rows.T))
    fit = fit_ensemble(Gram.of_matrix(kernel), signs, bags(signs, 3), np.array([0.1, 1.0]))
    assert fit.gap.max() <= 1e-3


def test_coordinate_descent(monkeypatch):
    name = "coordinate descent"
    served = methods.METHODS[name]._replace(serves=lambda shape: True)
    monkeypatch.setattr(methods, "METHODS", {name: served})
    rows, signs = records(40, 60, 2)
    fit = fit_ensemble(rows, signs, bags(signs, 2), np.array([0.01, 0.1]))
    assert fit.gap.max() <= 1e-3


def test_exact_paths(monkeypatch):
    monkeypatch.setattr(
        methods,
        "METHODS",
        {"exact path": methods.METHODS["exact path"]} | {"newton": methods.METHODS["newton"]},
    )
    rows, signs = records(60, 3, 3, noise=0.2)
    fit = fit_ensemble(rows, signs, bags(signs, 6), 2.0 ** np.arange(-3, 4))
    assert fit.gap.max() <= 1e-3


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("bound", ["svm", "quantile", "bb"])
def test_constrained(seed, bound):
    problem = tiny(seed)
    least = optimum(problem)
    need, _ = needs(problem.signs, problem.weight, problem.floors)
    found = solve_constrained(
        problem.rows, problem.signs, problem.C, need=need, weight=problem.weight, effort=30,
        bound=bound,
    )  # fmt: skip
    assert found.bound <= least * (1.0 + 1e-9) or np.isinf(least)
    if found.coef is not None:
        assert found.objective >= least * (1.0 - 1e-7)


def test_constrained_bags():
    rows, signs = records(24, 2, 5)
    floors = np.array([[0.0, 0.0, 0.0], [0.6, 0.0, 0.0], [0.8, 0.0, 0.0]])
    counts = bags(signs, 2)
    fit = fit_constrained(rows, signs, counts, np.array([0.1, 1.0]), floors, effort="fast")
    assert np.all(fit.bound <= fit.objective * (1.0 + 1e-9))
    for f, floor in enumerate(floors):
        for b, count in enumerate(counts):
            held = signs * (rows @ fit.coef[f, 1, b] + fit.intercept[f, 1, b]) >= 1.0
            need = needed_mass(signs, count, *floor)
            assert count @ (held & (signs > 0)) >= need[0]


def test_a_longer_search_is_no_worse():
    """It disturbs, begins anew and crosses places; the caller may give the first choice."""
    rows, signs = records(20, 2, 7)
    need = needed_mass(signs, np.ones(20), 0.8, 0.6)
    short, long = (solve_constrained(rows, signs, 1.0, need=need, effort=n) for n in (30, 400))
    assert long.bound <= long.objective <= short.objective
    again = solve_constrained(rows, signs, 1.0, need=need, effort=30, start=long.satisfied)
    assert again.objective <= long.objective * (1.0 + 1e-9)


def test_floors_that_clash():
    """Two records of both classes at the same place cannot both have their margins."""
    rows, signs = records(8, 2, 3)
    rows[0], signs[:2] = rows[1], (1.0, -1.0)
    floors = np.array([[1.0, 1.0, 0.0]])
    fit = fit_constrained(rows, signs, np.ones((1, 8)), np.array([1.0]), floors)
    assert np.all(np.isinf(fit.bound))
    assert np.all(np.isinf(fit.objective))


def test_branching_on_more_records():
    rows, signs = records(14, 2, 7)
    need = needed_mass(signs, np.ones(14), 0.8, 0.6)
    found = solve_constrained(rows, signs, 1.0, need=need, effort=200, bound="bb")
    assert found.bound <= found.objective * (1.0 + 1e-9)


def test_branching_that_is_not_ended_knows_more_than_the_svm(monkeypatch):
    rows, signs = records(24, 2, 7)
    need = needed_mass(signs, np.ones(24), 0.9, 0.5)
    svm = solve_constrained(rows, signs, 1.0, need=need, effort=50, bound="svm")
    monkeypatch.setattr(single, "_PROOF", 40)
    monkeypatch.setattr(single, "_CHUNK", 20)
    found = solve_constrained(rows, signs, 1.0, need=need, effort=50, bound="bb")
    assert 1.1 * svm.bound < found.bound < 0.999 * found.objective


def test_selection():
    rows, signs = records(24, 3, 8)
    groups = [np.array([k]) for k in range(3)]
    problem = Problem(rows, signs > 0, (0.7, 0.6), groups, np.ones(3), 100.0)
    found = select(problem, np.random.default_rng(0))
    right = signs * (rows @ found.coef + found.intercept) > 0
    assert right[signs > 0].mean() >= 0.7
    assert right[signs < 0].mean() >= 0.6
    assert found.bound <= found.cost == len(found.chosen)


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled here")
def test_without_compilation():
    """The same in a process that compiles nothing."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=root,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout
    assert "1 skipped" in done.stdout
