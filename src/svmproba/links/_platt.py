"""Platt scaling: a sigmoid of the score."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from svmproba.links._fitting import Floats, check_pairs, fit_logistic


class PlattLink:
    r"""Sigmoid of the score, fitted by maximum likelihood with smoothed targets.

    .. math:: P(+|s)=\frac1{1+e^{As+B}}

    with :math:`A,B` minimising :math:`-\sum_i\{t_i\log p_i+(1-t_i)\log(1-p_i)\}`, where
    :math:`t_i=\frac{n_++1}{n_++2}` for positives and :math:`\frac1{n_-+2}` for negatives [1]_.
    Normally :math:`A<0`; :math:`A>0` says that scores fall where the class of interest is more
    frequent, which is warned of. With one class, or constant scores, :math:`A=0` and :math:`P`
    is the mean target. The scores must not come from the records the machine was trained on.

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

    reads: ClassVar[str] = "mixed"

    A_: float
    B_: float

    def fit(self, scores: ArrayLike, positive: ArrayLike) -> PlattLink:
        """Fit to scores (n,) and labels (n,) of bool."""
        s, plus = check_pairs(scores, positive)
        # Standardised, so that the stop and the jitter mean the same on every scale of scores.
        centre, spread = s.mean(), s.std() if np.ptp(s) > 0 else 1.0
        (slope,), intercept, _ = fit_logistic(((s - centre) / spread)[np.newaxis], plus)
        self.A_ = -float(slope / spread)
        self.B_ = float(slope * centre / spread - intercept)
        # Rounding leaves either sign where the scores say nothing.
        if slope < -1e-6:
            warnings.warn(
                f"The probability falls with the score (A={self.A_:.3g} > 0): on the calibration "
                "records, scores and labels disagree.",
                stacklevel=2,
            )
        return self

    def predict(self, scores: ArrayLike) -> Floats:
        """Probability of the class of interest, shape (n,), for scores (n,)."""
        return expit(-(self.A_ * np.asarray(scores, dtype=np.float64) + self.B_))
