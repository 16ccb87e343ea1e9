"""CEBB1: `with_rate`, `rate_curve` and `ThresholdBootstrapSVC`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from svmproba import CEBB1, BootstrapSVC, ThresholdBootstrapSVC
from svmproba.bootstrap.guarantee import bag_scores, jackknife_plus, order_statistic
from svmproba.estimators.ensemble.calibration import cross_fitted_proba

SMALL = {"Cs": [0.05, 0.5, 5.0], "n_bootstraps": 60, "random_state": 0}


def table(n=200, seed=0):
    """Records of one population, whatever the seed: two overlapping Gaussian classes."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.45).astype(int)
    return rng.normal(size=(n, 4)) + y[:, np.newaxis] * [1.5, 0.8, 0.0, 0.0], y


@pytest.fixture(scope="module")
def data():
    return table()


@pytest.fixture(scope="module")
def model(data):
    return BootstrapSVC(**SMALL).fit(*data)


@pytest.fixture(scope="module")
def calibrated(data):
    return BootstrapSVC(**SMALL, calibration="platt").fit(*data)


def out_of_bag_shares(model, X, threshold):
    """P_t(+|x) of every training record over the bags that left it out, from public arrays."""
    scores = model.member_coef_ @ X.T + model.intercept_[:, :, np.newaxis]
    above = (scores > threshold) + 0.5 * (scores == threshold)
    left_out = model.counts_ == 0
    shares = (above * left_out).sum(axis=1) / left_out.sum(axis=0)
    return np.round(model.weights_ @ shares, 12)


def rates(labels, y):
    return (labels[y == 1] == 1).mean(), (labels[y == 0] == 0).mean()


# The closed form


@pytest.mark.parametrize("rate", [0.5, 0.8, 0.9, 0.95, 1.0])
@pytest.mark.parametrize("which", ["tpr", "tnr"])
def test_the_out_of_bag_rate_is_reached_and_no_more_than_needed(model, data, which, rate):
    X, y = data
    threshold = model.with_rate(**{which: rate})
    P = out_of_bag_shares(model, X, threshold.threshold_)
    tpr, tnr = rates((P >= 0.5).astype(int), y)
    assert (threshold.oob_tpr_, threshold.oob_tnr_) == pytest.approx((tpr, tnr))
    reached = tpr if which == "tpr" else tnr
    assert reached >= rate
    if threshold.threshold_ != 0:
        n_of_class = (y == (which == "tpr")).sum()
        assert reached < rate + 1 / n_of_class
        assert (threshold.threshold_ < 0) == (which == "tpr")


def test_a_slack_target_is_ebb(model, data):
    X, _ = data
    slack = model.with_rate(tpr=model.oob_tpr_)
    assert slack.threshold_ == 0.0
    assert np.array_equal(slack.predict_proba(X), model.predict_proba(X))


def test_probabilities_rise_with_the_target(model, data):
    X, y = data
    shares = [model.with_rate(tpr=rate).predict_proba(X)[:, 1] for rate in (0, 0.8, 0.9, 0.99, 1)]
    assert np.all(np.diff(shares, axis=0) >= 0)
    errors = np.array([[(1 - P[y == 1]) ** 2, P[y == 1] ** 2] for P in shares]).mean(axis=2)
    assert np.all(np.diff(errors[:, 0]) <= 0)
    assert shares[-1].mean() > shares[0].mean()


def test_exceed_false_gives_up_the_excess(model):
    assert model.oob_tpr_ > 0.65
    free = model.with_rate(tpr=0.6, exceed=False)
    assert free.threshold_ > 0
    assert 0.6 <= free.oob_tpr_ < 0.62  # one of the 90 positives more
    assert free.oob_tnr_ > model.oob_tnr_
    assert model.with_rate(tpr=0.6).threshold_ == 0.0


def test_labels_are_the_threshold_of_the_probabilities(model, calibrated, data):
    X, _ = data
    for fitted in (model, calibrated):
        for wish in ({"tpr": 0.97}, {"tnr": 0.97}, {"tpr": 0.9, "guarantee": "jackknife+"}):
            threshold = fitted.with_rate(**wish)
            P = threshold.predict_proba(X)
            assert np.array_equal(
                threshold.predict(X), (P[:, 1] >= threshold.proba_threshold_).astype(int)
            )
            assert P.sum(axis=1) == pytest.approx(1)


