from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

import svmproba.links.rivals._weight_path as weight_path
from svmproba.links.rivals._weight_path import even_weights, fit_weight_paths, read_probability

SIGNS = st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=12)


@given(SIGNS)
def test_bracket_by_the_formula(signs):
    weights = np.arange(1, len(signs) + 1) / (len(signs) + 1)
    plus = [0.0, *(w for w, s in zip(weights, signs, strict=True) if s > 0)]
    minus = [1.0, *(w for w, s in zip(weights, signs, strict=True) if s < 0)]
    found = read_probability(np.array([signs]), weights)
    assert found == pytest.approx((max(plus) + min(minus)) / 2, abs=1e-12)


@given(SIGNS)
def test_count_is_the_bracket_of_the_sorted_signs(signs):
    weights = np.arange(1, len(signs) + 1) / (len(signs) + 1)
    found = read_probability(np.array(signs), weights, "count")
    assert found == read_probability(np.sort(signs)[::-1], weights)


@given(SIGNS, st.sampled_from(["bracket", "count"]))
def test_swapped_labels_swap_the_probability(signs, readout):
    """With labels swapped, the SVM at the weight pi is minus the one at 1 - pi."""
    weights = np.arange(1, len(signs) + 1) / (len(signs) + 1)
    P = read_probability(np.array(signs), weights, readout)
    swapped = read_probability(-np.array(signs)[::-1], weights, readout)
    assert swapped == pytest.approx(1 - P, abs=1e-12)
    assert 0 < P < 1


def test_count_is_the_rule_of_probsvm():
    """Half the first weight, and the step of the grid for every positive score."""
    m = 20
    weights = np.arange(1, m) / m
    scores = np.random.default_rng(0).choice([-1.0, 1.0], (30, m - 1))
    rule = weights[0] / 2 + (scores > 0).sum(axis=1) / m
    assert read_probability(scores, weights, "count") == pytest.approx(rule, abs=1e-12)


@pytest.mark.parametrize(("n", "m"), [(2, 2), (100, 10), (101, 12), (10**6, 100)])
def test_even_weights(n, m):
    weights = even_weights(n)
    assert weights == pytest.approx(np.arange(1, m) / m)
    assert 0.5 in weights


@pytest.mark.parametrize("parts_at_once", [1, 10])
def test_members_are_weighted_svms(parts_at_once, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    positive = X[:, 0] + rng.normal(size=60) > 0.3
    weights, grid = np.array([0.2, 0.5, 0.9]), np.array([0.1, 1.0])
    used, price = rng.random((3, 60)) < 0.8, rng.uniform(0.5, 2, 60)
    monkeypatch.setattr(weight_path, "_PRICE_BYTES", parts_at_once * 8 * 3 * 60)
    fits = fit_weight_paths(X, positive, used, weights, grid, price=price, tol=1e-6)
    for part, fit in zip(used, fits, strict=True):
        assert fit.gap.max() <= 1e-6
        for j, weight in enumerate(weights):
            for c, C in enumerate(grid):
                twin = SVC(
                    kernel="linear", C=C, tol=1e-5, class_weight={1: 2 - 2 * weight, 0: 2 * weight}
                ).fit(X[part], positive[part].astype(int), sample_weight=price[part])
                assert fit.coef[c, j] == pytest.approx(twin.coef_[0], abs=2e-3)
                assert fit.intercept[c, j] == pytest.approx(twin.intercept_[0], abs=2e-3)
