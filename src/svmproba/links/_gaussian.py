"""Hastie and Tibshirani's link: scores of either class are Gaussian with one variance."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from svmproba.links._fitting import Floats, check_pairs, smoothed_targets


class GaussianLink:
    r"""Sigmoid whose slope comes from Gaussian scores with a tied variance.

    With class means :math:`\mu_\pm` and the pooled variance
    :math:`\sigma^2=\frac1{n-2}\sum_i(s_i-\mu_{y_i})^2` of the calibration scores, the slope is
    :math:`a=(\mu_+-\mu_-)/\sigma^2` and

    .. math::
        P(+|s)=\mathrm{expit}(as)\quad\text{(adjusted)},\qquad
        P(+|s)=\mathrm{expit}\Big(a\big(s-\tfrac{\mu_++\mu_-}2\big)+\log\tfrac{n_+}{n_-}\Big) .

    The adjusted form keeps the machine's own boundary, :math:`P(0)=\frac12`; the other is linear
    discriminant analysis of the score. The idea is Hastie and Tibshirani's [1]_, the adjusted form
    as Platt describes it [2]_; the divisor :math:`n-2` is a choice made here. No variance makes it
    a step; a slope that is not positive is warned of. With one class, P is its smoothed share.

    Parameters
    ----------
    adjusted : bool, default=True
        Which of the two forms.

    Attributes
    ----------
    slope_ : float
        :math:`a`, possibly infinite.
    middle_, offset_ : float
        :math:`P=\mathrm{expit}(a(s-\text{middle})+\text{offset})`.

    References
    ----------
    .. [1] T. Hastie and R. Tibshirani, "Classification by pairwise coupling", Annals of Statistics
       26, 1998.
    .. [2] J. Platt, "Probabilistic outputs for support vector machines and comparisons to
       regularized likelihood methods", in Advances in Large Margin Classifiers, MIT Press, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links import GaussianLink
    >>> scores = np.array([-2, -1.5, -1, 0.2, -0.4, 0.8, 1.4, 2.2])
    >>> positive = np.arange(8) > 3
    >>> GaussianLink().fit(scores, positive).predict(np.array([0.0, 1.0])).round(4)
    array([0.5   , 0.8794])
    """

    reads: ClassVar[str] = "mixed"

    slope_: float
    middle_: float
    offset_: float

    def __init__(self, adjusted: bool = True) -> None:
        self.adjusted = bool(adjusted)

    def fit(self, scores: ArrayLike, positive: ArrayLike) -> GaussianLink:
        """Fit to scores (n,) and labels (n,) of bool."""
        s, plus = check_pairs(scores, positive)
        n_plus = int(plus.sum())
        n_minus = len(s) - n_plus
        if n_plus == 0 or n_minus == 0:
            share = smoothed_targets(plus)[0]
            self.slope_, self.middle_, self.offset_ = 0.0, 0.0, float(np.log(share / (1 - share)))
            return self
        mu_plus, mu_minus = s[plus].mean(), s[~plus].mean()
        squares = np.square(s - np.where(plus, mu_plus, mu_minus)).sum()
        # Equal numbers have no variance, whatever the rounding of their mean.
        varies = np.ptp(s[plus]) > 0 or np.ptp(s[~plus]) > 0
        variance = squares / (len(s) - 2) if varies else 0.0
        difference = mu_plus - mu_minus if np.ptp(s) > 0 else 0.0
        self.slope_ = _ratio(float(difference), float(variance))
        self.middle_ = 0.0 if self.adjusted else float(mu_plus + mu_minus) / 2
        self.offset_ = 0.0 if self.adjusted else float(np.log(n_plus / n_minus))
        if self.slope_ <= 0:
            warnings.warn(
                f"The probability does not rise with the score (slope {self.slope_:.3g}): on the "
                "calibration records, scores and labels disagree.",
                stacklevel=2,
            )
        return self

    def predict(self, scores: ArrayLike) -> Floats:
        """Probability of the class of interest, shape (n,), for scores (n,)."""
        distance = np.asarray(scores, dtype=np.float64) - self.middle_
        # An infinite slope times no distance is none: the offset alone decides there.
        steep = np.multiply(self.slope_, distance, out=np.zeros_like(distance), where=distance != 0)
        return expit(steep + self.offset_)


def _ratio(difference: float, variance: float) -> float:
    if variance > 0:
        return difference / variance
    return float(np.copysign(np.inf, difference)) if difference else 0.0
