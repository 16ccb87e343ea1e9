"""Several kernels and class weights in one ensemble, and probabilities of rare classes."""

from __future__ import annotations

import pickle
import re
import warnings

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.datasets import make_circles
from sklearn.metrics import roc_auc_score

import svmproba
from svmproba import BootstrapSVC, ConstrainedBootstrapSVC, ThresholdBootstrapSVC
from svmproba.bootstrap.fitting.members import member_scores
from svmproba.links import AutoLink, PlattLink


def rare(n, share, seed=0):
    """Samples with a logistic truth, their labels and true probabilities."""
    normal = np.random.default_rng(99).normal(size=100_000) * np.sqrt(1 + 0.25 + 0.64)
    shift = brentq(lambda b: expit(normal - b).mean() - share, -20, 20)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    p = expit(X[:, 0] + X[:, 1] / 2 - 0.8 * X[:, 2] - shift)
    return X, (rng.random(n) < p).astype(int), p


def small(**params):
    return BootstrapSVC(**({"Cs": [0.1, 1.0], "n_bootstraps": 30, "random_state": 0} | params))


@pytest.fixture(scope="module")
def data():
    return rare(200, 0.2)[:2]


PARTS = [("linear", None), ("linear", "balanced"), ("rbf", None), ("rbf", "balanced")]


@pytest.mark.parametrize("method", [BootstrapSVC, ThresholdBootstrapSVC])
def test_a_list_holds_the_members_of_its_entries(method, data):
    X, y = data
    options = {"Cs": [0.1, 1.0], "n_bootstraps": 30, "random_state": 0}
    model = method(kernel=["linear", "rbf"], class_weight=[None, "balanced"], **options).fit(X, y)
    assert model.thetas_["kernel"].tolist() == ["linear"] * 4 + ["rbf"] * 4
    ratio = (y == 0).sum() / (y == 1).sum()
    np.testing.assert_allclose(model.thetas_["class_weight"], [1, 1, ratio, ratio] * 2)
    shares = model.vote_shares(X)
    for k, (kernel, class_weight) in enumerate(PARTS):
        part = method(kernel=kernel, class_weight=class_weight, **options).fit(X, y)
        mine = slice(2 * k, 2 * k + 2)
        np.testing.assert_array_equal(part.counts_, model.counts_)
        np.testing.assert_array_equal(part.intercept_, model.intercept_[mine])
        np.testing.assert_array_equal(part.duality_gap_, model.duality_gap_[mine])
        # The scores of a lone kernel are kept by the fit, and summed in another order.
        np.testing.assert_allclose(part.oob_scores_, model.oob_scores_[mine], rtol=1e-12)
        np.testing.assert_array_equal(part.reliability_, model.reliability_[mine])
        if method is BootstrapSVC:
            np.testing.assert_array_equal(part.vote_shares(X), shares[mine])


def test_names_that_stand_for_lists(data):
    X, y = data
    auto = small(kernel="auto", gammas="scale", class_weight="auto").fit(X, y)
    listed = small(kernel=["linear", "rbf"], class_weight=[None, "balanced"]).fit(X, y)
    np.testing.assert_array_equal(auto.predict_proba(X), listed.predict_proba(X))
    even = small(class_weight="auto").fit(X, np.arange(len(X)) % 2)
    assert set(even.thetas_["class_weight"]) == {1.0}


def test_equal_entries_count_once(data):
    X, y = data
    model = small(kernel=["linear", "linear"], class_weight=[None, {0: 1.0, 1: 1.0}]).fit(X, y)
    assert len(model.thetas_) == 2


