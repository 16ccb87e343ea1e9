"""``svmproba report``: that the page gets the right records; its content is tested elsewhere."""

import os

import pandas as pd
import pytest

import svmproba


@pytest.fixture
def received(monkeypatch):
    """What the page was made of."""
    import svmproba.evaluation.report as page

    found = {}

    def write_report(model, X, y, path, *, about=None, title=None):
        found.update(model=model, X=X, y=y, about=about, title=title)
        path.write_text("<html>")

    monkeypatch.setattr(page, "write_report", write_report)
    return found


def test_the_page_gets_records_and_labels(invoke, model, credit, received, tmp_path):
    out = tmp_path / "page.html"
    done = invoke("report", model, credit, "--out", out, "--title", "Credit")
    assert done.exit_code == 0, done.output
    assert received["y"].tolist() == pd.read_csv(credit)["default"].tolist()
    assert list(received["X"].columns) == ["age", "income", "amount", "home"]
    assert received["title"] == "Credit"
    assert received["about"] == svmproba.read_about(model)["about"]
    assert received["model"].predict_proba(received["X"]).shape == (240, 2)
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_real_page(invoke, model, credit, tmp_path):
    pytest.importorskip("jinja2")
    done = invoke("report", model, credit, "--out", tmp_path / "page.html")
    assert done.exit_code == 0, done.output
    assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_records_that_do_not_fit(invoke, model, credit, new_customers, received, tmp_path):
    out = ["--out", tmp_path / "page.html"]
    done = invoke("report", model, new_customers, *out)
    assert done.exit_code == 2
    assert "lacks a column that the model needs: 'default'" in done.stderr
    table = pd.read_csv(credit)
    table.loc[6, "default"] = "maybe"
    table.to_csv(tmp_path / "maybe.csv", index=False)
    done = invoke("report", model, tmp_path / "maybe.csv", *out)
    assert done.exit_code == 2
    assert "row 7 (line 8), column 'default': 'maybe' is neither 'no' nor 'yes'" in done.stderr
    assert os.listdir(tmp_path) == ["maybe.csv"]


def test_it_tells_where_the_page_is(invoke, model, credit, received, tmp_path):
    done = invoke("report", model, credit, "--out", tmp_path / "other.html")
    assert f"240 records; the page is {tmp_path / 'other.html'}" in done.output
