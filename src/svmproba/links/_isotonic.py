"""Isotonic regression: the best non-decreasing function of the score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from svmproba._types import Bools, Floats
from svmproba.links._link import Link

Counts = NDArray[np.intp]


def pool_ties(scores: Floats, positive: Bools) -> tuple[Floats, Counts, Counts]:
    """Distinct scores in increasing order, and the number of samples and of positives at each."""
    distinct, group = np.unique(scores, return_inverse=True)
    n_positive = np.bincount(group[positive], minlength=len(distinct))
    return distinct, np.bincount(group), n_positive


class IsotonicLink(Link):
    r"""Non-decreasing least-squares fit of the labels (pool adjacent violators).

    Samples of equal score are pooled first. The fit is interpolated linearly between the scores
    and constant outside. It is clipped to :math:`[\frac1{n+2},1-\frac1{n+2}]`: :math:`n` samples do
    not support a probability of 0 or 1. It tends to :math:`E[y|s]` wherever that is non-decreasing,
    but is rough on few samples: use it from about 500.

    Attributes
    ----------
    scores_, values_ : ndarray, shape (n_knots,)
        Ends of the constant pieces and the probabilities there, both non-decreasing.

    References
    ----------
    B. Zadrozny and C. Elkan, "Transforming classifier scores into accurate multiclass probability
    estimates", KDD 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links import IsotonicLink
    >>> positive = np.array([False, True, False, True, True, True])
    >>> link = IsotonicLink().fit(np.arange(6.0), positive)
    >>> link.predict(np.array([1.0, 2.0, 2.5]))
    array([0.5   , 0.5   , 0.6875])
    """

    def _fit(self, s: Floats, plus: Bools) -> None:
        distinct, n_samples, n_positive = pool_ties(s, plus)
        fitted = isotonic_regression(n_positive / n_samples, weights=n_samples).x
        # Only the ends of the constant pieces are kept.
        rises = np.diff(fitted) > 0
        knots = np.append(True, rises) | np.append(rises, True)
        least = 1 / (len(s) + 2)
        self.scores_, self.values_ = distinct[knots], fitted[knots].clip(least, 1 - least)

    def _predict(self, s: Floats) -> Floats:
        return np.interp(s, self.scores_, self.values_)
