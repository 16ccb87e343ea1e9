r"""Race: all members at once on a GPU, against all cores of the same machine.

For each data set the B bags times 11 values of C are fitted on the device and on the CPU: the
models alone (`fit_ensemble`, the path of the full sample and all transfers included), and a whole
`BootstrapSVC.fit` (votes, reliability and profile of the out-of-bag scores too). The loop over
``SVC`` by joblib is timed on as many bags as there are jobs for each C, smallest first, until
`--peer-seconds` are over; its total is extrapolated from these fits, and every C that was not
reached is counted at the time of the last one that was: ``>`` marks such a lower bound.

    python benchmarks/gpu_race.py --csv out/gpu.csv
    python benchmarks/gpu_race.py --kernels          # rbf, exact where the device's memory allows
    python benchmarks/gpu_race.py --columns          # Table 2's EBB column as well: 15 x 10 folds
    python benchmarks/gpu_race.py --device torch --bags 20 --datasets german
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from _common import machine, median_seconds, warm_up, write_csv
from _data import Floats, Labels, data_folder, paper_table
from _peers import fit_path
from joblib import Parallel, delayed, parallel_config
from sklearn.svm import SVC

from svmproba import BootstrapSVC
from svmproba.bootstrap.fitting.bags import draw_bags
from svmproba.evaluation import mse
from svmproba.paper.data.datasets import PAPER_DATASETS, load_dataset
from svmproba.preparation.folds import split_parts
from svmproba.preparation.preprocessing import make_preprocessor
from svmproba.solvers.ensemble import Ensemble, fit_ensemble
from svmproba.solvers.features import fit_features
from svmproba.solvers.runtime.devices import exact_rows, resolve_device

CS = 2.0 ** np.arange(-5.0, 6.0)


class Peer(NamedTuple):
    """What the loop over scikit-learn's SVM takes for all bags and C."""

    seconds: float
    fits: int
    reached: int  # values of C that were fitted


def describe(device: str) -> str:
    """Name the device, as torch does."""
    import torch

    found = resolve_device(device)
    name = "torch's CPU" if found is None or found.type == "cpu" else torch.cuda.get_device_name()
    return f"{device}: {name}, torch {torch.__version__}"


def models_seconds(
    rows: Floats, y: Labels, counts: Any, device: str, options: argparse.Namespace
) -> tuple[float, Ensemble]:
    """Median time of fitting all models, and the last fit."""
    signs, fits = np.where(y == 1, 1.0, -1.0), []

    def fit() -> None:
        _, mapped = fit_features(rows, options.kernel, exact_limit=exact_rows(device))
        fits[:] = [fit_ensemble(mapped, signs, counts, CS, n_jobs=options.jobs, device=device)]

    fit()
    return median_seconds(fit), fits[0]


def whole_fit_seconds(rows: Floats, y: Labels, device: str, options: argparse.Namespace) -> float:
    fixed = {"n_bootstraps": options.bags, "n_jobs": options.jobs, "random_state": 0}
    model = BootstrapSVC(kernel=options.kernel, device=device, **fixed)
    model.fit(rows, y)
    return median_seconds(lambda: model.fit(rows, y))


def peer_seconds(rows: Floats, y: Labels, counts: Any, options: argparse.Namespace) -> Peer:
    """Time the loop over scikit-learn's SVM, see the module."""
    means: list[float] = []
    jobs, limit = options.jobs, options.peer_seconds
    some, task, peer = counts[:jobs], delayed(fit_path), SVC(kernel=options.kernel)
    few = rows[:20, :2], np.arange(20) % 2, np.ones(20, np.uint8)
    with parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):
        Parallel()(task(peer, *few, [1.0], False) for _ in range(4 * jobs))  # wake the processes
        start = time.perf_counter()
        for C in CS:
            if means and time.perf_counter() - start > limit:
                break
            done = Parallel()(task(peer, rows, y, c, [C], False) for c in some)
            means.append(float(np.mean([seconds for seconds, _ in done])))
    reached = len(means)
    means += [means[-1]] * (len(CS) - reached)
    return Peer(sum(means) * len(counts) / jobs, reached * len(some), reached)


