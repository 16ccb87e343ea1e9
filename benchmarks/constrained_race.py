r"""Race: the constrained SVM by our search and by SCIP.

The instances are those of a floor under the true positive rate: four tables (wisconsin, german and
two overlapping synthetic ones), each whole and as one bootstrapped bag, three values of C and five
floors. Ours runs at its three efforts, and once more as a branch and bound after the short search.
SCIP gets the same problem by special ordered sets, as ``solver="scip"`` states it, but not our
solution to start from, which it would otherwise be given. One thread, CPU seconds for both.
All objectives are those of strictly feasible points: what SCIP returns is polished too.

With ``--by`` the tables are german, 1000 records of adult, and heart with the same floor under the
true positive rate of every subgroup: by sex, race or age.

C is the paper's, for \|w\|^2 + C sum of slacks; ours is half of it, and so are the objectives.

    python benchmarks/constrained_race.py --csv out/constrained.csv
    python benchmarks/constrained_race.py --csv out/constrained.csv --only ours --data german
    python benchmarks/constrained_race.py --csv out/floors.csv --by --floors 0.7 0.9 --bags 0

A run with the same ``--csv`` goes on where the last one ended. How the numbers are meant: see
README.md beside this file.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import itertools
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from _common import machine
from _data import Floats, data_folder, paper_table
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.model_selection import train_test_split

from svmproba.paper.data.datasets import load_dataset
from svmproba.preparation.preprocessing import make_preprocessor
from svmproba.solvers.constrained import mip
from svmproba.solvers.constrained.feasible_point import (
    class_sets,
    mass_in_sets,
    polish,
)
from svmproba.solvers.constrained.single import Constrained, solve_constrained

DATA = ("wisconsin", "german", "overlap300", "overlap900")
#: Tables with floors in subgroups.
BY = ("german by sex", "german by age", "adult by sex", "adult by race", "heart by age")
N_ADULT = 1000
CS = (2.0**-5, 1.0, 2.0**5)
FLOORS = (0.5, 0.7, 0.9, 0.97, 1.0)
#: Ours: effort and bound.
OURS = {
    "fast": ("fast", "svm"),
    "default": ("default", "quantile"),
    "thorough": ("thorough", "quantile"),
    "proof": ("fast", "bb"),
}
FIELDS = ("data", "bag", "C", "floor", "solver", "objective", "bound", "seconds", "status")
#: Excess that is rounding: all points are scaled up by 1e-9 at least.
EQUAL = 1e-5


class Instance(NamedTuple):
    """A constrained SVM, by the names of its row in the table."""

    data: str
    bag: int
    C: float
    floor: float

    def __str__(self) -> str:
        return f"{self.data} {'bag' if self.bag else 'all'} C={self.C:g} floor={self.floor:g}"


# The instances


def standardised(X: Floats) -> Floats:
    return (X - X.mean(axis=0)) / X.std(axis=0)


def load(name: str) -> tuple[Floats, Floats, Any]:
    """Return rows and signs of a table, and the sets of records that have the floor."""
    if name in BY:
        return load_subgroups(*name.split(" by "))
    rows, signs = load_whole(name)
    return rows, signs, class_sets(signs)[:1]


def load_subgroups(name: str, column: str) -> tuple[Floats, Floats, Any]:
    """Return rows and signs of a table, and the positive records of every subgroup."""
    X, y = load_dataset(name, data_folder())
    if name == "adult":
        X, _, y, _ = train_test_split(X, y, train_size=N_ADULT, stratify=y, random_state=0)
    if column == "age":
        by = np.digitize(X["age"], {"german": [30, 45], "heart": [50, 58]}[name])
    elif name == "german":
        by = X["personal_status_sex"].astype(str).isin(["A92", "A95"]).to_numpy()
    else:
        by = X[column].astype(str).str.strip().to_numpy().astype(str)
        by = np.where(np.isin(by, ["Male", "Female", "White", "Black"]), by, "other")
    rows = np.ascontiguousarray(make_preprocessor(X).fit_transform(X), dtype=float)
    return rows, np.where(y == 1, 1.0, -1.0), (by == np.unique(by)[:, None]) & (y == 1)


def load_whole(name: str) -> tuple[Floats, Floats]:
    if name == "german":
        X, y = paper_table("german")
        return np.ascontiguousarray(X, dtype=float), np.where(y == 1, 1.0, -1.0)
    if name == "wisconsin":
        X, y = load_breast_cancer(return_X_y=True)
        part = np.random.default_rng(0).permutation(len(y))[:512]
        return standardised(X[part]), np.where(y[part] == 0, 1.0, -1.0)
    X, y = make_classification(
        int(name.removeprefix("overlap")), 20, n_informative=10, n_clusters_per_class=2,
        flip_y=0.05, weights=[0.7], random_state=0,
    )  # fmt: skip
    return standardised(X), np.where(y == 1, 1.0, -1.0)


def multiplicities(n: int, bag: int) -> Floats:
    """Return ones, or how often each record is in the bag."""
    if not bag:
        return np.ones(n)
    return np.bincount(np.random.default_rng(0).integers(n, size=n), minlength=n).astype(float)


# The solvers


def scip(
    rows: Floats, signs: Floats, C: float, need: Floats, sets: Any, weight: Floats, seconds: float
) -> Constrained:
    """Let SCIP solve an instance without our start; its limit is in CPU seconds."""
    import pyscipopt

    def with_cpu_clock() -> Any:
        model = pyscipopt.Model()
        model.setParam("timing/clocktype", 1)
        return model

    module = SimpleNamespace(Model=with_cpu_clock, quicksum=pyscipopt.quicksum)
    nothing = Constrained(None, np.nan, np.inf, 0.0, "no_feasible_point_found", None, 0)
    model = mip._model(rows, signs, C, need, sets, weight, nothing, None, seconds)
    outcome = mip._scip(module, model)
    if outcome.coef is None:
        return nothing._replace(bound=outcome.bound)
    polished = polish(rows, signs, weight, C, need, outcome.coef, sets)
    if polished is None:
        return nothing._replace(bound=outcome.bound)
    coef, intercept, value = polished
    status = "optimal" if outcome.claim == "optimal" else "feasible"
    return Constrained(coef, intercept, value, min(outcome.bound, value), status, None, 0)


def run(instance: Instance, solver: str, time_limit: float) -> dict[str, Any]:
    """Solve an instance; returns its record."""
    rows, signs, sets = load(instance.data)
    weight = multiplicities(len(signs), instance.bag)
    C, need = instance.C / 2, mass_in_sets(sets, weight, np.full(len(sets), instance.floor))
    start = time.process_time()
    if solver == "scip":
        found = scip(rows, signs, C, need, sets, weight, time_limit)
    else:
        effort, bound = OURS[solver]
        found = solve_constrained(
            rows, signs, C, need=need, sets=sets, weight=weight, effort=effort, bound=bound
        )
    seconds = time.process_time() - start
    values = (solver, found.objective, found.bound, seconds, found.status)
    return dict(zip(FIELDS, (*instance, *values), strict=True))


def warm_up() -> None:
    """Compile what our solver compiles."""
    rng = np.random.default_rng(0)
    signs = np.where(np.arange(40) % 2, 1.0, -1.0)
    need = mass_in_sets(class_sets(signs), np.ones(40), np.array([0.9, 0.0, 0.0]))
    solve_constrained(rng.standard_normal((40, 3)), signs, 1.0, need=need, effort=5, bound="bb")


# The file of results


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file; none where there is no file."""
    if not path.exists():
        return []
    words = ("data", "solver", "status")
    with path.open(newline="") as file:
        return [
            {k: x if k in words else int(x) if k == "bag" else float(x) for k, x in row.items()}
            for row in csv.DictReader(file)
        ]


