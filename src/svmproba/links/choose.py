"""Fit a link by name, or let cross-validation decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmproba.links._fitting import Bools, Floats
from svmproba.links.beta import BetaLink
from svmproba.links.isotonic import IsotonicLink, IsotonicMixtureLink
from svmproba.links.platt import PlattLink
from svmproba.links.stack import StackLink
from svmproba.links.venn_abers import VennAbersLink

_FOLDS = 5
#: Standard errors by which one part must beat the mean of both to be used alone.
_CLEARLY = 2.0


class Link(Protocol):
    """What all links have in common."""

    reads: ClassVar[str]

    def fit(self, scores: ArrayLike, positive: ArrayLike) -> Link:
        """Fit to scores and labels."""

    def predict(self, scores: ArrayLike) -> Floats:
        """Probability of the class of interest."""


_PARTS: dict[str, Callable[[], Link]] = {"isotonic": IsotonicMixtureLink, "stack": StackLink}


class AutoLink:
    r"""A flexible link, a stiff one, or the mean of both, by cross-validated Brier score.

    The flexible link is :class:`~svmproba.links.IsotonicMixtureLink`, the stiff one
    :class:`~svmproba.links.StackLink`. Their mean is taken unless one of them alone is clearly
    better: by more than two standard errors of the paired difference of squared errors, in five
    folds. Equal calls give equal links, whatever the order of the records. A class of one record
    leaves nothing to validate on, and the mean is taken.

    Attributes
    ----------
    chosen_ : {"mean", "isotonic", "stack"}
        What `predict` uses.
    candidates_ : dict of str to float
        Cross-validated Brier score of each of them; empty where there was nothing to validate on.
    links_ : list of links
        The fitted links in use.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links import AutoLink
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=200)
    >>> scaled = truth + 0.3 * rng.normal(size=(3, 200))
    >>> link = AutoLink().fit(scaled, rng.random(200) < 1 / (1 + np.exp(-2 * truth)))
    >>> link.chosen_, sorted(link.candidates_)
    ('mean', ['isotonic', 'mean', 'stack'])
    """

    reads: ClassVar[str] = "scaled"

    chosen_: str
    candidates_: dict[str, float]
    links_: list[Link]

    def fit(self, scores: ArrayLike, positive: ArrayLike) -> AutoLink:
        """Fit to scaled scores (n_theta, n) and labels (n,) of bool."""
        links = {name: make().fit(scores, positive) for name, make in _PARTS.items()}
        s, plus = np.asarray(scores, dtype=np.float64), np.asarray(positive)
        self.chosen_, self.candidates_ = "mean", {}
        n_least = int(min(plus.sum(), (~plus).sum()))
        if n_least >= 2:
            errors = _squared_errors(s, plus, min(_FOLDS, n_least))
            self.candidates_ = {name: float(error.mean()) for name, error in errors.items()}
            lead = {name: _lead(errors["mean"], errors[name]) for name in links}
            best = max(lead, key=lead.__getitem__)
            self.chosen_ = best if lead[best] > _CLEARLY else "mean"
        self.links_ = list(links.values()) if self.chosen_ == "mean" else [links[self.chosen_]]
        return self

    def predict(self, scores: ArrayLike) -> Floats:
        """Probability of the class of interest, shape (n,), for scaled scores (n_theta, n)."""
        return np.mean([link.predict(scores) for link in self.links_], axis=0)


def _squared_errors(scaled: Floats, positive: Bools, n_folds: int) -> dict[str, Floats]:
    """Cross-validated squared error of every record for each part and for their mean."""
    fold = _deal(scaled.mean(axis=0), positive, n_folds)
    P = {name: np.empty(len(positive)) for name in _PARTS}
    for k in range(n_folds):
        out = fold == k
        for name, make in _PARTS.items():
            P[name][out] = make().fit(scaled[:, ~out], positive[~out]).predict(scaled[:, out])
    P["mean"] = np.mean(list(P.values()), axis=0)
    return {name: (p - positive) ** 2 for name, p in P.items()}


def _deal(scores: Floats, positive: Bools, n_folds: int) -> NDArray[np.int64]:
    """Deal the records of either class to the folds; sorted, so that their order is no matter."""
    fold = np.empty(len(scores), dtype=np.int64)
    rng = np.random.default_rng(0)
    for members in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        in_order = members[np.argsort(scores[members], kind="stable")]
        # Dealt in turn, every record would have close neighbours in all other folds, and a rough
        # isotonic fit would look better than it is.
        fold[in_order] = rng.permutation(np.arange(len(members)) % n_folds)
    return fold


def _lead(error: Floats, other: Floats) -> float:
    """By how many standard errors the second of two paired errors is smaller on average."""
    gain = error - other
    spread = gain.std() / np.sqrt(len(gain))
    return float(gain.mean() / spread) if spread > 0 else 0.0


_BY_NAME: dict[str, Callable[[], Link]] = {
    "platt": PlattLink,
    "isotonic": IsotonicLink,
    "beta": BetaLink,
    "venn_abers": VennAbersLink,
    "stack": StackLink,
    "auto": AutoLink,
}
#: Names of the links that `fit_link` knows.
LINKS = tuple(_BY_NAME)


def fit_link(name: str, scaled: Floats, mixed: Floats, positive: Bools) -> Link:
    r"""Fit the named link to the out-of-bag scores of a bootstrap ensemble.

    Parameters
    ----------
    name : {"platt", "isotonic", "beta", "venn_abers", "stack", "auto"}
        Which link.
    scaled : ndarray, shape (n_theta, n)
        Mean out-of-bag score of each record at each hyperparameter value :math:`\theta`, divided
        by the scale :math:`\sigma_\theta` of the scores there.
    mixed : ndarray, shape (n,)
        Their mixture :math:`\sum_\theta\rho_\theta s_\theta`.
    positive : ndarray of bool, shape (n,)
        Which records belong to the class of interest.

    Returns
    -------
    link
        Its attribute ``reads`` says whether ``predict`` wants ``"scaled"`` or ``"mixed"`` scores.

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
    link = _BY_NAME[name]()
    return link.fit(scaled if link.reads == "scaled" else mixed, positive)
