"""Ctrl-C ends the search, the branch and bound, the bags of CEBB2, SCIP and kernels in time."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

#: A problem that takes minutes, solved once for a moment so that everything is compiled.
START = """
import signal
import numpy as np
from sklearn.datasets import make_classification
from svmproba import BootstrapSVC, ProbabilitySVC
from svmproba.solvers.constrained.single import Constrained, solve_constrained
from svmproba.solvers.constrained.bags import fit_constrained
from svmproba.solvers.constrained.mip import solve_exact
from svmproba.solvers.constrained.penalties import penalty_path
from svmproba.solvers.constrained.feasible_point import class_sets, mass_in_sets

signal.signal(signal.SIGINT, signal.default_int_handler)  # shells may start us without
X, y = make_classification(900, 20, n_informative=10, flip_y=0.05, random_state=0)
signs = np.where(y == 1, 1.0, -1.0)
part, floor = slice(0, 40), np.array([0.8, 0.0, 0.0])
need = mass_in_sets(class_sets(signs), np.ones(900), floor)
few = mass_in_sets(class_sets(signs[part]), np.ones(40), floor)
solve_constrained(X[part], signs[part], 1.0, need=few, effort=5, bound="bb")
fit_constrained(X[part], signs[part], np.ones((1, 40)), [1.0], np.array([[0.8, 0, 0]]))
nothing = Constrained(None, np.nan, np.inf, 0.0, "no_feasible_point_found", None, 0)
floors = np.array([[0.8, 0.0, 0.0]])
penalty_path(X[part], signs[part], np.ones(40), np.ones(1), few[None], np.zeros(1, np.uint8))
table = np.random.default_rng(0).normal(size=(30_000, 300))
halves = np.arange(30_000) % 2
ProbabilitySVC(Cs=1.0, kernel="rbf").fit(table[:1100], halves[:1100])
BootstrapSVC(1.0, kernel="rbf", n_bootstraps=20).fit(table[:60], halves[:60])
print("ready", flush=True)
"""
#: Minutes or hours each.
JOBS = {
    "search": "solve_constrained(X, signs, 1.0, need=need, effort=10**9)",
    "branch and bound": """
import svmproba.solvers.constrained.single as constrained
constrained._PROOF = 10**9
constrained._CHUNK = 10**9
solve_constrained(X, signs, 1.0, need=need, effort=1, bound="bb")
""",
    "bags": """
from svmproba.solvers.constrained import single
single.EFFORT["thorough"] = single.Effort(10**9, 10**9)
fit_constrained(X, signs, np.ones((8, 900)), [1.0], floors, effort="thorough")
""",
    "bags in threads": """
from svmproba.solvers.constrained import single
single.EFFORT["thorough"] = single.Effort(10**9, 10**9)
fit_constrained(X, signs, np.ones((8, 900)), [1.0], floors, effort="thorough", n_jobs=2)
""",
    "large tables": """
rng = np.random.default_rng(0)
rows = rng.normal(size=(20_000, 60))
labels = np.where(rows[:, 0] + 2 * rng.normal(size=20_000) > 0, 1.0, -1.0)
grid = np.linspace(1.0, 2.0, 1000)
fit_constrained(rows, labels, np.ones((8, 20_000)), grid, floors)
""",
    "one svm with a kernel": "ProbabilitySVC(kernel='rbf', Cs=[10.0, 99.0]).fit(table, halves)",
    "a kernel matrix": """
BootstrapSVC(kernel="poly", n_bootstraps=20, n_jobs=2).fit(table[:15_000], halves[:15_000])
""",
    "scip": """
solve_exact(X, signs, 1.0, need=need, start=nothing, time_limit=3600.0)
""",
}


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process")
@pytest.mark.parametrize("job", JOBS)
def test_ctrl_c_is_heard(job):
    if job == "scip":
        pytest.importorskip("pyscipopt")
    process = subprocess.Popen(
        [sys.executable, "-c", START + JOBS[job]],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.stderr and process.stderr.read()
        time.sleep(1.0)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60.0)
    finally:
        process.kill()
    assert errors.rstrip().endswith("KeyboardInterrupt")
