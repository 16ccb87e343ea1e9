"""Links by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Bools, Floats
from svmproba.links._beta import BetaLink
from svmproba.links._isotonic import IsotonicLink
from svmproba.links._link import Link
from svmproba.links._platt import PlattLink
from svmproba.links._spline import QuadraticLink, SplineLink
from svmproba.links._stack import StackLink
from svmproba.links._super_learner import AutoLink
from svmproba.links._venn_abers import VennAbersLink
from svmproba.links.rivals._cosine import CosineLink
from svmproba.links.rivals._cpon import CponLink
from svmproba.links.rivals._gaussian import GaussianLink
from svmproba.links.rivals._moderated import ModeratedLink
from svmproba.links.rivals._sollich import SollichLink
from svmproba.links.rivals._wahba import WahbaLink

BY_NAME: dict[str, Callable[..., Link]] = {
    "platt": PlattLink,
    "wahba": WahbaLink,
    "gaussian": GaussianLink,
    "cosine": CosineLink,
    "cpon": CponLink,
    "sollich": SollichLink,
    "moderated": ModeratedLink,
    "isotonic": IsotonicLink,
    "beta": BetaLink,
    "venn_abers": VennAbersLink,
    "quadratic": QuadraticLink,
    "spline": SplineLink,
    "stack": StackLink,
    "auto": AutoLink,
}
#: Names of the links that `fit_link` takes.
LINKS = ("platt", "isotonic", "beta", "quadratic", "spline", "venn_abers", "stack", "auto")

#: Samples of a pair of classes below which one smooth link is better, once coupled, than a
#: combination of many: on seven tables with pairs of up to 600 samples, and not on two with more.
_FEW_OF_PAIR = 700


def fit_link(
    name: str,
    scaled: Floats,
    mixed: Floats,
    positive: Bools,
    families: NDArray[np.int64] | None = None,
    ratios: Floats | None = None,
    groups: NDArray[np.int64] | None = None,
    of_pair: bool = False,
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
    ratios : ndarray, shape (n_ratios, n), optional
        Mixtures of the families' scores in units of their spread over the bags, for ``"auto"``.
    groups : ndarray of int, shape (n,), optional
        Group of each sample, for the folds of ``"auto"``.
    of_pair : bool, default=False
        Whether the classes are one of many pairs, whose probabilities will be coupled. With fewer
        than 700 samples ``"auto"`` is then one :class:`~svmproba.links.StackLink` without negative
        weights.

    Returns
    -------
    link
        The fitted link. Its attribute ``reads`` tells whether ``predict`` takes ``"mixed"``
        scores, ``"scaled"`` ones, or both these and the ``"ratios"``.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links import fit_link
    >>> scaled = np.array([[-1.0, -1.0, 1.0, 1.0]])
    >>> link = fit_link("platt", scaled, scaled[0], np.array([False, False, True, True]))
    >>> link.reads, link.predict(np.array([1.0]))
    ('mixed', array([0.75]))
    """
    if name not in LINKS:
        raise ValueError(f"name must be one of {', '.join(LINKS)}, got {name!r}")
    if name == "auto" and of_pair and len(positive) < _FEW_OF_PAIR:
        return StackLink(non_negative=True).fit(scaled, positive)
    if name == "auto":
        families = np.zeros(len(scaled), dtype=np.int64) if families is None else families
        ratios = np.empty((0, len(positive))) if ratios is None else ratios
        alone = np.full(len(ratios), -1)
        link = AutoLink(np.append(families, alone))
        return link.fit(np.vstack([scaled, ratios]), positive, groups)
    other = BY_NAME[name]()
    return other.fit(scaled if other.reads == "scaled" else mixed, positive)
