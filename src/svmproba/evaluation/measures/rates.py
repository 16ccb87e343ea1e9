"""Recall of either class, at one threshold or at all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from svmproba._types import Bools, Floats
from svmproba.bootstrap.summaries.votes import mix_shares, vote_shares
from svmproba.bootstrap.threshold import RateCurve
from svmproba.evaluation.measures.metrics import Label, check_scores, finite, is_positive

MAX_THRESHOLDS = 200
#: Scores whose votes are counted together: they stay in the cache for all thresholds.
BLOCK = 300_000


class Rates(NamedTuple):
    """Rates at one threshold (float) or at several (ndarray).

    Attributes
    ----------
    tpr, fpr : float or ndarray
        Share of the positives, and of the negatives, that are called positive.
    tnr : float or ndarray
        Share of the negatives that are called negative.
    precision : float or ndarray
        Share of positives among the samples that are called positive.
    """

    tpr: Floats | float
    fpr: Floats | float
    tnr: Floats | float
    precision: Floats | float


def rates_at(
    y_true: ArrayLike, scores: ArrayLike, threshold: ArrayLike, *, pos_label: Label = None
) -> Rates:
    """Rates of both classes where samples at or above a threshold are called positive.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of two classes.
    scores : array-like of shape (n,)
        Scores or probabilities of the class of interest, larger for positives.
    threshold : float or array-like
        One threshold or several.
    pos_label : label, default=None
        The class of interest, by default the larger label.

    Returns
    -------
    Rates
        Of the shape of `threshold`. NaN for a share of no samples.

    Examples
    --------
    >>> from svmproba.evaluation import rates_at
    >>> rates_at([0, 0, 1, 1], [0.1, 0.6, 0.5, 0.9], 0.5)
    Rates(tpr=1.0, fpr=0.5, tnr=0.5, precision=0.6666666666666666)
    >>> rates_at([0, 0, 1, 1], [0.1, 0.6, 0.5, 0.9], [0.2, 0.8]).tpr
    array([1. , 0.5])
    """
    positive = is_positive(y_true, pos_label)
    values, thresholds = finite(scores, "scores"), finite(threshold, "threshold", infinite=True)
    if values.shape != positive.shape:
        raise ValueError(
            f"scores must hold one number for each sample, shape {positive.shape}, "
            f"got shape {values.shape}"
        )
    n_plus, n_minus = int(positive.sum()), int((~positive).sum())
    true, false = (
        len(part) - np.searchsorted(np.sort(part), thresholds)
        for part in (values[positive], values[~positive])
    )
    of_each = ((true, n_plus), (false, n_minus), (n_minus - false, n_minus), (true, true + false))
    with np.errstate(invalid="ignore"):
        shares = [np.divide(part, whole)[()] for part, whole in of_each]
    return Rates(*(share if thresholds.ndim else float(share) for share in shares))


def rate_curve(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    thresholds: ArrayLike | None = None,
    pos_label: Label = None,
) -> RateCurve:
    r"""Rates and errors of both classes at many thresholds.

    The probability at threshold t is the weighted share of the members whose score is above t, ties
    counted half. A sample is called positive where that is at least one half.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of two classes.
    scores : array-like of shape (n,) or (..., n)
        One score for each sample, or one for each member and sample.
    weights : array-like, default=None
        Weights of the members along the first axis of `scores`; equal by default.
    thresholds : array-like of shape (n_thresholds,), default=None
        Thresholds. By default the median scores of the samples, at most 200 quantiles of them, and
        one threshold above all.
    pos_label : label, default=None
        The class of interest, by default the larger label.

    Returns
    -------
    RateCurve
        The mean squared errors are NaN where each sample has one score: one vote is no
        probability. The rates of a class without samples are NaN.

    Examples
    --------
    >>> from svmproba.evaluation import rate_curve
    >>> curve = rate_curve([0, 0, 1, 1], [-2.0, 0.3, 0.1, 1.0], thresholds=[-3, 0, 2])
    >>> curve.tpr, curve.tnr
    (array([1., 1., 0.]), array([0. , 0.5, 1. ]))
    """
    positive = is_positive(y_true, pos_label)
    values = check_scores(positive, scores)
    rho = _theta_weights(weights, values.shape)
    members = values.reshape(len(rho), -1, len(positive))
    if thresholds is None:
        at = _thresholds_between(np.median(members, axis=(0, 1)))
    else:
        at = np.unique(finite(thresholds, "thresholds"))
    if members.size > len(positive):
        return curve_of_blocks([(slice(None), members)], positive, rho, at)
    rates = rates_at(positive, members.ravel(), at, pos_label=True)
    unknown = np.full(len(at), np.nan)
    return RateCurve(at, np.asarray(rates.tpr), np.asarray(rates.tnr), unknown, unknown)


def curve_of_blocks(
    blocks: Iterable[tuple[slice, Floats]], positive: Bools, rho: Floats, thresholds: Floats
) -> RateCurve:
    """Rates and errors at thresholds, from blocks of samples and scores (n_theta, n_bags, m)."""
    hits, squares = np.zeros((2, len(thresholds))), np.zeros((2, len(thresholds)))
    for block, scores in blocks:
        for shares, plus in _shares_at(scores, positive[block], rho, thresholds):
            for k, of_class in enumerate((~plus, plus)):
                hits[k] += (shares[:, of_class] >= 0.5).sum(axis=1)
                squares[k] += ((k - shares[:, of_class]) ** 2).sum(axis=1)
    counts = np.array([[np.sum(~positive)], [np.sum(positive)]])
    with np.errstate(invalid="ignore"):
        called, errors = hits / counts, squares / counts
    return RateCurve(thresholds, called[1], 1 - called[0], errors[1], errors[0])


def _shares_at(
    scores: Floats, positive: Bools, rho: Floats, thresholds: Floats
) -> Iterable[tuple[Floats, Bools]]:
    """Vote shares (n_thresholds, n) and labels, a few samples at a time."""
    step = max(1, BLOCK // (scores.shape[0] * scores.shape[1] + len(thresholds)))
    for start in range(0, len(positive), step):
        part = slice(start, start + step)
        by_bag = np.ascontiguousarray(np.moveaxis(scores[..., part], 1, 2))
        shares = [mix_shares(vote_shares(by_bag, at), rho) for at in thresholds]
        yield np.array(shares), positive[part]


def _thresholds_between(middle: Floats) -> Floats:
    distinct = np.unique(middle)
    if len(distinct) >= MAX_THRESHOLDS:
        places = np.linspace(0, 1, MAX_THRESHOLDS)
        distinct = np.unique(np.quantile(middle, places, method="inverted_cdf"))
    return np.append(distinct, np.nextafter(distinct[-1], np.inf))


def _theta_weights(weights: ArrayLike | None, shape: tuple[int, ...]) -> Floats:
    """Weights along the first axis of the scores, sum 1; a single one where all are equal."""
    if weights is None:
        return np.ones(1)
    given = finite(weights, "weights")
    if len(shape) < 2 or given.shape != shape[:1] or not given.sum() > 0:
        raise ValueError(
            "weights must hold one number for each entry of the first axis of scores, with a "
            f"positive sum, got shape {given.shape} for scores of shape {shape}"
        )
    return np.asarray(given / given.sum())
