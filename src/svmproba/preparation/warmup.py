"""Compile what fits need, before they need it: for containers, services and timings."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from svmproba._types import Floats
from svmproba.estimators import (
    BootstrapSVC,
    ConstrainedBootstrapSVC,
    ConstrainedSVC,
    PosteriorProbabilitySVC,
    ProbabilitySVC,
    WeightedProbabilitySVC,
)
from svmproba.selection import RateFeatureSelector
from svmproba.solvers.core.compiled import compiled_functions

#: Bags from which members learn from one another, and so few that they do not.
_MANY, _FEW = 20, 2


class Warmup(NamedTuple):
    """What `warmup` did."""

    folder: Path | None  #: where compiled code is kept; None where nothing can be written
    compiled: int  #: functions that were compiled
    loaded: int  #: functions that were compiled before, and loaded
    seconds: float


def warmup(
    parts: Sequence[str] | None = None, *, report: Callable[[str, float], None] | None = None
) -> Warmup:
    """Compile what `fit` and `predict` need, and keep it on disk.

    The first fit on a computer otherwise waits for its solver to be compiled. Tiny tables are
    fitted; nothing is read or written but Numba's cache. The code is for one kind of processor: if
    others shall run it, set the environment variable ``NUMBA_CPU_NAME=generic``, here and there.

    Parameters
    ----------
    parts : sequence of {"linear", "sparse", "kernel", "constrained", "selection"}, optional
        What is going to be used, all by default. ``"linear"`` serves `BootstrapSVC`,
        `ThresholdBootstrapSVC` and `ProbabilitySVC` with dense tables.
    report : callable, optional
        ``report(part, seconds)``, called after each part.

    Returns
    -------
    Warmup
        The folder, the numbers of compiled and of loaded functions, and the seconds.

    Examples
    --------
    >>> from svmproba import warmup
    >>> done = warmup(["linear"])
    >>> done.folder  # doctest: +SKIP
    PosixPath('/home/me/.cache/numba')
    """
    wanted = tuple(PARTS) if parts is None else tuple(parts)
    unknown = [part for part in wanted if part not in PARTS]
    if isinstance(parts, str) or unknown:
        raise ValueError(f"parts must be a list of names among {tuple(PARTS)}, got {parts!r}.")
    start, before = time.perf_counter(), _counts()
    with warnings.catch_warnings():
        # What the tables are like is of no interest. That no code can be kept is.
        warnings.simplefilter("ignore")
        warnings.filterwarnings("default", message="Compiled functions could not be kept")
        for part in wanted:
            began = time.perf_counter()
            PARTS[part]()
            if report is not None:
                report(part, time.perf_counter() - began)
    compiled, loaded = (int(x) for x in _counts() - before)
    return Warmup(_folder(), compiled, loaded, time.perf_counter() - start)


def _counts() -> Any:
    """Functions that this process compiled, and that it loaded."""
    stats = [function.stats for function in compiled_functions()]
    counted = [(sum(x.cache_misses.values()), sum(x.cache_hits.values())) for x in stats]
    return np.sum(counted, axis=0)


def _folder() -> Path | None:
    """Return the folder that holds all compiled code."""
    folders = [str(x.stats.cache_path) for x in compiled_functions() if x.stats.cache_path]
    return Path(os.path.commonpath(folders)) if folders else None


def _table(n: int, noise: float) -> tuple[Floats, Any]:
    """Draw a table of two classes, nearly separable with little noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = (X[:, 0] + X[:, 1] + noise * rng.normal(size=n) > 0.0).astype(int)
    return X, y


def _fit_linear() -> None:
    for noise in (0.05, 2.0):  # exact paths, Newton steps
        X, y = _table(120, noise)
        BootstrapSVC(n_bootstraps=_MANY, n_jobs=1, random_state=0).fit(X, y).predict_proba(X)
    WeightedProbabilitySVC(Cs=1.0, cv=2, random_state=0).fit(X, y)
    ProbabilitySVC(random_state=0).fit(X, y).predict_proba(X)


def _fit_sparse() -> None:
    X, y = _table(120, 2.0)
    rows = sp.csr_array(X * (X > 1.0))
    BootstrapSVC(n_bootstraps=_MANY, n_jobs=1, random_state=0).fit(rows, y).predict_proba(rows)
    wide = sp.csr_array(sp.random(60, 500, 0.05, random_state=0))
    BootstrapSVC(n_bootstraps=_FEW, n_jobs=1, random_state=0).fit(wide, y[:60])


def _fit_kernel() -> None:
    X, y = _table(120, 2.0)
    for n_bags in (_FEW, _MANY):  # working sets, SMO
        svm = BootstrapSVC(kernel="rbf", n_bootstraps=n_bags, n_jobs=1, random_state=0)
        svm.fit(X, y).predict_proba(X)
    PosteriorProbabilitySVC(kernel="rbf", random_state=0).fit(X, y)


def _fit_constrained() -> None:
    X, y = _table(40, 0.7)
    ConstrainedSVC(min_tpr=0.9, effort="fast", bound="bb", random_state=0).fit(X, y)
    cebb2 = ConstrainedBootstrapSVC(0.9, effort="fast", Cs=[1.0], n_bootstraps=1, n_jobs=1)
    cebb2.set_params(random_state=0).fit(X, y)


def _select() -> None:
    X, y = _table(60, 0.7)
    RateFeatureSelector(min_tpr=0.6, min_tnr=0.6, random_state=0).fit(X, y)


#: What can be compiled, and the fits that need it.
PARTS = {
    "linear": _fit_linear,
    "sparse": _fit_sparse,
    "kernel": _fit_kernel,
    "constrained": _fit_constrained,
    "selection": _select,
}
