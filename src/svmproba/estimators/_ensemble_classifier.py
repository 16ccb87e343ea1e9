"""What every fitted bootstrap ensemble offers; how it is fitted is up to its subclasses."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from svmproba.bootstrap.fitted import FittedEnsemble, curve_of, ensemble_vote_shares
from svmproba.bootstrap.members import member_scores, score_blocks
from svmproba.bootstrap.threshold import RateCurve
from svmproba.bootstrap.votes import two_columns
from svmproba.estimators._calibration import positive_proba, with_calibration
from svmproba.estimators._costs import DecisionMixin, ensemble_with_costs
from svmproba.estimators._fitted_attributes import FittedAttributes
from svmproba.estimators._lazy_table import is_lazy, map_partitions, refuse_lazy
from svmproba.estimators._rate_control import (
    Target,
    check_target,
    new_levels,
    obey_jackknife,
    training_levels,
    with_rate,
)
from svmproba.estimators._records import check_records
from svmproba.estimators._uncertainty import KINDS, proba_interval, score_interval
from svmproba.estimators._validation import (
    Floats,
    check_calibration,
    check_confidence,
    check_option,
)
from svmproba.solvers.kernels import Rows

Model = TypeVar("Model", bound="EnsembleClassifier")


class EnsembleClassifier(DecisionMixin, ClassifierMixin, FittedAttributes):
    """Predictions, intervals, rates, costs and calibration of a fitted ensemble."""

    kernel: Any
    calibration: str | None
    device: str
    n_jobs: int | None

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probabilities of both classes.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray, shape (n_samples, 2)
            Columns as `classes_`; rows sum to one. For a dask table a dask array, which reads one
            partition after the other when it is computed.
        """
        if is_lazy(X):
            check_is_fitted(self, "ensemble_")
            return map_partitions(self, "predict_proba", X, 2, np.float64)
        rows = self._check_new(X)
        P = positive_proba(self.ensemble_, rows, self.n_jobs, self.device)
        return two_columns(obey_jackknife(self.ensemble_, rows, P, self.n_jobs), self._plus)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Labels: the class of interest where its probability is at least ``proba_threshold_``.

        The threshold is one half unless `with_rate` or `with_costs` moved it.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray, shape (n_samples,)
            Labels; a dask array for a dask table.
        """
        if is_lazy(X):
            check_is_fitted(self, "ensemble_")
            return map_partitions(self, "predict", X, None, self.classes_.dtype)
        chosen = self.predict_proba(X)[:, self._plus] >= self.proba_threshold_
        return self.classes_[np.where(chosen, self._plus, 1 - self._plus)]

    def vote_shares(self, X: ArrayLike) -> Floats:
        r"""Share of the bags that vote for the class of interest, for each hyperparameter value.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray, shape (n_theta, n_samples)
            Vote shares :math:`P(+|x,\theta)` at ``threshold_``.
        """
        rows = self._check_new(X)
        return ensemble_vote_shares(self.ensemble_, rows, self.n_jobs, self.device)

    def member_scores(self, X: ArrayLike) -> Iterator[tuple[slice, Floats]]:
        r"""Scores :math:`f_{\theta,b}(x)` of all members, block by block of samples.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Samples.

        Yields
        ------
        block : slice
            Which samples these are.
        scores : ndarray, shape (n_theta, n_bootstraps, n_samples_of_the_block)
            Their scores; a block takes about 16 MiB.
        """
        rows, members = self._check_new(X), self.ensemble_.members
        return (
            (block, np.moveaxis(member_scores(members, rows[block]), 0, -1))
            for block in score_blocks(members, rows)
        )

    def predict_proba_interval(
        self, X: ArrayLike, confidence: float = 0.95, *, kind: str = "sampling"
    ) -> Floats:
        r"""Interval of the probability of the class of interest.

        ========================  ===========================================================
        `kind`                    what the interval covers
        ========================  ===========================================================
        ``"simulation"``          the value for infinitely many bags, this training set given
        ``"sampling"``            the average of that value over training sets of this size, by
                                  the infinitesimal jackknife
        ``"venn_abers"``          nothing with a stated confidence: a pair of probabilities, one
                                  for either label of the sample
        ========================  ===========================================================

        None of them is a confidence interval of :math:`P(y=+|x)`, which cannot be both valid and
        short without assumptions [1]_.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Samples.
        confidence : float, default=0.95
            Confidence of the first two kinds.
        kind : {"simulation", "sampling", "venn_abers"}, default="sampling"
            ``"simulation"``: error of drawing B bags only; it shrinks with B and says nothing of
            the data. ``"sampling"``: error of having this training set; needs about five bags for
            every training sample to be stable, and is short for vote shares near 0 and 1. With
            calibrated probabilities both look at the probability that every bag gives by itself,
            through the fitted link, whose own error is left out; with too few bags for the
            training samples, ``"sampling"`` is then as wide as one SVM is uncertain, often more
            than the ensemble is. ``"venn_abers"``: the pair
            :math:`[p_0,p_1]` from out-of-bag scores [2]_, about the calibrated probability
            whatever `calibration` is; wide where there are few samples of like score.

        Returns
        -------
        ndarray, shape (n_samples, 2)
            Lower and upper limit.

        Warns
        -----
        UserWarning
            With ``kind="sampling"``, where the variance of some samples drowned in the noise of
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
        return proba_interval(self.ensemble_, rows, confidence, kind, self.n_jobs)

    def score_interval(
        self, X: ArrayLike, confidence: float = 0.95, *, theta: int | None = None
    ) -> Floats:
        r"""Percentile interval of the score over the bags.

        It covers the score as a functional of the distribution that the samples come from, in the
        limit of many samples and smooth class densities; the bias of regularisation is not
        covered. It tells on which side of the boundary a sample lies, not how probable its label
        is.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Samples.
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
        return score_interval(self.ensemble_, rows, confidence, theta, self.n_jobs)

    def rate_curve(self) -> RateCurve:
        """Rates and errors of either class at many thresholds, measured out of bag.

        Returns
        -------
        RateCurve
            Arrays ``threshold``, ``tpr``, ``tnr``, ``mse_plus``, ``mse_minus``, by increasing
            threshold. For vote shares the threshold applies to the scores and moves the
            probabilities with it; for calibrated probabilities it applies to the probabilities,
            which stay.
        """
        check_is_fitted(self, "ensemble_")
        return curve_of(self.ensemble_)

    def with_calibration(self: Model, calibration: str | None) -> Model:
        """Copy of the model with another link to probabilities, and a threshold of one half.

        Nothing but the link is fitted again, and the arrays are shared. Ask again for a rate or
        for costs: those of the model are given up.

        Parameters
        ----------
        calibration : {None, "auto", "platt", "isotonic", "beta", "quadratic", "spline", \
                "venn_abers", "stack"}
            The link, as in the parameter of the same name.

        Returns
        -------
        estimator
            The copy.
        """
        check_is_fitted(self, "ensemble_")
        check_calibration(calibration)
        other = self._with(with_calibration(self.ensemble_, calibration))
        other.calibration = calibration
        return other

    def with_rate(
        self: Model,
        *,
        tpr: float | None = None,
        tnr: float | None = None,
        per_theta: bool = False,
        exceed: bool = True,
        guarantee: str | None = None,
        confidence: float = 0.9,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
    ) -> Model:
        r"""Copy of the model with the threshold at which a class reaches a rate (CEBB1).

        Nothing is fitted again and the arrays are shared. The threshold is set on out-of-bag levels
        of the training samples, or on the samples `X`, `y`. Vote shares are counted at the new
        threshold, :math:`P_t(+|x)=\sum_\theta\rho_\theta\frac1B\#\{b:f_{\theta,b}(x)>t\}`, and
        `predict` still compares them with one half; calibrated probabilities stay as they are, and
        `predict` compares them with ``proba_threshold_``.

        Parameters
        ----------
        tpr, tnr : float in [0, 1]
            Rate of the class of interest, or of the other class; one of the two.
        per_theta : bool, default=False
            Whether every hyperparameter value gets a threshold of its own, at which its own votes
            reach the rate. For vote shares without a guarantee only; the rate of the mixture may
            then differ from the rate asked for.
        exceed : bool, default=True
            Whether a rate above the one asked for may stay, as in the paper: the threshold then
            only moves in favour of the class. False gives up the excess for the sake of the other
            class.
        guarantee : {None, "split", "oob", "jackknife+"}, default=None
            What is guaranteed on new samples, see ``guarantee_`` of the result. None: nothing, the
            threshold reaches the rate on the samples at hand. ``"split"``: the rate with
            `confidence`, exactly, from the samples `X`, `y`. ``"oob"``: approximately the same,
            from out-of-bag levels. ``"jackknife+"``: the rate on average over training samples;
            probabilities on the wrong side of the threshold are then moved to it.
        confidence : float, default=0.9
            Confidence of ``"split"`` and ``"oob"``.
        X : array-like or sparse, shape (n_samples, n_features), optional
            Samples that had no part in the fit.
        y : array-like, shape (n_samples,), optional
            Their labels.

        Returns
        -------
        estimator
            A copy with its own ``threshold_``, ``proba_threshold_``, ``oob_tpr_``, ``oob_tnr_``,
            ``oob_score_`` and ``guarantee_``; costs of `with_costs` decide no longer. One of vote
            shares has no ``oob_proba_``, which would need the training samples again.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.preprocessing import scale
        >>> from svmproba import BootstrapSVC
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = BootstrapSVC(n_bootstraps=50, pos_label=0, random_state=0).fit(scale(X), y)
        >>> wary = model.with_rate(tpr=0.99)
        >>> bool(model.oob_tpr_ < 0.99 <= wary.oob_tpr_), bool(wary.threshold_ < 0)
        (True, True)
        """
        check_is_fitted(self, "ensemble_")
        if (X is None) != (y is None):
            raise ValueError("X and y must be given together, or neither.")
        target = check_target(
            tpr,
            tnr,
            per_theta=per_theta,
            exceed=exceed,
            guarantee=guarantee,
            confidence=confidence,
            calibrated=self._is_calibrated(),
            new_samples=X is not None,
        )
        return self._with(self._at_rate(target, X, y))

    def _at_rate(self, target: Target, X: Any, y: Any) -> FittedEnsemble:
        """Ensemble at the threshold that the samples `X`, `y` set; None: out of bag."""
        levels, positive = self._levels_of(X, y, target.per_theta)
        place = self._plus if target.sign > 0 else 1 - self._plus
        label = self.classes_.tolist()[place]
        return with_rate(self.ensemble_, target, levels, positive, label)

    def _levels_of(
        self, X: Any, y: Any, per_theta: bool = False
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Levels (n,) or (n_theta, n) and labels of the samples that decide on a threshold."""
        if X is None:
            return training_levels(self.ensemble_, per_theta), self.ensemble_.positive
        rows, labels = self._check_new(X), column_or_1d(y)
        check_consistent_length(rows, labels)
        unknown = np.setdiff1d(labels, self.classes_)
        if len(unknown):
            raise ValueError(
                f"y must hold the classes {self.classes_.tolist()!r}, got {unknown.tolist()!r} too."
            )
        levels = new_levels(self.ensemble_, rows, per_theta, self.n_jobs, self.device)
        return levels, labels == self.pos_label_

    def _decided_by(self: Model, costs: Mapping[str, float]) -> Model:
        return self._with(ensemble_with_costs(self.ensemble_, costs))

    def _with(self: Model, ensemble: FittedEnsemble) -> Model:
        other = copy.copy(self)
        other.ensemble_ = ensemble
        return other

    def _is_calibrated(self) -> bool:
        return self.ensemble_.is_calibrated

    def _check_new(self, X: ArrayLike) -> Rows:
        check_is_fitted(self, "ensemble_")
        refuse_lazy(X, "predict_proba and predict take it by partitions, X.compute() collects it")
        # Blocks are turned into float64 one by one: a float32 table is not copied as a whole.
        rows: Rows = check_records(self, X, dtype=[np.float64, np.float32], reset=False)
        pairwise = self.ensemble_.members.feature_maps[0].kernel == "precomputed"
        return rows[:, self._present] if pairwise and self._present is not None else rows

    def __sklearn_tags__(self) -> Tags:
        """Two classes; sparse rows; pairwise with a precomputed kernel."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.sparse = not pairwise
        tags.input_tags.pairwise = pairwise
        return tags
