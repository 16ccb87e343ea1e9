"""Records of a report: training records are recognised and predicted out of bag."""

from __future__ import annotations

import numpy as np
import pytest

from svmproba import BootstrapSVC, ThresholdBootstrapSVC
from svmproba.evaluation import report_html
from svmproba.evaluation.report._figures import report_figures

pytest.importorskip("jinja2", reason="the report needs jinja2")

SMALL = {"Cs": [0.1, 1.0], "n_bootstraps": 30, "random_state": 0}


def test_training_records_are_recognised_and_predicted_out_of_bag(model, data, new_data):
    X, y = data
    figures = report_figures(model, X, y)
    assert (figures["n_trained_on"], figures["out_of_bag"]) == (150, True)
    assert figures["present"]["tpr"][0] == model.oob_tpr_
    assert figures["present"]["tnr"][0] == model.oob_tnr_
    assert figures["steps"]["tp"][900] == round(figures["steps"]["oob_tpr"][900] * sum(y == "yes"))
    assert report_figures(model, *new_data)["n_trained_on"] == 0


def test_training_records_among_others_in_any_order(ensemble, data, new_data, counts):
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


def test_training_records_are_recognised_beside_large_scores(data):
    """Rounding errors grow with the scores."""
    X, y = data[0].copy(), data[1]
    X[7] *= 1e4
    model = BootstrapSVC(**SMALL).fit(X, y)
    assert np.nanmax(np.abs(model.oob_scores_)) > 1e3
    assert report_figures(model, X[::-1], y[::-1])["n_trained_on"] == 150


def test_training_records_too_many_to_compare(ensemble, data, monkeypatch):
    monkeypatch.setattr("svmproba.evaluation.report._records.MAX_PAIRS", 0)
    X, y = data
    figures = report_figures(ensemble, X, y)
    assert (figures["n_trained_on"], figures["out_of_bag"]) == (150, True)
    figures = report_figures(ensemble, X[::-1], y[::-1])
    assert figures["n_trained_on"] > 0
    assert not figures["out_of_bag"]
    assert "All numbers on this page are too optimistic" in report_html(ensemble, X[::-1], y[::-1])


def test_records_in_every_bag_are_left_out(data):
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
    assert '<div class="yes"><h3>Guarantee</h3>' in page
    assert "this is proven from" in page


def test_little_bootstraps_do_not_recognise_their_records(data, new_data):
    model = BootstrapSVC(**SMALL, resample="blb", subset_exponent=0.9).fit(*data)
    figures = report_figures(model, *new_data)
    assert (figures["n_trained_on"], figures["out_of_bag"]) == (0, False)
    assert "not known whether these records were among them" in report_html(model, *new_data)
