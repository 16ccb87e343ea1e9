from __future__ import annotations

import numpy as np
import pytest

from svmproba.links._fitting import fit_logistic, smoothed_targets


def test_targets_have_one_pseudo_sample_of_each_class():
    found = smoothed_targets(np.array([True, True, False]))
    np.testing.assert_allclose(found, [3 / 4, 3 / 4, 1 / 3])


def test_logistic_regression_survives_scores_of_any_size():
    scores = np.array([-1e6, -1e3, 1e3, 1e6, -1e6])
    positive = np.array([False, False, True, True, True])
    t = np.where(positive, 4 / 5, 1 / 4)

    def loss(features):
        coef, intercept = fit_logistic(features, positive)
        u = coef @ features + intercept
        return np.sum(np.logaddexp(0, u) - t * u)

    constant = loss(np.empty((0, 5)))
    mean = t.mean()
    entropy = -(mean * np.log(mean) + (1 - mean) * np.log1p(-mean))
    assert constant == pytest.approx(5 * entropy)
    assert loss(scores[np.newaxis]) < constant


@pytest.mark.parametrize("size", [1.0, 1e2, 1e4])
def test_features_that_repeat_each_other_are_one(size):
    """With an exactly singular Hessian, as of two hyperparameter values with the same scores."""
    scores = size * np.repeat([0.0, 2.0], [20, 30])
    positive = np.arange(50) % 3 == 0
    (alone,), intercept = fit_logistic(scores[np.newaxis], positive)
    both, shift = fit_logistic(np.array([scores, 2 * scores]), positive)
    np.testing.assert_allclose(
        both @ np.array([scores, 2 * scores]) + shift, alone * scores + intercept, atol=1e-6
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_feature_that_is_there_twice_has_half_the_coefficient_each(seed):
    """Their difference is free: nothing may drive it to where their sum is rounding."""
    rng = np.random.default_rng(seed)
    scores = 0.01 * rng.normal(size=60)
    positive = scores + 0.01 * rng.normal(size=60) > 0
    once, _ = fit_logistic(scores[np.newaxis], positive)
    twice, _ = fit_logistic(np.vstack([scores, scores]), positive)
    np.testing.assert_allclose(twice, [once[0] / 2] * 2, rtol=1e-5)


@pytest.mark.parametrize("size", [0.01, 1.0, 1000.0])
def test_a_feature_that_is_the_sum_of_others_adds_nothing(size):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        two = size * rng.normal(size=(2, 300))
        positive = two[0] / size + rng.normal(size=300) > 0
        three = np.vstack([two, two.sum(axis=0)])
        (w, c), (v, d) = fit_logistic(three, positive), fit_logistic(two, positive)
        assert np.abs(size * w).max() < 100
        np.testing.assert_allclose(w @ three + c, v @ two + d, atol=1e-5)
