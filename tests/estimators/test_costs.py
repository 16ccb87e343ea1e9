from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification

from svmproba import BootstrapSVC


@pytest.fixture(scope="module")
def data():
    return make_classification(150, 4, flip_y=0.2, class_sep=0.6, random_state=0)


@pytest.fixture(scope="module")
def model(data):
    X, y = data
    labels = np.where(y == 1, "yes", "no")
    return BootstrapSVC(Cs=[0.1, 1.0], n_bootstraps=50, calibration="platt", random_state=0).fit(
        X, labels
    )


def test_decisions_have_the_least_expected_cost(model, data):
    X, _ = data
    rng = np.random.default_rng(0)
    costs = {
        "tp_cost": rng.normal(size=len(X)),
        "tn_cost": -0.3,
        "fn_cost": rng.random(len(X)) * 5,
        "fp_cost": 2.0,
    }
    labels, cost = model.decide(X, return_cost=True, **costs)
    P = model.predict_proba(X)[:, 1]
    table = np.array(
        [
            P * costs["fn_cost"] + (1 - P) * costs["tn_cost"],
            P * costs["tp_cost"] + (1 - P) * costs["fp_cost"],
        ]
    )
    assert cost == pytest.approx(table.min(axis=0))
    assert np.array_equal(labels, np.array(["no", "yes"])[table.argmin(axis=0)])
    assert np.array_equal(model.decide(X, **costs), labels)


def test_equal_costs_are_the_cut_at_one_half(model, data):
    X, _ = data
    assert np.array_equal(model.decide(X), model.predict(X))
    assert np.array_equal(model.with_rate(tpr=0.99).decide(X), model.predict(X))


def test_a_tie_goes_to_the_class_of_interest(model, data):
    X, _ = data
    assert np.all(model.decide(X, fn_cost=0.0, fp_cost=0.0) == "yes")


def test_vote_shares_are_warned_of(data):
    X, y = data
    votes = BootstrapSVC(Cs=1.0, n_bootstraps=20, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="calibration='auto'"):
        votes.decide(X)


@pytest.mark.parametrize("cost", [np.nan, "dear", [1.0, 2.0], np.inf])
def test_bad_costs_are_named(model, data, cost):
    with pytest.raises(ValueError, match="fp_cost must be a finite number or 150 of them"):
        model.decide(data[0], fp_cost=cost)
