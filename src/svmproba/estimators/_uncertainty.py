"""How sure a bootstrap ensemble is: intervals of probabilities and scores."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

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
            every training record to be stable, and is short for vote shares near 0 and 1. With
            calibrated probabilities both look at the probability that every bag gives by itself,
            through the fitted link, whose own error is left out; with too few bags for the
            training records, ``"sampling"`` is then as wide as one SVM is uncertain, often more
            than the ensemble is. ``"venn_abers"``: the pair
            :math:`[p_0,p_1]` from out-of-bag scores [2]_, about the calibrated probability
            whatever `calibration` is; wide where there are few records of like score.

        Returns
        -------
        ndarray, shape (n_samples, 2)
            Lower and upper limit.

        Warns
        -----
        UserWarning
            With ``kind="sampling"``, where the variance of some records drowned in the noise of
            the bags; their intervals take training sets to move a score as much as bags do.

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

        def block_interval(block: slice) -> tuple[Floats, Any]:
            values = self._bag_probabilities(member_scores(self._members, rows[block]))
            if kind == "sampling":
                votes = not self._is_calibrated()
                found = sampling_interval(values, self.counts_, confidence, votes=votes)
                limits, estimated = np.column_stack(found[:2]), found.estimated
            else:
                limits = np.column_stack(simulation_interval(values, confidence))
                estimated = np.ones(0, dtype=bool)
            if self._is_calibrated():
                # The probability of the mean score is not quite the mean of the probabilities.
                limits += (self._calibrated(rows[block]) - values.mean(axis=0))[:, np.newaxis]
            return np.clip(limits, 0.0, 1.0), estimated

        parts = map_blocks(block_interval, self._blocks(rows), self.n_jobs)
        limits, estimated = zip(*parts, strict=True)
        if kind == "sampling" and self.oob_records_ is None:
            warn_if_not_estimated(np.concatenate(estimated), self.counts_.shape)
        return np.concatenate(limits)

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

    def _bag_probabilities(self: Any, scores: Floats) -> Floats:
        """Probability of every bag by itself, shape (n_bootstraps, n_samples), from its scores."""
        if self._is_calibrated():
            scaled = np.moveaxis(scores, 1, 0) / self.score_scales_[:, np.newaxis, np.newaxis]
            P: Floats = self._link_proba(scaled.reshape(len(scaled), -1))
            return P.reshape(scaled.shape[1:]).T
        threshold = np.reshape(self.threshold_, (-1, 1))
        twice = (scores > threshold).view(np.uint8) + (scores >= threshold).view(np.uint8)
        return np.tensordot(twice / 2, self.weights_, axes=(1, 0)).T

    def _venn_abers(self: Any) -> VennAbersLink:
        mixed = (self.weights_ / self.score_scales_) @ self.oob_scores_
        known = ~np.isnan(mixed)
        return VennAbersLink().fit(mixed[known], self._positive[known])


def warn_if_not_estimated(estimated: Any, shape: tuple[int, int]) -> None:
    """Warn of records whose variance could not be told from the noise of the bags."""
    n_failed = int(np.count_nonzero(~estimated))
    if n_failed:
        warnings.warn(
            f"The sampling variance of {n_failed} of {len(estimated)} records could not be "
            f"estimated: n_bootstraps={shape[0]} is small for {shape[1]} training records (about "
            f"five bags a record are needed), or their votes are unanimous. Their intervals take "
            f"training sets to move a score as much as bags do.",
            UserWarning,
            stacklevel=3,
        )
