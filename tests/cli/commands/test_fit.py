"""``svmproba fit``."""

import json
import os
import re
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import svmproba
from svmproba.cli import training
from svmproba.cli.commands import fit as module


def test_end_to_end(credit, fit, tmp_path):
    out = tmp_path / "model.svmproba"
    done = fit(credit, out, "--positive", "yes", "--tpr", 0.9, "--guarantee", "oob")
    assert done.exit_code == 0, done.output
    assert re.search(r"customer +dropped +identifier", done.stderr)
    assert re.search(r"income +numeric +numbers, \d+ missing", done.stderr)
    assert re.search(r"home +categorical +3 categories", done.stderr)
    assert "warning: column 'customer': every record has its own" in done.stderr
    assert "Fitted on 240 records" in done.stdout
    assert re.search(
        r"recall of 'yes' +9\d\.\d %  \d\d\.\d to \d\d\.\d % +\(true positive rate\)", done.stdout
    )
    assert "Guaranteed: Approximately, with confidence 90 %" in done.stdout
    assert "Not guaranteed: " in done.stdout
    assert os.listdir(tmp_path) == ["model.svmproba"]


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
    done = fit(credit, tmp_path / "m.svmproba", "--positive", "yes", "--json")
    found = json.loads(done.stdout)
    assert found["positive"] == "yes"
    assert 0.5 < found["figures"]["auc"] <= 1
    assert found["model"].endswith("m.svmproba")
    assert any("customer" in warning for warning in found["warnings"])
    assert "Fitted on 240 records" in done.stderr


def test_the_same_seed_the_same_model(credit, fit, tmp_path):
    for name in ("a", "b"):
        fit(credit, tmp_path / f"{name}.svmproba", "--positive", "yes", "--seed", 5)
    a, b = (svmproba.load(tmp_path / f"{name}.svmproba") for name in ("a", "b"))
    np.testing.assert_array_equal(a["svm"].member_coef_, b["svm"].member_coef_)


def test_standard_input(credit, fit, tmp_path):
    done = fit("-", tmp_path / "m.svmproba", "--positive", "yes", input=credit.read_bytes())
    assert done.exit_code == 0, done.output


def test_parquet_and_whole_number_labels(credit, fit, tmp_path):
    table = pd.read_csv(credit)
    table["default"] = (table["default"] == "yes").astype(int)
    table["since"] = pd.Timestamp("2024-01-01")
    table["member"] = table["age"] > 40
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "credit.parquet")
    done = fit(tmp_path / "credit.parquet", tmp_path / "m.svmproba")
    assert done.exit_code == 0, done.output
    assert "class of interest: 1, the larger label" in done.stderr
    assert "column 'since': it looks like dates" in done.stderr
    assert svmproba.load(tmp_path / "m.svmproba").classes_.tolist() == [0, 1]


def test_columns_as_you_asked(credit, fit, tmp_path):
    choices = ["--drop", "amount", "--categorical", "age", "--drop", "customer"]
    done = fit(credit, tmp_path / "m.svmproba", *choices)
    assert re.search(r"amount +dropped +as requested", done.stderr)
    assert re.search(r"age +categorical +as requested", done.stderr)
    assert "warning" not in done.stderr


@pytest.mark.parametrize("drop", ["age,amount", "age, amount"])
def test_lists_of_columns(credit, fit, tmp_path, drop):
    table = pd.read_csv(credit).rename(columns={"income": "income, net"})
    table.to_csv(tmp_path / "credit.csv", index=False)
    choices = ["--drop", drop, "--drop", "income, net", "--categorical", "customer,home"]
    done = fit(tmp_path / "credit.csv", tmp_path / "m.svmproba", *choices)
    assert done.exit_code == 0, done.output
    about = svmproba.read_about(tmp_path / "m.svmproba")["about"]
    roles = {column["name"]: (column["role"], column["reason"]) for column in about["columns"]}
    for name in ("age", "amount", "income, net"):
        assert roles[name] == ("dropped", "as requested")
    assert roles["home"] == ("categorical", "as requested")


@pytest.mark.parametrize("value", ["1e300", "-1e101"])
@pytest.mark.parametrize("guarantee", [[], ["--tpr", 0.5, "--guarantee", "split"]])
def test_numbers_that_are_too_large(credit, fit, tmp_path, value, guarantee):
    table = pd.read_csv(credit).astype({"amount": str})
    for row in range(len(table) - 9, len(table)):
        table.loc[row, "amount"] = value
    table.to_csv(tmp_path / "credit.csv", index=False)
    done = fit(tmp_path / "credit.csv", tmp_path / "m.svmproba", *guarantee)
    assert done.exit_code == 2
    said = f"row 232 (line 233), column 'amount': {float(value):g} is too large"
    assert said in done.stderr
    assert "overflow" not in done.stderr


