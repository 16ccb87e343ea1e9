"""What the benchmarks share: the machine, the warm-up, the clock and the CSV file."""

from __future__ import annotations

import csv
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numba
import numpy as np
import sklearn
from scipy import sparse

import svmproba
from svmproba import BootstrapSVC


def machine() -> str:
    """Describe the machine and the software, without names."""
    versions = {
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "Numba": numba.__version__,
        "svmproba": svmproba.__version__,
    }
    software = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"{joblib.cpu_count()} CPUs, {platform.machine()}, {platform.system()}; {software}"


def warm_up(n_jobs: int) -> None:
    """Compile what a fit compiles, dense, sparse and separable: no measured time includes it."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 30)), np.arange(60) % 2
    apart = X + 3.0 * y[:, None]
    for rows in (X, X[:, :3], apart, sparse.csr_matrix(np.where(X > 0.5, X, 0.0))):
        BootstrapSVC([0.1, 1.0], n_bootstraps=40, n_jobs=n_jobs, random_state=0).fit(rows, y)


def median_seconds(
    action: Callable[[], Any], *, runs: int = 3, least: float = 1.0, enough: float = 5.0
) -> float:
    """Median time of some runs, `least` seconds of them; none more after `enough` seconds.

    Three runs of a tenth of a second would be few: how soon the two threads of one get a core
    each changes it by a fifth.
    """
    times: list[float] = []
    while (len(times) < runs or sum(times) < least) and sum(times) < enough:
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def write_csv(path: Path, records: list[dict[str, Any]]) -> None:
    """Write records with the same keys; floats with 6 digits, nothing for None."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(records[0]))
        writer.writeheader()
        for record in records:
            writer.writerow(
                {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in record.items()}
            )
