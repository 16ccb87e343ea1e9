"""Links by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmproba.links._beta import BetaLink
from svmproba.links._isotonic import IsotonicLink
from svmproba.links._link import Bools, Floats, Link
from svmproba.links._platt import PlattLink
from svmproba.links._spline import QuadraticLink, SplineLink
from svmproba.links._stack import StackLink
from svmproba.links._super_learner import AutoLink
from svmproba.links._venn_abers import VennAbersLink

_BY_NAME: dict[str, Callable[[], Link]] = {
    "platt": PlattLink,
    "isotonic": IsotonicLink,
    "beta": BetaLink,
    "quadratic": QuadraticLink,
    "spline": SplineLink,
    "venn_abers": VennAbersLink,
    "stack": StackLink,
    "auto": AutoLink,
}
#: Names of the links that `fit_link` knows.
LINKS = tuple(_BY_NAME)


def fit_link(
    name: str,
    scaled: Floats,
    mixed: Floats,
    positive: Bools,
    families: NDArray[np.int64] | None = None,
) -> Link:
    r"""Fit the named link to the out-of-bag scores of a bootstrap ensemble.

    Parameters
    ----------
    name : {"platt", "isotonic", "beta", "quadratic", "spline", "venn_abers", "stack", "auto"}
        Name of the link.
    scaled : ndarray, shape (n_theta, n)
        Mean out-of-bag score of each sample at each hyperparameter value :math:`\theta`, divided
        by the scale :math:`\sigma_\theta` of the scores there.
    mixed : ndarray, shape (n,)
        Their mixture :math:`\sum_\theta\rho_\theta s_\theta`.
    positive : ndarray of bool, shape (n,)
        Which samples belong to the class of interest.
    families : ndarray of int, shape (n_theta,), optional
        Family of each hyperparameter value, for ``"auto"``; None: one family.

    Returns
    -------
    link
        The fitted link. Its attribute ``reads`` tells whether ``predict`` takes ``"scaled"`` or
        ``"mixed"`` scores.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links import fit_link
    >>> scaled = np.array([[-1.0, -1.0, 1.0, 1.0]])
    >>> link = fit_link("platt", scaled, scaled[0], np.array([False, False, True, True]))
    >>> link.reads, link.predict(np.array([1.0]))
    ('mixed', array([0.75]))
    """
    if name not in _BY_NAME:
        raise ValueError(f"name must be one of {', '.join(LINKS)}, got {name!r}")
    link = AutoLink(families) if name == "auto" else _BY_NAME[name]()
    return link.fit(scaled if link.reads == "scaled" else mixed, positive)
