"""Wahba's logistic link: the score is taken as log odds."""

from __future__ import annotations

from scipy.special import expit

from svmproba._types import Floats
from svmproba.links._link import Link


class WahbaLink(Link):
    r"""The score read as log odds, nothing fitted.

    .. math:: P(+|s)=\frac1{1+e^{-s}}

    This is right for a model trained with the logistic loss [1]_. With the hinge loss, scores tend
    to :math:`\mathrm{sgn}(2P-1)`, from which no fixed link can recover :math:`P`: use it as a
    baseline. It is Platt's link with :math:`A=-1,B=0`.

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

    def _predict(self, s: Floats) -> Floats:
        return expit(s)
