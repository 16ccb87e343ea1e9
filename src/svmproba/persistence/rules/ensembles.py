"""Checks of an ensemble of two classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmproba.bootstrap.subgroups import SubgroupRates
from svmproba.bootstrap.threshold import RateCurve
from svmproba.persistence.rules.checks import (
    Check,
    Optional,
    Sizes,
    array,
    by_name,
    check_all,
    check_shape,
    floats,
    kind,
    maybe,
    number,
    refuse,
    whole,
)
from svmproba.persistence.rules.links import CALIBRATORS, link
from svmproba.persistence.rules.members import groups, members, spreads, thetas, weights

_SHARE = "in [0, 1] or NaN"


def threshold(value: Any, sizes: Sizes) -> None:
    """Check one threshold, or one for each theta."""
    an_array = isinstance(value, np.ndarray)
    (floats("theta", be="numbers") if an_array else number("numbers"))(value, sizes)


def jackknife(value: Any, sizes: Sizes) -> None:
    """Check the sign of a class and its rate."""
    refuse(
        type(value) is not tuple or len(value) != 2 or value[0] not in (-1, 1),
        "is not a pair of sign and rate",
    )
    number("in [0, 1]")(value[1], sizes)


def curve(value: Any, sizes: Sizes) -> None:
    """Check a curve of rates."""
    kind(RateCurve)(value, sizes)
    shares = floats("thresholds", be="in [0, 1] or NaN")
    checks = {"threshold": floats("thresholds", be="numbers that do not fall")}
    check_all(value._asdict(), checks | dict.fromkeys(RateCurve._fields[1:], shares), {**sizes})


def subgroup_rates(value: Any, sizes: Sizes) -> None:
    """Check the rates of subgroups; their names are distinct labels."""
    kind(SubgroupRates)(value, sizes)
    refuse(not isinstance(value.subgroup, np.ndarray), "is not an array")
    check_shape(value.subgroup.shape, ("subgroups",), sizes)
    distinct = len({*value.subgroup.tolist()})
    refuse(not distinct or distinct < sizes["subgroups"], "must be distinct labels")
    count, share = array("i", "subgroups", be="not negative"), floats("subgroups", be=_SHARE)
    checks = {"threshold": floats("subgroups", be="numbers"), "n_samples": count}
    checks |= {"n_positive": count} | dict.fromkeys(SubgroupRates._fields[4:], share)
    check_all(value._asdict(), checks, sizes)


FITTED_ENSEMBLE: dict[str, Check] = {
    "thetas": thetas,
    "duality_gap": floats("theta", "bags", be="anything"),
    "members": members,
    "counts": array("u", "bags", "samples"),
    "n_redraws": whole(0),
    "places": maybe(array("i", "samples", be="not negative")),
    "positive": array("b", "samples"),
    "reliability": floats("theta", be="in [0, 1] or NaN"),
    "weights": weights,
    "score_scales": floats("theta", be="positive or infinite"),
    "oob_scores": floats("theta", "samples", be="finite or NaN"),
    "oob_medians": floats("theta", "samples", be="finite or NaN"),
    "oob_spreads": spreads(),
    "oob_median": floats("samples", be="finite or NaN"),
    "vote_proba": floats("samples", be="in [0, 1] or NaN"),
    "vote_curve": curve,
    "oob_proba": maybe(floats("samples", be="in [0, 1] or NaN")),
    "calibrator": maybe(link(*CALIBRATORS)),
    "threshold": threshold,
    "proba_threshold": number("numbers"),
    "jackknife": maybe(jackknife),
    "costs": maybe(by_name(number())),
    "guarantee": kind(str),
    "groups": Optional(maybe(groups)),
    "subgroup_rates": Optional(maybe(subgroup_rates)),
    "separate": Optional(kind(bool)),
    "column_means": Optional(maybe(floats("features"))),
}
