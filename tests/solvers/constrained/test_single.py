"""The constrained SVM against enumeration, twins, known optima and its own guarantees."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, make_classification

from svmproba.solvers.constrained.bags import fit_constrained
from svmproba.solvers.constrained.feasible_point import confirm, polish
from svmproba.solvers.constrained.local_search import FEASIBLE, OPTIMAL
from svmproba.solvers.constrained.single import (
    EFFORT,
    prepare,
    solve_constrained,
)
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.exact_path.follow import DONE, INFEASIBLE
from svmproba.solvers.exact_path.moves import move

from ..twins import CASES, Instance, bags, clarabel_solution, needed_mass, rates, records
from .enumeration import check_point, enumerated, hard_value

FLOORS: dict[str, dict[str, float]] = {
    "positives": {"min_tpr": 0.75},
    "negatives": {"min_tnr": 0.8},
    "accuracy": {"min_accuracy": 0.8},
    "both classes": {"min_tpr": 0.7, "min_tnr": 0.6},
    "all three": {"min_tpr": 0.6, "min_tnr": 0.5, "min_accuracy": 0.75},
}


def _tiny(seed: int, n: int = 9) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    signs = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    rows = rng.normal(size=(n, 2)) + 0.4 * signs[:, None]
    return rows, signs, rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("floors", FLOORS)
@pytest.mark.parametrize("seed", range(3))
def test_enumeration_agrees(floors, seed):
    rows, signs, weight = _tiny(seed)
    C = (0.05, 1.0, 20.0)[seed]
    need = needed_mass(signs, weight, **FLOORS[floors])
    best = enumerated(rows, signs, weight, C, need)
    found = solve_constrained(rows, signs, C, need=need, weight=weight, effort=100, bound="bb")
    if best == np.inf:
        assert found.status == "infeasible"
        assert found.coef is None
        return
    assert found.status == "optimal"
    assert found.objective == pytest.approx(best, rel=1e-6)
    assert found.gap <= 1e-6
    check_point(found, rows, signs, weight, C, need)


@pytest.mark.parametrize("bound", ["svm", "quantile"])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_are_below_the_optimum(bound, seed):
    rows, signs, weight = _tiny(seed)
    need = needed_mass(signs, weight, min_tpr=0.8)
    best = enumerated(rows, signs, weight, 0.5, need)
    found = solve_constrained(rows, signs, 0.5, need=need, weight=weight, effort=20, bound=bound)
    assert found.bound <= best * (1 + 1e-7)
    assert found.objective >= best * (1 - 1e-7)
    if found.status == "optimal":
        assert found.objective == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("case", ["tall", "separable", "ties", "square", "wide", "one-hot"])
def test_moves_end_at_the_solution(case):
    """From one random choice of hard margins and C to the next."""
    data = CASES[case]()
    rows, signs, weight = data.rows, data.signs, data.counts[0]
    bag = prepare(rows, signs, weight, 1, np.zeros(1, np.uint8))
    task, n = bag.task, len(bag.here)
    rng = np.random.default_rng(0)
    task.alpha[:n], task.cap[:n] = 0.1 * bag.alpha, 0.1 * task.base
    end, value = move(task.space, 0.1 * task.base, np.inf, False, task.tally)
    for step in range(8):
        plain = data.instance(0, 0)._replace(bounds=task.cap[:n].copy())
        parts = (rows[bag.here], signs[bag.here], np.ones(len(bag.here)))
        exact = clarabel_solution(Instance(*parts, plain.bounds)).value
        if end == DONE:
            assert value == pytest.approx(exact, rel=1e-6)
        else:
            assert exact == np.inf
            assert end == INFEASIBLE
            return
        C = 10.0 ** rng.uniform(-2, 1.5)
        hard = (signs[bag.here] > 0) & (rng.random(len(bag.here)) < 0.1 * step)
        goal = np.where(hard, np.inf, C * task.base)
        end, value = move(task.space, goal, np.inf, True, task.tally)


def test_a_cutoff_ends_a_move_only_above_it():
    rows, signs = records(60, 4, 3)
    bag = prepare(rows, signs, np.ones(60), 1, np.zeros(1, np.uint8))
    task, n = bag.task, len(bag.here)
    task.alpha[:n], task.cap[:n] = bag.alpha, task.base
    move(task.space, task.base, np.inf, False, task.tally)
    solution = ("values", "points", "inverses", "marks", "counts")
    start = {name: getattr(task.space, name).copy() for name in solution}
    goal = np.where(signs[bag.here] > 0, np.inf, task.base)
    end, value = move(task.space, goal, np.inf, True, task.tally)
    assert end == DONE
    for cutoff, expected in ((1.001 * value, True), (0.999 * value, False)):
        for name, old in start.items():
            getattr(task.space, name)[:] = old
        end, _ = move(task.space, goal, cutoff, True, task.tally)
        assert (end == DONE) == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(sorted(FLOORS)), st.booleans())
def test_polish_finds_the_best_bias(seed, floors, ties):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 25))
    rows, signs = records(n, 2, seed)
    rows = np.round(rows) if ties else rows
    weight = rng.integers(0, 3, n).astype(float)
    weight[:2] = 1.0
    coef = rng.normal(size=2) * 3.0
    need, rest = needed_mass(signs, weight, **FLOORS[floors]), (signs, weight)
    scores, values = rows @ coef, []
    edges = signs - scores
    for b in [*edges, *(edges[:, None] + edges).ravel() / 2.0]:
        held = rates(
            np.where(np.abs(signs * (scores + b) - 1) < 1e-12, signs, scores + b), signs, weight
        )
        if np.all(held >= need):
            slack = np.maximum(1 - signs * (scores + b), 0.0)
            values.append(0.5 * coef @ coef + weight @ slack)
    found = polish(rows, signs, weight, 1.0, need, coef)
    if not values:  # none, or by weights that are larger by up to 1e-4
        larger = found is not None and np.linalg.norm(found[0]) > (1 + 1e-9) * np.linalg.norm(coef)
        assert found is None or (
            larger and np.all(rates(rows @ found[0] + found[1], *rest) >= need)
        )
        return
    assert found is not None
    assert found[2] == pytest.approx(min(values), rel=1e-7)
    assert np.all(rates(rows @ found[0] + found[1], signs, weight) >= need)


def _wisconsin() -> tuple[Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    part = np.random.default_rng(0).permutation(569)[:512]
    X = X[part]
    return (X - X.mean(0)) / X.std(0), np.where(y[part] == 0, 1.0, -1.0)


def _overlapping(n: int) -> tuple[Any, Any]:
    X, y = make_classification(
        n, 20, n_informative=10, n_clusters_per_class=2, flip_y=0.05, weights=[0.7], random_state=0
    )
    return (X - X.mean(0)) / X.std(0), np.where(y == 1, 1.0, -1.0)


@pytest.mark.parametrize(
    ("C", "floor", "optimum"),
    [
        (1 / 32, 0.9, 2.47348),
        (1 / 32, 0.97, 3.43244),
        (1, 0.9, 25.9567),
        (1, 0.97, 30.5267),
        (32, 0.97, 413.004),
        (1 / 32, 1.0, 7.4581),
        (1, 1.0, 81.192),
        (32, 1.0, 995.76),
    ],
)
def test_known_optima_of_wisconsin_are_proven(C, floor, optimum):
    """Four mixed-integer solvers agreed on these, for ||w||^2 + C sum of slacks: twice ours."""
    rows, signs = _wisconsin()
    weight = np.ones(len(signs))
    need = needed_mass(signs, weight, min_tpr=floor)
    found = solve_constrained(rows, signs, C / 2, need=need, effort="fast", bound="bb")
    assert found.status == "optimal"
    assert 2 * found.objective == pytest.approx(optimum, rel=2e-5)
    check_point(found, rows, signs, weight, C / 2, need)


@pytest.mark.parametrize(
    ("C", "floor", "best"),
    [(1 / 32, 0.7, 7.19614), (1 / 32, 0.9, 9.89372), (1, 0.7, 177.579), (1, 0.9, 263.735),
     (32, 0.7, 5587.94), (32, 0.9, 8328.67)],
)  # fmt: skip
def test_default_effort_reaches_the_best_known(C, floor, best):
    """None of five mixed-integer solvers found better in a minute."""
    rows, signs = _overlapping(300)
    need = needed_mass(signs, np.ones(300), min_tpr=floor)
    found = solve_constrained(rows, signs, C / 2, need=need)
    assert 2 * found.objective <= best * (1 + 1e-5)
    check_point(found, rows, signs, np.ones(300), C / 2, need)


def test_more_effort_is_never_worse():
    rows, signs = _overlapping(300)
    need = needed_mass(signs, np.ones(300), min_tpr=0.9)
    values = [
        solve_constrained(rows, signs, 0.5, need=need, effort=solves).objective
        for solves in (1, 5, 20, 50, 120, 350, 800, 1500)
    ]
    assert np.all(np.diff(values) <= 1e-7 * values[0])
    assert values[-1] < 0.99 * values[0]


def test_same_seed_same_result():
    rows, signs = records(120, 5, 1)
    need = needed_mass(signs, np.ones(120), min_tpr=0.9)
    a, b = (solve_constrained(rows, signs, 1.0, need=need, effort=200, seed=3) for _ in range(2))
    assert a.objective == b.objective
    assert np.array_equal(a.coef, b.coef)


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_a_higher_floor_costs_more_and_a_constant_is_the_most(C):
    rows, signs = records(90, 4, 5)
    weight = bags(signs, 1, 5)[0]
    values = []
    for floor in (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0):
        need = needed_mass(signs, weight, min_tpr=floor)
        found = solve_constrained(rows, signs, C, need=need, weight=weight, effort=400)
        check_point(found, rows, signs, weight, C, need)
        values.append(found.objective)
    assert np.all(np.diff(values) >= -1e-6 * values[-1])
    assert values[-1] <= 2 * C * weight[signs < 0].sum() * (1 + 1e-7)


def test_what_the_plain_svm_meets_costs_one_solve():
    rows, signs = _wisconsin()
    need = needed_mass(signs, np.ones(512), min_tpr=0.9)
    found = solve_constrained(rows, signs, 0.5, need=need)
    plain = fit_ensemble(rows, signs, np.ones((1, 512)), np.array([0.5]), tol=1e-7)
    value = clarabel_solution(Instance(rows, signs, np.ones(512), np.full(512, 0.5))).value
    assert found.status == "optimal"
    assert found.solves == 0  # beside the plain one
    assert found.objective == pytest.approx(value, rel=1e-7)
    assert np.allclose(found.coef, plain.coef[0, 0], atol=1e-3)


def test_multiplicities_are_repeated_records():
    rows, signs = records(50, 3, 8)
    weight = bags(signs, 1, 8)[0]
    again = np.repeat(np.arange(50), weight.astype(int))
    need = needed_mass(signs, weight, min_tpr=0.85)
    assert np.array_equal(need, needed_mass(signs[again], np.ones(len(again)), min_tpr=0.85))
    one = solve_constrained(rows, signs, 1.0, need=need, weight=weight, bound="bb")
    two = solve_constrained(rows[again], signs[again], 1.0, need=need, bound="bb")
    assert one.status == "optimal"
    assert one.objective == pytest.approx(two.objective, rel=1e-5)


def test_sparse_rows_and_far_columns():
    import scipy.sparse as sp

    rows, signs = records(60, 4, 9)
    need = needed_mass(signs, np.ones(60), min_tpr=0.9)
    plain = solve_constrained(rows, signs, 1.0, need=need, effort=100)
    packed = solve_constrained(sp.csr_array(rows), signs, 1.0, need=need, effort=100)
    assert packed.objective == pytest.approx(plain.objective, rel=1e-9)
    far = solve_constrained(rows + 1e4, signs, 1.0, need=need, effort=100)
    assert far.objective == pytest.approx(plain.objective, rel=1e-5)
    assert np.all(rates((rows + 1e4) @ far.coef + far.intercept, signs, np.ones(60)) >= need)


def test_a_start_is_used():
    rows, signs = _overlapping(300)
    need = needed_mass(signs, np.ones(300), min_tpr=0.9)
    good = solve_constrained(rows, signs, 0.5, need=need)
    poor = solve_constrained(rows, signs, 0.5, need=need, effort=1)
    warm = solve_constrained(
        rows, signs, 0.5, need=need, effort=1, start=good.satisfied & (signs > 0)
    )
    assert good.objective < 0.99 * poor.objective
    assert warm.objective <= good.objective * (1 + 1e-7)


def test_clashing_floors():
    rows, signs = records(40, 2, 4)
    for tpr, tnr in ((1.0, 1.0), (1.0, 0.9)):
        need = needed_mass(signs, np.ones(40), min_tpr=tpr, min_tnr=tnr)
        found = solve_constrained(rows, signs, 1.0, need=need, effort=100, bound="bb")
        assert found.status == "infeasible"
        assert found.coef is None
    need = needed_mass(signs, np.ones(40), min_tpr=1.0, min_tnr=0.9)
    found = solve_constrained(rows, signs, 1.0, need=need, effort=100)
    assert found.status == "infeasible"  # the search goes on by branching where it found nothing


def test_both_floors_that_only_a_large_margin_satisfies():
    rows, signs = _wisconsin()
    need = needed_mass(signs, np.ones(512), min_tpr=0.97, min_tnr=0.97)
    found = solve_constrained(rows, signs, 0.5, need=need)
    assert 2 * found.objective <= 32.88
    check_point(found, rows, signs, np.ones(512), 0.5, need)


def test_unknown_names():
    rows, signs = records(10, 2, 0)
    with pytest.raises(ValueError, match="effort must be one of"):
        solve_constrained(rows, signs, 1.0, need=np.zeros(3), effort="some")
    with pytest.raises(ValueError, match="bound must be one of"):
        solve_constrained(rows, signs, 1.0, need=np.zeros(3), bound="some")
    with pytest.raises(ValueError, match="effort must be one of"):
        fit_constrained(rows, signs, np.ones((1, 10)), [1.0], np.zeros((1, 3)), effort="some")


GRID = 2.0 ** np.arange(-5.0, 6.0, 2.0)


@cache
def _bagged(case: str) -> tuple[Any, Any, Any, Any, Any]:
    data = CASES[case]()
    floors = np.zeros((4, 3))
    floors[:, 0] = 0.0, 0.6, 0.9, 1.0
    counts = data.counts[:3]
    fit = fit_constrained(data.rows, data.signs, counts, GRID, floors, effort="fast")
    return data.rows, data.signs, counts, floors, fit


BAGGED = ("tall", "one column", "separable", "few positives", "ties", "wide", "one-hot", "sparse")


@pytest.mark.parametrize("case", BAGGED)
def test_bags_are_feasible_and_between_their_bounds(case):
    rows, signs, counts, floors, fit = _bagged(case)
    assert np.isin(fit.status, (OPTIMAL, FEASIBLE)).all()
    for k, c, b in np.ndindex(fit.status.shape):
        if k == 0:
            continue
        weight, scores = counts[b], rows @ fit.coef[k, c, b] + fit.intercept[k, c, b]
        need = needed_mass(signs, weight, *floors[k])
        assert np.all(rates(scores, signs, weight) >= need)
        loss = GRID[c] * (weight @ np.maximum(1 - signs * scores, 0.0))
        value = 0.5 * fit.coef[k, c, b] @ fit.coef[k, c, b] + loss
        assert fit.objective[k, c, b] == pytest.approx(value, rel=1e-8, abs=1e-12)
        assert fit.bound[k, c, b] <= fit.objective[k, c, b]
        assert value <= 2 * GRID[c] * weight[signs < 0].sum() * (1 + 1e-7)
    assert np.all(np.diff(fit.objective[1:], axis=0) >= -1e-6 * fit.objective[2:])


@pytest.mark.parametrize("case", BAGGED)
def test_all_positives_is_a_convex_problem(case):
    rows, signs, counts, _, fit = _bagged(case)
    dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
    assert (fit.status[3] == OPTIMAL).all()
    for c in range(len(GRID)):
        value = hard_value(dense, signs, counts[0], GRID[c], signs > 0)
        assert fit.objective[3, c, 0] == pytest.approx(value, rel=1e-6)


def test_no_floor_is_the_plain_ensemble_to_the_last_digit():
    rows, signs, counts, floors, fit = _bagged("tall")
    plain = fit_ensemble(rows, signs, counts, GRID)
    assert np.array_equal(fit.coef[0], plain.coef)
    assert np.array_equal(fit.intercept[0], plain.intercept)
    given = plain._replace(coef=plain.coef + 1.0)
    again = fit_constrained(rows, signs, counts, GRID, floors[:1], plain=given)
    assert np.array_equal(again.coef[0], given.coef)


def test_bags_do_not_depend_on_the_jobs():
    rows, signs, counts, floors, fit = _bagged("tall")
    done: list[int] = []
    again = fit_constrained(
        rows, signs, counts, GRID, floors, effort="fast", n_jobs=2, report=done.append
    )
    assert sum(done) == len(counts)
    for part, other in zip(fit, again, strict=True):
        assert np.array_equal(part, other)


def test_a_bag_of_one_class_is_a_constant():
    rows, signs = records(20, 2, 1)
    counts = np.array([(signs > 0) * 1.0, (signs < 0) * 1.0])
    fit = fit_constrained(rows, signs, counts, [1.0], np.array([[0.9, 0.0, 0.0]]))
    assert (fit.status == OPTIMAL).all()
    assert not fit.coef.any()
    assert np.array_equal(fit.intercept[0, 0], [1.0, -1.0])


def test_efforts_are_ordered():
    assert EFFORT["fast"] < EFFORT["default"] < EFFORT["thorough"]


@pytest.mark.parametrize("size", [1e9, 1e16])
def test_margins_that_rounding_hides_are_not_kept(size):
    """The two records are alike: no point gives both their margin, however large the scores."""
    rows, signs, need = np.ones((2, 1)), np.array([1.0, -1.0]), np.array([1.0, 1.0, 0.0])
    weights = np.array([size])
    assert polish(rows, signs, np.ones(2), 1.0, need, weights) is None
    raw, one = (rows @ weights)[np.newaxis], np.ones(1)
    bias = signs[:1] - raw[:, 0]
    found = confirm(raw, signs, np.ones(2), one, need[np.newaxis], weights[np.newaxis], bias)
    assert found[2][0] == np.inf
