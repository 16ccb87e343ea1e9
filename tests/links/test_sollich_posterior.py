from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from svmproba.links import SollichLink
from svmproba.links._sollich_posterior import (
    hinge_log_likelihood,
    kink_log_evidence,
    log_evidence,
    sample_posterior,
)

GRID = np.linspace(-8, 8, 801)


def two_records():
    """Two rows, their labels, and the prior of their scores with a bias, on a grid."""
    rows = np.array([[0.8, 0.3], [-0.4, 0.9]])
    a, b = np.meshgrid(GRID, GRID, indexing="ij")
    covariance = rows @ rows.T + 0.5**2
    points = np.stack([a.ravel(), b.ravel()])
    density = np.exp(-0.5 * np.sum(points * np.linalg.solve(covariance, points), axis=0))
    return rows, points, density / density.sum()


def exact_evidence_of_one(C, K):
    kappa = 1 / (1 + np.exp(-2 * C))
    spread = K**0.5
    return quad(
        lambda t: kappa * np.exp(-C * max(0, 1 - t)) * norm.pdf(t, 0, spread),
        -12 * spread,
        12 * spread,
        points=[1.0],
        limit=400,
    )[0]


@pytest.mark.parametrize(
    ("C", "K", "exact", "kink"), [(2, 2, 0.358, 0.575), (0.5, 0.5, 0.461, 0.472)]
)
def test_worked_evidence_of_one_record(C, K, exact, kink):
    rows, one = np.full((1, 1), K**0.5), np.ones(1)
    alpha = min(C, 1 / K)
    value = kink_log_evidence(rows, one, alpha * one, K * alpha * one, C)
    assert np.exp(value) == pytest.approx(kink, abs=5e-4)
    assert exact_evidence_of_one(C, K) == pytest.approx(exact, abs=5e-4)
    rng = np.random.default_rng(0)
    sampled = log_evidence(rows, one, C, bias_scale=0.0, rng=rng)
    assert sampled == pytest.approx(np.log(exact_evidence_of_one(C, K)), abs=0.02)


def test_the_approximation_warns_where_it_fails():
    rows, one = np.full((1, 1), 10**0.5), np.ones(1)
    with pytest.warns(UserWarning, match="exceeds one"):
        value = kink_log_evidence(rows, one, 0.1 * one, one, 10.0)
    assert np.exp(value) == pytest.approx(1.212, abs=5e-4)
    assert exact_evidence_of_one(10, 10) == pytest.approx(0.388, abs=5e-4)


def test_the_approximation_without_records_on_the_margin():
    rows, signs = np.array([[0.1], [-0.2]]), np.array([1.0, -1.0])
    C, alpha = 0.3, np.full(2, 0.3)
    scores = rows @ rows.T @ (alpha * signs)
    expected = (
        -0.5 * alpha @ (signs * scores)
        - C * (1 - signs * scores).sum()
        - 2 * np.log1p(np.exp(-2 * C))
    )
    assert kink_log_evidence(rows, signs, alpha, scores, C) == pytest.approx(expected)


def test_evidence_of_two_records_and_its_normalisation_by_enumeration():
    rows, (a, b), prior = two_records()
    C = 1.3
    kappa2 = (1 + np.exp(-2 * C)) ** -2

    def exact(signs):
        loss = np.maximum(0, 1 - signs[0] * a) + np.maximum(0, 1 - signs[1] * b)
        return kappa2 * prior @ np.exp(-C * loss)

    label_sum = sum(exact(signs) for signs in itertools.product([-1, 1], repeat=2))
    assert label_sum < 1
    signs = np.array([1.0, -1.0])
    common = {"bias_scale": 0.5}
    found = log_evidence(rows, signs, C, rng=np.random.default_rng(0), **common)
    assert found == pytest.approx(np.log(exact(signs)), abs=0.02)
    share = log_evidence(rows, signs, C, rng=np.random.default_rng(0), normalised=True, **common)
    assert share == pytest.approx(np.log(exact(signs) / label_sum), abs=0.02)