def test_with_rate_shares_the_arrays_and_leaves_the_model_alone(model):
    before = dict(vars(model))
    threshold = model.with_rate(tpr=0.99)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)
    assert threshold.intercept_ is model.intercept_
    assert threshold.counts_ is model.counts_
    assert not hasattr(threshold, "oob_proba_")
    assert threshold.with_rate(tpr=0.0).threshold_ == 0.0


def test_a_threshold_for_each_theta_reaches_the_rate_in_each(model, data):
    X, y = data
    threshold = model.with_rate(tpr=0.95, per_theta=True)
    assert threshold.threshold_.shape == (3,)
    scores = model.member_coef_ @ X.T + model.intercept_[:, :, np.newaxis]
    left_out = model.counts_ == 0
    for f, t in zip(scores, threshold.threshold_, strict=True):
        P = ((f > t) * left_out).sum(axis=0) / left_out.sum(axis=0)
        assert (P[y == 1] >= 0.5 - 1e-12).mean() >= 0.95
    shares = (scores > threshold.threshold_[:, np.newaxis, np.newaxis]).mean(axis=1)
    assert threshold.predict_proba(X)[:, 1] == pytest.approx(model.weights_ @ shares)


def test_calibrated_probabilities_stay_and_the_threshold_moves(calibrated, data):
    X, y = data
    threshold = calibrated.with_rate(tpr=0.97)
    assert np.array_equal(threshold.predict_proba(X), calibrated.predict_proba(X))
    P = calibrated.oob_proba_[:, 1]
    assert threshold.oob_tpr_ == (P[y == 1] >= threshold.proba_threshold_).mean() >= 0.97
    assert threshold.proba_threshold_ in P[y == 1]
    assert threshold.threshold_ == 0.0
    assert np.array_equal(threshold.oob_proba_, calibrated.oob_proba_)


def test_held_out_records_may_set_the_threshold(model, calibrated):
    X, y = table(seed=1)
    for fitted in (model, calibrated):
        threshold = fitted.with_rate(tpr=0.95, X=X, y=y)
        assert 0.95 <= rates(threshold.predict(X), y)[0] < 0.96


@pytest.mark.parametrize("rate", np.linspace(0.5, 1.0, 26))
def test_the_record_that_sets_the_threshold_keeps_its_side_when_it_is_alone(model, rate):
    """A product of one row is rounded otherwise than a product of many."""
    X, y = table(seed=1)
    threshold = model.with_rate(tpr=rate, exceed=False, X=X, y=y)
    assert rates(np.concatenate([threshold.predict(row) for row in X[:, np.newaxis]]), y)[0] >= rate


def test_the_other_class_of_interest_mirrors(data):
    X, y = data
    plain = BootstrapSVC(**SMALL).fit(X, y)
    other = BootstrapSVC(**SMALL, pos_label=0).fit(X, y)
    one, two = plain.with_rate(tnr=0.97), other.with_rate(tpr=0.97)
    assert one.oob_tnr_ == pytest.approx(two.oob_tpr_, abs=0.011)
    # A vote of exactly one half counts for the class of interest, so the medians differ a little.
    assert one.threshold_ == pytest.approx(-two.threshold_, rel=0.05)
    assert (one.predict(X) == two.predict(X)).mean() > 0.98


# The curve


