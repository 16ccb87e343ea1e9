r"""What CEBB2 costs: constrained SVMs of a few bags for all C and all floors of the paper.

One thread, CPU seconds a bag for 11 values of C and the floors .5, .6, ..., 1 under the true
positive rate, and what 500 bags take on two cores at that rate. ``--whole`` fits all 500 bags of a
data set on two cores and takes the time by the clock.

    python benchmarks/cebb2_cost.py
    python benchmarks/cebb2_cost.py wisconsin german --whole --efforts fast
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence

from _common import machine
from _data import data_folder, paper_table

from svmproba import ConstrainedBootstrapSVC
from svmproba.paper.data.datasets import PAPER_DATASETS

FLOORS = [{"min_tpr": floor} for floor in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)]
#: Bags of the paper, and those of a sample.
ALL, FEW = 500, 2


def fit(name: str, effort: str, bags: int, jobs: int) -> tuple[float, float, str]:
    """Fit all floors of a data set; returns CPU seconds, seconds and the size of the table."""
    X, y = paper_table(name)
    model = ConstrainedBootstrapSVC(n_bootstraps=bags, effort=effort, random_state=0, n_jobs=jobs)
    cpu, clock = time.process_time(), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of few bags, and of floors out of reach
        model.fit_floors(X, y, FLOORS)
    return time.process_time() - cpu, time.perf_counter() - clock, "{} x {}".format(*X.shape)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What CEBB2 costs.")
    add = parser.add_argument
    names = [*PAPER_DATASETS] if data_folder() else ["wisconsin"]
    add("data", nargs="*", default=names, metavar="DATASET",
        help="data sets (default: all that can be read)")  # fmt: skip
    add("--efforts", nargs="+", default=["fast", "default"], metavar="EFFORT",
        choices=("fast", "default", "thorough"), help="default: fast default")  # fmt: skip
    add("--bags", type=int, default=FEW, help=f"bags of the sample (default: {FEW})")
    add("--whole", action="store_true", help=f"all {ALL} bags on two cores, by the clock")
    options = parser.parse_args(arguments)
    if options.bags < 1:
        parser.error(f"--bags must be at least 1, got {options.bags}")
    for name in options.data:
        if name not in names:
            parser.error(f"no data set {name!r} here; there are {', '.join(names)}")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse(arguments)
    fit("wisconsin", "fast", 1, 1)  # compiles
    print(machine(), "", sep="\n")
    print(f"| {'minutes in all' if options.whole else 'CPU seconds a bag'} |", end=" ")
    print(*options.efforts, sep=" | ", end=" |\n")
    print("| --- |" + " --- |" * len(options.efforts))
    for name in options.data:
        cells = []
        for effort in options.efforts:
            if options.whole:
                _, clock, size = fit(name, effort, ALL, 2)
                cells.append(f"{clock / 60:.1f}")
            else:
                cpu, _, size = fit(name, effort, options.bags, 1)
                each = cpu / options.bags
                cells.append(f"{each:.2g} ({each * ALL / 120:.2g} min)")
        print(f"| {name} ({size}) | " + " | ".join(cells) + " |", flush=True)
    if not options.whole:
        print(f"\nIn brackets: minutes for {ALL} bags on two cores at that rate.")


if __name__ == "__main__":
    main()
