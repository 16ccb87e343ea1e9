"""Scores of samples by classifiers that were fitted to other samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv

from svmproba._types import Bools, Floats
from svmproba.bootstrap.fitting.bags import draw_held_out, draw_held_out_groups
from svmproba.estimators.input.samples import take_rows

_LARGEST = np.finfo(np.float64).max / 4
RESPONSES = ("auto", "predict_proba", "decision_function")


def fit_part(
    estimator: Any, X: Any, y: Any, places: NDArray[np.intp], params: dict[str, Any]
) -> Any:
    """Fit a copy of the classifier to the samples at these places, with their metadata."""
    n = len(y)
    part = {
        name: take_rows(value, places) if np.ndim(value) and len(value) == n else value
        for name, value in params.items()
    }
    return clone(estimator).fit(take_rows(X, places), take_rows(y, places), **part)


def hold_back(
    positive: Bools,
    judged: Bools,
    groups: NDArray[np.int64] | None,
    share: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Places of the samples that are fitted, and of those held back; groups need judged ones."""
    if groups is None:
        held = draw_held_out(positive, share, rng)
    else:
        held = draw_held_out_groups(groups, judged, share, rng)
    return np.setdiff1d(np.arange(len(positive)), held), held


def folds_of(
    cv: Any, positive: Bools, groups: NDArray[np.int64] | None, rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Places of the samples that are fitted, and of those that are scored, for every fold."""
    splitter = check_cv(cv, positive, classifier=True)
    if isinstance(splitter, StratifiedKFold) and not splitter.shuffle:
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        seed = int(rng.integers(2**31))
        splitter = kind(splitter.get_n_splits(), shuffle=True, random_state=seed)
    for kept, held in splitter.split(np.zeros(len(positive)), positive, groups):
        if groups is not None and len(np.intersect1d(groups[kept], groups[held])):
            raise ValueError(
                f"cv must keep the samples of a group together, as GroupKFold does, got {cv!r}."
            )
        yield kept, held


def scores_of(estimator: Any, X: Any, response: str, plus: int) -> Floats:
    """Score of every sample, larger for the class of interest, the one at `plus`."""
    names = RESPONSES[1:] if response == "auto" else (response,)
    name = next((name for name in names if hasattr(estimator, name)), None)
    if name is None:
        raise TypeError(
            f"estimator must have {' or '.join(names)}, got {type(estimator).__name__}, which has "
            f"not."
        )
    found = np.asarray(getattr(estimator, name)(X), dtype=np.float64)
    # Infinite scores (log odds of a tree) keep their order, and a threshold below them is finite.
    found = np.clip(found, -_LARGEST, _LARGEST)
    if found.ndim == 2:
        return found[:, plus]
    return found if plus else -found


def refuse_unknown(scores: Floats) -> None:
    """Refuse a classifier that has no score for some samples: no threshold holds for them."""
    n = int(np.count_nonzero(np.isnan(scores)))
    if n:
        raise ValueError(f"estimator must score every sample, got NaN for {n} of {len(scores)}.")
