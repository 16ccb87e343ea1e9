import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from svmproba.paper import reproduce
from svmproba.paper.data.datasets import load_dataset
from svmproba.paper.methods import FAMILIES
from svmproba.paper.reproduce import Plan, make_cell, plan_jobs, run
from svmproba.paper.store import Store
from svmproba.preparation.folds import split_parts

PLAN = Plan(n_bootstraps=20, n_folds=10)


@pytest.fixture(scope="module")
def tables():
    return {"wisconsin": load_dataset("wisconsin")}


def test_cells_of_a_plan(tables):
    jobs = plan_jobs(PLAN, tables, ["ebb", "platt"])
    assert [(job.cell.family, job.cell.fold) for job in jobs] == [
        (family, fold) for family in ("ebb", "platt") for fold in range(10)
    ]
    assert {job.cell.bags for job in jobs} == {20, 0}
    paper = plan_jobs(Plan("paper", n_repeats=2), tables, ["ebb", "platt"])
    assert [job.cell.n_folds for job in paper] == [1] * 2 + [10] * 20
    assert [len(job.part.test) for job in paper[:2]] == [57, 57]


def test_the_work_of_a_cell_grows_with_its_members_and_records(tables):
    X, _ = tables["wisconsin"]
    for family in ("ebb", "platt"):
        job = plan_jobs(PLAN, tables, [family])[0]
        bags = 20 if FAMILIES[family].bootstrap else 1
        assert job.work == FAMILIES[family].n_members * bags * len(X) * X.shape[1]
    wide = {"wisconsin": (X.iloc[:20], np.arange(20) % 2)}
    job = plan_jobs(Plan(n_folds=2), wide, ["platt"])[0]
    assert X.shape[1] > 20
    assert job.work == FAMILIES["platt"].n_members * 20 * 20


def test_the_time_left_is_that_of_the_nearest_cells(tables):
    X, y = tables["wisconsin"]
    few = {"wisconsin": (X, y), "banknote": (X.iloc[:100], y[:100])}
    jobs = plan_jobs(Plan(n_folds=2, n_bootstraps=5), few, ["ebb", "platt"])
    cells = {(job.cell.dataset, job.cell.family): job for job in jobs if job.cell.fold == 0}
    speeds = reproduce._Speeds()
    assert speeds.seconds_of([]) == 0
    assert speeds.seconds_of(jobs) is None
    first, same = jobs[0], cells["banknote", "ebb"]
    speeds.note(first, 3.0)
    speeds.note(first, 5.0)
    assert speeds.seconds_of([first, first]) == 8  # the mean, twice
    per_work = 4 / first.work
    assert speeds.seconds_of([same]) == pytest.approx(per_work * same.work)  # its family
    other = cells["banknote", "platt"]
    assert speeds.seconds_of([other]) == pytest.approx(per_work * other.work)  # any cell
    speeds.note(cells["wisconsin", "platt"], 100.0)
    assert speeds.seconds_of([same]) == pytest.approx(per_work * same.work)
    per_work = 100 / cells["wisconsin", "platt"].work
    assert speeds.seconds_of([other]) == pytest.approx(per_work * other.work)


@pytest.mark.parametrize(
    "other",
    [
        {"n_bootstraps": 21},
        {"seed": 1},
        {"n_folds": 5},
        {"protocol": "paper"},
    ],
)
def test_what_changes_results_changes_the_cell(tables, other):
    part = split_parts("fair", tables["wisconsin"][1], bootstrap=True)[0]
    cell = make_cell(PLAN, "wisconsin", "ebb", part)
    settings = {**vars(PLAN), **other}
    assert make_cell(Plan(**settings), "wisconsin", "ebb", part) != cell
    assert make_cell(Plan(**vars(PLAN)), "wisconsin", "ebb", part) == cell


def test_the_seconds_of_a_cell_are_those_that_it_took(tables):
    (job, *_), start = plan_jobs(PLAN, tables, ["platt"]), time.perf_counter()
    result = reproduce.compute(job, PLAN, tables["wisconsin"], 1)
    assert 0 < result.seconds <= time.perf_counter() - start


def test_the_first_cell_of_a_family_tells_no_pace(tables, tmp_path, monkeypatch):
    events, now = [], 0.0

    def compute(job, *arguments, real=reproduce.compute):
        nonlocal now
        result = real(job, *arguments)
        now += 2.0 if events else 22.0
        return result

    monkeypatch.setattr(reproduce, "compute", compute)
    monkeypatch.setattr(reproduce.time, "perf_counter", lambda: now)
    with Store(tmp_path / "r.sqlite") as store:
        run(Plan(n_bootstraps=6, n_folds=3), tables, ["ebb"], store, report=events.append)
    assert [event.seconds for event in events] == [22.0, 2.0, 2.0]
    assert [event.left for event in events] == [None, pytest.approx(2.0, rel=0.1), 0]