def test_a_column_without_numbers_cannot_be_numeric(credit, fit, tmp_path):
    done = fit(credit, tmp_path / "m.svmproba", "--numeric", "home")
    assert done.exit_code == 2
    assert "--numeric: column 'home': 240 cells are not numbers" in done.stderr


def test_a_column_that_knows_the_outcome(credit, fit, tmp_path):
    table = pd.read_csv(credit)
    table["letters sent"] = np.where(table["default"] == "yes", 3, 0)
    table.to_csv(tmp_path / "leak.csv", index=False)
    done = fit(tmp_path / "leak.csv", tmp_path / "m.svmproba")
    assert "column 'letters sent': it almost alone separates the classes" in done.stderr


def test_records_without_a_label_are_left_out(credit, fit, tmp_path):
    lines = credit.read_text().splitlines()
    lines[5] = lines[5].rpartition(",")[0] + ","
    lines[9] = lines[9].rpartition(",")[0] + ",NA"
    (tmp_path / "gaps.csv").write_text("\n".join(lines))
    done = fit(tmp_path / "gaps.csv", tmp_path / "m.svmproba")
    assert "2 records without 'default' are left out, the first in row 5 (line 6)" in done.stderr
    assert "Fitted on 238 records" in done.stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x,y\n1,a\n2,a\n", "column 'y' must have at least two classes, it has 1: 'a' (2)"),
        (
            "x,y\n1,a\n2,b\n3,c\n4,a\n",
            "Every class needs at least 2 samples, one for a bag and one to be left out of it; y "
            "has 1 of class 'b', 'c'.",
        ),
        ("x,y\n1,\n2,NA\n", "it has no labels"),
        ("x,z\n1,a\n", "--target: {} has no column 'y'. It has 'x', 'z'"),
        ("x,y\n5,a\n5,b\n5,a\n5,b\n", "no column is left to learn from"),
        ("x,y\n5,a\n6,b\n7,a\n", "Every class needs at least 2 samples"),
        ("", "{} is empty"),
        ("x,y\n", "{} has no records, only names of columns"),
        ("x,x,y\n1,2,a\n", "more than one column is called 'x'"),
    ],
)
def test_tables_that_nothing_can_be_learned_from(fit, tmp_path, content, message):
    data = tmp_path / "data.csv"
    data.write_text(content)
    done = fit(data, tmp_path / "m.svmproba", target="y")
    assert done.exit_code == 2
    assert message.format(data) in done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: ")
    assert not (tmp_path / "m.svmproba").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--positive", "Yes"], "--positive must name one of 'no', 'yes'; got 'Yes'"),
        (["--drop", "default"], "column 'default' is the target"),
        (["--drop", "agee"], "has no column 'agee', did you mean 'age'?"),
        (["--tpr", "2"], "--tpr must be from 0 to 1; got 2"),
        (["--guarantee", "oob"], "--guarantee needs the rate"),
        (["--guarantee", "firm"], "--guarantee must be one of none, split, oob, jackknife+"),
        (
            ["--tpr", "0.8", "--by", "home", "--guarantee", "jackknife+"],
            "--by goes with --guarantee none, oob or split; got jackknife+",
        ),
        (["--tpr", "1", "--guarantee", "oob"], "--tpr must be above 0 and below 1 with"),
        (["--calibration", "best"], "--calibration must be one of auto, none, platt"),
        (["--costs", "fn=1"], "--costs must give both fn and fp"),
        (["--decimal", "x"], "--decimal must be . or ,"),
        (["--separator", "dots"], "--separator must be one character or of comma, semicolon"),
        (["--encoding", "klingon"], "--encoding must be one that Python knows"),
        (["--jobs", "0"], "--jobs must not be 0"),
        (["--bootstraps", "0"], "--bootstraps must be at least 1; got 0"),
        (["--tpr", "0.999", "--guarantee", "split"], "needs at least 2302 positive samples"),
    ],
)
def test_wrong_use(credit, fit, tmp_path, arguments, message):
    done = fit(credit, tmp_path / "m.svmproba", *arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert os.listdir(tmp_path) == []


def test_the_model_must_have_a_name_of_its_own_and_a_folder(credit, fit, tmp_path):
    for name in ("m.pkl", "m.csv.gz", "m.PNG"):
        assert "--out: a model cannot be a " in fit(credit, tmp_path / name).stderr
    assert "there is no folder" in fit(credit, tmp_path / "no" / "m.svmproba").stderr


def test_an_error_while_fitting(credit, fit, tmp_path, monkeypatch):
    def fail(*arguments, **more):
        raise RuntimeError("no luck")

    monkeypatch.setattr(training.BootstrapSVC, "fit", fail)
    done = fit(credit, tmp_path / "m.svmproba")
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1] == "error: no luck"
    assert isinstance(fit(credit, tmp_path / "m.svmproba", "--debug").exception, RuntimeError)
    assert os.listdir(tmp_path) == []


