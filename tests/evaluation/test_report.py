"""Numbers of the report against the library, and the page as text."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, confusion_matrix, log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from svmproba import BootstrapSVC, ConstrainedBootstrapSVC, ThresholdBootstrapSVC
from svmproba.evaluation import report_html, write_report
from svmproba.evaluation._report_figures import report_figures
from svmproba.evaluation._report_records import DEMANDS

pytest.importorskip("jinja2", reason="the report needs jinja2")

SMALL = {"Cs": [0.1, 1.0], "n_bootstraps": 30, "random_state": 0}
HOSTILE = "</script><img src=x onerror=alert(1)>\"'&{{ 7 * 7 }}"


def counts(y, predicted, positive):
    """True and false positives."""
    labels = [next(label for label in np.unique(y) if label != positive), positive]
    (_, fp), (_, tp) = confusion_matrix(y, predicted, labels=labels)
    return tp, fp


@pytest.fixture(params=["ensemble", "calibrated"])
def model(request):
    return request.getfixturevalue(request.param)


def test_every_demand_has_the_counts_of_with_rate(model, new_data):
    X, y = new_data
    steps = report_figures(model, X, y)["steps"]
    for place in (0, 1, 333, 500, 801, 925, 999, 1000):
        moved = model.with_rate(tpr=DEMANDS[place], exceed=False)
        assert (steps["tp"][place], steps["fp"][place]) == counts(y, moved.predict(X), "yes")
        assert steps["oob_tpr"][place] == pytest.approx(moved.oob_tpr_, abs=1e-5)
        assert steps["oob_tnr"][place] == pytest.approx(moved.oob_tnr_, abs=1e-5)


def test_a_pipeline_is_judged_on_its_raw_input(pipeline, new_data):
    X, y = new_data
    figures = report_figures(pipeline, X, y)
    assert figures["names"]["positive"] == "no"
    present = figures["present"]
    assert (present["tp"], present["fp"]) == counts(y, pipeline.predict(X), "no")
    moved = pipeline[-1].with_rate(tpr=0.9, exceed=False).predict(pipeline[:-1].transform(X))
    steps = figures["steps"]
    assert (steps["tp"][900], steps["fp"][900]) == counts(y, moved, "no")


def test_the_present_threshold_is_the_threshold_of_predict(model, new_data):
    X, y = new_data
    wary = model.with_rate(tpr=0.97)
    for one in (model, wary):
        present = report_figures(one, X, y)["present"]
        assert (present["tp"], present["fp"]) == counts(y, one.predict(X), "yes")
        assert present["tpr"][1] <= present["tpr"][0] <= present["tpr"][2]
        assert sum(present["per_thousand"]) == 1000


def test_costs_of_the_model_decide(calibrated, new_data):
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


def test_costs_that_are_only_told_decide_nothing(calibrated, new_data):
    X, y = new_data
    figures = report_figures(calibrated, X, y, {"costs": {"fn": 9.0, "fp": 1.0}})
    present = figures["present"]
    assert (present["tp"], present["fp"]) == counts(y, calibrated.predict(X), "yes")
    assert not figures["by_cost"]


@pytest.mark.parametrize("fitted", ["costs", "jackknife+"])
def test_out_of_bag_rates_at_the_present_threshold_are_told(data, new_data, fitted):
    model = ThresholdBootstrapSVC(0.9, guarantee="jackknife+", **SMALL).fit(*data)
    about = None
    if fitted == "costs":
        model = BootstrapSVC(**SMALL, calibration="platt").fit(*data)
        if hasattr(model, "with_costs"):
            model = model.with_costs(fn_cost=4, fp_cost=1)
        about = {"costs": {"fn": 4, "fp": 1}, "wants_rate": False}
    present = report_figures(model, *new_data, about)["present"]
    if fitted == "costs":
        called, positive = model.oob_proba_[:, 1] >= 0.2, data[1] == "yes"
        assert present["oob_tpr"] == called[positive].mean()
        assert present["oob_tnr"] == (~called[~positive]).mean()
    page = report_html(model, *new_data, about=about)
    assert 'data-live="oob-tpr">–' not in page
    assert 'data-live="oob-tnr">–' not in page


@pytest.mark.filterwarnings("ignore:The members give all samples the same score:UserWarning")
def test_the_page_tells_what_to_know(data, new_data):
    X, y = data
    rare = np.flatnonzero((y == "no") | (np.cumsum(y == "yes") <= 8))
    model = BootstrapSVC(**SMALL, calibration="platt").fit(X[rare] * [0.1, 1.0], y[rare])
    page = report_html(model, X[rare] * [0.1, 1.0], y[rare], about={"warnings": ["Look <here>."]})
    assert "To know before you trust this page" in page
    assert "The model calls nobody yes: 0 of " in page
    assert "Give costs, or demand a rate as below." in page
    assert "The classes are not balanced" in page
    assert "8 of them yes: so few say little" in page
    assert "<li>Look &lt;here&gt;.</li>" in page
    fine = report_html(BootstrapSVC(**SMALL, calibration="platt").fit(X, y), *new_data)
    assert "calls nobody" not in fine
    assert "so few say little" not in fine
    assert "Column &#39;column 1&#39; alone orders the records almost as well" in fine


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


def test_training_records_are_recognised_and_judged_out_of_bag(model, data, new_data):
    X, y = data
    figures = report_figures(model, X, y)
    assert (figures["n_trained_on"], figures["out_of_bag"]) == (150, True)
    assert figures["present"]["tpr"][0] == model.oob_tpr_
    assert figures["present"]["tnr"][0] == model.oob_tnr_
    assert figures["steps"]["tp"][900] == round(figures["steps"]["oob_tpr"][900] * sum(y == "yes"))
    assert report_figures(model, *new_data)["n_trained_on"] == 0


def test_training_records_among_others_in_any_order(ensemble, data, new_data):
    order = np.random.default_rng(0).permutation(170)
    X = np.vstack([data[0][:100], new_data[0][:70]])[order]
    y = np.concatenate([data[1][:100], new_data[1][:70]])[order]
    figures = report_figures(ensemble, X, y)
    assert figures["n_trained_on"] == 100
    out_of_bag = ensemble.oob_proba_[:100, 1] >= 0.5
    fresh = ensemble.predict(new_data[0][:70]) == "yes"
    called = np.concatenate([out_of_bag, fresh])[order]
    tp, fp = counts(y, np.where(called, "yes", "no"), "yes")
    assert (figures["present"]["tp"], figures["present"]["fp"]) == (tp, fp)


def test_training_records_too_many_to_compare(ensemble, data, monkeypatch):
    monkeypatch.setattr("svmproba.evaluation._report_records.MAX_PAIRS", 0)
    X, y = data
    figures = report_figures(ensemble, X, y)
    assert (figures["n_trained_on"], figures["out_of_bag"]) == (150, True)
    figures = report_figures(ensemble, X[::-1], y[::-1])
    assert figures["n_trained_on"] > 0
    assert not figures["out_of_bag"]
    assert "All numbers on this page are too good" in report_html(ensemble, X[::-1], y[::-1])


def test_records_in_every_bag_are_left_aside(data):
    X, y = data
    with pytest.warns(UserWarning, match="in every bag"):
        model = BootstrapSVC([1.0], n_bootstraps=4, random_state=0).fit(X, y)
    figures = report_figures(model, X, y)
    assert figures["n_left_aside"] == np.isnan(model.oob_median_).sum() > 0
    assert figures["present"]["tpr"][0] == model.oob_tpr_


def test_records_without_weight_are_new(data):
    X, y = data
    weight = np.ones(len(y))
    weight[:20] = 0
    figures = report_figures(BootstrapSVC(**SMALL).fit(X, y, sample_weight=weight), X, y)
    assert (figures["n"], figures["n_trained_on"]) == (150, 130)


def test_out_of_bag_votes_at_a_moved_threshold(data):
    X, y = data
    fitted = ThresholdBootstrapSVC(0.95, **SMALL).fit(X, y)
    copied = BootstrapSVC(**SMALL).fit(X, y).with_rate(tpr=0.95)
    assert not hasattr(copied, "oob_proba_")
    assert report_figures(fitted, X, y)["quality"] == report_figures(copied, X, y)["quality"]


def test_records_held_out_for_a_guarantee_are_not_training_records(data):
    X, y = data
    model = ThresholdBootstrapSVC(0.7, guarantee="split", confidence=0.8, **SMALL).fit(X, y)
    figures = report_figures(model, X, y)
    assert figures["n_trained_on"] == len(y) - len(model.held_out_)
    page = report_html(model, X, y)
    assert "What is guaranteed" in page
    assert "this is proven from" in page


def test_close_calls_flip_at_the_demand_they_tell(model, new_data):
    X, y = new_data
    near = report_figures(model, X, y)["near"]
    assert len(near["rows"]) == 20
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


def test_sparse_rows_give_the_same_figures(data, new_data):
    X, y = new_data
    model = BootstrapSVC(**SMALL).fit(sparse.csr_array(data[0]), data[1])
    dense, thin = report_figures(model, X, y), report_figures(model, sparse.csr_array(X), y)
    assert thin["steps"] == dense["steps"]
    pairs = zip(thin["drivers"]["rows"], dense["drivers"]["rows"], strict=True)
    assert all(a["coef"] == pytest.approx(b["coef"]) for a, b in pairs)


@pytest.mark.parametrize(
    "model",
    [
        BootstrapSVC(**SMALL, kernel="rbf"),
        ThresholdBootstrapSVC(0.9, per_theta=True, **SMALL),
        ThresholdBootstrapSVC(0.9, guarantee="jackknife+", **SMALL),
        ThresholdBootstrapSVC(target_tnr=0.9, **SMALL, calibration="isotonic"),
        ConstrainedBootstrapSVC(0.8, effort="fast", **SMALL),
    ],
    ids=["rbf", "per_theta", "jackknife", "tnr", "constrained"],
)
def test_every_kind_of_model_has_a_page(model, data, new_data):
    X, y = new_data
    page = report_html(model.fit(*data), X, y)
    present = report_figures(model, X, y)["present"]
    assert (present["tp"], present["fp"]) == counts(y, model.predict(X), "yes")
    assert ("The kernel of this model is not linear" in page) == (model.kernel == "rbf")
    assert ("No guarantee" in model.guarantee_) == ("Nothing is guaranteed" in page)


@pytest.mark.skipif(
    "resample" not in BootstrapSVC().get_params(), reason="no bag of little bootstraps"
)
def test_little_bootstraps_cannot_tell_their_records(data, new_data):
    model = BootstrapSVC(**SMALL, resample="blb", subset_exponent=0.9).fit(*data)
    figures = report_figures(model, *new_data)
    assert (figures["n_trained_on"], figures["out_of_bag"]) == (0, False)
    assert "cannot tell whether these records" in report_html(model, *new_data)


class Reader(HTMLParser):
    """Tags of a page, and the data of its slider."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.text, self.inside = [], [], "", False

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.inside = tag == "script" and ("type", "application/json") in attrs

    def handle_data(self, data):
        if self.inside:
            self.text += data


