import csv
import importlib.util
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run_race(*options, script="fit_race.py"):
    command = [sys.executable, ROOT / "benchmarks" / script, *options]
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
    titles = "data rows cols bags ours s SVC s ratio LinearSVC s ratio sklearnex s ratio least"
    titles += " ours + SVC + Linear +"
    start = next(i for i, line in enumerate(lines) if line.startswith("data "))
    assert lines[start].split() == f"{titles} our gap x scoring".split()
    wisconsin, kind, worst, mean = lines[start + 1 : start + 5]
    assert kind.strip() == "linear"
    assert wisconsin.split()[:4] == ["wisconsin", "512", "30", "5"]
    assert wisconsin.count(" *2") == 2
    assert worst.startswith("worst")
    assert mean.startswith("geometric mean")
    assert len({len(line) for line in (lines[start], wisconsin, worst, mean)}) == 1


def test_numbers_hang_together(race):
    _, record = race
    names = ("race", "data", "peer_rows")
    value = {k: float(v) for k, v in record.items() if v and k not in names}
    assert value["n_C"] == 11
    assert value["uncertified"] == value["below_bound"] == 0
    assert value["largest_gap"] <= 1e-3
    assert 0 <= value["ours_excess"] <= value["ours_excess_bound"] <= 1.01e-3
    for peer in ("svc", "linear"):
        assert 0 <= value[f"{peer}_excess"] <= value[f"{peer}_excess_bound"]
        ratio = value[f"{peer}_s"] / value["ours_s"]
        assert value[f"{peer}_ratio"] == pytest.approx(ratio, rel=1e-4)
    assert value["least_ratio"] == min(value["svc_ratio"], value["linear_ratio"])
    # liblinear penalises the bias and stops early: it cannot be the best of the three everywhere.
    assert value["linear_excess"] > value["ours_excess"]
    assert value["x_scoring"] > 1


def test_bad_arguments():
    done = run_race("--bags", "0")
    assert done.returncode == 2
    assert "--bags must be at least 1, got 0" in done.stderr


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_guarantee_race(tmp_path):
    pytest.importorskip("mapie")
    path = tmp_path / "guarantee.csv"
    options = ["--datasets", "wisconsin", "--repeats", "3", "--bags", "20", "--jobs", "1"]
    done = run_race(*options, "--csv", path, script="guarantee_race.py")
    assert done.returncode == 0, done.stderr
    records = {(r["rate"], r["contender"]): r for r in read_csv(path)}
    assert len(records) == 2 * 9
    # 64 positives are too few for Bonferroni over 100 thresholds, and enough for the order
    # statistic.
    assert float(records["0.9", "mapie_bags"]["no_threshold"]) == 1
    assert float(records["0.9", "split"]["no_threshold"]) == 0
    assert float(records["0.8", "split"]["fpr"]) < float(records["0.8", "mapie_bags"]["fpr"])


def test_quality_race(tmp_path):
    pytest.importorskip("venn_abers")
    path = tmp_path / "quality.csv"
    options = ["--datasets", "wisconsin", "--repeats", "1", "--folds", "3", "--bags", "30"]
    done = run_race(*options, "--jobs", "1", "--rbf", "--csv", path, script="quality_race.py")
    assert done.returncode == 0, done.stderr
    brier = {r["method"]: float(r["brier"]) for r in read_csv(path)}
    assert len(brier) == 22
    assert all(0.01 < value < 0.06 for value in brier.values())
    assert "kernels is strictly best on" in done.stdout


def test_predict_race(tmp_path):
    pytest.importorskip("onnxruntime")
    path = tmp_path / "predict.csv"
    options = ["--bags", "50", "--rows", "3000", "--timed-rows", "1000", "--csv", path]
    done = run_race("--datasets", "wisconsin", "wisconsin:2", *options, script="predict_race.py")
    assert done.returncode == 0, done.stderr
    records = read_csv(path)
    assert [record["columns"] for record in records] == ["30", "2"]
    for record in records:
        assert float(record["largest_difference"]) <= 1e-6
        assert record["labels_differ"] == "0"
    assert done.stdout.count("0 of 3,000") == 2


