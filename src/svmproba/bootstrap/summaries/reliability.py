"""Reliability of a hyperparameter value: out-of-bag performance, and the weights made of it.

Every count here is an exact integer, so results do not depend on how bags were grouped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Floats

MEASURES = ("accuracy", "balanced_accuracy", "g_mean", "auc")


def reliability_of_bags(
    measure: str,
    scores: Floats,
    twice_votes: NDArray[np.uint8],
    out_of_bag: NDArray[np.bool_],
    positive: NDArray[np.bool_],
) -> Floats:
    r"""Measure each member on the samples that its bag left out; gives (n_theta, n_bags).

    *accuracy* is the share of right samples, *balanced_accuracy* :math:`(TPR+TNR)/2`, *g_mean*
    :math:`\sqrt{TPR\cdot TNR}` and *auc* the area under the ROC curve; ties count half. NaN where
    undefined. Scores and twice the votes (0 in the bag) are (n_bags, n_theta, n_samples).
    """
    if measure == "auc":
        return _auc(scores, out_of_bag, positive)
    n_plus = np.count_nonzero(out_of_bag & positive, axis=1)
    n_minus = np.count_nonzero(out_of_bag, axis=1) - n_plus
    narrow = np.min_scalar_type(2 * len(positive))  # several times as fast as wide sums
    voted = twice_votes.sum(axis=2, dtype=narrow).T.astype(np.int64)
    right_plus = (twice_votes * positive.view(np.uint8)).sum(axis=2, dtype=narrow).T
    return reliability_from_counts(measure, n_plus, n_minus, voted, right_plus.astype(np.int64))


def reliability_from_counts(
    measure: str,
    n_plus: NDArray[np.int64],
    n_minus: NDArray[np.int64],
    voted: NDArray[np.int64],
    right_plus: NDArray[np.int64],
) -> Floats:
    """Measure members from counts of the samples left out (n_bags,) and of twice the votes.

    Votes (n_theta, n_bags) are those for the class of interest: all, and those of its own samples.
    """
    right_minus = 2 * n_minus - (voted - right_plus)
    with np.errstate(invalid="ignore", divide="ignore"):
        if measure == "accuracy":
            return (right_plus + right_minus) / (2 * (n_plus + n_minus))
        tpr, tnr = right_plus / (2 * n_plus), right_minus / (2 * n_minus)
        return (tpr + tnr) / 2 if measure == "balanced_accuracy" else np.sqrt(tpr * tnr)


def _auc(scores: Floats, out_of_bag: NDArray[np.bool_], positive: NDArray[np.bool_]) -> Floats:
    n_bags, n_theta, _ = scores.shape
    auc = np.full((n_theta, n_bags), np.nan)
    for b in range(n_bags):
        plus = np.flatnonzero(out_of_bag[b] & positive)
        minus = np.flatnonzero(out_of_bag[b] & ~positive)
        n_pairs = len(plus) * len(minus)
        if n_pairs == 0:
            continue
        # Sorted queries read the sorted table in order, which is fast.
        above, below = np.sort(scores[b][:, plus]), np.sort(scores[b][:, minus])
        for k in range(n_theta):
            won = np.searchsorted(below[k], above[k], "left").sum()
            won_or_tied = np.searchsorted(below[k], above[k], "right").sum()
            auc[k, b] = (won + won_or_tied) / (2 * n_pairs)
    return auc


def mean_reliability(values: Floats) -> Floats:
    """Average the reliability (n_theta, n_bags) over bags where it is defined; NaN if in none."""
    defined = ~np.isnan(values).any(axis=0)
    if not defined.any():
        return np.full(len(values), np.nan)
    return np.ascontiguousarray(values[:, defined]).mean(axis=1)


def weights(reliability: Floats, epsilon: float) -> Floats:
    """Weights proportional to reliabilities; 0 for those more than epsilon below the best.

    Uniform if no reliability is positive or none is defined.
    """
    if np.isnan(reliability).any():
        return np.full(len(reliability), 1 / len(reliability))
    # The slack keeps values that are tied but for the rounding of their mean.
    kept = reliability >= reliability.max() - epsilon - 1e-12
    share = np.where(kept, reliability, 0.0)
    if share.sum() == 0:
        share = kept.astype(np.float64)
    return share / share.sum()
