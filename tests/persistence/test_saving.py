"""What is saved with a model, and what cannot be saved."""

import functools

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    StandardScaler,
    scale,
)

import svmproba
from svmproba import (
    BootstrapSVC,
    ModelFileError,
    RateFeatureSelector,
    RateGuarantee,
    load,
    read_about,
    save,
)

X, y = load_breast_cancer(return_X_y=True)
X, y = scale(X[:120, :6]), y[:120]
SMALL = {"Cs": [0.1, 1.0], "n_bootstraps": 30, "random_state": 0}


def test_size_is_that_of_the_arrays(path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 30))
    model = BootstrapSVC(Cs=[0.1, 1.0], n_bootstraps=200, random_state=0)
    model.fit(rows, rows[:, 0] + rng.normal(size=400) > 0)
    save(model, path)
    coef = model.ensemble_.members.columns[0].nbytes
    assert path.stat().st_size < 1.05 * (coef + model.counts_.nbytes)


def test_callbacks_and_requests_are_left_out(path):
    callback = pytest.importorskip("sklearn.callback")
    with config_context(enable_metadata_routing=True):
        model = BootstrapSVC(**SMALL).set_fit_request(sample_weight=True)
    model.set_callbacks(callback.ProgressBar()).fit(X, y)
    save(model, path)
    again = load(path)
    assert hasattr(model, "_skl_callbacks")
    assert not {"_skl_callbacks", "_metadata_request"} & set(vars(again))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_about(model, saved, path):
    found = read_about(saved)
    assert found["about"] == {"data": "wisconsin"}
    assert found["format"] == 1
    assert found["svmproba"] == svmproba.__version__
    save(model, path, about={"unknown": float("nan"), "name": "Müller \x1b"})
    about = read_about(path)["about"]
    assert np.isnan(about["unknown"])
    assert about["name"] == "Müller \x1b"
    with pytest.raises(ModelFileError, match="nested more than 100 deep"):
        save(model, path, about=functools.reduce(lambda inner, _: [inner], range(100), 0))
    with pytest.raises(TypeError, match="about must be JSON-serialisable"):
        save(model, path, about={"model": model})


class Doubler(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return 2 * X


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (BootstrapSVC(), NotFittedError, "not fitted"),
        (LogisticRegression(), TypeError, "must be one of BootstrapSVC, .*got LogisticRegression"),
        (
            Pipeline([("one", StandardScaler()), ("two", LogisticRegression())]),
            TypeError,
            "Pipeline that ends in LogisticRegression",
        ),
    ],
)
def test_no_model(model, error, message, path):
    with pytest.raises(error, match=message):
        save(model, path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (make_pipeline(Doubler(), BootstrapSVC(**SMALL)), r"steps\[0\]\[1\] is .*Doubler"),
        (
            make_pipeline(FunctionTransformer(abs), BootstrapSVC(**SMALL)),
            r"steps\[0\]\[1\].func is builtins.abs",
        ),
        (BootstrapSVC(pd.Series([0.1, 1.0]), n_bootstraps=30), "Cs is pandas"),
        (
            make_pipeline(StandardScaler(), BootstrapSVC(**SMALL), memory="cache"),
            "Pipeline with memory",
        ),
        (
            make_pipeline(FunctionTransformer(lambda x: x), BootstrapSVC(**SMALL)),
            "func is .*lambda",
        ),
    ],
)
def test_what_no_file_may_hold(model, message, path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    path.write_text("what was there before")
    with pytest.raises(ModelFileError, match=message) as caught:
        save(model.fit(X, y), path)
    assert str(path) in str(caught.value)
    assert path.read_text() == "what was there before"


def test_search_is_told_what_to_save(path):
    search = GridSearchCV(BootstrapSVC(**SMALL), {"epsilon": [0.0, np.inf]}, cv=2).fit(X, y)
    with pytest.raises(TypeError, match="best_estimator_"):
        save(search, path)
    save(search.best_estimator_, path)


@pytest.mark.parametrize("in_pipeline", [False, True])
@pytest.mark.parametrize(
    ("model", "advice"),
    [
        (RateGuarantee(BootstrapSVC(**SMALL), tpr=0.5), "use joblib.dump, or with_rate"),
        (RateFeatureSelector(), "Save a Pipeline of it and a classifier"),
        (StandardScaler(), r"StandardScaler\.$"),
    ],
)
def test_what_cannot_be_saved_alone_is_told_what_to_do(model, advice, in_pipeline, path):
    fitted = (make_pipeline(StandardScaler(), model) if in_pipeline else model).fit(X, y)
    with pytest.raises(TypeError, match=f"SelectedBootstrapSVC, or a Pipeline that .*{advice}"):
        save(fitted, path)
    assert not path.exists()