def test_rate_curve_is_measured_out_of_bag(model, data):
    X, y = data
    curve = model.rate_curve()
    assert np.all(np.diff(curve.threshold) > 0)
    assert np.all(np.diff(curve.tpr) <= 0)
    assert np.all(np.diff(curve.tnr) >= 0)
    assert np.all(np.diff(curve.mse_plus) >= 0)
    assert np.all(np.diff(curve.mse_minus) <= 0)
    assert (curve.tpr[0], curve.tnr[-1]) == (1, 1)
    for k in (5, len(curve.threshold) // 2, -5):
        P = out_of_bag_shares(model, X, curve.threshold[k])
        assert (curve.tpr[k], curve.tnr[k]) == pytest.approx(rates((P >= 0.5).astype(int), y))
        assert curve.mse_plus[k] == pytest.approx(((1 - P[y == 1]) ** 2).mean())
        assert curve.mse_minus[k] == pytest.approx((P[y == 0] ** 2).mean())
    zero = np.flatnonzero(curve.threshold == 0)
    assert curve.tpr[zero] == model.oob_tpr_


# Guarantees


def test_the_split_rule_takes_its_order_statistic(model):
    X, y = table(400, seed=2)
    threshold = model.with_rate(tpr=0.9, guarantee="split", confidence=0.9, X=X, y=y, exceed=False)
    n_plus = (y == 1).sum()
    missed = (threshold.predict(X)[y == 1] == 0).sum()
    assert missed == order_statistic(n_plus, 0.9, 0.9) - 1
    assert "proven" in threshold.guarantee_
    assert f"{n_plus} samples" in threshold.guarantee_


def test_oob_and_jackknife_guarantees(model, calibrated):
    fresh_X, fresh_y = table(2000, seed=1)
    for fitted in (model, calibrated):
        for guarantee in ("oob", "jackknife+"):
            threshold = fitted.with_rate(tpr=0.9, guarantee=guarantee, exceed=False)
            assert rates(threshold.predict(fresh_X), fresh_y)[0] > 0.8
            assert ("pproximately" in threshold.guarantee_) == (guarantee == "oob")
    other = model.with_rate(tnr=0.9, guarantee="jackknife+")
    assert rates(other.predict(fresh_X), fresh_y)[1] > 0.8


@pytest.mark.parametrize("wish", [{"tpr": 0.9}, {"tnr": 0.8}])
def test_jackknife_rates_are_known_out_of_bag(model, calibrated, data, wish):
    """The twin judges each training record as a new one, by the bags without it alone."""
    X, y = data
    sign, rate = (1, wish["tpr"]) if "tpr" in wish else (-1, wish["tnr"])
    for fitted in (model, calibrated):
        threshold = fitted.with_rate(guarantee="jackknife+", **wish)
        own = sign * (threshold.oob_scores_ / threshold.score_scales_[:, np.newaxis]).mean(axis=0)
        scores = threshold.member_coef_ @ X.T + threshold.intercept_[:, :, np.newaxis]
        by_bag = sign * (scores / threshold.score_scales_[:, np.newaxis, np.newaxis]).mean(axis=0).T
        left_out, of_class = threshold.counts_.T == 0, y == (sign > 0)
        called = np.empty(len(y), dtype=bool)
        for i, bags in enumerate(left_out):
            others = of_class & (np.arange(len(y)) != i)
            left = left_out[others][:, bags]
            accepted = jackknife_plus(own[others], left, by_bag[i : i + 1, bags], rate)[0]
            called[i] = accepted == (sign > 0)
        tpr, tnr = rates(called, y)
        assert (threshold.oob_tpr_, threshold.oob_tnr_) == pytest.approx((tpr, tnr), abs=0.03)
        assert threshold.oob_score_ == pytest.approx(np.mean(called == y), abs=0.03)


def test_too_few_records_for_a_guarantee(data):
    X, y = data
    few = BootstrapSVC(**SMALL).fit(X[:30], y[:30])
    with pytest.raises(ValueError, match=r"0\.99 with confidence 0\.9 needs at least 230 positive"):
        few.with_rate(tpr=0.99, guarantee="oob")


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({}, "One of tpr and tnr must be given"),
        ({"tpr": 0.9, "tnr": 0.9}, "One of tpr and tnr must be given"),
        ({"tpr": 1.5}, r"tpr must be a number in \[0, 1\], got 1.5"),
        ({"tnr": 1.0, "guarantee": "oob"}, "tnr must be above 0 and below 1 with guarantee='oob'"),
        ({"tpr": 0, "guarantee": "oob"}, "tpr must be above 0 and below 1 with guarantee='oob'"),
        ({"tnr": "high"}, "tnr must be a number"),
        ({"tpr": 0.9, "confidence": 1.0, "guarantee": "oob"}, "confidence must be a number"),
        ({"tpr": 0.9, "guarantee": "always"}, "guarantee must be one of"),
        ({"tpr": 0.9, "guarantee": "split"}, "give them as X and y"),
        ({"tpr": 0.9, "X": [[0.0] * 4]}, "X and y must be given together"),
        ({"tpr": 0.9, "X": [[0.0] * 4], "y": [7]}, r"y must hold the classes .* got 7 too"),
        ({"tpr": 0.9, "guarantee": "oob", "X": [[0.0] * 4], "y": [1]}, "leave out X and y"),
        ({"tpr": 0.9, "guarantee": "oob", "per_theta": True}, "per_theta=True goes with"),
    ],
)
def test_wishes_that_make_no_sense(model, wish, message):
    with pytest.raises(ValueError, match=message):
        model.with_rate(**wish)


