"""The page about more than two classes."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    confusion_matrix,
    precision_score,
    recall_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from svmproba import BootstrapSVC
from svmproba.evaluation import reliability_curve, report_html, write_report
from svmproba.evaluation.report._class_figures import class_figures, recognised

CLASSES = np.array(["barolo", "grignolino", "barbera"])
COSTS = [[0, 1, 5], [1, 0, 5], [2, 2, -1]]


@pytest.fixture(scope="module")
def wines():
    X, y = load_wine(return_X_y=True)
    X, y = X[:, [1, 4, 10]], CLASSES[y]
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.fixture(scope="module")
def models(wines):
    svm = BootstrapSVC([0.1, 1.0], n_bootstraps=40, random_state=0)
    votes = make_pipeline(StandardScaler(), svm).fit(*wines[:2])
    calibrated = votes[-1].with_calibration("platt")
    made = {
        "votes": votes[-1],
        "recalls": votes[-1].with_rate(recall={"grignolino": 0.7}),
        "calibrated": calibrated,
        "costs": calibrated.with_costs(cost_matrix=COSTS),
    }
    return {name: make_pipeline(votes[0], model) for name, model in made.items()}


KINDS = ["votes", "recalls", "calibrated", "costs"]


@pytest.mark.parametrize("kind", KINDS)
def test_new_records_by_the_measures_of_scikit_learn(models, wines, kind):
    _, _, X, y = wines
    model = models[kind]
    found, P, called = class_figures(model, X, y), model.predict_proba(X), model.predict(X)
    labels = sorted(CLASSES)
    assert found["names"] == labels
    assert found["confusion"] == confusion_matrix(y, called, labels=labels).tolist()
    accuracy, brier, loss = (row["value"][0] for row in found["quality"])
    assert accuracy == pytest.approx(accuracy_score(y, called))
    assert brier == pytest.approx(brier_score_loss(y, P, labels=labels))
    label = np.searchsorted(labels, y)
    own = P[np.arange(len(y)), label]
    least = 0.5 / 41 if kind in ("votes", "recalls") else 0.0  # half a vote of 40
    assert loss == pytest.approx(-np.log(np.maximum(own, least)).mean())
    shares = np.bincount(label) / len(y)
    bases = [shares.max(), 1 - np.sum(shares**2), -np.sum(shares * np.log(shares))]
    assert [row["base"] for row in found["quality"]] == pytest.approx(bases)
    assert (found["moved"], found["calibrated"]) == (kind == "recalls", not least)
    assert (found["n"], found["n_left_aside"]) == (len(y), 0)
    assert found["classes"][2]["counts"] == np.histogram(P[:, 2], np.linspace(0, 1, 21))[0].tolist()
    each = {"labels": labels, "average": None, "zero_division": np.nan}
    rates = {"recall": recall_score(y, called, **each)}
    rates["precision"] = precision_score(y, called, **each)
    for name, values in rates.items():
        own = [np.nan if row[name][0] is None else row[name][0] for row in found["classes"]]
        np.testing.assert_allclose(own, values)
    curve = reliability_curve(y == labels[1], P[:, 1])
    points = found["classes"][1]["curve"]
    np.testing.assert_allclose([point["observed"] for point in points], curve.observed)
    np.testing.assert_allclose([point["predicted"] for point in points], curve.mean_predicted)
    assert (found["n_trained_on"], found["by_cost"]) == (0, kind == "costs")
    if kind == "costs":
        places = [np.searchsorted(labels, names) for names in (y, called)]
        assert found["cost"]["mean"] == pytest.approx(np.array(COSTS)[tuple(places)].mean())
        constant = shares @ np.array(COSTS)
        assert found["cost"]["constant"] == pytest.approx(constant.min())
        assert found["cost"]["class"] == constant.argmin()


@pytest.mark.parametrize("kind", KINDS)
def test_training_records_are_predicted_out_of_bag(models, wines, kind):
    X, y, X_new, y_new = wines
    order = np.random.default_rng(0).permutation(len(y))
    both = np.concatenate([X[order], X_new[:5]]), np.concatenate([y[order], y_new[:5]])
    svm, found = models[kind][-1], class_figures(models[kind], *both)
    assert found["n_trained_on"] == len(y)
    counts = np.bincount(np.searchsorted(svm.classes_, both[1]), minlength=3)
    assert [row["n"] for row in found["classes"]] == counts.tolist()
    new = class_figures(models[kind], X_new[:5], y_new[:5])["confusion"]
    right = np.diag(np.array(found["confusion"]) - new) / np.unique(y, return_counts=True)[1]
    np.testing.assert_allclose(right, svm.oob_recalls_)


def test_copies_and_sparse_rows_are_recognised(models, wines):
    X, y, _, _ = wines
    rows, ensemble = models["votes"][0].transform(X), models["votes"][-1].ensemble_
    label = np.searchsorted(sorted(CLASSES), y)
    given, trained = recognised(ensemble, rows[[3, 3, 5]], label[[3, 3, 5]])
    assert (given.tolist(), trained.tolist()) == ([0, 2], [3, 5])
    assert not len(recognised(ensemble, rows[:4], (label[:4] + 1) % 3)[0])
    thin = sp.csr_matrix(np.where(np.abs(X) > 2, X, 0.0))
    svm = BootstrapSVC([0.1], n_bootstraps=30, random_state=0).fit(thin, y)
    assert class_figures(svm, thin[::-1], y[::-1])["n_trained_on"] == len(y)


def test_the_page(models, wines, tmp_path):
    _, _, X, y = wines
    about = {"target": "grape", "records": "wines", "warnings": ["<b>old</b>"]}
    path = write_report(models["costs"], X, y, tmp_path / "page.html", about=about)
    page = path.read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "<title>Predicting grape</title>" in page
    assert "&lt;b&gt;old&lt;/b&gt;" in page
    assert "<script" not in page
    found = class_figures(models["costs"], X, y)
    assert f"<strong>{found['cost']['mean']:.4g}</strong>" in page
    body = re.search(r'id="confusion">(.*?)</table>', page, re.DOTALL)[1]
    cells = [int(cell) for cell in re.findall(r'<td class="n">(?:<strong>)?(\d+)', body)]
    assert cells == np.ravel(found["confusion"]).tolist()
    assert page.count('aria-labelledby="reliability-caption"') == 3
    for name in CLASSES:
        assert f"observed share of {name}" in page
    assert "coupled" in page


def test_a_class_without_records(models, wines):
    _, _, X, y = wines
    some = y != "barolo"
    found = class_figures(models["calibrated"], X[some], y[some])
    missing = found["classes"][sorted(CLASSES).index("barolo")]
    assert missing["n"] == 0
    assert missing["recall"][0] is None
    assert "–" in report_html(models["calibrated"], X[some], y[some])


def test_the_remedy_depends_on_what_was_asked_for(models, wines):
    _, _, X, y = wines
    X = np.full_like(X, X[0])  # one class for all
    usual = " ".join(class_figures(models["votes"], X, y)["findings"])
    assert "Give costs, or a recall of " in usual
    for kind in ("recalls", "costs"):
        found = " ".join(class_figures(models[kind], X, y)["findings"])
        assert "This follows from the given costs or recalls" in found
        assert "accuracy" not in found


def test_bad_input(models, wines):
    _, _, X, y = wines
    with pytest.raises(
        ValueError, match=r"y must hold the classes .* nothing else, got 'merlot' too"
    ):
        report_html(models["votes"], X, np.where(y == "barolo", "merlot", y))
    with pytest.raises(ValueError, match="by needs two classes"):
        report_html(models["votes"], X, y, by=y)
