"""Exact paths: the models of Newton steps by another way, and what happens when it is blocked."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from svmproba.solvers import ensemble, methods
from svmproba.solvers.core.rows import signed_rows
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.exact_path import homotopy
from svmproba.solvers.problem import Problem

from ..twins import Instance, clarabel_solution, objective

GRID = 2.0 ** np.arange(-5.0, 6.0)
N_BAGS = 8


def gaussians(seed, n=80, d=6, distance=5.0, decimals=None):
    """Records of two classes and their signs; few decimals make ties and dependent rows."""
    rng = np.random.default_rng(seed)
    signs = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    rows = rng.normal(size=(n, d)) + 0.5 * distance / np.sqrt(d) * signs[:, None]
    return rows if decimals is None else np.round(rows, decimals), signs


def draw(n, seed=0, n_bags=N_BAGS):
    rng = np.random.default_rng(seed)
    return rng.multinomial(n, np.full(n, 1 / n), size=n_bags).astype(np.uint8)


@pytest.fixture
def walked(monkeypatch):
    """Note how many values of C each call of the path solved."""
    calls, walk_path = [], methods.walk_path

    def note(*arguments):
        calls.append(walk_path(*arguments))
        return calls[-1]

    monkeypatch.setattr(methods, "walk_path", note)
    return calls


@pytest.mark.parametrize("decimals", [None, 0])
@pytest.mark.parametrize("weighted", [False, True])
def test_models_are_optimal(walked, decimals, weighted):
    rows, signs = gaussians(0, decimals=decimals)
    n = len(rows)
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    targets = rng.uniform(0.5, 1.5, n) if weighted else None
    counts = draw(n)
    fit = fit_ensemble(rows, signs, counts, GRID, weight=weight, targets=targets, tol=1e-6)
    assert walked == [len(GRID)] * N_BAGS
    assert fit.gap.max() <= 1e-6
    targets = np.ones(n) if targets is None else targets
    for k in (0, 5, 10):
        bounds = GRID[k] * counts[0] * (1.0 if weight is None else weight)
        instance = Instance(rows, signs, targets, bounds)
        twin = clarabel_solution(instance)
        value = objective(instance, fit.coef[k, 0], fit.intercept[k, 0])
        assert value == pytest.approx(twin.value, rel=2e-6)


def test_no_record_lies_just_at_the_distance_that_is_watched(monkeypatch):
    """Or rounding would decide whether it is: all bags start from one point."""
    seen, walk_path = [], methods.walk_path

    def note(*arguments):
        solved = walk_path(*arguments)
        seen.append((arguments[5].width, arguments[9].copy()))
        return solved

    monkeypatch.setattr(methods, "walk_path", note)
    rows, signs = gaussians(0)
    fit_ensemble(rows, signs, draw(len(rows)), GRID)
    for width, needed in seen[:2]:  # the bags that set the distances
        assert (needed > 0.1).any()
        assert (needed < 0.95 * width).all()


def test_newton_steps_find_the_same_models(monkeypatch, walked):
    X, y = load_breast_cancer(return_X_y=True)
    task = scale(X), np.where(y == 1, 1.0, -1.0), draw(len(y)), GRID
    fit = fit_ensemble(*task, tol=1e-6)
    assert walked == [len(GRID)] * N_BAGS
    monkeypatch.setattr(methods, "find_route", lambda *_: None)
    other = fit_ensemble(*task, tol=1e-6)
    assert max(fit.gap.max(), other.gap.max()) <= 1e-6
    np.testing.assert_allclose(fit.coef, other.coef, atol=0.05)
    size = np.linalg.norm(fit.coef - other.coef) / np.linalg.norm(other.coef)
    assert size < 1e-3


def test_jobs_and_blocks_change_nothing(monkeypatch, walked):
    rows, signs = gaussians(2)
    task = rows, signs, draw(len(rows)), GRID
    fit = fit_ensemble(*task, n_jobs=1)
    monkeypatch.setattr(ensemble, "_BLOCK_BAGS", 3)
    other = fit_ensemble(*task, n_jobs=2)
    assert walked == [len(GRID)] * 2 * N_BAGS
    assert np.array_equal(fit.coef, other.coef)
    assert np.array_equal(fit.intercept, other.intercept)
    assert np.array_equal(fit.gap, other.gap)


@pytest.mark.parametrize("solved", [0, 4])
def test_a_bag_that_is_given_up_is_solved_by_newton_steps(monkeypatch, solved):
    rows, signs = gaussians(3)
    walk_path = methods.walk_path

    def give_up(*arguments):
        walk_path(*arguments)
        coef, alphas = arguments[-3:-1]
        coef[solved:], alphas[solved:] = 0.0, 0.0
        return solved

    monkeypatch.setattr(methods, "walk_path", give_up)
    fit = fit_ensemble(rows, signs, draw(len(rows)), GRID)
    assert fit.gap.max() <= 1e-3


@pytest.mark.parametrize("seed", range(6))
def test_tables_with_ties_are_certified(monkeypatch, seed):
    """Rows of few values, many of them twice and some with both labels: pieces of length zero."""
    monkeypatch.setattr(homotopy, "_MOST_WRONG", 1.0)
    rows, signs = gaussians(seed, n=60, d=3, distance=[0.0, 1.0, 3.0][seed % 3], decimals=0)
    fit = fit_ensemble(rows, signs, draw(len(rows), seed), GRID)
    assert fit.gap.max() <= 1e-3


def test_overlapping_tables_take_newton_steps(walked):
    rows, signs = gaussians(4, distance=1.0)
    fit_ensemble(rows, signs, draw(len(rows)), GRID[:2])
    assert walked == []


def signed(x, signs):
    """Problem with one column."""
    table, _ = signed_rows(np.asarray(x, dtype=float)[:, None], signs)
    return Problem(table, 1, signs, np.ones(len(signs)), None)


@pytest.mark.parametrize(("n", "most"), [(100, 10), (440, 44), (460, 45), (2000, 45)])
def test_a_tenth_or_45_records_may_be_on_the_wrong_side(n, most):
    for n_wrong in (most, most + 1):
        signs = np.where(np.arange(n) < n // 2, 1.0, -1.0)
        x = signs.copy()
        x[:n_wrong] = -1.0
        assert homotopy._nearly_separable(signed(x, signs)) == (n_wrong == most)


def test_one_class_alone_is_not_separable():
    for sign in (1.0, -1.0):
        assert not homotopy._nearly_separable(signed(np.arange(5.0), np.full(5, sign)))


@pytest.mark.parametrize(
    ("name", "value", "taken"),
    [
        ("_MOST_NUMBERS", 80 * 8, True),
        ("_MOST_NUMBERS", 80 * 8 - 1, False),
        ("_SHORT", 50, True),
        ("_SHORT", 0, False),
    ],
)
def test_exact_paths_are_for_small_tables_and_short_ways(monkeypatch, walked, name, value, taken):
    rows, signs = gaussians(0)
    assert signed_rows(rows, signs)[1] == 8
    monkeypatch.setattr(homotopy, name, value)
    fit = fit_ensemble(rows, signs, draw(len(rows)), GRID)
    assert walked == [len(GRID)] * (N_BAGS if taken else 0)
    assert fit.gap.max() <= 1e-3


def test_exact_paths_leave_hard_margins_alone(monkeypatch, walked):
    walk_path, tried = homotopy.walk_path, []
    note = lambda *arguments: tried.append(1) or walk_path(*arguments)  # noqa: E731
    monkeypatch.setattr(homotopy, "walk_path", note)
    rows, signs = gaussians(0)
    counts = draw(len(rows)).astype(float)
    counts[:, 0] = np.inf
    fit = fit_ensemble(rows, signs, counts, GRID)
    assert tried == []
    assert walked == []
    assert fit.gap.max() <= 1e-3


def test_one_long_way_among_the_first_bags_is_enough(monkeypatch, walked):
    """The others would be as long: Newton steps take them all."""
    walk_path, calls = homotopy.walk_path, []

    def stuck(*arguments):
        calls.append(walk_path(*arguments))
        return calls[-1] - (len(calls) == 3)

    monkeypatch.setattr(homotopy, "walk_path", stuck)
    rows, signs = gaussians(0)
    fit = fit_ensemble(rows, signs, draw(len(rows)), GRID)
    assert calls == [1, len(GRID), len(GRID)]  # the full sample at one C, then bags
    assert walked == []
    assert fit.gap.max() <= 1e-3
