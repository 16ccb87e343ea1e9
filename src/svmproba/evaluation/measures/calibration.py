"""Calibration and discrimination of probabilities."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

from svmproba._types import Floats
from svmproba.bootstrap.guarantee import check_share
from svmproba.bootstrap.intervals import clopper_pearson
from svmproba.evaluation.measures.metrics import Label, check_pair

Strategy = Literal["uniform", "quantile"]


class ReliabilityCurve(NamedTuple):
    """Predicted against observed shares, one entry for each bin that is not empty.

    Attributes
    ----------
    mean_predicted, observed : ndarray of shape (n_filled_bins,)
        Mean predicted probability and observed share of positives.
    n_samples : ndarray of int of shape (n_filled_bins,)
        Samples in the bin.
    lower, upper : ndarray of shape (n_filled_bins,)
        Clopper–Pearson limits of the observed share.
    """

    mean_predicted: Floats
    observed: Floats
    n_samples: NDArray[np.int64]
    lower: Floats
    upper: Floats


class CalibrationError(NamedTuple):
    """Expected calibration error with confidence limits.

    Attributes
    ----------
    error : float
        Mean distance of predicted and observed share, bins weighted by their samples (ECE).
    lower, upper : float
        Limits of that distance in the long run. If `lower` is 0, the samples do not contradict the
        probabilities. If it is positive, the probabilities are off by at least that much.
    curve : ReliabilityCurve
        The bins, with limits that hold for all of them at once.
    """

    error: float
    lower: float
    upper: float
    curve: ReliabilityCurve


class BrierDecomposition(NamedTuple):
    """Parts of the mean squared error, ``miscalibration - discrimination + uncertainty``.

    Attributes
    ----------
    mse : float
        The mean squared error of the probabilities.
    miscalibration : float
        What recalibration would remove (MCB); 0 for calibrated probabilities.
    discrimination : float
        How much smaller the error of the recalibrated probabilities is than that of one constant
        (DSC).
    uncertainty : float
        Error of that constant, the share of positives (UNC).
    """

    mse: float
    miscalibration: float
    discrimination: float
    uncertainty: float


def reliability_curve(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    n_bins: int = 10,
    strategy: Strategy = "uniform",
    confidence: float = 0.95,
    simultaneous: bool = False,
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
        Bins of equal width, or of about equal count. Many vote shares are 0 or 1, where
        quantiles coincide: ``"quantile"`` then returns fewer, larger bins.
    confidence : float, default=0.95
        Confidence of the Clopper–Pearson limits. They are exact for samples that the model has not
        seen.
    simultaneous : bool, default=False
        Whether the confidence holds for all limits at once (Bonferroni over the filled bins) or for
        each bin alone.

    Returns
    -------
    ReliabilityCurve

    Examples
    --------
    >>> from svmproba.evaluation import reliability_curve
    >>> curve = reliability_curve([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], n_bins=2)
    >>> curve.observed, curve.n_samples
    (array([0., 1.]), array([2, 2]))
    >>> curve.lower.round(3)
    array([0.   , 0.158])
    """
    positive, p = check_pair(y_true, proba, pos_label)
    if not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise ValueError(f"n_bins must be an integer of at least 1, got {n_bins!r}")
    check_share("confidence", confidence)
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
    if simultaneous:
        confidence = 1 - (1 - confidence) / len(count)
    lower, upper = clopper_pearson(hits, count, confidence=confidence)
    return ReliabilityCurve(total / count, hits / count, count, lower, upper)


def calibration_error(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    n_bins: int = 10,
    strategy: Strategy = "uniform",
    confidence: float = 0.95,
    pos_label: Label = None,
) -> CalibrationError:
    r"""Measure the expected calibration error (ECE), with limits that separate it from chance.

    With :math:`n_k` samples, mean probability :math:`\bar p_k` and share of positives
    :math:`\bar y_k` in bin k,

    .. math:: \mathrm{ECE}=\sum_k\frac{n_k}n\,|\bar y_k-\bar p_k| .

    It is positive even for perfect probabilities, and larger for fewer samples. The limits replace
    :math:`\bar y_k` by the value nearest to, and farthest from, :math:`\bar p_k` within
    Clopper–Pearson limits that hold for all bins at once. With at least the stated confidence they
    contain the distance between the probabilities and the long-run shares of their bins, if the
    model has not seen these samples.

    Parameters
    ----------
    y_true, proba, pos_label
        As in :func:`mse`.
    n_bins, strategy
        As in :func:`reliability_curve`.
    confidence : float, default=0.95
        Confidence of the limits.

    Returns
    -------
    CalibrationError

    Examples
    --------
    >>> from svmproba.evaluation import calibration_error
    >>> result = calibration_error([0] * 30 + [1] * 10, [0.5] * 40)
    >>> result.error, round(result.lower, 3), round(result.upper, 3)
    (0.25, 0.088, 0.373)
    """
    curve = reliability_curve(
        y_true,
        proba,
        n_bins=n_bins,
        strategy=strategy,
        confidence=confidence,
        simultaneous=True,
        pos_label=pos_label,
    )
    share, stated = curve.n_samples / curve.n_samples.sum(), curve.mean_predicted
    nearest = np.clip(stated, curve.lower, curve.upper)
    farthest = np.maximum(stated - curve.lower, curve.upper - stated)
    return CalibrationError(
        float(share @ np.abs(curve.observed - stated)),
        float(share @ np.abs(nearest - stated)),
        float(share @ farthest),
        curve,
    )


def brier_decomposition(
    y_true: ArrayLike, proba: ArrayLike, *, pos_label: Label = None
) -> BrierDecomposition:
    r"""Split the mean squared error into miscalibration, discrimination and uncertainty.

    With :math:`\hat c` the isotonic regression of the labels on the probabilities and
    :math:`\bar y` the share of positives,

    .. math::
        \underbrace{S(p)}_{\mathrm{MSE}}
        =\underbrace{S(p)-S(\hat c)}_{\mathrm{MCB}}
        -\underbrace{(S(\bar y)-S(\hat c))}_{\mathrm{DSC}}
        +\underbrace{S(\bar y)}_{\mathrm{UNC}},

    all parts at least 0 [1]_. No bins are chosen.

    Parameters
    ----------
    y_true, proba, pos_label
        As in :func:`mse`.

    Returns
    -------
    BrierDecomposition

    References
    ----------
    .. [1] T. Dimitriadis, T. Gneiting and A. I. Jordan, "Stable reliability diagrams for
       probabilistic classifiers", Proceedings of the National Academy of Sciences 118(8), 2021.

    Examples
    --------
    >>> from svmproba.evaluation import brier_decomposition
    >>> parts = brier_decomposition([0, 0, 1, 1], [0.25, 0.25, 0.25, 0.75])
    >>> [round(part, 4) for part in parts]
    [0.1875, 0.0208, 0.0833, 0.25]
    """
    positive, p = check_pair(y_true, proba, pos_label)
    # Samples with equal probabilities are one point: the fit is a function of the probability.
    _, place, count = np.unique(p, return_inverse=True, return_counts=True)
    share = np.bincount(place, weights=positive) / count
    recalibrated = isotonic_regression(share, weights=count).x[place]
    error, best, constant = (
        float(np.mean((positive - q) ** 2)) for q in (p, recalibrated, positive.mean())
    )
    return BrierDecomposition(error, error - best, constant - best, constant)
