"""Isotonic regression: the best non-decreasing function of the score."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

from svmproba.links._fitting import Bools, Floats, check_pairs

Counts = NDArray[np.intp]


def pool_ties(scores: Floats, positive: Bools) -> tuple[Floats, Counts, Counts]:
    """Put records of equal score together.

    Parameters
    ----------
    scores : ndarray, shape (n,)
        Scores.
    positive : ndarray of bool, shape (n,)
        Which records belong to the class of interest.

    Returns
    -------
    distinct : ndarray, shape (n_distinct,)
        Increasing scores.
    n_records, n_positive : ndarray of int, shape (n_distinct,)
        Records and positive records of each.
    """
    distinct, group = np.unique(scores, return_inverse=True)
    n_positive = np.bincount(group[positive], minlength=len(distinct))
    return distinct, np.bincount(group), n_positive


def _fit_knots(scores: Floats, positive: Bools) -> tuple[Floats, Floats]:
    """Return the ends of the constant pieces of the isotonic fit and its clipped values there."""
    distinct, n_records, n_positive = pool_ties(scores, positive)
    fitted = isotonic_regression(n_positive / n_records, weights=n_records).x
    rises = np.diff(fitted) > 0
    knots = np.append(True, rises) | np.append(rises, True)
    least = 1 / (len(scores) + 2)
    return distinct[knots], fitted[knots].clip(least, 1 - least)


class IsotonicLink:
    r"""Non-decreasing least-squares fit of the labels (pool adjacent violators).

    Records of equal score are pooled first. Between the scores the fit is interpolated linearly,
    outside it is constant, and it is clipped to :math:`[\frac1{n+2},1-\frac1{n+2}]`, so that no
    probability of 0 or 1 is claimed from :math:`n` records. It tends to :math:`E[y|s]` wherever
    that is non-decreasing, but is rough on few records: use it from about 500.

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

    reads: ClassVar[str] = "mixed"

    scores_: Floats
    values_: Floats

    def fit(self, scores: ArrayLike, positive: ArrayLike) -> IsotonicLink:
        """Fit to scores (n,) and labels (n,) of bool."""
        s, plus = check_pairs(scores, positive)
        self.scores_, self.values_ = _fit_knots(s, plus)
        return self

    def predict(self, scores: ArrayLike) -> Floats:
        """Probability of the class of interest, shape (n,), for scores (n,)."""
        return np.interp(np.asarray(scores, dtype=np.float64), self.scores_, self.values_)
