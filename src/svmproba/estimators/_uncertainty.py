"""How sure a bootstrap ensemble is: intervals of probabilities and scores."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, ndtri

from svmproba.bootstrap.blocks import map_blocks
from svmproba.bootstrap.intervals import (
    percentile_interval,
    sampling_interval,
    simulation_interval,
)
from svmproba.bootstrap.members import member_scores
from svmproba.estimators._validation import Floats, check_confidence, check_option
from svmproba.links import VennAbersLink

KINDS = ("simulation", "sampling", "venn_abers")


class UncertaintyMixin:
    """Methods `predict_proba_interval` and `score_interval` of a fitted bootstrap ensemble."""

    def predict_proba_interval(
        self: Any, X: ArrayLike, confidence: float = 0.95, *, kind: str = "sampling"
    ) -> Floats:
        r"""Interval of the probability of the class of interest.

        ========================  ===========================================================
        `kind`                    what the interval covers
        ========================  ===========================================================
        ``"simulation"``          the value for infinitely many bags, this training set given
        ``"sampling"``            the average of that value over training sets of this size, by
                                  the infinitesimal jackknife
        ``"venn_abers"``          nothing with a stated confidence: a pair of probabilities, one
                                  for either label of the record
        ========================  ===========================================================

        None of them is a confidence interval of :math:`P(y=+|x)`, which cannot be both valid and
        short without assumptions [1]_.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Records.
        confidence : float, default=0.95
            Confidence of the first two kinds.
        kind : {"simulation", "sampling", "venn_abers"}, default="sampling"
            ``"simulation"``: error of drawing B bags only; it shrinks with B and says nothing of
            the data. ``"sampling"``: error of having this training set; needs about five bags for
            every training record to be stable, and is short for vote shares near 0 and 1. Of
            calibrated probabilities both are the interval of the mean score, carried through the
            fitted link, whose own error is left out. ``"venn_abers"``: the pair
            :math:`[p_0,p_1]` from out-of-bag scores [2]_, about the calibrated probability
            whatever `calibration` is; wide where there are few records of like score.

        Returns
        -------
        ndarray, shape (n_samples, 2)
            Lower and upper limit.

        Warns
        -----
        UserWarning
            With ``kind="sampling"``, where the variance of some records could not be estimated;
            their intervals hold the simulation error alone.

        References
        ----------
        .. [1] R. F. Barber, "Is distribution-free inference possible for binary regression?",
           Electronic Journal of Statistics 14, 2020.
        .. [2] V. Vovk and I. Petej, "Venn-Abers predictors", UAI 2014.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.preprocessing import scale
        >>> from svmproba import BootstrapSVC
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = BootstrapSVC(n_bootstraps=50, random_state=0).fit(scale(X), y)
        >>> model.predict_proba_interval(scale(X)[:3], kind="simulation").round(2)
        array([[0.  , 0.07],
               [0.  , 0.07],
               [0.  , 0.07]])
        """
        rows = self._check_new(X)
        check_confidence(confidence)
        check_option("kind", kind, KINDS)
        if kind == "venn_abers":
            pair = self._venn_abers().interval(self.weights_ @ self._scaled_scores(rows))
            return np.column_stack(pair)
        weights, to_proba = self._bag_weights()
        calibrated = self._is_calibrated()

        def block_interval(block: slice) -> tuple[Floats, Floats, Any]:
            scores = member_scores(self._members, rows[block])
            if not calibrated:
                above = np.reshape(self.threshold_, (-1, 1))
                scores = ((scores > above) + (scores >= above).astype(np.float64)) / 2
            values = np.tensordot(scores, weights, axes=(1, 0)).T
            if kind == "sampling":
                found = sampling_interval(
                    values, self.counts_, confidence, probability=not calibrated
                )
                return found.lower, found.upper, found.estimated
            if not calibrated:
                return *simulation_interval(values, confidence), None
            return *mean_interval(values, confidence), None

        parts = map_blocks(block_interval, self._blocks(rows), self.n_jobs)
        lower, upper, estimated = zip(*parts, strict=True)
        if kind == "sampling":
            warn_if_not_estimated(np.concatenate(estimated), self.counts_.shape)
        return np.column_stack([to_proba(np.concatenate(lower)), to_proba(np.concatenate(upper))])

    def score_interval(
        self: Any, X: ArrayLike, confidence: float = 0.95, *, theta: int | None = None
    ) -> Floats:
        r"""Percentile interval of the score over the bags.

        It covers the score as a functional of the distribution that the records come from, in the
        limit of many records and smooth class densities; the bias of regularisation is not
        covered. It tells on which side of the boundary a record lies, not how probable its label
        is.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Records.
        confidence : float, default=0.95
            Confidence; 0.95 asks for a thousand bags or more.
        theta : int or None, default=None
            Place of a hyperparameter value in ``thetas_``. None: the score
            :math:`\sum_\theta\rho_\theta f_{\theta,b}(x)` of every bag.

        Returns
        -------
        ndarray, shape (n_samples, 2)
            Lower and upper limit, in units of the margin.
        """
        rows = self._check_new(X)
        check_confidence(confidence)
        n_theta = len(self.weights_)
        if theta is not None and theta not in range(n_theta):
            raise ValueError(f"theta must be None or in 0, ..., {n_theta - 1}, got {theta!r}.")
        weights = self.weights_ if theta is None else np.eye(n_theta)[theta]

        def block_interval(block: slice) -> Floats:
            scores = member_scores(self._members, rows[block])
            values = np.tensordot(scores, weights, axes=(1, 0)).T
            return np.column_stack(percentile_interval(values, confidence))

        return np.concatenate(map_blocks(block_interval, self._blocks(rows), self.n_jobs))

    def _bag_weights(self: Any) -> tuple[Floats, Callable[[Floats], Floats]]:
        """Weights that turn the members' votes or scores into a bag's value, and its probability.

        The mean of the values over the bags becomes the probability of `predict_proba`.
        """
        if not self._is_calibrated():
            return self.weights_, np.asarray
        link = self.calibrator_
        if link.reads == "mixed":
            return self.weights_ / self.score_scales_, link.predict
        return link.coef_ / self.score_scales_, lambda summed: expit(summed + link.intercept_)

    def _venn_abers(self: Any) -> VennAbersLink:
        mixed = (self.weights_ / self.score_scales_) @ self.oob_scores_
        known = ~np.isnan(mixed)
        return VennAbersLink().fit(mixed[known], self._positive[known])


def mean_interval(values: Floats, confidence: float) -> tuple[Floats, Floats]:
    r"""Limits :math:`\bar v\pm z\,s/\sqrt B` of the mean over the bags, the first axis."""
    mean = values.mean(axis=0)
    half = ndtri((1 + confidence) / 2) * values.std(axis=0) / np.sqrt(len(values))
    return mean - half, mean + half


def warn_if_not_estimated(estimated: Any, shape: tuple[int, int]) -> None:
    """Warn of intervals that hold the simulation error alone."""
    n_failed = int(np.count_nonzero(~estimated))
    if n_failed:
        warnings.warn(
            f"The sampling variance of {n_failed} of {len(estimated)} records could not be "
            f"estimated, and their intervals hold the simulation error alone: n_bootstraps="
            f"{shape[0]} is small for {shape[1]} training records (about five times as many bags "
            f"as records are needed), or their votes are unanimous.",
            UserWarning,
            stacklevel=3,
        )