# ThresholdBootstrapSVC


def test_estimator_is_the_fitted_model_threshold(model, data):
    X, y = data
    direct = ThresholdBootstrapSVC(0.97, **SMALL).fit(X, y)
    threshold = model.with_rate(tpr=0.97)
    assert CEBB1 is ThresholdBootstrapSVC
    assert direct.threshold_ == threshold.threshold_
    assert direct.guarantee_ == threshold.guarantee_
    assert np.array_equal(direct.predict_proba(X), threshold.predict_proba(X))
    assert direct.oob_proba_[:, 1] == pytest.approx(
        out_of_bag_shares(model, X, threshold.threshold_)
    )
    assert (direct.oob_tpr_, direct.oob_tnr_) == (threshold.oob_tpr_, threshold.oob_tnr_)


def test_without_a_target_it_is_ebb(model, data):
    X, y = data
    assert np.array_equal(
        ThresholdBootstrapSVC(**SMALL).fit(X, y).predict_proba(X), model.predict_proba(X)
    )


def test_training_scores_are_optimistic(data):
    X, y = data
    train = ThresholdBootstrapSVC(0.97, tune_on="train", **SMALL).fit(X, y)
    oob = ThresholdBootstrapSVC(0.97, **SMALL).fit(X, y)
    assert rates(train.predict(X), y)[0] >= 0.97
    assert train.threshold_ > oob.threshold_


def test_split_holds_records_back(data):
    X, y = data
    names = pd.DataFrame(X, columns=list("abcd"))
    weight = np.where(np.arange(len(y)) < 20, 0.0, 1.0)
    model = ThresholdBootstrapSVC(0.8, guarantee="split", confidence=0.8, **SMALL)
    model.fit(names, pd.Series(y), sample_weight=weight)
    assert len(model.held_out_) == pytest.approx(0.3 * 180, abs=1)
    assert model.held_out_.min() >= 20
    assert model.counts_.shape[1] == 200 - len(model.held_out_)
    assert model.feature_names_in_.tolist() == list("abcd")
    held = names.iloc[model.held_out_]
    assert rates(model.predict(held), y[model.held_out_])[0] >= 0.8
    again = clone(model).fit(names, y, sample_weight=weight)
    assert np.array_equal(again.held_out_, model.held_out_)


def test_rates_for_each_theta_are_those_of_the_mixture(data):
    X, y = data
    model = ThresholdBootstrapSVC(0.95, per_theta=True, **SMALL).fit(X, y)
    assert model.oob_tpr_ == (model.oob_proba_[y == 1, 1] >= 0.5).mean()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"target_tpr": 0.9, "target_tnr": 0.9}, "One of target_tpr and target_tnr"),
        ({"guarantee": "oob"}, "One of target_tpr and target_tnr"),
        ({"target_tpr": 2}, "target_tpr must be a number"),
        ({"target_tpr": 0.9, "tune_on": "test"}, "tune_on must be one of 'oob', 'train'"),
        ({"target_tpr": 0.9, "tune_on": "train", "guarantee": "oob"}, "tune_on='train' goes with"),
        ({"target_tpr": 0.9, "calibration_size": 1.5}, "calibration_size must be"),
        ({"target_tpr": 0.9, "guarantee": "split", "kernel": "precomputed"}, "hold samples back"),
        ({"target_tpr": 0.9, "per_theta": True, "calibration": "platt"}, "per_theta=True goes"),
    ],
)
def test_bad_parameters_are_refused_before_the_fit(data, params, message):
    with pytest.raises(ValueError, match=message):
        ThresholdBootstrapSVC(**(SMALL | params)).fit(*data)


