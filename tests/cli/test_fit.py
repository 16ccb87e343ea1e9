"""``svmproba fit``."""

import json
import os
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import svmproba
from svmproba.cli import training


def test_end_to_end(credit, fit, tmp_path):
    out = tmp_path / "model.skops"
    done = fit(credit, out, "--positive", "yes", "--tpr", 0.9, "--guarantee", "oob")
    assert done.exit_code == 0, done.output
    assert re.search(r"customer +dropped +identifier", done.stderr)
    assert re.search(r"income +numeric +numbers, \d+ missing", done.stderr)
    assert re.search(r"home +categorical +3 categories", done.stderr)
    assert "warning: column 'customer': every record has its own" in done.stderr
    assert "Fitted on 240 records" in done.stdout
    assert re.search(r"'yes' found +9\d\.\d %  \(true positive rate\)", done.stdout)
    assert "Promised: Approximately, with confidence 90 %" in done.stdout
    assert "Not promised: " in done.stdout
    assert os.listdir(tmp_path) == ["model.skops"]


def test_the_saved_model_is_a_pipeline_for_python(credit, model):
    loaded = svmproba.load(model)
    assert [name for name, _ in loaded.steps] == ["columns", "svm"]
    records = pd.read_csv(credit)
    proba = loaded.predict_proba(records)
    assert proba.shape == (240, 2)
    about = svmproba.read_about(model)["about"]
    assert about["target"] == "default"
    assert about["costs"] == {"fn": 500.0, "fp": 60.0, "tp": 0.0, "tn": 0.0}
    assert [column["role"] for column in about["columns"]] == [
        "dropped",
        "numeric",
        "numeric",
        "numeric",
        "categorical",
    ]


def test_json(credit, fit, tmp_path):
    done = fit(credit, tmp_path / "m.skops", "--positive", "yes", "--json")
    found = json.loads(done.stdout)
    assert found["positive"] == "yes"
    assert 0.5 < found["figures"]["auc"] <= 1
    assert found["model"].endswith("m.skops")
    assert any("customer" in warning for warning in found["warnings"])
    assert "Fitted on 240 records" in done.stderr


def test_the_same_seed_the_same_model(credit, fit, tmp_path):
    for name in ("a", "b"):
        fit(credit, tmp_path / f"{name}.skops", "--positive", "yes", "--seed", 5)
    a, b = (svmproba.load(tmp_path / f"{name}.skops") for name in ("a", "b"))
    np.testing.assert_array_equal(a["svm"].coef_, b["svm"].coef_)


def test_standard_input(credit, fit, tmp_path):
    done = fit("-", tmp_path / "m.skops", "--positive", "yes", input=credit.read_bytes())
    assert done.exit_code == 0, done.output


def test_parquet_and_whole_number_labels(credit, fit, tmp_path):
    table = pd.read_csv(credit)
    table["default"] = (table["default"] == "yes").astype(int)
    table["since"] = pd.Timestamp("2024-01-01")
    table["member"] = table["age"] > 40
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "credit.parquet")
    done = fit(tmp_path / "credit.parquet", tmp_path / "m.skops")
    assert done.exit_code == 0, done.output
    assert "class of interest: 1, the larger label" in done.stderr
    assert "column 'since': it looks like dates" in done.stderr
    assert svmproba.load(tmp_path / "m.skops").classes_.tolist() == [0, 1]


def test_columns_as_you_asked(credit, fit, tmp_path):
    wishes = ["--drop", "amount", "--categorical", "age", "--drop", "customer"]
    done = fit(credit, tmp_path / "m.skops", *wishes)
    assert re.search(r"amount +dropped +as you asked", done.stderr)
    assert re.search(r"age +categorical +as you asked", done.stderr)
    assert "warning" not in done.stderr


def test_a_column_that_knows_the_outcome(credit, fit, tmp_path):
    table = pd.read_csv(credit)
    table["letters sent"] = np.where(table["default"] == "yes", 3, 0)
    table.to_csv(tmp_path / "leak.csv", index=False)
    done = fit(tmp_path / "leak.csv", tmp_path / "m.skops")
    assert "column 'letters sent': it almost alone separates the classes" in done.stderr


