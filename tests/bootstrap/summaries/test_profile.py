from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from svmproba.bootstrap.fitting.members import Members, mean_scores, member_scores
from svmproba.bootstrap.summaries import profile as module
from svmproba.bootstrap.summaries.profile import (
    profile_records,
    scales_and_thresholds,
    scales_of_varying,
)
from svmproba.solvers.features import fit_features


def members_of(coef, intercept):
    """Linear members from coefficients (n_theta, n_bags, d)."""
    d = coef.shape[2]
    feature_map, _ = fit_features(
        np.zeros((2, d)), gamma=np.nan, kernel="linear", rng=np.random.default_rng(0)
    )
    columns = [np.ascontiguousarray(coef.reshape(-1, d).T)]
    return Members([feature_map], columns, intercept, [coef.mean(axis=1).T.copy()])


def case(seed, n=12, n_theta=3, n_bags=7, decimals=None):
    """Members, records, bags and weights; few decimals make ties."""
    rng = np.random.default_rng(seed)
    coef, intercept = rng.normal(size=(n_theta, n_bags, 2)), rng.normal(size=(n_theta, n_bags))
    X = rng.normal(size=(n, 2))
    if decimals is not None:
        coef, intercept, X = (np.round(a, decimals) for a in (coef, intercept, X))
    counts = rng.poisson(1, size=(n_bags, n)).astype(np.uint8)
    rho = rng.dirichlet(np.ones(n_theta))
    return members_of(coef, intercept), X, counts, rho, rng.random(n) < 0.5


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    size=st.sampled_from([1, 2, 3, 1000, 1001, 5000]),
    kind=st.sampled_from(["normal", "ties", "sorted", "two heaps"]),
)
def test_median_is_that_of_numpy(seed, size, kind):
    values = np.random.default_rng(seed).normal(size=size)
    if kind == "ties":
        values = np.round(values)
    elif kind == "sorted":
        values.sort()
    elif kind == "two heaps":  # the median of the sample may be in the other heap
        values += 100.0 * (values > 0.0)
    assert module._median(values) == np.median(values)


def upper_median(values, weights):
    """Largest value that at least half of the weight reaches, by definition."""
    reached = [v for v in values if weights[values >= v].sum() >= 0.5 - 5e-13]
    return max(reached)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), decimals=st.sampled_from([None, 0]))
def test_profile_is_what_its_definition_says(seed, decimals):
    members, X, counts, rho, positive = case(seed, decimals=decimals)
    thresholds = np.array([-1.0, 0.0, 0.3])
    found = profile_records(
        members, X, rho, counts=counts, positive=positive, thresholds=thresholds
    )
    scores = member_scores(members, X)
    hits, squares = np.zeros((2, 3)), np.zeros((2, 3))
    for i, f in enumerate(scores):
        left_out = counts[:, i] == 0
        if not left_out.any():
            assert np.isnan(found.mean[:, i]).all()
            assert np.isnan(found.median[i])
            continue
        f = f[:, left_out]
        weights = np.repeat(rho / f.shape[1], f.shape[1])
        assert found.mean[:, i] == pytest.approx(f.mean(axis=1))
        assert found.median[i] == upper_median(f.ravel(), weights)
        for k, row in enumerate(f):
            assert found.medians[k, i] == upper_median(row, np.full(len(row), 1 / len(row)))
        above = (f.ravel()[:, np.newaxis] > thresholds) + 0.5 * (
            f.ravel()[:, np.newaxis] == thresholds
        )
        P = np.round(weights @ above, 12)
        hits[int(positive[i])] += P >= 0.5
        squares[int(positive[i])] += (positive[i] - P) ** 2
    assert np.array_equal(found.hits, hits)
    assert found.squares == pytest.approx(squares, abs=1e-9)