@pytest.mark.parametrize(("size", "taken"), [(0.0099, False), (0.01, True), (0.99, True)])
def test_the_ends_of_the_share_that_is_held_out(size, taken):
    model = ThresholdBootstrapSVC(0.8, guarantee="split", calibration_size=size)
    if taken:
        model._check_wishes()
    else:
        with pytest.raises(ValueError, match=r"calibration_size must be .*0\.01"):
            model._check_wishes()


def test_kernels_and_search(data):
    X, y = data
    K = rbf_kernel(X, gamma=0.3)
    kernel = ThresholdBootstrapSVC(0.97, kernel="precomputed", tune_on="train", **SMALL).fit(K, y)
    assert rates(kernel.predict(K), y)[0] >= 0.97
    rbf = ThresholdBootstrapSVC(0.97, kernel="rbf", gammas=[0.1, 0.3], **SMALL).fit(X, y)
    assert rbf.oob_tpr_ >= 0.97
    search = GridSearchCV(
        ThresholdBootstrapSVC(Cs=[0.1], n_bootstraps=20, random_state=0),
        {"target_tpr": [0.5, 0.99]},
        scoring="recall",
        cv=3,
    )
    assert search.fit(X, y).best_params_ == {"target_tpr": 0.99}


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), rate=st.floats(0.5, 1))
def test_invariants_on_random_tables(seed, rate):
    X, y = table(60, seed)
    model = BootstrapSVC(Cs=[0.1, 1.0], n_bootstraps=31, random_state=seed).fit(X, y)
    threshold = model.with_rate(tpr=rate)
    assert threshold.oob_tpr_ >= rate
    assert threshold.threshold_ <= 0
    assert np.all(threshold.predict_proba(X)[:, 1] >= model.predict_proba(X)[:, 1])


def test_one_half_counts_as_positive_out_of_bag(data):
    """With few bags and one C, many shares are exactly one half."""
    X, y = data
    model = ThresholdBootstrapSVC(0.1, Cs=[0.05], n_bootstraps=20, random_state=0).fit(X, y)
    P = model.oob_proba_[:, 1]
    assert (P[y == 1] == 0.5).any()
    assert model.oob_tpr_ == (P[y == 1] >= 0.5).mean()
    assert model.oob_tnr_ == (P[y == 0] < 0.5).mean()


def test_a_slack_target_leaves_the_threshold_of_calibrated_probabilities_at_one_half(calibrated):
    assert calibrated.with_rate(tpr=0.1).proba_threshold_ == 0.5
    assert calibrated.with_rate(tnr=0.1).proba_threshold_ == 0.5


@pytest.mark.parametrize("wish", [{"tpr": 0.97}, {"tnr": 0.97}])
def test_jackknife_labels_are_those_of_the_rule(model, calibrated, wish):
    """Probabilities on the wrong side move just over the threshold, whichever side that is."""
    X, _ = table(500, seed=3)
    (sign,) = (1 if name == "tpr" else -1 for name in wish)
    for fitted in (model, calibrated):
        threshold = fitted.with_rate(**wish, guarantee="jackknife+")
        scores = np.moveaxis(fitted.member_coef_ @ X.T + fitted.intercept_[:, :, np.newaxis], 2, 0)
        own = (fitted.oob_scores_ / fitted.score_scales_[:, np.newaxis]).mean(axis=0)
        chosen = fitted.ensemble_.positive == (sign > 0)
        new = sign * bag_scores(scores, fitted.score_scales_)
        left_out = (fitted.counts_[:, chosen] == 0).T
        of_class = jackknife_plus(sign * own[chosen], left_out, new, 0.97)
        assert np.array_equal(threshold.predict(X), (of_class == (sign > 0)).astype(int))
        assert not np.array_equal(threshold.predict(X), fitted.predict(X))