def append(path: Path, record: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=FIELDS)
        if new:
            writer.writeheader()
        writer.writerow({k: f"{x:.10g}" if isinstance(x, float) else x for k, x in record.items()})


# The table

Solved = dict[str, dict[str, Any]]


def by_instance(records: Iterable[dict[str, Any]]) -> dict[Instance, Solved]:
    """Group the records, in the order of the instances."""
    groups: dict[Instance, Solved] = {}
    for r in records:
        key = Instance(r["data"], r["bag"], r["C"], r["floor"])
        groups.setdefault(key, {})[r["solver"]] = r
    return dict(sorted(groups.items(), key=lambda x: ((*DATA, *BY).index(x[0].data), *x[0][1:])))


def excess(solved: Solved, solver: str) -> float:
    """Return how far above the best known objective a solver ended, relatively."""
    best = min(r["objective"] for r in solved.values())
    return solved[solver]["objective"] / best - 1.0 if best > 0.0 else 0.0


def gap(record: dict[str, Any]) -> float:
    """Return the relative distance between an objective and its bound."""
    value = record["objective"]
    return max(1.0 - record["bound"] / value, 0.0) if 0.0 < value < np.inf else float(value > 0.0)


def percent(x: float) -> str:
    return "0" if x < EQUAL else f"{100 * x:.2g}" if x < 0.1 else f"{100 * x:.0f}"


def seconds(x: float) -> str:
    return f"{x:.4f}" if x < 0.01 else f"{x:.3f}" if x < 1 else f"{x:.1f}"


