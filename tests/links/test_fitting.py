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
