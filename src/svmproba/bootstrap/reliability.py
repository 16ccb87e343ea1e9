"""Reliability of a hyperparameter value: out-of-bag performance, and the weights made of it.

Every count here is an exact integer, so results do not depend on how bags were grouped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MEASURES = ("accuracy", "balanced_accuracy", "g_mean", "auc")

Floats = NDArray[np.float64]


def reliability_of_bags(
    measure: str,
    scores: Floats,
    twice_votes: NDArray[np.uint8],
    out_of_bag: NDArray[np.bool_],
    positive: NDArray[np.bool_],
) -> Floats:
    r"""Measure each member on the records its bag left out.

    With out-of-bag rates TPR and TNR, in which a score of exactly 0 is half right: *accuracy* is
    the share of right records, *balanced_accuracy* is :math:`(TPR+TNR)/2`, *g_mean* is
    :math:`\sqrt{TPR\cdot TNR}`, and *auc* is the probability that a positive record scores above
    a negative one, ties counted half.

    Parameters
    ----------
    measure : {"accuracy", "balanced_accuracy", "g_mean", "auc"}
        Name of the measure.
    scores : ndarray, shape (n_bags, n_theta, n_samples)
        Scores of the members; used by ``"auc"`` alone.
    twice_votes : ndarray of uint8, shape (n_bags, n_theta, n_samples)
        Twice the vote (0, 1 or 2) of each member for each record, 0 for records in the bag.
    out_of_bag : ndarray of bool, shape (n_bags, n_samples)
        Which records each bag left out.
    positive : ndarray of bool, shape (n_samples,)
        Which records belong to the class of interest.

    Returns
    -------
    ndarray, shape (n_theta, n_bags)
        NaN where undefined: no record out of bag, or (all but accuracy) only one class of them.
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
    """Measure members from counts of their out-of-bag votes; every measure but the AUC.

    Parameters
    ----------
    measure : {"accuracy", "balanced_accuracy", "g_mean"}
        Name of the measure.
    n_plus, n_minus : ndarray of int, shape (n_bags,)
        Records of either class that each bag left out.
    voted, right_plus : ndarray of int, shape (n_theta, n_bags)
        Twice the votes for the class of interest, over all these records and over its own.

    Returns
    -------
    ndarray, shape (n_theta, n_bags)
        NaN where undefined.
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
        # Sorted queries walk the sorted table in order, which is kind to the cache.
        above, below = np.sort(scores[b][:, plus]), np.sort(scores[b][:, minus])
        for k in range(n_theta):
            won = np.searchsorted(below[k], above[k], "left").sum()
            won_or_tied = np.searchsorted(below[k], above[k], "right").sum()
            auc[k, b] = (won + won_or_tied) / (2 * n_pairs)
    return auc


def mean_reliability(values: Floats) -> Floats:
    """Average the reliability over the bags in which it is defined.

    Parameters
    ----------
    values : ndarray, shape (n_theta, n_bags)
        Reliability of every member, NaN in bags where it is undefined.

    Returns
    -------
    ndarray, shape (n_theta,)
        NaN if it is defined in no bag.
    """
    defined = ~np.isnan(values).any(axis=0)
    if not defined.any():
        return np.full(len(values), np.nan)
    return np.ascontiguousarray(values[:, defined]).mean(axis=1)


def weights(reliability: Floats, epsilon: float) -> Floats:
    r"""Weights :math:`\rho_\theta` of the hyperparameter values.

    .. math::
        J=\{\theta: r_\theta\ge\max_l r_l-\varepsilon\},\qquad
        \rho_\theta=\frac{r_\theta 1\{\theta\in J\}}{\sum_{l\in J}r_l}.

    Parameters
    ----------
    reliability : ndarray, shape (n_theta,)
        Mean out-of-bag performance :math:`r_\theta`.
    epsilon : float
        Distance to the best that is still kept: 0 keeps the best value and those tied with it,
        infinity keeps all.

    Returns
    -------
    ndarray, shape (n_theta,)
        Non-negative, sum 1; uniform if no reliability is positive or none is defined.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.bootstrap.reliability import weights
    >>> weights(np.array([0.6, 0.9, 0.9]), epsilon=np.inf)
    array([0.25 , 0.375, 0.375])
    >>> weights(np.array([0.6, 0.9, 0.9]), epsilon=0.0)
    array([0. , 0.5, 0.5])
    """
    if np.isnan(reliability).any():
        return np.full(len(reliability), 1 / len(reliability))
    # The slack keeps values that are tied but for the rounding of their mean.
    kept = reliability >= reliability.max() - epsilon - 1e-12
    share = np.where(kept, reliability, 0.0)
    if share.sum() == 0:
        share = kept.astype(np.float64)
    return share / share.sum()
