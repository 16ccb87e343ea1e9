"""Attributes that users see of a fitted ensemble, read from its arrays."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from svmproba._sklearn_compat import DocLinkMixin
from svmproba._types import Floats
from svmproba.bootstrap.fitted import FittedEnsemble, oob_rates
from svmproba.bootstrap.fitting.members import input_coef
from svmproba.bootstrap.summaries.votes import two_columns

T = TypeVar("T")


class Fitted(Generic[T]):
    """Attribute of an estimator that is read from its fitted ensemble."""

    def __init__(self, read: Callable[[FittedEnsemble], T]) -> None:
        self._read = read

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, model: FittedAttributes, owner: type | None = None) -> T:
        if model is None or "ensemble_" not in vars(model):
            raise AttributeError(f"{self._name} is available after fit.")
        return self._read(model.ensemble_)

    def __set__(self, model: FittedAttributes, value: object) -> None:
        raise AttributeError(f"{self._name} cannot be set: it belongs to ensemble_.")


class FittedAttributes(DocLinkMixin, BaseEstimator):
    """Fitted state of an estimator: its ensemble, and labels."""

    ensemble_: FittedEnsemble
    classes_: NDArray[Any]
    pos_label_: Any
    _plus: int
    _present: NDArray[np.intp] | None

    thetas_ = Fitted(lambda ensemble: ensemble.thetas)
    intercept_ = Fitted(lambda ensemble: ensemble.members.intercept)
    duality_gap_ = Fitted(lambda ensemble: ensemble.duality_gap)
    counts_ = Fitted(lambda ensemble: ensemble.counts)
    n_redraws_ = Fitted(lambda ensemble: ensemble.n_redraws)
    reliability_ = Fitted(lambda ensemble: ensemble.reliability)
    weights_ = Fitted(lambda ensemble: ensemble.weights)
    score_scales_ = Fitted(lambda ensemble: ensemble.score_scales)
    oob_records_ = Fitted(lambda ensemble: ensemble.places)
    oob_scores_ = Fitted(lambda ensemble: ensemble.oob_scores)
    oob_median_ = Fitted(lambda ensemble: ensemble.oob_median)
    oob_tpr_ = Fitted(lambda ensemble: oob_rates(ensemble).tpr)
    oob_tnr_ = Fitted(lambda ensemble: oob_rates(ensemble).tnr)
    oob_score_ = Fitted(lambda ensemble: oob_rates(ensemble).accuracy)
    calibrator_ = Fitted(lambda ensemble: ensemble.calibrator)
    threshold_ = Fitted(lambda ensemble: ensemble.threshold)
    proba_threshold_ = Fitted(lambda ensemble: ensemble.proba_threshold)
    costs_ = Fitted(lambda ensemble: ensemble.costs)
    guarantee_ = Fitted(lambda ensemble: ensemble.guarantee)

    @property
    def coef_(self) -> Floats:
        """Coefficients of the members, for the linear kernel only."""
        members = self.ensemble_.members
        if any(feature_map.kernel != "linear" for feature_map in members.feature_maps):
            raise AttributeError("coef_ is only available with kernel='linear'.")
        return input_coef(members)

    @property
    def oob_proba_(self) -> Floats:
        """Out-of-bag probabilities of the training samples."""
        if self.ensemble_.oob_proba is None:
            raise AttributeError(
                "oob_proba_ is not known after with_rate on vote shares: it would need the "
                "training samples again."
            )
        return two_columns(self.ensemble_.oob_proba, self._plus)

    def _summary(self) -> list[str]:
        """Sentences on a fitted model."""
        return summary_of(self)

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """HTML, unless scikit-learn is set to show text: then there is no such attribute."""
        diagram: Callable[[], str] = super()._repr_html_
        return lambda: self._with_summary(diagram())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._with_summary(bundle["text/html"])
        return bundle

    def _with_summary(self, html: str) -> str:
        if not hasattr(self, "ensemble_"):
            return html
        return f"{html}<ul>{''.join(f'<li>{escape(line)}</li>' for line in self._summary())}</ul>"


def training_size(model: Any) -> str:
    """Tell on how many samples an ensemble was trained."""
    if getattr(model, "oob_samples_", None) is None:
        return f"{model.counts_.shape[1]} samples"
    return f"{model.n_subsets_} subsets of {model.subset_size_} samples"


def summary_of(model: Any) -> list[str]:
    """Sentences on a fitted ensemble."""
    n_theta, n_bags = model.intercept_.shape
    gaps = model.duality_gap_[np.isfinite(model.duality_gap_)]
    largest = f"; largest certified gap {gaps.max():.1e}" if len(gaps) else ""
    rates = {"TPR": model.oob_tpr_, "TNR": model.oob_tnr_, "accuracy": model.oob_score_}
    known = ", ".join(f"{name} {rate:.1%}" for name, rate in rates.items() if rate == rate)
    kind = "vote shares" if model.calibrator_ is None else "calibrated"
    return [
        f"{n_bags} bags × {n_theta} hyperparameter values = {n_bags * n_theta} SVMs on "
        f"{training_size(model)}{largest}.",
        f"Out of bag, {model.pos_label_!s} being positive: {known or 'rates not known'}. "
        f"Probabilities: {kind}.",
        model.guarantee_,
    ]
