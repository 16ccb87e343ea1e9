import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from svmproba import BootstrapSVC
from svmproba.evaluation import cost_curve, cost_scorer, mean_cost, optimal_threshold
from svmproba.evaluation.measures.costs import cheapest_calls

COSTS = {"tp_cost": -1.0, "tn_cost": 0.5, "fn_cost": 7.0, "fp_cost": 2.0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    return X, np.where(X[:, 0] + rng.normal(size=120) > 0.5, "sick", "healthy")


def test_mean_cost_is_the_weighted_confusion_matrix():
    rng = np.random.default_rng(1)
    y, called = rng.integers(0, 2, 80), rng.integers(0, 2, 80)
    tn, fp, fn, tp = confusion_matrix(y, called).ravel()
    expected = (-1.0 * tp + 0.5 * tn + 7.0 * fn + 2.0 * fp) / 80
    assert mean_cost(y, called, **COSTS) == pytest.approx(expected)
    assert mean_cost(y, called) == pytest.approx(np.mean(y != called))
    by_record = {name: np.full(80, cost) for name, cost in COSTS.items()}
    assert mean_cost(y, called, **by_record) == pytest.approx(expected)


def test_each_record_pays_its_own_cost():
    y, called = ["a", "b", "a", "b"], ["a", "a", "b", "b"]
    cost = mean_cost(
        y,
        called,
        tp_cost=[1, 2, 3, 4],
        tn_cost=[10, 20, 30, 40],
        fn_cost=[100, 200, 300, 400],
        fp_cost=[1000, 2000, 3000, 4000],
    )
    assert cost == (10 + 200 + 3000 + 4) / 4
    turned = mean_cost(y, called, fn_cost=[100, 200, 300, 400], fp_cost=0, pos_label="a")
    assert turned == 300 / 4


def test_one_class_is_enough():
    assert mean_cost(["no", "no"], ["no", "yes"], fp_cost=3) == 1.5
    assert mean_cost(["yes", "yes"], ["yes", "yes"], pos_label="yes") == 0


@settings(deadline=None, max_examples=100)
@given(st.floats(0, 1), *[st.integers(least, 5) for least in (-5, -5, 0, 0)])
def test_cheapest_call_has_the_smaller_expected_cost(p, tp, tn, fn, fp):
    costs = {"tp_cost": tp, "tn_cost": tn, "fn_cost": fn, "fp_cost": fp}
    assume(fn + fp > tp + tn)
    (called,) = cheapest_calls(np.array([p]), costs)
    if_called, if_not = p * tp + (1 - p) * fp, p * fn + (1 - p) * tn
    assert (if_called if called else if_not) == pytest.approx(min(if_called, if_not), abs=1e-12)
    assert called == (p >= optimal_threshold(**costs))


def test_optimal_threshold():
    assert optimal_threshold() == 0.5
    assert optimal_threshold(fn_cost=9) == 0.1
    assert optimal_threshold(fn_cost=9, tp_cost=1, fp_cost=3, tn_cost=1) == 0.2
    assert optimal_threshold(fp_cost=0, tn_cost=1, fn_cost=3) < 0  # alarms pay: call everybody
    with pytest.raises(ValueError, match="fp_cost must not be negative, got -1"):
        optimal_threshold(fp_cost=-1, fn_cost=3)
    with pytest.raises(ValueError, match="wrong calls must cost more than right ones"):
        optimal_threshold(tp_cost=2, tn_cost=2)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.booleans(), st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]), st.floats(0, 9)),
        min_size=1,
        max_size=20,
    )
)
def test_cost_curve_is_the_mean_cost_at_each_threshold(records):
    y, p = np.array([r[0] for r in records]), np.array([r[1] for r in records])
    costs = {**COSTS, "fn_cost": np.array([r[2] for r in records])}
    curve = cost_curve(y, p, pos_label=True, **costs)
    assert curve.threshold[-1] == np.inf
    np.testing.assert_array_equal(curve.threshold[:-1], np.unique(p))
    for threshold, cost in zip(*curve, strict=True):
        expected = mean_cost(y, p >= threshold, pos_label=True, **costs)
        assert cost == pytest.approx(expected, abs=1e-12)


def test_threshold_by_the_costs_is_cheapest_for_true_probabilities():
    rng = np.random.default_rng(3)
    p = rng.random(200_000)
    curve = cost_curve(rng.random(200_000) < p, p, fn_cost=4)
    lowest = curve.threshold[np.argmin(curve.cost)]
    assert lowest == pytest.approx(optimal_threshold(fn_cost=4), abs=0.02)


