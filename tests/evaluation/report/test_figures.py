"""Numbers of the report against the library and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from svmproba import BootstrapSVC
from svmproba.evaluation.report._figures import report_figures
from svmproba.evaluation.report._records import DEMANDS

SMALL = {"Cs": [0.1, 1.0], "n_bootstraps": 30, "random_state": 0}


def test_every_demand_has_the_counts_of_with_rate(model, new_data, counts):
    X, y = new_data
    steps = report_figures(model, X, y)["steps"]
    for place in (0, 1, 333, 500, 801, 925, 999, 1000):
        moved = model.with_rate(tpr=DEMANDS[place], exceed=False)
        assert (steps["tp"][place], steps["fp"][place]) == counts(y, moved.predict(X), "yes")
        assert steps["oob_tpr"][place] == pytest.approx(moved.oob_tpr_, abs=1e-5)
        assert steps["oob_tnr"][place] == pytest.approx(moved.oob_tnr_, abs=1e-5)


def test_a_pipeline_gets_its_raw_input(pipeline, new_data, counts):
    X, y = new_data
    figures = report_figures(pipeline, X, y)
    assert figures["names"]["positive"] == "no"
    present = figures["present"]
    assert (present["tp"], present["fp"]) == counts(y, pipeline.predict(X), "no")
    moved = pipeline[-1].with_rate(tpr=0.9, exceed=False).predict(pipeline[:-1].transform(X))
    steps = figures["steps"]
    assert (steps["tp"][900], steps["fp"][900]) == counts(y, moved, "no")


def test_the_present_threshold_is_the_threshold_of_predict(model, new_data, counts):
    X, y = new_data
    wary = model.with_rate(tpr=0.97)
    for one in (model, wary):
        present = report_figures(one, X, y)["present"]
        assert (present["tp"], present["fp"]) == counts(y, one.predict(X), "yes")
        assert present["tpr"][1] <= present["tpr"][0] <= present["tpr"][2]
        assert sum(present["per_thousand"]) == 1000


def test_costs_of_the_model_decide(calibrated, new_data, counts):
    X, y = new_data
    priced = calibrated.with_costs(fn_cost=9, fp_cost=1)
    figures = report_figures(priced, X, y)
    present = figures["present"]
    decided = calibrated.decide(X, fn_cost=9, fp_cost=1)
    assert (present["tp"], present["fp"]) == counts(y, decided, "yes")
    assert (present["threshold"], present["proba_threshold"]) == (0.1, 0.1)
    assert (present["oob_tpr"], present["oob_tnr"]) == (priced.oob_tpr_, priced.oob_tnr_)
    assert figures["by_cost"]
    assert (figures["costs"]["fn"], figures["costs"]["given"]) == (9, True)


def test_costs_in_about_decide_nothing(calibrated, new_data, counts):
    X, y = new_data
    figures = report_figures(calibrated, X, y, {"costs": {"fn": 9.0, "fp": 1.0}})
    present = figures["present"]
    assert (present["tp"], present["fp"]) == counts(y, calibrated.predict(X), "yes")
    assert not figures["by_cost"]


def test_measures_are_those_of_scikit_learn(calibrated, new_data):
    X, y = new_data
    quality = report_figures(calibrated, X, y)["quality"]
    proba = calibrated.predict_proba(X)[:, 1]
    assert quality["mse"][0] == pytest.approx(brier_score_loss(y == "yes", proba))
    assert quality["auc"][0] == pytest.approx(roc_auc_score(y, proba))
    assert quality["log_loss"][0] == pytest.approx(log_loss(y, proba))
    errors = ((y == "yes") - proba) ** 2
    assert quality["mse_plus"][0] == pytest.approx(errors[y == "yes"].mean())
    half = stats.t.ppf(0.975, len(y) - 1) * errors.std(ddof=1) / np.sqrt(len(y))
    assert quality["mse"][2] - quality["mse"][0] == pytest.approx(half)
    assert sum(quality["counts"]) == sum(point["n"] for point in quality["curve"]) == len(y)


def test_the_nearest_records_flip_at_the_target_rate_they_state(model, new_data):
    X, y = new_data
    near = report_figures(model, X, y)["near"]
    distance = np.abs(model.predict_proba(X)[:, 1] - model.proba_threshold_)
    listed = [int(row["name"]) - 1 for row in near["rows"]]
    assert max(distance[listed]) <= min(np.delete(distance, listed))
    assert near["n_close"] == np.sum(distance <= 0.05)
    assert not near["named"]
    for row in near["rows"]:
        record = X[[int(row["name"]) - 1]]
        assert row["proba"] == pytest.approx(model.predict_proba(record)[0, 1])
        assert row["lower"] <= row["proba"] <= row["upper"]
        if row["demand"] is None:
            assert model.with_rate(tpr=1.0, exceed=False).predict(record) == "no"
            continue
        assert model.with_rate(tpr=row["demand"], exceed=False).predict(record) == "yes"
        below = round(row["demand"] - 0.001, 3)
        if below >= 0:
            assert model.with_rate(tpr=below, exceed=False).predict(record) == "no"


def test_sparse_rows_give_the_same_figures(data, new_data):
    X, y = new_data
    model = BootstrapSVC(**SMALL).fit(sparse.csr_array(data[0]), data[1])
    dense, thin = report_figures(model, X, y), report_figures(model, sparse.csr_array(X), y)
    assert thin["steps"] == dense["steps"]
    pairs = zip(thin["drivers"]["rows"], dense["drivers"]["rows"], strict=True)
    assert all(a["coef"] == pytest.approx(b["coef"]) for a, b in pairs)
