"""Vapnik's cosine series for the conditional probability, in one dimension."""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression

from svmproba._types import Bools, Floats
from svmproba.links._link import Link

_GAMMAS: Floats = np.logspace(-7, -2, 6)
_FOLDS, _TAIL = 5, 0.01


class CosineLink(Link):
    r"""Cosine series of the score that solves the integral equation of the probability.

    Scores are mapped to :math:`t\in[0,\pi]`, linearly between their 1st and 99th percentiles and
    clipped beyond. The probability :math:`p(t)=\sum_{k=0}^Na_k\cos kt` solves
    :math:`\int_0^tp\,dF=F_+(t)`, with the distribution :math:`F` of all samples and the share
    :math:`F_+` of positive ones up to :math:`t`. With the empirical distributions,
    :math:`Z_j=\frac1n\sum_{i\le j}(1,\cos t_{(i)},\dots,\cos Nt_{(i)})` and
    :math:`g_j=\frac1n\sum_{i\le j}1\{y_{(i)}=+\}`,

    .. math::
        \Big(\tfrac1nZ^\top Z+\gamma\,\mathrm{diag}(0,1^4,\dots,N^4)\Big)a=\tfrac1nZ^\top g .

    Values are clipped to [0, 1] and need not rise with the score. Sums start at the smallest score,
    so that reversed scores give slightly different probabilities. Vapnik lets the coefficients
    depend on the sample as well as its score [1]_ [2]_; this version with the score alone is our
    derivation from his principle, not published by him.

    Parameters
    ----------
    n_terms : int, default=8
        :math:`N`; 4 to 10 are sensible.
    gamma : float or None, default=None
        Strength of the smoothing. None: the value among :math:`10^{-7},\dots,10^{-2}` with the
        least cross-validated Brier score.
    isotonic : bool, default=False
        Whether to replace the series by the nearest non-decreasing values at the calibration
        scores, interpolated linearly.

    Attributes
    ----------
    gamma_ : float
        The strength used.
    coef_ : ndarray, shape (n_terms + 1,)
        :math:`a`.
    low_, high_ : float
        Scores that map to 0 and to :math:`\pi`.
    scores_, values_ : ndarray, shape (n_distinct,)
        The non-decreasing values and their scores, with ``isotonic=True``.

    References
    ----------
    .. [1] V. Vapnik, *Statistical Learning Theory*, Wiley, 1998.
    .. [2] J. Platt, "Probabilistic outputs for support vector machines and comparisons to
       regularized likelihood methods", in Advances in Large Margin Classifiers, MIT Press, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links import CosineLink
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=2000)
    >>> link = CosineLink().fit(scores, rng.random(2000) < 1 / (1 + np.exp(-2 * scores)))
    >>> link.predict(np.array([-1, 0, 1])).round(1)
    array([0.1, 0.5, 0.9])
    """

    def __init__(
        self, n_terms: int = 8, *, gamma: float | None = None, isotonic: bool = False
    ) -> None:
        if isinstance(n_terms, bool) or not isinstance(n_terms, int | np.integer) or n_terms < 1:
            raise ValueError(f"n_terms must be an integer >= 1, got {n_terms!r}")
        if gamma is not None and not 0 <= gamma < np.inf:
            raise ValueError(f"gamma must be None or a finite number >= 0, got {gamma!r}")
        self.n_terms = int(n_terms)
        self.gamma = gamma
        self.isotonic = bool(isotonic)

    def _fit(self, s: Floats, plus: Bools) -> None:
        order = np.lexsort((plus, s))
        s, plus = s[order], plus[order]
        self.low_, self.high_ = (float(q) for q in np.quantile(s, [_TAIL, 1 - _TAIL]))
        waves = self._waves(s)
        gammas = _GAMMAS if self.gamma is None else np.array([self.gamma])
        self.gamma_ = float(gammas[_best(waves, plus, gammas)])
        self.coef_ = _solve(waves, plus, np.array([self.gamma_]))[0]
        if self.isotonic:
            self.scores_, first, n_samples = np.unique(s, return_index=True, return_counts=True)
            series = (waves[first] @ self.coef_).clip(0, 1)
            self.values_ = isotonic_regression(series, weights=n_samples).x

    def _predict(self, s: Floats) -> Floats:
        if self.isotonic:
            return np.interp(s, self.scores_, self.values_)
        return (self._waves(s) @ self.coef_).clip(0, 1)

    def _waves(self, s: Floats) -> Floats:
        """Cosines (n, n_terms + 1) of the multiples of t."""
        span = self.high_ - self.low_
        t = np.pi * ((s - self.low_) / span).clip(0, 1) if span > 0 else np.full_like(s, np.pi / 2)
        return np.cos(t[:, np.newaxis] * np.arange(self.n_terms + 1))


def _solve(waves: Floats, plus: Bools, gammas: Floats) -> Floats:
    """Coefficients (n_gammas, n_terms + 1) for samples in increasing order of their score."""
    n, width = waves.shape
    # Samples of equal t share the sums up to the last of them. Beyond the percentiles t is equal
    # though the scores are not.
    last = np.searchsorted(-waves[:, 1], -waves[:, 1], side="right") - 1
    Z, g = waves.cumsum(axis=0)[last] / n, plus.cumsum()[last] / n
    penalty = np.diag(np.arange(width, dtype=np.float64) ** 4)
    systems = Z.T @ Z / n + gammas[:, np.newaxis, np.newaxis] * penalty
    # Least squares, because few distinct scores without smoothing leave the system singular.
    return np.stack([np.linalg.lstsq(system, Z.T @ g / n)[0] for system in systems])


def _best(waves: Floats, plus: Bools, gammas: Floats) -> int:
    """Index of the gamma of least cross-validated Brier score, the largest of equals."""
    n_folds = min(_FOLDS, len(plus))
    if len(gammas) == 1 or n_folds < 2:
        return len(gammas) - 1
    # Samples are sorted, so that their order in the call does not change the folds.
    fold = np.random.default_rng(0).permutation(np.arange(len(plus)) % n_folds)
    errors = np.zeros(len(gammas))
    for k in range(n_folds):
        out = fold == k
        coef = _solve(waves[~out], plus[~out], gammas)
        P = (waves[out] @ coef.T).clip(0, 1)
        errors += np.square(P - plus[out, np.newaxis]).sum(axis=0)
    return int(len(gammas) - 1 - np.argmin(errors[::-1]))