def test_mean_cost_in_a_scorer(data):
    X, y = data
    scorer = make_scorer(mean_cost, greater_is_better=False, fn_cost=5, pos_label="sick")
    model = LogisticRegression().fit(X, y)
    assert scorer(model, X, y) == -mean_cost(y, model.predict(X), fn_cost=5)
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, scoring=scorer, cv=3)
    assert search.fit(X, y).best_score_ < 0


def test_costs_per_record_are_routed_to_the_folds(data):
    X, y = data
    amount, folds = np.arange(120.0), KFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(mean_cost, greater_is_better=False).set_score_request(fn_cost=True)
        found = cross_validate(
            LogisticRegression(), X, y, scoring=scorer, cv=folds, params={"fn_cost": amount}
        )
    for score, (train, test) in zip(found["test_score"], folds.split(X), strict=True):
        called = LogisticRegression().fit(X[train], y[train]).predict(X[test])
        assert score == pytest.approx(-mean_cost(y[test], called, fn_cost=amount[test]))


def test_cost_scorer_reads_probabilities(data):
    X, y = data
    model = LogisticRegression().fit(X, y)
    called = np.where(
        model.predict_proba(X)[:, 1] >= optimal_threshold(fn_cost=4), "sick", "healthy"
    )
    scorer = cost_scorer(fn_cost=4)
    assert scorer(model, X, y) == pytest.approx(-mean_cost(y, called, fn_cost=4))
    assert scorer(model, X, y) > cost_scorer(fn_cost=4)(DummyClassifier().fit(X, y), X, y)
    assert pickle.loads(pickle.dumps(scorer)) == scorer


def test_cost_scorer_of_a_fold_with_one_class(data):
    X, y = data
    model = LogisticRegression().fit(X, y)
    healthy = y == "healthy"
    cost = -cost_scorer(fp_cost=3)(model, X[healthy], y[healthy])
    assert cost == pytest.approx(3 * np.mean(model.predict_proba(X[healthy])[:, 1] >= 0.75))


@pytest.mark.parametrize("inside_pipeline", [False, True])
def test_cost_scorer_calls_decide(data, inside_pipeline):
    """Also for a class of interest that is not the larger label."""
    X, y = data
    svc = BootstrapSVC(
        [1.0], n_bootstraps=50, calibration="platt", pos_label="healthy", random_state=0
    )
    model = make_pipeline(StandardScaler(), svc) if inside_pipeline else svc
    model.fit(X, y)
    rows = model[:-1].transform(X) if inside_pipeline else X
    decisions = svc.decide(rows, fn_cost=6.0, fp_cost=1.0)
    assert len(set(decisions)) == 2
    expected = -mean_cost(y, decisions, fn_cost=6, pos_label="healthy")
    assert cost_scorer(fn_cost=6.0)(model, X, y) == pytest.approx(expected)


def test_cost_scorer_in_searches_and_folds(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["x", "amount"])
    frame["amount"] = np.abs(frame["amount"])
    scorer, folds = cost_scorer(fn_cost=lambda table: 10 * table["amount"], fp_cost=2), KFold(3)
    scores = cross_val_score(LogisticRegression(), frame, y, scoring=scorer, cv=folds)
    for score, (train, test) in zip(scores, folds.split(frame), strict=True):
        model = LogisticRegression().fit(frame.iloc[train], y[train])
        p, fn_cost = model.predict_proba(frame.iloc[test])[:, 1], 10 * frame["amount"].iloc[test]
        called = np.where(p * fn_cost >= (1 - p) * 2, "sick", "healthy")
        assert score == pytest.approx(-mean_cost(y[test], called, fn_cost=fn_cost, fp_cost=2))
    search = GridSearchCV(LogisticRegression(), {"C": [1e-3, 1.0]}, scoring=scorer, cv=folds)
    assert search.fit(frame, y).best_params_ == {"C": 1.0}
    both = {"cost": scorer, "accuracy": "accuracy"}
    found = cross_validate(LogisticRegression(), frame, y, scoring=both, cv=folds)
    np.testing.assert_allclose(found["test_cost"], scores)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_cost([0, 1], [0, 1, 1]), "must hold one label for each sample"),
        (lambda: mean_cost([0, 1, 2], [0, 1, 1]), "y_true holds 3 classes: pos_label must name"),
        (lambda: mean_cost([0, 1], [0, 1], fn_cost=[1, 2, 3]), "fn_cost must be a finite number"),
        (lambda: mean_cost([0, 1], [0, 1], tp_cost=np.nan), "tp_cost must be a finite number"),
        (lambda: cost_curve([0, 1], [0.2, 1.1]), r"proba must lie in \[0, 1\]"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
