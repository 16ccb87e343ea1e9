"""Wahba's logistic link: the score taken as log odds."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from svmproba.links._fitting import Floats, check_pairs


class WahbaLink:
    r"""The score read as log odds, nothing fitted.

    .. math:: P(+|s)=\frac1{1+e^{-s}}

    This is right for a machine trained with the logistic loss [1]_. With the hinge loss scores tend
    to :math:`\mathrm{sgn}(2P-1)`, from which no fixed link can recover :math:`P`: a baseline. It is
    the published link, Platt's with :math:`A=-1,B=0`.

    References
    ----------
    .. [1] G. Wahba, "Support vector machines, reproducing kernel Hilbert spaces, and randomized
       GACV", in Advances in Kernel Methods, MIT Press, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links import WahbaLink
    >>> link = WahbaLink().fit(np.array([-1.0, 1.0]), np.array([False, True]))
    >>> link.predict(np.array([-1, 0, 1])).round(3)
    array([0.269, 0.5  , 0.731])
    """

    reads: ClassVar[str] = "mixed"

    def fit(self, scores: ArrayLike, positive: ArrayLike) -> WahbaLink:
        """Check scores (n,) and labels (n,) of bool; there is nothing to fit."""
        check_pairs(scores, positive)
        return self

    def predict(self, scores: ArrayLike) -> Floats:
        """Probability of the class of interest, shape (n,), for scores (n,)."""
        return expit(np.asarray(scores, dtype=np.float64))
