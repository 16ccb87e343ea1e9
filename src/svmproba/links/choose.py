"""Fit a link by name, or choose one by its cross-validated Brier score."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmproba.links._fitting import Bools, Floats
from svmproba.links.beta import BetaLink
from svmproba.links.isotonic import IsotonicLink
from svmproba.links.platt import PlattLink
from svmproba.links.stack import StackLink
from svmproba.links.venn_abers import VennAbersLink


class Link(Protocol):
    """What all links have in common."""

    reads: ClassVar[str]

    def fit(self, scores: ArrayLike, positive: ArrayLike) -> Link:
        """Fit to scores and labels."""

    def predict(self, scores: ArrayLike) -> Floats:
        """Probability of the class of interest."""


_BY_NAME: dict[str, Callable[[], Link]] = {
    "platt": PlattLink,
    "isotonic": IsotonicLink,
    "beta": BetaLink,
    "venn_abers": VennAbersLink,
    "stack": StackLink,
}
#: Names of the links, and "auto".
LINKS = (*_BY_NAME, "auto")
_FOLDS = 5


def fit_link(name: str, scaled: Floats, mixed: Floats, positive: Bools) -> Link:
    """Fit the named link (preliminary: "auto" chooses by cross-validated Brier score)."""
    if name not in LINKS:
        raise ValueError(f"name must be one of {', '.join(LINKS)}, got {name!r}")
    candidates: dict[str, float] = {}
    if name == "auto":
        fold = _folds(mixed, positive)
        for option in ("beta", "isotonic", "platt"):
            candidates[option] = _brier(option, scaled, mixed, positive, fold)
        name = min(candidates, key=candidates.__getitem__)
    link = _BY_NAME[name]()
    link.fit(scaled if link.reads == "scaled" else mixed, positive)
    if candidates:
        link.candidates_ = candidates  # type: ignore[attr-defined]
    return link


def _folds(scores: Floats, positive: Bools) -> NDArray[np.int64]:
    """Deal the records of either class to the folds in the order of their scores."""
    fold = np.empty(len(scores), dtype=np.int64)
    for members in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        fold[members[np.argsort(scores[members], kind="stable")]] = np.arange(len(members)) % _FOLDS
    return fold


def _brier(name: str, scaled: Floats, mixed: Floats, positive: Bools, fold: NDArray) -> float:
    link = _BY_NAME[name]()
    scores = scaled if link.reads == "scaled" else mixed
    loss = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in np.unique(fold):
            out = fold == k
            P = link.fit(scores[..., ~out], positive[~out]).predict(scores[..., out])
            loss += float(((P - positive[out]) ** 2).sum())
    return loss / len(positive)