def test_linear_families_have_coefficients(data):
    X, y = data
    model = small(class_weight=[None, "balanced"]).fit(X, y)
    assert model.member_coef_.shape == (4, 30, 5)
    (scores,) = (scores for _, scores in model.member_scores(X))
    np.testing.assert_allclose(
        scores, model.member_coef_ @ X.T + model.intercept_[:, :, np.newaxis], atol=1e-10
    )
    mixed = small(kernel=["linear", "rbf"]).fit(X, y)
    with pytest.raises(AttributeError, match="member_coef_ is only available with kernel='linear'"):
        _ = mixed.member_coef_


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": []}, r"kernel must be a name or a non-empty list .* got \[\]"),
        ({"kernel": ["linear", "precomputed"]}, "'precomputed' only by itself"),
        ({"kernel": ["linear", "cubic"]}, "kernel must be one of .* got 'cubic'"),
        ({"class_weight": []}, r"class_weight must be None, 'balanced', 'auto', .* got \[\]"),
        ({"class_weight": ["even"]}, "class_weight must be None, .* got 'even'"),
    ],
)
def test_bad_lists_are_named(params, message, data):
    with pytest.raises(ValueError, match=message):
        small(**params).fit(*data)


@pytest.mark.parametrize("extreme", [1e-60, 1e60])
@pytest.mark.parametrize("label", [0, 1])
def test_every_weighting_of_a_list_keeps_within_the_range(extreme, label, data):
    weights = [None, {label: extreme}, "balanced"]
    with pytest.raises(
        ValueError, match=f"class_weight must lie between .* got {re.escape(f'{extreme:g}')}"
    ):
        small(class_weight=weights).fit(*data)


@pytest.mark.parametrize("calibration", [None, "auto", "platt"])
def test_everything_that_reads_theta_follows(calibration, data, tmp_path):
    X, y = data
    model = small(
        kernel="auto", class_weight="auto", calibration=calibration, Cs=[0.1, 1.0, 10.0]
    ).fit(X, y)
    P = model.predict_proba(X)
    svmproba.save(model, tmp_path / "model")
    for again in (svmproba.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_proba(X), P)
    assert model.with_rate(tpr=0.9).oob_tpr_ >= 0.9
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few bags
        limits = model.predict_proba_interval(X[:5])
    assert np.all(np.diff(limits, axis=1) >= 0)
    assert len(model.rate_curve().tpr) > 1


@pytest.mark.filterwarnings("ignore:.* in every bag:UserWarning")
def test_constrained_members_of_several_kernels(data):
    X, y = data
    options = {"Cs": [1.0], "n_bootstraps": 6, "random_state": 0, "effort": "fast"}
    model = ConstrainedBootstrapSVC(0.8, kernel=["linear", "rbf"], **options).fit(X, y)
    alone = ConstrainedBootstrapSVC(0.8, kernel="rbf", **options).fit(X, y)
    np.testing.assert_array_equal(model.intercept_[1], alone.intercept_[0])


@pytest.mark.parametrize("class_weight", [[None, "balanced"], "balanced", {0: 1.0, 1: 3.0}])
def test_little_bootstraps_take_class_weights(class_weight):
    X, y, _ = rare(3000, 0.2)
    model = small(resample="blb", class_weight=class_weight, n_bootstraps=20).fit(X, y)
    plain = small(resample="blb", n_bootstraps=20).fit(X, y)
    assert model.oob_tpr_ > plain.oob_tpr_


# What a link reads


def link_rows(model, scores, counted):
    """Scaled mean scores, and family by family the mixture over its spread, sample by sample."""
    factors = model.weights_ / model.score_scales_
    families = {repr(t) for t in model.thetas_[["kernel", "gamma", "class_weight"]].tolist()}
    of_family = np.array_split(np.arange(len(factors)), len(families))
    rows = []
    for s, used in zip(scores, counted, strict=True):  # (n_theta, n_bootstraps) and (n_bootstraps,)
        mixtures = [factors[places] @ s[places][:, used] for places in of_family]
        ratios = [np.clip(g.mean() / g.std(ddof=1), -100, 100) for g in mixtures]
        rows.append([*(s[:, used].mean(axis=1) / model.score_scales_), *ratios])
    numbers = [k for k, places in enumerate(of_family) for _ in places]
    return np.array(rows).T, [*numbers, *[-1] * len(families)]


