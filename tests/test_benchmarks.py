import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run_race(*options):
    command = [sys.executable, ROOT / "benchmarks" / "fit_race.py", *options]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, capture_output=True, text=True, env=env)


# wisconsin comes with scikit-learn: no data files are needed.
@pytest.fixture(scope="module")
def race(tmp_path_factory):
    path = tmp_path_factory.mktemp("race") / "new" / "race.csv"
    options = ["--datasets", "wisconsin", "--bags", "5", "--peer-bags", "2", "--jobs", "1", "--csv"]
    done = run_race(*options, path)
    assert done.returncode == 0, done.stderr
    with path.open(newline="") as file:
        (record,) = csv.DictReader(file)
    return done.stdout.splitlines(), record


def test_table(race):
    lines, _ = race
    titles = "data rows cols bags ours s SVC s ratio LinearSVC s ratio ours + SVC + Linear +"
    start = next(i for i, line in enumerate(lines) if line.startswith("data "))
    assert lines[start].split() == f"{titles} our gap x scoring".split()
    wisconsin, worst, mean = lines[start + 1 : start + 4]
    assert wisconsin.split()[:4] == ["wisconsin", "512", "30", "5"]
    assert wisconsin.count(" *2") == 2
    assert worst.startswith("worst")
    assert mean.startswith("geometric mean")
    assert len({len(line) for line in lines[start : start + 4]}) == 1


def test_numbers_hang_together(race):
    _, record = race
    value = {k: float(v) for k, v in record.items() if k not in ("race", "data", "peer_rows")}
    assert value["n_C"] == 11
    assert value["uncertified"] == value["below_bound"] == 0
    assert value["largest_gap"] <= 1e-3
    assert 0 <= value["ours_excess"] <= value["ours_excess_bound"] <= 1.01e-3
    for peer in ("svc", "linear"):
        assert 0 <= value[f"{peer}_excess"] <= value[f"{peer}_excess_bound"]
        ratio = value[f"{peer}_s"] / value["ours_s"]
        assert value[f"{peer}_ratio"] == pytest.approx(ratio, rel=1e-4)
    # liblinear penalises the bias and stops early: it cannot be the best of the three everywhere.
    assert value["linear_excess"] > value["ours_excess"]
    assert value["x_scoring"] > 1


def test_bad_arguments():
    done = run_race("--bags", "0")
    assert done.returncode == 2
    assert "--bags must be at least 1, got 0" in done.stderr
