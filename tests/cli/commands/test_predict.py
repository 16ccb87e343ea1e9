"""``svmproba predict``."""

import io
import json
import os
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import svmproba
from svmproba.cli.commands import predict as module
from svmproba.cli.input import csv_blocks
from svmproba.evaluation import explain


def test_probabilities_are_those_of_python(predict, model, new_customers, tmp_path):
    done = predict(new_customers, "--out", tmp_path / "scored.parquet", "--keep", "customer")
    assert done.exit_code == 0, done.output
    scored = pd.read_parquet(tmp_path / "scored.parquet")
    records = pd.read_csv(new_customers)
    assert list(scored.columns) == ["customer", "probability", "decision", "expected_cost"]
    assert scored["customer"].tolist() == records["customer"].tolist()
    pipeline = svmproba.load(model)
    np.testing.assert_allclose(
        scored["probability"], pipeline.predict_proba(records)[:, 1], rtol=1e-12
    )
    labels, cost = pipeline["svm"].decide(
        pipeline[:-1].transform(records), fn_cost=500.0, fp_cost=60.0, return_cost=True
    )
    assert scored["decision"].tolist() == labels.tolist()
    np.testing.assert_allclose(scored["expected_cost"], cost, rtol=1e-12)
    assert os.listdir(tmp_path) == ["scored.parquet"]
    assert "60 rows written to" in done.stderr


def test_the_speed_is_told(predict, new_customers, tmp_path, monkeypatch):
    seconds = iter([100.0, 102.0])
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    out = tmp_path / "scored.csv"
    done = predict(new_customers, "--out", out, "--json")
    assert f"60 rows written to {out}, 30 per second" in done.stderr
    told = json.loads(done.stdout)
    assert (told["rows"], told["seconds"]) == (60, 2.0)


def test_standard_input_to_standard_output(predict, new_customers, tmp_path):
    done = predict("-", input=new_customers.read_bytes())
    predict(new_customers, "--out", tmp_path / "scored.csv")
    assert done.stdout == (tmp_path / "scored.csv").read_text()
    assert pd.read_csv(io.StringIO(done.stdout)).shape == (60, 3)


def test_chunks_do_not_matter(predict, new_customers, monkeypatch):
    whole = predict(new_customers, "--keep", "customer").stdout
    monkeypatch.setattr(csv_blocks, "BLOCK_BYTES", 200)
    parts = predict(new_customers, "--keep", "customer").stdout
    a, b = (pd.read_csv(io.StringIO(text)) for text in (whole, parts))
    pd.testing.assert_frame_equal(a, b, rtol=1e-12)


def test_parquet_in_and_other_columns_and_order(predict, new_customers, tmp_path):
    table = pd.read_csv(new_customers)
    table["extra"], table["default"] = "x", "?"
    table = table[table.columns[::-1]]
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "new.parquet")
    done = predict(tmp_path / "new.parquet")
    a, b = (pd.read_csv(io.StringIO(d.stdout)) for d in (done, predict(new_customers)))
    pd.testing.assert_frame_equal(a, b, rtol=1e-12)


@pytest.mark.parametrize("kind", ["sampling", "simulation", "venn_abers"])
def test_intervals(predict, new_customers, model, kind):
    done = predict(new_customers, "--interval", kind, "--confidence", 0.8)
    assert done.exit_code == 0, done.output
    scored = pd.read_csv(io.StringIO(done.stdout))
    assert (scored["low"] <= scored["high"]).all()
    pipeline = svmproba.load(model)
    rows = pipeline[:-1].transform(pd.read_csv(new_customers))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        limits = pipeline["svm"].predict_proba_interval(rows, 0.8, kind=kind)
    np.testing.assert_allclose(scored[["low", "high"]], limits, atol=1e-12)


def test_kept_columns_are_passed_on_as_they_are(predict, new_customers, edited):
    data = edited(new_customers, 2, "customer", 'NA, "the second"')
    scored = pd.read_csv(io.StringIO(predict(data, "--keep", "customer,home").stdout))
    assert scored.columns[:2].tolist() == ["customer", "home"]
    assert scored["customer"][1] == 'NA, "the second"'


def test_a_kept_column_with_a_comma(predict, new_customers, tmp_path):
    table = pd.read_csv(new_customers).rename(columns={"customer": "customer, number"})
    table.to_csv(tmp_path / "new.csv", index=False)
    scored = predict(tmp_path / "new.csv", "--keep", "customer, number").stdout
    assert pd.read_csv(io.StringIO(scored)).columns[0] == "customer, number"


