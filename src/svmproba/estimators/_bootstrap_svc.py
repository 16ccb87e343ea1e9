"""Bootstrap ensemble of support vector machines whose votes are probabilities (EBB)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from svmproba._sklearn_compat import CallbackSupportMixin, with_callbacks
from svmproba.bootstrap.classes.fitted import FittedClasses
from svmproba.bootstrap.fitting.members import Members, Training, fit_members
from svmproba.estimators.classes.calibration import with_class_calibration
from svmproba.estimators.classes.setting import ClassSetting, fit_classes
from svmproba.estimators.ensemble.calibration import with_calibration
from svmproba.estimators.ensemble.classifier import EnsembleClassifier
from svmproba.estimators.ensemble.little_bootstraps import fit_little, is_little
from svmproba.estimators.ensemble.pilots import (
    Path,
    Pilot,
    find_components,
    find_gammas,
    searched_parameters,
)
from svmproba.estimators.ensemble.setting import (
    Checked,
    Setting,
    check_input,
    set_up,
    without_absent,
)
from svmproba.estimators.input.parameters import stores_parameters
from svmproba.estimators.shared.doubts import warn_of_bags, warn_of_classes, warn_of_gaps
from svmproba.estimators.shared.texts import document_parameters


@document_parameters
class BootstrapSVC(CallbackSupportMixin, EnsembleClassifier):
    r"""Support vector machines on bootstrap bags whose vote shares are probabilities (EBB).

    For every hyperparameter value :math:`\theta\in\Theta` and every bag :math:`b=1,\dots,B` one
    SVM is fitted on the bag, with score :math:`f_{\theta,b}`, and measured on the samples that
    the bag left out. With :math:`r_\theta` the mean of that measure over the bags,

    .. math::
        P(+|x,\theta)=\frac1B\sum_b\Big[1\{f_{\theta,b}(x)>0\}+\tfrac12 1\{f_{\theta,b}(x)=0\}\Big],
        \qquad P(+|x)=\sum_{\theta\in J}\rho_\theta\,P(+|x,\theta),

    where :math:`J` holds the values with :math:`r_\theta\ge\max_l r_l-\varepsilon` and
    :math:`\rho_\theta=r_\theta/\sum_{l\in J}r_l` [1]_. All values share the same bags.

    This probability measures how stable the sign of the score is under resampling. It is not an
    estimate of :math:`P(y=+|x)`: with more and more samples it tends to 0 or 1 on either side of
    the boundary. ``calibration="auto"`` gives such an estimate instead, from the same bags and
    without a sample held out: a link from the mean scores

    .. math:: s(x)=\sum_\theta\rho_\theta\frac1B\sum_b\frac{f_{\theta,b}(x)}{\sigma_\theta}

    to probabilities, fitted on the same means over the bags that left a sample out. Columns should
    have comparable scales, see :class:`~sklearn.preprocessing.StandardScaler`.

    More than two classes have one SVM for every pair of classes in every bag, fitted on the samples
    of these two. A bag calls the class with most pairs, classes with as many share the call, and
    :math:`P(k|x,\theta)` is the mean of the calls; for two classes these are the votes above.
    Calibration fits a link for every pair, couples the probabilities of the pairs [3]_ and scales
    the result by a temperature or a vector, where cross-validation of the out-of-bag probabilities
    asks for it.

    Parameters
    ----------
    {Cs, kernel/ensemble, gammas/ensemble, degree, coef0, n_bootstraps}
    resample : {"bootstrap", "blb"}, default="bootstrap"
        How bags are drawn. ``"blb"``: the bag of little bootstraps [2]_, for tables that are too
        large for memory or time. A member sees a subset of ``n ** subset_exponent`` samples with
        counts that sum to n, so that C means the same. X and y may then be dask tables.
    subset_exponent : float, default=0.7
        Size of the subsets, in [0.5, 1].
    {epsilon, reliability, calibration, pos_label, class_weight/ensemble, tol}
    {n_components/ensemble}
    {device, n_jobs, random_state, verbose}

    Attributes
    ----------
    {classes_, pos_label_}
    thetas_ : structured ndarray, shape (n_theta,)
        The hyperparameter values, fields "C", "gamma" (NaN for kernels without it), "kernel" and
        "class_weight" (factor of the class of interest divided by that of the other class): by
        kernel, gamma and class weight in the order given, then by C.
    member_coef_ : ndarray, shape (n_theta, n_bootstraps, n_features_in_)
        Coefficients, for the linear kernel only.
    intercept_ : ndarray, shape (n_theta, n_bootstraps)
        Intercepts.
    mean_coef_ : ndarray, shape (n_features_in_,)
        Coefficients of the mean score :math:`s(x)`, for the linear kernel only. With K > 2 classes
        (K, n_features_in_), see `contributions`.
    mean_intercept_ : float
        Its intercept; with K > 2 classes an array of shape (K,).
    duality_gap_ : ndarray, shape (n_theta, n_bootstraps)
        Relative duality gap of every member, a bound on how far it is from the optimum.
    counts_ : ndarray of uint8, shape (n_bootstraps, n_samples)
        The bags: how often each sample was drawn.
    n_redraws_ : int
        Bags that were drawn again because they lacked a class.
    reliability_ : ndarray, shape (n_theta,)
        Mean out-of-bag measure over the bags where it is defined.
    weights_ : ndarray, shape (n_theta,)
        Weights :math:`\rho_\theta`, sum 1.
    oob_proba_ : ndarray, shape (n_samples, 2)
        Probabilities of the training samples from the bags that left them out, columns as
        `classes_`; NaN for a sample that was in every bag or has weight 0. Calibrated ones went
        into the fit of the link, a slight optimism.
    oob_score_, oob_tpr_, oob_tnr_ : float
        Accuracy of the decisions by ``oob_proba_`` over the samples where they are
        defined, and within the class of interest and the other class.
    oob_scores_ : ndarray, shape (n_theta, n_samples)
        Mean score of every training sample over the bags that left it out.
    oob_median_ : ndarray, shape (n_samples,)
        Upper weighted median of those scores over bags and hyperparameter values: the sample is
        called positive, out of bag, at every ``threshold_`` below it.
    score_scales_ : ndarray, shape (n_theta,)
        Scales :math:`\sigma_\theta`, the median size of the out-of-bag scores. Infinite where the
        mean scores of all samples are alike, as where a class is rare: such values of
        :math:`\theta` have no part in a link.
    calibrator_ : link or None
        The fitted link.
    threshold_ : float, or ndarray of shape (n_theta,)
        Threshold of the scores; 0 unless `with_rate` moved it.
    proba_threshold_ : float
        Threshold of the probabilities; one half unless `with_rate` or `with_costs` moved it.
    {costs_}
    guarantee_ : str
        What is guaranteed of the rates on new samples, in one sentence.
    groups_ : ndarray of int, shape (n_samples,), or None
        Numbers of the groups of the training samples, -1 for weight 0; None without groups.
    subgroup_rates_ : SubgroupRates or None
        Thresholds of the subgroups of `with_rate` and their price, arrays ``subgroup``,
        ``threshold``, ``n_samples``, ``n_positive``, ``tpr``, ``fpr``, ``precision`` and ``called``
        (share of the samples that are called positive), on the samples that set the thresholds.
    exact_ : bool
        Whether all kernels are exact. False: some are approximated by landmarks.
    n_components_ : int
        Number of landmarks of these kernels; 0 if all are exact.
    components_path_ : dict of ndarrays, or None
        With ``n_components="auto"``, the numbers of landmarks that were tried, "n_components", each
        about twice the one before, and the Brier scores out of bag with them, "brier".
    gammas_path_ : dict of ndarrays, or None
        Where gammas were searched, those that were tried, "gamma", and the Brier scores out of bag
        with them, "brier".
    oob_records_ : ndarray of int, shape (n_held_out,), or None
        With ``resample="blb"``, the samples held out of all subsets: `counts_`, `oob_proba_` and
        all other attributes with one entry a sample are about them, in this order. None: they are
        about all samples.
    ensemble_ : FittedEnsemble
        The members and all other arrays of the fit, see `svmproba.bootstrap.fitted`.
    n_subsets_, subset_size_ : int
        With ``resample="blb"``, how many subsets there are, and their size.
    {n_features_in_, feature_names_in_}

    Notes
    -----
    Of more than two classes ``member_coef_``, ``intercept_``, ``duality_gap_``, ``score_scales_``
    and ``oob_scores_`` have a first axis for the pairs, ``pairs_`` (n_pairs, 2) holds the places of
    their classes, scores are positive for the second one, and ``calibrator_`` holds the links of
    the pairs and the scaling. ``oob_recalls_`` (n_classes,) are the recalls out of bag;
    ``class_shifts_`` and ``class_factors_`` (n_classes,) are what `with_rate` adds to scores and
    multiplies calibrated probabilities by. The field "class_weight" of ``thetas_`` is then the
    largest factor divided by the smallest. Attributes of the class of interest exist for two
    classes only: ``pos_label_``, ``threshold_``, ``proba_threshold_``, ``oob_tpr_``, ``oob_tnr_``
    and ``oob_median_``. The training samples are kept, because `with_rate` scores them again.

    `sample_weight` is a price, not a count: it multiplies C for its sample, and bags are drawn
    from the samples with positive weight, each with the same probability. A sample of weight 2
    therefore is not the same as two samples: two would be drawn independently.

    With `groups` a bag draws groups, each with all of its samples, and a sample is out of bag where
    its group is. Everything out of bag is then about new groups. Without them, out-of-bag rates are
    too good where samples belong together, as visits of one patient do.

    There is no ``decision_function``: the label follows from the probability, and no single score
    has the same order as the vote shares. `member_scores` gives the scores of the members.

    ``resample="blb"`` rests on more than the bootstrap does: subsets must be large enough for the
    score to be about normal and unbiased in them (many more samples than columns, both classes in
    numbers, no classes that separate), because the members of each are moved to the mean of all
    subsets and only their spread is kept, see `svmproba.bootstrap.fitting.little`. It is worse than
    the bootstrap on tables below about 10 000 samples, where classes are rare or nearly separable,
    and in its centre, which knows the samples of the subsets and no others. Everything out of bag
    is measured on samples held out, a fifth of them and 50 000 at most. The kind ``"sampling"`` of
    `predict_proba_interval` takes the spread of the bags for that of training sets. Of a dask table
    the drawn samples alone are collected; `fit` trusts that the others are like them, NaN included.

    References
    ----------
    .. [1] S. Benítez-Peña, R. Blanquero, E. Carrizosa and P. Ramírez-Cobo, *Cost-sensitive
       probabilistic predictions for support vector machines*.
    .. [2] A. Kleiner, A. Talwalkar, P. Sarkar and M. I. Jordan, "A scalable bootstrap for massive
       data", Journal of the Royal Statistical Society B 76, 2014.
    .. [3] T.-F. Wu, C.-J. Lin and R. C. Weng, "Probability estimates for multi-class
       classification by pairwise coupling", Journal of Machine Learning Research 5, 2004.

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

    components_path_: Path | None
    gammas_path_: Path | None

    @stores_parameters
    def __init__(
        self,
        Cs: ArrayLike | None = None,
        *,
        kernel: str | list[str] = "linear",
        gammas: Any = None,
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
        n_components: int | str | None = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None: ...

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> BootstrapSVC:
        """Fit all members and weigh the hyperparameter values.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Training samples; their kernel values (n_samples, n_samples) if precomputed. With
            ``resample="blb"`` also a dask DataFrame or array, which is read twice, partition by
            partition.
        y : array-like, shape (n_samples,)
            Labels, two classes or more with at least two samples each; of dask and partitioned as X
            if X is.
        {sample_weight, groups}

        Returns
        -------
        self : BootstrapSVC
            Fitted estimator.
        """
        self._fit(X, y, sample_weight, groups, little=is_little(self))
        return self

    def _fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        little: bool = False,
    ) -> None:
        if little:
            if groups is not None:
                raise ValueError("groups must be None with resample='blb', which draws samples.")
            setting, members, training = fit_little(self, X, y, sample_weight)
            self.n_subsets_, self.subset_size_ = setting.subsets
            self.components_path_ = self.gammas_path_ = None
        else:
            checked = self._check_input(X, y, sample_weight, groups)
            if checked.n_classes > 2:
                self._fit_classes(checked)
                return
            setting = set_up(self, checked)
            data = setting.data
            members, training = fit_members(
                data.X, data.positive, setting.counts, **setting.options
            )
        self._settle(setting, members, training)
        warn_of_gaps(self.duality_gap_, self.tol, stacklevel=4)
        warn_of_bags(self.ensemble_, self.reliability)
        setting.progress.finish()

    def _check_input(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, groups: ArrayLike | None
    ) -> Checked:
        """Check parameters and data; find the parameters that are left to the fit."""
        checked = check_input(self, X, y, sample_weight, groups)
        self.components_path_ = self.gammas_path_ = None
        searched = searched_parameters(self)
        if not searched:
            return checked
        shared = set(BootstrapSVC._get_param_names())
        parameters = {k: x for k, x in self.get_params(deep=False).items() if k in shared}
        present = without_absent(self, checked)
        pilot = Pilot(BootstrapSVC(**parameters), present, self.verbose)
        if "n_components" in searched:
            n_components, self.components_path_ = find_components(pilot, present.X.shape[0])
            checked = checked._replace(n_components=n_components)
        if "gammas" in searched:
            gammas, self.gammas_path_ = find_gammas(pilot, present.X, checked.n_components)
            checked = checked._replace(gammas=gammas)
        return checked

    def _fit_classes(self, checked: Checked) -> None:
        """Fit more than two classes."""
        setting, ensemble = fit_classes(self, checked)
        self._settle_classes(setting, ensemble)
        warn_of_gaps(self.duality_gap_, self.tol, stacklevel=5)
        setting.progress.finish()

    def _settle_classes(self, setting: ClassSetting, ensemble: FittedClasses) -> None:
        """Keep the labels and the ensemble of a fit of more than two classes."""
        self._plus, self._present = -1, ensemble.present
        self.classes_ = setting.samples.classes
        if hasattr(self, "pos_label_"):  # of a fit to two classes
            del self.pos_label_
        self.ensemble_ = with_class_calibration(ensemble, self.calibration, self.classes_)
        warn_of_classes(self.ensemble_, self.reliability)

    def _settle(self, setting: Setting, members: Members, training: Training) -> None:
        """Keep the labels and the ensemble of a fit."""
        data = setting.data
        self._plus, self._present = data.plus, data.present
        self.classes_, self.pos_label_ = data.classes, data.classes[data.plus]
        ensemble = setting.settle(self, members, training)
        self.ensemble_ = with_calibration(ensemble, self.calibration)
