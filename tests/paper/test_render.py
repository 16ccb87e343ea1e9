"""Compared tables as text, Markdown and CSV."""

import csv
import io
import math

import pytest

from svmproba.paper import render
from svmproba.paper.comparison import ComparedTable, Entry, Row

TABLE = ComparedTable(
    3,
    ["tpr_0", "tpr_1"],
    [
        Row("german", "cebb1", {"tpr_0": Entry(0.5124, 0.0231, 0.51, 0.1)}),
        Row("german", "cebb2", {"tpr_1": Entry(0.2, math.nan, 0.134, -2.1)}),
    ],
    ["german, cebb2: 100 bags"],
)


def test_markdown():
    lines = render.to_markdown(TABLE, "fair").splitlines()
    assert lines[0] == "# Table 3. " + render.TITLES[3] + " (fair)"
    assert lines[2:6] == [
        "| dataset | method | tpr_0 | tpr_1 |",
        "| --- | --- | --- | --- |",
        "| german | cebb1 | .512 ±.023 (.510) | – |",
        "| german | cebb2 | – | .200 (.134)* |",
    ]
    assert lines[-1] == "- german, cebb2: 100 bags"


@pytest.mark.parametrize(("distance", "star"), [(-2.0, ""), (2.0, ""), (2.001, "*"), (-2.001, "*")])
def test_a_star_means_more_than_two_standard_errors(distance, star):
    table = ComparedTable(
        2, ["ebb"], [Row("german", "", {"ebb": Entry(0.2, 0.02, 0.1, distance)})], []
    )
    assert f".200 ±.020 (.100){star} |" in render.to_markdown(table, "fair")


def test_csv():
    rows = list(csv.DictReader(io.StringIO(render.to_csv(TABLE))))
    assert rows[0] == {
        "dataset": "german",
        "method": "cebb1",
        "column": "tpr_0",
        "ours": "0.5124",
        "se": "0.0231",
        "paper": "0.51",
        "distance": "0.1",
    }
    assert (rows[1]["se"], rows[1]["column"]) == ("", "tpr_1")


def test_plain_text_is_aligned():
    lines = render.to_text(TABLE, "fair").splitlines()
    assert lines[2].index("tpr_0") == lines[4].index(".512") == lines[5].index("–")
    assert lines[1] == lines[3] == "-" * len(lines[1])


def test_printing_with_and_without_a_terminal(monkeypatch, capsys):
    render.print_table(TABLE, "fair")
    assert capsys.readouterr().out.rstrip("\n") == render.to_text(TABLE, "fair").rstrip("\n")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    render.print_table(TABLE, "fair")
    drawn = capsys.readouterr().out
    for text in (".512", "±.023", "(.510)", "(.134)*", "german, cebb2: 100 bags"):
        assert text in drawn
    assert "…" not in drawn
