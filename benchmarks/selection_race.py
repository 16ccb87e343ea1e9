"""Race: the fewest columns that reach a TPR and a TNR, by our search, by SCIP and by HiGHS.

Every column of the preprocessed table costs 1. The solvers get the same problem, without our
solution to start from, and a time limit; what they return is checked without their tolerances.
``scip+`` is SCIP asked for less than our solution costs, which makes its constants small.
The ratio is their time over ours. CPU seconds on one thread; the limit is one of CPU seconds for
SCIP, and one of the clock for the others.

    python benchmarks/selection_race.py --time-limit 600 --csv out/selection.csv
    python benchmarks/selection_race.py --data heart housing --only ours

How the numbers are meant: see README.md beside this file.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _common import machine, write_csv
from _data import data_folder

from svmproba.paper.data.datasets import load_dataset
from svmproba.preparation.preprocessing import make_preprocessor
from svmproba.selection._mip import solve_exact
from svmproba.selection._select import _solve
from svmproba.selection._task import Task, make_task, standardise

#: Floors under both rates.
DATA = {
    "wisconsin": (0.95, 0.97),
    "german": (0.7, 0.75),
    "australian": (0.85, 0.88),
    "heart": (0.8, 0.85),
    "housing": (0.85, 0.9),
    "cervical-cancer-1": (0.6, 0.7),
    "cervical-cancer-2": (0.6, 0.7),
}
SOLVERS = ("ours", "bb", "scip", "scip+", "highs")


def load(name: str, floor: float) -> Task:
    X, y = load_dataset(name, data_folder())
    Z, scale = standardise(np.asarray(make_preprocessor(X).fit_transform(X), dtype=np.float64))
    Z = Z[:, np.isfinite(scale.deviation)]
    groups = [np.array([k]) for k in range(Z.shape[1])]
    return make_task(Z, y == 1, (floor, floor), groups, np.ones(len(groups)), 100.0)


def limit_cpu_seconds() -> None:
    """Let SCIP's limit be one of CPU seconds, so that other work on the machine does not count."""
    import pyscipopt

    class Model(pyscipopt.Model):  # type: ignore[misc]
        def hideOutput(self, quiet: bool = True) -> None:  # called for every model
            super().hideOutput(quiet)
            self.setParam("timing/clocktype", 1)

    pyscipopt.Model = Model


def run(task: Task, solver: str, seconds: float) -> tuple[float, float, float]:
    """Columns, bound and seconds of a solver."""
    rng, start = np.random.default_rng(0), time.process_time()
    if solver in ("ours", "bb"):
        best, bound = _solve(task, rng, "search" if solver == "ours" else solver, seconds, True)
    else:
        known = _solve(task, rng, "search", 0.0, True).best if solver == "scip+" else None
        start = time.process_time()
        best, bound = solve_exact(task, solver.rstrip("+"), seconds, known, rng)
    value = np.inf if best is None else task.cost(best.chosen)
    return value, bound, time.process_time() - start


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Selection of columns: ours, SCIP and HiGHS.")
    add = parser.add_argument
    add("--data", nargs="+", default=list(DATA), choices=DATA, metavar="NAME",
        help=f"tables (default: {' '.join(DATA)})")  # fmt: skip
    add("--only", nargs="+", default=["ours", "bb", "scip", "highs"],
        choices=SOLVERS, help="run only these")  # fmt: skip
    add("--floors", nargs="+", type=float, help="floors under both rates, instead of the table's")
    add("--time-limit", type=float, default=60.0, help="seconds for each solver (default: 60)")
    add("--csv", type=Path, help="write the results here")
    options = parser.parse_args(arguments)
    if options.time_limit <= 0:
        parser.error(f"--time-limit must be positive, got {options.time_limit:g}")
    if {"scip", "scip+"} & {*options.only} and importlib.util.find_spec("pyscipopt") is None:
        parser.error('SCIP needs a package: pip install "svmproba[exact]"; or leave it out')
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse(arguments)
    if {"scip", "scip+"} & {*options.only}:
        limit_cpu_seconds()
    _solve(load("wisconsin", 0.9), np.random.default_rng(0), "search", 1.0, True)  # compiles
    print(machine(), flush=True)
    print(
        "| data | columns | floors | " + " | ".join(f"{s} | bound | s" for s in options.only),
        end="",
    )
    print(" | ratio of s |\n|" + " --- |" * (4 + 3 * len(options.only)), flush=True)
    records: list[dict[str, Any]] = []
    for name in options.data:
        for floor in options.floors or DATA[name]:
            task = load(name, floor)
            cells, spent = [name, str(len(task.groups)), f"{floor:g}"], {}
            for solver in options.only:
                value, bound, seconds = run(task, solver, options.time_limit)
                spent[solver] = seconds
                cells += [f"{value:g}".replace("inf", "none"), f"{bound:g}", f"{seconds:.2f}"]
                records.append(
                    {"data": name, "floor": floor, "solver": solver, "value": value,
                     "bound": bound, "seconds": seconds}
                )  # fmt: skip
                print(solver, *cells[-3:], file=sys.stderr, flush=True)
            others = [s for s in ("scip", "scip+", "highs") if s in spent]
            ratios = [f"{spent[s] / spent['ours']:.0f}" for s in others if "ours" in spent]
            print("| " + " | ".join([*cells, ", ".join(ratios)]) + " |", flush=True)
    if options.csv:
        write_csv(options.csv, records)


if __name__ == "__main__":
    main()