def table(groups: dict[Instance, Solved]) -> Iterator[str]:
    """Yield the lines of the Markdown table."""
    solvers = ("scip", *OURS)
    yield (
        "| data | bag | C | floor | best | "
        + " | ".join(f"{s} + % | gap % | s" for s in solvers)
        + " |"
    )
    yield "|" + " --- |" * (5 + 3 * len(solvers))
    for key, solved in groups.items():
        best = min(r["objective"] for r in solved.values())
        cells = [key.data, "yes" if key.bag else "", f"{key.C:g}", f"{key.floor:g}", f"{best:.6g}"]
        for s in solvers:
            r = solved.get(s)
            cells += ["", "", ""] if r is None else [
                percent(excess(solved, s)), percent(gap(r)), seconds(r["seconds"])
            ]  # fmt: skip
        yield "| " + " | ".join(cells) + " |"


def summary(groups: dict[Instance, Solved]) -> Iterator[str]:
    """Yield what the table says in all."""
    for s in OURS:
        both = [g for g in groups.values() if s in g and "scip" in g]
        ratio = np.array([g[s]["objective"] / g["scip"]["objective"] - 1.0 for g in both])
        if len(both):
            yield (
                f"* {s} against SCIP: better on {np.sum(ratio < -EQUAL)}, equal on "
                f"{np.sum(abs(ratio) <= EQUAL)}, worse on {np.sum(ratio > EQUAL)} of {len(both)} "
                f"(worst {100 * ratio.max():+.3f} %, best {100 * ratio.min():+.0f} %)."
            )
    for s in ("scip", *OURS):
        for name in (*DATA, *BY):
            mine = [g for key, g in groups.items() if key.data == name and s in g]
            if not mine:
                continue
            over = [excess(g, s) for g in mine]
            times = [g[s]["seconds"] for g in mine]
            proven = sum(g[s]["status"] == "optimal" for g in mine)
            yield (
                f"* {s}, {name}: above the best known by {100 * np.mean(over):.3f} % on average, "
                f"{100 * max(over):.3f} % at worst; {proven} of {len(mine)} proven; "
                f"{seconds(float(np.median(times)))} s in the middle, {seconds(max(times))} s at "
                f"most, {sum(times):.1f} s in all."
            )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The constrained SVM: ours and SCIP.")
    add = parser.add_argument
    add("--csv", type=Path, default=Path("out/constrained.csv"),
        help="results, continued where the file exists (default: out/constrained.csv)")  # fmt: skip
    add("--only", nargs="+", choices=("scip", "ours", *OURS), help="run only these")
    add("--by", action="store_true", help="floors in subgroups")
    add("--data", nargs="+", choices=(*DATA, *BY), metavar="NAME",
        help=f"tables (default: {', '.join(DATA)}; with --by: {', '.join(BY)})")  # fmt: skip
    add("--bags", nargs="+", type=int, choices=(0, 1), default=(0, 1),
        help="0: whole tables, 1: bootstrapped ones (default: both)")  # fmt: skip
    add("--Cs", nargs="+", type=float, default=CS, metavar="C", help="values of C")
    add("--floors", nargs="+", type=float, default=FLOORS, metavar="FLOOR", help="floors")
    add("--time-limit", type=float, default=60.0, help="CPU seconds for SCIP (default: 60)")
    options = parser.parse_args(arguments)
    if options.time_limit <= 0.0:
        parser.error(f"--time-limit must be positive, got {options.time_limit:g}")
    options.data = options.data or (BY if options.by else DATA)
    options.only = options.only or ["scip", "ours"]
    if "scip" in options.only and importlib.util.find_spec("pyscipopt") is None:
        parser.error('SCIP needs a package: pip install "svmproba[exact]"; or --only ours')
    if data_folder() is None and {"german", *BY} & set(options.data):
        parser.error("german, adult and heart need files: set SVMPROBA_DATA to their folder")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse(arguments)
    done = {(Instance(r["data"], r["bag"], r["C"], r["floor"]), r["solver"])
            for r in read(options.csv)}  # fmt: skip
    solvers = [
        s for s in ("scip", *OURS) if s in options.only or (s in OURS and "ours" in options.only)
    ]
    tasks = itertools.product(options.data, options.bags, options.Cs, options.floors)
    instances = [Instance(*x) for x in tasks]
    left = [x for x in itertools.product(solvers, instances) if x[::-1] not in done]
    if any(solver in OURS for solver, _ in left):
        warm_up()
    for solver, instance in left:
        record = run(instance, solver, options.time_limit)
        append(options.csv, record)
        spent = f"{record['objective']:.6g} in {record['seconds']:.3g} s"
        print(f"{solver} {instance}: {spent}", file=sys.stderr, flush=True)
    groups = by_instance(r for r in read(options.csv) if r["data"] in options.data)
    print(machine(), *summary(groups), "", *table(groups), sep="\n")


if __name__ == "__main__":
    main()