def run_race(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run everything on one data set and return its line of the table."""
    rows, y = paper_table(name)
    counts, _ = draw_bags(options.bags, y == 1, np.random.default_rng(0))
    device_s, fit = models_seconds(rows, y, counts, options.device, options)
    cpu_s, cpu_fit = models_seconds(rows, y, counts, "cpu", options)
    record: dict[str, Any] = {
        "data": name,
        "rows": rows.shape[0],
        "columns": rows.shape[1],
        "bags": options.bags,
        "device_s": device_s,
        "device_fit_s": whole_fit_seconds(rows, y, options.device, options),
        "cpu_s": cpu_s,
        "cpu_fit_s": whole_fit_seconds(rows, y, "cpu", options),
        "largest_gap": fit.gap.max(),
        "uncertified": int((fit.gap > 1e-3).sum()),
        "cpu_largest_gap": cpu_fit.gap.max(),
    }
    record["fit_ratio"] = record["cpu_fit_s"] / record["device_fit_s"]
    peer = peer_seconds(rows, y, counts, options)
    record |= {"svc_s": peer.seconds, "svc_fits": peer.fits, "svc_reached": peer.reached}
    record["svc_ratio"] = peer.seconds / device_s
    return record


def run_column(name: str, device: str, options: argparse.Namespace) -> dict[str, Any]:
    """Fit and predict ten folds of one data set, as for Table 2; preprocessing is not timed."""
    X, y = load_dataset(name, data_folder())
    P, seconds, gap = np.empty(len(y)), 0.0, 0.0
    for part in split_parts("fair", y, bootstrap=True):
        prepare = make_preprocessor(X).fit(X.iloc[part.train])
        train, test = (prepare.transform(X.iloc[which]) for which in (part.train, part.test))
        model = BootstrapSVC(
            kernel=options.kernel,
            n_bootstraps=options.bags,
            n_jobs=options.jobs,
            random_state=part.fold,
            device=device,
        )
        start = time.perf_counter()
        P[part.test] = model.fit(train, y[part.train]).predict_proba(test)[:, 1]
        seconds += time.perf_counter() - start
        gap = max(gap, model.duality_gap_.max())
    return {"data": name, "device": device, "seconds": seconds, "mse": mse(y, P), "gap": gap}


# The tables

TITLES = {  # key: (title, width, format)
    "data": ("data", 18, "s"),
    "rows": ("rows", 6, "d"),
    "columns": ("cols", 6, "d"),
    "device_s": ("device s", 9, ".3f"),
    "cpu_s": ("cores s", 8, ".3f"),
    "svc_s": ("SVC s", 16, ".0f"),
    "svc_ratio": ("SVC / device", 13, ".0f"),
    "device_fit_s": ("device fit", 11, ".3f"),
    "cpu_fit_s": ("cores fit", 10, ".3f"),
    "fit_ratio": ("cores / device", 15, ".1f"),
    "largest_gap": ("gap", 9, ".1e"),
    "uncertified": ("missed", 7, "d"),
}
NOTE = """\
device s, cores s: seconds for all models; SVC s: the same by scikit-learn's loop on all cores, *k:
extrapolated from k fits, >: at least; fit: a whole BootstrapSVC.fit; gap: largest certified
relative gap of the device's models; missed: models above 1e-3."""


def table_line(record: dict[str, Any]) -> str:
    cells = {k: "-" if record.get(k) is None else f"{record[k]:{TITLES[k][2]}}" for k in TITLES}
    if "svc_fits" in record:
        at_least = "> " if record["svc_reached"] < len(CS) else ""
        cells["svc_s"] = f"{at_least}{cells['svc_s']} *{record['svc_fits']}"
        cells["svc_ratio"] = at_least + cells["svc_ratio"]
    return "".join(
        f"{text:<{TITLES[key][1]}}" if key == "data" else f"{text:>{TITLES[key][1]}}"
        for key, text in cells.items()
    )


def summary(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return sums of the seconds, geometric means of the ratios, the worst gap."""
    line: dict[str, Any] = {"data": "all"}
    for key in ("device_s", "cpu_s", "device_fit_s", "cpu_fit_s", "uncertified"):
        line[key] = sum(r[key] for r in records)
    for key in ("svc_ratio", "fit_ratio"):
        line[key] = float(np.exp(np.mean([np.log(r[key]) for r in records])))
    return line | {"largest_gap": max(r["largest_gap"] for r in records)}


def column_lines(records: list[dict[str, Any]], device: str) -> Iterator[str]:
    """Yield seconds and mean squared errors of the column, device beside CPU."""
    yield f"{'data':<18}{device + ' s':>10}{'cores s':>10}{'MSE':>9}{'cores MSE':>11}{'gap':>9}"
    for one, other in zip(records[::2], records[1::2], strict=True):
        yield (
            f"{one['data']:<18}{one['seconds']:>10.2f}{other['seconds']:>10.2f}"
            f"{one['mse']:>9.4f}{other['mse']:>11.4f}{one['gap']:>9.1e}"
        )
    totals = [sum(r["seconds"] for r in part) for part in (records[::2], records[1::2])]
    yield f"{'all':<18}{totals[0]:>10.2f}{totals[1]:>10.2f}"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="BootstrapSVC on a GPU against all cores.")
    add = parser.add_argument
    add("--bags", type=int, default=500, help="bags B (default: 500)")
    add("--datasets", nargs="*", default=PAPER_DATASETS, choices=PAPER_DATASETS, metavar="NAME",
        help="data sets (default: the paper's 15)")  # fmt: skip
    add("--kernels", dest="kernel", action="store_const", const="rbf", default="linear",
        help="the rbf kernel instead of the linear one")  # fmt: skip
    add("--device", default="cuda", help="device of the race (default: cuda)")
    add("--jobs", type=int, default=joblib.cpu_count(), help="jobs on the CPU (default: all)")
    add("--peer-seconds", type=float, default=5.0,
        help="seconds after which scikit-learn gets no further C (default: 5)")  # fmt: skip
    add("--columns", action="store_true", help="add ten folds of every data set, as in Table 2")
    add("--csv", type=Path, help="write all numbers here, renewed after each data set")
    options = parser.parse_args(arguments)
    for name in ("bags", "jobs"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} must be at least 1, got {getattr(options, name)}")
    try:
        resolve_device(options.device)
    except (ValueError, ImportError, RuntimeError) as error:
        parser.error(f"--device: {error}")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse(arguments)
    print(machine(), describe(options.device), sep="\n")
    print(f"{options.jobs} jobs, {options.bags} bags; median of 1 to 5 s of fits, after one\n")
    warnings.filterwarnings("ignore", message=".*in every bag")
    warm_up(options.jobs)
    tiny = np.random.default_rng(0).standard_normal((60, 3)), np.arange(60) % 2
    BootstrapSVC(CS, n_bootstraps=40, device=options.device).fit(*tiny).predict_proba(tiny[0])
    print("".join(f"{t:<{w}}" if k == "data" else f"{t:>{w}}" for k, (t, w, _) in TITLES.items()))
    records, start = [], time.perf_counter()
    for name in options.datasets:
        print(f"{time.perf_counter() - start:5.0f} s {name}", file=sys.stderr)
        records.append(run_race(name, options))
        print(table_line(records[-1]), flush=True)
        if options.csv:
            write_csv(options.csv, records)
    print(table_line(summary(records)), "", NOTE, sep="\n", flush=True)
    if options.columns:
        columns = []
        for name in options.datasets:
            print(f"{time.perf_counter() - start:5.0f} s {name}, ten folds", file=sys.stderr)
            columns += [run_column(name, device, options) for device in (options.device, "cpu")]
        print("", *column_lines(columns, options.device), sep="\n")


if __name__ == "__main__":
    main()