def test_no_text_of_the_user_becomes_markup(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    labels = np.where(y == "yes", HOSTILE, "good")
    table = pd.DataFrame(X, columns=[HOSTILE, "b"], index=[HOSTILE + str(i) for i in range(len(y))])
    model = BootstrapSVC(**SMALL, pos_label=HOSTILE).fit(table, labels)
    about = {"target": HOSTILE, "records": HOSTILE, "costs": {"fn": 2, "fp": 1}}
    reader = Reader()
    reader.feed(report_html(model, table, labels, about=about, title=HOSTILE))
    assert reader.tags.count("script") == 2
    assert "img" not in reader.tags
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert json.loads(reader.text)["names"]["positive"] == HOSTILE


def test_the_page_asks_nothing_of_the_network(ensemble, new_data):
    page = report_html(ensemble, *new_data)
    assert "://" not in page
    assert "default-src 'none'" in page


def test_many_records_make_no_large_page(ensemble):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30_000, 2))
    page = report_html(ensemble, X, np.where(X[:, 0] > 0.5, "yes", "no"))
    assert len(page) < 200_000
    assert "30\u202f000 records" in page


def test_names_that_say_nothing_get_the_target(ensemble, new_data):
    names = report_figures(ensemble, *new_data, {"target": "churn"})["names"]
    assert names["positive"] == "churn = yes"


