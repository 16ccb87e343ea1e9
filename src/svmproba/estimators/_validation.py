"""Checks of parameters and data, shared by all estimators.

Every error names the parameter, the value and what is allowed.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple, ParamSpec

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from svmproba.bootstrap.reliability import MEASURES
from svmproba.links._choose import LINKS
from svmproba.solvers.kernels import Rows, check_kernel, resolve_gamma
from svmproba.solvers.runtime.devices import resolve_device

Floats = NDArray[np.float64]
P = ParamSpec("P")

PAPER_CS: Floats = np.exp2(np.arange(-5.0, 6.0))
#: Range of the vote shares of all records below which they are constant.
CONSTANT_VOTES = 0.01
#: Smallest and largest C, and weights; see `svmproba.estimators._records.LARGEST`.
C_RANGE, WEIGHT_RANGE = (1e-50, 1e50), (1e-40, 1e40)

#: Parameters of scikit-learn's SVC that are called otherwise here, or are not needed.
OF_SVC = {
    "C": "it is called Cs here and takes one value or a list of them",
    "gamma": "it is called gammas here and takes one value or a list of them",
    "probability": "leave it out, predict_proba is always there",
}


def explain_names_of_svc(init: Callable[P, None]) -> Callable[P, None]:
    """Let the TypeError for a parameter of scikit-learn's SVC say what to write instead."""

    @functools.wraps(init)
    def explained(*args: P.args, **kwargs: P.kwargs) -> None:
        for name in OF_SVC.keys() & kwargs.keys():
            raise TypeError(
                f"{type(args[0]).__name__} got an unexpected keyword argument {name!r}: "
                f"{OF_SVC[name]}."
            )
        init(*args, **kwargs)

    return explained


def check_integer(name: str, value: object, minimum: int) -> None:
    """Refuse anything but an integer not below the minimum."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < minimum:
        raise ValueError(f"{name} must be an integer >= {minimum}, got {value!r}.")


def check_number(name: str, value: object, low: float, high: float, allowed: str) -> None:
    """Refuse anything but a real number in [low, high]; NaN is in no interval."""
    if isinstance(value, bool) or not isinstance(value, Real) or not low <= float(value) <= high:
        raise ValueError(f"{name} must be {allowed}, got {value!r}.")


def check_confidence(confidence: object) -> None:
    """Refuse anything but a number between 0 and 1, both excluded."""
    least = np.finfo(np.float64).tiny
    check_number("confidence", confidence, least, 1 - 1e-16, "a number in (0, 1)")


def check_option(name: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse anything but one of the names."""
    if not isinstance(value, str) or value not in allowed:
        options = ", ".join(repr(option) for option in allowed)
        raise ValueError(f"{name} must be one of {options}, got {value!r}.")


def check_Cs(Cs: ArrayLike | None) -> Floats:
    """Distinct values of C in increasing order; None gives the paper's grid."""
    if Cs is None:
        return PAPER_CS.copy()
    try:
        grid = np.atleast_1d(np.asarray(Cs, dtype=np.float64))
    except (TypeError, ValueError):
        grid = np.empty(0)
    if grid.ndim != 1 or grid.size == 0 or not np.all((grid > 0) & np.isfinite(grid)):
        raise ValueError(
            f"Cs must be a positive finite number or a non-empty list of such, got {Cs!r}."
        )
    refused = grid[(grid < C_RANGE[0]) | (grid > C_RANGE[1])]
    if refused.size:
        raise ValueError(
            f"Cs must lie between {C_RANGE[0]:g} and {C_RANGE[1]:g}, got {refused[0]:.4g}."
        )
    return np.unique(grid)


def check_grid_parameters(estimator: Any) -> Floats:
    """Check what all estimators with a grid have in common; gives the values of C."""
    for kernel in check_kernels(estimator.kernel):
        check_kernel(kernel, estimator.degree, estimator.coef0)
    check_number("tol", estimator.tol, np.finfo(np.float64).tiny, 1, "a number in (0, 1]")
    if estimator.n_components is not None:
        check_integer("n_components", estimator.n_components, 1)
    jobs = estimator.n_jobs
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, Integral) or not jobs):
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {jobs!r}.")
    return check_Cs(estimator.Cs)


def check_ensemble_parameters(estimator: Any) -> Floats:
    """Check what can be checked without data; gives the values of C."""
    check_integer("n_bootstraps", estimator.n_bootstraps, 1)
    check_number("epsilon", estimator.epsilon, 0, np.inf, "a number >= 0, infinity included")
    check_option("reliability", estimator.reliability, MEASURES)
    check_calibration(estimator.calibration)
    resolve_device(estimator.device)
    return check_grid_parameters(estimator)


def check_calibration(calibration: object) -> None:
    """Refuse a link that does not exist; None is vote shares."""
    if calibration is not None:
        check_option("calibration", calibration, LINKS)


