"""The benchmark of prior selection: columns are chosen inside each fold."""

import csv
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from svmproba.preparation.folds import split_parts

ROOT = Path(__file__).resolve().parents[1]
KINDS = ["rates 0.7", "F as many", "in bags 0.7"]


@pytest.fixture(scope="module")
def benchmark():
    path = ROOT / "benchmarks" / "prior_selection.py"
    spec = importlib.util.spec_from_file_location("prior_selection", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


@pytest.fixture(scope="module")
def noise():
    """Columns that know nothing of the labels."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(90, 60))).rename(columns="x{}".format)
    X["word"] = rng.choice(["a", "b", "c"], 90)
    return X, np.arange(90) % 2


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("contender", KINDS)
def test_labels_of_the_fold_have_no_part(contender, benchmark, noise):
    X, y = noise
    part = split_parts("fair", y, bootstrap=True, n_folds=3)[0]
    other = y.copy()
    other[part.test] = 1 - y[part.test]
    first, told = benchmark.run_part(contender, (X, y), part, 3, 20)
    again, _ = benchmark.run_part(contender, (X, other), part, 3, 20)
    np.testing.assert_array_equal(first, again)
    other = y.copy()
    other[part.train[:10]] = 1 - y[part.train[:10]]
    moved, _ = benchmark.run_part(contender, (X, other), part, 3, 20)
    assert not np.array_equal(first, moved)
    assert told["attributes"] <= told["columns"] + 2


def test_a_selection_on_all_records_reads_the_labels_of_the_fold(benchmark, noise):
    """The classic error, which the test above would notice."""
    X, y = noise
    rows = X.drop(columns="word").to_numpy()
    part = split_parts("fair", y, bootstrap=True, n_folds=3)[0]
    other = y.copy()
    other[part.test] = 1 - y[part.test]
    for contender in KINDS[:2]:
        owner = np.arange(60)
        found = [benchmark.choose(contender, rows, labels, owner, 3, 0) for labels in (y, other)]
        assert not np.array_equal(*found)


def test_dummies_know_their_attribute(benchmark, noise):
    preprocessor = benchmark.make_preprocessor(noise[0]).fit(noise[0])
    owner = benchmark.attributes_of(preprocessor)
    assert owner.tolist() == [*range(60), 60, 60, 60]


@pytest.mark.usefixtures("data_dir")
def test_it_goes_on_where_it_was_stopped(tmp_path):
    path = tmp_path / "selection.csv"
    command = [sys.executable, ROOT / "benchmarks" / "prior_selection.py", "--data", "german"]
    command += ["--folds", "2", "--bags", "10", "--csv", path, "--only", "all", "rates", "F"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([*command, "--part", "0"], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    with path.open(newline="") as file:
        first = list(csv.DictReader(file))
    assert [r["contender"] for r in first] == [
        "all",
        "rates 0.65",
        "rates 0.7",
        "F as many",
        "F 50",
    ]
    assert first[2]["columns"] == first[3]["columns"]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    with path.open(newline="") as file:
        records = list(csv.DictReader(file))
    assert records[:5] == first
    assert {r["fold"] for r in records} == {"0", "1"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 5
    assert len({line.count("|") for line in lines}) == 1
