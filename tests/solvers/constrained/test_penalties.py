"""Large tables by penalties, and tables whose records tie."""

from __future__ import annotations

import numpy as np
import pytest

from svmproba.solvers.constrained import penalties
from svmproba.solvers.constrained.bags import fit_constrained
from svmproba.solvers.constrained.feasible_point import class_sets
from svmproba.solvers.constrained.penalties import penalty_path
from svmproba.solvers.constrained.single import prepare, solve_constrained
from svmproba.solvers.core.rows import signed_rows
from svmproba.solvers.exact_path.moves import FAILURES, move
from svmproba.solvers.newton.lagrangian import DIRECT_WIDTH, new_state
from svmproba.solvers.problem import Problem

from ..twins import Instance, bags, clarabel_solution, needed_mass, rates, records

FLOORS = (
    {"min_tpr": 0.8},
    {"min_tnr": 0.9},
    {"min_accuracy": 0.85},
    {"min_tpr": 0.7, "min_tnr": 0.7},
    {"min_tpr": 1.0},
)
GRID = np.array([0.02, 0.5, 8.0])


@pytest.fixture(scope="module")
def path():
    rows, signs = records(400, 5, 2)
    rows = rows + 0.6 * signs[:, None]
    weight = bags(signs, 1, 2)[0]
    here = weight > 0.0
    rows, signs, weight = rows[here], signs[here], weight[here]
    needs = np.array([needed_mass(signs, weight, **floors) for floors in FLOORS])
    return (
        rows,
        signs,
        weight,
        needs,
        *penalty_path(rows, signs, weight, GRID, needs, np.zeros(1, np.uint8)),
    )


def test_points_are_feasible_and_worth_what_they_say(path):
    rows, signs, weight, needs, points, bound = path
    for (j, k), (coef, intercept, value) in points.items():
        scores = rows @ coef + intercept
        assert np.all(rates(scores, signs, weight) >= needs[k])
        loss = weight @ np.maximum(1.0 - signs * scores, 0.0)
        assert value == pytest.approx(0.5 * coef @ coef + GRID[j] * loss, rel=1e-9)
        assert 0.0 < bound[j, k] <= value


def test_penalties_are_near_the_search(path):
    rows, signs, weight, needs, points, bound = path
    for (j, k), best in points.items():
        found = solve_constrained(rows, signs, GRID[j], need=needs[k], weight=weight, effort="fast")
        assert bound[j, k] <= found.objective * (1 + 1e-9)
        assert found.bound <= best[2] * (1 + 1e-9)
        assert best[2] <= 1.1 * found.objective


def test_all_positives_is_certified(path):
    rows, signs, weight, _, points, bound = path
    for j, C in enumerate(GRID):
        bounds = np.where(signs > 0.0, np.inf, C * weight)
        exact = clarabel_solution(Instance(rows, signs, np.ones(len(signs)), bounds)).value
        assert bound[j, 4] <= exact * (1 + 1e-7)
        assert points[j, 4][2] == pytest.approx(exact, rel=2e-3)
        assert bound[j, 4] == pytest.approx(exact, rel=2e-3)


def test_hard_margins_missed_by_a_little_still_prove_something(path):
    rows, signs, weight, _, _, bound = path
    table, width = signed_rows(rows, signs)
    problem = Problem(table, rows.shape[1], signs, np.ones(len(signs)), None)
    state, stop = new_state(problem, width), np.zeros(1, np.uint8)
    work = penalties._Work(problem, state, rows, weight, class_sets(signs), stop)
    bounds = np.where(signs > 0.0, np.inf, GRID[1] * weight)
    point, alphas = penalties._solve(work, bounds, np.zeros(width))
    missed = penalties._bound(work, bounds, 0.99 * point, alphas)
    assert missed == pytest.approx(bound[1, 4], rel=1e-3)


def test_wide_tables_need_no_kernel_matrix():
    rows, signs = records(300, DIRECT_WIDTH + 20, 5)
    weight, C = np.ones(300), 1e-3
    needs = np.array([needed_mass(signs, weight), needed_mass(signs, weight, min_tpr=1.0)])
    points, bound = penalty_path(rows, signs, weight, np.array([C]), needs, np.zeros(1, np.uint8))
    for k, hard in enumerate((False, True)):
        bounds = np.where(hard & (signs > 0.0), np.inf, C * weight)
        exact = clarabel_solution(Instance(rows, signs, np.ones(300), bounds)).value
        assert points[0, k][2] == pytest.approx(exact, rel=2e-3)
        assert bound[0, k] == pytest.approx(exact, rel=2e-3)


