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
