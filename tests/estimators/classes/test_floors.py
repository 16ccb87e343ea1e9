"""Floors under the recalls of several classes in every bag (CEBB2)."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from svmproba import BootstrapSVC, ConstrainedBootstrapSVC
from svmproba.estimators.classes.floors import floor_of_pair


def small(min_recall=None, **params):
    sizes = {"Cs": [0.1, 1.0], "n_bootstraps": 12, "effort": "fast", "random_state": 0}
    return ConstrainedBootstrapSVC(min_recall=min_recall, **(sizes | params))


def test_floor_of_a_pair():
    assert floor_of_pair(0.9, 2) == pytest.approx(0.9)
    assert floor_of_pair(0.9, 3) == pytest.approx(0.95)
    assert floor_of_pair(0.0, 3) == 0
    assert floor_of_pair(1.0, 7) == 1


@pytest.mark.filterwarnings("ignore:.* in every bag:UserWarning")
def test_a_floor_is_reached_in_every_bag(four_classes):
    X, y = four_classes
    model = small({0: 0.85}).fit(X, y)
    reached = model.bag_recalls_[..., 0]
    kept = ~model.replaced_.any(axis=0)
    assert reached.shape == kept.shape == (2, 12)
    assert kept.any()
    assert (reached[kept] >= 0.85 - 1e-12).all()
    without = small({}).fit(X, y)
    assert reached[kept].mean() > without.bag_recalls_[..., 0][kept].mean()
    # Recalls of the members, counted by hand in one bag.
    scores = np.concatenate([part for _, part in model.member_scores(X)], axis=-1)[:, 1, 3]
    wins = np.zeros((4, len(X)))
    for (first, second), of_pair in zip(model.pairs_, scores, strict=True):
        wins[second] += of_pair > 0
        wins[first] += of_pair < 0
    called = wins == wins.max(axis=0)
    right = (called / called.sum(axis=0))[y, np.arange(len(y))]
    for k in range(4):
        share = np.average(right[y == k], weights=model.counts_[3, y == k])
        assert model.bag_recalls_[1, 3, k] == pytest.approx(share)
    told = f"bags: 0 {model.bag_recalls_[..., 0].min():.3g} or more (floor 0.85)."
    assert told in model.summary_


@pytest.mark.filterwarnings("ignore:.* in every bag:UserWarning")
def test_without_floors_it_is_the_plain_ensemble(four_classes):
    X, y = four_classes
    params = {"Cs": [0.1, 1.0], "n_bootstraps": 12, "random_state": 0}
    assert_array_equal(
        small().fit(X, y).member_coef_, BootstrapSVC(**params).fit(X, y).member_coef_
    )


@pytest.mark.filterwarnings("ignore:.* in every bag:UserWarning")
def test_floors_at_once_are_those_one_by_one(four_classes):
    X, y = four_classes
    low, high = small(Cs=1.0).fit_floors(X, y, [{"min_recall": {0: 0.8}}, {"min_recall": {3: 0.9}}])
    assert low.min_recall == {0: 0.8}
    kept = ~high.replaced_.any(axis=0)
    assert (high.bag_recalls_[..., 3][kept] >= 0.9).all()
    one, two = (small({0: 0.8}, Cs=1.0, n_jobs=n).fit(X, y) for n in (1, 2))
    assert_array_equal(one.member_coef_, two.member_coef_)
    assert_array_equal(one.member_coef_, low.member_coef_)


@pytest.mark.filterwarnings("ignore:.* in every bag:UserWarning")
def test_a_fit_of_two_classes_forgets_the_recalls_of_four(four_classes):
    X, y = four_classes
    model = small(Cs=1.0).fit(X, y)
    assert not hasattr(model.fit(X[y < 2], y[y < 2]), "bag_recalls_")


def test_a_recall_floor_of_two_classes_is_a_rate_floor(iris):
    X, y = iris[0][50:], iris[1][50:]
    by_name = small({"versicolor": 0.96}).fit(X, y)
    by_rate = small(min_tnr=0.96).fit(X, y)
    assert_array_equal(by_name.member_coef_, by_rate.member_coef_)


@pytest.mark.filterwarnings("ignore:.* in every bag:UserWarning")
def test_floors_that_clash_name_the_classes(four_classes):
    _, y = four_classes
    some = np.flatnonzero(y < 3)
    noise = np.random.default_rng(0).normal(size=(len(some), 1))
    with pytest.warns(UserWarning, match=r"no known feasible point .* of classes 0 and 1"):
        model = small({0: 0.99, 1: 0.99}, Cs=1.0).fit(noise, y[some])
    assert model.replaced_[0].any()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (small(min_tpr=0.9), "min_tpr needs two classes, got 4: give min_recall="),
        (small({9: 0.9}), r"min_recall must name classes among \[0, 1, 2, 3\], got 9"),
        (small({1: 2}), "min_recall of class 1 must be a number in"),
        (small([0.9]), "min_recall must be None or a dict"),
    ],
)
def test_bad_floors(four_classes, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*four_classes)
