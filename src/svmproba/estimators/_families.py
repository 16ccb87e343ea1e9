"""Families of an ensemble: its kernels, gammas and class weights, every one with every other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmproba.bootstrap.members import Family
from svmproba.estimators._validation import (
    check_gammas,
    check_kernels,
    check_weight_range,
    class_factors,
)

#: Share of the rarer class below which ``class_weight="auto"`` adds balanced weights.
RARE = 0.3


def make_families(estimator: Any, data: Any, sizes: tuple[int, int]) -> list[Family]:
    """Families of an ensemble: kernels, gammas and class weights, every one with every other.

    `data` has the attributes X, weight, classes and plus, and `sizes` are the records of the other
    class and of the class of interest.
    """
    weights = check_class_weights(estimator.class_weight, data.classes, data.plus, sizes)
    low, high = (1.0, 1.0) if data.weight is None else (data.weight.min(), data.weight.max())
    names = ["sample_weight"] * (data.weight is not None) + ["class_weight"]
    with np.errstate(over="ignore", under="ignore"):
        check_weight_range(names, low * min(map(min, weights)), high * max(map(max, weights)))
    return [
        Family(kernel, float(gamma), factors)
        for kernel in check_kernels(estimator.kernel)
        for gamma in check_gammas(estimator.gammas, kernel, data.X)
        for factors in weights
    ]


def check_class_weights(
    class_weight: Any, classes: NDArray[Any], plus: int, sizes: tuple[int, int]
) -> list[tuple[float, float]]:
    """Factors on C of the other class and of the class of interest, one pair for each weighting."""
    wishes = class_weight if isinstance(class_weight, list | tuple) else [class_weight]
    if isinstance(class_weight, str) and class_weight == "auto":
        wishes = [None, "balanced"] if min(sizes) < RARE * sum(sizes) else [None]
    found = []
    for wish in wishes:
        if isinstance(wish, str) and wish == "balanced":
            pair = sum(sizes) / (2 * sizes[0]), sum(sizes) / (2 * sizes[1])
        else:
            factors = np.ones(2) if wish is None else class_factors(wish, classes, classes)
            pair = float(factors[1 - plus]), float(factors[plus])
        if pair not in found:
            found.append(pair)
    if not found:
        raise ValueError(
            f"class_weight must be None, 'balanced', 'auto', a dict or a non-empty list of such, "
            f"got {class_weight!r}."
        )
    return found
