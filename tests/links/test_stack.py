from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from svmproba.links import PlattLink, StackLink


def targets(positive):
    """Smoothed targets, (n+ + 1) / (n+ + 2) and 1 / (n- + 2)."""
    n_plus, n_minus = positive.sum(), (~positive).sum()
    return np.where(positive, (n_plus + 1) / (n_plus + 2), 1 / (n_minus + 2))


def sample(n=500, n_theta=5, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    scaled = truth + 0.1 * rng.normal(size=(n_theta, n))
    return scaled, rng.random(n) < expit(2 * truth)


@pytest.mark.parametrize("ridge", [0.01, 1.0, 100.0])
def test_first_order_conditions(ridge):
    scaled, positive = sample()
    link = StackLink(ridge).fit(scaled, positive)
    residual = link.predict(scaled) - targets(positive)
    assert residual.sum() == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(scaled @ residual + ridge * link.coef_, 0, atol=1e-6)


def test_one_value_and_hardly_a_ridge_is_platt():
    scaled, positive = sample(n_theta=1)
    link, platt = StackLink(1e-9).fit(scaled, positive), PlattLink().fit(scaled[0], positive)
    np.testing.assert_allclose(link.predict(scaled), platt.predict(scaled[0]), atol=1e-8)


def test_equal_scores_share_the_weight():
    scaled, positive = sample(n_theta=1)
    coef = StackLink(0.1).fit(np.repeat(scaled, 4, axis=0), positive).coef_
    np.testing.assert_allclose(coef, coef[0])
    assert 4 * coef[0] == pytest.approx(StackLink(0.025).fit(scaled, positive).coef_[0])


def test_a_large_ridge_leaves_the_base_rate():
    scaled, positive = sample()
    P = StackLink(1e9).fit(scaled, positive).predict(scaled)
    np.testing.assert_allclose(P, targets(positive).mean(), atol=1e-4)


def test_a_better_value_of_theta_gets_more_weight():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=2000)
    scaled = np.stack([truth, truth + 2 * rng.normal(size=2000)])
    coef = StackLink().fit(scaled, rng.random(2000) < expit(2 * truth)).coef_
    assert coef[0] > 10 * abs(coef[1])


@pytest.mark.parametrize("ridge", [0, -1.0, np.nan])
def test_a_wrong_ridge_is_named(ridge):
    with pytest.raises(ValueError, match="ridge must be positive"):
        StackLink(ridge)
