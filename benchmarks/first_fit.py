"""How long the first fit of all takes: compilation with an empty cache, one process for each fit.

    python benchmarks/first_fit.py
    python benchmarks/first_fit.py --only "ProbabilitySVC, rbf" ConstrainedSVC --rounds 3

Prints the CPU seconds and the seconds of the clock of the first fit (imports not counted), and of
the same fit in a second process, which reads the compiled functions from the cache. The least of
all rounds is shown.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

from _common import machine

#: The fits. X has 200 samples of 8 columns, y two classes, z three; `tall` has 3 000 of 20.
FITS = {
    "BootstrapSVC, exact paths": "BootstrapSVC(n_bootstraps=30).fit(X, y)",
    "BootstrapSVC, Newton steps": "BootstrapSVC(n_bootstraps=30).fit(tall, of_tall)",
    "BootstrapSVC, auto, linear": "BootstrapSVC(n_bootstraps=30, calibration='auto').fit(X, y)",
    "BootstrapSVC, auto, kernels": (
        "BootstrapSVC(n_bootstraps=30, kernel='auto', calibration='auto').fit(X, y)"
    ),
    "BootstrapSVC, rbf": "BootstrapSVC(n_bootstraps=30, kernel='rbf').fit(X, y)",
    "BootstrapSVC, three classes": "BootstrapSVC(n_bootstraps=30).fit(X, z)",
    "ThresholdBootstrapSVC": "ThresholdBootstrapSVC(n_bootstraps=30).fit(X, y)",
    "ProbabilitySVC": "ProbabilitySVC().fit(X, y)",
    "ProbabilitySVC, rbf": "ProbabilitySVC(kernel='rbf').fit(X, y)",
    "RateFeatureSelector": "RateFeatureSelector(min_tpr=0.6, min_tnr=0.6).fit(X, y)",
    "ConstrainedSVC": "ConstrainedSVC(min_tpr=0.8).fit(X, y)",
    "ConstrainedSVC, bound='bb'": "ConstrainedSVC(min_tpr=0.8, bound='bb').fit(X[:30], y[:30])",
    "ConstrainedBootstrapSVC": (
        "ConstrainedBootstrapSVC(0.8, n_bootstraps=30, Cs=[0.1, 1.0]).fit(X, y)"
    ),
}

_CODE = """
import time, warnings
import numpy as np
from sklearn.datasets import make_classification
from svmproba import *
warnings.simplefilter("ignore")
X, y = make_classification(200, 8, n_informative=6, random_state=0)
z = np.where(X[:, 0] > 1.0, 2, y)
tall, of_tall = make_classification(3000, 20, random_state=0)
wall, cpu = time.perf_counter(), time.process_time()
{fit}
print(time.process_time() - cpu, time.perf_counter() - wall)
"""


def seconds_of(fit: str, folder: str) -> tuple[float, float]:
    """CPU and clock seconds of a fit in a new process with this cache."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": folder, "OMP_NUM_THREADS": "1"}
    code = _CODE.format(fit=fit)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    cpu, wall = done.stdout.split()[-2:]
    return float(cpu), float(wall)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=FITS, default=list(FITS), metavar="FIT")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    print(machine())
    print(f"{'first fit of':30s} {'CPU s':>8s} {'s':>8s} {'cached s':>10s}")
    for name in options.only:
        first, second = [], []
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory() as folder:
                first.append(seconds_of(FITS[name], folder))
                second.append(seconds_of(FITS[name], folder))
        cpu, wall = min(first)
        print(f"{name:30s} {cpu:8.1f} {wall:8.1f} {min(second)[1]:10.2f}", flush=True)


if __name__ == "__main__":
    main()
