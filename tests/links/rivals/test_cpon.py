from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from svmproba.links import CponLink
from svmproba.links.rivals._cpon import beta_shapes, log_betainc, tail_ratio

SCORES = np.array([-2, -1.5, -1, 0.2, -0.4, 0.8, 1.4, 2.2])
POSITIVE = np.arange(8) > 3
PLUS, MINUS = np.array([2.2734490, 0.9285918]), np.array([0.8616248, 2.9536880])

# ln I_u(a, b), by quadrature with 60 digits.
DEEP_TAILS = [
    (1000.0, 1000.0, 0.2, -450.49667780806175),
    (9000.0, 1000.0, 0.5, -3686.4541029248785),
    (1e4, 1e4, 0.25, -2881.998422075533),
    (500.0, 2.0, 0.05, -1491.700718922764),
]


def test_worked_example():
    link = CponLink().fit(SCORES, POSITIVE)
    np.testing.assert_allclose(link.plus_, PLUS, atol=1e-7)
    np.testing.assert_allclose(link.minus_, MINUS, atol=1e-7)
    P = tail_ratio(np.linspace(0, 1, 11), link.plus_, link.minus_)
    expected = [0, 0.0071, 0.0484, 0.1642, 0.3804, 0.6421, 0.8434, 0.9483, 0.9883, 0.9989, 1]
    np.testing.assert_allclose(P, expected, atol=6e-5)


def test_twin_by_scipys_beta():
    link = CponLink().fit(SCORES, POSITIVE)
    u = 0.01 + 0.98 * (SCORES + 2) / 4.2
    lower, upper = beta.cdf(u, *PLUS), beta.sf(u, *MINUS)
    np.testing.assert_allclose(link.predict(SCORES), lower / (lower + upper), atol=1e-6)
    bayes = CponLink(bayes=True).fit(SCORES, POSITIVE)
    of_plus, of_minus = beta.pdf(u, *PLUS), beta.pdf(u, *MINUS)
    np.testing.assert_allclose(bayes.predict(SCORES), of_plus / (of_plus + of_minus), atol=1e-6)


@pytest.mark.parametrize(("a", "b", "u", "expected"), DEEP_TAILS)
def test_logarithm_of_a_tail_that_underflows(a, b, u, expected):
    assert log_betainc(a, b, np.array([u]))[0] == pytest.approx(expected, rel=1e-10)


def test_logarithm_joins_the_plain_one():
    u = np.linspace(0.3, 0.6, 31)
    values = log_betainc(900.0, 100.0, u)
    assert values[0] < -650 < -600 < values[-1]
    assert np.all(np.diff(np.diff(values)) < 0)  # concave: no jump where the formula changes


@given(
    st.tuples(*[st.floats(0.01, 1e4)] * 4),
    st.lists(st.floats(0.01, 0.99), min_size=2, max_size=20),
)
@settings(max_examples=80, deadline=None)
def test_ratio_never_falls_and_is_never_nan(shapes, points):
    u = np.sort(points)
    P = tail_ratio(u, np.array(shapes[:2]), np.array(shapes[2:]))
    assert np.all((P >= 0) & (P <= 1))
    assert np.all(np.diff(P) >= -1e-9)


def test_two_narrow_classes_far_apart():
    P = tail_ratio(np.array([0.3, 0.5, 0.7]), np.array([9e3, 1e3]), np.array([1e3, 9e3]))
    assert P[0] == 0.0
    assert P[1] == pytest.approx(0.5)
    assert P[2] == 1.0


def test_moments_are_those_of_the_values():
    u = np.random.default_rng(0).beta(2, 5, size=1000)
    a, b = beta_shapes(u)
    assert beta.mean(a, b) == pytest.approx(u.mean())
    assert beta.var(a, b) == pytest.approx(u.var())


def test_shapes_are_bounded_at_the_same_mean():
    a, b = beta_shapes(np.full(5, 0.2))
    assert max(a, b) == pytest.approx(1e4)
    assert a / (a + b) == pytest.approx(0.2)
    a, b = beta_shapes(np.array([0.0, 1.0]))
    assert min(a, b) == pytest.approx(1e-2)


@pytest.mark.parametrize("bayes", [True, False])
def test_exchanged_labels_exchange_the_probabilities(bayes):
    x = np.linspace(-3, 3, 9)
    P = CponLink(bayes).fit(SCORES, POSITIVE).predict(x)
    other = CponLink(bayes).fit(-SCORES, ~POSITIVE).predict(-x)
    np.testing.assert_allclose(other, 1 - P, atol=1e-12)


def test_frequencies_count_in_the_bayes_form_alone():
    scores, positive = np.append(SCORES, SCORES[:4]), np.append(POSITIVE, POSITIVE[:4])
    np.testing.assert_allclose(
        CponLink().fit(scores, positive).predict(SCORES),
        CponLink().fit(SCORES, POSITIVE).predict(SCORES),
    )
    odds = [
        CponLink(bayes=True).fit(s, p).predict([0.0])[0]
        for s, p in ((scores, positive), (SCORES, POSITIVE))
    ]
    ratio = [p / (1 - p) for p in odds]
    assert ratio[0] == pytest.approx(ratio[1] / 2)


def test_constant_scores_say_nothing():
    scores, positive = np.full(10, 0.1), np.arange(10) < 4
    np.testing.assert_allclose(CponLink().fit(scores, positive).predict([0.1, 5]), 0.5)
    np.testing.assert_allclose(CponLink(bayes=True).fit(scores, positive).predict([0.1]), 0.4)


def test_a_single_class_gives_its_smoothed_share():
    with pytest.warns(UserWarning, match="All 8 calibration samples"):
        link = CponLink().fit(SCORES, np.zeros(8, bool))
    np.testing.assert_allclose(link.predict([-1, 3]), 1 / 10)


def test_uniformity():
    rng = np.random.default_rng(0)
    positive = np.arange(400) < 200
    right = np.where(positive, rng.beta(4, 2, 400), rng.beta(2, 4, 400))
    link = CponLink().fit(right, positive)
    assert min(link.uniformity(right, positive)) > 0.05
    wrong = np.where(positive, rng.choice([0.5, 1.0], 400), rng.choice([0.0, 0.5], 400))
    assert max(CponLink().fit(wrong, positive).uniformity(wrong, positive)) < 1e-6


def test_bad_parameter():
    with pytest.raises(ValueError, match=r"epsilon must be a number in \(0, 1/2\), got 0.5"):
        CponLink(epsilon=0.5)