@pytest.mark.parametrize("kernel", ["linear", "auto"])
def test_auto_reads_mean_scores_and_their_ratios_to_the_spread(data, kernel):
    X, y = data
    model = small(kernel=kernel, class_weight=[None, "balanced"], calibration="auto").fit(X, y)
    members = model.ensemble_.members
    rows, families = link_rows(model, member_scores(members, X), model.counts_.T == 0)
    usable = np.count_nonzero(model.counts_ == 0, axis=0) >= 5
    link = AutoLink(families).fit(rows[:, usable], y[usable] == 1)
    np.testing.assert_allclose(model.oob_proba_[usable, 1], link.predict(rows)[usable], atol=1e-6)
    new = rare(50, 0.2, seed=5)[0]
    scores = member_scores(members, new)
    rows, _ = link_rows(model, scores, np.ones((50, 30), dtype=bool))
    np.testing.assert_allclose(model.predict_proba(new)[:, 1], link.predict(rows), atol=1e-6)
    read = np.unique(np.concatenate(model.calibrator_.places_))
    assert read.max() >= len(model.thetas_)  # the ratios have weight


@pytest.mark.parametrize("params", [{"Cs": [0.5]}, {"epsilon": 0.0}])
def test_one_value_gives_probabilities_that_rise_with_its_score(data, params):
    X, y = data
    model = small(calibration="auto", class_weight=[None], **params).fit(X, y)
    new = rare(300, 0.2, seed=5)[0]
    scores = member_scores(model.ensemble_.members, new)[:, model.weights_ > 0].mean(axis=(1, 2))
    P = model.predict_proba(new)[np.argsort(scores), 1]
    assert np.all(np.diff(P) >= 0)


def test_few_bags_have_no_spread(data):
    model = small(n_bootstraps=29, calibration="auto").fit(*data)
    assert model.ensemble_.oob_spreads.shape == (0, 200)
    assert len(model.calibrator_.centre_) == len(model.thetas_)


# Rare classes


def test_constant_votes_are_warned_of():
    X, y, _ = rare(1500, 0.05)
    with pytest.warns(UserWarning, match=r"of all samples are alike .*class_weight='auto'"):
        small().fit(X, y)
    small(class_weight="auto", reliability="balanced_accuracy").fit(X, y)
    assert len(small(calibration="auto").fit(X, y).thetas_) == 2 * len(small().Cs)
    with pytest.warns(UserWarning, match=r"same score.* Set class_weight='auto'"):
        small(calibration="auto", class_weight=[None]).fit(X, y)


def test_constant_members_have_no_weight_in_a_link():
    X, y, _ = rare(1500, 0.05)
    weighing = {"class_weight": [None, "balanced"], "n_bootstraps": 100}
    model = small(**weighing, calibration="platt").fit(X, y)
    plain = model.thetas_["class_weight"] == 1
    assert np.all(model.oob_scores_[plain].std(axis=1) < 0.01)
    scaled = model.oob_scores_ / model.score_scales_[:, np.newaxis]
    mixed = model.weights_[~plain] @ scaled[~plain] / model.weights_[~plain].sum()
    expected = PlattLink().fit(mixed, y == 1).predict(mixed)
    np.testing.assert_allclose(model.oob_proba_[:, 1], expected, atol=1e-8)


@pytest.mark.parametrize("share", [0.02, 0.09, 0.5])
def test_stated_and_true_shares_agree_in_every_tenth(share):
    """On logistic data; the limits are those of a share among the training samples of a tenth."""
    n = 3000
    X, y, _ = rare(n, share, seed=1)
    model = BootstrapSVC(n_bootstraps=100, calibration="auto", random_state=0).fit(X, y)
    new, _, truth = rare(50_000, share, seed=2)
    stated = model.predict_proba(new)[:, 1]
    for part in np.array_split(np.argsort(stated), 10):
        mean = truth[part].mean()
        # Seven parameters at most are learned from the samples of all tenths together.
        assert abs(stated[part].mean() - mean) < 3.5 * np.sqrt(mean * (1 - mean) / (n / 10)) + 1 / n
    assert np.mean((stated - truth) ** 2) < 0.0005 + 8 * share * (1 - share) / n


