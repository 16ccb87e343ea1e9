"""A guaranteed rate for any classifier, in every subgroup if need be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags, assert_all_finite, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from svmproba._types import Bools, Floats
from svmproba.estimators.ensemble.rates import Target, check_target, decide_rate, state_target
from svmproba.estimators.input.groups import check_groups, places_of_labels, subgroups_for
from svmproba.estimators.input.parameters import (
    as_generator,
    check_number,
    check_option,
    stores_parameters,
)
from svmproba.estimators.input.samples import take_rows
from svmproba.estimators.input.training_set import (
    check_binary,
    encode_two_classes,
    place_of_interest,
)
from svmproba.estimators.shared.held_out import (
    RESPONSES,
    fit_part,
    folds_of,
    hold_back,
    refuse_unknown,
    scores_of,
)
from svmproba.estimators.shared.texts import document_parameters


def _estimator_has(name: str) -> Any:
    return lambda model: hasattr(getattr(model, "estimator_", model.estimator), name)


@document_parameters
class RateGuarantee(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Any classifier of two classes, with a threshold that guarantees the rate of a class.

    The threshold is an order statistic of the scores of samples that had no part in the fit: with n
    such samples of the class, it keeps at least the rate :math:`\tau` of all future samples of the
    class, except with probability :math:`\delta`, one less the confidence [1]_. It assumes
    independent samples of one population and nothing of the classifier. With `by` the rate holds
    in each of K subgroups at the same time: each is guaranteed with :math:`1-\delta/K`. With
    `groups`, samples that belong together, the groups take the place of the samples, and the rate
    is that of a random sample of a random new group.

    Parameters
    ----------
    estimator : classifier
        Fitted or not, with ``predict_proba`` or ``decision_function``.
    tpr : float or None, default=None
        Rate of the class of interest, in (0, 1). Either this or `tnr`.
    tnr : float or None, default=None
        Rate of the other class.
    confidence : float, default=0.9
        Confidence of the guarantee.
    cv : None, "prefit", int, splitter or iterable, default=None
        Where the scores come from. None: a share `calibration_size` of either class is held back
        from the fit. ``"prefit"``, and always with a :class:`~sklearn.frozen.FrozenEstimator`:
        `estimator` is fitted, and the samples given to `fit` must not be those it was fitted to.
        Otherwise by cross-fitting: every sample is scored by a classifier that was fitted to the
        other folds, and the one in use is fitted to all samples. The guarantee is then approximate,
        since the scores are not those of the classifier in use. With groups, a splitter must keep
        them together; folds of a number do.
    calibration_size : float, default=0.3
        Share of either class held back; with groups, of the groups.
    common_threshold : bool, default=True
        Whether one threshold serves all subgroups, the one most in favour of the class, so that
        `predict` needs no `by`. False: a threshold for each, for labels that do not overlap.
    subsampling : {"single", "repeated"}, default="single"
        How groups guarantee a rate: by one sample drawn from each, or by the averaged p-values of
        all such draws, which are more cautious and take two classes.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Scores to compare with the threshold. ``"auto"``: the first of the two that there is.
    {pos_label}
    random_state : int, RandomState instance or None, default=None
        Seed of the samples held back and of the folds.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    {classes_, pos_label_}
    threshold_ : float or None
        Scores above it are called positive; None where every subgroup has its own.
    guarantee_ : str
        What is guaranteed on new samples, in one sentence.
    subgroup_rates_ : SubgroupRates or None
        Thresholds of the subgroups and their price, arrays ``subgroup``, ``threshold``,
        ``n_samples``, ``n_positive``, ``tpr``, ``fpr``, ``precision`` and ``called`` (share of the
        samples that are called positive), on the samples that set the thresholds.
    held_out_ : ndarray of int or None
        Places of the samples that were held back.
    {n_features_in_, feature_names_in_}

    See Also
    --------
    BootstrapSVC.with_rate : The same for a fitted ensemble, also by out-of-bag scores.
    sklearn.model_selection.TunedThresholdClassifierCV : A threshold that is best on the folds.

    References
    ----------
    .. [1] X. Tong, Y. Feng and J. J. Li, "Neyman-Pearson classification algorithms and NP receiver
       operating characteristics", Science Advances 4(2), 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.preprocessing import scale
    >>> from svmproba import RateGuarantee
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> by = X[:, 0] > 14  # large cells or small ones
    >>> model = RateGuarantee(LogisticRegression(), tnr=0.8, cv=5, random_state=0)
    >>> model.fit(scale(X), y, by=by).subgroup_rates_.n_samples
    array([337, 232])
    """

    @stores_parameters
    def __init__(
        self,
        estimator: Any,
        *,
        tpr: float | None = None,
        tnr: float | None = None,
        confidence: float = 0.9,
        cv: Any = None,
        calibration_size: float = 0.3,
        common_threshold: bool = True,
        subsampling: str = "single",
        response_method: str = "auto",
        pos_label: Any = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None: ...

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        by: Any = None,
        **fit_params: Any,
    ) -> RateGuarantee:
        """Fit the classifier unless it is fitted, then set the threshold.

        Parameters
        ----------
        X : array-like or sparse, shape (n_samples, n_features)
            Samples, as the classifier takes them.
        y : array-like, shape (n_samples,)
            Labels of two classes.
        groups : array-like, shape (n_samples,), optional
            Label of the group of each sample, such as a patient with several visits. Groups are
            held back, and dealt to folds, as a whole.
        by : array-like, shape (n_samples,), dict or DataFrame, optional
            Subgroups that have the rate each: labels of the samples, or several columns, whose
            subgroups may overlap, see :meth:`BootstrapSVC.with_rate`.
        **fit_params : dict
            Metadata of the ``fit`` of the classifier, such as ``sample_weight``, with metadata
            routing enabled. The threshold treats all samples alike.

        Returns
        -------
        self : RateGuarantee
            Fitted estimator.
        """
        target = self._check_parameters(by)
        X, y = indexable(X, y)
        labels = column_or_1d(y)
        assert_all_finite(labels, input_name="y")
        check_binary(labels)
        codes = check_groups(groups, len(labels))
        subgroups = subgroups_for(by, len(labels), self.common_threshold)
        params = self._route(fit_params, groups, by)
        fitted = isinstance(self.cv, str) or type(self.estimator).__name__ == "FrozenEstimator"
        self.held_out_: NDArray[np.intp] | None = None
        if fitted:
            check_is_fitted(self.estimator)
            self._settle(self.estimator)
            scores = self._scores(self.estimator_, X)
            refuse_unknown(scores)
        else:
            classes, plus = encode_two_classes(labels, self.pos_label)
            positive = labels == classes[plus]
            scores = self._fit_and_score(X, y, positive, codes, params, target)
            if self.cv is not None:
                target = target._replace(guarantee="cross-fit")
        unknown = np.setdiff1d(labels, self.classes_)
        if len(unknown):
            raise ValueError(
                f"y must hold the classes {self.classes_.tolist()!r}, got {unknown.tolist()!r} too."
            )
        positive = labels == self.pos_label_
        # One classifier's scores: those of the same sample do not differ by rounding.
        found = decide_rate(scores, positive, target, codes, subgroups, clearance=0.0)
        self.threshold_ = None if found.separate else found.threshold
        self.subgroup_rates_ = found.rates
        judged = ~np.isnan(scores) & (positive == (target.sign > 0))
        plus = int(self._plus if target.sign > 0 else 1 - self._plus)
        label = self.classes_.tolist()[plus]
        self.guarantee_ = state_target(target, judged, label, codes, subgroups)
        return self

    def predict(self, X: ArrayLike, by: ArrayLike | None = None) -> NDArray[Any]:
        """Labels: the class of interest where its score is above the threshold.

        Parameters
        ----------
        {X, by}

        Returns
        -------
        ndarray, shape (n_samples,)
            Labels.
        """
        check_is_fitted(self, "guarantee_")
        scores = self._scores(self.estimator_, X)
        above = scores > self._limits(by, len(scores))
        return self.classes_[np.where(above, self._plus, 1 - self._plus)]

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probabilities of the classifier; the threshold plays no part.

        Parameters
        ----------
        {X}

        Returns
        -------
        ndarray, shape (n_samples, 2)
            Columns as `classes_`.
        """
        check_is_fitted(self, "guarantee_")
        P: Floats = self.estimator_.predict_proba(X)
        return P

    def decision_function(self, X: ArrayLike, by: ArrayLike | None = None) -> Floats:
        """Difference between scores and threshold, positive for ``classes_[1]``.

        Parameters
        ----------
        {X, by}

        Returns
        -------
        ndarray, shape (n_samples,)
            The difference.
        """
        check_is_fitted(self, "guarantee_")
        scores = self._scores(self.estimator_, X)
        return (scores - self._limits(by, len(scores))) * (1 if self._plus else -1)

    def _limits(self, by: Any, n: int) -> Any:
        """Threshold of every sample."""
        if self.threshold_ is not None:
            return self.threshold_
        rates: Any = self.subgroup_rates_
        return rates.threshold[places_of_labels(by, rates.subgroup, n)]

    def _check_parameters(self, by: Any) -> Target:
        check_option("response_method", self.response_method, RESPONSES)
        if isinstance(self.cv, str):
            check_option("cv", self.cv, ("prefit",))
        check_number("calibration_size", self.calibration_size, 0.01, 0.99, "in [0.01, 0.99]")
        return check_target(
            self.tpr,
            self.tnr,
            per_theta=False,
            exceed=False,
            guarantee="split",
            confidence=self.confidence,
            calibrated=False,
            new_samples=True,
            subsampling=self.subsampling,
            common_threshold=self.common_threshold,
            by=by,
        )

    def _settle(self, estimator: Any) -> None:
        """Keep a fitted classifier, its classes and what it knows of the columns."""
        if not hasattr(estimator, "classes_"):
            raise TypeError(
                f"estimator must be a classifier, with classes_ after its fit, got "
                f"{type(estimator).__name__}."
            )
        self.estimator_ = estimator
        self.classes_ = np.asarray(estimator.classes_)
        if len(self.classes_) != 2:
            raise ValueError(f"estimator must have two classes, got {len(self.classes_)}.")
        self._plus = place_of_interest(self.classes_, self.pos_label)
        self.pos_label_ = self.classes_[self._plus]
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))

    def _fit_and_score(
        self, X: Any, y: Any, positive: Bools, codes: Any, params: Any, target: Target
    ) -> Floats:
        """Fit the classifier; score samples by one that was not fitted to them, NaN for others."""
        rng = as_generator(self.random_state)
        scored: Iterable[tuple[Any, NDArray[np.intp]]]
        if self.cv is None:
            judged, size = positive == (target.sign > 0), self.calibration_size
            kept, self.held_out_ = hold_back(positive, judged, codes, size, rng)
            self._settle(fit_part(self.estimator, X, y, kept, params))
            scored = [(self.estimator_, self.held_out_)]
        else:
            self._settle(fit_part(self.estimator, X, y, np.arange(len(positive)), params))
            folds = folds_of(self.cv, positive, codes, rng)
            scored = ((fit_part(self.estimator, X, y, kept, params), held) for kept, held in folds)
        scores = np.full(len(positive), np.nan)
        for fitted, held in scored:
            if len(held):
                scores[held] = self._scores(fitted, take_rows(X, held))
                refuse_unknown(scores[held])
        return scores

    def _scores(self, estimator: Any, X: Any) -> Floats:
        return scores_of(estimator, X, self.response_method, self._plus)

    def _route(self, params: dict[str, Any], groups: Any, by: Any) -> dict[str, Any]:
        """Arguments of the fit of the classifier, by metadata routing where that is enabled."""
        if not get_config()["enable_metadata_routing"]:
            if params:
                raise TypeError(
                    f"fit takes {', '.join(params)} for the classifier only with metadata routing: "
                    f"sklearn.set_config(enable_metadata_routing=True), and set_fit_request of the "
                    f"classifier."
                )
            return params
        given = {"groups": groups, "by": by, **params}
        given = {name: value for name, value in given.items() if value is not None}
        return dict(process_routing(self, "fit", **given).estimator.fit)

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata that `fit` takes and hands on.

        Returns
        -------
        MetadataRouter
            Own requests and those of the classifier.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Tags:
        """Two classes; input as the classifier takes it."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags
