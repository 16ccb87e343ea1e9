"""What is saved of a model, and whether what was loaded is one."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from svmproba.bootstrap.members import Members
from svmproba.estimators import (
    BootstrapSVC,
    ConstrainedSVC,
    PosteriorProbabilitySVC,
    ProbabilitySVC,
    WeightedProbabilitySVC,
)

MODELS = (
    BootstrapSVC,
    ConstrainedSVC,
    PosteriorProbabilitySVC,
    ProbabilitySVC,
    WeightedProbabilitySVC,
)
#: Settings of a fit to come, in objects that files cannot name; and what scikit-learn adds anew.
_LEFT_OUT = ("_skl_callbacks", "_parent_callback_ctx", "_metadata_request", "_sklearn_version")


def final_estimator(model: Any) -> Any:
    """Last step of a pipeline of pipelines, or the model itself."""
    while isinstance(model, Pipeline):
        model = model.steps[-1][1]
    return model


def check_saveable(model: Any) -> None:
    """Refuse what is not a fitted model of this package, alone or at the end of a pipeline."""
    final = final_estimator(model)
    if not isinstance(final, MODELS):
        raise TypeError(
            f"model must be an estimator of svmproba or a Pipeline that ends in one, got "
            f"{type(model).__name__}"
            + (f" that ends in {type(final).__name__}." if final is not model else ".")
            + (" Save its best_estimator_." if hasattr(model, "best_estimator_") else "")
        )
    check_is_fitted(final, "intercept_")


def bare_state(value: Any, seen: dict[int, Any] | None = None) -> Any:
    """Copy of nested estimators without callbacks and metadata requests; arrays are shared.

    Truth values as keys become 0 and 1, which are equal to them and survive as text.
    """
    seen = {} if seen is None else seen
    if id(value) in seen:
        return seen[id(value)]
    bare = value
    if isinstance(value, BaseEstimator):
        bare = object.__new__(type(value))
        for name, attribute in vars(value).items():
            if name not in _LEFT_OUT:
                bare.__dict__[name] = bare_state(attribute, seen)
    elif type(value) in (list, tuple):
        bare = type(value)(bare_state(item, seen) for item in value)
    elif type(value) is dict:
        bare = {_plain_key(key): bare_state(item, seen) for key, item in value.items()}
    seen[id(value)] = bare
    return bare


def _plain_key(key: Any) -> Any:
    return int(key) if isinstance(key, bool | np.bool_) else key


def add_parameters(model: Any) -> None:
    """Give parameters that are younger than the file their defaults."""
    final = final_estimator(model)
    for name, parameter in inspect.signature(type(final).__init__).parameters.items():
        if name != "self" and not hasattr(final, name):
            setattr(final, name, parameter.default)


def check_loaded(model: Any) -> None:
    """Refuse what is no model; and an ensemble whose arrays do not go together.

    Compiled code runs over them without looking at their ends.
    """
    check_saveable(model)
    final = final_estimator(model)
    if not isinstance(final, BootstrapSVC):
        return
    members: Members = final._members
    n_theta, n_bags = members.intercept.shape
    n_samples = final.counts_.shape[1]
    wanted = {
        "intercept_": (n_theta, n_bags),
        "weights_": (n_theta,),
        "score_scales_": (n_theta,),
        "counts_": (n_bags, n_samples),
        "oob_scores_": (n_theta, n_samples),
        "_oob_medians": (n_theta, n_samples),
        "oob_median_": (n_samples,),
        "_positive": (n_samples,),
    }
    for name, shape in wanted.items():
        if getattr(final, name).shape != shape:
            raise ValueError(f"{name} has shape {getattr(final, name).shape}, not {shape}")
    n_columns = sum(columns.shape[1] for columns in members.columns)
    if n_columns != n_theta * n_bags or len(members.columns) != len(members.feature_maps):
        raise ValueError(f"{n_columns} members for {n_theta} x {n_bags} intercepts")