def test_large_tables_go_this_way(monkeypatch):
    rows, signs = records(120, 4, 7)
    counts, floors = bags(signs, 2, 7), np.array([[0.0, 0.0, 0.0], [0.9, 0.0, 0.0]])
    monkeypatch.setattr(penalties, "_LARGE", 0)
    fitted = fit_constrained(rows, signs, counts, GRID, floors)
    assert np.all(fitted.bound[1] <= fitted.objective[1])
    for b, weight in enumerate(counts.astype(float)):
        need = needed_mass(signs, weight, min_tpr=0.9)
        for j, C in enumerate(GRID):
            scores = rows @ fitted.coef[1, j, b] + fitted.intercept[1, j, b]
            assert np.all(rates(scores, signs, weight) >= need)
            found = solve_constrained(rows, signs, C, need=need, weight=weight)
            assert found.objective == fitted.objective[1, j, b]
            assert found.status in ("feasible", "optimal")


def test_clashing_floors_have_no_point(monkeypatch):
    monkeypatch.setattr(penalties, "_LARGE", 0)
    rows, signs = np.zeros((6, 1)), np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    need = needed_mass(signs, np.ones(6), min_tpr=0.9, min_tnr=0.9)
    found = solve_constrained(rows, signs, 1.0, need=need)
    assert found.status == "no_feasible_point_found"
    assert found.coef is None


def _tied(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two columns of two values that decide, and others of small use: most margins are equal."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((n, 8))
    rows[:, 0], rows[:, 1] = rng.random(n) < 0.1, rng.random(n) < 0.8
    likely = np.where(rows[:, 0] > 0, 0.85, np.where(rows[:, 1] > 0, 0.03, 0.3))
    rows -= rows.mean(axis=0)
    return rows / rows.std(axis=0), np.where(rng.random(n) < likely, 1.0, -1.0)


def test_ties_do_not_stop_the_moves():
    """Hundreds of records on their margin at once, as in churn."""
    rows, signs = _tied(900)
    bag = prepare(rows, signs, np.ones(900), 1, np.zeros(1, np.uint8))
    task = bag.task
    first = 1e-4
    task.cap[:900], task.alpha[:900] = first * task.base, first * bag.alpha
    move(task.space, first * task.base, np.inf, False, task.tally)
    rng, tied = np.random.default_rng(1), 0
    for C in (0.01, 0.1, 1.0, 10.0):
        _, value = move(task.space, C * task.base, np.inf, True, task.tally)
        tied = max(tied, np.sum(np.abs(task.lead[:900]) < 1e-5))
        hard = (signs > 0.0) & (rng.random(900) < 0.5)
        for factor in (2.0, 4.0, 16.0):
            bounds = np.where(hard, factor * C, C) * task.base
            _, value = move(task.space, bounds, np.inf, True, task.tally)
        exact = clarabel_solution(Instance(rows, signs, np.ones(900), bounds)).value
        assert value == pytest.approx(exact, rel=1e-6)
    assert task.tally[FAILURES] == 0
    assert tied > 500


@pytest.mark.parametrize("device", ["cpu", "torch"])
@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
def test_bounds_are_below_points_whose_objective_is_nearly_zero(size, device, monkeypatch):
    """The gap is relative to a share of the zero member's loss, where that is more."""
    if device == "torch":
        pytest.importorskip("torch")
    monkeypatch.setattr(penalties, "_LARGE", 0)
    rng = np.random.default_rng(358)
    rows, signs = size * rng.normal(size=(6, 20)), np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    weights = np.linalg.lstsq(rows, signs, rcond=None)[0] * (1.0 + 1e-9)
    assert (signs * (rows @ weights) >= 1.0).all()
    floors = np.array([[1.0, 2 / 3, 0.0]])
    counts = np.ones((1, 6), np.uint8)
    fit = fit_constrained(rows, signs, counts, np.array([1e3]), floors, device=device)
    assert 0.0 <= fit.bound[0, 0, 0] <= 0.5 * weights @ weights
