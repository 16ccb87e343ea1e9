"""`predict_proba_interval`, `score_interval` and calibrated probabilities of `BootstrapSVC`."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import make_classification

from svmproba import BootstrapSVC
from svmproba.bootstrap.intervals import (
    percentile_interval,
    sampling_interval,
    simulation_interval,
)
from svmproba.links import PlattLink, VennAbersLink

SMALL = {"Cs": [0.05, 0.5, 5.0], "n_bootstraps": 300, "random_state": 0}
CALIBRATIONS = ("platt", "isotonic", "beta", "venn_abers", "stack", "auto")


@pytest.fixture(scope="module")
def data():
    return make_classification(
        160, 4, n_informative=3, n_redundant=0, flip_y=0.1, class_sep=0.7, random_state=0
    )


@pytest.fixture(scope="module")
def models(data):
    fitted = {name: BootstrapSVC(**SMALL, calibration=name).fit(*data) for name in CALIBRATIONS}
    return {None: BootstrapSVC(**SMALL).fit(*data), **fitted}


def all_scores(model, X):
    return model.member_coef_ @ X.T + model.intercept_[:, :, np.newaxis]


# Calibration


def test_platt_is_a_sigmoid_of_the_out_of_bag_mean_scores(models, data):
    X, y = data
    model = models["platt"]
    scores, left_out = all_scores(model, X), model.counts_ == 0
    scales = np.array([np.median(np.abs(f[left_out])) for f in scores])
    assert model.score_scales_ == pytest.approx(scales)
    mean = (scores * left_out).sum(axis=1) / left_out.sum(axis=0)
    assert model.oob_scores_ == pytest.approx(mean)
    weights = model.weights_ / scales
    link = PlattLink().fit(weights @ mean, y == 1)
    assert model.oob_proba_[:, 1] == pytest.approx(link.predict(weights @ mean), abs=1e-8)
    new = weights @ scores.mean(axis=1)
    assert model.predict_proba(X)[:, 1] == pytest.approx(
        expit(-(link.A_ * new + link.B_)), abs=1e-8
    )


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_calibrated_models_are_consistent(models, data, name):
    X, y = data
    model = models[name]
    P = model.predict_proba(X)
    assert P.shape == (160, 2)
    assert P.sum(axis=1) == pytest.approx(1)
    assert np.all((P >= 0) & (P <= 1))
    assert np.array_equal(model.predict(X), (P[:, 1] >= 0.5).astype(int))
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), P)
    oob = model.oob_proba_[:, 1]
    assert model.oob_score_ == ((oob >= 0.5) == (y == 1)).mean()
    # A fitted link does not err in the mean by more than its shrinkage towards one half.
    assert oob.mean() == pytest.approx(y.mean(), abs=0.02)


def test_calibration_beats_vote_shares_where_classes_overlap():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    truth = expit(1.5 * X[:, 0])
    y = rng.random(4000) < truth
    train, test = slice(0, 400), slice(400, None)
    errors = {}
    for name in (None, "auto"):
        model = BootstrapSVC(Cs=1.0, n_bootstraps=100, calibration=name, random_state=0)
        P = model.fit(X[train], y[train]).predict_proba(X[test])[:, 1]
        errors[name] = ((P - truth[test]) ** 2).mean()
    assert errors["auto"] < 0.01 < 0.04 < errors[None]


def test_the_class_of_interest_may_be_the_smaller_label(data):
    X, y = data
    one = BootstrapSVC(**SMALL, calibration="platt").fit(X, y)
    other = BootstrapSVC(**SMALL, calibration="platt", pos_label=0).fit(X, y)
    assert one.predict_proba(X) == pytest.approx(other.predict_proba(X), abs=1e-6)


def test_wrong_calibration_is_refused(data):
    with pytest.raises(ValueError, match=r"calibration must be one of 'platt', .*'auto', got"):
        BootstrapSVC(calibration="plat").fit(*data)


def test_absent_records_are_not_calibrated_on(data):
    X, y = data
    weight = np.ones(len(y))
    weight[:10] = 0
    model = BootstrapSVC(**SMALL, calibration="platt").fit(X, y, sample_weight=weight)
    assert np.isnan(model.oob_proba_[:10]).all()
    assert np.isnan(model.oob_scores_[:, :10]).all()
    twin = BootstrapSVC(**SMALL, calibration="platt").fit(X[10:], y[10:])
    assert model.predict_proba(X) == pytest.approx(twin.predict_proba(X))
    assert model.with_rate(tpr=0.97).proba_threshold_ == pytest.approx(
        twin.with_rate(tpr=0.97).proba_threshold_
    )


# Intervals


def test_simulation_interval_of_vote_shares(models, data):
    X, _ = data
    model = models[None]
    votes = np.tensordot(model.weights_, all_scores(model, X) > 0, axes=1)
    found = model.predict_proba_interval(X, 0.9, kind="simulation")
    assert found == pytest.approx(np.column_stack(simulation_interval(votes, 0.9)))
    P = model.predict_proba(X)[:, 1]
    assert np.all((found[:, 0] <= P) & (found[:, 1] >= P))


def test_a_score_on_the_threshold_is_half_a_vote_in_an_interval(models):
    model = copy.deepcopy(models[None])
    # The scores of the first bag at zero.
    model.ensemble_ = replace(model.ensemble_, threshold=model.intercept_[:, 0])
    ranks = np.sign(model.intercept_ - model.threshold_[:, np.newaxis])
    votes = model.weights_ @ (1 + ranks) / 2
    assert votes[0] == pytest.approx(0.5)
    found = model.predict_proba_interval(np.zeros((1, 4)), kind="simulation")
    expected = simulation_interval(votes[:, np.newaxis], 0.95)
    assert found == pytest.approx(np.column_stack(expected), abs=1e-9)


def test_sampling_interval_of_vote_shares(models, data):
    X, _ = data
    model = models[None]
    votes = np.tensordot(model.weights_, all_scores(model, X) > 0, axes=1)
    expected = sampling_interval(votes, model.counts_, 0.9)
    if expected.estimated.all():
        found = model.predict_proba_interval(X, 0.9)
    else:
        with pytest.warns(UserWarning, match="could not be estimated"):
            found = model.predict_proba_interval(X, 0.9)
    assert found == pytest.approx(np.column_stack(expected[:2]))


def test_like_records_have_like_intervals_with_few_bags():
    """Records on a line, neighbours all but equal: no interval jumps, or holds most of [0, 1]."""
    X, y = make_classification(800, 4, n_informative=3, n_redundant=0, flip_y=0.1, random_state=0)
    model = BootstrapSVC([0.5], n_bootstraps=50, calibration="platt", random_state=0).fit(X, y)
    line = np.linspace(-1, 1, 200)[:, np.newaxis] * model.member_coef_.mean(axis=(0, 1))
    with pytest.warns(UserWarning, match="could not be estimated"):
        lower, upper = model.predict_proba_interval(line).T
    widths = upper - lower
    assert np.max(np.abs(np.diff(np.log(widths)))) < np.log(1.3)
    assert widths.max() < 0.5


@pytest.mark.parametrize("name", CALIBRATIONS)
@pytest.mark.parametrize("kind", ["simulation", "sampling"])
def test_calibrated_intervals_hold_the_probability(models, data, name, kind):
    X, _ = data
    model = models[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = model.predict_proba_interval(X, 0.95, kind=kind)
        narrow = model.predict_proba_interval(X, 0.5, kind=kind)
    P = model.predict_proba(X)[:, 1]
    assert np.all((found[:, 0] <= P + 1e-9) & (found[:, 1] + 1e-9 >= P))
    assert np.all(found[:, 0] <= narrow[:, 0] + 1e-12)
    assert np.all(narrow[:, 1] <= found[:, 1] + 1e-12)


def test_venn_abers_pairs_do_not_depend_on_the_calibration(models, data):
    X, y = data
    model = models["platt"]
    weights = model.weights_ / model.score_scales_
    link = VennAbersLink().fit(weights @ model.oob_scores_, y == 1)
    expected = np.column_stack(link.interval(weights @ all_scores(model, X).mean(axis=1)))
    assert model.predict_proba_interval(X, kind="venn_abers") == pytest.approx(expected)
    assert models[None].predict_proba_interval(X, kind="venn_abers") == pytest.approx(expected)


def test_score_interval_is_the_percentile_interval(models, data):
    X, _ = data
    model = models[None]
    scores = all_scores(model, X)
    mixed = percentile_interval(np.tensordot(model.weights_, scores, axes=1), 0.9)
    assert model.score_interval(X, 0.9) == pytest.approx(np.column_stack(mixed))
    single = percentile_interval(scores[2], 0.9)
    assert model.score_interval(X, 0.9, theta=2) == pytest.approx(np.column_stack(single))


def test_bad_arguments(models, data):
    X, _ = data
    model = models[None]
    with pytest.raises(ValueError, match=r"confidence must be a number in \(0, 1\), got 1"):
        model.predict_proba_interval(X, 1)
    with pytest.raises(ValueError, match="kind must be one of 'simulation', 'sampling'"):
        model.predict_proba_interval(X, kind="bayes")
    with pytest.raises(ValueError, match=r"theta must be None or in 0, ..., 2, got 3"):
        model.score_interval(X, theta=3)


def test_with_calibration_is_a_fit_with_that_calibration(models, data):
    X, _ = data
    before = dict(vars(models[None]))
    for name in CALIBRATIONS:
        copied = models[None].with_calibration(name)
        assert copied.get_params() == models[name].get_params()
        assert np.array_equal(copied.predict_proba(X), models[name].predict_proba(X))
        assert np.array_equal(copied.oob_proba_, models[name].oob_proba_)
    assert all(vars(models[None])[name] is value for name, value in before.items())
    back = models["platt"].with_rate(tpr=0.99).with_calibration(None)
    assert np.array_equal(back.predict_proba(X), models[None].predict_proba(X))
    assert np.array_equal(back.rate_curve().tpr, models[None].rate_curve().tpr)
    with pytest.raises(ValueError, match="calibration must be one of"):
        models[None].with_calibration("plat")


def test_too_few_bags_to_calibrate(data):
    X, y = data
    with pytest.raises(ValueError, match="needs samples that 5 bags left out"):
        BootstrapSVC(Cs=1.0, n_bootstraps=2, calibration="platt", random_state=0).fit(X, y)


def test_calibration_leaves_out_what_epsilon_leaves_out(data):
    X, y = data
    params = SMALL | {"calibration": "stack", "tol": 1e-7}
    best = BootstrapSVC(**params, epsilon=0.0).fit(X, y)
    alone = BootstrapSVC(**(params | {"Cs": best.thetas_["C"][best.weights_ > 0]})).fit(X, y)
    assert len(best.calibrator_.coef_) == np.count_nonzero(best.weights_)
    assert best.predict_proba(X) == pytest.approx(alone.predict_proba(X), abs=1e-4)


def test_records_on_one_step_of_a_link_can_be_threshold_apart(models, data):
    _, y = data
    model = models["isotonic"]
    P = model.oob_proba_[:, 1]
    assert len(np.unique(P.round(6))) < len(P) / 4
    assert len(np.unique(P)) == len(P)
    mixed = model.weights_ @ (model.oob_scores_ / model.score_scales_[:, np.newaxis])
    np.testing.assert_array_equal(np.argsort(P), np.argsort(mixed))  # also on a step
    for rate in (0.9, 0.95, 0.97):
        assert rate <= model.with_rate(tpr=rate, exceed=False).oob_tpr_ < rate + 1 / (y == 1).sum()
