"""Labels, weights and samples that a fit starts from."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from svmproba._types import Floats
from svmproba.solvers.kernels import Rows

#: Smallest and largest weight; see `svmproba.estimators.input.samples.LARGEST`.
WEIGHT_RANGE = (1e-40, 1e40)


def check_binary(y: NDArray[Any]) -> None:
    """Refuse a target that is no classification or has more than two classes."""
    check_classification_targets(y)
    target = type_of_target(y, input_name="y", raise_unknown=True)
    if target != "binary":
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {target}: "
            f"y has {len(np.unique(y))} classes. More than two are taken by BootstrapSVC, "
            f"ThresholdBootstrapSVC and ConstrainedBootstrapSVC (not with resample='blb'), "
            f"ProbabilitySVC, PosteriorProbabilitySVC and WeightedProbabilitySVC."
        )


def n_classes_of(y: NDArray[Any], sample_weight: ArrayLike | None, X: Rows) -> int:
    """Count the classes among the samples of positive weight."""
    check_classification_targets(y)
    weight = check_sample_weight(sample_weight, X)
    return len(np.unique(y if weight is None else y[weight > 0]))


def encode_two_classes(
    y: NDArray[Any], pos_label: object, least: int = 2
) -> tuple[NDArray[Any], int]:
    """Sorted labels of a two-class target and the place of the class of interest among them."""
    classes, sizes = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise ValueError(f"y must have two classes, got one class only: {classes.tolist()!r}.")
    if sizes.min() < least:
        raise ValueError(
            f"Every class needs at least 2 samples, one for a bag and one to be left out of it; "
            f"class {classes.tolist()[sizes.argmin()]!r} of y has 1."
        )
    return classes, place_of_interest(classes, pos_label)


def place_of_interest(classes: NDArray[Any], pos_label: object) -> int:
    """Place of the class of interest among two; None: the larger label."""
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
        raise ValueError("sample_weight must not be zero for every sample.")
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


class TrainingSet(NamedTuple):
    """Samples of positive weight, ready for bags."""

    X: Rows  # (n, n_features), or the kernel matrix (n, n)
    classes: NDArray[Any]  # (2,), sorted
    plus: int  # place of the class of interest among them
    positive: NDArray[np.bool_]  # (n,), samples of the class of interest
    weight: Floats | None  # (n,), factor on C; None where all are one
    present: NDArray[np.intp] | None  # (n,), places among the samples given; None: all
    n_given: int

    def spread(self, values: NDArray[Any], fill: float) -> NDArray[Any]:
        """Put values (..., n) of these samples at the places (..., n_given) they came from."""
        return spread_values(values, fill, self.present, self.n_given)


def spread_values(
    values: NDArray[Any], fill: float, present: NDArray[np.intp] | None, n_given: int
) -> NDArray[Any]:
    """Put values (..., n) of samples at their places among those given, `fill` elsewhere."""
    if present is None or len(present) == n_given:
        return values
    spread = np.full((*values.shape[:-1], n_given), fill, dtype=values.dtype)
    spread[..., present] = values
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
    """Leave out samples of weight 0, encode the labels (`least` of each), join the weights."""
    if n_classes_of(y, sample_weight, X) > 2:
        check_binary(y)
    n_given = X.shape[0]
    X, y, weight, present = present_samples(X, y, sample_weight, pairwise)
    classes, plus = encode_two_classes(y, pos_label, least)
    positive = y == classes[plus]
    weight = join_weights(weight, class_weight, classes, y)
    return TrainingSet(X, classes, plus, positive, weight, present, n_given)


def present_samples(
    X: Rows, y: NDArray[Any], sample_weight: ArrayLike | None, pairwise: bool
) -> tuple[Rows, NDArray[Any], Floats | None, NDArray[np.intp] | None]:
    """Leave out samples of weight 0; gives the places of the others, None where all are left."""
    if pairwise and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"X must be a square matrix of kernel values with kernel='precomputed', got shape "
            f"{X.shape}."
        )
    weight = check_sample_weight(sample_weight, X)
    if weight is None or weight.min() > 0:
        return X, y, weight, None
    present = np.flatnonzero(weight)
    X = X[present]
    return X[:, present] if pairwise else X, y[present], weight[present], present


def class_factors(class_weight: Any, classes: NDArray[Any], y: NDArray[Any]) -> Floats:
    """Factor on C of every sample, from a dict or "balanced"."""
    if not isinstance(class_weight, dict) and class_weight != "balanced":
        raise ValueError(f"class_weight must be None, 'balanced' or a dict, got {class_weight!r}.")
    per_class = compute_class_weight(class_weight, classes=classes, y=y)
    if not np.all((per_class > 0) & np.isfinite(per_class)):
        raise ValueError(f"class_weight must be positive and finite, got {class_weight!r}.")
    return np.asarray(per_class[np.searchsorted(classes, y)], dtype=np.float64)
