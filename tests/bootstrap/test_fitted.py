"""What follows from the arrays of a fitted ensemble."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from svmproba import BootstrapSVC
from svmproba.bootstrap.fitted import (
    curve_of,
    ensemble_vote_shares,
    oob_levels,
    oob_rates,
    own_scores,
    with_oob_votes,
)
from svmproba.bootstrap.guarantee import jackknife_threshold
from svmproba.bootstrap.threshold import calibrated_curve

rng = np.random.default_rng(0)
X = rng.normal(size=(70, 3))
y = X[:, 0] + rng.normal(size=70) > 0
weight = np.append(np.zeros(5), np.ones(65))


@pytest.fixture(scope="module")
def votes():
    model = BootstrapSVC(Cs=[0.1, 1.0], n_bootstraps=40, random_state=0)
    return model.fit(X, y, sample_weight=weight).ensemble_


@pytest.fixture(scope="module")
def calibrated():
    model = BootstrapSVC(Cs=[0.1, 1.0], n_bootstraps=40, random_state=0, calibration="beta")
    return model.fit(X, y, sample_weight=weight).ensemble_


def shares_by_loop(ensemble, thresholds):
    """Out-of-bag mixture of the votes, one sample, theta and bag after the other."""
    members = ensemble.members
    coef = members.columns[0].T.reshape(*members.intercept.shape, -1)
    P = np.full(len(X), np.nan)
    for i in np.flatnonzero(weight):
        bags = np.flatnonzero(ensemble.counts[:, i] == 0)
        mixed = 0.0
        for k, rho in enumerate(ensemble.weights):
            scores = np.array([coef[k, b] @ X[i] + members.intercept[k, b] for b in bags])
            mixed += rho * np.mean(np.heaviside(scores - thresholds[k], 0.5))
        P[i] = mixed
    return P


@pytest.mark.parametrize("thresholds", [(0.0, 0.0), (-0.3, -0.3), (0.2, -0.1)])
def test_out_of_bag_votes_by_loop(votes, thresholds):
    moved = replace(votes, threshold=np.array(thresholds), oob_proba=None)
    found = with_oob_votes(moved, X, None)
    np.testing.assert_allclose(found.oob_proba, shares_by_loop(votes, thresholds), atol=1e-12)
    assert moved.oob_proba is None


def test_votes_at_zero_are_those_of_the_fit(votes):
    np.testing.assert_array_equal(with_oob_votes(votes, X, None).oob_proba, votes.vote_proba)
    shares = ensemble_vote_shares(votes, X, None, "cpu")
    assert shares.shape == (2, 70)


@pytest.mark.parametrize("limit", [0.1, 0.5, 0.9, 1.5])
def test_rates_are_those_of_the_decisions(votes, calibrated, limit):
    known = weight > 0
    for ensemble in (votes, calibrated):
        P = ensemble.oob_proba
        rates = oob_rates(replace(ensemble, proba_threshold=limit))
        called = P[known] >= limit
        assert rates.tpr == np.mean(called[y[known]])
        assert rates.tnr == np.mean(~called[~y[known]])
        assert rates.accuracy == np.mean(called == y[known])


def test_rates_of_votes_at_another_threshold(votes):
    """Without probabilities the medians tell the same."""
    moved = replace(votes, threshold=-0.2, oob_proba=None)
    P = with_oob_votes(moved, X, None).oob_proba
    called = P[weight > 0] >= 0.5
    assert oob_rates(moved).accuracy == np.mean(called == y[weight > 0])
    assert np.isnan(oob_rates(replace(moved, threshold=np.zeros(2)))).all()
    nothing = np.full(len(X), np.nan)
    assert np.isnan(oob_rates(replace(moved, oob_median=nothing))).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_rates_of_jackknife(votes, sign):
    rates = oob_rates(replace(votes, jackknife=(sign, 0.8)))
    n = np.count_nonzero(y[weight > 0] == (sign > 0))
    assert (rates.tpr if sign > 0 else rates.tnr) == np.ceil(0.8 * (n + 1)) / n
    too_many = oob_rates(replace(votes, jackknife=(sign, 0.999)))
    assert (too_many.tpr if sign > 0 else too_many.tnr) == 1


@pytest.mark.parametrize("sign", [1, -1])
def test_threshold_of_jackknife_refuses_as_many_as_it_may(sign):
    own = np.append(np.random.default_rng(1).permutation(19).astype(float), np.nan)
    positive = np.full(20, sign > 0)
    threshold = jackknife_threshold(own, positive, sign, 0.75)
    kept = own > threshold if sign > 0 else own <= threshold
    # A sample is refused where 15 = 0.75 * (19 + 1) or more of the class are above it.
    assert kept[:19].sum() == 15
    assert jackknife_threshold(own, positive, sign, 0.99) == -sign * np.inf


def test_levels_and_curves(votes, calibrated):
    assert oob_levels(votes) is votes.oob_median
    assert oob_levels(calibrated) is calibrated.oob_proba
    assert curve_of(votes) is votes.vote_curve
    expected = calibrated_curve(calibrated.oob_proba, calibrated.positive)
    np.testing.assert_array_equal(curve_of(calibrated), expected)
    assert np.isnan(own_scores(votes)[:5]).all()


def test_an_ensemble_is_not_changed(votes):
    with pytest.raises(FrozenInstanceError):
        votes.threshold = 1.0


@pytest.mark.parametrize("kernel", ["rbf", ["rbf", "linear"]])
def test_scores_kept_from_the_fit_change_nothing(kernel, monkeypatch):
    model = BootstrapSVC(
        Cs=[0.1, 1.0], kernel=kernel, gammas=[0.1, 1.0], n_bootstraps=40, random_state=0
    )
    kept = model.fit(X, y).ensemble_
    monkeypatch.setattr("svmproba.solvers.ensemble._KEPT_BYTES", 0)
    computed = model.fit(X, y).ensemble_
    for name in ("score_scales", "oob_scores", "oob_medians", "oob_spreads", "oob_median"):
        np.testing.assert_allclose(getattr(kept, name), getattr(computed, name), atol=1e-11)
