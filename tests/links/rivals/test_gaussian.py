from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from svmproba.links import GaussianLink

SCORES = np.array([-2, -1.5, -1, 0.2, -0.4, 0.8, 1.4, 2.2])
POSITIVE = np.arange(8) > 3


def test_worked_example():
    adjusted = GaussianLink().fit(SCORES, POSITIVE)
    assert adjusted.slope_ == pytest.approx(1.9864380, abs=1e-7)
    assert adjusted.predict([1.0])[0] == pytest.approx(0.8793658, abs=1e-7)
    plain = GaussianLink(adjusted=False).fit(SCORES, POSITIVE)
    assert plain.middle_ == pytest.approx((1 - 1.075) / 2)
    assert plain.predict([1.0])[0] == pytest.approx(0.8870473, abs=1e-7)


def test_adjusted_keeps_the_boundary():
    assert GaussianLink().fit(SCORES, POSITIVE).predict([0.0])[0] == 0.5


def test_unadjusted_is_bayes_rule_of_two_gaussians():
    rng = np.random.default_rng(0)
    positive = rng.random(300) < 0.3
    scores = rng.normal(size=300) + 1.5 * positive
    x = np.linspace(-3, 4, 30)
    plus, minus = scores[positive], scores[~positive]
    variance = (plus.var() * len(plus) + minus.var() * len(minus)) / 298
    of_plus = len(plus) * norm.pdf(x, plus.mean(), variance**0.5)
    of_minus = len(minus) * norm.pdf(x, minus.mean(), variance**0.5)
    P = GaussianLink(adjusted=False).fit(scores, positive).predict(x)
    np.testing.assert_allclose(P, of_plus / (of_plus + of_minus), rtol=1e-12)
    lda = LinearDiscriminantAnalysis(solver="lsqr").fit(scores[:, None], positive)
    # scikit-learn divides by n.
    np.testing.assert_allclose(P, lda.predict_proba(x[:, None])[:, 1], atol=0.005)


@pytest.mark.parametrize("adjusted", [True, False])
def test_exchanged_labels_exchange_the_probabilities(adjusted):
    x = np.linspace(-3, 3, 9)
    P = GaussianLink(adjusted).fit(SCORES, POSITIVE).predict(x)
    np.testing.assert_allclose(
        GaussianLink(adjusted).fit(-SCORES, ~POSITIVE).predict(-x), 1 - P, atol=1e-14
    )


@pytest.mark.parametrize("adjusted", [True, False])
def test_no_variance_makes_a_step(adjusted):
    link = GaussianLink(adjusted).fit(np.array([-1, -1, 1, 1.0]), np.arange(4) > 1)
    np.testing.assert_array_equal(link.predict([-1e-9, 0.0, 1e-9]), [0.0, 0.5, 1.0])


@pytest.mark.parametrize("flat", [0, 1])
def test_one_class_of_equal_scores_has_no_variance(flat):
    scores, positive = SCORES.copy(), POSITIVE
    scores[positive == flat] = 4 * flat - 2
    link = GaussianLink().fit(scores, positive)
    of_other = scores[positive != flat]
    variance = of_other.var() * len(of_other) / (len(scores) - 2)
    difference = scores[positive].mean() - scores[~positive].mean()
    assert link.slope_ == pytest.approx(difference / variance)


def test_two_samples_make_a_step():
    link = GaussianLink().fit(np.array([-1.0, 2.0]), np.array([False, True]))
    np.testing.assert_array_equal(link.predict([-0.1, 0.0, 0.1]), [0.0, 0.5, 1.0])


def test_constant_scores():
    scores, positive = np.full(10, 0.1), np.arange(10) < 4
    with pytest.warns(UserWarning, match="does not rise"):
        link = GaussianLink(adjusted=False).fit(scores, positive)
    np.testing.assert_allclose(link.predict([-5, 0.1, 5]), 0.4)


def test_disagreement_is_warned_of():
    with pytest.warns(UserWarning, match="scores and labels disagree"):
        link = GaussianLink().fit(-SCORES, POSITIVE)
    assert link.slope_ < 0


def test_a_single_class_gives_its_smoothed_share():
    with pytest.warns(UserWarning, match="All 8 calibration samples"):
        link = GaussianLink().fit(SCORES, np.ones(8, bool))
    np.testing.assert_allclose(link.predict([-1, 3]), 9 / 10)


def test_gaussian_truth_is_found():
    rng = np.random.default_rng(0)
    positive = rng.random(20000) < 0.5
    scores = rng.normal(size=20000) + np.where(positive, 1, -1)
    P = GaussianLink().fit(scores, positive).predict([0.5])
    assert P[0] == pytest.approx(1 / (1 + np.exp(-1)), abs=0.01)
