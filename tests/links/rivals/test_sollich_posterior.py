from __future__ import annotations

import numpy as np
import pytest

import svmproba.links.rivals._sollich_posterior as posterior
from svmproba.links import SollichLink
from svmproba.links.rivals._sollich_posterior import sample_posterior

GRID = np.linspace(-8, 8, 801)


@pytest.fixture
def many_short_chains(monkeypatch):
    for name, value in (("_CHAINS", 200), ("_BURN_IN", 100), ("_THIN", 3)):
        monkeypatch.setattr(posterior, name, value)


def two_samples():
    """Two rows, their labels, and the prior of their scores with a bias, on a grid."""
    rows = np.array([[0.8, 0.3], [-0.4, 0.9]])
    a, b = np.meshgrid(GRID, GRID, indexing="ij")
    covariance = rows @ rows.T + 0.5**2
    points = np.stack([a.ravel(), b.ravel()])
    density = np.exp(-0.5 * np.sum(points * np.linalg.solve(covariance, points), axis=0))
    return rows, points, density / density.sum()


@pytest.mark.parametrize("bounds", [2.0, np.array([2.0, 0.3])])
def test_posterior_of_two_samples_by_quadrature(bounds, many_short_chains):
    rows, (a, b), prior = two_samples()
    first, second = np.broadcast_to(bounds, 2)
    weight = prior * np.exp(-first * np.maximum(0, 1 - a) - second * np.maximum(0, 1 + b))
    weight /= weight.sum()
    rng = np.random.default_rng(0)
    start, signs = np.zeros(3), np.array([1.0, -1.0])
    draws = sample_posterior(rows, signs, bounds, start, bias_scale=0.5, n_draws=20_000, rng=rng)
    assert draws.shape == (20_000, 3)
    theta = (draws[:, :2] @ rows.T + draws[:, 2:]).T
    np.testing.assert_allclose(theta.mean(axis=1), [weight @ a, weight @ b], atol=0.02)
    found = [np.mean(theta[0] ** 2), np.mean(theta[1] ** 2), np.mean(theta[0] * theta[1])]
    expected = [weight @ a**2, weight @ b**2, weight @ (a * b)]
    np.testing.assert_allclose(found, expected, atol=0.04)
    C = 2.0
    for joint in (False, True):
        link = SollichLink(C, joint=joint)
        plus, minus = np.exp(-C * np.maximum(0, 1 - a)), np.exp(-C * np.maximum(0, 1 + a))
        shares = plus / (plus + minus)
        exact = weight @ plus / (weight @ (plus + minus)) if joint else weight @ shares
        assert link.predict(theta[:1].T)[0] == pytest.approx(exact, abs=0.01)


def test_without_a_loss_the_prior_is_left(many_short_chains):
    rng = np.random.default_rng(0)
    draws = sample_posterior(
        np.ones((1, 1)), np.ones(1), 0.0, np.zeros(2), bias_scale=2.0, n_draws=20_000, rng=rng
    )
    np.testing.assert_allclose(draws.std(axis=0), [1, 2], rtol=0.03)


def test_draws_repeat_with_the_seed():
    found = [
        sample_posterior(
            np.eye(2),
            np.array([1.0, -1.0]),
            1.0,
            np.array([5.0, -5.0, 3.0]),
            bias_scale=1.0,
            n_draws=7,
            rng=np.random.default_rng(seed),
        )
        for seed in (0, 0, 1)
    ]
    assert found[0].shape == (7, 3)
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_no_bias():
    draws = sample_posterior(
        np.eye(2),
        np.ones(2),
        1.0,
        np.zeros(3),
        bias_scale=0.0,
        n_draws=50,
        rng=np.random.default_rng(0),
    )
    np.testing.assert_array_equal(draws[:, -1], 0)


@pytest.mark.parametrize("bias_scale", [0.0, 0.5])
def test_chains_start_at_the_given_svm(bias_scale, monkeypatch):
    """The first scores are those of the SVM, with its bias."""
    rows, start, seen = two_samples()[0], np.array([0.7, -1.1, 0.4 * (bias_scale > 0)]), []
    step = posterior._slice_step

    def watched(u, table, *rest):
        seen.append(u @ table)
        return step(u, table, *rest)

    monkeypatch.setattr(posterior, "_slice_step", watched)
    rng = np.random.default_rng(0)
    sample_posterior(rows, np.ones(2), 1.0, start, bias_scale=bias_scale, n_draws=1, rng=rng)
    expected = np.broadcast_to(rows @ start[:2] + start[2], seen[0].shape)
    np.testing.assert_allclose(seen[0], expected, atol=1e-15)
