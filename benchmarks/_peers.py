r"""The peers of the race: scikit-learn's SVMs in a loop, timed at their best.

The objective of every model, ours and theirs, is

.. math:: P(w, b) = \tfrac12\|w\|^2 + C\sum_i N_{bi}\max(0,\ 1 - y_i(w^\top x_i + b)).
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, parallel_config
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

Floats = NDArray[np.float64]

#: Wall time a peer gets at least, unless it has fitted all bags before.
PEER_SECONDS = 5.0


class PeerLoop(NamedTuple):
    """A scikit-learn estimator to be fitted for each C, by so many jobs."""

    prototype: Any
    Cs: Floats
    n_jobs: int


class PeerRun(NamedTuple):
    """What a peer needs for all bags, and what it reached on those it did fit."""

    seconds: float
    bags: int
    objectives: Floats  # (n_C, bags)


def kernel_peers() -> dict[str, Any]:
    """SVMs with the rbf kernel: scikit-learn's, and that of scikit-learn-intelex if installed."""
    peers: dict[str, Any] = {"svc": SVC(kernel="rbf")}
    if importlib.util.find_spec("sklearnex"):
        from sklearnex.svm import SVC as Patched

        # The loop over bags has the cores: a thread each.
        peers["sklearnex"] = Patched(kernel="rbf", n_jobs=1)
    return peers


def signs_of(y: NDArray[np.int64]) -> Floats:
    return np.where(y == 1, 1.0, -1.0)


def objectives(squares: Floats, scores: Floats, signs: Floats, counts: Any, Cs: Floats) -> Floats:
    """P of the models of one bag, (n_C,), from their ||w||^2 (n_C,) and scores (n_C, n)."""
    hinge = np.maximum(0.0, 1.0 - scores * signs) @ counts.astype(np.float64)
    return 0.5 * squares + Cs * hinge


def squared_norm(model: Any) -> float:
    """||w||^2 of a fitted scikit-learn SVM, in the space of its kernel."""
    if hasattr(model, "coef_"):
        return float(np.square(model.coef_).sum())
    scores = model.decision_function(model.support_vectors_) - model.intercept_
    return float(model.dual_coef_[0] @ scores)


def fit_path(
    prototype: Any, rows: Any, y: Any, counts: Any, Cs: Floats, weighted: bool
) -> tuple[float, Floats]:
    """Fit one bag for all C; return the seconds of the fits alone, and P of the models."""
    drawn, weight = np.repeat(np.arange(len(y)), counts), None
    if weighted:
        drawn = np.flatnonzero(counts)
        weight = counts[drawn].astype(np.float64)
    bag, labels = rows[drawn], y[drawn]
    models = [clone(prototype).set_params(C=C) for C in Cs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        for model in models:
            model.fit(bag, labels, sample_weight=weight)
        seconds = time.perf_counter() - start
    squares = np.array([squared_norm(model) for model in models])
    scores = np.array([model.decision_function(rows) for model in models])
    return seconds, objectives(squares, scores, signs_of(y), counts, Cs)


def run_peer(
    loop: PeerLoop, rows: Any, y: Any, counts: Any, n_bags: int | None, weighted: bool
) -> PeerRun:
    """Fit `n_bags` bags, or as many as take `PEER_SECONDS`, and state the time of all of them.

    That is the mean time a bag, times the bags, by the jobs: what the loop takes if its jobs
    always have work and handing it out is free.
    """
    prototype, Cs, n_jobs = loop
    path = partial(fit_path, prototype, rows, y, weighted=weighted)
    tiny = np.random.default_rng(0).standard_normal((20, 2)), np.arange(20) % 2
    wake = partial(fit_path, prototype, *tiny, np.ones(20, np.uint8), Cs, False)
    with parallel_config("loky", n_jobs=n_jobs, inner_max_num_threads=1):
        Parallel()(delayed(wake)() for _ in range(4 * n_jobs))
        # The jobs share the first bag, large C (the long fits) first: it may have to be enough.
        parts = Parallel()(delayed(path)(counts[0], np.array([C])) for C in Cs[::-1])
        values = [np.concatenate([value for _, value in parts[::-1]])]
        busy = sum(seconds for seconds, _ in parts)
        while len(values) < len(counts):
            if n_bags is None:
                missing = int(np.ceil(len(values) * (PEER_SECONDS * n_jobs / busy - 1.0)))
            else:
                missing = n_bags - len(values)
            if missing <= 0:
                break
            todo = counts[len(values) : len(values) + missing]
            done = Parallel()(delayed(path)(c, Cs) for c in todo)
            values += [value for _, value in done]
            busy += sum(seconds for seconds, _ in done)
    seconds = busy / len(values) * len(counts) / n_jobs
    return PeerRun(seconds, len(values), np.array(values).T)
