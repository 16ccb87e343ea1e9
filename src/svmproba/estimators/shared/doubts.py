"""Warnings of fits whose results are doubtful."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from svmproba.bootstrap.classes.fitted import FittedClasses
from svmproba.bootstrap.fitted import FittedEnsemble

#: Range of the vote shares of all samples below which they are constant.
CONSTANT_VOTES = 0.01
#: Samples of one of several classes below which its rates and probabilities are rough.
FEW = 5


def warn_of_gaps(gap: NDArray[np.float64], tol: float, stacklevel: int = 3) -> None:
    """Warn of SVMs that did not converge."""
    open_gaps = gap[~(gap <= tol)]
    if open_gaps.size:
        message = (
            f"{open_gaps.size} of {gap.size} SVMs did not reach a relative duality gap of "
            f"tol={tol}; the largest is {open_gaps.max():.2g}."
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel)


def warn_of_bags(ensemble: FittedEnsemble, reliability: str) -> None:
    """Warn of out-of-bag figures that do not exist, and of members that are constant."""
    for message in _doubts_of(ensemble, reliability):
        warnings.warn(message, UserWarning, stacklevel=4)


def warn_of_classes(ensemble: FittedClasses, reliability: str) -> None:
    """Warn of out-of-bag figures of several classes that do not exist."""
    for message in _doubts_of_bags(ensemble, reliability):
        warnings.warn(message, UserWarning, stacklevel=6)


def warn_of_small_classes(classes: NDArray[Any], sizes: NDArray[np.intp], stacklevel: int) -> None:
    """Warn of classes with few samples, by name."""
    names = classes.tolist()
    few = [f"{names[k]!r} ({sizes[k]})" for k in np.flatnonzero(sizes < FEW)]
    if few:
        warnings.warn(
            f"Classes with fewer than {FEW} samples: {', '.join(few)}. Their recall and their "
            f"probabilities are rough.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def _doubts_of_bags(ensemble: FittedEnsemble | FittedClasses, reliability: str) -> list[str]:
    found, n_bags = [], len(ensemble.counts)
    n_always_in = np.count_nonzero(ensemble.counts.all(axis=0))
    if n_always_in:
        found.append(
            f"{n_always_in} samples are in every bag and have no out-of-bag probability: "
            f"n_bootstraps={n_bags} is small."
        )
    if np.isnan(ensemble.reliability).any():
        found.append(
            f"reliability={reliability!r} is defined in none of the {n_bags} bags, so all "
            f"hyperparameter values weigh the same."
        )
    return found


def _doubts_of(ensemble: FittedEnsemble, reliability: str) -> list[str]:
    found = _doubts_of_bags(ensemble, reliability)
    P = ensemble.vote_proba[~np.isnan(ensemble.vote_proba)]
    if ensemble.is_calibrated and np.isinf(ensemble.score_scales).all():
        found.append(
            "The members give all samples the same score, as SVMs do where a class is rare, so "
            "that the calibrated probability is the share of the class for all of them. Set "
            "class_weight='auto'."
        )
    elif not ensemble.is_calibrated and P.size and np.ptp(P) < CONSTANT_VOTES:
        found.append(
            f"The vote shares of all samples are alike ({P.min():.3g} to {P.max():.3g}): nearly "
            f"every member calls all samples the same class, as SVMs do where a class is rare. "
            f"Set calibration='auto', or class_weight='auto' and reliability='balanced_accuracy'."
        )
    return found
