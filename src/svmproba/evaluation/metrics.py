"""How far predicted probabilities are from what happened."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Label = str | int | float | bool | None


class ReliabilityCurve(NamedTuple):
    """Predicted against observed shares, one entry for each bin that holds a record.

    Attributes
    ----------
    mean_predicted, observed : ndarray of shape (n_filled_bins,)
        Mean predicted probability and observed share of positives.
    n_records : ndarray of int of shape (n_filled_bins,)
        Records in the bin.
    lower, upper : ndarray of shape (n_filled_bins,)
        Clopper–Pearson limits of the observed share.
    """

    mean_predicted: NDArray[np.float64]
    observed: NDArray[np.float64]
    n_records: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


def positive_label(y_true: ArrayLike, pos_label: Label = None) -> Label:
    """Name the class of interest.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of at most two classes.
    pos_label : label, default=None
        The class of interest. ``None`` takes the larger of two labels; where only one class
        occurs it must be 0, 1 or -1, and 1 is the class of interest.

    Returns
    -------
    label

    Examples
    --------
    >>> from svmproba.evaluation.metrics import positive_label
    >>> positive_label(["benign", "malignant", "benign"])
    'malignant'
    """
    labels = np.asarray(y_true)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(
            f"y_true must be a non-empty 1-D array of labels, got shape {labels.shape}"
        )
    classes = np.unique(labels).tolist()
    if len(classes) > 2:
        raise ValueError(f"y_true must hold at most two classes, got {len(classes)}: {classes}")
    if pos_label is not None:
        if len(classes) == 2 and pos_label not in classes:
            raise ValueError(f"pos_label={pos_label!r} is not among the classes {classes}")
        return pos_label
    if len(classes) == 2:
        return classes[1]
    if classes[0] not in (-1, 0, 1):
        raise ValueError(f"y_true holds only {classes[0]!r}: say which class pos_label is")
    return 1


def is_positive(y_true: ArrayLike, pos_label: Label = None) -> NDArray[np.bool_]:
    """Mark the records of the class of interest, see :func:`positive_label`."""
    return np.asarray(np.asarray(y_true) == positive_label(y_true, pos_label))


def _check_pair(
    y_true: ArrayLike, proba: ArrayLike, pos_label: Label
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    positive = is_positive(y_true, pos_label)
    p = np.asarray(proba, dtype=np.float64)
    if p.shape != positive.shape:
        raise ValueError(
            f"proba must hold P(positive) of each record, shape {positive.shape}, "
            f"got shape {p.shape}"
        )
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError(f"proba must lie in [0, 1], got values in [{p.min()}, {p.max()}]")
    return positive, p


def mse(y_true: ArrayLike, proba: ArrayLike, *, pos_label: Label = None) -> float:
    r"""Mean squared error of a probability, the paper's MSE (Brier score, one term per record).

    .. math:: \frac1n\sum_i\big(1[y_i=+]-\hat p_i\big)^2

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of two classes.
    proba : array-like of shape (n,)
        Predicted probability of the class of interest.
    pos_label : label, default=None
        The class of interest, by default the larger label.

    Returns
    -------
    float

    Examples
    --------
    >>> from svmproba.evaluation import mse
    >>> mse([0, 1, 1, 0], [0.0, 1.0, 0.5, 0.5])
    0.125
    """
    positive, p = _check_pair(y_true, proba, pos_label)
    return float(np.mean((positive - p) ** 2))


def class_mse(
    y_true: ArrayLike, proba: ArrayLike, *, pos_label: Label = None
) -> tuple[float, float]:
    r"""Mean squared error within the positive and within the negative class.

    With :math:`n_+` positives and :math:`n_-` negatives,
    :math:`n\,\mathrm{MSE}=n_+\mathrm{MSE}_++n_-\mathrm{MSE}_-`.

    Parameters
    ----------
    y_true, proba, pos_label
        As in :func:`mse`.

    Returns
    -------
    mse_plus, mse_minus : float
        NaN for a class without records.

    Examples
    --------
    >>> from svmproba.evaluation import class_mse
    >>> class_mse([0, 1, 1, 0], [0.0, 1.0, 0.5, 0.0])
    (0.125, 0.0)
    """
    positive, p = _check_pair(y_true, proba, pos_label)
    plus, minus = (1 - p[positive]) ** 2, p[~positive] ** 2
    return (
        float(plus.mean()) if plus.size else float("nan"),
        float(minus.mean()) if minus.size else float("nan"),
    )


def clopper_pearson(
    hits: ArrayLike, trials: ArrayLike, *, confidence: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Exact limits of a proportion: they cover it with at least the stated confidence.

    With :math:`\alpha=1-\text{confidence}`, the limits are the :math:`\alpha/2` quantile of
    :math:`\mathrm{Beta}(k,n-k+1)` and the :math:`1-\alpha/2` quantile of
    :math:`\mathrm{Beta}(k+1,n-k)`; 0 and 1 at the ends.

    Parameters
    ----------
    hits, trials : array-like of int
        Successes :math:`k` and trials :math:`n\ge1`, of one shape.
    confidence : float, default=0.95
        In (0, 1).

    Returns
    -------
    lower, upper : ndarray

    References
    ----------
    C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in
    the case of the binomial", Biometrika 26, 1934.

    Examples
    --------
    >>> from svmproba.evaluation.metrics import clopper_pearson
    >>> lower, upper = clopper_pearson([0, 5], [10, 10])
    >>> lower.round(3), upper.round(3)
    (array([0.   , 0.187]), array([0.308, 0.813]))
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie in (0, 1), got {confidence!r}")
    k, n = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    tail = (1 - confidence) / 2
    # The beta quantile needs positive parameters; the ends are known without it.
    lower = np.where(k > 0, special.betaincinv(np.maximum(k, 1), n - k + 1, tail), 0.0)
    upper = np.where(k < n, special.betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail), 1.0)
    return lower, upper


def reliability_curve(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    n_bins: int = 10,
    strategy: Literal["uniform", "quantile"] = "uniform",
    confidence: float = 0.95,
    pos_label: Label = None,
) -> ReliabilityCurve:
    """Predicted probability against observed share of positives, with exact limits.

    Parameters
    ----------
    y_true, proba, pos_label
        As in :func:`mse`.
    n_bins : int, default=10
        Bins of [0, 1]; empty ones are left out.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of about equal count. Vote shares pile up at 0 and 1, where
        quantiles coincide: ``"quantile"`` then returns fewer, larger bins.
    confidence : float, default=0.95
        Of the Clopper–Pearson limits, bin by bin. They are exact for records that the model has
        not seen.

    Returns
    -------
    ReliabilityCurve

    Examples
    --------
    >>> from svmproba.evaluation import reliability_curve
    >>> curve = reliability_curve([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], n_bins=2)
    >>> curve.observed, curve.n_records
    (array([0., 1.]), array([2, 2]))
    >>> curve.lower.round(3)
    array([0.   , 0.158])
    """
    positive, p = _check_pair(y_true, proba, pos_label)
    if not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise ValueError(f"n_bins must be an integer of at least 1, got {n_bins!r}")
    if strategy == "uniform":
        edges = np.arange(n_bins + 1) / n_bins
    elif strategy == "quantile":
        edges = np.unique(np.quantile(p, np.linspace(0, 1, n_bins + 1)))
    else:
        raise ValueError(f"strategy must be 'uniform' or 'quantile', got {strategy!r}")
    bin_of = np.searchsorted(edges[1:-1], p, side="right")
    count = np.bincount(bin_of, minlength=n_bins)
    filled = count > 0
    hits = np.bincount(bin_of, weights=positive, minlength=n_bins)[filled]
    total = np.bincount(bin_of, weights=p, minlength=n_bins)[filled]
    count = count[filled]
    lower, upper = clopper_pearson(hits, count, confidence=confidence)
    return ReliabilityCurve(total / count, hits / count, count, lower, upper)
