"""The model of the command line is the one that scikit-learn's parts make."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline

from svmproba import BootstrapSVC, ThresholdBootstrapSVC
from svmproba.bootstrap.bags import draw_held_out
from svmproba.cli.costs import Costs, parse_costs
from svmproba.cli.errors import InputError, Voice
from svmproba.cli.input.tables import open_table
from svmproba.cli.output.summary import describe, in_words
from svmproba.cli.task import Task, frame_of, load_task
from svmproba.cli.training import Wish, train
from svmproba.evaluation import mean_cost
from svmproba.preparation.preprocessing import make_preprocessor

FEW = {"n_bootstraps": 30, "n_jobs": 1, "seed": 3}


def load(credit, **more):
    with open_table(str(credit)) as table:
        return load_task(table, "default", Voice(), positive="yes", **more)


@pytest.fixture(scope="module")
def task(credit):
    return load(credit)


@pytest.fixture(scope="module")
def priced(task):
    wish = Wish(costs=Costs(fn=5.0, fp=1.0))
    return wish, train(task, wish, **FEW)


def test_the_table_is_what_pandas_reads(task, credit):
    expected = pd.read_csv(credit)
    assert list(task.X.columns) == ["age", "income", "amount", "home"]
    for name in ("age", "income", "amount"):
        np.testing.assert_array_equal(task.X[name], expected[name].astype(float))
    assert task.X["home"].tolist() == expected["home"].tolist()
    assert task.y.tolist() == expected["default"].tolist()
    assert (task.positive, task.negative) == ("yes", "no")
    assert [column.name for column in task.plan] == expected.columns[:-1].tolist()


@pytest.mark.parametrize(
    ("wish", "twin"),
    [
        (Wish(calibration=None), BootstrapSVC(pos_label="yes")),
        (Wish(), BootstrapSVC(pos_label="yes", calibration="auto")),
        (
            Wish(tpr=0.9, guarantee="oob", calibration=None),
            ThresholdBootstrapSVC(0.9, guarantee="oob", pos_label="yes"),
        ),
        (
            Wish(tnr=0.8, calibration="platt"),
            ThresholdBootstrapSVC(target_tnr=0.8, calibration="platt", pos_label="yes"),
        ),
    ],
)
def test_twin_made_by_hand(task, wish, twin):
    done = []
    model = train(task, wish, **FEW, advance=done.append)
    twin = make_pipeline(make_preprocessor(task.X), twin)
    twin[-1].set_params(n_bootstraps=30, random_state=3)
    twin.fit(task.X, task.y)
    np.testing.assert_array_equal(model.predict_proba(task.X), twin.predict_proba(task.X))
    assert model["svm"].guarantee_ == twin[-1].guarantee_
    assert sum(done) == 30
    assert len(done) < 30  # blocks of bags, from which a pace can be told


def test_nothing_is_learned_from_records_held_back(task):
    wish = Wish(tpr=0.8, guarantee="split", confidence=0.8)
    held_out = draw_held_out(task.y != "yes", wish.held_out_share, np.random.default_rng(0))
    parts = dict(y=task.y, positive="yes", negative="no", plan=task.plan, held_out=held_out)
    model = train(Task(task.X, **parts), wish, **FEW)
    other = task.X.copy()
    other.loc[held_out, "income"] *= 1000
    other.loc[held_out, "home"] = "tent"
    changed = train(Task(other, **parts), wish, **FEW)
    np.testing.assert_array_equal(model["svm"].coef_, changed["svm"].coef_)
    np.testing.assert_array_equal(
        model["columns"].transform(task.X), changed["columns"].transform(task.X)
    )
    assert model["svm"].proba_threshold_ != changed["svm"].proba_threshold_
    assert "held out" in model["svm"].guarantee_


def test_figures_are_those_of_the_out_of_bag_decisions(task, priced):
    wish, model = priced
    found = describe(model, task, wish, "default")["figures"]
    proba, positive = model["svm"].oob_proba_[:, 1], task.y == "yes"
    called = proba >= 1 / 6
    assert found["tpr"] == called[positive].mean()
    assert found["tnr"] == (~called[~positive]).mean()
    expected = mean_cost(positive, called, fn_cost=5.0, fp_cost=1.0, pos_label=True)
    assert found["mean_cost"] == pytest.approx(expected)
    assert found["mean_cost_all_negative"] == pytest.approx(5 * positive.mean())
    assert found["mse"] == pytest.approx(np.mean((positive - proba) ** 2))


def test_decisions_are_those_of_decide(task, priced):
    _, model = priced
    rows = model[:-1].transform(task.X)
    expected = model["svm"].decide(rows, fn_cost=5.0, fp_cost=1.0)
    assert set(expected) == {"yes", "no"}
    assert model.predict(task.X).tolist() == expected.tolist()
    assert model["svm"].costs_ == {"tp_cost": 0.0, "tn_cost": 0.0, "fn_cost": 5.0, "fp_cost": 1.0}


def test_the_rate_decides_where_both_are_given(task):
    both, rate = (train(task, Wish(tpr=0.9, costs=c), **FEW) for c in (Costs(9.0, 1.0), None))
    assert both["svm"].costs_ is None
    assert both["svm"].proba_threshold_ == rate["svm"].proba_threshold_


@pytest.mark.parametrize(
    "wish",
    [
        Wish(tpr=0.9, guarantee="jackknife+", costs=Costs(2.0, 1.0)),
        Wish(tpr=0.9, guarantee="jackknife+", calibration=None),
        Wish(tpr=0.6, calibration=None),
        Wish(tpr=0.8, guarantee="split", confidence=0.8, calibration=None, costs=Costs(2.0, 1.0)),
    ],
)
def test_every_wish_has_a_summary(credit, wish):
    task = load(credit, held_out_share=wish.held_out_share)
    model = train(task, wish, **FEW)
    said = "\n".join(
        in_words(describe(model, task, wish, "default"), model["svm"].proba_threshold_)
    )
    assert "true positive rate" in said
    assert "Guaranteed: " in said
    assert "nan" not in said


def test_costs_from_text():
    assert parse_costs(" fn = 5 , fp=1,tp=-2") == Costs(5.0, 1.0, -2.0, 0.0)
    assert parse_costs(None) is None
    for text in ("fn=1", "fn=1,fp=x", "fn=1,fp=2,zz=3", "", "fn=0,fp=0", "fn=1,fp=inf"):
        with pytest.raises(InputError, match="--costs"):
            parse_costs(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fn=-5,fp=60", "--costs: fn must not be negative, got -5"),
        ("fn=5,fp=-1", "--costs: fp must not be negative, got -1"),
        ("fn=1,fp=1,tp=2", "fn \\+ fp > tp \\+ tn, got 1 \\+ 1 and 2 \\+ 0"),
        ("fn=nan,fp=1", "--costs must be like"),
    ],
)
def test_costs_that_decide_nothing_are_refused(text, message):
    with pytest.raises(InputError, match=message) as caught:
        parse_costs(text)
    assert "_cost" not in str(caught.value)


def test_wishes_that_do_not_go_together():
    for wish, message in (
        (Wish(tpr=0.9, tnr=0.9), "a threshold has one free rate"),
        (Wish(tpr=1.5), "--tpr must be from 0 to 1; got 1.5"),
        (Wish(guarantee="oob"), "--guarantee needs the rate"),
        (Wish(tpr=0.9, confidence=1.0), "--confidence must be between 0 and 1"),
    ):
        with pytest.raises(InputError, match=message):
            wish.check()


def test_missing_words_are_nan(task):
    (home,) = [column for column in task.plan if column.name == "home"]
    frame = frame_of(pa.table({"home": ["own", None, "?"]}), [home])
    assert frame["home"].isna().tolist() == [False, True, True]
    assert frame["home"].dtype == object
