"""What every fitted bootstrap ensemble offers; how it is fitted is up to its subclasses."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from svmproba._types import Floats
from svmproba.bootstrap.classes.fitted import FittedClasses, without_targets
from svmproba.bootstrap.fitted import FittedEnsemble, curve_of, without_target
from svmproba.bootstrap.threshold import RateCurve
from svmproba.estimators.classes.calibration import with_class_calibration
from svmproba.estimators.classes.rates import (
    class_rate_curve,
    new_judges,
    training_judges,
    with_recalls,
)
from svmproba.estimators.classes.targets import (
    ClassTarget,
    check_class_target,
    rates_of_two,
    refuse_rates_of_two,
)
from svmproba.estimators.ensemble.calibration import cross_fitted_proba, with_calibration
from svmproba.estimators.ensemble.contributions import EnsembleContributions
from svmproba.estimators.ensemble.rates import (
    Target,
    check_target,
    new_levels,
    training_levels,
    with_rate,
)
from svmproba.estimators.input.groups import check_groups, subgroups_for
from svmproba.estimators.input.parameters import check_calibration
from svmproba.estimators.shared.costs import DecisionMixin, classes_with_costs, ensemble_with_costs
from svmproba.solvers.kernels import Rows

Model = TypeVar("Model", bound="EnsembleClassifier")


class EnsembleClassifier(DecisionMixin, ClassifierMixin, EnsembleContributions):
    """Rates, costs and calibration of a fitted ensemble, beside its predictions."""

    kernel: Any
    calibration: str | None

    def rate_curve(self, label: Any = None) -> RateCurve:
        """Rates and errors of either class at many thresholds, measured out of bag.

        Parameters
        ----------
        label : label or None, default=None
            With more than two classes, the class of the rates: ``tpr`` is its recall,
            ``tnr`` the share of the other samples that are not called so, and thresholds are those
            of its scores or of its probability by the sum of it and the largest other one.

        Returns
        -------
        RateCurve
            Arrays ``threshold``, ``tpr``, ``tnr``, ``mse_plus``, ``mse_minus``, by increasing
            threshold: of the scores, which moves vote shares with it, or of calibrated
            probabilities, which stay.
        """
        check_is_fitted(self, "ensemble_")
        if (several := self._several) is not None:
            labels = self.classes_.tolist()
            if label not in labels:
                raise ValueError(f"label must be one of the classes {labels!r}, got {label!r}.")
            judges = training_judges(several)
            return class_rate_curve(several, labels.index(label), judges, self.n_jobs)
        if label is not None and label != self.pos_label_:
            raise ValueError(
                f"label must be None or the class of interest {self.pos_label_!r} with two "
                f"classes, got {label!r}."
            )
        return curve_of(self.ensemble_)

    def with_calibration(self: Model, calibration: str | None) -> Model:
        """Copy of the model with another link to probabilities, and a threshold of one half.

        Nothing but the link is fitted again, and the arrays are shared. A rate or costs that the
        model had are given up.

        Parameters
        ----------
        calibration : str or None
            The link, as in the parameter of the same name.

        Returns
        -------
        estimator
            The copy.
        """
        check_is_fitted(self, "ensemble_")
        check_calibration(calibration)
        if (several := self._several) is not None:
            other = self._with(with_class_calibration(several, calibration, self.classes_))
        else:
            other = self._with(with_calibration(self.ensemble_, calibration))
        other.calibration = calibration
        return other

    def with_rate(
        self: Model,
        *,
        tpr: float | None = None,
        tnr: float | None = None,
        recall: Mapping[Any, float] | None = None,
        per_theta: bool = False,
        exceed: bool = True,
        guarantee: str | None = None,
        confidence: float = 0.9,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        by: Any = None,
        common_threshold: bool = True,
        subsampling: str = "single",
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
            Rate of the class of interest, or of the other class; one of the two, for two classes.
        recall : dict of label to float in [0, 1], optional
            Recalls of classes by their names, instead. Of more than two classes several may be
            named: each moves the scores on its side, :math:`f_{c\cdot}+a_c`, in all its pairs
            (``class_shifts_``), or multiplies its calibrated probability (``class_factors_``), by
            the least amount with which all reach their recalls. Votes reach a recall where a class
            has at least half of them, which is more than `predict` asks for.
        per_theta : bool, default=False
            Whether every hyperparameter value gets a threshold of its own, at which its own votes
            reach the rate. For vote shares without a guarantee only; the rate of the mixture may
            differ.
        exceed : bool, default=True
            Whether a rate above the one asked for may stay, as in the paper: the threshold then
            only moves in favour of the class. False gives up the excess for the other class; it
            takes one class.
        guarantee : {None, "split", "oob", "jackknife+"}, default=None
            What is guaranteed on new samples, see ``guarantee_`` of the result. None: nothing, the
            threshold reaches the rate on the samples at hand. ``"split"``: the rate with
            `confidence`, exactly, from the samples `X`, `y`. ``"oob"``: approximately the same,
            from out-of-bag levels; a link of several scores (``"stack"``, ``"auto"``) is fitted
            again without each fifth of the samples for them. ``"jackknife+"``: the rate on average
            over training sets; probabilities on the wrong side of the threshold are then moved to
            it; for two classes only. Several recalls are guaranteed all at once.
        confidence : float, default=0.9
            Confidence of ``"split"`` and ``"oob"``.
        X, y : array-like, optional
            Samples that had no part in the fit, and their labels.
        groups : array-like, shape (n_samples,), optional
            Labels of samples of `X` that belong together, such as visits of one patient; those of
            training samples are known from the fit. A guarantee is then about the rate of a random
            sample of a random new group.
        by : array-like, shape (n_samples,), dict or DataFrame, optional
            Subgroups that have the rate each, and all at the same time with `confidence`: labels of
            the samples of `X`, or of the training samples without `X`. A dict or data frame of
            several columns names subgroups that may overlap, one for each column of True and False
            and one for each label of another column.
        common_threshold : bool, default=True
            Whether one threshold serves all subgroups, the one most in favour of the class, so that
            `predict` needs no `by`. False: a threshold for each, for labels that do not overlap.
        subsampling : {"single", "repeated"}, default="single"
            How groups guarantee a rate: by one sample drawn from each, or by the averaged p-values
            of all such draws, which are more cautious and take two classes.

        Returns
        -------
        estimator
            A copy with its own ``threshold_``, ``proba_threshold_``, ``guarantee_`` and out-of-bag
            rates; costs of `with_costs` decide no longer. One of vote shares has no ``oob_proba_``,
            which would need the training samples again, and with `per_theta` its out-of-bag rates
            are NaN: `ThresholdBootstrapSVC` with ``per_theta=True`` knows both. With `by`,
            ``subgroup_rates_`` has the thresholds and their price in every subgroup, on the samples
            that set them.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.preprocessing import scale
        >>> from svmproba import BootstrapSVC
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = BootstrapSVC(n_bootstraps=50, pos_label=0, random_state=0).fit(scale(X), y)
        >>> careful = model.with_rate(tpr=0.99)
        >>> bool(model.oob_tpr_ < 0.99 <= careful.oob_tpr_), bool(careful.threshold_ < 0)
        (True, True)
        """
        check_is_fitted(self, "ensemble_")
        if (X is None) != (y is None):
            raise ValueError("X and y must be given together, or neither.")
        if X is None and groups is not None:
            raise ValueError("groups must be those of X; give those of training samples to fit.")
        if self._several is not None:
            refuse_rates_of_two(tpr, tnr, per_theta)
            if by is not None:
                raise ValueError(
                    f"by needs two classes, got {len(self.classes_)}: fit one of them against the "
                    f"rest."
                )
            return self._with(
                self._at_recalls(
                    check_class_target(
                        {} if recall is None else recall,
                        self.classes_,
                        exceed=exceed,
                        guarantee=guarantee,
                        confidence=confidence,
                        new_samples=X is not None,
                        subsampling=subsampling,
                    ),
                    X,
                    y,
                    groups,
                )
            )
        tpr, tnr = rates_of_two(tpr, tnr, recall, self.classes_, self._plus)
        target = check_target(
            tpr,
            tnr,
            per_theta=per_theta,
            exceed=exceed,
            guarantee=guarantee,
            confidence=confidence,
            calibrated=self._is_calibrated(),
            new_samples=X is not None,
            subsampling=subsampling,
            common_threshold=common_threshold,
            by=by,
        )
        return self._with(self._at_rate(target, X, y, groups, by))

    def _at_rate(
        self, target: Target, X: Any, y: Any, groups: Any = None, by: Any = None
    ) -> FittedEnsemble:
        """Ensemble at the threshold that the samples `X`, `y` set; None: out of bag."""
        levels, positive = self._levels_of(X, y, target.per_theta)
        link = self.ensemble_.calibrator
        if target.guarantee == "oob" and link is not None and link.reads != "mixed":
            levels = cross_fitted_proba(self.ensemble_, str(self.calibration))
        n = len(positive)
        codes = self.ensemble_.groups if X is None else check_groups(groups, n)
        subgroups = subgroups_for(by, n, target.common)
        place = self._plus if target.sign > 0 else 1 - self._plus
        label = self.classes_.tolist()[place]
        return with_rate(self.ensemble_, target, levels, positive, label, codes, subgroups)

    def _at_recalls(self, target: ClassTarget, X: Any, y: Any, groups: Any = None) -> FittedClasses:
        """Ensemble of more than two classes with recalls that the samples `X`, `y` set."""
        several = self._several
        assert several is not None
        judges = training_judges(several)
        if X is not None:
            rows, labels = self._check_judges(X, y)
            places = np.searchsorted(self.classes_, labels)
            codes = check_groups(groups, len(labels))
            judges = new_judges(several, rows, places, self.n_jobs, codes)
        return with_recalls(several, target, judges, self.classes_, self.n_jobs)

    def _check_judges(self, X: Any, y: Any) -> tuple[Rows, NDArray[Any]]:
        """Check samples that decide on a threshold, and their labels."""
        rows, labels = self._check_new(X), column_or_1d(y)
        check_consistent_length(rows, labels)
        classes = self.classes_.tolist()
        unknown = set(labels.tolist()) - set(classes)
        if unknown:
            shown = ", ".join(sorted(map(repr, unknown))[:5])
            raise ValueError(
                f"y must hold the classes {classes!r} and nothing else, got {shown} too."
            )
        return rows, labels

    def _levels_of(
        self, X: Any, y: Any, per_theta: bool = False
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Levels (n,) or (n_theta, n) and labels of the samples that decide on a threshold."""
        if X is None:
            return training_levels(self.ensemble_, per_theta), self.ensemble_.positive
        rows, labels = self._check_judges(X, y)
        levels = new_levels(self.ensemble_, rows, per_theta, self.n_jobs, self.device)
        return levels, labels == self.pos_label_

    def _decided_by(self: Model, costs: Mapping[str, float] | Floats) -> Model:
        if isinstance(costs, np.ndarray):
            return self._with(classes_with_costs(self.ensemble_, costs))
        return self._with(ensemble_with_costs(self.ensemble_, costs))

    def _proba_without_rate(self, X: ArrayLike) -> Floats:
        several = self._several
        free = without_target(self.ensemble_) if several is None else without_targets(several)
        return self._with(free).predict_proba(X)

    def _with(self: Model, ensemble: FittedEnsemble | FittedClasses) -> Model:
        other = copy.copy(self)
        other.ensemble_ = ensemble
        return other

    def _is_calibrated(self) -> bool:
        return self.ensemble_.is_calibrated

    def __sklearn_tags__(self) -> Tags:
        """Sparse rows; pairwise with a precomputed kernel; two classes with little bootstraps."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = getattr(self, "resample", "bootstrap") != "blb"
        pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.sparse = not pairwise
        tags.input_tags.pairwise = pairwise
        return tags
