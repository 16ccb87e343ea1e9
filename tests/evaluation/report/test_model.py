"""Coefficients and names in the report."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from svmproba import BootstrapSVC
from svmproba.evaluation.report._figures import report_figures

SMALL = {"Cs": [0.1, 1.0], "n_bootstraps": 30, "random_state": 0}


def test_drivers_are_standardised_coefficients(ensemble, new_data):
    X, y = new_data
    found = report_figures(ensemble, X, y)["drivers"]
    by_bag = np.einsum(
        "t,tbj,j->bj", ensemble.weights_ / ensemble.score_scales_, ensemble.coef_, X.std(axis=0)
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
