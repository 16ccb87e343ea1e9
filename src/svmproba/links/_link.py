"""What all links share: the contract, the checks of scores and labels, one warning."""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmproba._types import Bools, Floats

Places = NDArray[np.intp]


class Link:
    """Map from scores to probabilities.

    A link defines ``_predict`` and, unless nothing is fitted, ``_fit``, both for checked arrays.
    """

    @property
    def reads(self) -> str:
        """Kind of scores that the link takes, see `svmproba.links`."""
        return "mixed"

    def fit(self, scores: ArrayLike, positive: ArrayLike) -> Self:
        """Fit the link to scores and labels.

        Parameters
        ----------
        scores : array-like, shape (n,), or (n_rows, n) where `reads` says so
            Finite scores of samples that the SVMs were not trained on.
        positive : array-like of bool, shape (n,)
            Which samples belong to the class of interest.

        Returns
        -------
        self
            The fitted link.
        """
        self._fit(
            *check_pairs(scores, positive, ndim=2 if self.reads in ("scaled", "ratios") else 1)
        )
        return self

    def predict(self, scores: ArrayLike) -> Floats:
        """Probability of the class of interest.

        Parameters
        ----------
        scores : array-like, shape (n,), or (n_rows, n) where `reads` says so
            Scores.

        Returns
        -------
        ndarray, shape (n,)
            Probabilities.
        """
        return self._predict(np.asarray(scores, dtype=np.float64))

    def _fit(self, s: Floats, plus: Bools) -> None:
        """Fit nothing: a link without coefficients only checks its input."""

    def _predict(self, s: Floats) -> Floats:
        raise NotImplementedError


def check_pairs(scores: ArrayLike, positive: ArrayLike, *, ndim: int = 1) -> tuple[Floats, Bools]:
    """Check finite scores (n,) or (n_theta, n) and labels (n,); a single class is warned of."""
    s, plus = np.asarray(scores, dtype=np.float64), np.asarray(positive)
    if s.ndim != ndim or s.size == 0:
        allowed = "(n,)" if ndim == 1 else "(n_theta, n)"
        raise ValueError(f"scores must be a non-empty array of shape {allowed}, got {s.shape}")
    if plus.dtype != np.bool_ or plus.shape != s.shape[-1:]:
        raise ValueError(
            f"positive must be an array of bool of shape {s.shape[-1:]}, one entry per sample, "
            f"got {plus.dtype} of shape {plus.shape}"
        )
    if not np.isfinite(s).all():
        raise ValueError("scores must be finite: leave out the samples without a score")
    if plus.all() or not plus.any():
        only = "positive" if plus[0] else "negative"
        warnings.warn(
            f"All {len(plus)} calibration samples are {only}: the probability hardly depends on "
            "the score.",
            stacklevel=3,
        )
    return s, plus


def warn_of_order(what: str) -> None:
    """Warn, from within ``_fit``, that the probability does not rise with the score."""
    warnings.warn(
        f"The probability {what}: on the calibration samples, scores and labels disagree.",
        stacklevel=4,
    )
