"""Sollich's probabilities: the SVM as a Gaussian process."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve
from scipy.special import erfcx, expit, log_ndtr, logsumexp, roots_legendre

from svmproba._types import Floats
from svmproba.links._link import Link

AVERAGES = {"map": "mixed", "frozen": "margin", "sampled": "draws"}
#: Number of standard deviations beyond which scores have no weight.
_REACH = 9.0
_NODES, _WEIGHTS = roots_legendre(40)
_BLOCK_BYTES = 16 * 2**20


class SollichLink(Link):
    r"""Probability of the label in Sollich's probabilistic model of the SVM.

    The prior :math:`w\sim N(0,I)`, :math:`b\sim N(0,B^2)` makes :math:`\theta(x)=w^\top\phi(x)+b`
    a Gaussian process, and the pseudo-likelihood
    :math:`Q(y|\theta)=\kappa e^{-C\,l(y\theta)}` with the hinge :math:`l(z)=\max(0,1-z)` makes the
    SVM its most probable function. Normalised over both labels,

    .. math::
        P(+|\theta)=\mathrm{expit}(C\,h(\theta)),\qquad
        h(\theta)=\begin{cases}2\theta&|\theta|\le1\\ \theta+\mathrm{sgn}\,\theta&|\theta|>1
        \end{cases}

    The spread of the probabilities is of the order of C: they are near one half for small C and
    overconfident for large C. Nothing but C is fitted to labels; choose it by log loss or Brier
    score. Prior, likelihood and the three averages are Sollich's [1]_, restated from memory with
    the constants derived again. The variance of ``"frozen"`` is derived in the spirit of his error
    bars. We do not know whether his full average is that of ``joint=False`` or ``joint=True``.

    Parameters
    ----------
    C : float, default=1.0
        C of the SVM, on the scale :math:`\frac12\|w\|^2+C\sum\xi`.
    average : {"map", "frozen", "sampled"}, default="map"
        What the estimator provides: the score of the SVM; the score and its posterior variance
        while the samples on the margin stay there (only indicative far from data or for large C);
        or the scores of posterior draws (the reference).
    joint : bool, default=False
        False: the mean :math:`E[P(+|\theta)]` over the posterior. True: the new sample counts as
        one more draw of the joint model, :math:`E[Q(+|\theta)]/E[Q(+|\theta)+Q(-|\theta)]`.
    bias_scale : float, default=10.0
        Prior standard deviation B of the bias; infinite, as in the SVM, only with ``"frozen"``.
    n_draws : int, default=2000
        Number of posterior draws for ``"sampled"``.

    References
    ----------
    .. [1] P. Sollich, "Bayesian methods for support vector machines: evidence and predictive class
       probabilities", Machine Learning 46, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links import SollichLink
    >>> link = SollichLink(C=0.5)
    >>> link.predict(np.array([-2, -0.5, 0, 1])).round(6)
    array([0.182426, 0.377541, 0.5     , 0.731059])
    >>> link.predict(np.array([1.0]), variance=np.array([1.0])).round(3)
    array([0.674])
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        average: str = "map",
        joint: bool = False,
        bias_scale: float = 10.0,
        n_draws: int = 2000,
    ) -> None:
        if not 0 < C < np.inf:
            raise ValueError(f"C must be a positive finite number, got {C!r}")
        if average not in AVERAGES:
            raise ValueError(f"average must be one of {', '.join(AVERAGES)}, got {average!r}")
        if not bias_scale >= 0 or (average == "sampled" and np.isinf(bias_scale)):
            raise ValueError(
                f"bias_scale must be a number >= 0, infinite only with average='frozen', "
                f"got {bias_scale!r}"
            )
        if n_draws < 1:
            raise ValueError(f"n_draws must be an integer >= 1, got {n_draws!r}")
        self.C = float(C)
        self.average = average
        self.joint = bool(joint)
        self.bias_scale = float(bias_scale)
        self.n_draws = int(n_draws)

    @property
    def reads(self) -> str:
        """``"mixed"`` scores; with their variance, ``"margin"``; or ``"draws"`` of scores."""
        return AVERAGES[self.average]

    def predict(self, scores: ArrayLike, variance: ArrayLike | None = None) -> Floats:
        """Probability (n,) of the class of interest.

        For scores (n,); the mean over posterior draws of scores (n_draws, n); or the mean over
        Gaussian distributions around scores (n,) with the variance (n,).
        """
        theta = np.asarray(scores, dtype=np.float64)
        if variance is None:
            return _mean_over_draws(np.atleast_2d(theta), self.C, self.joint)
        spread = np.sqrt(np.broadcast_to(np.asarray(variance, dtype=np.float64), theta.shape))
        # A spread of 0 or infinity is a limit, but cannot be divided by or multiplied with.
        spread = spread.clip(1e-12, 1e100)
        if self.joint:
            return expit(
                _log_mean_loss(theta, spread, self.C) - _log_mean_loss(-theta, spread, self.C)
            )
        P = np.empty(len(theta))
        step = max(1, _BLOCK_BYTES // (8 * 6 * len(_NODES)))
        for start in range(0, len(P), step):
            block = slice(start, start + step)
            P[block] = _mean_over_gaussian(theta[block], spread[block], self.C)
        return P


def latent_log_odds(theta: Floats) -> Floats:
    r""":math:`h(\theta)=l(-\theta)-l(\theta)`, the log odds of the label at C = 1."""
    return theta + theta.clip(-1, 1)


def margin_variance(
    margin_rows: Floats, rows: Floats, *, bias_scale: float, rest: ArrayLike = 0.0
) -> Floats:
    r"""Posterior variance (n,) of the score while the samples on the margin stay there.

    With :math:`K_B=K+B^2` and the samples :math:`m` whose multipliers lie strictly between their
    bounds,

    .. math:: s^2(x)=K_B(x,x)-k_m(x)^\top K_m^{-1}k_m(x) ,

    because elsewhere the loss has no curvature and at :math:`m` its kink pins the score. Without
    such samples it is the prior variance. For an infinite `bias_scale` B the limit is taken, which
    is infinite without them.

    Products of `margin_rows` (n_margin, d) and `rows` (n, d) are kernel values; `rest` (n,) is what
    the kernel values of new samples with themselves exceed those of their rows by.
    """
    prior = np.einsum("ij,ij->i", rows, rows) + rest
    n_margin, flat = len(margin_rows), np.isinf(bias_scale)
    B2 = 0.0 if flat else bias_scale**2
    if n_margin == 0:
        return np.full(len(rows), np.inf) if flat else prior + B2
    K = margin_rows @ margin_rows.T + B2
    k = margin_rows @ rows.T + B2
    K[np.diag_indices(n_margin)] += max(1e-8 * np.trace(K) / n_margin, 1e-300)
    factor = cho_factor(K)
    variance = prior + B2 - np.einsum("ij,ij->j", k, cho_solve(factor, k))
    if flat:
        ones = cho_solve(factor, np.ones(n_margin))
        variance += np.square(1 - ones @ k) / ones.sum()
    return np.maximum(variance, 0.0)


def _mean_over_draws(theta: Floats, C: float, joint: bool) -> Floats:
    """Mean over the first axis of theta (n_draws, n), see `SollichLink`."""
    if not joint:
        return expit(C * latent_log_odds(theta)).mean(axis=0)
    plus = logsumexp(-C * np.maximum(0, 1 - theta), axis=0)
    minus = logsumexp(-C * np.maximum(0, 1 + theta), axis=0)
    return expit(plus - minus)


def _mean_over_gaussian(m: Floats, s: Floats, C: float) -> Floats:
    r"""Mean of the probability over :math:`N(m,s^2)`, by Gauss–Legendre rules on smooth pieces."""
    steep = min(2 / C, 1.0)
    kinks = np.array([-np.inf, -1, -steep, 0, steep, 1, np.inf])[:, np.newaxis]
    ends = ((kinks - m) / s).clip(-_REACH, _REACH)
    half = np.diff(ends, axis=0)[:, :, np.newaxis] / 2
    z = (ends[:-1] + ends[1:])[:, :, np.newaxis] / 2 + half * _NODES
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    P = expit(C * latent_log_odds(m[:, np.newaxis] + s[:, np.newaxis] * z))
    return np.einsum("pnk,pnk,k->n", density * half, P, _WEIGHTS).clip(0, 1)


def _log_mean_loss(m: Floats, s: Floats, C: float) -> Floats:
    r""":math:`\ln E[e^{-C\max(0,1-\theta)}]` over :math:`\theta\sim N(m,s^2)`, in closed form."""
    inside = (1 - m) / s
    x = inside - C * s
    # Two forms of exp(-C (1 - m) + (C s)^2 / 2) Phi(x): either is exact where the other cancels.
    with np.errstate(divide="ignore", over="ignore"):
        below = np.where(
            x < 0,
            -(inside**2) / 2 + np.log(erfcx(np.abs(x) / np.sqrt(2)) / 2),
            -C * (1 - m) + np.square(C * np.minimum(s, 1e50)) / 2 + log_ndtr(x),
        )
    return np.logaddexp(below, log_ndtr(-inside))
