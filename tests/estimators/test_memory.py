"""Memory stays under the stated budget on large tables."""

import subprocess
import sys

import pytest

LIMIT = 2 * 2**30

FIT = """
import numpy as np, resource
from svmproba import BootstrapSVC
rng = np.random.default_rng(0)
n, d = 29_304, 105
X = np.zeros((n, d))
X[:, :6] = rng.standard_normal((n, 6))
for first in range(6, d, 12):
    X[np.arange(n), first + rng.integers(min(12, d - first), size=n)] = 1.0
y = (X @ rng.standard_normal(d) + rng.standard_normal(n) > 1).astype(int)
model = BootstrapSVC(n_bootstraps={n_bootstraps}, n_jobs=2, random_state=0).fit(X, y)
"""
PREDICT = """
X = np.tile(X, (35, 1))[:1_000_000]
model.predict_proba(X)
"""
PEAK = "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the unit of the peak is that of Linux")
@pytest.mark.parametrize(
    "script",
    [FIT.format(n_bootstraps=500) + PEAK, FIT.format(n_bootstraps=500) + PREDICT + PEAK],
    ids=["fit", "predict"],
)
def test_peak_memory(script):
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(run.stdout) < LIMIT