@pytest.mark.parametrize(("n_plus", "n_kept"), [(2, 2), (3, 2), (10, 2), (40, 4)])
def test_split_leaves_two_records_of_each_class_at_least(n_plus, n_kept):
    y = np.repeat([0, 1], [60, n_plus])
    model = ThresholdBootstrapSVC(0.8, guarantee="split", calibration_size=0.9, random_state=0)
    held, kept = model._split(y, None)
    assert np.array_equal(np.sort(np.append(held, kept)), np.arange(len(y)))
    assert (y[kept] == 1).sum() == n_kept
    assert (y[kept] == 0).sum() == 6


@pytest.mark.parametrize("pos_label", [0, 1])
def test_the_guarantee_names_the_class_of_the_rate(data, pos_label):
    model = BootstrapSVC([0.5], n_bootstraps=40, pos_label=pos_label, random_state=0).fit(*data)
    for which, label in (("tpr", pos_label), ("tnr", 1 - pos_label)):
        said = model.with_rate(**{which: 0.8}, guarantee="oob", confidence=0.8).guarantee_
        assert f"samples of class {label}" in said
        assert f"class {1 - label}" not in said


@pytest.mark.parametrize(("guarantee", "tune_on"), [("split", "oob"), (None, "train")])
def test_what_a_fit_with_a_rate_is_given(data, guarantee, tune_on):
    """Checked before samples are held back; one number is the weight of all."""
    X, y = data
    model = ThresholdBootstrapSVC(
        0.7, guarantee=guarantee, tune_on=tune_on, Cs=1.0, n_bootstraps=30, random_state=0
    )
    expected = clone(model).fit(X, y, np.full(len(y), 2.0))
    column = pd.DataFrame({"y": y})
    with pytest.warns(DataConversionWarning):
        grouped = clone(model).fit(X, column, groups=np.arange(len(y)))
    assert grouped.classes_.tolist() == [0, 1]
    found = clone(model).fit(X, y, 2.0)
    assert found.guarantee_ == expected.guarantee_
    np.testing.assert_array_equal(found.threshold_, expected.threshold_)
    for bad, message in (
        ((X, y, np.ones(20)), "inconsistent numbers of samples"),
        ((X, None), "requires y to be passed"),
        ((X, np.array([None, *y[1:]], dtype=object)), "Unknown label type"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(*bad)


@pytest.mark.parametrize("calibration", ["stack", "auto"])
def test_guarantees_rest_on_links_fitted_to_other_samples(calibration, data):
    """Out of bag, a link of many scores looks better at the samples that it was fitted to."""
    X, y = data
    model = BootstrapSVC(
        np.logspace(-3, 2, 4), kernel=["linear", "rbf"], n_bootstraps=40, random_state=0
    ).fit(X, y)
    one, many = model.with_calibration("platt"), model.with_calibration(calibration)
    P = cross_fitted_proba(many.ensemble_, calibration)
    again = cross_fitted_proba(many.ensemble_, calibration)
    np.testing.assert_array_equal(P, again)
    assert np.mean((P - y) ** 2) > np.mean((many.oob_proba_[:, 1] - y) ** 2)
    sure = many.with_rate(tpr=0.8, guarantee="oob", exceed=False)
    k = order_statistic(int(y.sum()), 0.8, 0.9)
    assert sure.proba_threshold_ == pytest.approx(np.sort(P[y == 1])[k - 1], abs=1e-12)
    own = one.with_rate(tpr=0.8, guarantee="oob", exceed=False)
    expected = np.sort(one.oob_proba_[y == 1, 1])[k - 1]
    assert own.proba_threshold_ == pytest.approx(expected, abs=1e-12)


def test_groups_stay_together_where_links_are_cross_fitted(data):
    """With every sample twice, the copies would tell the link their labels."""
    X, y = data
    groups = np.tile(np.arange(len(y)), 2)
    model = BootstrapSVC([0.1, 1.0], n_bootstraps=40, calibration="stack", random_state=0)
    model.fit(np.tile(X, (2, 1)), np.tile(y, 2), groups=groups)
    P = cross_fitted_proba(model.ensemble_, "stack")
    np.testing.assert_allclose(P[: len(y)], P[len(y) :], atol=1e-9)