def check_kernels(kernel: Any) -> list[str]:
    """Kernels of an ensemble, each once, in the order given."""
    if isinstance(kernel, str):
        return ["linear", "rbf"] if kernel == "auto" else [kernel]
    if not isinstance(kernel, list | tuple):
        return [kernel]
    if not kernel or (len(kernel) > 1 and "precomputed" in kernel):
        raise ValueError(
            f"kernel must be a name or a non-empty list of names, 'precomputed' only by itself, "
            f"got {kernel!r}."
        )
    return list(dict.fromkeys(kernel))


def check_gammas(gammas: Any, kernel: str, X: Rows, weight: Floats | None = None) -> Floats:
    """Distinct values of gamma in increasing order; one NaN for a kernel without gamma.

    Weights are multiplicities of the records.
    """
    if kernel in ("linear", "precomputed"):
        return np.array([np.nan])
    values = [gammas] if isinstance(gammas, (str, Real)) else gammas
    try:
        grid = np.unique([resolve_gamma(value, X, weight) for value in values])
    except (TypeError, ValueError):
        grid = np.empty(0)
    if grid.size == 0:
        raise ValueError(
            f"gammas must be 'scale', 'auto', a positive finite number or a non-empty list of "
            f"such, got {gammas!r}."
        )
    return grid


def check_binary(y: NDArray[Any]) -> None:
    """Refuse a target that is no classification or has more than two classes."""
    check_classification_targets(y)
    target = type_of_target(y, input_name="y", raise_unknown=True)
    if target != "binary":
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {target}: "
            f"y has {len(np.unique(y))} classes. ProbabilitySVC, PosteriorProbabilitySVC and "
            f"WeightedProbabilitySVC take more than two."
        )


def encode_two_classes(
    y: NDArray[Any], pos_label: object, least: int = 2
) -> tuple[NDArray[Any], int]:
    """Sorted labels of a two-class target and the place of the class of interest among them."""
    classes, sizes = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"y must have two classes, got one class only: {classes.tolist()!r}.")
    if sizes.min() < least:
        raise ValueError(
            f"Every class needs at least 2 records, one for a bag and one to be left out of it; "
            f"class {classes.tolist()[sizes.argmin()]!r} of y has 1."
        )
    return classes, place_of_interest(classes, pos_label)


def place_of_interest(classes: NDArray[Any], pos_label: object) -> int:
    """Place of the class of interest among two sorted labels; None is the larger one."""
    if pos_label is None:
        return 1
    places = np.flatnonzero(classes == pos_label)
    if len(places) != 1:
        raise ValueError(
            f"pos_label must be None or one of the classes {classes.tolist()!r}, got {pos_label!r}."
        )
    return int(places[0])