def test_no_loss_leaves_a_fair_coin_for_every_label():
    rows = np.random.default_rng(0).normal(size=(3, 2))
    rng = np.random.default_rng(1)
    value = log_evidence(rows, np.array([1.0, 1, -1]), 1e-9, bias_scale=1.0, n_draws=100, rng=rng)
    assert value == pytest.approx(-3 * np.log(2), abs=1e-6)


def test_posterior_of_two_records_by_quadrature():
    rows, (a, b), prior = two_records()
    C, signs = 2.0, np.array([1.0, -1.0])
    posterior = prior * np.exp(-C * (np.maximum(0, 1 - a) + np.maximum(0, 1 + b)))
    posterior /= posterior.sum()
    draws = sample_posterior(
        rows,
        hinge_log_likelihood(signs, C),
        bias_scale=0.5,
        n_draws=20_000,
        rng=np.random.default_rng(0),
        n_chains=200,
        thin=3,
        burn_in=100,
    )
    assert draws.shape == (20_000, 3)
    theta = (draws[:, :2] @ rows.T + draws[:, 2:]).T
    np.testing.assert_allclose(theta.mean(axis=1), [posterior @ a, posterior @ b], atol=0.02)
    second = [posterior @ a**2, posterior @ b**2, posterior @ (a * b)]
    found = [np.mean(theta[0] ** 2), np.mean(theta[1] ** 2), np.mean(theta[0] * theta[1])]
    np.testing.assert_allclose(found, second, atol=0.04)
    for joint in (False, True):
        link = SollichLink(C, joint=joint)
        plus, minus = np.exp(-C * np.maximum(0, 1 - a)), np.exp(-C * np.maximum(0, 1 + a))
        shares = plus / (plus + minus)
        exact = posterior @ plus / (posterior @ (plus + minus)) if joint else posterior @ shares
        assert link.predict(theta[:1].T)[0] == pytest.approx(exact, abs=0.01)


def test_draws_start_where_told_and_repeat_with_the_seed():
    rows, signs = np.eye(2), np.array([1.0, -1.0])

    def draw(**more):
        return sample_posterior(
            rows,
            hinge_log_likelihood(signs, 1.0),
            bias_scale=1.0,
            n_draws=7,
            rng=np.random.default_rng(0),
            **({"start": np.array([5.0, -5.0, 3.0])} | more),
        )

    found = draw(burn_in=10)
    assert found.shape == (7, 3)
    np.testing.assert_array_equal(draw(burn_in=10), found)
    start = np.tile([5.0, -5.0, 3.0], (7, 1))
    one_step = {"burn_in": 0, "thin": 1, "n_chains": 7}
    np.testing.assert_array_equal(draw(**one_step), draw(**one_step, start=start))


def test_no_bias():
    draws = sample_posterior(
        np.eye(2),
        hinge_log_likelihood(np.ones(2), 1.0),
        bias_scale=0.0,
        n_draws=50,
        rng=np.random.default_rng(0),
        start=np.zeros(3),
    )
    np.testing.assert_array_equal(draws[:, -1], 0)


@pytest.mark.parametrize("bias_scale", [0.0, 0.5])
def test_chains_start_at_the_given_svm(bias_scale):
    """The first likelihood is that of the scores of the SVM, with its bias."""
    rows, start, seen = two_records()[0], np.array([0.7, -1.1, 0.4 * (bias_scale > 0)]), []

    def likelihood(theta):
        seen.append(theta.copy())
        return np.zeros(len(theta))

    rng = np.random.default_rng(0)
    chains = {"n_draws": 3, "burn_in": 0, "thin": 1, "n_chains": 3}
    sample_posterior(rows, likelihood, bias_scale=bias_scale, rng=rng, start=start, **chains)
    np.testing.assert_allclose(seen[0], np.tile(rows @ start[:2] + start[2], (3, 1)), atol=1e-15)
