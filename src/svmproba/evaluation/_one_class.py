"""One of more than two classes against the rest: what decides whether it is called."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from svmproba._types import Floats
from svmproba.bootstrap.classes.levels import class_levels
from svmproba.bootstrap.summaries.blocks import row_blocks
from svmproba.bootstrap.threshold import RateCurve
from svmproba.estimators.classes.rates import class_rate_curve, new_judges


def class_margin(scores: Floats, place: int) -> Floats:
    """Score (n,) of a class less the largest of the others, from scores (n, n_classes).

    It is negative, if only just, where an earlier class with the same score is called.
    """
    margin = scores[:, place] - np.delete(scores, place, axis=1).max(axis=1)
    lost = (margin == 0) & (scores.argmax(axis=1) != place)
    return np.where(lost, -np.finfo(np.float64).tiny, margin)


def deciding_scores(model: Any, P: Floats) -> tuple[Floats, str]:
    """Scores (n, n_classes) of which the largest is called, and what they are."""
    costs = getattr(model, "costs_", None)
    if costs is not None:
        return -P @ costs, "expected cost saved by {}"
    factors = getattr(model, "class_factors_", None)
    if factors is not None and np.any(factors != 1):
        return P * factors, "weighted probability of {}, less the largest other"
    return P, "probability of {}, less the largest other"


def class_votes(model: Any, X: Any, place: int) -> tuple[Floats, float]:
    """Levels (n_bootstraps, n) at the most reliable hyperparameter value, and their threshold."""
    ensemble, rows = model.ensemble_, model._check_new(X)
    best, others = int(np.argmax(ensemble.reliability)), ensemble.shifts.copy()
    others[place] = 0.0
    n_theta, n_bags = ensemble.members.of_pair[0].intercept.shape
    levels = [
        class_levels(ensemble.members, rows[block], place, others)[:, best]
        for block in row_blocks(rows.shape[0], rows.shape[1] + n_theta * n_bags)
    ]
    return np.concatenate(levels).T, -float(ensemble.shifts[place])


def class_threshold(model: Any, place: int) -> float | None:
    """Threshold of a class in its `rate_curve`; None where costs decide."""
    if model.costs_ is not None:
        return None
    if model.calibrator_ is None:
        return -float(model.class_shifts_[place])
    return 1 / (1 + float(model.class_factors_[place]))


def class_curve_on(model: Any, X: Any, y: ArrayLike, place: int) -> RateCurve:
    """Rates of one class against the rest on new samples."""
    rows, labels = model._check_judges(X, y)
    judges = new_judges(
        model.ensemble_, rows, np.searchsorted(model.classes_, labels), model.n_jobs
    )
    return class_rate_curve(model.ensemble_, place, judges, model.n_jobs)