def test_the_file_is_written_whole(ensemble, new_data, tmp_path):
    path = write_report(ensemble, *new_data, tmp_path / "report.html", title="Größe")
    text = path.read_text(encoding="utf-8")
    assert "<h1>Größe</h1>" in text
    assert text.rstrip().endswith("</html>")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"model": LogisticRegression()}, TypeError, "model must be a BootstrapSVC.*Logistic"),
        ({"model": BootstrapSVC()}, ValueError, "not fitted"),
        ({"y": np.full(90, "yes")}, ValueError, "y must hold both classes.*only"),
        ({"y": np.full(90, "maybe")}, ValueError, "y must hold the classes.*'maybe' too"),
        ({"y": np.full(3, "yes")}, ValueError, "inconsistent numbers of samples"),
        ({"about": {"costs": {"miss": 3}}}, ValueError, "keys among.*miss"),
        ({"about": {"costs": {"fn": np.inf}}}, ValueError, "must be a finite number, got inf"),
        ({"about": {"costs": {"fp": "a"}}}, ValueError, "'fp'.*must be a finite number, got 'a'"),
        ({"y": np.array([None] * 45 + ["yes"] * 45)}, ValueError, "nothing else, got None too"),
    ],
)
def test_what_cannot_be_reported_is_named(ensemble, new_data, change, error, message):
    given = {"model": ensemble, "X": new_data[0], "y": new_data[1]} | change
    with pytest.raises(error, match=message):
        report_html(**given)
