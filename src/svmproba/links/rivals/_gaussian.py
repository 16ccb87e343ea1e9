"""Hastie and Tibshirani's link: the scores of each class are Gaussian with one variance."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from svmproba._types import Bools, Floats
from svmproba.links._fitting import smoothed_targets
from svmproba.links._link import Link, warn_of_order


class GaussianLink(Link):
    r"""Sigmoid whose slope comes from Gaussian scores with a tied variance.

    With class means :math:`\mu_\pm` and the pooled variance
    :math:`\sigma^2=\frac1{n-2}\sum_i(s_i-\mu_{y_i})^2` of the calibration scores, the slope is
    :math:`a=(\mu_+-\mu_-)/\sigma^2` and

    .. math::
        P(+|s)=\mathrm{expit}(as)\quad\text{(adjusted)},\qquad
        P(+|s)=\mathrm{expit}\Big(a\big(s-\tfrac{\mu_++\mu_-}2\big)+\log\tfrac{n_+}{n_-}\Big) .

    The adjusted form keeps the boundary of the SVM, :math:`P(0)=\frac12`; the other is linear
    discriminant analysis of the score. The idea is Hastie and Tibshirani's [1]_, the adjusted form
    is described by Platt [2]_; the divisor :math:`n-2` is our choice. Without variance the link is
    a step. It warns where the slope is not positive. With one class, P is its smoothed share.

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

    def __init__(self, adjusted: bool = True) -> None:
        self.adjusted = bool(adjusted)

    def _fit(self, s: Floats, plus: Bools) -> None:
        n_plus = int(plus.sum())
        n_minus = len(s) - n_plus
        if n_plus == 0 or n_minus == 0:
            share = smoothed_targets(plus)[0]
            self.slope_, self.middle_, self.offset_ = 0.0, 0.0, float(np.log(share / (1 - share)))
            return
        mu_plus, mu_minus = s[plus].mean(), s[~plus].mean()
        squares = np.square(s - np.where(plus, mu_plus, mu_minus)).sum()
        # Equal numbers have no variance, whatever the rounding of their mean.
        varies = np.ptp(s[plus]) > 0 or np.ptp(s[~plus]) > 0
        variance = squares / (len(s) - 2) if varies else 0.0
        difference = mu_plus - mu_minus if np.ptp(s) > 0 else 0.0
        # Without variance the link is a step.
        steep = np.copysign(np.inf, difference) if difference else 0.0
        self.slope_ = float(difference / variance if variance > 0 else steep)
        self.middle_ = 0.0 if self.adjusted else float(mu_plus + mu_minus) / 2
        self.offset_ = 0.0 if self.adjusted else float(np.log(n_plus / n_minus))
        if self.slope_ <= 0:
            warn_of_order(f"does not rise with the score (slope {self.slope_:.3g})")

    def _predict(self, s: Floats) -> Floats:
        distance = s - self.middle_
        # An infinite slope times a distance of 0 counts as 0: the offset alone decides there.
        steep = np.multiply(self.slope_, distance, out=np.zeros_like(distance), where=distance != 0)
        return expit(steep + self.offset_)
