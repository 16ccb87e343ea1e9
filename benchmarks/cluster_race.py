"""Cluster: what tasks cost beside threads, on one, two and more workers.

One table of the paper, the fit that `BootstrapSVC` runs for it, three ways to run it: threads of
this process, joblib's processes (loky), dask's workers (a local cluster of processes). The pools
are started and warm. All three must give the same arrays to the last bit.

    python benchmarks/cluster_race.py                            # german, 500 bags; needs dask
    python benchmarks/cluster_race.py --data adult --bags 100 --workers 1 2 4

CPU seconds are those of the calling process and of all workers, so that they mean something on a
machine that is not quiet, less what the idle pools take in the same time (dask's workers look
around all the while). The three take turns. The overhead is the median of the ratios to the
threads' fit of the same turn. The floor is what joblib's own calls cost: as many tasks that take
as long, share nothing, and return as many bytes, of which the time inside the tasks is taken off.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import joblib
import numpy as np
from _common import machine, warm_up, write_csv
from _data import paper_table
from joblib.externals.loky import get_reusable_executor

from svmproba.bootstrap.fitting.bags import draw_bags
from svmproba.bootstrap.summaries.votes import tally_block
from svmproba.estimators.input.parameters import PAPER_CS
from svmproba.solvers.ensemble import Ensemble, fit_ensemble
from svmproba.solvers.features import fit_features

KINDS = ("threads", "loky", "dask")


@contextmanager
def pools(workers: int) -> Iterator[None]:
    """Start joblib's processes, then a cluster, which is from then on dask's default.

    In this order: dask sets variables of the environment for its workers, and processes that
    joblib starts later would get them too. One makes them hand all free memory back at once.
    """
    from dask.distributed import Client, LocalCluster

    with joblib.parallel_config("loky", n_jobs=workers):
        joblib.Parallel()(joblib.delayed(abs)(k) for k in range(workers))
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    cluster = partial(LocalCluster, n_workers=workers, **options)
    with patch.dict(os.environ), cluster() as local, Client(local):
        yield
    get_reusable_executor().shutdown()


def backend(kind: str, workers: int) -> Any:
    """Configure joblib."""
    if kind == "dask":
        return joblib.parallel_config("dask")
    return joblib.parallel_config("threading" if kind == "threads" else "loky", n_jobs=workers)


def children() -> list[Any]:
    """Return all processes that this one has started."""
    import psutil

    return psutil.Process().children(recursive=True)


def cpu_seconds(processes: Sequence[Any]) -> float:
    """CPU seconds of this process and of others so far."""
    total = time.process_time()
    for process in processes:
        if sys.platform == "linux":
            # The clock of another process; what psutil reads goes by hundredths of a second.
            total += time.clock_gettime(~process.pid << 3 | 2)
        else:
            total += sum(process.cpu_times()[:2])
    return total


def spin(seconds: float, size: int) -> tuple[float, Any]:
    """Sort numbers for some CPU seconds; return how many seconds they were, and some bytes.

    No products: threads of BLAS go on spinning after one, at the cost of what is measured next.
    """
    start, numbers = time.thread_time(), np.random.default_rng(0).random(10_000)
    while time.thread_time() - start < seconds:
        np.sort(numbers)
    return time.thread_time() - start, np.ones(size, np.uint8)


def take(action: Callable[[], Any], kind: str, workers: int) -> tuple[float, float, Any]:
    """CPU seconds and seconds of an action under a kind of workers, and what it returned."""
    processes = children()
    with backend(kind, workers):
        start, clock = cpu_seconds(processes), time.perf_counter()
        result = action()
        wall = time.perf_counter() - clock
        return cpu_seconds(processes) - start, wall, result


def spin_tasks(n_tasks: int, seconds: float, size: int) -> float:
    """Run tasks that share nothing; return the CPU seconds inside them."""
    tasks = (joblib.delayed(spin)(seconds / n_tasks, size // n_tasks) for _ in range(n_tasks))
    parallel = joblib.Parallel(prefer="threads", return_as="generator_unordered")
    return sum(inside for inside, _ in parallel(tasks))


def measure(fit: Callable[..., Ensemble], workers: int, runs: int) -> Iterator[dict[str, Any]]:
    """Yield what the kinds of workers took in some turns, and their last results."""
    with pools(workers):
        n_tasks, first = {}, {}
        for kind in KINDS:
            finished: list[int] = []
            first[kind] = take(partial(fit, report=finished.append), kind, workers)
            n_tasks[kind] = len(finished)
        size = sum(a.nbytes for a in first["threads"][2] if a is not None)
        cpu: dict[str, list[float]] = {kind: [] for kind in KINDS}
        wall: dict[str, list[float]] = {kind: [] for kind in KINDS}
        floor: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for _ in range(runs):
            spent, passed, _none = take(partial(time.sleep, 1), "threads", 1)
            idle = spent / passed
            for kind in KINDS:
                spent, passed, result = take(fit, kind, workers)
                cpu[kind].append(spent - idle * passed)
                wall[kind].append(passed)
                first[kind] = spent, passed, result
                alone = partial(spin_tasks, n_tasks[kind], cpu["threads"][-1], size)
                spent, passed, inside = take(alone, kind, workers)
                floor[kind].append((spent - idle * passed - inside) / inside)
    for kind in KINDS:
        ratios = np.divide(cpu[kind], cpu["threads"])
        yield {
            "workers": workers,
            "kind": kind,
            "tasks": n_tasks[kind],
            "cpu_s": float(np.median(cpu[kind])),
            "wall_s": float(np.median(wall[kind])),
            "overhead": float(np.median(ratios)) - 1,
            "floor": float(np.median(floor[kind])),
            "result": first[kind][2],
        }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="What tasks cost beside threads.")
    parser.add_argument("--data", default="german", help="data set of the paper (default: german)")
    parser.add_argument("--bags", type=int, default=500, help="default: 500")
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4], help="default: 1 2 4")
    parser.add_argument("--runs", type=int, default=15, help="turns (default: 15)")
    parser.add_argument("--csv", type=Path, help="write the table here as well")
    options = parser.parse_args(arguments)
    X, y = paper_table(options.data)
    positive = y == y.max()
    counts, _ = draw_bags(options.bags, positive, np.random.default_rng(0))
    _, rows = fit_features(X)
    tally = partial(tally_block, positive=positive, measure="accuracy")
    fit = partial(fit_ensemble, rows, np.where(positive, 1.0, -1.0), counts, PAPER_CS, tally=tally)
    print(machine())
    print(f"{options.data}, {len(y)} x {X.shape[1]}, {options.bags} bags x {len(PAPER_CS)} C")
    print(f"medians of {options.runs} turns in warm pools\n")
    print(
        f"{'workers':>7}  {'kind':<8}{'tasks':>5}{'CPU s':>8}{'overhead':>10}{'floor':>8}"
        f"{'wall s':>8}",
        flush=True,
    )
    warm_up(1)
    records, known = [], None
    for workers in options.workers:
        for record in measure(fit, workers, options.runs):
            result = record.pop("result")
            known = result if known is None else known
            same = all(np.array_equal(a, b) for a, b in zip(known, result, strict=True))
            records.append({**record, "same": same})
            print(
                f"{workers:7d}  {record['kind']:<8}{record['tasks']:5d}{record['cpu_s']:8.3f}"
                f"{record['overhead']:10.1%}{record['floor']:8.1%}{record['wall_s']:8.3f}"
                f"{'' if same else '  another result'}",
                flush=True,
            )
    print("\nfloor: what as many tasks by joblib that share nothing cost, of the time inside them")
    if options.csv:
        write_csv(options.csv, records)


if __name__ == "__main__":
    main()