def test_records_without_a_label_are_left_out(credit, fit, tmp_path):
    lines = credit.read_text().splitlines()
    lines[5] = lines[5].rpartition(",")[0] + ","
    lines[9] = lines[9].rpartition(",")[0] + ",NA"
    (tmp_path / "gaps.csv").write_text("\n".join(lines))
    done = fit(tmp_path / "gaps.csv", tmp_path / "m.skops")
    assert (
        "2 records have no 'default' and are left out, the first in row 5 (line 6)" in done.stderr
    )
    assert "Fitted on 238 records" in done.stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x,y\n1,a\n2,a\n", "column 'y' must have two classes, it has 1: 'a' (2)"),
        ("x,y\n1,a\n2,b\n3,c\n", "must have two classes, it has 3: 'a' (1), 'b' (1), 'c' (1)"),
        ("x,y\n1,\n2,NA\n", "it has no labels"),
        ("x,z\n1,a\n", "--target: {} has no column 'y'. It has 'x', 'z'"),
        ("x,y\n5,a\n5,b\n5,a\n5,b\n", "no column is left to learn from"),
        ("x,y\n5,a\n6,b\n7,a\n", "Every class needs at least 2 records"),
        ("", "{} is empty"),
        ("x,y\n", "{} has no records, only names of columns"),
        ("x,x,y\n1,2,a\n", "more than one column is called 'x'"),
    ],
)
def test_tables_that_nothing_can_be_learned_from(fit, tmp_path, content, message):
    data = tmp_path / "data.csv"
    data.write_text(content)
    done = fit(data, tmp_path / "m.skops", target="y")
    assert done.exit_code == 2
    assert message.format(data) in done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: ")
    assert not (tmp_path / "m.skops").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--positive", "Yes"], "--positive must be one of 'no' and 'yes'; got 'Yes'"),
        (["--drop", "default"], "column 'default' is the target"),
        (["--drop", "agee"], "has no column 'agee', did you mean 'age'?"),
        (["--tpr", "2"], "--tpr must be from 0 to 1; got 2"),
        (["--guarantee", "oob"], "--guarantee needs the rate"),
        (["--guarantee", "firm"], "--guarantee must be one of none, split, oob, jackknife+"),
        (["--calibration", "best"], "--calibration must be one of auto, none, platt"),
        (["--costs", "fn=1"], "--costs must tell both fn and fp"),
        (["--decimal", "x"], "--decimal must be . or ,"),
        (["--separator", "dots"], "--separator must be one character or of comma, semicolon"),
        (["--encoding", "klingon"], "--encoding must be one that Python knows"),
        (["--jobs", "0"], "--jobs must not be 0"),
        (["--bootstraps", "0"], "Invalid value for '--bootstraps'"),
        (["--tpr", "0.999", "--guarantee", "split"], "needs at least 2302 positive records"),
    ],
)
def test_wrong_use(credit, fit, tmp_path, arguments, message):
    done = fit(credit, tmp_path / "m.skops", *arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert os.listdir(tmp_path) == []


def test_the_model_must_have_its_ending_and_a_folder(credit, fit, tmp_path):
    assert "--out must end with .skops" in fit(credit, tmp_path / "m.pkl").stderr
    assert "there is no folder" in fit(credit, tmp_path / "no" / "m.skops").stderr


def test_an_error_while_fitting(credit, fit, tmp_path, monkeypatch):
    def fail(*arguments, **more):
        raise RuntimeError("no luck")

    monkeypatch.setattr(training.BootstrapSVC, "fit", fail)
    done = fit(credit, tmp_path / "m.skops")
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1] == "error: no luck"
    assert isinstance(fit(credit, tmp_path / "m.skops", "--debug").exception, RuntimeError)
    assert os.listdir(tmp_path) == []


def test_many_columns_are_counted(fit, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 45)), columns=[f"x{k}" for k in range(45)])
    table["same"], table["y"] = 1, np.where(table["x0"] > 0, "a", "b")
    table.to_csv(tmp_path / "wide.csv", index=False)
    done = fit(tmp_path / "wide.csv", tmp_path / "m.skops", target="y")
    assert "45 numeric columns" in done.stderr
    assert re.search(r"same +dropped +constant: always 1", done.stderr)
    assert "x17" not in done.stderr


def test_costs_ask_for_calibration(credit, fit, tmp_path):
    costs = ["--positive", "yes", "--costs", "fn=5,fp=1"]
    said = "costs need --calibration"
    assert said in fit(credit, tmp_path / "a.skops", *costs, "--calibration", "none").stderr
    assert said not in fit(credit, tmp_path / "b.skops", *costs, "--calibration", "platt").stderr
