"""Constrained SVMs of large tables on torch's CPU: feasible, good, the same whatever the blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from svmproba.solvers.constrained import penalties
from svmproba.solvers.constrained.bags import fit_constrained
from svmproba.solvers.constrained.feasible_point import (
    _best_bias,
    class_sets,
    confirm,
    polish,
)
from svmproba.solvers.constrained.local_search import FEASIBLE, NONE_FOUND, OPTIMAL
from svmproba.solvers.constrained.penalties import _choose
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.runtime import devices

from ..twins import Instance, bags, clarabel_solution, needed_mass, rates, records

torch = pytest.importorskip("torch", reason="the batched engine needs torch")

from svmproba.solvers.gpu import penalties as on_torch  # noqa: E402
from svmproba.solvers.gpu.penalties import best_shift  # noqa: E402

GRID = np.array([0.02, 0.5, 8.0])
FLOORS = np.array(
    [[0.0, 0.0, 0.0], [0.8, 0.0, 0.0], [0.0, 0.9, 0.0], [0.0, 0.0, 0.8], [0.7, 0.7, 0.0],
     [1.0, 0.0, 0.0]]
)  # fmt: skip


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch):
    monkeypatch.setattr(penalties, "_LARGE", 0)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def data():
    rows, signs = records(300, 5, 2)
    rows = rows + 0.5 * signs[:, None]
    return rows, signs, bags(signs, 4, 2).astype(np.uint8)


@pytest.fixture
def fitted(data):
    return fit_constrained(*data, GRID, FLOORS, device="torch")


def all_models(data):
    for b, weight in enumerate(data[2].astype(float)):
        for k, floor in enumerate(FLOORS):
            need = needed_mass(data[1], weight, *floor)
            for j, C in enumerate(GRID):
                yield (k, j, b), weight, need, C


def test_every_point_is_strictly_feasible_and_worth_what_it_says(data, fitted):
    rows, signs, _ = data
    proven = fitted.bound >= fitted.objective * (1 - 1e-6)
    assert np.array_equal(fitted.status, np.where(proven, OPTIMAL, FEASIBLE))
    for place, weight, need, C in all_models(data):
        scores = rows @ fitted.coef[place] + fitted.intercept[place]
        assert np.all(rates(scores, signs, weight) >= need)
        if place[0] == 0:
            continue  # the plain model itself, not the polished one
        loss = weight @ np.maximum(1.0 - signs * scores, 0.0)
        value = 0.5 * fitted.coef[place] @ fitted.coef[place] + C * loss
        assert fitted.objective[place] == pytest.approx(value, rel=1e-12)
        assert 0.0 < fitted.bound[place] <= fitted.objective[place]


def test_no_worse_than_the_constant_classifier(data, fitted):
    rows, signs, _ = data
    for place, weight, need, C in all_models(data):
        constant = polish(rows, signs, weight, C, need, np.zeros(rows.shape[1]))
        if constant is not None:
            assert fitted.objective[place] <= constant[2] * (1 + 1e-8)


def test_as_good_as_the_cpu(data, fitted):
    cpu = fit_constrained(*data, GRID, FLOORS)
    ratio = fitted.objective / cpu.objective
    assert ratio.mean() <= 1.03
    # Both start from the same plain models, and hold the same proofs.
    np.testing.assert_allclose(fitted.bound, cpu.bound, rtol=3e-3)


def test_all_positives_is_certified(data, fitted):
    rows, signs, counts = data
    for j, C in enumerate(GRID):
        bounds = np.where(signs > 0.0, np.where(counts[0] > 0, np.inf, 0.0), C * counts[0])
        exact = clarabel_solution(Instance(rows, signs, np.ones(len(signs)), bounds)).value
        assert fitted.bound[5, j, 0] <= exact * (1 + 1e-7)
        assert fitted.objective[5, j, 0] == pytest.approx(exact, rel=2e-3)


def test_slack_floors_change_nothing(data):
    """A floor that the plain model satisfies leaves it as it is, but for the best bias."""
    rows, signs, counts = data
    floors = np.array([[0.01, 0.01, 0.0]])
    plain = fit_ensemble(rows, signs, counts, GRID, device="torch")
    fit = fit_constrained(rows, signs, counts, GRID, floors, plain=plain, device="torch")
    np.testing.assert_allclose(fit.coef[0], plain.coef, rtol=1e-8)
    np.testing.assert_allclose(fit.objective[0], fit.bound[0], rtol=2e-3)


def test_size_of_the_blocks(data, fitted, monkeypatch):
    sizes = []
    solve = on_torch._fit_part

    def fit_part(table, n_plus, counts, *rest):
        sizes.append(len(counts))
        return solve(table, n_plus, counts, *rest)

    monkeypatch.setattr(on_torch, "_fit_part", fit_part)
    monkeypatch.setattr(devices, "CPU_BYTES", 2**20)
    seen: list[int] = []
    again = fit_constrained(*data, GRID, FLOORS, device="torch", report=seen.append, n_jobs=2)
    assert len(sizes) > 1
    assert sum(sizes) == sum(seen) == 4
    # Rounded otherwise: now and then another record is chosen, and another local optimum found.
    close = np.isclose(again.objective, fitted.objective, rtol=1e-3)
    assert close.mean() >= 0.9
    assert again.objective.mean() == pytest.approx(fitted.objective.mean(), rel=0.02)


def test_memory_that_runs_out(data, fitted, monkeypatch):
    solve, tried = on_torch._fit_part, []

    def fit_part(table, n_plus, counts, *rest):
        tried.append(len(counts))
        if len(counts) > 2:
            raise torch.cuda.OutOfMemoryError
        return solve(table, n_plus, counts, *rest)

    monkeypatch.setattr(on_torch, "_fit_part", fit_part)
    fit = fit_constrained(*data, GRID, FLOORS[:2], device="torch")
    assert tried == [4, 2, 2]
    assert np.all(fit.status == FEASIBLE)


def test_sparse_rows_weights_and_one_class(data):
    rows, signs, counts = data
    masses = counts * np.random.default_rng(0).uniform(0.5, 2.0, len(signs))
    masses[1, signs < 0.0] = 0.0
    fit = fit_constrained(sparse.csr_array(rows), signs, masses, GRID, FLOORS[1:2], device="torch")
    assert np.all(fit.status[:, :, 1] == OPTIMAL)
    assert np.all(fit.intercept[:, :, 1] == 1.0)
    others = [0, 2, 3]
    assert np.all(fit.status[:, :, others] == FEASIBLE)
    for b in others:
        need = needed_mass(signs, masses[b], min_tpr=0.8)
        for j in range(len(GRID)):
            scores = rows @ fit.coef[0, j, b] + fit.intercept[0, j, b]
            assert np.all(rates(scores, signs, masses[b]) >= need - 1e-9)


def test_clashing_floors_have_no_point():
    rows, signs = np.zeros((6, 1)), np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    floors = np.array([[0.9, 0.9, 0.0], [0.9, 0.0, 0.0]])
    fit = fit_constrained(rows, signs, np.ones((2, 6)), GRID, floors, device="torch")
    assert np.all(fit.status[0] == NONE_FOUND)
    assert np.all(np.isnan(fit.coef[0]))
    assert np.all(fit.status[1] == OPTIMAL)  # the constant classifier, at its bound


def test_small_tables_are_searched_on_the_cpu(data, monkeypatch):
    monkeypatch.setattr(penalties, "_LARGE", 10**9)
    rows, signs, counts = data
    plain = fit_ensemble(rows, signs, counts[:1], GRID)
    task = (rows, signs, counts[:1], GRID, FLOORS[1:3])
    here = fit_constrained(*task, plain=plain, effort="fast")
    there = fit_constrained(*task, plain=plain, effort="fast", device="torch")
    np.testing.assert_array_equal(here.coef, there.coef)


@st.composite
def scored(draw):
    """Scores on a coarse grid, so that edges tie, with multiplicities and needs."""
    n_plus, n_minus = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    n = n_plus + n_minus
    scores = np.array(draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n))) / 2.0
    weight = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), float)
    weight[[0, -1]] += 1.0
    signs = np.repeat([1.0, -1.0], [n_plus, n_minus])
    floors = [draw(st.sampled_from([0.0, 0.3, 0.6, 1.0])) for _ in range(3)]
    return scores, signs, weight, needed_mass(signs, weight, *floors)


@settings(max_examples=200, deadline=None)
@given(scored())
def test_best_shift_is_the_best_bias(case):
    scores, signs, weight, need = case
    edge, mass = torch.tensor(signs - scores)[None], torch.tensor(weight)[None]
    n_plus = int((signs > 0.0).sum())
    shift, loss, _ = best_shift(edge, n_plus, mass, torch.tensor(need)[None])
    here = weight > 0.0
    best = _best_bias(scores[here], signs[here], weight[here], class_sets(signs)[:, here], need)
    if best is None:
        assert torch.isinf(loss).all()
        assert torch.isinf(shift).all()
    else:
        losses = [
            weight @ np.maximum(1.0 - signs * (scores + b), 0.0) for b in (best, float(shift))
        ]
        assert losses[0] == pytest.approx(losses[1], abs=1e-9)
        assert float(loss) == pytest.approx(losses[0], abs=1e-9)
        held = rates(scores + float(shift), signs, weight)
        assert np.all(held >= need - 1e-9)


@settings(max_examples=100, deadline=None)
@given(scored())
def test_the_same_records_are_chosen(case):
    scores, signs, weight, need = case
    scores = scores + 1e-3 * np.sqrt(np.arange(1.0, len(signs) + 1.0))  # no ties
    edge, mass = torch.tensor(signs - scores)[None], torch.tensor(weight)[None]
    _, _, chosen = best_shift(edge, int((signs > 0.0).sum()), mass, torch.tensor(need)[None])
    here = weight > 0.0
    expected = np.zeros(len(signs), bool)
    expected[here] = _choose(
        (signs * scores - 1.0)[here], class_sets(signs)[:, here], weight[here], need
    )
    np.testing.assert_array_equal(chosen[0].numpy(), expected)


@settings(max_examples=100, deadline=None)
@given(scored())
def test_points_are_confirmed_as_polished(case):
    scores, signs, weight, need = case
    coef, C = np.array([1.0]), 0.7
    best = polish(scores[:, None], signs, weight, C, need, coef)
    if best is None or best[0][0] > 1.0 + 1e-8:  # no point, or one with larger weights
        return
    strict = best[0][0]
    biases = np.array([best[1] / strict, np.inf])
    raw = np.stack([scores, scores])
    wanted = np.stack([need, need])
    fit = confirm(raw, signs, weight, np.full(2, C), wanted, np.ones((2, 1)), biases)
    assert fit[0][0] == pytest.approx(best[0])
    assert fit[1][0] == pytest.approx(best[1])
    assert fit[2][0] == pytest.approx(best[2])
    assert fit[2][1] == np.inf


def test_a_point_that_fails_is_polished(data, monkeypatch):
    """What the device says of its points is not trusted."""
    rows, signs, counts = data
    find = on_torch.find_points

    def find_wrong(*task):
        for part, point, bound in find(*task):
            point[..., -1] -= 0.1
            yield part, point, bound

    task = (rows, signs, counts[:1], GRID, FLOORS[1:2])
    fit = fit_constrained(*task, device="torch")
    monkeypatch.setattr(on_torch, "find_points", find_wrong)
    again = fit_constrained(*task, device="torch")
    np.testing.assert_allclose(again.objective, fit.objective, rtol=1e-8)


@pytest.mark.parametrize("scale", [1.0, 1e-4])
def test_the_unit_of_the_columns_does_not_matter(scale):
    """Where the largest bounds on the device are too small, the CPU finds a point."""
    rows, signs = records(300, 4, 0)
    weight, floors = np.ones(300), np.array([[0.6, 0.5, 0.0]])
    fit = fit_constrained(
        rows * scale, signs, np.ones((1, 300), np.uint8), np.ones(1), floors, device="torch"
    )
    assert fit.status[0, 0, 0] != NONE_FOUND
    scores = scale * rows @ fit.coef[0, 0, 0] + fit.intercept[0, 0, 0]
    assert np.all(rates(scores, signs, weight) >= needed_mass(signs, weight, *floors[0]))
