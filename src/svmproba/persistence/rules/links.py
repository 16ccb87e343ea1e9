"""Checks of the links, the maps from scores to probabilities."""

from __future__ import annotations

from typing import Any

from svmproba.persistence.rules.checks import (
    Check,
    Optional,
    Sizes,
    array,
    check_all,
    each,
    elsewhere,
    floats,
    maybe,
    number,
    refuse,
    whole,
    within,
)

_KNOTS: dict[str, Check] = {
    "scores_": floats("knots", be="increasing"),
    "values_": floats("knots", be="in [0, 1]"),
}
_SPLINE: dict[str, Check] = {
    "smoothing": number("not negative"),
    "knots_": floats("knots", be="increasing"),
    "slopes_": floats("knots", be="not negative"),
    "intercept_": number(),
}
_ENDS: dict[str, Check] = {"low_": number(), "high_": number()}
LINKS: dict[str, dict[str, Check]] = {
    "AutoLink": {
        "families": maybe(array("i", "used")),
        "centre_": floats("used"),
        "scale_": floats("used", be="positive or infinite"),
        "weights_": floats("parts", be="weights that sum to one"),
        "brier_": number("in [0, 1] or NaN"),
        "links_": each(elsewhere, "parts"),
        "places_": each(elsewhere, "parts"),
    },
    "BetaLink": {"a_": number("not negative"), "b_": number("not negative"), "c_": number()},
    "CosineLink": {
        "n_terms": whole(1, size="terms"),
        "gamma_": number("not negative"),
        "coef_": floats("terms+1"),
        **_ENDS,
        **{name: Optional(check) for name, check in _KNOTS.items()},
    },
    "CponLink": {
        **_ENDS,
        "plus_": floats(2, be="positive or NaN"),
        "minus_": floats(2, be="positive or NaN"),
        "share_": number("in [0, 1]"),
    },
    "GaussianLink": {"slope_": number("numbers"), "middle_": number(), "offset_": number()},
    "IsotonicLink": _KNOTS,
    "ModeratedLink": {},
    "PlattLink": {"A_": number(), "B_": number()},
    "QuadraticLink": _SPLINE,
    "SollichLink": {},
    "SplineLink": {"n_knots": whole(2), **_SPLINE},
    "StackLink": {"coef_": floats("used"), "intercept_": number()},
    "VennAbersLink": {
        "scores_": floats("knots", be="increasing"),
        "p0_": floats("knots+1", be="in [0, 1]"),
        "p1_": floats("knots+1", be="in [0, 1]"),
    },
    "WahbaLink": {},
}


def link(*allowed: str) -> Check:
    """Check a link of one of these classes."""

    def check(value: Any, sizes: Sizes) -> None:
        name, found = type(value).__name__, {**sizes}
        refuse(name not in allowed, "is not a link that is allowed here")
        if name == "AutoLink":
            found["used"] += sizes["spreads"]
        check_all(vars(value), LINKS[name], found)
        if name == "AutoLink":
            for i, (part, places) in enumerate(zip(value.links_, value.places_, strict=True)):
                within(f".places_[{i}]", _places, places, found)
                within(f".links_[{i}]", link(*_PARTS), part, {"used": len(places)})
        elif name == "CosineLink":
            wrong = value.isotonic and not _KNOTS.keys() <= vars(value).keys()
            refuse(wrong, "has no scores_ or no values_")

    return check


def _places(value: Any, sizes: Sizes) -> None:
    """Check the columns of scores that a part of a link reads."""
    array("i", "read", be="not negative")(value, {})
    wrong = not len(value) or value.max() >= sizes["used"]
    refuse(wrong, f"must be columns of {sizes['used']} scores")


#: Parts of an AutoLink, those that a bootstrap ensemble may have, and those of a pair of classes.
_PARTS = ["BetaLink", "IsotonicLink", "PlattLink", "QuadraticLink", "SplineLink", "StackLink"]
CALIBRATORS = ["AutoLink", *_PARTS, "VennAbersLink"]
PAIR_LINKS = [name for name in LINKS if name != "AutoLink"]