def test_migrating(tmp_path):
    path = tmp_path / "migrating.csv"
    options = ["--datasets", "wisconsin", "--folds", "3", "--bags", "30", "--csv", path]
    done = run_race(*options, script="migrating.py")
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    records = {record["method"]: record for record in read_csv(path)}
    assert len(records) == 15
    assert records["searched"]["brier"] == ""  # one fit alone
    assert all(0.01 < float(r["brier"]) < 0.1 for r in records.values() if r["brier"])
    assert float(records["one_C"]["contradictions"]) == 0
    # The same machine and the same sigmoid, of other folds.
    theirs, ours = float(records["svc"]["brier"]), float(records["one_C"]["brier"])
    assert ours == pytest.approx(theirs, abs=1e-3)
    tables = done.stdout.split("\n\n")[1:-1]
    assert [table.count("\n") + 1 for table in tables] == [9, 6, 8, 8]
    for table in tables:  # every line of a Markdown table has as many cells
        assert len({line.count("|") for line in table.splitlines()}) == 1
    seconds = {line.split(" | ")[0]: line.split(" | ")[1] for line in tables[0].splitlines()}
    shown = float(seconds["| … around a `GridSearchCV`, 11 C"])
    assert shown == pytest.approx(float(records["searched"]["cpu_s"]), rel=0.06)


def test_gpu_race(tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "gpu.csv"
    options = ["--datasets", "wisconsin", "--bags", "3", "--jobs", "1", "--device", "torch"]
    done = run_race(*options, "--peer-seconds", "0", "--csv", path, script="gpu_race.py")
    assert done.returncode == 0, done.stderr
    (record,) = read_csv(path)
    assert float(record["largest_gap"]) <= 1e-3
    assert record["uncertified"] == "0"
    assert record["svc_reached"] == record["svc_fits"] == "1"  # one bag for the smallest C
    lines = done.stdout.splitlines()
    line = next(line for line in lines if line.startswith("wisconsin"))
    assert "> " in line
    titles = next(line for line in lines if line.startswith("data "))
    assert len(titles) == len(line)


def test_gpu_race_without_a_gpu():
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    done = run_race("--device", "cuda", script="gpu_race.py")
    assert done.returncode == 2
    assert "sees no CUDA device" in done.stderr


@pytest.mark.usefixtures("race")  # leaves compiled code in the cache: the same bits everywhere
def test_cluster_race(tmp_path):
    pytest.importorskip("distributed")
    path = tmp_path / "cluster.csv"
    options = ["--data", "wisconsin", "--bags", "20", "--workers", "2", "--runs", "1"]
    done = run_race(*options, "--csv", path, script="cluster_race.py")
    assert done.returncode == 0, done.stderr
    records = read_csv(path)
    assert [(r["workers"], r["kind"]) for r in records] == [
        ("2", "threads"),
        ("2", "loky"),
        ("2", "dask"),
    ]
    assert [r["same"] for r in records] == ["True"] * 3
    assert [r["tasks"] for r in records[1:]] == ["2", "2"]  # too little work for more
    assert all(float(r["cpu_s"]) > 0 for r in records)
    threads, _, dask = (float(r["overhead"]) for r in records)
    assert threads == 0
    assert dask > 0


def test_little_bootstraps(tmp_path):
    pytest.importorskip("dask.dataframe")
    path = tmp_path / "little.csv"
    options = ["--data", "gaussians-2000", "--exponents", "0.8", "--bags", "20", "--csv", path]
    done = run_race(*options, script="little_bootstraps.py")
    assert done.returncode == 0, done.stderr
    records = {r["resample"]: r for r in read_csv(path)}
    assert list(records) == ["bootstrap", "another", "blb 0.8"]
    assert float(records["bootstrap"]["differ"]) == 0
    # The best rule errs on 16 %.
    assert all(0.8 < float(r["accuracy"]) < 0.88 for r in records.values())


def test_constrained_race_goes_on_where_it_was_stopped(tmp_path):
    path = tmp_path / "constrained.csv"
    value = {"fast": 1.05, "default": 1.0, "thorough": 1.0, "proof": 1.05, "scip": 1.02}
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["data", "bag", "C", "floor", "solver", "objective", "bound", "seconds", "status"]
        )
        for solver, objective in value.items():
            for bag, C, floor in product((0, 1), (2.0**-5, 1, 32), (0.5, 0.7, 0.9, 0.97, 1)):
                if (solver, bag, C, floor) != ("fast", 1, 32, 1):
                    row = ["wisconsin", bag, C, floor, solver, objective, 0.9, 0.5, "feasible"]
                    writer.writerow(row)
    options = ["--only", "ours", "--data", "wisconsin", "--csv", path]
    done = run_race(*options, script="constrained_race.py")
    assert done.returncode == 0, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("fast wisconsin bag C=32 floor=1: ")
    records = read_csv(path)
    assert len(records) == 5 * 30
    # The plain SVM of this bag separates: the floor costs nothing.
    assert records[-1]["status"] == "optimal"
    assert "* default against SCIP: better on 30, equal on 0, worse on 0 of 30" in done.stdout
    row = next(x for x in done.stdout.splitlines() if x.startswith("| wisconsin |  | 1 | 0.9 "))
    assert row.split(" | ")[5:11] == ["2", "12", "0.500", "5", "14", "0.500"]


