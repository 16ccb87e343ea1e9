"""Which samples a method is trained on and which it predicts.

There are two protocols. ``"fair"`` predicts every sample by a model that was fitted without it, in
stratified folds that are the same for all methods. ``"paper"`` is what the paper's numbers reveal:
its own methods were measured on one random tenth of the samples, not stratified, and the others by
ten folds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from svmproba._types import Floats
from svmproba.bootstrap.classes.calls import mix_call_shares
from svmproba.bootstrap.summaries.reliability import weights
from svmproba.bootstrap.summaries.votes import mix_shares
from svmproba.preparation.preprocessing import make_preprocessor

if TYPE_CHECKING:
    import pandas as pd

#: Reads values of each sample from a fitted estimator: (estimator, X) -> (n, ...).
Reader = Callable[[Any, Floats], Floats]

PROTOCOLS = ("fair", "paper")


class Part(NamedTuple):
    """Places of the samples of one training part, and of those that its model predicts."""

    repeat: int
    fold: int
    train: NDArray[np.intp]
    test: NDArray[np.intp]


class OutOfFold(NamedTuple):
    """Values of all samples, each read from a model that was fitted without the sample."""

    values: dict[str, Floats]  # by reader, (n, ...)
    fold: NDArray[np.int64]  # (n,), in which the sample was predicted
    seconds: dict[str, float]  # of all fits and of the reader's own calls


def split_parts(
    protocol: str,
    y: NDArray[np.int64],
    *,
    bootstrap: bool,
    n_folds: int = 10,
    n_repeats: int = 1,
    seed: int = 0,
) -> list[Part]:
    """Split the samples, with labels 0 and 1, into training parts and samples to predict.

    `bootstrap` says whether the method is one of the paper's own. Repeat r has the seed ``seed +
    r``.
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol must be one of {', '.join(PROTOCOLS)}, got {protocol!r}")
    parts = []
    for repeat in range(n_repeats):
        pairs: Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]]
        if protocol == "fair":
            splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed + repeat)
            pairs = splitter.split(y, y)
        elif bootstrap:
            order = np.random.default_rng(seed + repeat).permutation(len(y))
            held_out = round(len(y) / 10)
            pairs = [(np.sort(order[held_out:]), np.sort(order[:held_out]))]
        else:
            pairs = KFold(n_folds, shuffle=True, random_state=seed + repeat).split(y)
        parts += [Part(repeat, fold, train, test) for fold, (train, test) in enumerate(pairs)]
    return parts


def positive_proba(estimator: Any, X: Floats) -> Floats:
    """Probability of class 1, shape (n,)."""
    return estimator.predict_proba(X)[:, 1]


def best_theta_proba(model: Any, X: Floats) -> Floats:
    """Probability of class 1, or of all, by the most reliable C alone, from a fit that kept all."""
    shares, rho = model.vote_shares(X), weights(model.reliability_, epsilon=0.0)
    return mix_shares(shares, rho) if shares.ndim == 2 else mix_call_shares(shares, rho)


def class_proba(estimator: Any, X: Floats) -> Floats:
    """Probabilities of all classes, shape (n, n_classes)."""
    found: Floats = estimator.predict_proba(X)
    return found


def out_of_fold(
    estimator: Any,
    X: pd.DataFrame,
    y: NDArray[np.int64],
    *,
    readers: Mapping[str, Reader] | None = None,
    n_folds: int = 10,
    random_state: int | None = 0,
    progress: Callable[[int], None] | None = None,
) -> OutOfFold:
    """Predict every sample by a model that was fitted without it, in stratified folds.

    Preprocessing is fitted with the model. `progress` is called after each fold, from 1.
    """
    readers = {"proba": positive_proba} if readers is None else readers
    values: dict[str, Floats] = {}
    seconds = dict.fromkeys(readers, 0.0)
    fold = np.empty(len(y), dtype=np.int64)
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
    for k, (train, test) in enumerate(splitter.split(X, y)):
        preprocessor = make_preprocessor(X)
        rows = preprocessor.fit_transform(X.iloc[train])
        new_rows = preprocessor.transform(X.iloc[test])
        started = time.perf_counter()
        model = clone(estimator).fit(rows, y[train])
        fit_seconds = time.perf_counter() - started
        for name, reader in readers.items():
            started = time.perf_counter()
            read = reader(model, new_rows)
            values.setdefault(name, np.empty((len(y), *read.shape[1:])))[test] = read
            seconds[name] += fit_seconds + time.perf_counter() - started
        fold[test] = k
        if progress is not None:
            progress(k + 1)
    return OutOfFold(values, fold, seconds)
