"""Recalls of classes under control (CEBB1), and cost matrices."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from svmproba import BootstrapSVC, ProbabilitySVC, ThresholdBootstrapSVC
from svmproba.bootstrap.classes.levels import class_levels


def brute_levels(scores, pairs, place, n_classes):
    """Levels (n_theta, B, n): the largest of the scores below which one bag calls the class."""
    own = {}
    for (first, second), of_pair in zip(pairs, scores, strict=True):
        if place == second:
            own[first] = of_pair
        elif place == first:
            own[second] = -of_pair
    candidates = np.stack(list(own.values()))
    best = np.full(scores.shape[1:], -np.inf)
    for level in candidates:
        below = level - 1e-9 * np.maximum(1, np.abs(level))
        wins = np.zeros((n_classes, *scores.shape[1:]))
        for (first, second), of_pair in zip(pairs, scores, strict=True):
            moved = of_pair - below * ((second == place) - 1 * (first == place))
            wins[second] += np.where(moved > 0, 1, np.where(moved == 0, 0.5, 0))
            wins[first] += np.where(moved < 0, 1, np.where(moved == 0, 0.5, 0))
        others = np.delete(wins, place, axis=0).max(axis=0)
        best = np.where(wins[place] > others, np.maximum(best, level), best)
    return best


@pytest.mark.parametrize("place", range(4))
def test_levels_are_where_a_bag_begins_to_call_the_class(four_classes, model, place):
    X, _ = four_classes
    scores = np.concatenate([part for _, part in model.member_scores(X)], axis=-1)
    levels = class_levels(model.ensemble_.members, X, place, np.zeros(4))
    expected = brute_levels(scores, model.pairs_, place, 4)
    assert_allclose(np.moveaxis(levels, 0, -1), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["votes", "calibrated"])
@pytest.mark.parametrize("recall", [{1: 0.99}, {0: 0.9}, {0: 0.9, 3: 0.95}, {2: 1.0, 3: 0.97}])
def test_recalls_are_reached_out_of_bag(four_classes, model, calibrated, kind, recall):
    one = model if kind == "votes" else calibrated
    moved = one.with_rate(recall=recall)
    reached = moved.oob_recalls_
    for label, rate in recall.items():
        assert reached[label] >= rate
    others = [k for k in range(4) if k not in recall]
    if kind == "votes":
        assert_array_equal(moved.class_shifts_[others], 0)
        assert (moved.class_shifts_ >= 0).all()
    else:
        assert_array_equal(moved.class_factors_[others], 1)
        assert moved.oob_proba_ is one.oob_proba_
    assert moved.member_coef_ is not None
    assert moved.ensemble_.members is one.ensemble_.members
    X, _ = four_classes
    P = moved.predict_proba(X)
    assert_array_equal(moved.predict(X), (P * moved.class_factors_).argmax(axis=1))
    assert "No guarantee" in moved.guarantee_


def test_a_factor_is_the_least(calibrated, four_classes):
    moved = calibrated.with_rate(recall={0: 0.9})
    less = moved.class_factors_ * np.where(np.arange(4) == 0, 1 - 1e-6, 1)
    y = four_classes[1]
    called = (moved.oob_proba_ * less).argmax(axis=1)
    assert np.mean(called[y == 0] == 0) < 0.9 <= moved.oob_recalls_[0]


def test_an_excess_is_given_up(calibrated):
    stays, less = (calibrated.with_rate(recall={2: 0.5}, exceed=e) for e in (True, False))
    assert stays.class_factors_[2] == pytest.approx(1)
    assert less.class_factors_[2] < 1
    assert 0.5 <= less.oob_recalls_[2] < stays.oob_recalls_[2]


def test_recalls_that_clash(calibrated, model):
    hard = {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}
    for one in (calibrated, model):
        with pytest.raises(ValueError, match=r"recalls clash: .* recalls of .* for class 0 \("):
            one.with_rate(recall=hard)


@pytest.mark.parametrize("kind", ["votes", "calibrated"])
def test_rate_curves(model, calibrated, kind, four_classes):
    one = model if kind == "votes" else calibrated
    curve = one.rate_curve(1)
    assert (np.diff(curve.tpr) <= 0).all()
    assert (np.diff(curve.tnr) >= 0).all()
    if kind == "calibrated":
        neutral = np.searchsorted(curve.threshold, 0.4999999)
        assert curve.tpr[neutral] == pytest.approx(one.oob_recalls_[1])
        return
    # The recall of the curve is that of a model whose threshold is there.
    rate = 0.95
    place = np.flatnonzero(curve.tpr >= rate)[-1]
    moved = one.with_rate(recall={1: rate})
    assert -moved.class_shifts_[1] >= curve.threshold[place] - 1e-9
    assert curve.mse_plus[0] < curve.mse_plus[-1]


def test_split_and_oob_guarantees(four_classes, model, calibrated):
    X, y = four_classes
    for one in (model, calibrated):
        free, sure = (one.with_rate(recall={1: 0.8}, guarantee=g) for g in (None, "oob"))
        assert sure.oob_recalls_[1] >= free.oob_recalls_[1]
        assert sure.guarantee_.startswith("Approximately, with confidence 90 %, at least 80 %")
        both = one.with_rate(recall={1: 0.7, 2: 0.7}, guarantee="oob")
        assert (both.oob_recalls_[1:3] > 0.7).all()
        assert "all at once: 70 % of class 1 (71 samples), 70 % of class 2" in both.guarantee_
        split = one.with_rate(recall={1: 0.7, 2: 0.7}, guarantee="split", X=X, y=y)
        assert split.guarantee_.startswith("With confidence 90 %, at least these shares")
    with pytest.raises(ValueError, match="needs at least 230 samples of class 1, got 71"):
        model.with_rate(recall={1: 0.99}, guarantee="oob")
    with pytest.raises(ValueError, match=r"cannot be guaranteed together .* of class [03]"):
        model.with_rate(recall={0: 0.9, 3: 0.9}, guarantee="oob", confidence=0.999)


@pytest.mark.parametrize("kind", ["votes", "calibrated"])
@pytest.mark.parametrize("recall", [{1: 0.6}, {0: 0.6, 1: 0.6}])
def test_groups_judge_by_one_sample_each(four_classes, model, calibrated, kind, recall):
    X, y = four_classes
    one = model if kind == "votes" else calibrated
    # Copies of a sample are a group: which of them judges makes no difference, and none is new.
    copied, groups = np.repeat(np.arange(len(y)), 3), np.repeat(np.arange(len(y)), 3)
    rng = np.random.default_rng(0)
    some = rng.permutation(len(copied))
    options = {"recall": recall, "guarantee": "split"}
    alone = one.with_rate(X=X, y=y, **options)
    grouped = one.with_rate(X=X[copied[some]], y=y[copied[some]], groups=groups[some], **options)
    assert_allclose(grouped.class_shifts_, alone.class_shifts_)
    assert_allclose(grouped.class_factors_, alone.class_factors_)
    assert "future group" in grouped.guarantee_
    assert ", by one sample drawn from each" in grouped.guarantee_
    assert f"{(y == 1).sum()} groups" in grouped.guarantee_
    free = one.with_rate(recall=recall, X=X, y=y, groups=np.arange(len(y)) % 9)
    assert_allclose(free.class_factors_, one.with_rate(recall=recall, X=X, y=y).class_factors_)


@pytest.mark.parametrize("kind", ["split", "oob"])
def test_estimators_guarantee_recalls_by_group(four_classes, kind):
    X, y = four_classes
    groups = 2 * np.arange(len(y)) + 100  # all different
    params = {"target_recall": {1: 0.7, 2: 0.6}, "guarantee": kind, "random_state": 0}
    model = ThresholdBootstrapSVC(**params, calibration_size=0.5, n_bootstraps=30)
    model.fit(np.repeat(X, 2, axis=0), np.repeat(y, 2), groups=np.repeat(groups, 2))
    n_judges = (
        np.sum(y == 1)
        if kind == "oob"
        else len(set(model.held_out_ // 2) & set(np.flatnonzero(y == 1)))
    )
    assert f"70 % of class 1 ({n_judges} groups)" in model.guarantee_
    with pytest.raises(ValueError, match="at least 230 groups with samples of class 1, got"):
        model.with_rate(recall={1: 0.99}, guarantee="oob")
    with pytest.raises(ValueError, match=r"of class [12], one of each group, are called rightly"):
        model.with_rate(recall={1: 0.9, 2: 0.9}, guarantee="oob", confidence=0.999)
    with pytest.raises(ValueError, match="subsampling must be 'single' with more than two classes"):
        model.set_params(subsampling="repeated").fit(X, y, groups=groups // 4)


def test_a_class_that_nobody_judges_is_named(four_classes, model, calibrated):
    X, y = four_classes
    some = y != 1
    for kind in (model, calibrated):
        with pytest.raises(ValueError, match="every class that is named; there is none of class 1"):
            kind.with_rate(recall={0: 0.5, 1: 0.5}, X=X[some], y=y[some])


def test_threshold_estimator(four_classes):
    X, y = four_classes
    params = {"Cs": 1.0, "n_bootstraps": 40, "random_state": 0}
    model = ThresholdBootstrapSVC(target_recall={0: 0.9, 3: 0.9}, **params).fit(X, y)
    plain = BootstrapSVC(**params).fit(X, y).with_rate(recall={0: 0.9, 3: 0.9})
    assert_array_equal(model.class_shifts_, plain.class_shifts_)
    assert_array_equal(model.oob_proba_, plain.oob_proba_)
    held = ThresholdBootstrapSVC(
        target_recall={1: 0.8}, guarantee="split", calibration="platt", **params
    ).fit(X, y)
    assert len(held.held_out_) == round(0.3 * len(y)) or abs(len(held.held_out_) - 53) < 4
    assert held.guarantee_.startswith("With confidence 90 %, at least 80 % of all future samples")
    train = ThresholdBootstrapSVC(target_recall={1: 0.97}, tune_on="train", **params).fit(X, y)
    assert np.mean(train.predict(X)[y == 1] == 1) >= 0.97


def test_a_recall_of_one_of_two_classes_is_its_rate(iris):
    X, y = iris[0][50:], iris[1][50:]
    model = BootstrapSVC(1.0, n_bootstraps=30, random_state=0).fit(X, y)
    for name, label in (("tpr", "virginica"), ("tnr", "versicolor")):
        by_label = model.with_rate(recall={label: 0.97})
        assert by_label.threshold_ == model.with_rate(**{name: 0.97}).threshold_
        estimator = ThresholdBootstrapSVC(target_recall={label: 0.97}, Cs=1.0, n_bootstraps=30)
        estimator.set_params(random_state=0).fit(X, y)
        assert estimator.threshold_ == by_label.threshold_
    assert_array_equal(model.rate_curve("virginica").tpr, model.rate_curve().tpr)
    with pytest.raises(ValueError, match="takes the place of tpr and tnr"):
        model.with_rate(recall={"virginica": 0.9}, tpr=0.9)
    with pytest.raises(ValueError, match="label must be None or the class of interest"):
        model.rate_curve("versicolor")


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"tpr": 0.9}, "tpr needs two classes: give recall="),
        ({}, "recall must be a dict of classes and rates"),
        ({"recall": {7: 0.9}}, r"recall must name classes among \[0, 1, 2, 3\], got \[7\]"),
        ({"recall": {1: 1.2}}, r"recall of class 1 must be a number in \[0, 1\], got 1.2"),
        ({"recall": {1: 0.9}, "per_theta": True}, "per_theta=True needs two classes"),
        ({"recall": {1: 0.9}, "guarantee": "jackknife+"}, "must be one of None, 'split', 'oob'"),
        ({"recall": {1: 0.9, 2: 0.5}, "exceed": False}, "exceed=False needs one class"),
        ({"recall": {1: 0.9}, "guarantee": "split"}, "needs samples that had no part"),
        ({"recall": {1: 1.0}, "guarantee": "oob"}, "recall of class 1 must be above 0 and below"),
        ({"recall": {1: 0.9}, "confidence": 1.5}, "confidence must be .*, got 1.5"),
        ({"recall": {1: 0.9}, "by": [0, 1]}, "by needs two classes, got 4: fit one of them"),
    ],
)
def test_bad_wishes(model, wishes, message):
    with pytest.raises(ValueError, match=message):
        model.with_rate(**wishes)
    with pytest.raises(ValueError, match=r"label must be one of the classes \[0, 1, 2, 3\]"):
        model.rate_curve()


class NoRowNames:
    """A table as those of polars: columns have names, rows have none."""

    def __init__(self, values, columns):
        self.values, self.columns = values, columns

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


COSTS = np.array([[0, 1, 4, 2], [5, 0, 1, 1], [1, 1, -1, 1], [9, 1, 1, 0.0]])


def test_decisions_of_least_expected_cost(four_classes, calibrated):
    X, _ = four_classes
    P = calibrated.predict_proba(X)
    labels, cost = calibrated.decide(X, cost_matrix=COSTS, return_cost=True)
    assert_array_equal(labels, (P @ COSTS).argmin(axis=1))
    assert_allclose(cost, (P @ COSTS).min(axis=1))
    order = [2, 0, 3, 1]
    table = pd.DataFrame(COSTS[np.ix_(order, order)], index=order, columns=order)
    assert_array_equal(calibrated.decide(X, cost_matrix=table), labels)
    unnamed = NoRowNames(COSTS, columns=[0, 1, 2, 3])
    assert_array_equal(calibrated.decide(X, cost_matrix=unnamed), labels)
    each = np.broadcast_to(COSTS, (len(X), 4, 4)).copy()
    each[0] = 1 - np.eye(4)
    each[0, 3] = 100 * each[0, 3]
    by_sample = calibrated.decide(X, cost_matrix=each)
    assert_array_equal(by_sample[1:], labels[1:])
    assert_array_equal(calibrated.decide(X), calibrated.predict(X))
    decided = calibrated.with_rate(recall={1: 0.99}).with_costs(cost_matrix=COSTS)
    assert_array_equal(decided.predict(X), labels)
    assert_array_equal(decided.decide(X), labels)
    assert_array_equal(decided.class_factors_, 1)
    assert "follows from costs" in decided.guarantee_
    called = (decided.oob_proba_ @ COSTS).argmin(axis=1)
    assert decided.oob_score_ == np.mean(called == four_classes[1])
    assert decided.with_calibration("platt").costs_ is None


@pytest.mark.filterwarnings("ignore:Expected costs from vote shares")
def test_recalls_have_no_part_in_decisions_by_cost(four_classes, model, calibrated):
    X, _ = four_classes
    for free in (model, calibrated):
        wary = free.with_rate(recall={1: 0.95})
        assert_array_equal(wary.decide(X, cost_matrix=COSTS), free.decide(X, cost_matrix=COSTS))


def test_vote_shares_are_warned_of(four_classes, model):
    with pytest.warns(UserWarning, match="vote share"):
        model.decide(four_classes[0], cost_matrix=COSTS)
    with pytest.warns(UserWarning, match="vote share"):
        model.with_costs(cost_matrix=COSTS)


def test_costs_of_one_svm_for_each_pair(four_classes):
    X, y = four_classes
    model = ProbabilitySVC(Cs=1.0, random_state=0).fit(X, y)
    labels = (model.predict_proba(X) @ COSTS).argmin(axis=1)
    assert_array_equal(model.decide(X, cost_matrix=COSTS), labels)
    assert_array_equal(model.with_costs(cost_matrix=COSTS).predict(X), labels)


def test_a_matrix_for_two_classes(iris):
    X, y = iris[0][50:], iris[1][50:]
    model = BootstrapSVC(1.0, n_bootstraps=30, calibration="platt", random_state=0).fit(X, y)
    costs = {"tp_cost": -1.0, "tn_cost": 0.0, "fn_cost": 3.0, "fp_cost": 2.0}
    table = pd.DataFrame(
        [[-1.0, 3.0], [2.0, 0.0]],
        index=["virginica", "versicolor"],
        columns=["virginica", "versicolor"],
    )
    assert model.with_costs(cost_matrix=table).costs_ == costs
    assert_array_equal(model.decide(X, cost_matrix=table), model.decide(X, **costs))
    with pytest.raises(TypeError, match="needs fp_cost, or cost_matrix"):
        model.with_costs(fn_cost=1.0)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.zeros((3, 3)), r"shape \(4, 4\) or \(178, 4, 4\), .* got shape \(3, 3\)"),
        (np.zeros((5, 4, 4)), r"got shape \(5, 4, 4\)"),
        (np.where(np.eye(4) > 0, np.nan, 0), "got nan for class 0 called 0"),
        ([["a"] * 4] * 4, "must hold numbers"),
        (pd.DataFrame(COSTS, index=[0, 1, 2, 7], columns=range(4)), "among its rows, .* missing"),
        (
            pd.DataFrame(COSTS, index=range(4), columns=[0, 1, 2, 2]),
            r"among its columns, got \[0, 1, 2, 2\]; missing: 3; more than once: 2",
        ),
        (
            pd.DataFrame(COSTS, index=[0, 1, 2, "x"], columns=range(4)),
            "missing: 3; unknown: 'x'",
        ),
        (
            NoRowNames(COSTS, columns=[1, 0, 2, 3]),
            r"must have the classes \[0, 1, 2, 3\] as columns, .* got columns \[1, 0, 2, 3\]",
        ),
    ],
)
def test_bad_matrices(four_classes, calibrated, matrix, message):
    with pytest.raises(ValueError, match=message):
        calibrated.decide(four_classes[0], cost_matrix=matrix)


def test_costs_of_two_classes_are_refused(four_classes, calibrated):
    with pytest.raises(ValueError, match="fn_cost need two classes, got 4: give cost_matrix"):
        calibrated.decide(four_classes[0], fn_cost=2.0)
    with pytest.raises(ValueError, match="fn_cost, fp_cost need two classes, got 4"):
        calibrated.with_costs(fn_cost=2.0, fp_cost=1.0)
