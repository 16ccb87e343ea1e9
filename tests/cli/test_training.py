"""The model of the command line is the one that scikit-learn's parts make."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from svmproba import BootstrapSVC, ThresholdBootstrapSVC
from svmproba.cli.costs import Costs
from svmproba.cli.errors import InputError
from svmproba.cli.task import Task
from svmproba.cli.training import Goal, n_features, train
from svmproba.preparation.preprocessing import make_preprocessor

FEW = {"n_bootstraps": 30, "n_jobs": 1, "seed": 3}


@pytest.mark.parametrize(
    ("goal", "twin"),
    [
        (Goal(calibration=None), BootstrapSVC(pos_label="yes")),
        (Goal(), BootstrapSVC(pos_label="yes", calibration="auto")),
        (
            Goal(tpr=0.9, guarantee="oob", calibration=None),
            ThresholdBootstrapSVC(0.9, guarantee="oob", pos_label="yes"),
        ),
        (
            Goal(tnr=0.8, calibration="platt"),
            ThresholdBootstrapSVC(target_tnr=0.8, calibration="platt", pos_label="yes"),
        ),
    ],
)
def test_twin_made_by_hand(task, goal, twin):
    done = []
    model = train(task, goal, **FEW, advance=lambda *bags: done.append(bags))
    twin = make_pipeline(make_preprocessor(task.X), twin)
    twin[-1].set_params(n_bootstraps=30, random_state=3)
    twin.fit(task.X, task.y)
    np.testing.assert_array_equal(model.predict_proba(task.X), twin.predict_proba(task.X))
    assert model["svm"].guarantee_ == twin[-1].guarantee_
    assert sum(n for n, _ in done) == 30
    assert {total for _, total in done} == {30}
    assert len(done) < 30  # blocks of bags, from which a pace can be told


def test_nothing_is_learned_from_records_held_out(task, load_credit):
    goal = Goal(tpr=0.8, guarantee="split", confidence=0.8)
    held_out = load_credit(held_out_share=goal.held_out_share).held_out
    parts = dict(y=task.y, classes=["no", "yes"], positive="yes", plan=task.plan, held_out=held_out)
    model = train(Task(task.X, **parts), goal, **FEW)
    other = task.X.copy()
    other.loc[held_out, "income"] *= 1000
    other.loc[held_out, "home"] = "tent"
    changed = train(Task(other, **parts), goal, **FEW)
    np.testing.assert_array_equal(model["svm"].member_coef_, changed["svm"].member_coef_)
    np.testing.assert_array_equal(
        model["columns"].transform(task.X), changed["columns"].transform(task.X)
    )
    assert model["svm"].proba_threshold_ != changed["svm"].proba_threshold_
    assert "held out" in model["svm"].guarantee_


def test_decisions_are_those_of_decide(task, priced):
    _, model = priced
    rows = model[:-1].transform(task.X)
    expected = model["svm"].decide(rows, fn_cost=5.0, fp_cost=1.0)
    assert set(expected) == {"yes", "no"}
    assert model.predict(task.X).tolist() == expected.tolist()
    assert model["svm"].costs_ == {"tp_cost": 0.0, "tn_cost": 0.0, "fn_cost": 5.0, "fp_cost": 1.0}


def test_the_rate_decides_where_both_are_given(task):
    both, rate = (train(task, Goal(tpr=0.9, costs=c), **FEW) for c in (Costs(9.0, 1.0), None))
    assert both["svm"].costs_ is None
    assert both["svm"].proba_threshold_ == rate["svm"].proba_threshold_


def test_goals_that_exclude_each_other():
    for goal, message in (
        (Goal(tpr=0.9, tnr=0.9), "a threshold has one free rate"),
        (Goal(tpr=1.5), "--tpr must be from 0 to 1; got 1.5"),
        (Goal(tnr=-0.1), "--tnr must be from 0 to 1; got -0.1"),
        (Goal(confidence=0.0), "--confidence must be between 0 and 1; got 0"),
        (Goal(guarantee="oob"), "--guarantee needs the rate"),
        (Goal(tpr=0.9, confidence=1.0), "--confidence must be between 0 and 1"),
        (Goal(tnr=1.0, guarantee="oob"), "--tnr must be above 0 and below 1 with --guarantee"),
        (Goal(floors={"a": 0.0}, guarantee="split"), "--floor a must be above 0 and below 1"),
    ):
        with pytest.raises(InputError, match=message):
            goal.check()
    for goal in (Goal(), Goal(tpr=0.0), Goal(tnr=1.0), Goal(confidence=0.01)):
        goal.check()


def test_only_a_split_holds_records_out():
    assert Goal(tpr=0.9, guarantee="split").held_out_share == 0.3
    assert Goal(tpr=0.9, guarantee="oob").held_out_share == Goal().held_out_share == 0.0
    assert [goal.wants_rate for goal in (Goal(), Goal(tpr=0.0), Goal(tnr=0.0))] == [0, 1, 1]


def test_features_are_counted(priced):
    _, model = priced
    assert n_features(model) == 6  # three numbers and three kinds of home
    assert model["svm"].n_features_in_ == 6
