from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from svmproba.links import BetaLink


def targets(positive):
    """Smoothed targets, (n+ + 1) / (n+ + 2) and 1 / (n- + 2)."""
    n_plus, n_minus = positive.sum(), (~positive).sum()
    return np.where(positive, (n_plus + 1) / (n_plus + 2), 1 / (n_minus + 2))


def sample(truth, n=400, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=2, size=n)
    return scores, rng.random(n) < truth(scores)


TRUTHS = {
    "inner": lambda s: expit(1.3 * s + 0.2),
    "a is 0": lambda s: 0.3 + 0.6 * expit(3 * s - 4),
    "b is 0": lambda s: 0.6 * expit(3 * s + 4),
}


def bounded_twin(scores, positive):
    """The same fit by a general minimiser with bounds."""
    q = expit(scores).clip(1e-6, 1 - 1e-6)
    x1, x2, t = np.log(q), -np.log(1 - q), targets(positive)

    def loss(abc):
        u = abc[0] * x1 + abc[1] * x2 + abc[2]
        residual = expit(u) - t
        slope = np.array([residual @ x1, residual @ x2, residual.sum()])
        return np.sum(np.logaddexp(0, u) - t * u), slope

    bounds = [(0, None), (0, None), (None, None)]
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000}
    return minimize(loss, [1, 1, 0], jac=True, method="L-BFGS-B", bounds=bounds, options=options).x


@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("seed", range(3))
def test_twin_a_minimiser_with_bounds(truth, seed):
    scores, positive = sample(TRUTHS[truth], seed=seed)
    link = BetaLink().fit(scores, positive)
    abc = bounded_twin(scores, positive)
    np.testing.assert_allclose([link.a_, link.b_, link.c_], abc, rtol=0, atol=1e-4)


@pytest.mark.parametrize(("truth", "name"), [("a is 0", "a_"), ("b is 0", "b_")])
def test_a_negative_coefficient_is_zero_and_the_other_is_fitted_again(truth, name):
    link = BetaLink().fit(*sample(TRUTHS[truth], n=4000))
    assert getattr(link, name) == 0
    assert max(link.a_, link.b_) > 0


def test_calibrated_probabilities_stay_as_they_are():
    scores, positive = sample(expit, n=100_000)
    link = BetaLink().fit(scores, positive)
    # Standard errors here are about .02, .02 and .02.
    assert [link.a_, link.b_, link.c_] == pytest.approx([1, 1, 0], abs=0.08)
    x = np.linspace(-4, 4, 81)
    np.testing.assert_allclose(link.predict(x), expit(x), atol=0.01)


@pytest.mark.parametrize("spread", [0.2, 2])
@pytest.mark.parametrize("ends", [slice(0, 1), slice(0, 9)])
def test_one_sample_against_the_order_is_enough_to_warn(ends, spread):
    """A single sample of either class: the positives have the lowest scores."""
    scores, positive = np.linspace(-spread, spread, 10), np.zeros(10, dtype=bool)
    positive[ends] = True
    with pytest.warns(UserWarning, match="probability falls with the score"):
        BetaLink().fit(scores, positive)


def test_scores_against_the_labels_give_the_mean_target_and_a_warning():
    scores, positive = sample(lambda s: expit(-s))
    with pytest.warns(UserWarning, match="probability falls with the score"):
        link = BetaLink().fit(scores, positive)
    assert (link.a_, link.b_) == (0, 0)
    np.testing.assert_allclose(link.predict(scores), targets(positive).mean())


def test_far_scores_are_clipped():
    link = BetaLink().fit(*sample(expit))
    far = np.log(1e6 - 1)
    np.testing.assert_allclose(link.predict([-1e3, 1e3]), link.predict([-far, far]), rtol=1e-9)
