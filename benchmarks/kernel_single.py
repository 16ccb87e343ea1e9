r"""One SVM with the rbf kernel: ours against scikit-learn's `SVC` and scikit-learn-intelex's.

Two tasks on each table, at C = 1 and gamma = "scale" of all its rows:

* one member alone: the dual of one SVM, and its certificate;
* with ``--folds``, a probability: ``ProbabilitySVC(Cs=1.0, kernel="rbf")`` against
  ``CalibratedClassifierCV(peer, ensemble=False)``, both with five folds and Platt's sigmoid.

CPU seconds, best of several runs until three seconds are spent; wall seconds of the same run.
All methods have one thread unless ``--jobs`` says otherwise (peers: ``n_jobs`` of sklearnex).
The last columns give our certified gap and our time as a multiple of scoring the rows once.

    python benchmarks/kernel_single.py --rows 1000 4000 8000    # with adult's first rows
    python benchmarks/kernel_single.py --tables german churn --rows --folds
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from _arena_tables import load_table
from _common import machine
from _data import Floats, paper_table
from _peers import kernel_peers
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from threadpoolctl import threadpool_limits

from svmproba import ProbabilitySVC
from svmproba.preparation.preprocessing import make_preprocessor
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.features import fit_features
from svmproba.solvers.kernels import resolve_gamma

TABLES = ("wisconsin", "german", "churn", "phoneme", "magic")
ADULT_ROWS = (1000, 4000, 8000, 16_000, 29_304)
#: CPU seconds after which a task is not run again.
ENOUGH = 3.0


class Timed(NamedTuple):
    """The run with the least CPU time, and its result."""

    cpu: float
    wall: float
    result: Any


def timed(action: Callable[[], Any]) -> Timed:
    runs: list[Timed] = []
    while sum(run.cpu for run in runs) < ENOUGH and len(runs) < 20:
        wall, cpu = time.perf_counter(), time.process_time()
        result = action()
        runs.append(Timed(time.process_time() - cpu, time.perf_counter() - wall, result))
    return min(runs, key=lambda run: run.cpu)


def load(name: str, n_rows: int | None) -> tuple[Floats, Any]:
    """Rows of a table, preprocessed as in the paper, shuffled and cut."""
    if name in ("phoneme", "magic"):
        X, y = load_table(name)
        X = make_preprocessor(X).fit_transform(X)
    else:
        X, y = paper_table(name)
    chosen = np.random.default_rng(0).permutation(len(y))[:n_rows]
    return np.ascontiguousarray(X[chosen]), y[chosen]


def one_member(X: Floats, y: Any, gamma: float, jobs: int) -> tuple[Any, Any]:
    signs = np.where(y == 1, 1.0, -1.0)
    feature_map, rows = fit_features(X, "rbf", gamma=gamma, exact_limit=len(X))
    fit = fit_ensemble(rows, signs, np.ones((1, len(y))), np.ones(1), n_jobs=jobs)
    return feature_map, fit


def scoring_seconds(X: Floats, feature_map: Any, coef: Floats) -> float:
    """CPU seconds that the scores of all rows take, with the support vectors alone."""
    used = np.flatnonzero(coef)
    short = feature_map.restricted(used)
    return timed(lambda: short.transform(X) @ coef[used]).cpu


def race(name: str, n_rows: int | None, folds: bool, jobs: int) -> dict[str, Any]:
    X, y = load(name, n_rows)
    gamma = resolve_gamma("scale", X)
    ours = timed(lambda: one_member(X, y, gamma, jobs))
    feature_map, fit = ours.result
    x_scoring = ours.cpu / scoring_seconds(X, feature_map, fit.coef[0, 0])
    gap = fit.gap.max()
    if folds:
        ours = timed(
            lambda: ProbabilitySVC(
                Cs=1.0, kernel="rbf", gammas=gamma, n_jobs=jobs, random_state=0
            ).fit(X, y)
        )
    record = {"data": name, "rows": len(y), "cpu": ours.cpu, "wall": ours.wall}
    for peer, prototype in kernel_peers().items():
        model = clone(prototype).set_params(gamma=gamma)
        if peer == "sklearnex":
            model.set_params(n_jobs=jobs)
        if folds:
            model = CalibratedClassifierCV(model, ensemble=False)
        found = timed(lambda model=model: clone(model).fit(X, y))
        record |= {f"{peer}_cpu": found.cpu, f"{peer}_wall": found.wall}
    peers = [key for key in record if key.endswith("_cpu")]
    record["ratio"] = min(record[key] for key in peers) / ours.cpu
    record["wall_ratio"] = min(record[key.replace("cpu", "wall")] for key in peers) / ours.wall
    return record | {"gap": gap, "x_scoring": x_scoring}


def main() -> None:
    parser = argparse.ArgumentParser(description="One SVM with the rbf kernel.")
    add = parser.add_argument
    add("--tables", nargs="*", default=TABLES, choices=TABLES, help="tables taken whole")
    add("--rows", nargs="*", type=int, default=ADULT_ROWS, help="numbers of rows of adult")
    add("--folds", action="store_true", help="race probabilities, not one member alone")
    add("--jobs", type=int, default=1, help="threads of ours and of sklearnex (default: 1)")
    options = parser.parse_args()
    print(machine())
    one_member(*load("wisconsin", 100), 1.0, options.jobs)  # compiles
    todo = [(name, None) for name in options.tables] + [("adult", n) for n in options.rows]
    titles = ""
    with threadpool_limits(options.jobs):
        for name, n_rows in todo:
            record = race(name, n_rows, options.folds, options.jobs)
            if not titles:
                titles = "".join(f"{key:>15}" for key in record)
                print(titles)
            cells = (f"{v:.3g}" if isinstance(v, float) else str(v) for v in record.values())
            print("".join(f"{cell:>15}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
