"""Little bootstraps: how far from the bootstrap, and how a table on disk is fitted.

First table: `BootstrapSVC(resample="blb")` beside the bootstrap where both run, judged on records
that neither saw. Second: a synthetic table written to Parquet files in a temporary folder, fitted
by a process of its own whose memory is watched, children included.

    python benchmarks/little_bootstraps.py                              # needs dask and psutil
    python benchmarks/little_bootstraps.py --data gaussians-20000 adult --exponents 0.6 0.7 0.8
    python benchmarks/little_bootstraps.py --data --rows 10000000       # the table on disk alone
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _common import machine, warm_up, write_csv
from _data import paper_table, two_gaussians

from svmproba import BootstrapSVC

ROWS_A_FILE, COLUMNS = 250_000, 30
PAIRS = ("gaussians-20000", "gaussians-100000", "adult")
TITLES = (
    f"{'data':<18}{'rows':>8}{'cols':>6}  {'resample':<12}{'subsets':>14}{'CPU s':>8}{'|dP|':>8}"
    f"{'differ':>8}{'accuracy':>10}{'TPR':>7}{'TNR':>7}{'Brier':>8}"
)


def halves(name: str) -> tuple[Any, Any, Any, Any]:
    """Return training records and labels, and 5 000 new ones."""
    if name == "adult":
        X, y = paper_table(name)
    else:
        X, y = two_gaussians(int(name.partition("-")[2]) + 5000, 20)
    order = np.random.default_rng(0).permutation(len(y))
    new, old = order[:5000], order[5000:]
    return X[old], y[old], X[new], y[new]


def judge(model: BootstrapSVC, X: Any, y: Any) -> dict[str, float]:
    """Accuracy of the votes, rates after `with_rate(tpr=0.9)`, Brier score after calibration."""
    plus = y == model.pos_label_
    called = model.with_rate(tpr=0.9, exceed=False).predict(X) == model.pos_label_
    P = model.with_calibration("auto").predict_proba(X)[:, 1]
    return {
        "accuracy": float((model.predict(X) == y).mean()),
        "tpr": float(called[plus].mean()),
        "tnr": float(1 - called[~plus].mean()),
        "brier": float(np.mean((P - (y == model.classes_[1])) ** 2)),
    }


def compare(name: str, bags: int, exponents: Sequence[float]) -> list[dict[str, Any]]:
    """Fit the bootstrap twice, the second time as a measure of its own noise, and little ones."""
    X, y, X_new, y_new = halves(name)
    fits: list[tuple[str, dict[str, Any]]] = [("bootstrap", {}), ("another", {"random_state": 1})]
    fits += [(f"blb {e:g}", {"resample": "blb", "subset_exponent": e}) for e in exponents]
    records, votes = [], None
    for resample, params in fits:
        model = BootstrapSVC(**({"n_bootstraps": bags, "random_state": 0} | params))
        start = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - start
        P = model.predict_proba(X_new)[:, 1]
        votes = P if votes is None else votes
        little = "blb" in resample
        record = {
            "data": name,
            "rows": len(y),
            "columns": X.shape[1],
            "resample": resample,
            "subsets": f"{model.n_subsets_} x {model.subset_size_}" if little else "-",
            "cpu_s": seconds,
            "distance": float(np.abs(P - votes).mean()),
            "differ": float(np.mean((P >= 0.5) != (votes >= 0.5))),
            **judge(model, X_new, y_new),
        }
        records.append(record)
        print(
            f"{name:<18}{len(y):8d}{X.shape[1]:6d}  {resample:<12}{record['subsets']:>14}"
            f"{seconds:8.1f}{record['distance']:8.4f}{record['differ']:8.4f}"
            f"{record['accuracy']:10.4f}{record['tpr']:7.3f}{record['tnr']:7.3f}"
            f"{record['brier']:8.4f}",
            flush=True,
        )
    return records


def draw_chunk(n: int, seed: int) -> tuple[Any, Any]:
    """Return records of two Gaussians, 30 % of the second, 5 columns that tell and 25 that do not.

    The log odds are ``2 * sum(x[:5]) / sqrt(5) + log(3 / 7)``.
    """
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(np.int8)
    X = rng.standard_normal((n, COLUMNS), dtype=np.float32)
    X[:, :5] += ((2 * y[:, None] - 1) / np.sqrt(5)).astype(np.float32)
    return X, y


def write_table(folder: Path, n: int) -> None:
    """Write the table, one file at a time."""
    import pandas as pd

    for k, first in enumerate(range(0, n, ROWS_A_FILE)):
        X, y = draw_chunk(min(ROWS_A_FILE, n - first), seed=k)
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(COLUMNS)]).assign(label=y)
        frame.to_parquet(folder / f"part-{k:05d}.parquet", index=False)


def fit_table(folder: Path, bags: int, jobs: int) -> None:
    """Fit and predict, and print figures as JSON; runs in a process of its own."""
    import dask
    import dask.dataframe as dd
    import pandas as pd

    warm_up(jobs)
    with dask.config.set(scheduler="threads", num_workers=jobs):
        frame = dd.read_parquet(folder)
        X, y = frame.drop(columns="label"), frame["label"]
        model = BootstrapSVC(resample="blb", n_bootstraps=bags, n_jobs=jobs, random_state=0)
        wall, cpu = time.perf_counter(), time.process_time()
        model.fit(X, y)
        figures = {"fit_s": time.perf_counter() - wall, "fit_cpu_s": time.process_time() - cpu}
        print("fitted", flush=True)
        calibrated = model.with_calibration("auto")
        wall = time.perf_counter()
        called = calibrated.predict_proba(X)[:, 1] >= 0.5
        accuracy = np.mean(called.compute() == (y.compute().to_numpy() == 1))
        figures["predict_s"] = time.perf_counter() - wall
    X_new, y_new = draw_chunk(20_000, seed=10**6)
    odds = 2 * X_new[:, :5].sum(axis=1) / np.sqrt(5) + np.log(3 / 7)
    best = 1 / (1 + np.exp(-odds))
    figures |= {
        "subsets": model.n_subsets_,
        "subset_size": model.subset_size_,
        "largest_gap": float(model.duality_gap_.max()),
        "accuracy_of_all": float(accuracy),
        **judge(model, pd.DataFrame(X_new, columns=X.columns), y_new),
        "best_accuracy": float(((best >= 0.5) == y_new).mean()),
        "best_brier": float(np.mean((best - y_new) ** 2)),
    }
    print(json.dumps(figures), flush=True)


def watch(command: list[str]) -> tuple[dict[str, Any], float, float]:
    """Run a command; its last line as JSON, its peak memory in GB up to the fit and in all."""
    import psutil

    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    known, peak, lines = psutil.Process(process.pid), 0.0, []
    at_fit = float("nan")

    def read() -> None:
        nonlocal at_fit
        for line in process.stdout or ():
            lines.append(line)
            at_fit = peak if line.startswith("fitted") else at_fit

    reader = threading.Thread(target=read)
    reader.start()
    while process.poll() is None:
        try:
            tree = [known, *known.children(recursive=True)]
            peak = max(peak, sum(member.memory_info().rss for member in tree) / 1e9)
        except psutil.NoSuchProcess:
            pass
        time.sleep(0.05)
    reader.join()
    if process.returncode:
        raise SystemExit(f"the fit ended with status {process.returncode}")
    return json.loads(lines[-1]), at_fit, peak


def run_table(n: int, bags: int, jobs: int) -> dict[str, Any]:
    """Write the table, fit it, delete it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        start = time.perf_counter()
        write_table(folder, n)
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e9
        written = time.perf_counter() - start
        command = [sys.executable, __file__, "--fit", name, "--bags", str(bags)]
        figures, at_fit, peak = watch([*command, "--jobs", str(jobs)])
    figures = {"rows": n, "columns": COLUMNS, "file_GB": size, "write_s": written} | figures
    return figures | {"peak_GB_fit": at_fit, "peak_GB": peak}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Little bootstraps beside the bootstrap.")
    parser.add_argument("--data", nargs="*", default=PAIRS, help=f"default: {' '.join(PAIRS)}")
    parser.add_argument("--exponents", nargs="+", type=float, default=[0.6, 0.7, 0.8])
    parser.add_argument("--rows", type=int, default=0, help="of the table on disk (default: none)")
    parser.add_argument("--bags", type=int, default=500, help="bags of every fit (default: 500)")
    parser.add_argument("--jobs", type=int, default=2, help="jobs of the table on disk")
    parser.add_argument("--csv", type=Path, help="write the first table here as well")
    parser.add_argument("--fit", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.fit:
        fit_table(options.fit, options.bags, options.jobs)
        return
    print(f"{machine()}\n{options.bags} bags; 11 values of C; 5 000 new records\n")
    if options.data:
        warm_up(1)
        print(TITLES, flush=True)
        records = [
            r for name in options.data for r in compare(name, options.bags, options.exponents)
        ]
        if options.csv:
            write_csv(options.csv, records)
        print(
            "\nCPU s: of one job; |dP|: mean distance of the vote shares from those of the first "
            "bootstrap;\ndiffer: labels that differ from its; TPR, TNR: on new records, for a "
            "TPR of 0.9;\nBrier: calibrated by 'auto'; another: the bootstrap with another seed.\n"
        )
    if options.rows:
        for name, value in run_table(options.rows, options.bags, options.jobs).items():
            shown = f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"
            print(f"{name:>16}  {shown}")


if __name__ == "__main__":
    main()
