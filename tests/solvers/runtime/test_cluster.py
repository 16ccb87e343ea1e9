"""Fits in other processes, joblib's and dask's: the same result, data sent once, deaths survived.

Scripts, because a process that compiled code itself may differ in the last bit from those that
take it from the cache; and because killed workers should not be pytest's children.
"""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import joblib
import numpy as np
import pytest

import svmproba
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.runtime import tasks
from svmproba.solvers.runtime.tasks import Parcel, in_threads, run_tasks

START = """
import os, pathlib, signal, sys
import joblib, numpy as np
from svmproba.solvers import ensemble

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # both kill on Windows
from svmproba.solvers.ensemble import fit_ensemble

ensemble._SENT_SCORES = 2**18  # ten blocks
FOLDER = pathlib.Path(sys.argv[1])


class Witness:
    "A tally that writes down which process unpickles it, and which calls it."

    def __getstate__(self):
        return {"some": "state"}

    def __setstate__(self, state):
        self.note("opened")

    def note(self, what):
        with open(FOLDER / what, "a") as file:
            file.write(f"{os.getpid()}\\n")

    def __call__(self, scores, counts):
        self.note("ran")
        return (scores > 0).sum(axis=0), scores.mean(axis=2).T


def noted(what):
    return [int(line) for line in (FOLDER / what).read_text().split()]


def forget():
    for path in FOLDER.iterdir():
        path.unlink()


def assert_equal(one, two):
    for array, other in zip(one, two):
        np.testing.assert_array_equal(array, other)


rng = np.random.default_rng(0)
signs = np.where(rng.random(2000) < 0.5, -1.0, 1.0)
rows = rng.normal(size=(2000, 40)) + 0.2 * signs[:, None]
counts = rng.integers(0, 3, (100, 2000), dtype=np.uint8)
grid = 2.0 ** np.arange(-5, 6)


def fit(report=None, **named):
    return fit_ensemble(rows, signs, counts, grid, tally=Witness(), report=report, **named)


class Killer:
    # Kills the worker that was done first, with the first report: it works on its next piece.
    # Killed while it hands over a result, a process of joblib's may leave all others waiting.

    def __init__(self):
        self.bags = []

    def __call__(self, n_bags):
        if not self.bags:
            self.victim = noted("ran")[0]
            os.kill(self.victim, KILL)
        self.bags.append(n_bags)


def assert_survives(known):
    forget()
    killer = Killer()
    assert_equal(known, fit(killer))
    assert killer.victim != os.getpid()
    assert sum(killer.bags) == 100


known = fit(n_jobs=2)
"""
LOKY = """
with joblib.parallel_config("loky", n_jobs=2):
    forget()
    bags = []
    assert_equal(known, fit(bags.append))
    assert sum(bags) == 100 and len(bags) > 4
    assert os.getpid() not in noted("ran")
    assert sorted(noted("opened")) == sorted(set(noted("ran")))
    assert_survives(known)
"""
DASK = """
from dask.distributed import Client, LocalCluster
from svmproba.solvers.runtime.tasks import Parcel, run_tasks

if __name__ == "__main__":
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(n_workers=1, **options) as cluster, Client(cluster) as client:
        with joblib.parallel_config("dask"):
            assert_equal(known, fit())
            cluster.scale(2)
            client.wait_for_workers(2)
            forget()
            bags = []
            assert_equal(known, fit(bags.append))
            assert sum(bags) == 100 and len(bags) > 4
            assert os.getpid() not in noted("ran")
            assert sorted(noted("opened")) == sorted(set(noted("ran")))
            assert len(set(noted("ran"))) == 2
            few, ensemble._SENT_SCORES = ensemble._SENT_SCORES, 2**22
            forget()
            bags = []
            assert_equal(known, fit(bags.append))
            assert bags == [50, 50]  # one block a worker, and the data go along with it
            assert sorted(noted("opened")) == sorted(set(noted("ran")))
            ensemble._SENT_SCORES = few
            inner = joblib.Parallel()(joblib.delayed(fit)() for _ in range(3))
            for fitted in inner:  # fits in tasks, whose tasks need the same two workers
                assert_equal(known, fitted)
            try:
                list(run_tasks(lambda ten, piece: ten / piece, Parcel(10, abs, abs), [1, 0], None))
                raise AssertionError("no error")
            except ZeroDivisionError:
                pass
            assert_survives(known)
"""


