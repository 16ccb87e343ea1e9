"""What every link must hold: a map from scores to probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmproba.persistence._checks import (
    Check,
    Optional,
    Sizes,
    array,
    by_name,
    check_all,
    each,
    elsewhere,
    floats,
    kind,
    number,
    refuse,
    whole,
    within,
)

_KNOTS: dict[str, Check] = {
    "scores_": floats("knots", be="increasing"),
    "values_": floats("knots", be="in [0, 1]"),
}
_ENDS: dict[str, Check] = {"low_": number(), "high_": number()}
LINKS: dict[str, dict[str, Check]] = {
    "AutoLink": {
        "chosen_": kind(str),
        "candidates_": by_name(number("in [0, 1]")),
        "links_": elsewhere,
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
    "IsotonicMixtureLink": {
        "starts_": array("i", "used+1", be="increasing"),
        "scores_": floats("knots"),
        "values_": floats("knots", be="in [0, 1]"),
    },
    "ModeratedLink": {},
    "PlattLink": {"A_": number(), "B_": number()},
    "SollichLink": {},
    "StackLink": {"coef_": floats("used"), "intercept_": number()},
    "VennAbersLink": {
        "scores_": floats("knots", be="increasing"),
        "p0_": floats("knots+1", be="in [0, 1]"),
        "p1_": floats("knots+1", be="in [0, 1]"),
    },
    "WahbaLink": {},
}


def link(*allowed: str) -> Check:
    """Check a map from scores to probabilities that is one of those named."""

    def check(value: Any, sizes: Sizes) -> None:
        name, found = type(value).__name__, {**sizes}
        refuse(name not in allowed, "is no link for this place")
        check_all(vars(value), LINKS[name], found)
        if name == "AutoLink":
            parts = link("IsotonicMixtureLink", "StackLink")
            within(".links_", each(parts, "parts"), value.links_, found)
            refuse(not value.links_, "has no links_")
        elif name == "CosineLink":
            wrong = value.isotonic and not _KNOTS.keys() <= vars(value).keys()
            refuse(wrong, "has no scores_ or no values_")
        elif name == "IsotonicMixtureLink":
            starts = value.starts_
            wrong = starts[0] != 0 or starts[-1] != found["knots"]
            refuse(wrong, "has starts_ that do not go from the first knot to the last")
            for fit in np.split(value.scores_, starts[1:-1]):
                within(".scores_", floats("of one fit", be="increasing"), fit, {})

    return check


#: Those that a bootstrap ensemble may have, and those of a pair of classes.
CALIBRATORS = ["AutoLink", "BetaLink", "IsotonicLink", "PlattLink", "StackLink", "VennAbersLink"]
PAIR_LINKS = [name for name in LINKS if name not in ("AutoLink", "IsotonicMixtureLink")]
