"""Attributes that users see of a fitted ensemble, read from its arrays."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from svmproba._sklearn_compat import DocLinkMixin
from svmproba._types import Floats
from svmproba.bootstrap.classes.contributions import class_rules
from svmproba.bootstrap.classes.fitted import FittedClasses, oob_accuracy, oob_recalls
from svmproba.bootstrap.contributions import Rule, is_linear, mean_rule
from svmproba.bootstrap.fitted import oob_rates
from svmproba.bootstrap.fitting.members import input_coef
from svmproba.bootstrap.summaries.votes import two_columns

T = TypeVar("T")


class Fitted(Generic[T]):
    """Attribute of an estimator that is read from its fitted ensemble."""

    def __init__(
        self, read: Callable[[Any], T], n_classes: Literal["any", "two", "more than two"] = "any"
    ) -> None:
        self._read, self._n_classes = read, n_classes

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, model: FittedAttributes, owner: type | None = None) -> T:
        if model is None or "ensemble_" not in vars(model):
            raise AttributeError(f"{self._name} is available after fit.")
        n_classes = "two" if model._several is None else "more than two"
        if self._n_classes not in ("any", n_classes):
            raise AttributeError(f"{self._name} is only available with {self._n_classes} classes.")
        return self._read(model.ensemble_)

    def __set__(self, model: FittedAttributes, value: object) -> None:
        raise AttributeError(f"{self._name} cannot be set: it belongs to ensemble_.")


class FittedAttributes(DocLinkMixin, BaseEstimator):
    """Fitted state of an estimator: its ensemble, and labels."""

    ensemble_: Any  # FittedEnsemble, or FittedClasses with more than two classes
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
    oob_median_ = Fitted(lambda ensemble: ensemble.oob_median, "two")
    oob_tpr_ = Fitted(lambda ensemble: oob_rates(ensemble).tpr, "two")
    oob_tnr_ = Fitted(lambda ensemble: oob_rates(ensemble).tnr, "two")
    oob_recalls_ = Fitted(lambda ensemble: oob_recalls(ensemble), "more than two")
    calibrator_ = Fitted(lambda ensemble: ensemble.calibrator)
    threshold_ = Fitted(lambda ensemble: ensemble.threshold, "two")
    proba_threshold_ = Fitted(lambda ensemble: ensemble.proba_threshold, "two")
    pairs_ = Fitted(lambda ensemble: np.array(ensemble.members.pairs), "more than two")
    class_shifts_ = Fitted(lambda ensemble: ensemble.shifts, "more than two")
    class_factors_ = Fitted(lambda ensemble: ensemble.factors, "more than two")
    exact_ = Fitted(lambda ensemble: n_landmarks(ensemble) == 0)
    n_components_ = Fitted(lambda ensemble: n_landmarks(ensemble))
    costs_ = Fitted(lambda ensemble: ensemble.costs)
    guarantee_ = Fitted(lambda ensemble: ensemble.guarantee)
    groups_ = Fitted(lambda ensemble: ensemble.groups, "two")
    subgroup_rates_ = Fitted(lambda ensemble: ensemble.subgroup_rates, "two")

    @property
    def _several(self) -> FittedClasses | None:
        """The ensemble, if it has more than two classes."""
        return self.ensemble_ if isinstance(self.ensemble_, FittedClasses) else None

    def _need_two(self, what: str) -> None:
        """Refuse what exists for two classes alone."""
        if self._several is not None:
            raise ValueError(f"{what} needs two classes, got {len(self.classes_)}.")

    # There is no coef_ of three axes: shap and SelectFromModel would take it for that of one model.
    @property
    def member_coef_(self) -> Floats:
        """Coefficients of the members, for the linear kernel only."""
        members = self.ensemble_.members
        if not is_linear(members):
            raise AttributeError("member_coef_ is only available with kernel='linear'.")
        if self._several is not None:
            return np.stack([input_coef(of_pair) for of_pair in members.of_pair])
        return input_coef(members)

    @property
    def mean_coef_(self) -> Floats:
        """Coefficients of the mean score, or of every class; for the linear kernel only."""
        rules = self._rules("mean_coef_")
        return rules[0].coef if len(rules) == 1 else np.array([rule.coef for rule in rules])

    @property
    def mean_intercept_(self) -> Any:
        """Intercept of the mean score, or of every class; for the linear kernel only."""
        rules = self._rules("mean_intercept_")
        return rules[0].intercept if len(rules) == 1 else np.array([r.intercept for r in rules])

    def _rules(self, name: str) -> list[Rule]:
        """Rule of the score for the class of interest, or those of all classes."""
        if "ensemble_" not in vars(self):
            raise AttributeError(f"{name} is available after fit.")
        ensemble = self.ensemble_
        if not is_linear(ensemble.members):
            raise AttributeError(f"{name} is only available with kernel='linear'.")
        if self._several is not None:
            return class_rules(self._several)
        return [mean_rule(ensemble.members, ensemble.weights / ensemble.score_scales)]

    @property
    def oob_score_(self) -> float:
        """Accuracy of the decisions out of bag."""
        several = self._several
        return oob_rates(self.ensemble_).accuracy if several is None else oob_accuracy(several)

    @property
    def oob_proba_(self) -> Floats:
        """Out-of-bag probabilities of the training samples."""
        if self.ensemble_.oob_proba is None:
            raise AttributeError(
                "oob_proba_ is not known after with_rate on vote shares: it would need the "
                "training samples again."
            )
        if self._several is not None:
            return self._several.oob_proba
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


def n_landmarks(ensemble: Any) -> int:
    """Count the landmarks of kernels that are approximated, the most of any kernel; 0: exact."""
    members = ensemble.members
    of_pairs = members.of_pair if isinstance(ensemble, FittedClasses) else [members]
    maps = [feature_map for of_pair in of_pairs for feature_map in of_pair.feature_maps]
    return max((len(one.pivots) for one in maps if not one.exact), default=0)


def kernels_told(model: Any) -> list[str]:
    """Tell how kernels were approximated, if any was."""
    if model.exact_:
        return []
    path = getattr(model, "components_path_", None)
    told = f"Kernels are approximated by {model.n_components_} landmarks"
    if path is None or len(path["brier"]) < 2:
        return [f"{told}."]
    before, after = path["brier"][-2:]
    return [
        f"{told}: from {path['n_components'][-2]} to {path['n_components'][-1]} the Brier score "
        f"out of bag went from {before:.4f} to {after:.4f}."
    ]


def training_size(model: Any) -> str:
    """Tell on how many samples an ensemble was trained."""
    if getattr(model, "oob_records_", None) is None:
        return f"{model.counts_.shape[1]} samples"
    return f"{model.n_subsets_} subsets of {model.subset_size_} samples"


def summary_of(model: Any) -> list[str]:
    """Sentences on a fitted ensemble."""
    n_theta, n_bags = model.intercept_.shape[-2:]
    gaps = model.duality_gap_[np.isfinite(model.duality_gap_)]
    largest = f"; largest certified gap {gaps.max():.1e}" if len(gaps) else ""
    if model._several is None:
        rates = {"TPR": model.oob_tpr_, "TNR": model.oob_tnr_, "accuracy": model.oob_score_}
        pairs, told = "", f"Out of bag, {model.pos_label_!s} being positive"
    else:
        recalls = dict(zip(model.classes_.tolist(), model.oob_recalls_, strict=True))
        worst = sorted((rate, str(name)) for name, rate in recalls.items() if rate == rate)[:3]
        rates = {f"recall of {name}": rate for rate, name in worst}
        rates = {"accuracy": model.oob_score_} | rates
        n_pairs = len(model.pairs_)
        pairs = f"{n_pairs} pairs of {len(model.classes_)} classes × "
        told = "Out of bag, with the lowest recalls"
    known = ", ".join(f"{name} {rate:.1%}" for name, rate in rates.items() if rate == rate)
    kind = "vote shares" if model.calibrator_ is None else "calibrated"
    return [
        f"{pairs}{n_bags} bags × {n_theta} hyperparameter values = {model.intercept_.size} SVMs on "
        f"{training_size(model)}{largest}.",
        *kernels_told(model),
        f"{told}: {known or 'rates not known'}. Probabilities: {kind}.",
        model.guarantee_,
    ]
