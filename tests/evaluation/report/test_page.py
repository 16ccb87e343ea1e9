"""The page as text."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from svmproba import BootstrapSVC, ConstrainedBootstrapSVC, ThresholdBootstrapSVC
from svmproba.evaluation import report_html, write_report
from svmproba.evaluation.report._figures import report_figures
from svmproba.evaluation.report._page import _derived, _is_guaranteed

pytest.importorskip("jinja2", reason="the report needs jinja2")

SMALL = {"Cs": [0.1, 1.0], "n_bootstraps": 30, "random_state": 0}
HOSTILE = "</script><img src=x onerror=alert(1)>\"'&{{ 7 * 7 }}"


@pytest.mark.parametrize("fitted", ["costs", "jackknife+"])
def test_out_of_bag_rates_at_the_current_threshold_are_shown(data, new_data, fitted):
    model = ThresholdBootstrapSVC(0.9, guarantee="jackknife+", **SMALL).fit(*data)
    about = None
    if fitted == "costs":
        model = BootstrapSVC(**SMALL, calibration="platt").fit(*data)
        model = model.with_costs(fn_cost=4, fp_cost=1)
        about = {"costs": {"fn": 4, "fp": 1}}
    present = report_figures(model, *new_data, about)["present"]
    if fitted == "costs":
        called, positive = model.oob_proba_[:, 1] >= 0.2, data[1] == "yes"
        assert present["oob_tpr"] == called[positive].mean()
        assert present["oob_tnr"] == (~called[~positive]).mean()
    page = report_html(model, *new_data, about=about)
    assert 'data-live="oob-tpr">–' not in page
    assert 'data-live="oob-tnr">–' not in page


@pytest.mark.filterwarnings("ignore:The members give all samples the same score:UserWarning")
def test_the_page_shows_warnings(data, new_data):
    X, y = data
    rare = np.flatnonzero((y == "no") | (np.cumsum(y == "yes") <= 8))
    model = BootstrapSVC(**SMALL, calibration="platt").fit(X[rare] * [0.1, 1.0], y[rare])
    page = report_html(model, X[rare] * [0.1, 1.0], y[rare], about={"warnings": ["Look <here>."]})
    assert "Before you rely on this report" in page
    assert "The model classifies no record as yes (0 of " in page
    assert "Give costs, or choose a target rate below." in page
    assert "The classes are not balanced" in page
    assert "8 of them yes. All figures are uncertain" in page
    assert "<li>Look &lt;here&gt;.</li>" in page
    nothing = dict.fromkeys(("warnings", "costs", "target"))
    assert "Look" not in report_html(model, X[rare] * [0.1, 1.0], y[rare], about=nothing)
    fine = report_html(BootstrapSVC(**SMALL, calibration="platt").fit(X, y), *new_data)
    assert "classifies no record" not in fine
    assert "All figures are uncertain" not in fine
    assert "Column &#39;column 1&#39; (AUC " in fine


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
def test_every_kind_of_model_has_a_page(model, data, new_data, counts):
    X, y = new_data
    page = report_html(model.fit(*data), X, y)
    present = report_figures(model, X, y)["present"]
    assert (present["tp"], present["fp"]) == counts(y, model.predict(X), "yes")
    assert ("The kernel of this model is not linear" in page) == (model.kernel == "rbf")
    assert ("No guarantee" in model.guarantee_) == ('<div class="no"><h3>Guarantee</h3>' in page)


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


def plain_figures(costs, **changes):
    """Of 4 positive and 6 negative records: at the target rate k / 1000, k / 250 are called."""
    tp = [k * 4 // 1000 for k in range(1001)]
    fp = [k * 6 // 1000 for k in range(1001)]
    return {
        "n_plus": 4,
        "n_minus": 6,
        "costs": costs,
        "steps": {"tp": tp, "fp": fp},
        "present": {"tp": 3, "fp": 1, "tpr": [0.75], "oob_tpr": None},
        "names": {"positive": "ill", "negative": "well"},
        "drivers": {"rows": [{"lower": -3.0, "upper": 1.0}, {"lower": 0.5, "upper": 2.0}]},
        "guarantee": "No guarantee: none was asked for.",
        "table": [0, 500, 1000],
        "quality": {"base_mse": 0.24, "base_log_loss": 0.673},
    } | changes


def test_costs_and_rates_of_the_page():
    costs = {"fn": 5.0, "fp": 1.0, "tp": 0.5, "tn": -0.25}
    found = _derived(plain_figures(costs))

    def cost(tp, fp):
        return 100 * (5.0 * (4 - tp) + 1.0 * fp + 0.5 * tp - 0.25 * (6 - fp))

    assert found["present_cost"] == cost(3, 1)
    assert (found["none_cost"], found["all_cost"]) == (cost(0, 0), cost(4, 6))
    every = [cost(k * 4 // 1000, k * 6 // 1000) for k in range(1001)]
    assert found["cheapest"] == {"demand": every.index(min(every)) / 1000, "cost": min(every)}
    assert found["cost_top"] == max(every)
    points = [tuple(map(float, point.split(","))) for point in found["cost_points"].split()]
    assert len(points) == 201
    assert [x for x, _ in points] == pytest.approx(np.linspace(10, 430, 201))
    # From 0 at the bottom, at 200, to the highest cost at 20.
    expected = [200 - 180 * every[k] / max(every) for k in range(0, 1001, 5)]
    assert [y for _, y in points] == pytest.approx(expected, abs=0.051)
    own = 200 - 180 * cost(3, 1) / max(every)
    assert found["cost_dot"] == pytest.approx([10 + 420 * 0.75, own], abs=0.051)
    assert found["driver_reach"] == 3.0
    assert not _is_guaranteed(plain_figures(costs)["guarantee"])
    first, middle, last = found["table_rows"]
    assert first["precision"] is None
    assert middle == {
        **{"place": 500, "demand": 0.5, "tpr": 0.5, "tnr": 0.5, "precision": 0.4},
        **{"called": 500, "cost": cost(2, 3)},
    }
    assert (last["called"], last["tnr"]) == (1000, 0.0)
    keys = [key for _, key, _ in found["measures"]]
    assert keys == ["auc", "mse", "mse_plus", "mse_minus", "log_loss"]
    assert found["measures"][1][2].endswith("share of ill for every record gives 0.240")


def test_costs_below_zero_and_none_at_all():
    gains = {"fn": 0.0, "fp": 1.0, "tp": -10.0, "tn": 0.0}
    found = _derived(plain_figures(gains, drivers=None))
    heights = [float(point.split(",")[1]) for point in found["cost_points"].split()]
    assert (min(heights), max(heights)) == (20, 200)
    assert found["driver_reach"] == 1.0
    assert _is_guaranteed("At least 80 %.")
    nothing = _derived(plain_figures(dict.fromkeys(gains, 0.0)))
    assert {point.split(",")[1] for point in nothing["cost_points"].split()} == {"200.0"}
    present = {"tp": 3, "fp": 1, "tpr": [0.75], "oob_tpr": 0.5}
    known = _derived(plain_figures(gains, present=present, drivers={"rows": []}))
    assert known["cost_dot"][0] == 10 + 420 * 0.5