@pytest.mark.parametrize("n_bags", [1, 2, 40, 101])
@pytest.mark.parametrize("draw", ["normal", "exponential"])  # the latter's mean is far above
def test_medians_of_many_bags(n_bags, draw):
    intercept = getattr(np.random.default_rng(n_bags), draw)(size=(5, n_bags))
    members, X = members_of(np.zeros((5, n_bags, 2)), intercept), np.zeros((3, 2))
    expected = np.sort(intercept, axis=1)[:, n_bags // 2]
    found = profile_records(members, X, np.full(5, 0.2))
    assert np.array_equal(found.medians, np.repeat(expected[:, np.newaxis], 3, axis=1))
    far = np.abs(expected - intercept.mean(axis=1)) > 0.25 * intercept.std(axis=1)
    assert draw == "normal" or n_bags < 101 or far.any()  # both looks are taken


def test_without_bags_all_of_them_count():
    members, X, _, rho, _ = case(3)
    found = profile_records(members, X, rho)
    assert found.mean == pytest.approx(member_scores(members, X).mean(axis=2).T)
    assert found.hits.shape == (2, 0)


def test_blocks_and_jobs_change_nothing(monkeypatch):
    members, X, counts, rho, positive = case(5, n=40)
    arguments = {"counts": counts, "positive": positive, "thresholds": np.array([-0.5, 0.5])}
    whole = profile_records(members, X, rho, **arguments)
    monkeypatch.setattr("svmproba.bootstrap.summaries.blocks.BLOCK_BYTES", 8 * 60 * 3)
    parts = profile_records(members, X, rho, **arguments)
    threads = profile_records(members, X, rho, n_jobs=2, **arguments)
    for one, two, three in zip(whole, parts, threads, strict=True):
        assert two == pytest.approx(one, nan_ok=True)  # products of other shapes round otherwise
        assert np.array_equal(two, three, equal_nan=True)


def test_mean_scores_are_the_means_of_the_scores():
    members, X, *_ = case(7)
    expected = member_scores(members, X).mean(axis=2)
    assert mean_scores(members, [X]) == pytest.approx(expected)
    assert mean_scores(members, [sparse.csr_array(X)]) == pytest.approx(expected)


def test_scales_are_medians_and_thresholds_cover_the_scores():
    members, X, counts, _, _ = case(11, n=30)
    scales, thresholds = scales_and_thresholds(members, X, counts)
    scores, left_out = member_scores(members, X), (counts == 0).T
    for k, scale in enumerate(scales):
        assert scale == pytest.approx(np.median(np.abs(scores[:, k, :][left_out])))
    assert np.all(np.diff(thresholds) > 0)
    assert 0.0 in thresholds
    largest = np.abs(scores.transpose(0, 2, 1)[left_out]).max()
    assert thresholds[-1] == -thresholds[0] == pytest.approx(largest)
    tiny = members._replace(
        columns=[1e-3 * table for table in members.columns], intercept=1e-3 * members.intercept
    )
    assert scales_and_thresholds(tiny, X, counts)[1] == pytest.approx(1e-3 * thresholds)


def test_many_records_are_represented_by_some(monkeypatch):
    members, X, counts, _, _ = case(13, n=400, n_bags=40)
    exact, _ = scales_and_thresholds(members, X, counts)
    monkeypatch.setattr(module, "N_PILOTS", 100)
    rough, _ = scales_and_thresholds(members, X, counts)
    assert not np.array_equal(rough, exact)
    assert rough == pytest.approx(exact, rel=0.2)


def test_scales_of_nothing_are_one():
    members, X, counts, *_ = case(17)
    no_score = members_of(np.zeros((3, 7, 2)), np.zeros((3, 7)))
    assert scales_and_thresholds(no_score, X, counts)[0].tolist() == [1, 1, 1]
    assert scales_and_thresholds(members, X, np.ones_like(counts))[0].tolist() == [1, 1, 1]


def test_values_whose_mean_scores_are_alike_have_no_finite_scale():
    mean = np.array([[-1.0, 1.0, np.nan], [-1.0, -1.001, np.nan]])
    assert scales_of_varying(np.ones(2), mean).tolist() == [1.0, np.inf]
