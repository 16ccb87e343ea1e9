r"""Race: the members of `BootstrapSVC` against loops over scikit-learn's SVMs, on the same bags.

For each data set the B bags times 11 values of C are fitted three times: by `BootstrapSVC`, by
``SVC(kernel="linear")`` and by ``LinearSVC(loss="hinge")``. One line a data set tells the times,
how far the worst model of each method is from the best one known in

.. math:: P(w, b) = \tfrac12\|w\|^2 + C\sum_i N_{bi}\max(0,\ 1 - y_i(w^\top x_i + b)),

our largest certified relative gap, and our time as a multiple of one blocked matrix product that
scores all records by all models. How the peers are timed: see README.md beside this file.

    python benchmarks/fit_race.py --csv out/race.csv
    python benchmarks/fit_race.py --datasets german churn --bags 100
    python benchmarks/fit_race.py --datasets --kernels --sparse     # these two races alone
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _common import machine, median_seconds, warm_up, write_csv
from _data import Floats, Labels, paper_table, text_like
from _peers import (
    PEER_SECONDS,
    PeerLoop,
    PeerRun,
    kernel_peers,
    objectives,
    run_peer,
    signs_of,
)
from scipy import sparse
from sklearn.base import clone
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from svmproba import BootstrapSVC
from svmproba.paper.data.datasets import PAPER_DATASETS

#: Bytes of scores that the blocked product of the scoring limit keeps at a time.
SCORE_BYTES = 4 * 2**20
#: Rows up to which the rbf race is run.
KERNEL_ROWS = 4000
SPARSE_BAGS = 8
PEERS = ("svc", "linear", "sklearnex")


class Race(NamedTuple):
    """One data set, and who runs on it."""

    kind: str
    name: str
    load: Callable[[], tuple[Any, Labels]]
    bags: int
    kernel: str
    peers: dict[str, Any]


# The race


def linear_form(model: BootstrapSVC, rows: Any) -> tuple[Any, Floats]:
    """Rows and coefficients (n_columns, n_C, n_bags) whose product are the members' scores."""
    if model.kernel == "linear":
        return rows, np.moveaxis(model.member_coef_, -1, 0)
    members = model.ensemble_.members
    (feature_map,), (columns,) = members.feature_maps, members.columns
    return feature_map.transform(rows), columns.reshape(-1, *model.intercept_.shape)


def our_objectives(model: BootstrapSVC, rows: Any, coef: Floats, y: Any, n_bags: int) -> Floats:
    signs, Cs = signs_of(y), model.thetas_["C"]
    values = []
    for b in range(n_bags):
        w = np.ascontiguousarray(coef[:, :, b])
        products = rows @ w
        # With a kernel the columns are signed multipliers.
        squares = np.square(w) if model.kernel == "linear" else products * w
        scores = (products + model.intercept_[:, b]).T
        values.append(objectives(squares.sum(axis=0), scores, signs, model.counts_[b], Cs))
    return np.array(values).T


