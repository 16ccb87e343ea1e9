"""Growth: fit time of `BootstrapSVC` against records, columns and bags, one at a time.

Two overlapping Gaussians, 11 values of C. The slope is that of the logarithms, by least squares:
1 is linear growth. A table is printed as it grows, and a picture is written.

    python benchmarks/growth.py
    python benchmarks/growth.py --quick --picture out/growth.png
    python benchmarks/growth.py --cpu                            # on a machine that is not quiet
    python benchmarks/growth.py --cpu --peers                    # and how scikit-learn's SVMs grow
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _common import machine, median_seconds, warm_up, write_csv
from _data import two_gaussians
from _peers import fit_path
from sklearn.svm import SVC, LinearSVC

from svmproba import BootstrapSVC
from svmproba.bootstrap.fitting.bags import draw_bags
from svmproba.estimators.input.parameters import PAPER_CS
from svmproba.solvers.runtime.threads import blas_threads

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "growth.png"


class Sweep(NamedTuple):
    """One size that grows while the two others stay."""

    what: str
    sizes: tuple[int, ...]
    fixed: dict[str, int]


_COLUMNS = (5, 10, 20, 50, 100, 200, 300)
SWEEPS = (
    Sweep(
        "records",
        (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000),
        {"columns": 20, "bags": 200},
    ),
    Sweep("columns", _COLUMNS, {"records": 20_000, "bags": 50}),
    # Few records for so many columns: the models themselves become hard to find.
    Sweep("columns", _COLUMNS, {"records": 2_000, "bags": 200}),
    Sweep("bags", (50, 100, 200, 500, 1_000), {"records": 2_000, "columns": 20}),
)


def slopes(sizes: Sequence[int], seconds: Sequence[float]) -> str:
    """Exponents p of the least-squares fits seconds = a * size ** p, in words."""
    x, t, half = np.log(sizes), np.log(seconds), len(sizes) // 2
    overall, upper = np.polyfit(x, t, 1)[0], np.polyfit(x[half:], t[half:], 1)[0]
    return f"{overall:.2f}, upper half {upper:.2f}"


def cpu_seconds(action: Callable[[], Any]) -> float:
    """Least CPU time of three runs: neighbours on the machine count for little.

    On one thread: those of BLAS go on spinning after a product, and count.
    """
    times = []
    with blas_threads():
        for _ in range(3):
            start = time.process_time()
            action()
            times.append(time.process_time() - start)
    return min(times)


def measure(sweep: Sweep, n_jobs: int, cpu: bool) -> Iterator[dict[str, Any]]:
    """Yield the time of one size after the other."""
    for size in sweep.sizes:
        setting = {**sweep.fixed, sweep.what: size}
        print(f"fitting {setting}", file=sys.stderr)
        X, y = two_gaussians(setting["records"], setting["columns"])
        model = BootstrapSVC(n_bootstraps=setting["bags"], n_jobs=n_jobs, random_state=0)
        seconds = (cpu_seconds if cpu else median_seconds)(partial(model.fit, X, y))
        gap = float(model.duality_gap_.max())
        sizes = {name: setting[name] for name in ("records", "columns", "bags")}
        yield {"sweep": sweep.what, **sizes, "seconds": seconds, "largest_gap": gap}


def compare(mine: list[dict[str, Any]]) -> None:
    """Print what a model takes against the columns, ours and scikit-learn's.

    Ours is the mean over all bags and values of C, theirs over one bag and the least, the middle
    and the largest C.
    """
    prototypes = SVC(kernel="linear"), LinearSVC(loss="hinge", random_state=0)
    Cs, rows = PAPER_CS[::5], []
    print(f"{'columns':>8}{'ours ms':>10}{'SVC ms':>10}{'LinearSVC ms':>14}", flush=True)
    for r in mine:
        X, y = two_gaussians(r["records"], r["columns"])
        bag = draw_bags(1, y == 1, np.random.default_rng(0))[0][0]
        theirs = [fit_path(p, X, y, bag, Cs, False)[0] / len(Cs) for p in prototypes]
        rows.append([1e3 * r["seconds"] / (r["bags"] * len(PAPER_CS)), *(1e3 * t for t in theirs)])
        print(
            f"{r['columns']:8d}{rows[-1][0]:10.3f}{rows[-1][1]:10.0f}{rows[-1][2]:14.0f}",
            flush=True,
        )
    columns = [r["columns"] for r in mine]
    named = zip(("ours", "SVC", "LinearSVC"), np.transpose(rows), strict=True)
    print("slopes: " + "; ".join(f"{name} {slopes(columns, list(t))}" for name, t in named) + "\n")


def draw(results: list[list[dict[str, Any]]], path: Path) -> None:
    """One panel a sweep: the times, their slopes, and linear growth from the first one."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 3.2), layout="constrained", dpi=150)
    axes = figure.subplots(1, len(SWEEPS), sharey=True)
    for ax, sweep, mine in zip(axes, SWEEPS, results, strict=True):
        sizes, seconds = [r[sweep.what] for r in mine], [r["seconds"] for r in mine]
        ax.loglog(sizes, seconds, "o-", label=f"slope {slopes(sizes, seconds)}")
        linear = [seconds[0] * size / sizes[0] for size in sizes]
        ax.loglog(sizes, linear, ":", color="grey", label="linear growth")
        ax.set(xlabel=sweep.what, title=", ".join(f"{v:,} {k}" for k, v in sweep.fixed.items()))
        ax.grid(alpha=0.3)
        ax.legend(frameon=False)
    axes[0].set_ylabel("fit time, seconds")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Fit time against records, columns and bags.")
    parser.add_argument("--jobs", type=int, default=2, help="jobs of the fit (default: 2)")
    parser.add_argument("--cpu", action="store_true", help="CPU seconds of one job")
    parser.add_argument("--quick", action="store_true", help="the four smallest sizes only")
    parser.add_argument("--peers", action="store_true", help="scikit-learn's SVMs by columns too")
    parser.add_argument("--csv", type=Path, help="write the table here as well")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="default: docs/images")
    options = parser.parse_args(arguments)
    print(machine())
    if options.cpu:
        options.jobs = 1
    how = "CPU seconds, least of 3 fits" if options.cpu else "median of 1 to 5 s of fits"
    print(f"{options.jobs} job(s); 11 values of C; compiled before; {how}\n")
    print(f"{'records':>8}{'columns':>9}{'bags':>6}{'seconds':>10}{'largest gap':>13}", flush=True)
    warm_up(options.jobs)
    results: list[list[dict[str, Any]]] = []
    for sweep in SWEEPS:
        shown = sweep._replace(sizes=sweep.sizes[:4]) if options.quick else sweep
        results.append([])
        for r in measure(shown, options.jobs, options.cpu):
            results[-1].append(r)
            print(
                f"{r['records']:8d}{r['columns']:9d}{r['bags']:6d}{r['seconds']:10.3f}"
                f"{r['largest_gap']:13.1e}",
                flush=True,
            )
        times = [r["seconds"] for r in results[-1]]
        print(f"slope in {sweep.what}: {slopes(shown.sizes, times)}\n", flush=True)
    if options.peers:
        compare(next(mine for mine in reversed(results) if mine[0]["sweep"] == "columns"))
    draw(results, options.picture)
    if options.csv:
        write_csv(options.csv, [r for mine in results for r in mine])


if __name__ == "__main__":
    main()
