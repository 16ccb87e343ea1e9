from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from svmproba.links import SollichLink
from svmproba.links.rivals._sollich import margin_variance

THETA = np.array([-2, -0.5, 0, 0.5, 1, 2])


def hinge(z):
    return max(0.0, 1.0 - z)


def test_worked_values():
    P = SollichLink(C=0.5).predict(THETA)
    expected = [0.182426, 0.377541, 0.5, 0.622459, 0.731059, 0.817574]
    np.testing.assert_allclose(P, expected, atol=5e-7)


def test_the_smallest_C_of_the_paper():
    P = SollichLink(C=2**-5).predict([1.0])[0]
    np.testing.assert_allclose([P, (1 - P) ** 2], [0.51562, 0.23462], atol=5e-6)


@given(st.floats(0.01, 50), st.floats(-20, 20))
def test_ratio_of_the_pseudo_likelihoods(C, theta):
    plus, minus = np.exp(-C * hinge(theta)), np.exp(-C * hinge(-theta))
    assert SollichLink(C).predict([theta])[0] == pytest.approx(plus / (plus + minus), abs=1e-12)


def test_limits_in_C():
    np.testing.assert_allclose(SollichLink(1e-9).predict(THETA), 0.5, atol=1e-8)
    np.testing.assert_allclose(SollichLink(1e6).predict(THETA), [0, 0, 0.5, 1, 1, 1], atol=1e-12)


def test_increasing_in_the_score():
    P = SollichLink(2.0).predict(np.linspace(-4, 4, 801))
    assert np.diff(P).min() > 0


@pytest.mark.parametrize("C", [2**-5, 1.0, 32.0])
@pytest.mark.parametrize("score", [-1.7, 0.2, 1.0])
@pytest.mark.parametrize("variance", [0.01, 1.0, 9.0])
def test_average_over_a_gaussian_by_quadrature(C, score, variance):
    spread = variance**0.5
    kinks = [(k - score) / spread for k in (-1, 0, 1)]
    points = [k for k in kinks if -8 < k < 8]

    def mean(function):
        return quad(
            lambda z: function(score + spread * z) * norm.pdf(z), -8, 8, points=points, limit=400
        )[0]

    plain = mean(lambda t: expit(C * (hinge(-t) - hinge(t))))
    found = SollichLink(C).predict([score], variance=[variance])[0]
    assert found == pytest.approx(plain, abs=1e-7)
    plus = mean(lambda t: np.exp(-C * hinge(t)))
    minus = mean(lambda t: np.exp(-C * hinge(-t)))
    joint = SollichLink(C, joint=True).predict([score], variance=[variance])[0]
    assert joint == pytest.approx(plus / (plus + minus), abs=1e-7)


@pytest.mark.parametrize("joint", [True, False])
def test_draws_are_averaged(joint):
    draws = np.array([[0.5, -2.0], [1.5, 0.3], [-0.2, 0.1]])
    found = SollichLink(0.7, joint=joint).predict(draws)
    for column, P in zip(draws.T, found, strict=True):
        plus = [np.exp(-0.7 * hinge(t)) for t in column]
        minus = [np.exp(-0.7 * hinge(-t)) for t in column]
        shares = np.divide(plus, np.add(plus, minus))
        expected = np.sum(plus) / np.sum([plus, minus]) if joint else np.mean(shares)
        assert pytest.approx(expected) == P


def test_no_variance_is_the_plug_in_and_infinite_variance_is_one_half():
    for joint in (False, True):
        endless = SollichLink(1.0, joint=joint).predict(THETA, np.full(6, np.inf))
        np.testing.assert_allclose(endless, 0.5, atol=1e-9)
        none = SollichLink(1.0, joint=joint).predict(THETA, np.zeros(6))
        np.testing.assert_allclose(none, SollichLink(1.0).predict(THETA), atol=1e-9)


def test_what_it_reads():
    assert [SollichLink(average=a).reads for a in ("map", "frozen", "sampled")] == [
        "mixed",
        "margin",
        "draws",
    ]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0.0}, "C must be a positive finite number, got 0.0"),
        ({"average": "mean"}, "average must be one of map, frozen, sampled, got 'mean'"),
        ({"bias_scale": -1.0}, "bias_scale must be .* got -1.0"),
        ({"average": "sampled", "bias_scale": np.inf}, "bias_scale must be .* got inf"),
        ({"n_draws": 0}, "n_draws must be an integer >= 1, got 0"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        SollichLink(**params)


class TestMarginVariance:
    rows = np.random.default_rng(0).normal(size=(3, 6))
    new = np.random.default_rng(1).normal(size=(5, 6))

    @pytest.mark.parametrize("bias_scale", [0.0, 0.7, 10.0])
    def test_schur_complement(self, bias_scale):
        both = np.vstack([self.rows, self.new])
        K = both @ both.T + bias_scale**2
        expected = K[3:, 3:] - K[3:, :3] @ np.linalg.solve(K[:3, :3], K[:3, 3:])
        found = margin_variance(self.rows, self.new, bias_scale=bias_scale)
        np.testing.assert_allclose(found, np.diag(expected), rtol=1e-5)

    def test_infinite_bias_is_the_limit(self):
        limit = margin_variance(self.rows, self.new, bias_scale=np.inf)
        large = margin_variance(self.rows, self.new, bias_scale=30.0)
        np.testing.assert_allclose(limit, large, rtol=1e-3)

    def test_conditional_variance_of_draws(self):
        rng = np.random.default_rng(2)
        w = rng.standard_normal((200_000, 7)) * np.append(np.ones(6), 2.0)
        both = np.column_stack([np.vstack([self.rows, self.new]), np.ones(8)])
        theta = w @ both.T
        fit = np.linalg.lstsq(theta[:, :3], theta[:, 3:])[0]
        residual = (theta[:, 3:] - theta[:, :3] @ fit).var(axis=0)
        found = margin_variance(self.rows, self.new, bias_scale=2.0)
        np.testing.assert_allclose(found, residual, rtol=0.02)

    def test_samples_on_the_margin_are_certain(self):
        found = margin_variance(self.rows, self.rows, bias_scale=1.0)
        np.testing.assert_allclose(found, 0, atol=1e-6)

    def test_enough_of_them_leave_no_variance_in_a_linear_svm(self):
        many = np.random.default_rng(3).normal(size=(20, 6))
        found = margin_variance(many, self.new, bias_scale=1.0)
        np.testing.assert_allclose(found, 0, atol=1e-6)

    def test_without_them_the_prior_is_left(self):
        prior = np.square(self.new).sum(axis=1) + 0.5
        none = np.empty((0, 6))
        found = margin_variance(none, self.new, bias_scale=2.0, rest=np.full(5, 0.5))
        np.testing.assert_allclose(found, prior + 4)
        assert np.isinf(margin_variance(none, self.new, bias_scale=np.inf)).all()
