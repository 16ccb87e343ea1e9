"""Logistic links with a curved, non-decreasing exponent: quadratic and spline."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from svmproba._types import Bools, Floats
from svmproba.links._fitting import fit_logistic
from svmproba.links._link import Link

#: Share of the samples beyond each of the outer knots, where the exponent is a straight line.
_TAIL = 0.02


class SplineLink(Link):
    r"""Logistic regression on a smooth, non-decreasing function of the score.

    .. math::
        \mathrm{logit}\,P(+|s)=c+\sum_k a_k\int_{t_1}^s h_k(u)\,du,\qquad a_k\ge0,

    where :math:`h_k` is the piecewise linear function that is 1 at the knot :math:`t_k` and 0 at
    all others, constant beyond the first and the last knot. The slope of the exponent is therefore
    a non-negative, piecewise linear function: :math:`a_k` is the slope at :math:`t_k`, the exponent
    is a quadratic spline between the knots and a straight line beyond them. With equal :math:`a_k`
    this is :class:`~svmproba.links.PlattLink`, and the penalty
    :math:`\frac\lambda2\sum_k(a_{k+1}-a_k)^2`, in units of the scores' standard deviation, shrinks
    the fit towards it. Knots are quantiles of the scores, evenly spaced from 2 to 98 %. Targets are
    those of Platt's link, so that separated scores give a finite fit. See [1]_ for calibration by
    splines and [2]_ for monotone splines.

    Parameters
    ----------
    n_knots : int, default=6
        Number of knots, at least 2; equal quantiles count once.
    smoothing : float, default=1.0
        :math:`\lambda\ge0`.

    Attributes
    ----------
    knots_ : ndarray, shape (n_knots_in_use,)
        Knots :math:`t_k`, increasing.
    slopes_ : ndarray, shape (n_knots_in_use,)
        Slopes :math:`a_k` of the exponent at the knots.
    intercept_ : float
        Exponent :math:`c` at the first knot.

    References
    ----------
    .. [1] B. Lucena, "Spline-based probability calibration", arXiv:1809.07751, 2018.
    .. [2] J. O. Ramsay, "Monotone regression splines in action", Statistical Science 3, 1988.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links import SplineLink
    >>> link = SplineLink().fit(np.array([-1, -1, 1, 1]), np.array([False, False, True, True]))
    >>> link.predict(np.array([-1, 0, 1])).round(3)
    array([0.25, 0.5 , 0.75])
    """

    def __init__(self, n_knots: int = 6, smoothing: float = 1.0) -> None:
        if n_knots < 2:
            raise ValueError(f"n_knots must be at least 2, got {n_knots!r}")
        self.n_knots = n_knots
        self.smoothing = _checked(smoothing)

    def _fit(self, s: Floats, plus: Bools) -> None:
        spread = float(s.std())
        self.knots_ = np.unique(np.quantile(s, np.linspace(_TAIL, 1 - _TAIL, self.n_knots)))
        if len(self.knots_) < 2:
            self.knots_ = np.unique([s.min(), s.max()])
        if len(self.knots_) < 2 or not spread > 0:
            self.slopes_ = np.zeros(len(self.knots_))
            self.intercept_ = fit_logistic(np.empty((0, len(s))), plus)[1]
            return
        unit = np.diff(np.eye(len(self.knots_)), axis=0)
        coef, self.intercept_ = fit_logistic(
            _integrals(s, self.knots_) / spread,
            plus,
            penalty=self.smoothing * unit.T @ unit,
            non_negative=True,
        )
        self.slopes_ = coef / spread

    def _predict(self, s: Floats) -> Floats:
        return expit(self.slopes_ @ _integrals(s, self.knots_) + self.intercept_)


class QuadraticLink(SplineLink):
    r"""Logistic regression on the score and its square, non-decreasing.

    .. math:: \mathrm{logit}\,P(+|s)=c+bs+as^2

    between the 2 % and the 98 % quantile of the scores, and straight lines with the slopes of the
    two ends beyond them: a :class:`SplineLink` with two knots. The slope is linear between the
    ends, so that it is non-negative if both ends are.

    Parameters
    ----------
    smoothing : float, default=0.0
        :math:`\lambda` of :class:`SplineLink`, whose attributes it has.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links import QuadraticLink
    >>> link = QuadraticLink().fit(np.array([-1, -1, 1, 1]), np.array([False, False, True, True]))
    >>> link.predict(np.array([-1, 1])).round(3)
    array([0.25, 0.75])
    """

    n_knots = 2

    def __init__(self, smoothing: float = 0.0) -> None:
        self.smoothing = _checked(smoothing)


def _checked(smoothing: float) -> float:
    if not smoothing >= 0:
        raise ValueError(f"smoothing must be at least 0, got {smoothing!r}")
    return smoothing


def _integrals(s: Floats, knots: Floats) -> Floats:
    r"""Integrals of the hat functions from the first knot to the scores, (n_knots, n)."""
    table = np.zeros((len(knots), len(s)))
    if len(knots) < 2:
        return table
    table[0] += np.minimum(s - knots[0], 0.0)
    table[-1] += np.maximum(s - knots[-1], 0.0)
    for k, width in enumerate(np.diff(knots)):
        inside = np.clip(s - knots[k], 0.0, width)
        rising = inside**2 / (2 * width)
        table[k] += inside - rising
        table[k + 1] += rising
    return table
