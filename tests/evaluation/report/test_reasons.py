"""Reasons for single records in the report."""

import numpy as np
import pytest

from svmproba import BootstrapSVC
from svmproba.evaluation import explain, report_html
from svmproba.evaluation.report._figures import report_figures
from svmproba.evaluation.report._reasons import N_REASONS


def test_reasons_lead_to_the_score(pipeline, new_data):
    X, y = new_data
    figures = report_figures(pipeline, X, y)
    found = explain(pipeline, X)
    total = found.values.sum(axis=1) + found.base
    for row in figures["near"]["rows"]:
        why = row["reasons"]
        assert why["base"] + sum(b["coef"] for b in why["bars"]) == pytest.approx(why["score"])
        assert why["score"] == pytest.approx(total[int(row["name"]) - 1])
    sizes = {row["name"]: row["size"] for row in figures["mean_sizes"]}
    expected = np.abs(found.values).mean(axis=0)
    assert sizes == pytest.approx(dict(zip(found.names, expected, strict=True)))
    assert list(sizes.values()) == sorted(sizes.values(), reverse=True)


def test_many_columns_share_a_line():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 15))
    y = X[:, 0] > 0
    model = BootstrapSVC([0.1], n_bootstraps=20, random_state=0).fit(X, y)
    why = report_figures(model, X, y)["near"]["rows"][0]["reasons"]
    assert len(why["bars"]) == N_REASONS
    assert why["n_rest"] == 15 - N_REASONS
    shown = [abs(b["coef"]) for b in why["bars"]]
    assert shown == sorted(shown, reverse=True)
    assert why["reach"] == max(abs(b[end]) for b in why["bars"] for end in ("lower", "upper"))
    total = why["base"] + sum(b["coef"] for b in why["bars"]) + why["rest"]
    assert total == pytest.approx(why["score"])
    page = report_html(model, X, y)
    assert page.count('<details name="record"') == 20
    assert "7 other columns" in page
    assert 'href="#reasons"' in page


def test_kernels_have_no_reasons(new_data):
    X, y = new_data
    model = BootstrapSVC([1.0], kernel="rbf", n_bootstraps=20, random_state=0).fit(X, y)
    figures = report_figures(model, X, y)
    assert figures["mean_sizes"] is None
    assert figures["near"]["rows"][0]["reasons"] is None
    assert "reasons" not in report_html(model, X, y)