def run(code, folder):
    env = {**os.environ, "PYTHONPATH": str(Path(svmproba.__file__).parents[1])}
    env |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", START + code, str(folder)]
    for timeout in (60, 60, 300):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=env)
            break
        except subprocess.TimeoutExpired:
            # Killed at the wrong moment, a process of joblib's leaves all others waiting: again.
            for path in folder.iterdir():
                path.unlink()
    else:
        pytest.fail("three runs out of three did not end")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Leave compiled code in the cache."""
    rng = np.random.default_rng(0)
    signs = np.repeat([-1.0, 1.0], 20)
    counts = np.ones((8, 40), np.uint8)
    fit_ensemble(rng.normal(size=(40, 40)), signs, counts, np.ones(2))


def test_processes(tmp_path):
    run(LOKY, tmp_path)


def test_dask(tmp_path):
    pytest.importorskip("distributed")
    run(DASK, tmp_path)


def test_a_task_that_kills_every_worker_is_given_up(tmp_path):
    code = """
from concurrent.futures import BrokenExecutor
from svmproba.solvers.runtime.tasks import Parcel, run_tasks

def die(content, piece):
    if piece == 2:
        os.kill(os.getpid(), KILL)
    return content + piece

done = []
with joblib.parallel_config("loky", n_jobs=2):
    try:
        for pair in run_tasks(die, Parcel(10, abs, abs), range(4), None):
            done.append(pair)
    except BrokenExecutor:
        done.append("given up")
assert set(done[:-1]) <= {(0, 10), (1, 11), (3, 13)} and done[-1] == "given up", done
"""
    run(code, tmp_path)


@pytest.mark.parametrize("backend", ["threading", "sequential", "loky", "multiprocessing"])
def test_in_threads(backend):
    assert in_threads()
    with joblib.parallel_config(backend):
        assert in_threads() == (backend in ("threading", "sequential"))


def test_pieces_come_with_their_places():
    parcel = Parcel(10, abs, abs)
    assert sorted(run_tasks(lambda ten, k: ten * k, parcel, [3, 1, 2], 2)) == [
        (0, 30),
        (1, 10),
        (2, 20),
    ]


def test_without_the_undocumented_names_of_joblib(monkeypatch):
    """Tasks then go through joblib's documented calls, in threads as before."""
    rows = np.random.default_rng(0).normal(size=(40, 40))
    task = (rows, np.repeat([-1.0, 1.0], 20), np.ones((8, 40), np.uint8), np.ones(2))
    known = fit_ensemble(*task, n_jobs=2)
    monkeypatch.setattr(tasks, "parallel", SimpleNamespace())
    assert not in_threads()
    for array, other in zip(known, fit_ensemble(*task, n_jobs=2), strict=True):
        np.testing.assert_array_equal(array, other)


@pytest.mark.parametrize("missing", ["client", "submit_kwargs", "retrieval_context"])
def test_a_dask_backend_without_an_attribute_is_left_to_joblib(missing, monkeypatch):
    names = {"client", "submit_kwargs", "retrieval_context"}
    assert tasks._is_dask(SimpleNamespace(**dict.fromkeys(names)))
    backend = SimpleNamespace(**dict.fromkeys(names - {missing}))
    monkeypatch.setattr(tasks, "_backend", lambda: backend)
    found = sorted(run_tasks(lambda ten, k: ten * k, Parcel(10, abs, abs), [3, 1], 2))
    assert found == [(0, 30), (1, 10)]


def test_an_error_in_a_task_is_raised_at_once():
    calls = []

    def fail(_, piece):
        calls.append(piece)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(run_tasks(fail, Parcel(None, str, str), [1], 1))
    assert calls == [1]


def test_joblib_that_gives_no_results_one_by_one(tmp_path):
    """As its backend "multiprocessing"."""
    code = """
import joblib, numpy as np
from svmproba import BootstrapSVC
X = np.random.default_rng(0).normal(size=(60, 3))
y = (X[:, 0] > 0).astype(int)
make = lambda: BootstrapSVC([1.0], n_bootstraps=30, random_state=0, n_jobs=2)
known = make().fit(X, y).member_coef_
with joblib.parallel_config("multiprocessing", n_jobs=2):
    np.testing.assert_array_equal(make().fit(X, y).member_coef_, known)
"""
    run(code, tmp_path)
