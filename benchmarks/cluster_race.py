"""Cluster: what tasks cost beside threads, on one, two and more workers.

One table of the paper, the fit that `BootstrapSVC` runs for it, three ways to run it: threads of
this process, joblib's processes (loky), dask's workers (a local cluster of processes). The pools
are started and warm. All three must give the same arrays to the last bit.

    python benchmarks/cluster_race.py                            # german, 500 bags; needs dask
    python benchmarks/cluster_race.py --data adult --bags 100 --workers 1 2 4

CPU seconds are those of the calling process and of all workers, so that they mean something on a
machine that is not quiet, less what the idle pool takes in the same time (dask's workers
look around all the while). The overhead is in CPU seconds, over threads with as many workers.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from _common import machine, warm_up, write_csv
from _data import paper_table

from svmproba.bootstrap.bags import draw_bags
from svmproba.bootstrap.votes import tally_block
from svmproba.estimators._validation import PAPER_CS
from svmproba.solvers.engine import Ensemble, fit_ensemble
from svmproba.solvers.features import fit_features


@contextmanager
def pool(kind: str, workers: int) -> Iterator[Any]:
    """Workers of a kind."""
    if kind != "dask":
        with joblib.parallel_config("threading" if kind == "threads" else "loky", n_jobs=workers):
            yield None
        return
    from dask.distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    cluster = LocalCluster(n_workers=workers, **options)
    with cluster, Client(cluster) as client, joblib.parallel_config("dask"):
        yield client


def cpu_seconds() -> float:
    """CPU seconds of this process and of its children so far."""
    import psutil

    mine = psutil.Process()
    total = 0.0
    for process in (mine, *mine.children(recursive=True)):
        times = process.cpu_times()
        total += times.user + times.system
    return total


def measure(
    fit: Callable[[], Ensemble], kind: str, workers: int, runs: int
) -> tuple[dict[str, Any], Ensemble]:
    """Least CPU time, without that of the idle pool, and least wall time of some fits."""
    cpu, wall = [], []
    with pool(kind, workers):
        result = fit()
        start, clock = cpu_seconds(), time.perf_counter()
        time.sleep(2)
        idle = (cpu_seconds() - start) / (time.perf_counter() - clock)
        for _ in range(runs):
            start, clock = cpu_seconds(), time.perf_counter()
            result = fit()
            wall.append(time.perf_counter() - clock)
            cpu.append(cpu_seconds() - start - idle * wall[-1])
    times = {"cpu_s": min(cpu), "wall_s": min(wall), "idle": idle}
    return {"kind": kind, "workers": workers, **times}, result


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="What tasks cost beside threads.")
    parser.add_argument("--data", default="german", help="data set of the paper (default: german)")
    parser.add_argument("--bags", type=int, default=500, help="default: 500")
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4], help="default: 1 2 4")
    parser.add_argument("--runs", type=int, default=5, help="fits of which the least counts")
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
    print(f"least of {options.runs} fits in a warm pool\n")
    print(
        f"{'workers':>7}  {'kind':<8}{'CPU s':>8}{'overhead':>10}{'wall s':>8}{'idle':>7}",
        flush=True,
    )
    warm_up(1)
    records, known = [], None
    for workers in options.workers:
        threads = None
        for kind in ("threads", "loky", "dask"):
            record, result = measure(fit, kind, workers, options.runs)
            threads = record["cpu_s"] if threads is None else threads
            known = result if known is None else known
            same = all(np.array_equal(a, b) for a, b in zip(known, result, strict=True))
            record |= {"overhead": record["cpu_s"] / threads - 1, "same": same}
            records.append(record)
            print(
                f"{workers:7d}  {kind:<8}{record['cpu_s']:8.3f}{record['overhead']:10.1%}"
                f"{record['wall_s']:8.3f}{record['idle']:7.3f}{'' if same else '  another result'}",
                flush=True,
            )
    print("\nidle: CPU seconds that the pool takes in a second without work, not counted")
    if options.csv:
        write_csv(options.csv, records)


if __name__ == "__main__":
    main()