def test_the_ranking_of_a_rare_class_is_that_of_the_truth():
    X, y, _ = rare(3000, 0.05, seed=1)
    model = BootstrapSVC(n_bootstraps=100, calibration="auto", random_state=0).fit(X, y)
    new, labels, truth = rare(50_000, 0.05, seed=2)
    found = roc_auc_score(labels, model.predict_proba(new)[:, 1])
    assert found > roc_auc_score(labels, truth) - 0.01
    with pytest.warns(UserWarning, match="same score"):  # without weights, members are constant
        plain = model.set_params(class_weight=[None]).fit(X, y)
    assert roc_auc_score(labels, plain.predict_proba(new)[:, 1]) < found - 0.1


def test_a_curved_boundary_is_found_by_both_kernels_together():
    X, y = make_circles(400, noise=0.2, factor=0.5, random_state=0)
    new, labels = make_circles(4000, noise=0.2, factor=0.5, random_state=1)
    options = {"n_bootstraps": 40, "calibration": "auto", "random_state": 0, "Cs": [0.1, 1.0, 10.0]}

    def brier(kernel):
        P = BootstrapSVC(kernel=kernel, **options).fit(X, y).predict_proba(new)[:, 1]
        return np.mean((P - labels) ** 2)

    both, rbf, linear = brier("auto"), brier("rbf"), brier("linear")
    assert linear > 0.2
    assert both < rbf + 0.005


def test_a_linear_ensemble_follows_a_circle_where_its_bags_disagree():
    """The mean scores alone, the rule of old, are constant along lines."""

    def circle(n, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 2))
        return X, rng.random(n) < np.where((X**2).sum(axis=1) < 1.4, 0.9, 0.1)

    X, y = circle(800, seed=0)
    new, labels = circle(5000, seed=1)
    model = small(n_bootstraps=60, Cs=[0.1, 1.0, 10.0], calibration="auto").fit(X, y)
    old = AutoLink().fit(model.oob_scores_, y)
    scores = member_scores(model.ensemble_.members, new).mean(axis=2).T
    found, before = model.predict_proba(new)[:, 1], old.predict(scores)
    assert np.mean((found - labels) ** 2) < np.mean((before - labels) ** 2) - 0.005


@pytest.mark.slow
def test_the_excess_over_the_truth_falls_with_the_number_of_samples():
    new, _, truth = rare(50_000, 0.09, seed=3)
    excess = []
    for n in (500, 2000, 8000):
        found = []
        for seed in range(10):
            X, y, _ = rare(n, 0.09, seed=10 + seed)
            model = BootstrapSVC(n_bootstraps=200, calibration="auto", random_state=0).fit(X, y)
            found.append(np.mean((model.predict_proba(new)[:, 1] - truth) ** 2))
        excess.append(np.mean(found))
    assert excess[1] < excess[0] / 2
    assert excess[2] < excess[1] / 2
    assert excess[2] < 0.0005


@pytest.mark.parametrize("calibration", ["auto", "platt", "stack"])
def test_constant_members_do_not_give_labels_away(calibration):
    """Bags without a sample lean to the other class: what is left of the scores tells its label."""
    X, y = np.random.default_rng(0).normal(size=(600, 2)), np.arange(600) % 20 == 0
    options = {"n_bootstraps": 100, "Cs": [0.01, 0.1, 1.0], "class_weight": [None]}
    with pytest.warns(UserWarning, match="same score"):
        model = small(calibration=calibration, **options).fit(X, y)
    assert np.ptp(model.oob_proba_[:, 1]) < 1e-6
    assert model.oob_proba_[0, 1] == pytest.approx(0.05, abs=0.01)