def check_sample_weight(sample_weight: ArrayLike | None, X: Rows) -> Floats | None:
    """Weights as floats, non-negative and not all zero."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(X.shape[0], float(sample_weight))
    weight = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weight.ndim != 1:
        raise ValueError(f"sample_weight must be 1-D, got shape {weight.shape}.")
    check_consistent_length(X, weight)
    if weight.min() < 0:
        raise ValueError(f"sample_weight must not be negative, got {weight.min()}.")
    if weight.max() == 0:
        raise ValueError("sample_weight must not be zero for every record.")
    return weight


def join_weights(
    weight: Floats | None, class_weight: Any, classes: NDArray[Any], y: NDArray[Any]
) -> Floats | None:
    """Multiply weights of samples, none of them 0, by those of their classes."""
    names = ["sample_weight"] * (weight is not None) + ["class_weight"] * (class_weight is not None)
    with np.errstate(over="ignore", under="ignore"):
        if class_weight is not None:
            factor = class_factors(class_weight, classes, y)
            weight = factor if weight is None else weight * factor
    if weight is not None:
        check_weight_range(names, float(weight.min()), float(weight.max()))
    return weight


def check_weight_range(names: list[str], smallest: float, largest: float) -> None:
    """Refuse weights, products of what is named, that are too small or too large."""
    least, most = WEIGHT_RANGE
    if smallest < least or largest > most:
        raise ValueError(
            f"{' times '.join(names)} must lie between {least:g} and {most:g}, or be 0 for a "
            f"sample that is to be left out, got {largest if largest > most else smallest:.4g}."
        )


def present_samples(
    X: Rows, y: NDArray[Any], sample_weight: ArrayLike | None, pairwise: bool
) -> tuple[Rows, NDArray[Any], Floats | None, NDArray[np.intp] | None]:
    """Leave out samples of weight 0; gives X, labels, weights, and places unless all are there."""
    if pairwise and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"X must be a square matrix of kernel values with kernel='precomputed', got shape "
            f"{X.shape}."
        )
    weight = check_sample_weight(sample_weight, X)
    if weight is None or weight.min() > 0:
        return X, y, weight, None
    present = np.flatnonzero(weight)
    rows = X[present][:, present] if pairwise else X[present]
    return rows, y[present], weight[present], present


class TrainingSet(NamedTuple):
    """Records of positive weight, ready for bags.

    Attributes
    ----------
    X : ndarray or CSR, shape (n, n_features)
        Records, or their kernel matrix (n, n).
    classes : ndarray, shape (2,)
        Labels, sorted.
    plus : int
        Place of the class of interest among the classes.
    positive : ndarray of bool, shape (n,)
        Which records belong to the class of interest.
    weight : ndarray, shape (n,) or None
        Factor on C for each record; None where all are one.
    present : ndarray of int, shape (n,) or None
        Places of these records among those given; None where none was left out.
    n_given : int
        Number of records given.
    """

    X: Rows
    classes: NDArray[Any]
    plus: int
    positive: NDArray[np.bool_]
    weight: Floats | None
    present: NDArray[np.intp] | None
    n_given: int

    def spread(self, values: NDArray[Any], fill: float) -> NDArray[Any]:
        """Put values (..., n) of these records at the places (..., n_given) they came from."""
        if self.present is None:
            return values
        spread = np.full((*values.shape[:-1], self.n_given), fill, dtype=values.dtype)
        spread[..., self.present] = values
        return spread


def training_set(
    X: Rows,
    y: NDArray[Any],
    sample_weight: ArrayLike | None,
    class_weight: Any,
    pos_label: object,
    *,
    pairwise: bool,
    least: int = 2,
) -> TrainingSet:
    """Leave out records of weight 0, encode the labels, multiply sample and class weights.

    A class with fewer than `least` records is refused.
    """
    check_binary(y)
    n_given = X.shape[0]
    X, y, weight, present = present_samples(X, y, sample_weight, pairwise)
    classes, plus = encode_two_classes(y, pos_label, least)
    positive = y == classes[plus]
    weight = join_weights(weight, class_weight, classes, y)
    return TrainingSet(X, classes, plus, positive, weight, present, n_given)


def class_factors(class_weight: Any, classes: NDArray[Any], y: NDArray[Any]) -> Floats:
    if not isinstance(class_weight, dict) and class_weight != "balanced":
        raise ValueError(f"class_weight must be None, 'balanced' or a dict, got {class_weight!r}.")
    per_class = compute_class_weight(class_weight, classes=classes, y=y)
    if not np.all((per_class > 0) & np.isfinite(per_class)):
        raise ValueError(f"class_weight must be positive and finite, got {class_weight!r}.")
    return np.asarray(per_class[np.searchsorted(classes, y)], dtype=np.float64)


def as_generator(random_state: Any) -> np.random.Generator:
    """Make a generator from scikit-learn's ``random_state``."""
    entropy = check_random_state(random_state).randint(0, 2**32, size=4, dtype=np.uint32)
    return np.random.default_rng(entropy)


def warn_of_gaps(gap: Floats, tol: float, stacklevel: int = 3) -> None:
    """Warn of SVMs that did not converge."""
    open_gaps = gap[~(gap <= tol)]
    if open_gaps.size:
        message = (
            f"{open_gaps.size} of {gap.size} SVMs did not reach a relative duality gap of "
            f"tol={tol}; the largest is {open_gaps.max():.2g}."
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel)


def warn_of_doubts(estimator: Any) -> None:
    """Warn of members that did not converge and of out-of-bag figures that do not exist."""
    n_bags = estimator.n_bootstraps
    warn_of_gaps(estimator.duality_gap_, estimator.tol, stacklevel=4)
    n_always_in = np.count_nonzero(estimator.counts_.all(axis=0))
    if n_always_in:
        message = (
            f"{n_always_in} records are in every bag and have no out-of-bag probability: "
            f"n_bootstraps={n_bags} is small."
        )
        warnings.warn(message, UserWarning, stacklevel=3)
    if np.isnan(estimator.reliability_).any():
        message = (
            f"reliability={estimator.reliability!r} is defined in none of the {n_bags} bags, "
            f"so all hyperparameter values weigh the same."
        )
        warnings.warn(message, UserWarning, stacklevel=3)
    P = estimator._vote_P[~np.isnan(estimator._vote_P)]
    if estimator.calibrator_ is not None and np.isinf(estimator.score_scales_).all():
        message = (
            "The members give all records the same score, as SVMs do where a class is rare, so "
            "that the calibrated probability is the share of the class for all of them. Set "
            "class_weight='auto'."
        )
        warnings.warn(message, UserWarning, stacklevel=3)
    elif estimator.calibrator_ is None and P.size and np.ptp(P) < CONSTANT_VOTES:
        message = (
            f"The vote shares of all records are alike ({P.min():.3g} to {P.max():.3g}): nearly "
            f"every member calls all records the same class, as SVMs do where a class is rare. "
            f"Set class_weight='auto' and reliability='balanced_accuracy', or calibration='auto' "
            f"with class_weight='auto'."
        )
        warnings.warn(message, UserWarning, stacklevel=3)
