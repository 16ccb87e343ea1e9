"""Checks of members, their hyperparameter values and their statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmproba.bootstrap.fitting.members import Members
from svmproba.bootstrap.summaries.spread import is_read
from svmproba.estimators.ensemble.setting import THETA
from svmproba.persistence.rules.checks import (
    Check,
    Sizes,
    array,
    check_all,
    each,
    elsewhere,
    floats,
    kind,
    maybe,
    nothing,
    number,
    refuse,
    table,
    whole,
    within,
)
from svmproba.solvers.features import FeatureMap
from svmproba.solvers.kernels import check_kernel


def feature_map(value: Any, sizes: Sizes) -> None:
    """Check a feature map; it sets the size "rows", the number of columns of the rows."""
    kind(FeatureMap)(value, sizes)
    check_kernel(value.kernel, value.degree, value.coef0)
    known, linear = value.kernel == "precomputed", value.kernel == "linear"
    width = sizes.get("present", sizes["features"]) if known else sizes["features"]
    projection = floats("width" if linear else "landmarks", "rows")
    found = {name: size for name, size in sizes.items() if name != "rows"} | {"width": width}
    checks: dict[str, Check] = {
        "n_features": whole(width, width),
        "gamma": number("not negative"),
        "degree": whole(1),
        "coef0": number(),
        "basis": nothing if linear or known else table("landmarks", "width"),
        "pivots": nothing if linear else array("i", "landmarks", be="not negative"),
        "projection": maybe(projection),
        "exact": kind(bool),
    }
    check_all(vars(value), checks, found)
    wrong = known and value.pivots.max(initial=0) >= width
    refuse(wrong, f"has pivots beyond the {width} samples")
    sizes["rows"] = found.get("rows", width if linear else found["landmarks"])


def members(value: Any, sizes: Sizes) -> None:
    """Check members: one block of columns for each feature map, of the same values of C."""
    kind(Members)(value, sizes)
    within(".feature_maps", each(kind(FeatureMap), "maps"), value.feature_maps, sizes)
    n_maps = sizes["maps"]
    refuse(not n_maps or sizes["theta"] % n_maps, f"has {n_maps} maps for {sizes['theta']} theta")
    sizes["Cs"] = sizes["theta"] // n_maps
    sizes["Cs*bags"] = sizes["Cs"] * sizes["bags"]
    within(".intercept", floats("theta", "bags"), value.intercept, sizes)
    for name in ("columns", "mean_columns"):
        within(f".{name}", each(elsewhere, "maps"), getattr(value, name), sizes)
    for i, one in enumerate(value.feature_maps):
        within(f".feature_maps[{i}]", feature_map, one, sizes)
        within(f".columns[{i}]", floats("rows", "Cs*bags"), value.columns[i], sizes)
        within(f".mean_columns[{i}]", floats("rows", "Cs"), value.mean_columns[i], sizes)


def thetas(value: Any, sizes: Sizes) -> None:
    """Check the grid of hyperparameter values."""
    refuse(not isinstance(value, np.ndarray) or value.dtype != THETA, "is not an array of theta")
    floats("theta", be="positive")(value["C"], sizes)
    floats("theta", be="positive or NaN")(value["gamma"], sizes)
    floats("theta", be="positive")(value["class_weight"], sizes)


def weights(value: Any, sizes: Sizes) -> None:
    """Check reliability weights; the number above zero sets the size "used"."""
    floats("theta", be="weights that sum to one")(value, sizes)
    sizes["used"] = int(np.count_nonzero(value))


def groups(value: Any, sizes: Sizes) -> None:
    """Check the numbers of the groups of samples; -1 stands for weight 0."""
    array("i", "samples")(value, sizes)
    refuse(value.min(initial=0) < -1 or value.max(initial=0) >= len(value), "are not groups")


def spreads(*before: str) -> Check:
    """Check spreads of the scores, one row for each map where links read them."""

    def check(value: Any, sizes: Sizes) -> None:
        sizes["spreads"] = sizes["maps"] if is_read(sizes["used"], sizes["bags"]) else 0
        floats(*before, "spreads", "samples", be="finite or NaN")(value, sizes)

    return check
