from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit

from svmproba.links import PlattLink, QuadraticLink, SplineLink


def targets(positive):
    """Smoothed targets, (n+ + 1) / (n+ + 2) and 1 / (n- + 2)."""
    n_plus, n_minus = positive.sum(), (~positive).sum()
    return np.where(positive, (n_plus + 1) / (n_plus + 2), 1 / (n_minus + 2))


LINKS = {"quadratic": QuadraticLink, "spline": SplineLink, "rough": lambda: SplineLink(5, 0.0)}
TRUTHS = {
    "logistic": lambda s: expit(1.3 * s + 0.2),
    "curved": lambda s: expit(s + 0.4 * s * np.abs(s)),
    "flat below": lambda s: np.where(s < 0, 0.3, expit(2 * s - 0.85)),
}


def sample(truth, n=400, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=2, size=n)
    return scores, rng.random(n) < truth(scores)


def exponent(link, scores):
    """The exponent by numerical integration of the slope, which the docstring defines."""

    def at(s):
        def slope(u):
            return np.interp(u, link.knots_, link.slopes_)

        inner = link.knots_[(link.knots_ > link.knots_[0]) & (link.knots_ < s)]
        return link.intercept_ + quad(slope, link.knots_[0], s, points=inner, limit=200)[0]

    return np.array([at(s) for s in scores])


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("truth", TRUTHS)
def test_probability_is_the_integral_of_the_slopes(name, truth):
    link = LINKS[name]().fit(*sample(TRUTHS[truth]))
    scores = np.linspace(-5, 5, 23)
    np.testing.assert_allclose(link.predict(scores), expit(exponent(link, scores)), atol=1e-7)


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("seed", range(3))
def test_first_order_conditions(name, truth, seed):
    """At the minimum over non-negative slopes no derivative is negative, and slack where free."""
    scores, positive = sample(TRUTHS[truth], seed=seed)
    link = LINKS[name]().fit(scores, positive)
    spread, residual = scores.std(), link.predict(scores) - targets(positive)
    step = 1e-5
    basis = []
    for k in range(len(link.knots_)):
        moved = LINKS[name]()
        moved.knots_, moved.slopes_ = link.knots_, np.zeros(len(link.knots_))
        moved.slopes_[k], moved.intercept_ = step, 0.0
        p = moved.predict(scores)
        basis.append(np.log(p / (1 - p)) / step / spread)
    a = link.slopes_ * spread
    steps = np.diff(a)
    bend = np.append(0.0, steps) - np.append(steps, 0.0)
    gradient = np.array(basis) @ residual + link.smoothing * bend
    assert abs(residual.sum()) < 1e-6
    assert np.all(gradient > -1e-4)
    assert np.all(np.abs(gradient[a > 0]) < 1e-4)
    assert np.all(a >= 0)


@pytest.mark.parametrize("seed", range(3))
def test_twin_a_quadratic_exponent_by_a_general_minimiser(seed):
    scores, positive = sample(TRUTHS["curved"], n=2000, seed=seed)
    low, high = np.quantile(scores, [0.02, 0.98])
    t = targets(positive)

    def features(s):
        inside = s.clip(low, high)
        line, end = s - inside, np.where(s < low, low, high)
        return inside + line, inside**2 + 2 * end * line

    one, two = features(scores)

    def loss(abc):
        u = abc[0] + abc[1] * one + abc[2] * two
        return np.sum(np.logaddexp(0, u) - t * u)

    best = minimize(loss, [0, 1, 0], method="BFGS", options={"gtol": 1e-6}).x
    x = np.linspace(-6, 6, 61)
    one, two = features(x)
    expected = expit(best[0] + best[1] * one + best[2] * two)
    found = QuadraticLink().fit(scores, positive).predict(x)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_much_smoothing_is_platts_link():
    scores, positive = sample(TRUTHS["curved"])
    stiff = SplineLink(smoothing=1e9).fit(scores, positive)
    x = np.linspace(-8, 8, 33)
    np.testing.assert_allclose(
        stiff.predict(x), PlattLink().fit(scores, positive).predict(x), atol=1e-5
    )


@pytest.mark.parametrize("name", LINKS)
def test_beyond_the_knots_the_exponent_is_a_line_with_the_slope_of_the_end(name):
    link = LINKS[name]().fit(*sample(TRUTHS["logistic"], n=2000))
    for end, slope in ((link.knots_[0], link.slopes_[0]), (link.knots_[-1], link.slopes_[-1])):
        x = end + np.sign(end) * np.array([0.0, 1.0, 2.0])
        p = link.predict(x)
        rise = np.diff(np.log(p / (1 - p)))
        np.testing.assert_allclose(rise, np.sign(end) * slope, rtol=1e-6)


def test_a_curved_truth_is_closer_than_by_platts_link():
    truth, x = TRUTHS["flat below"], np.linspace(-3, 3, 121)
    scores, positive = sample(truth, n=5000)
    errors = {
        make: np.mean((make().fit(scores, positive).predict(x) - truth(x)) ** 2)
        for make in (PlattLink, QuadraticLink, SplineLink)
    }
    assert errors[SplineLink] < errors[QuadraticLink] / 2 < errors[PlattLink] / 2


def test_scores_against_the_labels_give_the_mean_target():
    scores, positive = sample(lambda s: expit(-s))
    link = SplineLink().fit(scores, positive)
    assert not link.slopes_.any()
    np.testing.assert_allclose(link.predict(scores), targets(positive).mean())


@pytest.mark.parametrize(("n_knots", "smoothing"), [(1, 1.0), (6, -1.0), (6, np.nan)])
def test_bad_parameters_are_named(n_knots, smoothing):
    with pytest.raises(ValueError, match=r"(n_knots|smoothing) must be at least"):
        SplineLink(n_knots, smoothing)


@pytest.mark.parametrize("scores", [[0.1] * 5, [1e-200, -1e-200, 0, 0, 2e-200]])
def test_scores_without_spread_give_the_mean_target(scores):
    """The squares of the second scores are zero up to rounding."""
    positive = np.array([True, False, True, True, False])
    link = SplineLink().fit(np.array(scores), positive)
    assert not link.slopes_.any()
    np.testing.assert_allclose(link.predict(np.array(scores)), targets(positive).mean())


def test_knots_of_scores_that_are_mostly_equal_are_the_ends():
    scores = np.append(np.zeros(200), [-1.0, 2.0, 3.0])
    positive = np.append(np.arange(200) % 2 == 0, [False, True, True])
    link = SplineLink().fit(scores, positive)
    assert link.knots_.tolist() == [-1.0, 3.0]
    assert link.slopes_.max() > 0
