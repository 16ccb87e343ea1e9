"""Links that read more than one score."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from svmproba import ProbabilitySVC
from svmproba.links import SollichLink

X, y = make_classification(150, 5, n_informative=3, flip_y=0.1, random_state=3)
X = scale(X)


def small(link="platt", link_params=None, **params):
    defaults = {"Cs": [0.1, 1.0], "random_state": 0}
    return ProbabilitySVC(link, link_params=link_params, **(defaults | params))


def libsvm(C, **params):
    return SVC(C=C, **({"kernel": "linear", "tol": 1e-10} | params))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_samples_on_the_margin_are_libsvms_free_vectors(kernel):
    model = small("sollich", {"average": "frozen"}, Cs=0.5, kernel=kernel).fit(X, y)
    twin = libsvm(0.5, kernel=kernel).fit(X, y)
    free = twin.support_[np.abs(np.abs(twin.dual_coef_[0]) - 0.5) > 1e-6]
    rows = model._feature_map.transform(X[free])
    found = model._spreads[0].coef
    assert len(free) > 0
    np.testing.assert_allclose(np.sort(found.sum(axis=1)), np.sort(rows.sum(axis=1)), atol=1e-9)


def test_frozen_by_hand():
    model = small("sollich", {"average": "frozen", "bias_scale": 3.0}, kernel="rbf").fit(X, y)
    gamma, C = model.gamma_, model.C_
    twin = libsvm(C, kernel="rbf", gamma=gamma).fit(X, y)
    free = X[twin.support_[np.abs(np.abs(twin.dual_coef_[0]) - C) > 1e-6 * C]]
    new = np.random.default_rng(0).normal(size=(10, 5))

    def kernel(A, B):
        return np.exp(-gamma * np.square(A[:, None] - B).sum(axis=2)) + 9

    k = kernel(free, new)
    variance = 10 - np.sum(k * np.linalg.solve(kernel(free, free), k), axis=0)
    expected = SollichLink(C).predict(model.member_scores(new), variance)
    np.testing.assert_allclose(model.predict_proba(new)[:, 1], expected, atol=1e-4)


def test_sampled_follows_the_plug_in_near_the_samples():
    plug_in, sampled = (
        small("sollich", {"average": average}, Cs=0.2, kernel="rbf").fit(X, y).predict_proba(X)
        for average in ("map", "sampled")
    )
    assert np.corrcoef(plug_in[:, 1], sampled[:, 1])[0, 1] > 0.95


@pytest.mark.parametrize("average", ["frozen", "sampled"])
def test_far_from_all_samples_the_prior_is_left(average):
    far = np.full((1, 5), 50.0)  # the kernel has no value there but with the sample itself
    model = small("sollich", {"average": average}, Cs=5.0, kernel="rbf").fit(X, y)
    expected = SollichLink(5.0).predict(model.intercept_, np.ones(1))[0]
    assert model.predict_proba(far)[0, 1] == pytest.approx(expected, abs=0.05)


def test_moderated_by_hand():
    model = small("moderated", {"n_bootstraps": 30}).fit(X, y)
    members = X @ model._spreads[0].coef.T + model._spreads[0].intercept
    assert members.shape == (150, 30)
    scores = model.member_scores(X)
    expected = expit(scores / np.sqrt(1 + np.pi * members.var(axis=1) / 8))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-9)
    plain = expit(scores)
    assert np.all(np.abs(expected - 0.5) <= np.abs(plain - 0.5))


def test_weights_enter_the_posterior():
    weight = np.where(y == 1, 1.0, 0.05)
    draws = {"average": "sampled", "n_draws": 400}
    plain = small("sollich", draws, Cs=1.0).fit(X, y)
    weighted = small("sollich", draws, Cs=1.0).fit(X, y, sample_weight=weight)
    assert weighted.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.1
