"""Platt scaling: a sigmoid of the score."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from svmproba._types import Bools, Floats
from svmproba.links._fitting import fit_logistic
from svmproba.links._link import Link, warn_of_order


class PlattLink(Link):
    r"""Sigmoid of the score, fitted by maximum likelihood with smoothed targets.

    .. math:: P(+|s)=\frac1{1+e^{As+B}}

    with :math:`A,B` minimising :math:`-\sum_i\{t_i\log p_i+(1-t_i)\log(1-p_i)\}`, where
    :math:`t_i=\frac{n_++1}{n_++2}` for positives and :math:`\frac1{n_-+2}` for negatives [1]_.
    Normally :math:`A<0`; the link warns of :math:`A>0`, where the probability falls with the score.
    With one class, or constant scores, :math:`A=0` and :math:`P` is the mean target. The scores
    must not come from the samples that the SVM was trained on.

    Attributes
    ----------
    A_, B_ : float
        The coefficients.

    References
    ----------
    .. [1] H.-T. Lin, C.-J. Lin and R. C. Weng, "A note on Platt's probabilistic outputs for
       support vector machines", Machine Learning 68, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links import PlattLink
    >>> link = PlattLink().fit(np.array([-1, -1, 1, 1]), np.array([False, False, True, True]))
    >>> link.predict(np.array([-1, 0, 1]))
    array([0.25, 0.5 , 0.75])
    """

    def _fit(self, s: Floats, plus: Bools) -> None:
        # Standardised, so that the stop and the jitter mean the same on every scale of scores.
        centre, spread = s.mean(), s.std() if np.ptp(s) > 0 else 1.0
        (slope,), intercept = fit_logistic(((s - centre) / spread)[np.newaxis], plus)
        self.A_ = -float(slope / spread)
        self.B_ = float(slope * centre / spread - intercept)
        # Rounding leaves either sign where the scores carry no information.
        if slope < -1e-6:
            warn_of_order(f"falls with the score (A={self.A_:.3g} > 0)")

    def _predict(self, s: Floats) -> Floats:
        return expit(-(self.A_ * s + self.B_))
