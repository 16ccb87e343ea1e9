"""Coefficients and names in the report."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from svmproba import BootstrapSVC, ThresholdBootstrapSVC
from svmproba.evaluation.report import _model as module
from svmproba.evaluation.report._figures import report_figures
from svmproba.evaluation.report._model import class_names

SMALL = {"Cs": [0.1, 1.0], "n_bootstraps": 30, "random_state": 0}


def test_drivers_are_standardised_coefficients(ensemble, new_data):
    X, y = new_data
    found = report_figures(ensemble, X, y)["drivers"]
    by_bag = np.einsum(
        "t,tbj,j->bj",
        ensemble.weights_ / ensemble.score_scales_,
        ensemble.member_coef_,
        X.std(axis=0),
    )
    first = found["rows"][0]
    assert first["name"] == "column 1"
    assert first["coef"] == pytest.approx(by_bag[:, 0].mean())
    assert first["lower"] == pytest.approx(np.quantile(by_bag[:, 0], 0.025))
    assert first["same_sign"] == 1
    assert found["rows"][1]["same_sign"] == np.mean(
        np.sign(by_bag[:, 1]) == np.sign(by_bag[:, 1].mean())
    )


def test_drivers_have_the_columns_of_the_user(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    table = pd.DataFrame(X, columns=["age", "income"], index=[f"id {i}" for i in range(len(y))])
    model = make_pipeline(StandardScaler(), BootstrapSVC(**SMALL)).fit(table, y)
    figures = report_figures(model, table, y)
    assert [row["name"] for row in figures["drivers"]["rows"]] == ["age", "income"]
    assert figures["near"]["named"]
    assert figures["near"]["rows"][0]["name"].startswith("id ")
    mute = make_pipeline(FunctionTransformer(), BootstrapSVC(**SMALL)).fit(X, y)
    assert report_figures(mute, X, y)["drivers"]["rows"][0]["name"] == "column 1"


def test_names_that_say_nothing_get_the_target(ensemble, new_data):
    names = report_figures(ensemble, *new_data, {"target": "churn"})["names"]
    assert names["positive"] == "churn = yes"


def test_coefficients_whose_interval_leaves_zero_out(data, new_data):
    rng = np.random.default_rng(0)
    X = np.hstack([data[0], rng.normal(size=(150, 23))])
    model = BootstrapSVC(**SMALL).fit(X, data[1])
    new = np.hstack([new_data[0], rng.normal(size=(90, 23))])
    found = report_figures(model, new, new_data[1])["drivers"]
    weights = model.weights_ / model.score_scales_
    by_bag = np.einsum("t,tbj,j->bj", weights, model.member_coef_, new.std(axis=0))
    low, high = np.quantile(by_bag, [0.025, 0.975], axis=0)
    assert found["n_columns"] == 25
    assert 0 < found["n_sure"] == sum((low > 0) | (high < 0)) < 25
    sizes = [abs(row["coef"]) for row in found["rows"]]
    assert len(sizes) == 20
    assert sizes == pytest.approx(sorted(np.abs(by_bag.mean(axis=0)), reverse=True)[:20])


def named(*labels, plus=1):
    return SimpleNamespace(classes_=np.array(labels), _plus=plus)


@pytest.mark.parametrize(
    ("ensemble", "target", "positive", "negative"),
    [
        (named("good", "bad"), None, "bad", "good"),
        (named("good", "bad", plus=0), "loan", "good", "bad"),
        (named("No", "Yes"), None, "Yes", "No"),
        (named("No", "Yes"), "loan", "loan = Yes", "loan = No"),
        (named(0, 1), None, "class 1", "class 0"),
        (named(0, 1), "loan", "loan = 1", "loan = 0"),
    ],
)
def test_names_of_the_classes(ensemble, target, positive, negative):
    names = class_names(ensemble, {} if target is None else {"target": target})
    assert (names["positive"], names["negative"]) == (positive, negative)
    assert (names["records"], names["target"]) == ("records", target or "")
    assert class_names(ensemble, {"records": "loans"})["records"] == "loans"


def test_columns_with_the_same_short_name_keep_the_long_one():
    model = SimpleNamespace(feature_names_in_=np.array(["a__x", "b__x"], object))
    short = SimpleNamespace(feature_names_in_=np.array(["a__x", "b__y__z"], object))
    bare = SimpleNamespace()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ensemble_of", lambda model: model)
        assert module.column_names(model, 2) == ["a__x", "b__x"]
        assert module.column_names(short, 2) == ["x", "y__z"]
        assert module.column_names(bare, 2) == ["column 1", "column 2"]
        assert module.column_names(short, 3) == ["column 1", "column 2", "column 3"]


def test_facts_about_the_model(data):
    X, y = data
    told = dict(module.facts(BootstrapSVC(**SMALL).fit(X, y)))
    assert told["Model"] == "BootstrapSVC"
    assert (told["Columns"], told["Bags"], told["SVMs"]) == ("2", "30", "60")
    assert (told["Kernel"], told["C"]) == ("linear", "0.1 to 1, 2 values")
    assert "gamma" not in told
    assert "Weight of the class of interest" not in told
    assert told["Hyperparameters weighted by"] == "out-of-bag accuracy"
    assert told["Probabilities"] == "vote shares, not calibrated"
    rbf = BootstrapSVC(
        [0.1, 1.0],
        n_bootstraps=15,
        kernel="rbf",
        gammas=0.5,
        class_weight="balanced",
        reliability="balanced_accuracy",
        calibration="platt",
        random_state=0,
    )
    pipeline = make_pipeline(StandardScaler(), rbf.fit(X, y)).fit(X, y)
    told = dict(module.facts(pipeline))
    assert told["gamma"] == "0.5"
    assert told["Columns"] == "2, encoded as 2 numbers"
    assert told["Hyperparameters weighted by"] == "out-of-bag balanced accuracy"
    assert told["Probabilities"] == "calibrated on out-of-bag scores (PlattLink)"
    best = rbf.thetas_["C"][rbf.reliability_.argmax()]
    assert told["Most reliable C"] == f"{best:.4g}"
    weight = float(told["Weight of the class of interest"])
    assert weight == pytest.approx(np.sum(y == "no") / np.sum(y == "yes"), rel=1e-3)
    moved = dict(module.facts(ThresholdBootstrapSVC(0.9, **SMALL).fit(X, y)))
    assert moved["target_tpr"] == "0.9"
    assert "target_tnr" not in moved
