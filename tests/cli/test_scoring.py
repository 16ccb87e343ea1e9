"""Cells and columns of a new table that a model cannot use."""

import json
import os

import numpy as np
import pandas as pd
import pytest

from svmproba.cli import scoring
from svmproba.cli.input import csv_blocks


def test_an_unknown_category(predict, new_customers, edited, tmp_path):
    data = edited(new_customers, 17, "home", "tent")
    done = predict(data, "--out", tmp_path / "scored.csv", "--json")
    assert done.exit_code == 0
    said = "column 'home': unknown category 'tent' once, first in row 17 (line 18)"
    assert said in done.stderr
    found = json.loads(done.stdout)
    assert found["unseen"][0]["cells"] == [{"value": "tent", "first_row": 17, "count": 1}]
    assert found["rows"] == 60
    strict = predict(data, "--strict", "--out", tmp_path / "strict.csv")
    assert strict.exit_code == 2
    assert "row 17 (line 18), column 'home': the model does not know the category" in strict.stderr
    assert not (tmp_path / "strict.csv").exists()


def test_many_unknown_categories(predict, new_customers, tmp_path, monkeypatch):
    monkeypatch.setattr(scoring, "CELLS_KEPT", 7)
    table = pd.read_csv(new_customers)
    table["home"] = [f"tent {k // 2}" for k in range(59)] + ["own"]
    table.to_csv(tmp_path / "tents.csv", index=False)
    done = predict(tmp_path / "tents.csv", "--out", tmp_path / "s.csv", "--json")
    assert "unknown category 'tent 4' 2 times, first in row 9 (line 10)" in done.stderr
    assert "at least 2 other values as well" in done.stderr
    (unseen,) = json.loads(done.stdout)["unseen"]
    assert sum(cell["count"] for cell in unseen["cells"]) + unseen["others"] == 59


@pytest.mark.parametrize("block", [200, 1 << 20])
def test_a_column_of_which_nothing_is_known(predict, new_customers, tmp_path, monkeypatch, block):
    monkeypatch.setattr(csv_blocks, "BLOCK_BYTES", block)
    table = pd.read_csv(new_customers)
    table["home"] = np.where(table["age"] > 40, "tent", "boat")
    table.loc[4, "home"] = None
    table.to_csv(tmp_path / "tents.csv", index=False)
    done = predict(tmp_path / "tents.csv", "--out", tmp_path / "s.csv")
    assert done.exit_code == 2
    assert "column 'home': the model knows none of its 59 cells, such as " in done.stderr
    assert "it was fitted on 'free', 'own', 'rent'" in done.stderr
    assert os.listdir(tmp_path) == ["tents.csv"]
    lenient = predict(tmp_path / "tents.csv", "--lenient")
    assert lenient.exit_code == 0
    assert "unknown category 'tent'" in lenient.stderr
    table["home"] = None
    table.to_csv(tmp_path / "gaps.csv", index=False)
    assert predict(tmp_path / "gaps.csv").exit_code == 0


def test_a_cell_that_is_no_number(predict, new_customers, edited, tmp_path):
    data = edited(new_customers, 31, "amount", "a lot")
    done = predict(data, "--out", tmp_path / "scored.csv")
    assert done.exit_code == 2
    assert f"{data}, row 31 (line 32), column 'amount': 'a lot' is not a number" in done.stderr
    assert os.listdir(tmp_path) == ["edited.csv"]
    lenient = predict(data, "--lenient")
    assert lenient.exit_code == 0
    assert "not a number 'a lot' once, first in row 31 (line 32); it counts as" in lenient.stderr
    gap = predict(edited(new_customers, 31, "amount", ""))
    assert gap.stdout == lenient.stdout


def test_a_number_that_is_too_large(predict, new_customers, edited):
    done = predict(edited(new_customers, 31, "amount", "1e300"))
    assert done.exit_code == 2
    assert "row 31 (line 32), column 'amount': 1e+300 is too large" in done.stderr


def test_missing_columns(predict, new_customers, tmp_path):
    table = pd.read_csv(new_customers).drop(columns=["age", "home"])
    table.to_csv(tmp_path / "few.csv", index=False)
    done = predict(tmp_path / "few.csv")
    assert done.exit_code == 2
    assert "lacks 2 columns that the model needs: 'age', 'home'" in done.stderr


def test_decimal_commas(predict, new_customers, tmp_path):
    table = pd.read_csv(new_customers)
    table.to_csv(tmp_path / "comma.csv", index=False, sep=";", decimal=",")
    refused = predict(tmp_path / "comma.csv")
    assert refused.exit_code == 2
    assert "column 'income'" in refused.stderr
    done = predict(tmp_path / "comma.csv", "--decimal", ",")
    assert done.stdout == predict(new_customers).stdout
