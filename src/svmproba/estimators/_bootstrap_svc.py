"""Bootstrap ensemble of support vector machines whose votes are probabilities (EBB)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from svmproba._sklearn_compat import CallbackSupportMixin, with_callbacks
from svmproba.bootstrap.bags import draw_bags
from svmproba.bootstrap.blocks import map_blocks, row_blocks
from svmproba.bootstrap.members import (
    Family,
    Members,
    Training,
    fit_members,
    input_coef,
    member_scores,
    member_vote_shares,
    scores_width,
)
from svmproba.bootstrap.profile import profile_records, scales_and_thresholds, scales_of_varying
from svmproba.bootstrap.reliability import mean_reliability, weights
from svmproba.bootstrap.threshold import rate_curve
from svmproba.bootstrap.votes import mix_shares, out_of_bag_shares, tally_block, two_columns
from svmproba.estimators._calibration import CalibrationMixin
from svmproba.estimators._costs import DecisionMixin
from svmproba.estimators._families import make_families
from svmproba.estimators._lazy_table import is_lazy, map_partitions, refuse_lazy
from svmproba.estimators._little_bootstraps import KERNEL_PARAMETERS, LittleBootstrapMixin
from svmproba.estimators._parameters import document_parameters
from svmproba.estimators._progress import FitProgress
from svmproba.estimators._rate_control import RateControlMixin
from svmproba.estimators._records import check_records
from svmproba.estimators._summary import SummaryMixin
from svmproba.estimators._uncertainty import UncertaintyMixin
from svmproba.estimators._validation import (
    Floats,
    TrainingSet,
    as_generator,
    check_ensemble_parameters,
    check_kernels,
    explain_names_of_svc,
    training_set,
    warn_of_doubts,
)
from svmproba.solvers.kernels import Rows
from svmproba.solvers.runtime.devices import resolve_device

THETA = np.dtype(
    [("C", np.float64), ("gamma", np.float64), ("kernel", "U11"), ("class_weight", np.float64)]
)


class Setting(NamedTuple):
    """What a fit starts from."""

    data: TrainingSet
    counts: NDArray[np.uint8]
    n_redraws: int
    families: list[Family]
    Cs: Floats
    kernel: dict[str, Any]
    tally: Any
    progress: FitProgress


@document_parameters
class BootstrapSVC(
    CallbackSupportMixin,
    LittleBootstrapMixin,
    CalibrationMixin,
    RateControlMixin,
    UncertaintyMixin,
    DecisionMixin,
    SummaryMixin,
    ClassifierMixin,
    BaseEstimator,
):
    r"""Support vector machines on bootstrap bags whose vote shares are probabilities (EBB).

    For every hyperparameter value :math:`\theta\in\Theta` and every bag :math:`b=1,\dots,B` one
    SVM is fitted on the bag, with score :math:`f_{\theta,b}`, and measured on the records that
    the bag left out. With :math:`r_\theta` the mean of that measure over the bags,

    .. math::
        P(+|x,\theta)=\frac1B\sum_b\Big[1\{f_{\theta,b}(x)>0\}+\tfrac12 1\{f_{\theta,b}(x)=0\}\Big],
        \qquad P(+|x)=\sum_{\theta\in J}\rho_\theta\,P(+|x,\theta),

    where :math:`J` holds the values with :math:`r_\theta\ge\max_l r_l-\varepsilon` and
    :math:`\rho_\theta=r_\theta/\sum_{l\in J}r_l` [1]_. All values share the same bags.

    That probability says how stable the sign of the score is under resampling. It is not an
    estimate of :math:`P(y=+|x)`: with more and more records it tends to 0 or 1 on either side of
    the boundary. ``calibration="auto"`` gives such an estimate instead, from the same bags and
    without a record held out: a link from the mean scores

    .. math:: s(x)=\sum_\theta\rho_\theta\frac1B\sum_b\frac{f_{\theta,b}(x)}{\sigma_\theta}

    to probabilities, fitted on the same means over the bags that left a record out. Columns should
    have comparable scales, see :class:`~sklearn.preprocessing.StandardScaler`.

    Parameters
    ----------
    {Cs, kernel/ensemble, gammas, degree, coef0, n_bootstraps}
    resample : {"bootstrap", "blb"}, default="bootstrap"
        How bags are drawn. ``"blb"``: the bag of little bootstraps [2]_, for tables that are too
        large for memory or time. A member sees a subset of ``n ** subset_exponent`` samples with
        counts that sum to n, so that C means the same. X and y may then be dask tables.
    subset_exponent : float, default=0.7
        Size of the subsets, in [0.5, 1].
    {epsilon, reliability, calibration, pos_label, class_weight/ensemble, tol, n_components}
    {device, n_jobs, random_state, verbose}

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
        Labels, sorted.
    pos_label_ : label
        The class of interest.
    thetas_ : structured ndarray, shape (n_theta,)
        The hyperparameter values, fields "C", "gamma" (NaN for kernels without it), "kernel" and
        "class_weight" (factor of the class of interest divided by that of the other class): by
        kernel, gamma and class weight in the order given, then by C.
    coef_ : ndarray, shape (n_theta, n_bootstraps, n_features_in_)
        Coefficients, for the linear kernel only.
    intercept_ : ndarray, shape (n_theta, n_bootstraps)
        Intercepts.
    duality_gap_ : ndarray, shape (n_theta, n_bootstraps)
        Relative duality gap of every member, a bound on how far it is from the optimum.
    counts_ : ndarray of uint8, shape (n_bootstraps, n_samples)
        The bags: how often each record was drawn.
    n_redraws_ : int
        Bags that were drawn again because they lacked a class.
    reliability_ : ndarray, shape (n_theta,)
        Mean out-of-bag measure over the bags where it is defined.
    weights_ : ndarray, shape (n_theta,)
        Weights :math:`\rho_\theta`, sum 1.
    oob_proba_ : ndarray, shape (n_samples, 2)
        Probabilities of the training records from the bags that left them out, columns as
        `classes_`; NaN for a record that was in every bag or has weight 0. Calibrated ones went
        into the fit of the link, a slight optimism.
    oob_score_, oob_tpr_, oob_tnr_ : float
        Accuracy of the decisions by ``oob_proba_`` over the records where they are
        defined, and within the class of interest and the other class.
    oob_scores_ : ndarray, shape (n_theta, n_samples)
        Mean score of every training record over the bags that left it out.
    oob_median_ : ndarray, shape (n_samples,)
        Upper weighted median of those scores over bags and hyperparameter values: the record is
        called positive, out of bag, at every ``threshold_`` below it.
    score_scales_ : ndarray, shape (n_theta,)
        Scales :math:`\sigma_\theta`, the median size of the out-of-bag scores. Infinite where the
        mean scores of all records are alike, as where a class is rare: such values of
        :math:`\theta` have no part in a link.
    calibrator_ : link or None
        The fitted link.
    threshold_ : float, or ndarray of shape (n_theta,)
        Threshold of the scores; 0 unless `with_rate` moved it.
    proba_threshold_ : float
        Threshold of the probabilities; one half unless `with_rate` or `with_costs` moved it.
    costs_ : dict of str to float, or None
        The costs of `with_costs` that decide, by the names of its arguments.
    guarantee_ : str
        What is guaranteed of the rates on new records, in one sentence.
    oob_records_ : ndarray of int, shape (n_held_out,), or None
        With ``resample="blb"``, the records held out of all subsets: `counts_`, `oob_proba_` and
        all other attributes with one entry a record are about them, in this order. None: they are
        about all records.
    n_subsets_, subset_size_ : int
        With ``resample="blb"``, how many subsets there are, and their size.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        Names of the columns, where X has string names.

    Notes
    -----
    `sample_weight` is a price, not a count: it multiplies C for its record, and bags are drawn
    from the records with positive weight, each with the same probability. A record of weight 2
    therefore is not the same as two records: two would be drawn independently.

    There is no ``decision_function``: the label is the threshold of the probability, and no single
    score has the same order as the vote shares. `score_samples_array` gives the members' scores.

    ``resample="blb"`` rests on more than the bootstrap does: subsets must be large enough for the
    score to be about normal and unbiased in them (many more records than columns, both classes in
    numbers, no classes that separate), because the members of each are moved to the mean of all
    subsets and only their spread is kept, see `svmproba.bootstrap.little`. It is worse than the
    bootstrap on tables below about 10 000 records, where classes are rare or nearly separable, and
    in its centre, which knows the records of the subsets and no others. Everything out of bag is
    measured on records held out, a fifth of them and 50 000 at most. The kind ``"sampling"`` of
    `predict_proba_interval` takes the spread of the bags for that of training sets. Of a dask table
    the drawn records alone are collected; `fit` trusts that the others are like them, NaN included.

    References
    ----------
    .. [1] S. Benítez-Peña, R. Blanquero, E. Carrizosa and P. Ramírez-Cobo, *Cost-sensitive
       probabilistic predictions for support vector machines*.
    .. [2] A. Kleiner, A. Talwalkar, P. Sarkar and M. I. Jordan, "A scalable bootstrap for massive
       data", Journal of the Royal Statistical Society B 76, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from svmproba import BootstrapSVC
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = make_pipeline(StandardScaler(), BootstrapSVC(n_bootstraps=20, random_state=0))
    >>> model.fit(X, y).predict_proba(X).shape
    (569, 2)
    >>> bool(model[-1].oob_score_ > 0.95)
    True
    """

    @explain_names_of_svc
    def __init__(
        self,
        Cs: ArrayLike | None = None,
        *,
        kernel: str | list[str] = "linear",
        gammas: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        n_bootstraps: int = 500,
        resample: str = "bootstrap",
        subset_exponent: float = 0.7,
        epsilon: float = np.inf,
        reliability: str = "accuracy",
        calibration: str | None = None,
        pos_label: Any = None,
        class_weight: Any = None,
        tol: float = 1e-3,
        n_components: int | None = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.Cs = Cs
        self.kernel = kernel
        self.gammas = gammas
        self.degree = degree
        self.coef0 = coef0
        self.n_bootstraps = n_bootstraps
        self.resample = resample
        self.subset_exponent = subset_exponent
        self.epsilon = epsilon
        self.reliability = reliability
        self.calibration = calibration
        self.pos_label = pos_label
        self.class_weight = class_weight
        self.tol = tol
        self.n_components = n_components
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> BootstrapSVC:
        """Fit all members and weigh the hyperparameter values.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Training records; their kernel values (n_samples, n_samples) if precomputed. With
            ``resample="blb"`` also a dask DataFrame or array, which is read twice, partition by
            partition.
        y : array-like, shape (n_samples,)
            Labels, two classes with at least two records each; of dask and partitioned as X if X
            is.
        sample_weight : array-like, shape (n_samples,), optional
            Factor on C for each record; a record of weight 0 counts as absent.

        Returns
        -------
        self : BootstrapSVC
            Fitted estimator.
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> BootstrapSVC:
        if self._is_little():
            fields, members, training, held_out = self._fit_little(X, y, sample_weight)
            setting = Setting(*fields)
            self._settle(setting, members, training)
            self.oob_records_ = held_out
            warn_of_doubts(self)
            setting.progress.finish()
            return self
        setting = self._set_up(X, y, sample_weight)
        members, training = fit_members(
            setting.data.X,
            setting.data.positive,
            setting.counts,
            kernel=setting.kernel,
            families=setting.families,
            Cs=setting.Cs,
            weight=setting.data.weight,
            tol=self.tol,
            tally=setting.tally,
            n_jobs=self.n_jobs,
            report=setting.progress,
            device=self.device,
        )
        self._settle(setting, members, training)
        warn_of_doubts(self)
        setting.progress.finish()
        return self

    def _set_up(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, passes: int = 1
    ) -> Setting:
        """Check parameters and data, draw the bags; each will be reported `passes` times."""
        Cs = check_ensemble_parameters(self)
        refuse_lazy(X, "BootstrapSVC(resample='blb') takes it by partitions, X.compute() collects")
        rows, labels = check_records(self, X, y, order="C")
        pairwise = "precomputed" in check_kernels(self.kernel)
        data = training_set(rows, labels, sample_weight, None, self.pos_label, pairwise=pairwise)
        n_plus = int(data.positive.sum())
        families = make_families(self, data, (len(data.positive) - n_plus, n_plus))
        rng = as_generator(self.random_state)
        counts, n_redraws = draw_bags(self.n_bootstraps, data.positive, rng)
        n_bags, metadata = passes * len(families) * len(counts), {"sample_weight": sample_weight}
        progress = FitProgress(self, n_bags, X=rows, y=labels, metadata=metadata)
        kernel = {name: getattr(self, name) for name in KERNEL_PARAMETERS} | {"rng": rng}
        tally = partial(tally_block, positive=data.positive, measure=self.reliability)
        return Setting(data, counts, n_redraws, families, Cs, kernel, tally, progress)

    def _settle(self, setting: Setting, members: Members, training: Training) -> None:
        """Keep the members, weigh the hyperparameter values, summarise the out-of-bag scores."""
        data, counts = setting.data, setting.counts
        self._members, self._plus, self._present = members, data.plus, data.present
        self.classes_, self.pos_label_ = data.classes, data.classes[data.plus]
        grid = [
            (C, family.gamma, family.kernel, family.factors[1] / family.factors[0])
            for family in setting.families
            for C in setting.Cs
        ]
        self.thetas_ = np.array(grid, dtype=THETA)
        self.intercept_, self.duality_gap_ = members.intercept, training.gap
        self.counts_, self.n_redraws_ = data.spread(counts, 0), setting.n_redraws
        self.oob_records_ = None
        self._positive = data.spread(data.positive, False)
        self.reliability_ = mean_reliability(training.reliability)
        self.weights_ = weights(self.reliability_, self.epsilon)
        P = mix_shares(out_of_bag_shares(training.twice_votes, counts), self.weights_)
        self._summarise(data, counts, P)

    def _summarise(self, data: TrainingSet, counts: NDArray[np.uint8], P: Floats) -> None:
        """Note what the out-of-bag scores say of records, thresholds and probabilities."""
        where = (self.n_jobs, self.device)
        self.score_scales_, thresholds = scales_and_thresholds(
            self._members, data.X, counts, *where
        )
        profile = profile_records(
            self._members,
            data.X,
            self.weights_,
            counts=counts,
            positive=data.positive,
            thresholds=thresholds,
            n_jobs=self.n_jobs,
            device=self.device,
        )
        self.oob_scores_ = data.spread(profile.mean, np.nan)
        self.score_scales_ = scales_of_varying(self.score_scales_, profile.mean)
        self.oob_median_ = data.spread(profile.median, np.nan)
        self._oob_medians = data.spread(profile.medians, np.nan)
        self._vote_curve = rate_curve(thresholds, profile, data.positive)
        self._vote_P = data.spread(P, np.nan)
        self._calibrate(self.calibration)

    @property
    def coef_(self) -> Floats:
        """Coefficients of the members, for the linear kernel only."""
        if any(feature_map.kernel != "linear" for feature_map in self._members.feature_maps):
            raise AttributeError("coef_ is only available with kernel='linear'.")
        return input_coef(self._members)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probabilities of both classes.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Records.

        Returns
        -------
        ndarray, shape (n_samples, 2)
            Columns as `classes_`; rows sum to one. For a dask table a dask array, which reads one
            partition after the other when it is computed.
        """
        if is_lazy(X):
            check_is_fitted(self, "intercept_")
            return map_partitions(self, "predict_proba", X, 2, np.float64)
        rows = self._check_new(X)
        if self.calibrator_ is None:
            P = mix_shares(self._vote_shares(rows), self.weights_)
        else:
            P = self._calibrated(rows)
        if self._jackknife is not None:
            P = self._obey_jackknife(rows, P)
        return two_columns(P, self._plus)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Labels: the class of interest where its probability is at least ``proba_threshold_``.

        The threshold is one half unless `with_rate` or `with_costs` moved it.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Records.

        Returns
        -------
        ndarray, shape (n_samples,)
            Labels; a dask array for a dask table.
        """
        if is_lazy(X):
            check_is_fitted(self, "intercept_")
            return map_partitions(self, "predict", X, None, self.classes_.dtype)
        chosen = self.predict_proba(X)[:, self._plus] >= self.proba_threshold_
        return self.classes_[np.where(chosen, self._plus, 1 - self._plus)]

    def vote_shares(self, X: ArrayLike) -> Floats:
        r"""Probability of the class of interest for each hyperparameter value.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Records.

        Returns
        -------
        ndarray, shape (n_theta, n_samples)
            Vote shares :math:`P(+|x,\theta)` at ``threshold_``.
        """
        return self._vote_shares(self._check_new(X))

    def _vote_shares(self, rows: Rows) -> Floats:
        threshold = np.reshape(self.threshold_, (-1, 1))
        device = resolve_device(self.device)
        if device is not None:
            from svmproba.bootstrap.on_device import device_vote_shares

            return device_vote_shares(self._members, rows, threshold, device).T

        def block_shares(block: slice) -> Floats:
            return member_vote_shares(self._members, rows[block], threshold)

        return np.concatenate(map_blocks(block_shares, self._blocks(rows), self.n_jobs)).T

    def score_samples_array(self, X: ArrayLike) -> Iterator[tuple[slice, Floats]]:
        r"""Scores :math:`f_{\theta,b}(x)` of all members, block by block of records.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Records.

        Yields
        ------
        block : slice
            Which records these are.
        scores : ndarray, shape (n_theta, n_bootstraps, n_records_of_the_block)
            Their scores; a block takes about 16 MiB.
        """
        rows = self._check_new(X)
        return (
            (block, np.moveaxis(member_scores(self._members, rows[block]), 0, -1))
            for block in self._blocks(rows)
        )

    def _check_new(self, X: ArrayLike) -> Rows:
        check_is_fitted(self, "intercept_")
        refuse_lazy(X, "predict_proba and predict take it by partitions, X.compute() collects it")
        # Blocks are turned into float64 one by one: a float32 table is not copied as a whole.
        dtypes = [np.float64, np.float32]
        rows: Rows = check_records(self, X, dtype=dtypes, reset=False)
        if self._present is not None and self._members.feature_maps[0].kernel == "precomputed":
            rows = rows[:, self._present]
        return rows

    def _blocks(self, rows: Rows) -> list[slice]:
        return row_blocks(rows.shape[0], rows.shape[1] + scores_width(self._members))

    def __sklearn_tags__(self) -> Tags:
        """Two classes; sparse rows; pairwise with a precomputed kernel."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.sparse = not pairwise
        tags.input_tags.pairwise = pairwise
        return tags