@pytest.mark.usefixtures("data_dir")
def test_constrained_race_with_subgroups(tmp_path):
    path = tmp_path / "floors.csv"
    options = ["--by", "--data", "heart by age", "german by sex", "--only", "fast", "--bags", "0"]
    options += ["--Cs", "1", "--floors", "0.5", "0.9", "--csv", path]
    done = run_race(*options, script="constrained_race.py")
    assert done.returncode == 0, done.stderr
    records = read_csv(path)
    assert [r["data"] for r in records] == ["heart by age"] * 2 + ["german by sex"] * 2
    low, high = (float(r["objective"]) for r in records[:2])
    assert low < high
    assert all(0 < float(r["bound"]) <= float(r["objective"]) for r in records)


def test_constrained_race_arguments(tmp_path):
    done = run_race("--time-limit", "0", "--data", "wisconsin", script="constrained_race.py")
    assert done.returncode == 2
    assert "--time-limit must be positive, got 0" in done.stderr


def test_cebb2_cost():
    options = ["wisconsin", "--bags", "1", "--efforts", "fast"]
    done = run_race(*options, script="cebb2_cost.py")
    assert done.returncode == 0, done.stderr
    assert "| CPU seconds a bag | fast |\n" in done.stdout
    row = next(x for x in done.stdout.splitlines() if x.startswith("| wisconsin (512 x 30) | "))
    cost = float(row.split(" | ")[1].split(" (")[0])
    assert 0 < cost < 10
    done = run_race("nothing", script="cebb2_cost.py")
    assert done.returncode == 2
    assert "no data set 'nothing' here" in done.stderr


def test_selection_race(tmp_path):
    path = tmp_path / "selection.csv"
    others = ["highs"] + ["scip"] * (importlib.util.find_spec("pyscipopt") is not None)
    options = ["--data", "wisconsin", "--floors", "0.95", "--only", "ours", *others]
    done = run_race(*options, "--time-limit", "2", "--csv", path, script="selection_race.py")
    assert done.returncode == 0, done.stderr
    ours, *found = read_csv(path)
    assert (ours["value"], ours["bound"]) == ("2", "2")
    assert [one["solver"] for one in found] == others
    assert all(float(one["bound"]) <= 2 <= float(one["value"]) for one in found)
    assert any(x.startswith("| wisconsin | 30 | 0.95 | 2 | 2 | ") for x in done.stdout.splitlines())
    done = run_race("--time-limit", "0", "--only", "ours", script="selection_race.py")
    assert done.returncode == 2
    assert "--time-limit must be positive, got 0" in done.stderr


@pytest.mark.usefixtures("data_dir")
def test_subgroup_race(tmp_path):
    pytest.importorskip("fairlearn")
    pytest.importorskip("mapie")
    path = tmp_path / "subgroups.csv"
    options = ["--datasets", "german", "--repeats", "1", "--csv", path]
    done = run_race(*options, script="subgroup_race.py")
    assert done.returncode == 0, done.stderr
    assert "german, sex: records (positives) of the population: men 4" in done.stdout
    called = {
        (r["task"], r["contender"], r["subgroup"]): float(r["called"]) for r in read_csv(path)
    }
    assert len(called) == 2 * 6 * 2
    for task, subgroup in (("sex", "women"), ("age", "over 30")):
        common, separate = (
            called[f"german, {task}", kind, subgroup] for kind in ("common", "separate")
        )
        assert separate <= common


def test_first_fits_are_timed_with_and_without_a_cache():
    done = run_race("--only", "RateFeatureSelector", script="first_fit.py")
    assert done.returncode == 0, done.stderr
    name, cpu, seconds, cached = done.stdout.splitlines()[-1].split()
    assert name == "RateFeatureSelector"
    assert min(float(cpu), float(seconds)) > 0
    assert float(cached) > 0
