"""Predictions of a fitted ensemble: probabilities, labels, votes, scores and their intervals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from svmproba._types import Floats
from svmproba.bootstrap.classes.fitted import called_classes
from svmproba.bootstrap.fitted import ensemble_vote_shares
from svmproba.bootstrap.fitting.members import member_scores, score_blocks
from svmproba.bootstrap.summaries.votes import two_columns
from svmproba.estimators.classes.calibration import class_proba, class_vote_shares, pair_scores
from svmproba.estimators.classes.intervals import class_interval
from svmproba.estimators.ensemble.attributes import FittedAttributes
from svmproba.estimators.ensemble.calibration import positive_proba
from svmproba.estimators.ensemble.intervals import KINDS, proba_interval, score_interval
from svmproba.estimators.ensemble.rates import at_subgroups, obey_jackknife
from svmproba.estimators.input.dask_tables import is_lazy, map_partitions, refuse_lazy
from svmproba.estimators.input.parameters import check_confidence, check_option
from svmproba.estimators.input.samples import check_records
from svmproba.estimators.shared.texts import document_parameters
from svmproba.solvers.kernels import Rows


@document_parameters
class EnsemblePredictions(FittedAttributes):
    """What a fitted ensemble says of samples."""

    device: str
    n_jobs: int | None

    def predict_proba(self, X: ArrayLike, by: ArrayLike | None = None) -> Floats:
        """Probabilities of the classes.

        Parameters
        ----------
        {X, by}

        Returns
        -------
        ndarray, shape (n_samples, n_classes)
            Columns as `classes_`; rows sum to one. For a dask table a dask array, which reads one
            partition after the other when it is computed.
        """
        if is_lazy(X):
            check_is_fitted(self, "ensemble_")
            return map_partitions(self, "predict_proba", X, len(self.classes_), np.float64)
        rows = self._check_new(X)
        if (several := self._several) is not None:
            return class_proba(several, rows, self.n_jobs, self.device)
        if by is None and self.ensemble_.is_calibrated:  # thresholds of subgroups play no part
            P = positive_proba(self.ensemble_, rows, self.n_jobs, self.device)
            return two_columns(obey_jackknife(self.ensemble_, rows, P, self.n_jobs), self._plus)
        P = np.empty(rows.shape[0])
        for ensemble, places in at_subgroups(self.ensemble_, by, len(P)):
            part = rows if isinstance(places, slice) else rows[places]
            P[places] = positive_proba(ensemble, part, self.n_jobs, self.device)
        return two_columns(obey_jackknife(self.ensemble_, rows, P, self.n_jobs), self._plus)

    def predict(self, X: ArrayLike, by: ArrayLike | None = None) -> NDArray[Any]:
        """Labels: the class of interest where its probability is at least ``proba_threshold_``.

        The threshold is one half unless `with_rate` or `with_costs` moved it. Of more than two
        classes, the one of largest probability times ``class_factors_``, which are 1 unless
        `with_rate` moved them, or that of least expected cost after `with_costs`.

        Parameters
        ----------
        {X, by}

        Returns
        -------
        ndarray, shape (n_samples,)
            Labels; a dask array for a dask table.
        """
        if is_lazy(X):
            check_is_fitted(self, "ensemble_")
            return map_partitions(self, "predict", X, None, self.classes_.dtype)
        P = self.predict_proba(X, by)
        if (several := self._several) is not None:
            return np.asarray(self.classes_[called_classes(several, P)])
        chosen = np.empty(len(P), dtype=bool)
        for ensemble, places in at_subgroups(self.ensemble_, by, len(P)):
            chosen[places] = P[places, self._plus] >= ensemble.proba_threshold
        return self.classes_[np.where(chosen, self._plus, 1 - self._plus)]

    def vote_shares(self, X: ArrayLike) -> Floats:
        r"""Share of the bags that vote for the class of interest, for each hyperparameter value.

        Parameters
        ----------
        {X}

        Returns
        -------
        ndarray, shape (n_theta, n_samples), or (n_theta, n_samples, n_classes)
            Vote shares :math:`P(+|x,\theta)` at ``threshold_``; of more than two classes, the share
            of the bags that call each of them.
        """
        rows = self._check_new(X)
        if (several := self._several) is not None:
            return class_vote_shares(several, rows, self.n_jobs, self.device)
        if self.ensemble_.separate:
            raise ValueError(
                "vote_shares needs one threshold for all samples: this model has one for each "
                "subgroup, see subgroup_rates_."
            )
        return ensemble_vote_shares(self.ensemble_, rows, self.n_jobs, self.device)

    def member_scores(self, X: ArrayLike) -> Iterator[tuple[slice, Floats]]:
        r"""Scores :math:`f_{\theta,b}(x)` of all members, block by block of samples.

        Parameters
        ----------
        {X}

        Yields
        ------
        block : slice
            Which samples these are.
        scores : ndarray, shape (n_theta, n_bootstraps, n_samples_of_the_block)
            Their scores; a block takes about 16 MiB. Of more than two classes there is a first
            axis for the pairs of ``pairs_``, and scores are positive for the second class.
        """
        rows, members = self._check_new(X), self.ensemble_.members
        if self._several is not None:
            return pair_scores(members, rows)
        return (
            (block, np.moveaxis(member_scores(members, rows[block]), 0, -1))
            for block in score_blocks(members, rows)
        )

    def predict_proba_interval(
        self, X: ArrayLike, confidence: float = 0.95, *, kind: str = "sampling"
    ) -> Floats:
        """Interval of the probability of the class of interest, or of each of several classes.

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
        {X}
        confidence : float, default=0.95
            Confidence of the first two kinds.
        kind : {"simulation", "sampling", "venn_abers"}, default="sampling"
            ``"simulation"``: error of drawing B bags only; it shrinks with B. ``"sampling"``: error
            of having this training set; needs about five bags for every training sample to be
            stable, and is short for vote shares near 0 and 1. With calibrated probabilities both
            look at the probability that every bag gives by itself, through the fitted link, whose
            own error is left out; with too few bags, ``"sampling"`` is then as wide as one SVM is
            uncertain, often more than the ensemble is. ``"venn_abers"``: the pair :math:`[p_0,p_1]`
            from out-of-bag scores [2]_, about the calibrated probability whatever `calibration` is;
            wide where few samples have like scores.

        Returns
        -------
        ndarray, shape (n_samples, 2), or (n_samples, n_classes, 2)
            Lower and upper limit; with more than two classes of the probability of each, which has
            no kind ``"venn_abers"``.

        Warns
        -----
        UserWarning
            With ``kind="sampling"``, where the variance of some samples cannot be separated from
            the noise of the bags; their intervals assume that training sets move a score as much as
            bags do.

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
        >>> model.predict_proba_interval(scale(X)[:1], kind="simulation").round(2)
        array([[0.  , 0.07]])
        """
        rows = self._check_new(X)
        check_confidence(confidence)
        check_option("kind", kind, KINDS)
        if (several := self._several) is not None:
            return class_interval(several, rows, confidence, kind, self.n_jobs)
        return proba_interval(self.ensemble_, rows, confidence, kind, self.n_jobs)

    def score_interval(
        self, X: ArrayLike, confidence: float = 0.95, *, theta: int | None = None
    ) -> Floats:
        r"""Percentile interval of the score over the bags.

        It covers the score as a functional of the distribution of the samples, in the limit of many
        samples and smooth class densities, without the bias of regularisation. It shows on which
        side of the boundary a sample lies, not how probable its label is.

        Parameters
        ----------
        {X}
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
        self._need_two("score_interval")
        check_confidence(confidence)
        return score_interval(self.ensemble_, rows, confidence, theta, self.n_jobs)

    def _check_new(self, X: ArrayLike) -> Rows:
        check_is_fitted(self, "ensemble_")
        refuse_lazy(X, "predict_proba and predict take it by partitions, X.compute() collects it")
        # Blocks are turned into float64 one by one: a float32 table is not copied as a whole.
        rows: Rows = check_records(self, X, dtype=[np.float64, np.float32], reset=False)
        pairwise = self.ensemble_.members.feature_maps[0].kernel == "precomputed"
        return rows[:, self._present] if pairwise and self._present is not None else rows
