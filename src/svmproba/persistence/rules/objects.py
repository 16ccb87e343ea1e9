"""Checks of the attributes of every class, when a model is saved and when it is loaded.

Compiled code has no bounds checks. So the shapes of all arrays are compared with each other here.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.preprocessing import OneHotEncoder

from svmproba import estimators as own
from svmproba.bootstrap.classes.fitted import FittedClasses
from svmproba.bootstrap.fitted import FittedEnsemble
from svmproba.estimators.input.parameters import (
    check_ensemble_parameters,
    check_grid_parameters,
    check_kernels,
)
from svmproba.estimators.pairs.score_spread import Spread
from svmproba.persistence._names import PARTS, parameters
from svmproba.persistence.rules.checks import (
    Check,
    Optional,
    Sizes,
    array,
    by_name,
    check_all,
    check_shape,
    each,
    elsewhere,
    floats,
    kind,
    labels,
    maybe,
    nothing,
    number,
    refuse,
    table,
    whole,
    within,
)
from svmproba.persistence.rules.classes import FITTED_CLASSES, SCALING
from svmproba.persistence.rules.encoders import check_encoder
from svmproba.persistence.rules.ensembles import FITTED_ENSEMBLE
from svmproba.persistence.rules.links import LINKS, PAIR_LINKS, link
from svmproba.persistence.rules.members import (
    feature_map,
)
from svmproba.selection import SelectedBootstrapSVC

#: More jobs would only exhaust the computer.
_MOST_JOBS = 1024


def present(value: Any, sizes: Sizes) -> None:
    """Check the places of the samples that were fitted."""
    array("i", "present", be="increasing")(value, sizes)
    wrong = len(value) and not 0 <= value[0] <= value[-1] < sizes["given"]
    refuse(wrong, f"leads beyond the {sizes['given']} samples")


def names(value: Any, sizes: Sizes) -> None:
    """Check the names of columns."""
    refuse(not isinstance(value, np.ndarray), "is not an array")
    check_shape(value.shape, ("features",), sizes)
    refuse(not all(isinstance(name, str) for name in value), "must be text")


def path_of(name: str, check: Check) -> Check:
    """Check the values of a parameter that were tried, and their Brier scores."""

    def check_path(value: Any, sizes: Sizes) -> None:
        refuse(not isinstance(value, dict), "is not a dict")
        refuse(set(value) != {name, "brier"}, f"must have the keys {name} and brier")
        check(value[name], sizes)
        floats(len(value[name]), be="not negative")(value["brier"], sizes)

    return check_path


COMPONENTS_PATH = path_of("n_components", array("i", "steps", be="positive"))
GAMMAS_PATH = path_of("gamma", floats("gammas tried", be="positive"))


def of_members(value: Any, sizes: Sizes) -> None:
    """Check a truth value for every member."""
    array("b", *["pairs"] * ("pairs" in sizes), "theta", "bags")(value, sizes)


def pairs(value: Any, sizes: Sizes) -> None:
    """Check the pairs of classes."""
    allowed = [list(combinations(range(sizes["classes"]), 2))]
    refuse(
        value not in [*allowed, [(1, 0)] if sizes["classes"] == 2 else None],
        "are not the pairs of classes",
    )
    sizes["pairs"] = len(value)


_MODEL: dict[str, Check] = {
    "n_features_in_": whole(1, size="features"),
    "feature_names_in_": Optional(names),
    "classes_": labels("classes"),
    "_present": maybe(present),
    "costs_": Optional(maybe(by_name(number()))),
}
_TWO: dict[str, Check] = {"_plus": whole(0, 1), "pos_label_": elsewhere}
#: Checks of an ensemble of two classes, and of more.
_ENSEMBLES: dict[type, dict[str, Check]] = {
    FittedEnsemble: FITTED_ENSEMBLE,
    FittedClasses: FITTED_CLASSES,
}


def fitted_ensemble(value: Any, sizes: Sizes) -> None:
    """Check the arrays of an ensemble."""
    refuse(type(value) not in _ENSEMBLES, "is not an ensemble")
    check_all(vars(value), _ENSEMBLES[type(value)], sizes)


_ENSEMBLE: dict[str, Check] = {
    **{name: check for name, check in _MODEL.items() if name != "costs_"},
    "_plus": whole(-1, 1),
    "pos_label_": Optional(elsewhere),
    "ensemble_": fitted_ensemble,
    "components_path_": Optional(maybe(COMPONENTS_PATH)),
    "gammas_path_": Optional(maybe(GAMMAS_PATH)),
    "n_subsets_": Optional(whole(1)),
    "subset_size_": Optional(whole(1)),
}
_TUNED: dict[str, Check] = {
    **_MODEL,
    "proba_threshold_": number("numbers"),
    "_pairs": pairs,
    "_feature_map": feature_map,
    "cv_results_": by_name(floats("grid", be="anything")),
    "best_index_": whole(0),
    "C_": number("positive"),
    "gamma_": number("positive or NaN"),
}
_PAIRS: dict[str, Check] = {
    **_TUNED,
    "_coef": floats("pairs", "rows"),
    "intercept_": floats("pairs"),
    "duality_gap_": floats("pairs", be="anything"),
}
_MODELS: dict[type, dict[str, Check]] = {
    own.BootstrapSVC: _ENSEMBLE,
    own.ThresholdBootstrapSVC: {
        **_ENSEMBLE,
        "held_out_": maybe(array("i", "held out", be="not negative")),
    },
    own.ConstrainedBootstrapSVC: {
        **_ENSEMBLE,
        "proven_": of_members,
        "replaced_": of_members,
        "bag_recalls_": Optional(floats("theta", "bags", "classes", be="in [0, 1]")),
        "summary_": kind(str),
    },
    SelectedBootstrapSVC: {
        **_ENSEMBLE,
        "bag_support_": array("b", "bags", "features"),
        "selection_frequency_": floats("features", be="in [0, 1]"),
        "selection_limits_": floats(2, "features", be="in [0, 1]"),
    },
    own.ConstrainedSVC: {
        **_MODEL,
        **_TWO,
        "_feature_map": feature_map,
        "_coef": floats("rows"),
        "intercept_": floats(1),
        "floors_": by_name(number("in [0, 1]")),
        "objective_": number("numbers"),
        "bound_": number("numbers"),
        "status_": kind(str),
        "optimality_gap_": number("anything"),
        "n_solves_": whole(0),
        "satisfied_": array("b", "samples"),
        "rates_": by_name(number("in [0, 1] or NaN")),
    },
    own.ProbabilitySVC: {
        **_PAIRS,
        "cv_scores_": elsewhere,
        "link_": elsewhere,
        "_spreads": each(elsewhere, "pairs"),
    },
    own.PosteriorProbabilitySVC: {
        **_PAIRS,
        "_kinds": array("b", "points", "classes"),
        "_points": elsewhere,
        "soft_labels_": floats("pairs", "points", be="finite or NaN"),
    },
    own.WeightedProbabilitySVC: {
        **_TUNED,
        "weights_": floats("weights", be="increasing inside (0, 1)"),
        "_coef": floats("pairs", "weights", "rows"),
        "intercept_": floats("pairs", "weights"),
        "duality_gap_": floats("pairs", "weights", be="anything"),
    },
}


_OF_ENSEMBLES = parameters(own.BootstrapSVC)


def check_object(cls: type, found: Mapping[str, Any]) -> None:
    """Refuse attributes, nested objects built, that an object of this class cannot have."""
    links = {**LINKS, "ClassScaling": SCALING}
    allowed = {**parameters(cls), **_MODELS.get(cls, {}), **links.get(cls.__name__, {})}
    if cls in _MODELS or cls in PARTS.values():
        unknown = sorted(found.keys() - allowed.keys())
        refuse(unknown, f"has {unknown[:1]}, which a model file may not hold")
    checks = _ENSEMBLES.get(cls, {})
    needed = {name for name, check in checks.items() if not isinstance(check, Optional)}
    missing = sorted(needed - found.keys())
    refuse(missing, f"has no {missing[:1]}")
    # The next fit of a pipeline would read its cache with pickle.
    refuse(found.get("memory") is not None, f"is a {cls.__name__} with memory; set it to None")
    within(".n_jobs", maybe(whole(-_MOST_JOBS, _MOST_JOBS)), found.get("n_jobs"), {})
    if cls in _MODELS:
        # Parameters of the ensemble that a subclass fixes are no attributes of the model.
        fixed = {name: value for name, value in vars(cls).items() if name in _OF_ENSEMBLES}
        _check_model(cls, SimpleNamespace(**{**fixed, **found}))
    elif cls is OneHotEncoder and "categories_" in found:
        check_encoder(SimpleNamespace(**found))


def _check_model(cls: type, model: Any) -> None:
    pairwise = getattr(model, "kernel", None) == "precomputed"
    sizes: Sizes = {"given": 2**62}
    if pairwise:  # the columns are the training samples
        within(".n_features_in_", whole(1), getattr(model, "n_features_in_", None), sizes)
        sizes["given"] = sizes["samples"] = model.n_features_in_
    check_all(vars(model), _MODELS[cls], sizes)
    _check_parameters(cls, model)
    ensemble = getattr(model, "ensemble_", None)
    maps = [model._feature_map] if ensemble is None else ensemble.members.feature_maps
    kernels = [one.kernel for one in maps]
    wrong = list(dict.fromkeys(kernels)) != check_kernels(model.kernel)
    refuse(wrong, f"has kernel={model.kernel!r}, but feature maps of other kernels")
    if ensemble is not None:
        wrong = getattr(ensemble, "separate", False) and ensemble.subgroup_rates is None
        refuse(wrong, "has separate thresholds of no subgroups")
        of_theta = ensemble.thetas["kernel"].tolist()
        wrong = of_theta != [kernel for kernel in kernels for _ in range(sizes["Cs"])]
        refuse(wrong, "has thetas and feature maps of different kernels")
    if hasattr(model, "_plus"):
        _check_interest(model, several=isinstance(ensemble, FittedClasses))
    if hasattr(model, "cv_results_"):
        refuse(model.best_index_ >= sizes.get("grid", 0), "has a best_index_ beyond cv_results_")
    if cls is own.ConstrainedBootstrapSVC:
        wrong = isinstance(ensemble, FittedClasses) != hasattr(model, "bag_recalls_")
        refuse(wrong, "must have bag_recalls_ with more than two classes, and only then")
    if cls is own.ProbabilitySVC:
        _check_links(model, sizes)
    if cls is own.PosteriorProbabilitySVC:
        columns = "rows" if pairwise else "features"
        within("._points", table("points", columns), model._points, sizes)


def _check_interest(model: Any, several: bool) -> None:
    """Check the class of interest, which only two classes have."""
    refuse(several != (len(model.classes_) > 2), "has an ensemble of another number of classes")
    refuse(several != (model._plus < 0), "has a wrong _plus")
    refuse(several == hasattr(model, "pos_label_"), "has a wrong pos_label_")
    wrong = not several and model.pos_label_ != model.classes_[model._plus]
    refuse(wrong, "has a pos_label_ that is not the class at _plus")
    if several:
        refuse(model.ensemble_.present is not model._present, "has two tables of places")


def _check_parameters(cls: type, model: Any) -> None:
    """Check parameters as `fit` does, except the device, which may be missing here."""
    given = {name: p.default for name, p in parameters(cls).items()} | vars(model)
    if "Cs" in given:
        ensemble = issubclass(cls, own.BootstrapSVC)
        check = check_ensemble_parameters if ensemble else check_grid_parameters
        check(SimpleNamespace(**{**given, "device": "cpu"}))


def _check_links(model: Any, sizes: Sizes) -> None:
    """Check one link for each pair of classes, and its input besides the score."""
    two = len(model.classes_) == 2
    shape = ("samples",) if two else ("samples", "pairs")
    within(".cv_scores_", floats(*shape, be="finite or NaN"), model.cv_scores_, sizes)
    found = [model.link_] if two else model.link_
    within(".link_", each(link(*PAIR_LINKS), "pairs"), found, sizes)
    for i, (one, spread) in enumerate(zip(found, model._spreads, strict=True)):
        needed = {"mixed": None, "margin": (0, 0), "bootstrap": ("draws", 0)}
        of_draws = needed.get(one.reads, ("draws", "draws"))
        check = nothing if of_draws is None else _spread(*of_draws)
        within(f"._spreads[{i}]", check, spread, {**sizes})


def _spread(intercepts: str | int, noises: str | int) -> Check:
    def check(value: Any, sizes: Sizes) -> None:
        kind(Spread)(value, sizes)
        checks = (floats("draws", "rows"), floats(intercepts), floats(noises))
        check_all(value._asdict(), dict(zip(Spread._fields, checks, strict=True)), sizes)

    return check
