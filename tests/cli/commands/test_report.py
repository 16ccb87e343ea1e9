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

    def write_report(model, X, y, path, *, about=None, title=None, by=None, overwrite=True):
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
    assert "row 7 (line 8), column 'default': 'maybe' is none of 'no', 'yes'" in done.stderr
    table = pd.read_csv(credit).astype({"amount": float})
    table.loc[2, "default"], table.loc[6, "amount"] = None, 1e300
    table.to_csv(tmp_path / "maybe.csv", index=False)
    done = invoke("report", model, tmp_path / "maybe.csv", *out)
    assert done.exit_code == 2
    assert "row 7 (line 8), column 'amount': 1e+300 is too large" in done.stderr
    assert os.listdir(tmp_path) == ["maybe.csv"]


def test_changed_training_records_are_not_called_new(invoke, model, credit, tmp_path):
    pytest.importorskip("jinja2")
    table, out = pd.read_csv(credit), tmp_path / "page.html"

    def page_of(changed):
        changed.to_csv(tmp_path / "changed.csv", index=False)
        out.unlink(missing_ok=True)
        done = invoke("report", model, tmp_path / "changed.csv", "--out", out)
        assert done.exit_code == 0, done.output
        text = out.read_text(encoding="utf-8")
        assert "was not trained" not in text
        return done.stderr, " ".join(text.split())

    said, page = page_of(table)
    assert "240 of 240 records were recognised as training records" in page
    assert "cannot be recognised" not in page
    assert "warning" not in said
    _, page = page_of(table.assign(amount=table["amount"].round(-1)))
    assert " of 240 records were recognised as training records" in page
    assert "Training records that have been changed cannot be recognised" in page
    said, page = page_of(table.assign(home=table["home"].replace("rent", "hotel")))
    n = (table["home"] == "rent").sum()
    warning = f"column 'home': unknown category 'hotel' {n} times, first in row "
    assert f"warning: {warning}" in said
    assert warning.replace("'", "&#39;") in page


def test_cells_that_are_no_numbers_are_told(invoke, model, credit, received, tmp_path):
    table = pd.read_csv(credit, dtype=str)
    table.loc[3, "amount"] = "plenty"
    table.to_csv(tmp_path / "words.csv", index=False)
    out = tmp_path / "page.html"
    done = invoke("report", model, tmp_path / "words.csv", "--out", out, "--json")
    assert done.exit_code == 0, done.output
    assert "column 'amount': not a number 'plenty' once, first in row 4 (line 5)" in done.stderr
    assert received["X"]["amount"].isna().sum() == 1
    assert received["about"]["warnings"][0].startswith("In the table, column 'amount'")


def test_it_tells_where_the_page_is(invoke, model, credit, received, tmp_path):
    done = invoke("report", model, credit, "--out", tmp_path / "other.html")
    assert f"240 records; the page is {tmp_path / 'other.html'}" in done.output
