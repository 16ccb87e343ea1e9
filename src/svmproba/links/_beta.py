"""Beta calibration: a sigmoid whose two tails have slopes of their own."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from svmproba._types import Bools, Floats
from svmproba.links._fitting import fit_logistic
from svmproba.links._link import Link, warn_of_order

_LEAST = 1e-6


class BetaLink(Link):
    r"""Beta calibration of :math:`q=\mathrm{expit}(s)`.

    .. math:: \mathrm{logit}\,P(+|s)=a\ln q-b\ln(1-q)+c,\qquad a,b\ge0,

    with :math:`q` clipped to :math:`[10^{-6},1-10^{-6}]`, is a logistic regression on two features
    [1]_ with non-negative coefficients. It contains the identity :math:`P=q`
    (:math:`a=b=1,c=0`). The targets are those of :class:`~svmproba.links.PlattLink`, so that
    separated scores give finite coefficients. Scores should be of the order of 1: unlike Platt's
    link, this family depends on their scale.

    Attributes
    ----------
    a_, b_, c_ : float
        The coefficients.

    References
    ----------
    .. [1] M. Kull, T. Silva Filho and P. Flach, "Beta calibration: a well-founded and easily
       implemented improvement on logistic calibration for binary classifiers", AISTATS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links import BetaLink
    >>> link = BetaLink().fit(np.array([-1, -1, 1, 1]), np.array([False, False, True, True]))
    >>> link.predict(np.array([-1, 0, 1])).round(3)
    array([0.25, 0.5 , 0.75])
    """

    def _fit(self, s: Floats, plus: Bools) -> None:
        coef, self.c_ = fit_logistic(_features(s), plus, non_negative=True)
        self.a_, self.b_ = float(coef[0]), float(coef[1])
        if not coef.any() and np.ptp(s) > 0 and 0 < plus.sum() < len(plus):
            warn_of_order("falls with the score (a = b = 0)")

    def _predict(self, s: Floats) -> Floats:
        ln_q, minus_ln_1q = _features(s)
        return expit(self.a_ * ln_q + self.b_ * minus_ln_1q + self.c_)


def _features(scores: Floats) -> Floats:
    r"""Rows :math:`\ln q` and :math:`-\ln(1-q)`."""
    q = expit(scores).clip(_LEAST, 1 - _LEAST)
    return np.stack([np.log(q), -np.log1p(-q)])