def scoring_seconds(rows: Floats, coef: Floats, n_threads: int) -> float:
    """Score all records by all models, blocks overwritten: the best of 3 runs, or of 0.5 s.

    Threads of a product that takes a millisecond are easily disturbed: three runs are few.
    """
    columns = coef.reshape(coef.shape[0], -1)
    size = max(1, SCORE_BYTES // (8 * columns.shape[1]))
    buffer = np.empty((size, columns.shape[1]))

    def score() -> float:
        start = time.perf_counter()
        for first in range(0, rows.shape[0], size):
            block = rows[first : first + size]
            np.matmul(block, columns, out=buffer[: len(block)])
        return time.perf_counter() - start

    with threadpool_limits(n_threads):
        times = [score() for _ in range(3)]
        while sum(times) < 0.5:
            times.append(score())
    return min(times)


def compare(ours: Floats, gap: Floats, peers: dict[str, PeerRun]) -> dict[str, Any]:
    """Worst relative excess of each method over the best known and over the certified bound."""
    tables = {"ours": ours}
    for name, run in peers.items():
        tables[name] = np.full(ours.shape, np.nan)
        tables[name][:, : run.bags] = run.objectives
    best = np.fmin.reduce(list(tables.values()))
    certified = ours * (1.0 - gap[:, : ours.shape[1]])
    record: dict[str, Any] = {}
    for name in ("ours", *PEERS):
        known = name in tables
        record[f"{name}_excess"] = np.nanmax(tables[name] / best) - 1.0 if known else None
        record[f"{name}_excess_bound"] = np.nanmax(tables[name] / certified) - 1 if known else None
    for name in PEERS:
        ratio = ours / tables[name] - 1.0 if name in tables else None
        record[f"above_{name}"] = None if ratio is None else int((ratio > 1e-9).sum())
        record[f"most_above_{name}"] = None if ratio is None else np.nanmax(ratio)
    # The rows of a kernel drop a tail at the level of rounding.
    record["below_bound"] = int(sum((t < certified * (1 - 1e-6)).sum() for t in tables.values()))
    return record


def run_race(race: Race, options: argparse.Namespace, say: Callable[[str], None]) -> dict[str, Any]:
    """Run all methods on one data set and return its line of the table."""
    say("loading")
    rows, y = race.load()
    model = BootstrapSVC(
        kernel=race.kernel, n_bootstraps=race.bags, n_jobs=options.jobs, random_state=0
    )
    say(f"{rows.shape[0]} x {rows.shape[1]}, BootstrapSVC")
    ours_s = median_seconds(lambda: model.fit(rows, y))
    runs = {}
    for name, peer in race.peers.items():
        say(f"ours {ours_s:.2f} s; {peer}")
        # "scale" depends on the bag; the same models need the gamma of the whole sample.
        gamma = {} if race.kernel == "linear" else {"gamma": model.thetas_["gamma"][0]}
        loop = PeerLoop(clone(peer).set_params(**gamma), model.thetas_["C"], options.jobs)
        weighted = options.peer_rows == "weighted"
        runs[name] = run_peer(loop, rows, y, model.counts_, options.peer_bags, weighted)
    say("objectives and scoring")
    Z, coef = linear_form(model, rows)
    n_bags = max(run.bags for run in runs.values())
    scoring_s, narrow_s = None, None
    if not sparse.issparse(rows):
        scoring_s = narrow_s = scoring_seconds(Z, coef, options.jobs)
        if Z.shape[1] > Z.shape[0]:
            narrow_s = scoring_seconds(Z[:, : len(Z)], coef[: len(Z)], options.jobs)
    record: dict[str, Any] = {
        "race": race.kind,
        "data": race.name,
        "rows": rows.shape[0],
        "columns": rows.shape[1],
        "bags": race.bags,
        "n_C": len(model.thetas_),
        "jobs": options.jobs,
        "peer_rows": options.peer_rows,
        "ours_s": ours_s,
    }
    for name in PEERS:
        run = runs.get(name)
        record[f"{name}_s"] = run.seconds if run else None
        record[f"{name}_bags"] = run.bags if run else None
        record[f"{name}_ratio"] = run.seconds / ours_s if run else None
    record["least_ratio"] = min(record[f"{name}_ratio"] for name in runs)
    gap = model.duality_gap_
    record |= compare(our_objectives(model, Z, coef, y, n_bags), gap, runs)
    record |= {"largest_gap": gap.max(), "uncertified": int((gap > model.tol).sum())}
    record |= {"scoring_s": scoring_s, "x_scoring": ours_s / scoring_s if scoring_s else None}
    record["x_scoring_narrow"] = ours_s / narrow_s if narrow_s else None
    return record


# The table

COLUMNS: dict[str, tuple[str, int, str]] = {  # key: (title, width, format)
    "data": ("data", 18, "s"),
    "rows": ("rows", 6, "d"),
    "columns": ("cols", 6, "d"),
    "bags": ("bags", 5, "d"),
    "ours_s": ("ours s", 8, ".2f"),
    "svc_s": ("SVC s", 13, ".1f"),
    "svc_ratio": ("ratio", 7, ".1f"),
    "linear_s": ("LinearSVC s", 13, ".1f"),
    "linear_ratio": ("ratio", 7, ".1f"),
    "sklearnex_s": ("sklearnex s", 13, ".1f"),
    "sklearnex_ratio": ("ratio", 7, ".1f"),
    "least_ratio": ("least", 7, ".1f"),
    "ours_excess": ("ours +", 9, ".1e"),
    "svc_excess": ("SVC +", 9, ".1e"),
    "linear_excess": ("Linear +", 9, ".1e"),
    "largest_gap": ("our gap", 9, ".1e"),
    "x_scoring": ("x scoring", 10, ".1f"),
}
NOTE = """\
s: seconds for all bags x 11 C; *k: extrapolated from k bags; ratio: theirs / ours; least: of them.
+: worst relative excess of the objective over the best one known for that model.
our gap: largest certified relative duality gap; x scoring: ours / scoring all models once."""


def align(key: str, text: str) -> str:
    width = COLUMNS[key][1]
    return f"{text:<{width}}" if key == "data" else f"{text:>{width}}"


def table_line(record: dict[str, Any]) -> str:
    cells = {k: "-" if record.get(k) is None else f"{record[k]:{COLUMNS[k][2]}}" for k in COLUMNS}
    for name in PEERS:
        fitted = record.get(f"{name}_bags")
        if fitted and fitted < record["bags"]:
            cells[f"{name}_s"] += f" *{fitted}"
    return "".join(align(key, text) for key, text in cells.items())


def geometric_mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def summary_lines(records: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the worst value of each column, then the geometric means of the ratios."""
    ratios = (*(f"{name}_ratio" for name in PEERS), "least_ratio", "x_scoring")
    columns = {
        key: [r[key] for r in records if r[key] is not None]
        for key in (*ratios, "ours_excess", "svc_excess", "linear_excess", "largest_gap")
    }
    columns = {key: values for key, values in columns.items() if values}
    worst = {key: (min if "ratio" in key else max)(values) for key, values in columns.items()}
    yield table_line({"data": "worst", **worst})
    means = {key: geometric_mean(columns[key]) for key in ratios if key in columns}
    yield table_line({"data": "geometric mean", **means})


def remarks(records: list[dict[str, Any]]) -> Iterator[str]:
    """Yield what the table does not show."""
    for r in records:
        data, models, missed = r["data"], r["bags"] * r["n_C"], r["uncertified"]
        if missed:
            yield f"{data}: {missed} of {models} models missed the tolerance"
        if r["below_bound"]:
            yield f"{data}: {r['below_bound']} objectives under the certified bound (a bug)"
        if r["above_linear"]:
            yield (
                f"{data}: {r['above_linear']} of {r['linear_bags'] * r['n_C']} objectives are "
                f"above LinearSVC's, by at most {r['most_above_linear']:.1e}"
            )
        if r["race"] == "sparse":
            core_ms = 1e3 * r["jobs"]
            yield (
                f"{data}: {core_ms * r['ours_s'] / max(models - missed, 1):.0f} ms of a core for "
                f"a certified model ({models - missed} of {models}), LinearSVC(tol=1e-3) "
                f"{core_ms * r['linear_s'] / models:.0f} ms"
            )
    linear = [r for r in records if r["race"] == "linear"]
    if any(r["columns"] > r["rows"] for r in linear):
        mean = geometric_mean([r["x_scoring_narrow"] for r in linear])
        yield f"x scoring if wide tables are scored in the span of their rows: mean {mean:.1f}"


def races(options: argparse.Namespace) -> Iterator[Race]:
    linear = {"svc": SVC(kernel="linear"), "linear": LinearSVC(loss="hinge", random_state=0)}
    for name in options.datasets:
        yield Race("linear", name, partial(paper_table, name), options.bags, "linear", linear)
    for name in options.kernels:
        if len(paper_table(name)[1]) <= KERNEL_ROWS:
            load, peers = partial(paper_table, name), kernel_peers()
            yield Race("rbf", f"{name}, rbf", load, options.bags, "rbf", peers)
    if options.sparse:
        peers = {"linear": LinearSVC(loss="hinge", tol=1e-3, random_state=0)}
        bags = min(options.bags, SPARSE_BAGS)
        yield Race("sparse", "text-like, sparse", text_like, bags, "linear", peers)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="BootstrapSVC against loops over scikit-learn.")
    add = parser.add_argument
    add("--bags", type=int, default=500, help="bags B (default: 500)")
    add("--datasets", nargs="*", default=PAPER_DATASETS, choices=PAPER_DATASETS, metavar="NAME",
        help="data sets of the linear race (default: the paper's 15; no name: none)")  # fmt: skip
    add("--jobs", type=int, default=2, help="jobs of every method (default: 2)")
    add("--csv", type=Path, help="write all numbers here, renewed after each data set")
    add("--peer-bags", type=int,
        help=f"bags the peers fit (default: as many as take {PEER_SECONDS:g} s)")  # fmt: skip
    add("--peer-rows", choices=("resampled", "weighted"), default="resampled",
        help="a bag for the peers: rows drawn with repetition, or each once with its count as "
        "weight (default: resampled)")  # fmt: skip
    add("--kernels", nargs="*", default=(), choices=PAPER_DATASETS, metavar="NAME",
        help=f"add rbf on these data sets (no name: all up to {KERNEL_ROWS} rows)")  # fmt: skip
    add("--sparse", action="store_true", help=f"add sparse text-like rows, {SPARSE_BAGS} bags")
    options = parser.parse_args(arguments)
    options.kernels = PAPER_DATASETS if options.kernels == [] else options.kernels
    for name in ("bags", "jobs", "peer_bags"):
        value = getattr(options, name)
        if value is not None and value < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1, got {value}")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse(arguments)
    todo = list(races(options))
    print(machine())
    print(
        f"{options.jobs} jobs each; code compiled before; ours: median of 1 to 5 s of fits; "
        f"peers: {options.peer_rows} rows\n"
    )
    print("".join(align(key, title) for key, (title, _, _) in COLUMNS.items()), flush=True)
    warm_up(options.jobs)
    warnings.filterwarnings("ignore", message=".*in every bag")
    records = []
    start = time.perf_counter()
    for i, race in enumerate(todo):

        def say(step: str, where: str = f"[{i + 1}/{len(todo)}] {race.name}") -> None:
            print(f"{time.perf_counter() - start:5.0f} s {where}: {step}", file=sys.stderr)

        records.append(run_race(race, options, say))
        print(table_line(records[-1]), flush=True)
        if options.csv:
            write_csv(options.csv, records)
    lines = []
    for kind in ("linear", "rbf"):
        of_kind = [r for r in records if r["race"] == kind]
        lines += [kind, *summary_lines(of_kind)] if of_kind else []
    lines += ["", NOTE, *remarks(records)]
    print(*lines, sep="\n")


if __name__ == "__main__":
    main()
