"""Floors under the shares of any sets of records, against enumeration and SCIP."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svmproba.solvers.constrained import penalties
from svmproba.solvers.constrained.bags import fit_constrained
from svmproba.solvers.constrained.feasible_point import class_sets, mass_in_sets, polish
from svmproba.solvers.constrained.local_search import IMPOSSIBLE, OPTIMAL
from svmproba.solvers.constrained.mip import solve_exact
from svmproba.solvers.constrained.single import solve_constrained

from ..twins import records
from .enumeration import check_point, enumerated

#: By class (1, -1 or 0 for both), subgroup (0, 1 or None for all) and floor.
FLOORS: dict[str, list[tuple[int, int | None, float]]] = {
    "positives of both subgroups": [(1, 0, 0.7), (1, 1, 1.0)],
    "positives of all and of one": [(1, None, 0.6), (1, 1, 0.9)],
    "one subgroup in both classes": [(1, 0, 0.8), (-1, 0, 0.6)],
    "accuracy of a subgroup": [(0, 1, 0.9)],
    "all kinds": [(1, 0, 0.6), (-1, 1, 0.7), (0, None, 0.7), (0, 0, 0.5)],
}


def sets_of(signs: Any, subgroup: Any, kinds: list[tuple[int, int | None, float]]) -> Any:
    chosen = [
        (signs == sign if sign else signs != 0) & (subgroup == label if label is not None else True)
        for sign, label, _ in kinds
    ]
    return np.array(chosen), np.array([floor for *_, floor in kinds])


def tiny(seed: int, n: int = 10) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    rows, signs = records(n, 2, seed)
    return rows, signs, rng.integers(0, 2, n), rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("floors", FLOORS)
@pytest.mark.parametrize("seed", range(4))
def test_enumeration_agrees(floors, seed):
    rows, signs, subgroup, weight = tiny(seed)
    sets, shares = sets_of(signs, subgroup, FLOORS[floors])
    need, C = mass_in_sets(sets, weight, shares), (0.05, 0.5, 2.0, 20.0)[seed]
    best = enumerated(rows, signs, weight, C, need, sets)
    task: dict[str, Any] = {"need": need, "sets": sets, "weight": weight, "effort": 100}
    found = solve_constrained(rows, signs, C, bound="bb", **task)
    if best == np.inf:
        assert found.status == "infeasible"
        return
    assert found.status == "optimal"
    assert found.objective == pytest.approx(best, rel=1e-6)
    check_point(found, rows, signs, weight, C, need, sets)
    for bound in ("svm", "quantile"):
        assert solve_constrained(rows, signs, C, bound=bound, **task).bound <= best * (1 + 1e-7)


@pytest.mark.parametrize("floors", FLOORS)
def test_scip_agrees(floors):
    pytest.importorskip("pyscipopt")
    rows, signs = records(30, 3, 5)
    rows, subgroup, weight = rows + 0.5 * signs[:, None], np.arange(30) % 2, np.ones(30)
    sets, shares = sets_of(signs, subgroup, FLOORS[floors])
    task: dict[str, Any] = {"need": mass_in_sets(sets, weight, shares), "sets": sets}
    ours = solve_constrained(rows, signs, 0.5, bound="bb", effort="fast", **task)
    nothing = ours._replace(
        coef=None, objective=np.inf, bound=0.0, status="no_feasible_point_found", satisfied=None
    )
    theirs = solve_exact(rows, signs, 0.5, solver="scip", start=nothing, **task)
    assert theirs.status == "optimal"
    assert ours.gap <= 1e-5  # making a point strictly feasible costs something in both classes
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-4)
    for found in (ours, theirs):
        check_point(found, rows, signs, weight, 0.5, task["need"], sets)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(sorted(FLOORS)))
def test_polish_finds_the_best_bias(seed, floors):
    rng = np.random.default_rng(seed)
    rows, signs, subgroup, weight = tiny(seed, int(rng.integers(4, 20)))
    weight[0] = 1.0
    sets, shares = sets_of(signs, subgroup, FLOORS[floors])
    need, coef = mass_in_sets(sets, weight, shares), rng.normal(size=2) * 3.0
    values, scores = [], rows @ coef
    for b in signs - scores:
        held = signs * (scores + b) >= 1.0 - 1e-12
        if np.all((sets & held) @ weight >= need):
            slack = np.maximum(1.0 - signs * (scores + b), 0.0)
            values.append(0.5 * coef @ coef + weight @ slack)
    found = polish(rows, signs, weight, 1.0, need, coef, sets)
    if found is not None:
        held = signs * (rows @ found[0] + found[1]) >= 1.0
        assert np.all((sets & held) @ weight >= need)
    if values:
        assert found is not None
        assert found[2] == pytest.approx(min(values), rel=1e-7)


@pytest.mark.parametrize("case", ["plain", "bootstrapped"])
def test_the_three_sets_of_classes_are_the_default(case):
    rows, signs = records(60, 3, 1)
    weight = np.ones(60)
    if case == "bootstrapped":
        weight = np.bincount(np.random.default_rng(0).integers(60, size=60), minlength=60) * 1.0
    sets = class_sets(signs)
    need = mass_in_sets(sets, weight, np.array([0.7, 0.3, 0.0]))
    one = solve_constrained(rows, signs, 0.3, need=need, weight=weight, effort=200)
    # Neither the order of the sets nor a set that is there twice changes anything.
    order = [2, 1, 0, 1]
    other = solve_constrained(
        rows, signs, 0.3, need=need[order], sets=sets[order], weight=weight, effort=200
    )
    assert one.objective == other.objective
    assert np.array_equal(one.coef, other.coef)


@pytest.mark.parametrize("large", [False, True])
def test_members_keep_the_floors_of_subgroups_in_their_bags(large, monkeypatch):
    if large:
        monkeypatch.setattr(penalties, "_LARGE", 0)
    rows, signs = records(80, 3, 2)
    rng = np.random.default_rng(0)
    counts = np.array([np.bincount(rng.integers(80, size=80), minlength=80) for _ in range(6)])
    sets, _ = sets_of(signs, np.arange(80) % 3, [(1, 0, 0.0), (1, 1, 0.0), (1, None, 0.0)])
    floors = np.array([[0.0, 0.0, 0.0], [0.5, 0.9, 0.6], [1.0, 1.0, 0.0]])
    grid = np.array([0.1, 1.0])
    fit = fit_constrained(rows, signs, counts, grid, floors, sets=sets, effort="fast")
    margins = signs * (fit.coef @ rows.T + fit.intercept[..., None])
    for k, floor in enumerate(floors[1:], 1):
        for b, weight in enumerate(counts):
            held = (margins[k, :, b] >= 1.0)[:, None] & sets
            assert np.all(held @ weight >= mass_in_sets(sets, weight * 1.0, floor))
    assert np.all(fit.bound <= fit.objective)
    convex = fit.bound[2] >= fit.objective[2] * (1 - 1e-2)  # all of two sets: no choice
    assert convex.all()
    if not large:
        assert np.all(fit.status[2] == OPTIMAL)


def test_a_set_that_a_bag_lacks_asks_for_nothing():
    rows, signs = records(20, 2, 3)
    counts = np.ones((1, 20), int)
    rare = (signs > 0) & (np.cumsum(signs > 0) == 1)
    counts[0, rare] = 0
    sets = np.array([signs > 0, rare])
    with_it, without = (
        fit_constrained(rows, signs, counts, [0.5], np.array([[0.7, floor]]), sets=sets)
        for floor in (1.0, 0.0)
    )
    assert with_it.objective[0, 0, 0] == without.objective[0, 0, 0]


def test_a_clash_of_subgroups_is_proven():
    """Two equal rows with opposite labels, each a subgroup of its own."""
    rows = np.array([[0.0], [0.0], [1.0], [-1.0], [2.0], [-2.0]])
    signs = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    sets = np.eye(6, dtype=bool)[:2]
    need = np.ones(2)
    found = solve_constrained(rows, signs, 1.0, need=need, sets=sets)
    assert found.status == "infeasible"
    fit = fit_constrained(rows, signs, np.ones((1, 6)), [1.0], np.ones((1, 2)), sets=sets)
    assert fit.status[0, 0, 0] == IMPOSSIBLE


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_only_what_no_floor_needs_is_released(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 15))
    sets, weight = rng.random((3, n)) < 0.6, rng.integers(1, 4, n).astype(float)
    held, excess = rng.random(n) < 0.7, rng.normal(size=n)
    need = np.floor(rng.random(3) * (sets @ (weight * held)))
    found = penalties._released(held, excess, sets, weight, need)
    kept = held if found is None else found
    assert not np.any(kept & ~held)
    assert np.all(excess[held & ~kept] > 0)
    assert np.all(sets @ (weight * kept) >= need)
    for i in np.flatnonzero(kept & (excess > 0)):  # each of these is needed
        fewer = kept & (np.arange(n) != i)
        assert np.any((sets @ (weight * fewer) < need) & (need > 0) & sets[:, i])
    assert (found is None) == np.array_equal(kept, held)