def test_many_columns_are_counted(fit, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 45)), columns=[f"x{k}" for k in range(45)])
    table["same"], table["y"] = 1, np.where(table["x0"] > 0, "a", "b")
    table.to_csv(tmp_path / "wide.csv", index=False)
    done = fit(tmp_path / "wide.csv", tmp_path / "m.svmproba", target="y")
    assert "45 numeric columns" in done.stderr
    assert re.search(r"same +dropped +constant: always 1", done.stderr)
    assert "x17" not in done.stderr


def test_few_columns_are_listed_and_not_counted(credit, fit, tmp_path):
    done = fit(credit, tmp_path / "m.svmproba", "--positive", "yes")
    assert re.search(r"  amount +numeric ", done.stderr)
    assert not re.search(r"\d (numeric|categorical) columns", done.stderr)


def test_a_model_that_calls_nobody_says_so(fit, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.06
    table = pd.DataFrame({"a": rng.normal(size=400) + 0.5 * y, "b": rng.normal(size=400)})
    table["y"] = np.where(y, "ill", "well")
    table.to_csv(tmp_path / "rare.csv", index=False)
    arguments = [tmp_path / "rare.csv", tmp_path / "m.svmproba", "--positive", "ill"]
    arguments += ["--class-weight", "none"]
    said = " ".join(fit(*arguments, target="y").stdout.split())
    assert "The model classifies no record as 'ill' (0 of 400). Give costs (--costs" in said
    assert "or a rate (--tpr 0.8)" in said
    assert "--class-weight balanced" in said
    assert "The classes are not balanced" in said
    (tmp_path / "m.svmproba").unlink()
    done = fit(*arguments, "--costs", "fn=1000,fp=1", "--json", target="y")
    about = json.loads(done.stdout)
    found = {finding["name"]: finding["text"] for finding in about["findings"]}
    assert "This follows from --costs" in found["every record positive"]
    (tmp_path / "m.svmproba").unlink()
    done = fit(*arguments, "--tpr", 0.6, target="y")
    assert "no record as" not in done.stdout
    assert "almost no record" not in done.stdout


def test_ten_records_have_limits_and_a_word(fit, tmp_path):
    table = pd.DataFrame({"x": np.arange(10) + np.arange(10) % 3 / 10, "z": [0, 1] * 5})
    table["y"] = np.where(table["x"] > 4.5, "yes", "no")
    table.to_csv(tmp_path / "ten.csv", index=False)
    done = fit(tmp_path / "ten.csv", tmp_path / "m.svmproba", target="y")
    assert re.search(r"ROC AUC +0\.960  0\.592 to 0\.997 ", done.stdout)
    assert re.search(r"recall of 'yes' +80\.0 %  28\.4 to 99\.5 % ", done.stdout)
    assert "There are only 10 records, 5 of them 'yes'" in done.stdout


def test_names_of_columns_cannot_forge_lines(fit, credit, tmp_path):
    evil = "age\x1b[2J\nwarning: all is well"
    table = pd.read_csv(credit).rename(columns={"age": evil})
    table.to_parquet(tmp_path / "evil.parquet")
    done = fit(tmp_path / "evil.parquet", tmp_path / "m.svmproba", "--bootstraps", 30)
    assert done.exit_code == 0, done.stderr
    assert "\x1b" not in done.output
    assert "  age\\x1b[2J\\nwarning: all is well" in done.stderr


def test_costs_ask_for_calibration(credit, fit, tmp_path):
    costs = ["--positive", "yes", "--costs", "fn=5,fp=1"]
    said = "costs need --calibration"
    assert said in fit(credit, tmp_path / "a.svmproba", *costs, "--calibration", "none").stderr
    assert said not in fit(credit, tmp_path / "b.svmproba", *costs, "--calibration", "platt").stderr


@pytest.mark.parametrize(
    ("arguments", "kernels", "n_weights"),
    [
        ([], {"linear", "rbf"}, 2),
        (["--kernel", "linear"], {"linear"}, 2),
        (["--class-weight", "none", "--kernel", "rbf"], {"rbf"}, 1),
        (["--calibration", "none"], {"linear"}, 1),
        (["--calibration", "platt"], {"linear"}, 2),
        (["--class-weight", "balanced", "--kernel", "auto"], {"linear", "rbf"}, 1),
    ],
)
def test_kernels_and_class_weights(fit, tmp_path, arguments, kernels, n_weights):
    rng = np.random.default_rng(0)
    y = rng.random(150) < 0.15
    table = pd.DataFrame({"a": rng.normal(size=150) + 2 * y, "b": rng.normal(size=150)})
    table["y"] = np.where(y, "ill", "well")
    table.to_csv(tmp_path / "rare.csv", index=False)
    out = tmp_path / "m.svmproba"
    few = ["--positive", "ill", "--bootstraps", 20]
    done = fit(tmp_path / "rare.csv", out, *few, *arguments, target="y", kernel=None)
    assert done.exit_code == 0, done.stderr
    thetas = svmproba.load(out)[-1].thetas_
    assert set(thetas["kernel"]) == kernels
    assert len(set(thetas["class_weight"])) == n_weights
    assert f"20 bags x {len(thetas)} hyperparameter values" in done.stdout


@pytest.mark.parametrize("gammas", [1, 2])
def test_all_bags_of_all_kernels_are_counted(fit, credit, tmp_path, monkeypatch, gammas):
    told = []

    @contextmanager
    def show_progress(name, total, unit, check):
        assert (name, total, unit) == ("fit", None, "bags")
        yield lambda n, total: told.append((n, total))

    monkeypatch.setattr(module, "show_progress", show_progress)
    found = ["scale", 0.5][:gammas], {"gamma": np.array([0.5]), "brier": np.array([0.1])}
    monkeypatch.setattr("svmproba.estimators._bootstrap_svc.find_gammas", lambda *_: found)
    done = fit(credit, tmp_path / "m.svmproba", "--class-weight", "none", kernel=None)
    assert done.exit_code == 0, done.stderr
    n_bags = 40 * (1 + gammas)
    assert sum(n for n, _ in told) == n_bags
    assert {total for _, total in told} == {n_bags}


@pytest.mark.parametrize("limit", [239, 240])
def test_large_tables_have_linear_svms_alone(fit, credit, tmp_path, monkeypatch, limit):
    monkeypatch.setattr(training, "KERNELS_UP_TO", limit)
    for arguments, large in (([], limit < 240), (["--kernel", "auto"], False)):
        done = fit(credit, tmp_path / "m.svmproba", "--force", *arguments, kernel=None)
        assert done.exit_code == 0, done.stderr
        assert ("linear SVMs alone; --kernel auto adds rbf SVMs" in done.stderr) == large
        thetas = svmproba.load(tmp_path / "m.svmproba")[-1].thetas_
        assert set(thetas["kernel"]) == ({"linear"} if large else {"linear", "rbf"})


def test_the_limit_of_kernels_is_the_one_that_is_told(invoke):
    said = " ".join(invoke("fit", "--help").output.replace("│", " ").split())
    assert f"auto with --calibration auto and up to {training.KERNELS_UP_TO:,} records" in said


def test_no_command_shows_the_commands(invoke):
    said = invoke().output
    assert "Usage" in said
    assert "reproduce" in said
    assert "Missing command" not in said


def test_nested_columns_are_named(fit, invoke, tmp_path):
    n = 60
    x = np.random.default_rng(0).normal(size=n)
    y = np.where(x > 0, "yes", "no")
    lists, plain = tmp_path / "lists.parquet", tmp_path / "plain.parquet"
    pd.DataFrame({"a": [[value] for value in x], "b": x, "t": y}).to_parquet(lists)
    pd.DataFrame({"a": x, "b": x, "t": y}).to_parquet(plain)
    done = fit(lists, tmp_path / "m.svmproba", target="a")
    assert (done.exit_code, "column 'a' holds list<" in done.stderr) == (2, True)
    assert fit(plain, tmp_path / "m.svmproba", target="t").exit_code == 0
    done = invoke("predict", tmp_path / "m.svmproba", lists)
    assert (done.exit_code, "column 'a' holds list<" in done.stderr) == (2, True)


def test_views_of_strings_are_strings(fit, tmp_path):
    words = pa.array(["u", "v", "w"] * 30)
    view = pa.table({"c": words.cast(pa.string_view()), "x": np.arange(90.0) % 7})
    view = view.append_column("t", pa.array(["no", "yes"] * 45))
    pq.write_table(view, tmp_path / "t.parquet")
    done = fit(tmp_path / "t.parquet", tmp_path / "m.svmproba", target="t")
    assert done.exit_code == 0, done.stderr
    assert "3 categories" in done.stderr
