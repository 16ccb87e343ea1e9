"""Errors and areas under the curve of predicted probabilities, with standard errors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from svmproba._types import Floats
from svmproba.evaluation import class_mse, mse
from svmproba.evaluation._class_checks import class_squares


class Summary(NamedTuple):
    """Performance of probabilities on samples that the models were fitted without.

    Mean squared errors are pooled over the folds, so that a fold without positives does no harm;
    their standard errors come from the spread over the samples. The AUC is the mean over the folds
    that have both classes, its standard error that of the folds or, for a single one, by DeLong.
    """

    mse: float
    mse_se: float
    mse_plus: float
    mse_plus_se: float
    mse_minus: float
    mse_minus_se: float
    auc: float
    auc_se: float


def summarise(
    y: NDArray[np.int64],
    proba: Floats,
    fold: NDArray[np.int64],
    *,
    repeat: NDArray[np.int64] | None = None,
    record: NDArray[np.int64] | None = None,
) -> Summary:
    """Summarise predictions as the paper does, with standard errors.

    Repeats share their samples: `record` is the sample of each prediction, None: each occurs
    once.
    """
    repeat = np.zeros_like(fold) if repeat is None else repeat
    record = np.arange(len(y)) if record is None else record
    plus, minus = class_mse(y, proba, pos_label=1)
    squares = (y - proba) ** 2
    auc, auc_se = _mean_auc(y, proba, fold, repeat)
    return Summary(
        mse=mse(y, proba, pos_label=1),
        mse_se=_error_over_samples(squares, record),
        mse_plus=plus,
        mse_plus_se=_error_over_samples(squares[y == 1], record[y == 1]),
        mse_minus=minus,
        mse_minus_se=_error_over_samples(squares[y == 0], record[y == 0]),
        auc=auc,
        auc_se=auc_se,
    )


class ClassSummary(NamedTuple):
    """Performance of the probabilities of several classes on samples left out of the fits.

    The Brier score is a sum over the classes, with its standard error over the samples. The AUC is
    the mean over all pairs of classes (Hand and Till 2001), over all samples.
    """

    brier: float
    brier_se: float
    accuracy: float  # of the most probable class
    accuracy_se: float
    auc: float


def summarise_classes(label: NDArray[np.int64], P: Floats) -> ClassSummary:
    """Summarise probabilities (n, n_classes) of samples whose labels are places of classes."""
    squares, right = class_squares(label, P), P.argmax(axis=1) == label
    return ClassSummary(
        brier=float(squares.mean()),
        brier_se=_standard_error(squares),
        accuracy=float(right.mean()),
        accuracy_se=_standard_error(right),
        auc=float(roc_auc_score(label, P, multi_class="ovo")),
    )


def _error_over_samples(squares: Floats, record: NDArray[np.int64]) -> float:
    """Compute the standard error of a mean over samples, each with the mean of its predictions."""
    n_predictions = np.bincount(record)
    seen = n_predictions > 0
    return _standard_error(np.bincount(record, squares)[seen] / n_predictions[seen])


def _standard_error(values: NDArray[Any]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def _mean_auc(
    y: NDArray[np.int64],
    proba: Floats,
    fold: NDArray[np.int64],
    repeat: NDArray[np.int64],
) -> tuple[float, float]:
    """Mean area under the curve of all parts, and its standard error."""
    by_repeat: list[list[float]] = []
    for r in np.unique(repeat):
        parts = [(repeat == r) & (fold == k) for k in np.unique(fold[repeat == r])]
        # A fold without both classes has no ROC curve.
        parts = [part for part in parts if 0 < y[part].sum() < part.sum()]
        by_repeat.append([float(roc_auc_score(y[part], proba[part])) for part in parts])
    aucs = [auc for of_repeat in by_repeat for auc in of_repeat]
    if not aucs:
        return float("nan"), float("nan")
    if len(aucs) == 1:
        return aucs[0], _delong_error(y, proba)
    if all(len(of_repeat) <= 1 for of_repeat in by_repeat):
        return float(np.mean(aucs)), _standard_error(np.array(aucs))
    errors = [_standard_error(np.array(of_repeat)) for of_repeat in by_repeat]
    return float(np.mean(aucs)), float(np.sqrt(np.nanmean(np.square(errors))))


def _delong_error(y: NDArray[np.int64], proba: Floats) -> float:
    """Compute the standard error of one area (DeLong, DeLong and Clarke-Pearson 1988)."""
    positive, negative = np.sort(proba[y == 1]), np.sort(proba[y == 0])
    variance = 0.0
    for of_class, others in ((positive, negative), (negative, positive)):
        if len(of_class) < 2:
            return float("nan")
        sides = [np.searchsorted(others, of_class, side=side) for side in ("left", "right")]
        placements = np.mean(sides, axis=0) / len(others)
        variance += np.var(placements, ddof=1) / len(of_class)
    return float(np.sqrt(variance))
