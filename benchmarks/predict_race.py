"""Race: predicted records per second, against the matrix product that scoring cannot do without.

A `BootstrapSVC` with 500 bags and 11 values of C predicts records that are not in the table it was
fitted to. The product of the same records with the coefficients of all members, in the same blocks
and overwritten, is the least that can be done; the ratios say how many times longer `predict_proba`
and onnxruntime take. The fewer the columns, the cheaper is the product beside the counting of
votes: ``wisconsin:8`` is the first 8 columns of wisconsin. All take turns, and the time is the
median of 7 runs. The last columns compare onnxruntime with ours: largest difference of a
probability, and number of labels that differ.

    python benchmarks/predict_race.py --csv out/predict.csv
    python benchmarks/predict_race.py --datasets wisconsin wisconsin:2 --rows 100000
    python benchmarks/predict_race.py --cpu                         # on a machine that is not quiet
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _common import machine, write_csv
from _data import Floats, Labels, paper_table
from threadpoolctl import threadpool_limits

from svmproba import BootstrapSVC, to_onnx
from svmproba.bootstrap.fitting.members import scores_width
from svmproba.bootstrap.summaries.blocks import row_blocks

DATASETS = ("adult", "german", "wisconsin", "housing", "wisconsin:8", "banknote", "wisconsin:2")
#: The speed of a prediction does not depend on the number of records of the fit.
FIT_ROWS = 1000
RUNS, BATCH = 7, 1000


def read_table(name: str) -> tuple[Floats, Labels]:
    """Read a data set by its name, or its first k columns by ``name:k``."""
    name, _, n_columns = name.partition(":")
    X, y = paper_table(name)
    return (np.ascontiguousarray(X[:, : int(n_columns)]) if n_columns else X), y


def new_records(table: Floats, n: int) -> Floats:
    """Draw records of the table and move them a little, so that none was seen before."""
    rng = np.random.default_rng(1)
    return table[rng.integers(len(table), size=n)] + 0.1 * rng.standard_normal((n, table.shape[1]))


def product(model: BootstrapSVC, records: Floats) -> Callable[[], Any]:
    """Scores of all members, and nothing done with them."""
    (columns,) = model.ensemble_.members.columns
    blocks = row_blocks(len(records), records.shape[1] + scores_width(model.ensemble_.members))
    buffer = np.empty((blocks[0].stop, columns.shape[1]))

    def score() -> None:
        for block in blocks:
            np.matmul(records[block], columns, out=buffer[: block.stop - block.start])

    return score


def onnx_prediction(model: BootstrapSVC, jobs: int) -> Callable[[Floats], list[Any]]:
    """Prediction by onnxruntime, in batches of 1000."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = jobs
    content = to_onnx(model).SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def predict(records: Floats) -> list[Any]:
        batches = (records[first : first + BATCH] for first in range(0, len(records), BATCH))
        parts = [session.run(["label", "probabilities"], {"X": batch}) for batch in batches]
        return [np.concatenate(part) for part in zip(*parts, strict=True)]

    return predict


def median_seconds(
    actions: dict[str, Callable[[], Any]], clock: Callable[[], float]
) -> dict[str, float]:
    """Median time of each action; they take turns, so that a slow moment is shared by all."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(RUNS + 1):
        for name, action in actions.items():
            start = clock()
            action()
            if turn > 0:  # the first turn may compile
                times[name].append(clock() - start)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def run_race(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Measure one data set."""
    X, y = read_table(name)
    records = new_records(X, options.rows)
    model = BootstrapSVC(n_bootstraps=options.bags, random_state=0).fit(X[:FIT_ROWS], y[:FIT_ROWS])
    calibrated = model.with_calibration("auto")
    by_onnx = onnx_prediction(model, options.jobs)
    clock = time.process_time if options.cpu else time.perf_counter
    timed = records[: options.timed_rows]
    with threadpool_limits(options.jobs):
        actions = {
            "product": product(model, timed),
            "votes": lambda: model.predict_proba(timed),
            "onnx": lambda: by_onnx(timed),
            "calibrated": lambda: calibrated.predict_proba(timed),
        }
        seconds = median_seconds(actions, clock)
        labels, P = by_onnx(records)
        expected = model.predict_proba(records)
    chosen = model.classes_[np.where(expected[:, model._plus] >= 0.5, model._plus, 1 - model._plus)]
    return {
        "data": name,
        "columns": X.shape[1],
        "bags": options.bags,
        "rows": len(records),
        **{f"{who}_rows_per_s": len(timed) / s for who, s in seconds.items()},
        "votes_ratio": seconds["votes"] / seconds["product"],
        "onnx_ratio": seconds["onnx"] / seconds["product"],
        "largest_difference": float(np.abs(P - expected).max()),
        "labels_differ": int(np.count_nonzero(labels != chosen)),
    }


TITLES = "data         cols   product/s     votes/s  ratio      onnx/s  ratio calibrated/s"
TITLES += "   largest dP  labels differ"


def line(record: dict[str, Any]) -> str:
    """One line of the table."""
    return (
        f"{record['data']:<12}{record['columns']:5d}{record['product_rows_per_s']:12,.0f}"
        f"{record['votes_rows_per_s']:12,.0f}{record['votes_ratio']:7.2f}"
        f"{record['onnx_rows_per_s']:12,.0f}{record['onnx_ratio']:7.2f}"
        f"{record['calibrated_rows_per_s']:13,.0f}{record['largest_difference']:13.1e}"
        f"{record['labels_differ']:8d} of {record['rows']:,}"
    )


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), metavar="NAME")
    parser.add_argument("--bags", type=int, default=500)
    parser.add_argument("--rows", type=int, default=100_000, help="records to compare")
    parser.add_argument("--timed-rows", type=int, default=20_000, help="how many of them are timed")
    parser.add_argument("--jobs", type=int, default=1, help="threads of BLAS and onnxruntime")
    parser.add_argument("--cpu", action="store_true", help="CPU time, with one job")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args(arguments)
    for name in ("bags", "rows", "timed_rows", "jobs"):
        if getattr(options, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    for name in options.datasets:
        _, colon, n_columns = name.partition(":")
        if colon and not (n_columns.isdecimal() and int(n_columns) > 0):
            parser.error(f"--datasets takes NAME or NAME:k, the first k >= 1 columns, got {name!r}")
    if options.cpu and options.jobs > 1:
        parser.error("--cpu goes with --jobs 1: CPU time adds up over threads")
    return options


def main(arguments: list[str] | None = None) -> None:
    options = parse(arguments)
    print(f"{machine()}; {options.jobs} thread(s), {options.bags} bags x 11 values of C")
    print(TITLES)
    records = []
    for name in options.datasets:
        records.append(run_race(name, options))
        print(line(records[-1]), flush=True)
    if options.csv:
        write_csv(options.csv, records)
        print(f"written: {options.csv}", file=sys.stderr)


if __name__ == "__main__":
    main()
