from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from svmproba.links import CosineLink


def smooth(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n)
    return scores, rng.random(n) < expit(1.5 * scores)


def by_loops(scores, positive, n_terms, gamma):
    """Coefficients as the formula reads, sums written out."""
    low, high = np.percentile(scores, [1, 99])
    t = np.pi * np.clip((scores - low) / (high - low), 0, 1)
    n = len(t)
    Z, g = np.zeros((n, n_terms + 1)), np.zeros(n)
    for j in range(n):
        for i in range(n):
            if t[i] <= t[j]:
                Z[j] += np.cos(np.arange(n_terms + 1) * t[i]) / n
                g[j] += positive[i] / n
    system = Z.T @ Z / n + gamma * np.diag([k**4 for k in range(n_terms + 1)])
    return np.linalg.solve(system, Z.T @ g / n)


def test_coefficients_are_those_of_the_formula():
    scores, positive = smooth(120)
    scores = scores.round(1)  # ties
    link = CosineLink(5, gamma=1e-4).fit(scores, positive)
    np.testing.assert_allclose(link.coef_, by_loops(scores, positive, 5, 1e-4), atol=1e-9)


@pytest.mark.parametrize(("gamma", "error"), [(0.0, 0.035), (1e-5, 0.025), (1e-3, 0.06)])
def test_smooth_truth_is_found(gamma, error):
    x = np.linspace(-1.9, 1.9, 100)
    found = [CosineLink(gamma=gamma).fit(*smooth(seed=s)).predict(x) for s in range(5)]
    assert np.sqrt(np.mean((found - expit(1.5 * x)) ** 2)) < error


def test_strong_smoothing_leaves_the_base_rate():
    scores, positive = smooth()
    P = CosineLink(gamma=1e9).fit(scores, positive).predict(np.linspace(-2, 2, 9))
    assert np.ptp(P) < 1e-6
    assert P[0] == pytest.approx(positive.mean(), abs=0.15)


def test_cross_validation_smooths_a_flat_truth_more():
    scores, positive = smooth()
    flat = np.random.default_rng(1).random(2000) < 0.3
    assert CosineLink().fit(scores, positive).gamma_ < CosineLink().fit(scores, flat).gamma_


def test_equal_up_to_the_order_of_the_samples():
    scores, positive = smooth(200)
    scores = scores.round(1)
    order = np.random.default_rng(1).permutation(200)
    x = np.linspace(-2, 2, 30)
    before = CosineLink().fit(scores, positive).predict(x)
    after = CosineLink().fit(scores[order], positive[order]).predict(x)
    np.testing.assert_allclose(after, before, atol=1e-12)


def test_exchanged_labels_exchange_the_probabilities():
    scores, positive = smooth(200)
    x = np.linspace(-2, 2, 30)
    P = CosineLink(gamma=1e-5).fit(scores, positive).predict(x)
    other = CosineLink(gamma=1e-5).fit(scores, ~positive).predict(x)
    np.testing.assert_allclose(other, 1 - P, atol=1e-9)


def test_isotonic_projection_never_falls_and_changes_nothing_monotone():
    scores, positive = smooth(300)
    x = np.linspace(-3, 3, 400)
    P = CosineLink(10, gamma=0.0, isotonic=True).fit(scores, positive).predict(x)
    raw = CosineLink(10, gamma=0.0).fit(scores, positive).predict(x)
    assert np.diff(raw).min() < -1e-3
    assert np.diff(P).min() >= 0
    smooth_raw = CosineLink(2, gamma=1e-5).fit(scores, positive)
    smooth_iso = CosineLink(2, gamma=1e-5, isotonic=True).fit(scores, positive)
    at = np.sort(scores)[10:-10]
    np.testing.assert_allclose(smooth_iso.predict(at), smooth_raw.predict(at), atol=1e-9)


def test_constant_scores_give_the_base_rate():
    link = CosineLink().fit(np.full(50, 0.1), np.arange(50) < 20)
    np.testing.assert_allclose(link.predict([-1, 0.1, 1]), 0.4, atol=1e-9)


def test_a_single_class_is_certain():
    with pytest.warns(UserWarning, match="All 20 calibration samples"):
        link = CosineLink().fit(np.linspace(-1, 1, 20), np.ones(20, bool))
    np.testing.assert_allclose(link.predict([-1, 0, 3]), 1, atol=1e-9)


def test_one_sample():
    with pytest.warns(UserWarning, match="All 1 calibration samples"):
        link = CosineLink().fit([0.3], np.array([False]))
    np.testing.assert_allclose(link.predict([0.0]), 0, atol=1e-9)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_terms": 0}, "n_terms must be an integer >= 1, got 0"),
        ({"n_terms": 2.5}, "n_terms must be an integer >= 1, got 2.5"),
        ({"gamma": -1.0}, "gamma must be None or a finite number >= 0, got -1.0"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        CosineLink(**params)
