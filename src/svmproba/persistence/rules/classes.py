"""Checks of an ensemble of more than two classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmproba.bootstrap.classes.members import ClassMembers
from svmproba.estimators.classes.calibration import ClassCalibrator
from svmproba.links import ClassScaling
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
    refuse,
    table,
    whole,
    within,
)
from svmproba.persistence.rules.links import CALIBRATORS, link
from svmproba.persistence.rules.members import groups, members, spreads, thetas, weights


def gaps(value: Any, sizes: Sizes) -> None:
    """Check duality gaps; they set the number of pairs, of values of theta and of bags."""
    sizes["pairs"] = sizes["classes"] * (sizes["classes"] - 1) // 2
    floats("pairs", "theta", "bags", be="anything")(value, sizes)


def class_members(value: Any, sizes: Sizes) -> None:
    """Check the members of all pairs, which have the same kernels and values of C."""
    kind(ClassMembers)(value, sizes)
    within(".n_classes", whole(sizes["classes"], sizes["classes"]), value.n_classes, sizes)
    within(".of_pair", each(elsewhere, "pairs"), value.of_pair, sizes)
    within(".columns", maybe(each(columns, "pairs")), value.columns, sizes)
    kernels: list[str] = []
    for pair, of_pair in enumerate(value.of_pair):
        own = {name: size for name, size in sizes.items() if name != "present"}
        if value.columns is not None:
            own["features"] = len(value.columns[pair])
        within(f".of_pair[{pair}]", members, of_pair, own)
        found = [one.kernel for one in of_pair.feature_maps]
        kernels = kernels or found
        refuse(found != kernels, f"has other kernels for pair {pair}")
        sizes |= {name: own[name] for name in ("maps", "Cs")}
    wrong = ("precomputed" in kernels) != (value.columns is not None)
    refuse(wrong, "must have columns for a precomputed kernel, and only then")


def columns(value: Any, sizes: Sizes) -> None:
    """Check the kernel values that a pair reads."""
    array("i", "columns of a pair", be="increasing")(value, {})
    wrong = not len(value) or value[0] < 0 or value[-1] >= sizes.get("present", sizes["samples"])
    refuse(wrong, "must be places of samples")


def training_rows(value: Any, sizes: Sizes) -> None:
    """Check the samples of positive weight."""
    own = {**sizes, "fitted": sizes.get("present", sizes["samples"])}
    known = "given" in own and own["given"] < 2**62  # kernel values
    table("fitted", "fitted" if known else "features")(value, own)


def labels_of_samples(value: Any, sizes: Sizes) -> None:
    """Check the places of labels among the classes, -1 for samples without weight."""
    array("i", "samples")(value, sizes)
    refuse(not np.all((value >= -1) & (value < sizes["classes"])), "must be places of classes")
    n_fitted = sizes.get("present", sizes["samples"])
    refuse(np.count_nonzero(value >= 0) != n_fitted, f"must have {n_fitted} labels")


def calibrator(value: Any, sizes: Sizes) -> None:
    """Check the links of all pairs and the scaling of what they give."""
    kind(ClassCalibrator)(value, sizes)
    within(".links", each(link(*CALIBRATORS), "pairs"), value.links, sizes)
    within(".scaling", scaling, value.scaling, sizes)


def scaling(value: Any, sizes: Sizes) -> None:
    """Check slopes and offsets of the logarithms of probabilities."""
    kind(ClassScaling)(value, sizes)
    check_all(vars(value), SCALING, sizes)


def scaling_kind(value: Any, sizes: Sizes) -> None:
    """Check the name of a scaling."""
    refuse(value not in ("none", "temperature", "vector"), "is not a scaling")


SCALING: dict[str, Check] = {
    "kind_": scaling_kind,
    "slope_": floats("classes"),
    "offset_": floats("classes"),
}
_SHARES = floats("samples", "classes", be="in [0, 1] or NaN")
FITTED_CLASSES: dict[str, Check] = {
    "thetas": thetas,
    "duality_gap": gaps,
    "counts": array("u", "bags", "samples"),
    "members": class_members,
    "n_redraws": whole(0),
    "X": training_rows,
    "present": elsewhere,
    "label": labels_of_samples,
    "reliability": floats("theta", be="in [0, 1] or NaN"),
    "weights": weights,
    "score_scales": floats("pairs", "theta", be="positive or infinite"),
    "oob_scores": floats("pairs", "theta", "samples", be="finite or NaN"),
    "oob_spreads": spreads("pairs"),
    "vote_proba": _SHARES,
    "oob_proba": _SHARES,
    "shifts": floats("classes"),
    "factors": floats("classes", be="positive"),
    "calibrator": maybe(calibrator),
    "costs": maybe(floats("classes", "classes")),
    "guarantee": kind(str),
    "groups": maybe(groups),
    "places": nothing,
}
