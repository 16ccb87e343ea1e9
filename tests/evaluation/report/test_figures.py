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


def exact_limits(hits, of):
    ci = stats.binomtest(int(hits), int(of)).proportion_ci(0.95, "exact")
    return [hits / of, ci.low, ci.high]


def test_rates_have_exact_limits(model, new_data):
    X, y = new_data
    figures = report_figures(model, X, y)
    n_plus, n_minus = np.sum(y == "yes"), np.sum(y == "no")
    present, steps = figures["present"], figures["steps"]
    tp, fp = present["tp"], present["fp"]
    assert (figures["n"], figures["n_plus"], figures["n_minus"]) == (90, n_plus, n_minus)
    assert figures["n_left_aside"] == 0
    assert present["tpr"] == pytest.approx(exact_limits(tp, n_plus))
    assert present["tnr"] == pytest.approx(exact_limits(n_minus - fp, n_minus))
    assert present["precision"] == pytest.approx(exact_limits(tp, tp + fp))
    exact = 1000 / 90 * np.array([tp, n_plus - tp, fp, n_minus - fp])
    assert np.abs(present["per_thousand"] - exact).max() < 1
    assert sum(present["per_thousand"]) == 1000
    for k in (300, 800, 1000):
        tp, fp = steps["tp"][k], steps["fp"][k]
        for name, (hits, of) in {
            "tpr": (tp, n_plus),
            "tnr": (n_minus - fp, n_minus),
            "precision": (tp, tp + fp),
        }.items():
            limits = [steps[f"{name}_lower"][k], steps[f"{name}_upper"][k]]
            assert limits == pytest.approx(exact_limits(hits, of)[1:], abs=6e-5)
    assert steps["threshold"][0] is None
    assert np.diff(steps["threshold"][1:]).max() <= 0
    assert len(steps["threshold"]) == len(DEMANDS) == 1001
    rates = [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 1.0]
    assert [DEMANDS[k] for k in figures["table"]] == pytest.approx(rates)


def test_the_histogram_holds_the_thresholds(model, new_data):
    X, y = new_data
    figures = report_figures(model, X, y)
    histogram = figures["histogram"]
    level = model._levels_of(X, y)[0]
    low, high = histogram["low"], histogram["high"]
    if figures["calibrated"]:
        assert (low, high) == (0, 1)
    else:
        thresholds = np.array(figures["steps"]["threshold"][1:])
        ends = [
            *np.quantile(level, [0.005, 0.995]),
            thresholds.min(),
            np.quantile(thresholds, 0.99),
        ]
        # 2 % on either side; thresholds are rounded to six digits.
        margin = (high - low) / 52
        assert low == pytest.approx(min(ends) - margin, abs=1e-4)
        assert high == pytest.approx(max(ends) + margin, abs=1e-4)
    for name, label in (("positive", "yes"), ("negative", "no")):
        inside = np.clip(level[y == label], low, high)
        expected = np.histogram(inside, np.linspace(low, high, 41))[0] / np.sum(y == label)
        assert histogram[name] == pytest.approx(expected)
        assert sum(histogram[name]) == pytest.approx(1)


def test_losses_beside_those_of_the_share_of_positives(ensemble, new_data):
    X, y = new_data
    quality = report_figures(ensemble, X, y)["quality"]
    proba, positive = ensemble.predict_proba(X)[:, 1], y == "yes"
    share = np.full(len(y), positive.mean())
    assert quality["base_mse"] == pytest.approx(brier_score_loss(positive, share))
    assert quality["base_log_loss"] == pytest.approx(log_loss(positive, share))
    half_a_vote = 0.5 / 41
    assert proba.min() == 0
    of_truth = np.where(positive, proba, 1 - proba)
    losses = [-np.log(max(share, half_a_vote)) for share in of_truth]
    assert quality["log_loss"][0] == pytest.approx(np.mean(losses))
    assert quality["counts"] == np.histogram(proba, 20, (0, 1))[0].tolist()
    errors = proba[~positive] ** 2
    half = stats.t.ppf(0.975, len(errors) - 1) * errors.std(ddof=1) / np.sqrt(len(errors))
    limits = [errors.mean(), errors.mean() - half, errors.mean() + half]
    assert quality["mse_minus"] == pytest.approx(limits)


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_records_near_the_threshold_have_the_names_of_the_index(model, new_data):
    pd = pytest.importorskip("pandas")
    X, y = new_data
    names = [f"r{k}" for k in range(90)]
    frame = pd.DataFrame(X, columns=["a", "b"])
    near = report_figures(model, frame.set_axis(names), y)["near"]
    assert near["named"]
    assert len(near["rows"]) == 20
    probas = model.predict_proba(X)[:, 1]
    called = model.predict(X)
    for row in near["rows"]:
        k = names.index(row["name"])
        assert row["proba"] == pytest.approx(probas[k])
        assert (row["positive"], row["called"]) == (y[k] == "yes", called[k] == "yes")
    listed = [row["proba"] for row in near["rows"]]
    assert listed == sorted(listed, reverse=True)
    numbered = report_figures(model, frame, y)["near"]
    assert not numbered["named"]
    assert [f"r{int(row['name']) - 1}" for row in numbered["rows"]] == [
        row["name"] for row in near["rows"]
    ]


@pytest.mark.parametrize("cost", ["1", None, float("inf"), float("nan")])
def test_costs_must_be_finite_numbers(ensemble, new_data, cost):
    with pytest.raises(ValueError, match=r"about\['costs'\]\['fn'\] must be a finite number"):
        report_figures(ensemble, *new_data, {"costs": {"fn": cost}})
    with pytest.raises(ValueError, match=r"must have keys among .* got {'miss'}"):
        report_figures(ensemble, *new_data, {"costs": {"miss": 1.0}})


def test_costs_that_are_not_given(ensemble, new_data):
    assert report_figures(ensemble, *new_data)["costs"] == {
        **{"fn": 1.0, "fp": 1.0, "tp": 0.0, "tn": 0.0},
        "given": False,
    }
