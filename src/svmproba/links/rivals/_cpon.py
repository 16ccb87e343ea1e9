"""Class probability output network: beta distributions of the score, read by their tails."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaln, expit

from svmproba._types import Bools, Floats
from svmproba.links._fitting import smoothed_targets
from svmproba.links._link import Link, check_pairs

_LEAST_SHAPE, _LARGEST_SHAPE = 1e-2, 1e4
#: Below this value an incomplete beta function loses digits to underflow.
_TINY, _TERMS = 1e-280, 2000


class CponLink(Link):
    r"""Ratio of beta tails of the normalised score.

    Scores are mapped to :math:`u=\epsilon+(1-2\epsilon)\frac{s-s_{min}}{s_{max}-s_{min}}`, clipped
    to :math:`[\epsilon,1-\epsilon]`. Each class gets a beta distribution with the mean and the
    variance (divisor n) of its :math:`u`. With the distribution functions :math:`F_\pm`,

    .. math:: P(+|s)=\frac{F_+(u)}{F_+(u)+1-F_-(u)}

    is a ratio of tail probabilities. It never falls with the score. It ignores how frequent the
    classes are, so **it is not a posterior probability**. The Bayes form
    :math:`\pi_+b_+/(\pi_+b_++\pi_-b_-)`, with densities :math:`b_\pm` and class shares
    :math:`\pi_\pm`, is one where the beta distributions are right; it need not be monotone.

    The method is Park and Kil's [1]_; the details (:math:`\epsilon`, moments, bounds of the shapes)
    are ours, derived from its description. With one class, P is its smoothed share.

    Parameters
    ----------
    bayes : bool, default=False
        Whether to use the Bayes form.
    epsilon : float, default=0.01
        Distance of the normalised scores from 0 and 1, in (0, 1/2).

    Attributes
    ----------
    low_, high_ : float
        Smallest and largest calibration score.
    plus_, minus_ : ndarray, shape (2,)
        Shapes (a, b) of each class; NaN for a class without samples.
    share_ : float
        Share of the class of interest; smoothed where there is one class.

    References
    ----------
    .. [1] W. J. Park and R. M. Kil, "Pattern classification with class probability output
       network", IEEE Transactions on Neural Networks 20, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links import CponLink
    >>> scores = np.array([-2, -1.5, -1, 0.2, -0.4, 0.8, 1.4, 2.2])
    >>> link = CponLink().fit(scores, np.arange(8) > 3)
    >>> link.plus_.round(4), link.minus_.round(4)
    (array([2.2734, 0.9286]), array([0.8616, 2.9537]))
    >>> link.predict(np.array([-1, 0, 1])).round(2)
    array([0.09, 0.58, 0.95])
    """

    def __init__(self, bayes: bool = False, *, epsilon: float = 0.01) -> None:
        if not 0 < epsilon < 0.5:
            raise ValueError(f"epsilon must be a number in (0, 1/2), got {epsilon!r}")
        self.bayes = bool(bayes)
        self.epsilon = float(epsilon)

    def _fit(self, s: Floats, plus: Bools) -> None:
        self.low_, self.high_ = float(s.min()), float(s.max())
        u = self._normalised(s)
        self.plus_, self.minus_ = beta_shapes(u[plus]), beta_shapes(u[~plus])
        share = plus.mean()
        self.share_ = float(share if 0 < share < 1 else smoothed_targets(plus)[0])

    def _predict(self, s: Floats) -> Floats:
        u = self._normalised(s)
        if np.isnan(self.plus_[0]) or np.isnan(self.minus_[0]):
            return np.full(u.shape, self.share_)
        if self.bayes:
            odds = np.log(self.share_ / (1 - self.share_))
            return expit(_log_density(u, self.plus_) - _log_density(u, self.minus_) + odds)
        return tail_ratio(u, self.plus_, self.minus_)

    def uniformity(self, scores: ArrayLike, positive: ArrayLike) -> tuple[float, float]:
        """Test the beta distributions of the positive and of the negative scores.

        Gives the p-values of the Kolmogorov–Smirnov tests that the distribution function of each
        class makes its scores uniform, for scores (n,) and labels (n,) of bool. They are too large
        for the scores of the fit.
        """
        from scipy.stats import kstest

        s, plus = check_pairs(scores, positive)
        u = self._normalised(s)
        pairs = ((u[plus], self.plus_), (u[~plus], self.minus_))
        of_plus, of_minus = (kstest(betainc(*shape, v), "uniform").pvalue for v, shape in pairs)
        return float(of_plus), float(of_minus)

    def _normalised(self, s: Floats) -> Floats:
        span = self.high_ - self.low_
        place = ((s - self.low_) / span).clip(0, 1) if span > 0 else np.full_like(s, 0.5)
        return self.epsilon + (1 - 2 * self.epsilon) * place


def beta_shapes(u: Floats) -> Floats:
    r"""Shapes :math:`(a,b)=(m,1-m)\,c`, :math:`c=\frac{m(1-m)}v-1`, by mean m and variance v.

    Bounded to :math:`[10^{-2},10^4]` at the same mean. NaN without values.
    """
    if len(u) == 0:
        return np.full(2, np.nan)
    m, v = u.mean(), u.var()
    low, high = _LEAST_SHAPE / min(m, 1 - m), _LARGEST_SHAPE / max(m, 1 - m)
    total = high if m * (1 - m) >= (high + 1) * v else max(m * (1 - m) / v - 1, low)
    return np.array([m * total, (1 - m) * total])


def tail_ratio(u: Floats, plus: Floats, minus: Floats) -> Floats:
    r""":math:`F_+(u)/(F_+(u)+1-F_-(u))` for shapes (a, b) of each class.

    In logarithms: between two narrow classes both tails underflow, their ratio does not.
    """
    lower = log_betainc(plus[0], plus[1], u)
    upper = log_betainc(minus[1], minus[0], 1 - u)
    return expit(lower - upper)


def log_betainc(a: float, b: float, u: Floats) -> Floats:
    r"""Logarithm of the regularised incomplete beta function :math:`I_u(a,b)`.

    Where it would underflow, the series

    .. math::
        I_u(a,b)=\frac{u^a(1-u)^b}{a\,B(a,b)}\sum_{n\ge0}\frac{(a+b)_n}{(a+1)_n}u^n ,

    is used, whose terms fall fast there because :math:`u` is far below the mean.
    """
    value = np.asarray(betainc(a, b, u), dtype=np.float64)
    with np.errstate(divide="ignore"):
        result = np.log(value)
    small = (value < _TINY) & (u > 0)
    if small.any():
        x = u[small]
        term, total = np.ones_like(x), np.ones_like(x)
        for n in range(_TERMS):
            term = term * (a + b + n) / (a + 1 + n) * x
            total += term
            if term.max() < 1e-16 * total.min():
                break
        result[small] = a * np.log(x) + b * np.log1p(-x) - np.log(a) - betaln(a, b) + np.log(total)
    return result


def _log_density(u: Floats, shape: Floats) -> Floats:
    a, b = shape
    return (a - 1) * np.log(u) + (b - 1) * np.log1p(-u) - betaln(a, b)
