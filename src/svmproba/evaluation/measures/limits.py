"""Confidence limits of means and of the area under the ROC curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special


def mean_limits(values: ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """Student's limits of a mean; NaN for fewer than two values."""
    v = np.asarray(values, dtype=np.float64)
    if len(v) < 2:
        return float("nan"), float("nan")
    half = special.stdtrit(len(v) - 1, (1 + confidence) / 2) * v.std(ddof=1) / np.sqrt(len(v))
    return float(v.mean() - half), float(v.mean() + half)


def auc_deviation(auc: float, n_plus: int, n_minus: int) -> float:
    r"""Return the standard deviation of an estimate of this true area.

    .. math::
        \sigma^2(A)=\frac{A(1-A)}{n_+n_-}\Big[1+\Big(\frac{n_++n_-}2-1\Big)
        \Big(\frac{1-A}{2-A}+\frac A{1+A}\Big)\Big]

    by Hanley and McNeil, with either class size replaced by their mean (Newcombe, Statistics in
    Medicine 25, 2006).
    """
    ties = (1 - auc) / (2 - auc) + auc / (1 + auc)
    variance = auc * (1 - auc) * (1 + ((n_plus + n_minus) / 2 - 1) * ties) / (n_plus * n_minus)
    return float(np.sqrt(variance))


def auc_limits(
    auc: float, n_plus: int, n_minus: int, confidence: float = 0.95
) -> tuple[float, float]:
    r"""Limits of the area under the ROC curve, Newcombe's method 5.

    They are the areas :math:`A` with :math:`|A-\hat A|=z\,\sigma(A)`, within [0, 1].
    """
    z = special.ndtri((1 + confidence) / 2)

    def excess(area: float, sign: int) -> float:
        return sign * (area - auc) - float(z) * auc_deviation(area, n_plus, n_minus)

    # An estimate of 0 or 1 solves the equation too, but is not the limit on that side.
    lower = 0.0 if auc <= 0 else optimize.brentq(excess, 0.0, min(auc, 1 - 1e-12), args=(-1,))
    upper = 1.0 if auc >= 1 else optimize.brentq(excess, max(auc, 1e-12), 1.0, args=(1,))
    return float(lower), float(upper)
