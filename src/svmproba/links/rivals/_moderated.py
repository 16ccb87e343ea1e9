"""Kwok's moderated outputs: log odds shrink towards zero where the score is uncertain."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from svmproba._types import Floats
from svmproba.links._link import Link

VARIANCES = ("bootstrap", "margin")


class ModeratedLink(Link):
    r"""Score read as log odds, moderated by its variance.

    .. math:: P(+|s,v)=\mathrm{expit}\Big(\frac s{\sqrt{1+\pi v/8}}\Big)

    is close to the mean of :math:`\mathrm{expit}(z)` over :math:`z\sim N(s,v)` [2]_. Kwok applies
    it to support vector machines with the variance of a Laplace approximation [1]_. Here the
    variance is by default that of the score over bootstrap bags, our own choice. ``"margin"`` is
    closer to Kwok's: the variance of the score while the samples on the margin stay there, see
    :class:`~svmproba.links.SollichLink`. It is nearly zero for a linear SVM with many samples on
    its margin. Nothing is fitted to labels.

    Parameters
    ----------
    variance : {"bootstrap", "margin"}, default="bootstrap"
        Which variance the estimator provides.
    n_bootstraps : int, default=100
        Number of bags for ``"bootstrap"``.
    bias_scale : float, default=10.0
        Prior standard deviation of the bias for ``"margin"``.

    References
    ----------
    .. [1] J. T.-Y. Kwok, "Moderating the outputs of support vector machine classifiers", IEEE
       Transactions on Neural Networks 10, 1999.
    .. [2] D. J. C. MacKay, "The evidence framework applied to classification networks", Neural
       Computation 4, 1992.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links import ModeratedLink
    >>> ModeratedLink().predict(np.array([2.0, 2.0]), variance=np.array([0.0, 8.0])).round(3)
    array([0.881, 0.728])
    """

    def __init__(
        self, variance: str = "bootstrap", *, n_bootstraps: int = 100, bias_scale: float = 10.0
    ) -> None:
        if variance not in VARIANCES:
            raise ValueError(f"variance must be one of {', '.join(VARIANCES)}, got {variance!r}")
        if n_bootstraps < 2:
            raise ValueError(f"n_bootstraps must be an integer >= 2, got {n_bootstraps!r}")
        if not bias_scale >= 0:
            raise ValueError(f"bias_scale must be a number >= 0, got {bias_scale!r}")
        self.variance = variance
        self.n_bootstraps = int(n_bootstraps)
        self.bias_scale = float(bias_scale)

    @property
    def reads(self) -> str:
        """Scores and their variance, named by its source."""
        return self.variance

    def predict(self, scores: ArrayLike, variance: ArrayLike = 0.0) -> Floats:
        """Probability (n,) of the class of interest for scores and their variances (n,)."""
        v = np.asarray(variance, dtype=np.float64)
        if not np.all(v >= 0):
            raise ValueError(f"variance must not be negative, got {v.min()}")
        return expit(np.asarray(scores, dtype=np.float64) / np.sqrt(1 + np.pi * v / 8))
