"""Runs a small experiment; the tests kill it. Arguments: file of results, bags."""

import sys
import time

from svmproba.paper import reproduce
from svmproba.paper.data.datasets import load_dataset
from svmproba.paper.reproduce import Plan, run
from svmproba.paper.store import Store


def slowly(*arguments, compute=reproduce.compute):
    """Leave time to be killed between computing and keeping."""
    result = compute(*arguments)
    time.sleep(0.05)
    return result


if __name__ == "__main__":
    reproduce.compute = slowly
    plan = Plan(n_bootstraps=int(sys.argv[2]), n_folds=10)
    with Store(sys.argv[1]) as store:
        X, y = load_dataset("wisconsin")
        run(
            plan,
            {"wisconsin": (X, y)},
            ["ebb"],
            store,
            report=lambda event: print(event.cell.fold, flush=True),
        )
