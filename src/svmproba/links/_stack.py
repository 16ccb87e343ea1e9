"""Stacking: a logistic regression on the scores of all hyperparameter values."""

from __future__ import annotations

from scipy.special import expit

from svmproba._types import Bools, Floats
from svmproba.links._fitting import fit_logistic
from svmproba.links._link import Link


class StackLink(Link):
    r"""Ridge-logistic regression on the out-of-bag scores of all hyperparameter values.

    .. math:: \mathrm{logit}\,P(+|x)=\sum_\theta w_\theta s_\theta(x)+c

    where :math:`s_\theta` is the mean score at :math:`\theta` divided by its scale, and
    :math:`(w,c)` minimises the logistic loss with the targets of
    :class:`~svmproba.links.PlattLink` plus :math:`\frac\lambda2\|w\|^2` [1]_. The scores of
    neighbouring values are nearly proportional; the ridge shares the weight among them. Weights
    may be negative unless `non_negative` is set.

    Parameters
    ----------
    ridge : float, default=0.1
        :math:`\lambda>0`.
    non_negative : bool, default=False
        Whether no weight may be negative.

    Attributes
    ----------
    coef_ : ndarray, shape (n_theta,)
        Weights :math:`w`.
    intercept_ : float
        :math:`c`.

    References
    ----------
    .. [1] D. H. Wolpert, "Stacked generalization", Neural Networks 5, 1992.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links import StackLink
    >>> scaled = np.array([[-1.0, -2.0, 1.0, 2.0], [-1.0, -1.0, 1.0, 1.0]])
    >>> link = StackLink().fit(scaled, np.array([False, False, True, True]))
    >>> link.predict(scaled).round(2)
    array([0.29, 0.24, 0.71, 0.76])
    """

    def __init__(self, ridge: float = 0.1, *, non_negative: bool = False) -> None:
        if not ridge > 0:
            raise ValueError(f"ridge must be positive, got {ridge!r}")
        self.ridge = ridge
        self.non_negative = non_negative

    @property
    def reads(self) -> str:
        """Scores of all hyperparameter values, each divided by its scale."""
        return "scaled"

    def _fit(self, s: Floats, plus: Bools) -> None:
        self.coef_, self.intercept_ = fit_logistic(
            s, plus, ridge=self.ridge, non_negative=self.non_negative
        )

    def _predict(self, s: Floats) -> Floats:
        return expit(self.coef_ @ s + self.intercept_)