def test_no_records_make_an_empty_table(predict, new_customers, tmp_path):
    (tmp_path / "none.csv").write_text(new_customers.read_text().splitlines()[0] + "\n")
    done = predict(tmp_path / "none.csv", "--keep", "customer")
    assert done.exit_code == 0
    assert done.stdout == "customer,probability,decision,expected_cost\n"
    assert "has no records" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--json"], "--json needs standard output: give a file with --out"),
        (["--out", "x.txt"], "--out must end with .parquet or .csv, got 'x.txt'"),
        (["--interval", "sure"], "--interval must be one of sampling, simulation, venn_abers"),
        (["--confidence", "1"], "--confidence must be between 0 and 1"),
        (["--confidence", "0"], "--confidence must be between 0 and 1; got 0"),
        (["--keep", "nobody"], "--keep: {} has no column 'nobody'"),
        (["--jobs", "0"], "--jobs must not be 0"),
    ],
)
def test_wrong_use(predict, new_customers, arguments, message):
    done = predict(new_customers, *arguments)
    assert done.exit_code == 2
    assert message.format(new_customers) in done.stderr


def test_files_that_are_no_models(invoke, new_customers, tmp_path):
    assert "there is no model file" in invoke("predict", "no.svmproba", new_customers).stderr
    (tmp_path / "m.svmproba").write_text("not a model")
    done = invoke("predict", tmp_path / "m.svmproba", new_customers)
    assert done.exit_code == 2
    assert "Traceback" not in done.output
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.repeat([0, 1], 15)
    bare = svmproba.BootstrapSVC(n_bootstraps=20, random_state=0).fit(X, y)
    svmproba.save(bare, tmp_path / "bare.svmproba")
    done = invoke("predict", tmp_path / "bare.svmproba", new_customers)
    assert done.exit_code == 2
    assert "was not made by svmproba fit" in done.stderr


def test_whole_number_labels_and_a_rate(fit, invoke, credit, new_customers, tmp_path):
    table = pd.read_csv(credit)
    table["default"] = (table["default"] == "yes").astype(int)
    table.to_csv(tmp_path / "credit.csv", index=False)
    done = fit(
        tmp_path / "credit.csv", tmp_path / "m.svmproba", "--tpr", 0.95, "--costs", "fn=5,fp=1"
    )
    assert done.exit_code == 0, done.output
    invoke("predict", tmp_path / "m.svmproba", new_customers, "--out", tmp_path / "s.parquet")
    scored = pq.read_table(tmp_path / "s.parquet")
    assert scored.schema.field("decision").type == pa.int64()
    pipeline = svmproba.load(tmp_path / "m.svmproba")
    assert scored["decision"].to_pylist() == pipeline.predict(pd.read_csv(new_customers)).tolist()


def test_reasons_are_the_columns_of_the_table(predict, model, new_customers, tmp_path):
    out = tmp_path / "scored.csv"
    assert predict(new_customers, "--explain", 2, "--out", out).exit_code == 0
    scored = pd.read_csv(out)
    names = ["reason_1", "contribution_1", "reason_2", "contribution_2"]
    assert list(scored.columns)[-4:] == names
    found = explain(svmproba.load(model), pd.read_csv(new_customers))
    order = np.argsort(-np.abs(found.values), axis=1)
    for k in range(2):
        assert scored[names[2 * k]].tolist() == [found.names[j] for j in order[:, k]]
        largest = np.take_along_axis(found.values, order, axis=1)[:, k]
        np.testing.assert_allclose(scored[names[2 * k + 1]], largest, rtol=1e-9)
    assert set(scored["reason_1"]) <= {"age", "income", "amount", "home"}
    # There are no more reasons than columns.
    all_of_them = pd.read_csv(io.StringIO(predict(new_customers, "--explain", 99).stdout))
    assert list(all_of_them.columns)[-1] == "contribution_4"


def test_reasons_that_cannot_be_given(predict, invoke, fit, credit, new_customers, tmp_path):
    done = predict(new_customers, "--explain", -1)
    assert (done.exit_code, "--explain must be at least 0; got -1" in done.stderr) == (2, True)
    path = tmp_path / "kernels.svmproba"
    assert fit(credit, path, kernel=None).exit_code == 0
    done = invoke("predict", path, new_customers, "--explain", 3)
    assert done.exit_code == 2
    assert "--explain needs linear SVMs" in done.stderr
    assert "fit the model with --kernel linear" in done.stderr
