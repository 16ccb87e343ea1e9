"""Twins of the models, and what must hold for any of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC

from svmproba.solvers import blocks, methods
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.features import fit_features

from ..twins import (
    CASES,
    CLOSED_FORMS,
    LIBSVM_CANNOT,
    Instance,
    bags,
    clarabel_solution,
    closed_form,
    libsvm_solution,
    objective,
    records,
    scores_of,
)

TIGHT = 1e-10
REFERENCES = {"clarabel": (clarabel_solution, 1e-4), "libsvm": (libsvm_solution, 5e-4)}
TWINS = [
    (case, reference)
    for case in CASES
    for reference in REFERENCES
    if reference != "libsvm" or not case.startswith(LIBSVM_CANNOT)
]
GRID = 2.0 ** np.array([-5.0, 0.0, 5.0])


def check_twin(case, fit, reference):
    solve, atol = REFERENCES[reference]
    assert fit.gap.max() <= TIGHT
    for k in range(len(case.grid)):
        for b in range(len(case.counts)):
            instance = case.instance(k, b)
            twin = solve(instance)
            coef, intercept = fit.coef[k, b], fit.intercept[k, b]
            value = objective(instance, coef, intercept)
            assert value <= twin.value * (1 + 2 * TIGHT)
            assert value >= twin.value - twin.slack
            # P - P* is at least |w - w*|^2 / 2.
            radius = np.sqrt(2 * value * TIGHT) + np.sqrt(2 * twin.slack)
            assert np.linalg.norm(coef - twin.coef) <= radius
            moved, shift = instance.rows @ (coef - twin.coef), intercept - twin.intercept
            np.testing.assert_allclose(moved + shift if twin.free else moved, 0.0, atol=atol)


@pytest.mark.parametrize(("name", "reference"), TWINS)
def test_twins(name, reference):
    case = CASES[name]()
    fixed, named = case.arguments()
    check_twin(case, fit_ensemble(*fixed, **named, tol=TIGHT, n_jobs=1), reference)


@pytest.mark.parametrize("name", ["square", "very wide", "text", "mixed bounds, very wide"])
def test_twins_without_a_kernel_matrix(name, monkeypatch):
    monkeypatch.setattr(methods, "_KERNEL_ROWS", 0)
    case = CASES[name]()
    fixed, named = case.arguments()
    check_twin(case, fit_ensemble(*fixed, **named, tol=TIGHT, n_jobs=1), "clarabel")


@pytest.mark.parametrize("n_bags", [1, 5])
@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_forms(name, n_bags):
    instance, coef, intercept, _ = closed_form(name)
    counts = np.tile(instance.bounds, (n_bags, 1))
    fit = fit_ensemble(
        instance.rows, instance.signs, counts, np.ones(1), targets=instance.targets, tol=TIGHT
    )
    assert fit.gap.max() <= TIGHT
    best = objective(instance, coef, intercept)
    for b in range(n_bags):
        np.testing.assert_allclose(
            objective(instance, fit.coef[0, b], fit.intercept[0, b]), best, rtol=2 * TIGHT
        )
        radius = np.sqrt(2 * best * 2 * TIGHT)
        np.testing.assert_allclose(fit.coef[0, b], coef, atol=radius, rtol=0)


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_hard_margins_know_no_scale(C, scale):
    rows, signs = np.array([[-1.0], [1.0], [3.0]]) * scale, np.array([-1.0, 1.0, 1.0])
    fit = fit_ensemble(rows, signs, np.full((1, 3), np.inf), np.array([C]))
    assert fit.gap[0, 0] <= 1e-3
    np.testing.assert_allclose(fit.coef[0, 0] * scale, 1.0, rtol=1e-3)
    np.testing.assert_allclose(fit.intercept[0, 0], 0.0, atol=2e-3)


def test_counts_are_repeated_rows():
    rows, signs = records(40, 4)
    counts = bags(signs, 6)
    fit = fit_ensemble(rows, signs, counts, GRID, tol=TIGHT)
    for b, count in enumerate(counts.astype(int)):
        again = np.repeat(rows, count, axis=0), np.repeat(signs, count)
        ones = np.ones((1, count.sum()))
        one = fit_ensemble(*again, ones, GRID, tol=TIGHT)
        np.testing.assert_allclose(fit.coef[:, b], one.coef[:, 0], atol=1e-4)
        one = fit_ensemble(rows, signs, np.ones((1, 40)), GRID, weight=counts[b], tol=TIGHT)
        np.testing.assert_allclose(fit.coef[:, b], one.coef[:, 0], atol=1e-4)


def test_a_bag_is_a_resampled_table():
    rows, signs = records(60, 3, seed=2)
    drawn = np.random.default_rng(0).integers(0, 60, 60)
    counts = np.bincount(drawn, minlength=60).astype(np.uint8)
    fit = fit_ensemble(rows, signs, counts[None], GRID, tol=TIGHT)
    for k, C in enumerate(GRID):
        twin = SVC(kernel="linear", C=C, tol=1e-5).fit(rows[drawn], signs[drawn])
        scores = scores_of(fit, rows)[k, 0]
        np.testing.assert_allclose(scores, twin.decision_function(rows), atol=5e-4)


@pytest.mark.parametrize("name", ["tall", "square", "wide", "very wide", "one-hot", "text"])
def test_dense_is_sparse(name):
    case = CASES[name]()
    rows = case.rows.toarray() if sparse.issparse(case.rows) else case.rows
    forms = [rows, sparse.csr_array(rows), sparse.csr_matrix(rows)]
    shuffled = sparse.csr_array(rows)
    shuffled.indices[:2] = shuffled.indices[:2][::-1].copy()  # columns need not be in order
    shuffled.data[:2] = shuffled.data[:2][::-1].copy()
    shuffled.has_sorted_indices = False
    fits = [
        fit_ensemble(form, case.signs, case.counts, case.grid, tol=TIGHT)
        for form in [*forms, shuffled]
    ]
    for fit in fits[1:]:
        assert fit.gap.max() <= TIGHT
        np.testing.assert_allclose(fit.coef, fits[0].coef, atol=1e-4)
        np.testing.assert_allclose(fit.intercept, fits[0].intercept, atol=1e-4)


def test_more_columns_than_records_are_rotated():
    rows, signs = records(30, 100, seed=5)
    counts = bags(signs, 6)
    feature_map, rotated = fit_features(rows)
    assert rotated.shape == (30, 30)
    plain = fit_ensemble(rows, signs, counts, GRID, tol=TIGHT)
    fit = fit_ensemble(rotated, signs, counts, GRID, tol=TIGHT)
    np.testing.assert_allclose(feature_map.input_coef(fit.coef), plain.coef, atol=1e-5)
    np.testing.assert_allclose(fit.intercept, plain.intercept, atol=1e-4)


@pytest.mark.parametrize(("n", "d", "gamma"), [(100, 3, 0.5), (60, 10, 0.02)])
def test_kernel_rows_are_libsvms_kernel(n, d, gamma):
    records_, signs = records(n, d, seed=7)
    new = np.random.default_rng(1).normal(size=(50, d))
    feature_map, rows = fit_features(records_, "rbf", gamma=gamma)
    # Real weights leave a multiplier between its bounds: the bias is unique.
    counts = bags(signs, 5, seed=7) * np.random.default_rng(2).uniform(0.5, 2.0, n)
    fit = fit_ensemble(rows, signs, counts, GRID, tol=1e-9)
    assert fit.gap.max() <= 1e-9
    own_rows, new_rows = feature_map.transform(records_), feature_map.transform(new)
    for k, C in enumerate(GRID):
        for b, count in enumerate(counts):
            twin = SVC(C=C, gamma=gamma, tol=1e-5).fit(records_, signs, sample_weight=count)
            for table, points in ((own_rows, records_), (new_rows, new)):
                scores = table @ fit.coef[k, b] + fit.intercept[k, b]
                np.testing.assert_allclose(scores, twin.decision_function(points), atol=1e-3)


# What must hold for any data. Weights are real numbers in general position: the bias is unique.
any_data = given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(3, 40),
    d=st.integers(1, 6),
    noise=st.sampled_from([0.0, 0.5, 2.0]),
)
few = settings(max_examples=15, deadline=None, derandomize=True)


def draw(seed, n, d, noise):
    rng = np.random.default_rng(seed)
    rows, signs = records(n, d, seed, noise)
    counts = bags(signs, 5, seed) + 0.01  # no record is quite absent
    return rng, rows, signs, counts, {"weight": rng.uniform(0.5, 2.0, n), "tol": TIGHT}


def assert_same_scores(fit, rows, other, other_rows):
    assert max(fit.gap.max(), other.gap.max()) <= TIGHT
    scores, expected = scores_of(other, other_rows), scores_of(fit, rows)
    np.testing.assert_allclose(scores, expected, atol=1e-4)


@few
@any_data
def test_gaps_are_certified(seed, n, d, noise):
    rng, rows, signs, _, _ = draw(seed, n, d, noise)
    counts = rng.integers(0, 4, (5, n))  # a class may be absent from a bag
    fit = fit_ensemble(rows, signs, counts, GRID)
    assert (fit.gap >= 0).all()
    assert (fit.gap <= 1e-3).all()
    assert np.isfinite(fit.coef).all()
    assert np.isfinite(fit.intercept).all()


@few
@any_data
def test_scaling_the_records_scales_C(seed, n, d, noise):
    rng, rows, signs, counts, named = draw(seed, n, d, noise)
    scale = 10.0 ** rng.uniform(-2, 2)
    fit = fit_ensemble(rows, signs, counts, GRID, **named)
    other = fit_ensemble(rows * scale, signs, counts, GRID / scale**2, **named)
    assert_same_scores(fit, rows, other, rows * scale)


@few
@any_data
def test_scaling_the_weights_scales_C(seed, n, d, noise):
    rng, rows, signs, counts, named = draw(seed, n, d, noise)
    scale = 10.0 ** rng.uniform(-6, 6)
    fit = fit_ensemble(rows, signs, counts, GRID, **named)
    named["weight"] *= scale
    other = fit_ensemble(rows, signs, counts, GRID / scale, **named)
    assert_same_scores(fit, rows, other, rows)


@few
@any_data
def test_scaling_the_targets_scales_the_scores(seed, n, d, noise):
    rng, rows, signs, counts, named = draw(seed, n, d, noise)
    scale = 10.0 ** rng.uniform(-2, 2)
    fit = fit_ensemble(rows, signs, counts, GRID, **named)
    targets = np.full(n, scale)
    other = fit_ensemble(rows, signs, counts, GRID * scale, targets=targets, **named)
    other = other._replace(coef=other.coef / scale, intercept=other.intercept / scale)
    assert_same_scores(fit, rows, other, rows)


@few
@any_data
def test_the_order_of_records_and_columns_does_not_matter(seed, n, d, noise):
    rng, rows, signs, counts, named = draw(seed, n, d, noise)
    order, columns = rng.permutation(n), rng.permutation(d)
    fit = fit_ensemble(rows, signs, counts, GRID, **named)
    mixed = np.ascontiguousarray(rows[np.ix_(order, columns)])
    named["weight"] = named["weight"][order]
    other = fit_ensemble(mixed, signs[order], counts[:, order], GRID, **named)
    back = other._replace(coef=other.coef[:, :, np.argsort(columns)])
    assert_same_scores(fit, rows, back, rows)


@few
@any_data
def test_other_labels_turn_the_score_round(seed, n, d, noise):
    _, rows, signs, counts, named = draw(seed, n, d, noise)
    fit = fit_ensemble(rows, signs, counts, GRID, **named)
    other = fit_ensemble(rows, -signs, counts, GRID, **named)
    turned = other._replace(coef=-other.coef, intercept=-other.intercept)
    assert_same_scores(fit, rows, turned, rows)


@few
@any_data
def test_moving_the_records_moves_only_the_bias(seed, n, d, noise):
    rng, rows, signs, counts, named = draw(seed, n, d, noise)
    moved = rows + 10.0 * rng.normal(size=d)
    fit = fit_ensemble(rows, signs, counts, GRID, **named)
    assert_same_scores(fit, rows, fit_ensemble(moved, signs, counts, GRID, **named), moved)


@few
@any_data
def test_a_constant_column_changes_nothing(seed, n, d, noise):
    rng, rows, signs, counts, named = draw(seed, n, d, noise)
    more = np.insert(rows, rng.integers(d + 1), rng.choice([0.0, 1.0, -7.0]), axis=1)
    fit = fit_ensemble(rows, signs, counts, GRID, **named)
    assert_same_scores(fit, rows, fit_ensemble(more, signs, counts, GRID, **named), more)


@few
@any_data
def test_every_record_with_both_labels_teaches_nothing(seed, n, d, noise):
    _, rows, signs, counts, named = draw(seed, n, d, noise)
    named["weight"] = np.tile(named["weight"], 2)
    counts, both = np.tile(counts, 2), np.vstack([rows, rows])
    fit = fit_ensemble(both, np.append(signs, -signs), counts, GRID, **named)
    assert fit.gap.max() <= TIGHT
    # The least value is two for every record, at w = 0.
    least = 2 * GRID[:, None] * (counts * named["weight"]).sum(axis=1) / 2
    assert ((0.5 * fit.coef**2).sum(axis=-1) <= 2 * TIGHT * least).all()
    assert (np.abs(fit.intercept) <= 1 + 1e-6).all()


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
@pytest.mark.parametrize(
    ("n", "d", "seed", "n_hard", "noise"),
    [(100, 3, 0, 3, 0.0), (100, 3, 1, 10, 0.0), (60, 20, 4, 6, 1.0), (300, 4, 6, 1, 0.5)],
)
def test_bags_with_hard_margins_need_no_second_start(n, d, seed, n_hard, noise, tol, monkeypatch):
    """More than four bags: they start from the full sample and work on the rows near the margin."""
    solve_again, calls = blocks.solve_again, []
    again = lambda *arguments: calls.append(1) or solve_again(*arguments)  # noqa: E731
    monkeypatch.setattr(blocks, "solve_again", again)
    rows, signs = records(n, d, seed, noise)
    counts = bags(signs, 8, seed)
    counts[:, np.random.default_rng(seed).choice(n, n_hard, replace=False)] = np.inf
    grid = 2.0 ** np.arange(-5.0, 6.0)
    fit = fit_ensemble(rows, signs, counts, grid, tol=tol)
    assert calls == []
    assert fit.gap.max() <= tol
    for k in (0, 5, 10):
        bounds = np.where(np.isinf(counts[0]), np.inf, grid[k] * counts[0])
        instance = Instance(rows, signs, np.ones(n), bounds)
        value = objective(instance, fit.coef[k, 0], fit.intercept[k, 0])
        assert value == pytest.approx(clarabel_solution(instance).value, rel=1.1 * tol)
