"""What displays and scorers read from a fitted classifier."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from svmproba._types import Bools, Floats
from svmproba.bootstrap.summaries.votes import HALF
from svmproba.bootstrap.threshold import RateCurve
from svmproba.evaluation._one_class import class_margin, deciding_scores
from svmproba.evaluation.measures.metrics import Label, class_mse
from svmproba.evaluation.measures.rates import curve_of_blocks, rates_at

#: Name of the other classes, if there are several.
REST = "other classes"


class Levels(NamedTuple):
    """The number that decides the class of each sample: positive at or above the threshold."""

    values: Floats
    threshold: float
    name: str  # of the values


def last_step(estimator: Any) -> Any:
    """Return the estimator itself, or the one at the end of a pipeline."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def rows_for_last_step(estimator: Any, X: Any) -> Any:
    """Return the table as the last step of a pipeline sees it."""
    return estimator[:-1].transform(X) if isinstance(estimator, Pipeline) else X


def column_of(estimator: Any, pos_label: Label) -> tuple[int, Label]:
    """Column of ``predict_proba`` that belongs to the class of interest, and that class.

    Of more than two classes `pos_label` names the one that stands against the rest.
    """
    classes = np.asarray(estimator.classes_).tolist()
    if has_several(estimator) and pos_label is None:
        raise ValueError(
            f"estimator has {len(classes)} classes: pos_label must name one of {classes}, which "
            f"stands against the rest; got None"
        )
    wanted = own_label(estimator) if pos_label is None else pos_label
    if wanted not in classes:
        raise ValueError(f"pos_label={wanted!r} is not among the estimator's classes {classes}")
    return classes.index(wanted), wanted


def has_several(estimator: Any) -> bool:
    """Whether a classifier has more than two classes."""
    return len(estimator.classes_) > 2


def own_label(estimator: Any) -> Label:
    """Class that is positive for the estimator itself."""
    label: Label = getattr(last_step(estimator), "pos_label_", estimator.classes_[1])
    return label


def class_names_of(estimator: Any, pos_label: Label = None) -> tuple[str, str]:
    """Labels of the negative and the positive class of an estimator, as text."""
    column, label = column_of(estimator, pos_label)
    other = REST if has_several(estimator) else str(estimator.classes_[1 - column])
    return other, str(label)


def class_names_in(y_true: ArrayLike, positive: Bools) -> tuple[str, str]:
    """Labels of the negative and the positive class among some samples, as text."""
    labels = np.asarray(y_true)
    others = [str(label) for label in np.unique(labels[~positive])] or ["negative"]
    return (
        others[0] if len(others) == 1 else REST,
        str(labels[positive][0]) if positive.any() else "positive",
    )


def is_ensemble(model: Any) -> bool:
    """Whether it is a bootstrap ensemble of this package."""
    return hasattr(model, "vote_shares")


def is_calibrated(model: Any) -> bool:
    """Whether its probabilities are calibrated, and not vote shares at its threshold."""
    return getattr(model, "calibrator_", None) is not None


def _differs_among_samples(ensemble: Any) -> bool:
    """Whether the threshold is that of jackknife+, or each subgroup has its own."""
    return ensemble.ensemble_.jackknife is not None or ensemble.ensemble_.separate


def single_threshold(ensemble: Any) -> float | None:
    """Threshold of calibrated probabilities, or else of scores; None if it is not a single one."""
    if _differs_among_samples(ensemble):
        return None
    calibrated = is_calibrated(ensemble)
    threshold = ensemble.proba_threshold_ if calibrated else ensemble.threshold_
    # Costs set a threshold of the vote shares, which is no threshold of the scores.
    scores_decide = calibrated or ensemble.costs_ is None
    return float(threshold) if scores_decide and np.ndim(threshold) == 0 else None


def levels_of(estimator: Any, X: Any, pos_label: Label = None) -> Levels:
    """Read the number that decides the class of each sample.

    For vote shares it is the weighted median of all scores, for calibrated probabilities and costs
    the probability, else the score. With more classes, it is the lead over the best of the others.
    """
    model, (column, label) = last_step(estimator), column_of(estimator, pos_label)
    if has_several(estimator):
        if hasattr(estimator, "predict_proba"):
            scores, name = deciding_scores(model, estimator.predict_proba(X))
        else:
            scores, name = estimator.decision_function(X), "score of {}, less the largest other"
        return Levels(class_margin(scores, column), 0.0, name.format(label))
    own = label == own_label(estimator)
    if is_ensemble(model) and _differs_among_samples(model):
        raise ValueError(
            "There is no single threshold: that of guarantee='jackknife+' differs from sample to "
            "sample, and with common_threshold=False each subgroup has its own."
        )
    by_cost = getattr(model, "costs_", None) is not None
    if is_ensemble(model) and not is_calibrated(model) and not by_cost:
        values, threshold, name = _medians_of(model, rows_for_last_step(estimator, X))
    elif hasattr(estimator, "decision_function") and not by_cost:
        values, threshold, name = estimator.decision_function(X), 0.0, "score"
    else:
        threshold = float(getattr(model, "proba_threshold_", 0.5))
        values, name = estimator.predict_proba(X)[:, column], f"probability of {label}"
        return Levels(values, threshold if own else 1 - threshold, name)
    return Levels(values, threshold, name) if own else Levels(-values, -threshold, name)


def _medians_of(ensemble: Any, X: Any) -> Levels:
    thresholds, parts = np.asarray(ensemble.threshold_), []
    for _, scores in ensemble.member_scores(X):
        weight = np.repeat(ensemble.weights_ / scores.shape[1], scores.shape[1])
        # Distances from thresholds of their own share the threshold 0.
        above = scores - thresholds[:, np.newaxis, np.newaxis] if thresholds.ndim else scores
        parts.append(_median(above.reshape(len(weight), -1), weight))
    if thresholds.ndim:
        return Levels(np.concatenate(parts), 0.0, "median score, from each value's own threshold")
    return Levels(np.concatenate(parts), float(thresholds), "median score of the members")


def _median(scores: Floats, weight: Floats) -> Floats:
    """Largest value that scores of half the weight reach, for each column."""
    order = np.argsort(-scores, axis=0)
    reached = np.cumsum(weight[order], axis=0) >= HALF
    place = np.take_along_axis(order, reached.argmax(axis=0)[np.newaxis], axis=0)
    return np.take_along_axis(scores, place, axis=0)[0]


def rate_curve_on(estimator: Any, X: Any, positive: Bools, thresholds: Floats) -> RateCurve:
    """Rates and errors of an ensemble on new samples, at thresholds of what decides, increasing."""
    model = last_step(estimator)
    if is_calibrated(model):
        column, _ = column_of(estimator, None)
        proba = estimator.predict_proba(X)[:, column]
        # Probabilities that equal a threshold are common, and not above it.
        rates = rates_at(positive, proba, np.nextafter(thresholds, np.inf), pos_label=True)
        errors = (np.full(len(thresholds), e) for e in class_mse(positive, proba, pos_label=True))
        return RateCurve(thresholds, np.asarray(rates.tpr), np.asarray(rates.tnr), *errors)
    blocks = model.member_scores(rows_for_last_step(estimator, X))
    return curve_of_blocks(blocks, positive, model.weights_, thresholds)
