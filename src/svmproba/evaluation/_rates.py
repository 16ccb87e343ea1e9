"""How many records of either class are called rightly, at one threshold or at all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmproba.bootstrap.threshold import RateCurve
from svmproba.bootstrap.votes import DECIMALS
from svmproba.evaluation._metrics import Label, is_positive

Floats = NDArray[np.float64]

MAX_THRESHOLDS = 200
#: Scores of members that are looked at together.
BLOCK = 2_000_000


class Rates(NamedTuple):
    """Shares of rightly and wrongly called records, numbers or one for each threshold.

    Attributes
    ----------
    tpr, fpr : float or ndarray
        Share of the positives, and of the negatives, that are called positive.
    tnr : float or ndarray
        Share of the negatives that are called negative.
    precision : float or ndarray
        Share of positives among the records that are called positive.
    """

    tpr: Floats | float
    fpr: Floats | float
    tnr: Floats | float
    precision: Floats | float


def rates_at(
    y_true: ArrayLike, scores: ArrayLike, threshold: ArrayLike, *, pos_label: Label = None
) -> Rates:
    """Rates of both classes where records at or above a threshold are called positive.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of two classes.
    scores : array-like of shape (n,)
        Scores or probabilities of the class of interest, larger for positives.
    threshold : float or array-like
        One or many thresholds.
    pos_label : label, default=None
        The class of interest, by default the larger label.

    Returns
    -------
    Rates
        Of the shape of `threshold`. NaN for a share of no records.

    Examples
    --------
    >>> from svmproba.evaluation import rates_at
    >>> rates_at([0, 0, 1, 1], [0.1, 0.6, 0.5, 0.9], 0.5)
    Rates(tpr=1.0, fpr=0.5, tnr=0.5, precision=0.6666666666666666)
    >>> rates_at([0, 0, 1, 1], [0.1, 0.6, 0.5, 0.9], [0.2, 0.8]).tpr
    array([1. , 0.5])
    """
    positive = is_positive(y_true, pos_label)
    values, thresholds = _finite(scores, "scores"), _finite(threshold, "threshold", infinite=True)
    if values.shape != positive.shape:
        raise ValueError(
            f"scores must hold one number for each record, shape {positive.shape}, "
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
    r"""Rates and errors of both classes at many thresholds, on records that are at hand.

    The probability at threshold t is the weighted share of the members whose score is above t, ties
    counted half. A record is called positive where that is at least one half.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of two classes.
    scores : array-like of shape (n,) or (..., n)
        One score for each record, or one for each member and record.
    weights : array-like, default=None
        Weights of the members along the first axis of `scores`; equal by default.
    thresholds : array-like of shape (n_thresholds,), default=None
        Thresholds. By default the median scores of the records, at most 200 quantiles of them, and
        one threshold above all.
    pos_label : label, default=None
        The class of interest, by default the larger label.

    Returns
    -------
    RateCurve
        The mean squared errors are NaN where each record has one score: one vote is no
        probability. The rates of a class without records are NaN.

    Examples
    --------
    >>> from svmproba.evaluation import rate_curve
    >>> curve = rate_curve([0, 0, 1, 1], [-2.0, 0.3, 0.1, 1.0], thresholds=[-3, 0, 2])
    >>> curve.tpr, curve.tnr
    (array([1., 1., 0.]), array([0. , 0.5, 1. ]))
    """
    positive, values = is_positive(y_true, pos_label), _finite(scores, "scores")
    if values.ndim < 1 or values.shape[-1] != len(positive):
        raise ValueError(
            f"scores must hold {len(positive)} records along their last axis, "
            f"got shape {values.shape}"
        )
    each = _member_weights(weights, values.shape)
    members = values.reshape(len(each), -1)
    if thresholds is None:
        at = _thresholds_between(np.median(members, axis=0))
    else:
        at = np.unique(_finite(thresholds, "thresholds"))
    step = max(1, BLOCK // (len(each) + len(at)))
    blocks = (slice(start, start + step) for start in range(0, len(positive), step))
    curve = curve_of_blocks(((block, members[:, block]) for block in blocks), positive, each, at)
    if len(each) > 1:
        return curve
    unknown = np.full(len(at), np.nan)
    return curve._replace(mse_plus=unknown, mse_minus=unknown)


def curve_of_blocks(
    blocks: Iterable[tuple[slice, Floats]],
    positive: NDArray[np.bool_],
    weights: Floats,
    thresholds: Floats,
) -> RateCurve:
    """Rates and errors at thresholds, from scores that come in blocks of records.

    Parameters
    ----------
    blocks : iterable of (slice, ndarray of shape (n_members, n_records_of_the_block))
    positive : ndarray of bool of shape (n,)
        Which records belong to the class of interest.
    weights : ndarray of shape (n_members,)
        Sum 1.
    thresholds : ndarray of shape (n_thresholds,)
        Increasing.

    Returns
    -------
    RateCurve
    """
    hits, squares = np.zeros((2, len(thresholds))), np.zeros((2, len(thresholds)))
    for block, scores in blocks:
        shares = _shares_above(scores, weights, thresholds)
        for k, of_class in enumerate((~positive[block], positive[block])):
            hits[k] += (shares[of_class] >= 0.5).sum(axis=0)
            squares[k] += ((k - shares[of_class]) ** 2).sum(axis=0)
    counts = np.array([[np.sum(~positive)], [np.sum(positive)]])
    with np.errstate(invalid="ignore"):
        called, errors = hits / counts, squares / counts
    return RateCurve(thresholds, called[1], 1 - called[0], errors[1], errors[0])


def _shares_above(scores: Floats, weights: Floats, thresholds: Floats) -> Floats:
    """Weighted share of the members above each threshold (n, n_thresholds); ties count half."""
    n, n_places = scores.shape[1], len(thresholds) + 1
    votes = np.zeros(n * n_places)
    half = np.broadcast_to(weights[:, np.newaxis] / 2, scores.shape).ravel()
    for side in ("left", "right"):
        # A score votes at all thresholds before its place: those below it, or those not above it.
        place = np.searchsorted(thresholds, scores, side=side) + n_places * np.arange(n)
        votes += np.bincount(place.ravel(), weights=half, minlength=votes.size)
    steps = votes.reshape(n, n_places)[:, :0:-1]
    return np.round(np.cumsum(steps, axis=1)[:, ::-1], DECIMALS)


def _thresholds_between(middle: Floats) -> Floats:
    distinct = np.unique(middle)
    if len(distinct) >= MAX_THRESHOLDS:
        places = np.linspace(0, 1, MAX_THRESHOLDS)
        distinct = np.unique(np.quantile(middle, places, method="inverted_cdf"))
    return np.append(distinct, np.nextafter(distinct[-1], np.inf))


def _member_weights(weights: ArrayLike | None, shape: tuple[int, ...]) -> Floats:
    n_members = int(np.prod(shape[:-1]))
    if weights is None:
        return np.full(n_members, 1 / n_members)
    along_first = _finite(weights, "weights")
    if len(shape) < 2 or along_first.shape != shape[:1] or not along_first.sum() > 0:
        raise ValueError(
            "weights must hold one number for each entry of the first axis of scores, with a "
            f"positive sum, got shape {along_first.shape} for scores of shape {shape}"
        )
    each = np.repeat(along_first, n_members // len(along_first))
    return np.asarray(each / each.sum())


def _finite(values: ArrayLike, name: str, *, infinite: bool = False) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if np.isnan(array).any() or not (infinite or np.isfinite(array).all()):
        raise ValueError(f"{name} must not hold NaN{'' if infinite else ' or infinite values'}")
    return array