def test_run_keeps_goes_on_and_tells(tables, tmp_path, monkeypatch):
    events, failed = [], []

    def sometimes(job, *arguments, compute=reproduce.compute):
        if job.cell.fold == 1 and not failed:
            failed.append(job.cell)
            raise RuntimeError("no luck")
        return compute(job, *arguments)

    monkeypatch.setattr(reproduce, "compute", sometimes)
    plan = Plan(n_bootstraps=6, n_folds=3)
    with Store(tmp_path / "r.sqlite") as store:
        failures = run(plan, tables, ["ebb"], store, report=events.append)
        assert [str(error) for error in failures.values()] == ["no luck"]
        assert list(failures) == failed
        assert [(event.done, event.total) for event in events] == [(1, 3), (2, 3), (3, 3)]
        assert [event.failure is None for event in events] == [True, False, True]
        assert events[0].left is None  # the first of a family may have waited for compilation
        assert events[-1].left == 0
        assert len(store) == 2
        events.clear()
        assert run(plan, tables, ["ebb"], store, report=events.append) == {}
        assert [(event.done, event.cell.fold) for event in events] == [(3, 1)]
        events.clear()
        assert run(plan, tables, ["ebb"], store, report=events.append) == {}
        assert events == []
        result = store.get(failed[0])
    # Six bags leave some records without an out-of-bag vote: that is kept beside the result.
    assert "samples are in every bag" in result.warnings
    assert result.outputs["ebb"].shape == result.y.shape


def test_the_same_cell_twice_and_with_more_jobs(tables):
    job = plan_jobs(PLAN, tables, ["ebb"])[4]
    first, second = (reproduce.compute(job, PLAN, tables["wisconsin"], n) for n in (1, 2))
    for name, values in first.outputs.items():
        np.testing.assert_array_equal(values, second.outputs[name])
    other = reproduce.compute(job, Plan(n_bootstraps=20, seed=1), tables["wisconsin"], 1)
    assert not np.array_equal(other.outputs["ebb"], first.outputs["ebb"])


def test_preprocessing_is_learned_on_the_training_part(monkeypatch):
    """A shift of the test records alone must show in what the model sees of them."""
    X = pd.DataFrame({"a": np.arange(40.0)})
    y = np.arange(40) % 2
    seen = {}

    def fit(estimator, rows, labels):
        seen["train"] = rows

    family = FAMILIES["platt"]
    spy = type(family)(
        family.methods, family.make, lambda fitted, rows: {"platt": rows[:, 0]}, fit=fit
    )
    monkeypatch.setitem(FAMILIES, "platt", spy)
    job = plan_jobs(Plan("paper", n_folds=4), {"banknote": (X, y)}, ["platt"])[0]
    result = reproduce.compute(job, Plan("paper", n_folds=4), (X, y), None)
    train = X["a"].to_numpy()[job.part.train]
    expected = (X["a"].to_numpy()[job.part.test] - train.mean()) / train.std()
    np.testing.assert_allclose(result.outputs["platt"], expected)
    np.testing.assert_allclose(seen["train"].mean(), 0, atol=1e-12)


def start(path):
    script = Path(__file__).with_name("_killed.py")
    return subprocess.Popen(
        [sys.executable, script, path, "20"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(reproduce.__file__).parents[2])},
    )


def kept(path):
    """Folds in the file, and when each was finished."""
    connection = sqlite3.connect(path)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return dict(connection.execute("SELECT fold, finished || id || seconds FROM cell"))
    finally:
        connection.close()


def stop_after(path, n_cells):
    """Kill the experiment when it has told of some cells; returns their folds."""
    running = start(path)
    folds = [int(running.stdout.readline()) for _ in range(n_cells)]
    running.kill()
    running.wait(timeout=60)
    running.stdout.close()
    return folds


def finish(path):
    """Let the experiment end; returns the folds it told of."""
    told, _ = start(path).communicate(timeout=120)
    return {int(fold) for fold in told.split()}


def test_killed_at_any_moment_and_started_again(tables, tmp_path):
    # Compiled code is left in the cache: what a process compiles itself may differ in the last bit.
    stop_after(tmp_path / "compiled.sqlite", 1)
    path, whole = tmp_path / "r.sqlite", tmp_path / "whole.sqlite"
    for n_cells in (2, 3):
        folds = stop_after(path, n_cells)
        before = kept(path)
        assert set(folds) <= set(before)  # what was told is there
    assert finish(path) == set(range(10)) - set(before)
    assert before.items() <= kept(path).items()
    assert finish(whole) == set(range(10))
    with Store(path) as store, Store(whole) as twin:
        for job in plan_jobs(PLAN, tables, ["ebb"]):
            result, expected = store.get(job.cell), twin.get(job.cell)
            np.testing.assert_array_equal(result.outputs["ebb"], expected.outputs["ebb"])
