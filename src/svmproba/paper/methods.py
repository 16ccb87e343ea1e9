"""The methods that the paper compares: how each is made and what is read from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmproba import estimators
from svmproba._types import Floats
from svmproba.evaluation.displays.scores import best_theta_scores
from svmproba.preparation.folds import best_theta_proba, positive_proba

#: True positive rates asked of CEBB1 and CEBB2.
TARGETS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
#: Squared radii of the neighbourhoods of Tao et al.
SQUARED_RADII = (0, 10, 20, 30)
#: Inner folds of the methods that are tuned by cross-validation.
INNER_FOLDS = 10
#: What a user can ask for.
METHODS = ("ebb", "ebb_best", "cebb1", "cebb2", "sollich", "platt", "tao")
#: Parameters that do not change results, or have a place of their own in the store.
NOT_IN_RECIPE = ("device", "n_bootstraps", "n_jobs", "random_state", "verbose")


@dataclass(frozen=True)
class Family:
    """Methods that are read from one fit."""

    methods: tuple[str, ...]  # entries of ``METHODS``
    make: Callable[..., Any]  # uses of the setting what the estimator has
    read: Callable[[Any, Floats], dict[str, Floats]]  # of (fitted, X): values (n,) by output
    fit: Callable[[Any, Floats, NDArray[np.int64]], Any] = lambda estimator, X, y: estimator.fit(
        X, y
    )
    bootstrap: bool = False  # one of the paper's own methods, with bags
    n_members: int = 11 * (INNER_FOLDS + 1)  # SVMs fitted, for each bag where there are bags


def target_name(method: str, target: float) -> str:
    """Name of an output at a requested rate, such as ``"cebb1@0.5"``."""
    return f"{method}@{target:g}"


def _read_ebb(model: Any, X: Floats) -> dict[str, Floats]:
    """EBB, its best C alone, CEBB1 at every target, and the mean score for the figures."""
    threshold = {
        target_name("cebb1", target): positive_proba(model.with_rate(tpr=target), X)
        for target in TARGETS
    }
    return {
        "ebb": positive_proba(model, X),
        "ebb_best": best_theta_proba(model, X),
        "ebb_score": best_theta_scores(model, X).mean(axis=0),
        **threshold,
    }


def _read_platt(model: Any, X: Floats) -> dict[str, Floats]:
    return {"platt": positive_proba(model, X), "platt_score": model.member_scores(X)}


def _read_as(name: str, model: Any, X: Floats) -> dict[str, Floats]:
    return {name: positive_proba(model, X)}


def _fit_all_targets(estimator: Any, X: Floats, y: NDArray[np.int64]) -> Any:
    # Without a requested rate CEBB2 is EBB, as in the paper's tables: that column is not fitted.
    return estimator.fit_floors(X, y, [{"min_tpr": target} for target in TARGETS[1:]])


def _read_cebb2(models: Any, X: Floats) -> dict[str, Floats]:
    return {
        target_name("cebb2", target): positive_proba(model, X)
        for target, model in zip(TARGETS[1:], models, strict=True)
    }


def _make(class_name: str, *arguments: Any, **own: Any) -> Callable[..., Any]:
    def make(**setting: Any) -> Any:
        estimator = getattr(estimators, class_name)(*arguments, **own)
        known = estimator.get_params(deep=False)
        return estimator.set_params(**{k: v for k, v in setting.items() if k in known})

    return make


#: The families by name.
FAMILIES: dict[str, Family] = {
    "ebb": Family(
        ("ebb", "ebb_best", "cebb1"),
        _make("BootstrapSVC"),
        _read_ebb,
        bootstrap=True,
        n_members=11,
    ),
    "sollich": Family(
        ("sollich",),
        _make("ProbabilitySVC", "sollich", cv=INNER_FOLDS),
        partial(_read_as, "sollich"),
    ),
    "platt": Family(("platt",), _make("ProbabilitySVC", "platt", cv=INNER_FOLDS), _read_platt),
    **{
        f"tao_r{square}": Family(
            ("tao",),
            _make("PosteriorProbabilitySVC", float(np.sqrt(square)), cv=INNER_FOLDS),
            partial(_read_as, f"tao_r{square}"),
            n_members=600,
        )
        for square in SQUARED_RADII
    },
    # On the scale of EBB's C, since the paper's tables join EBB where the floor is slack.
    "cebb2": Family(
        ("cebb2",),
        _make("ConstrainedBootstrapSVC"),
        _read_cebb2,
        fit=_fit_all_targets,
        bootstrap=True,
        n_members=300,
    ),
}


def choose_families(methods: Sequence[str]) -> list[str]:
    """Families that serve some methods, in the order of ``FAMILIES``."""
    unknown = [method for method in methods if method not in METHODS]
    if unknown:
        raise ValueError(f"methods must be of {', '.join(METHODS)}; got {', '.join(unknown)}")
    return [name for name, family in FAMILIES.items() if {*methods} & {*family.methods}]


def recipe_of(family: str, **setting: Any) -> str:
    """Describe what a family computes, but for bags and seed: equal texts, equal results."""
    estimator = FAMILIES[family].make(**setting)
    defaults = type(estimator)().get_params(deep=False)
    # Defaults are left out, so that results outlive a new parameter.
    parameters = {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if name not in NOT_IN_RECIPE and value != defaults[name]
    }
    return json.dumps(
        {"class": type(estimator).__name__, **parameters}, sort_keys=True, default=repr
    )
