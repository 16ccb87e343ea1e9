"""Floors under the rates of subgroups of the training samples: checked and encoded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Bools
from svmproba.bootstrap.subgroups import Subgroups
from svmproba.estimators.input.groups import read_subgroups
from svmproba.estimators.input.parameters import check_number

FLOORS = ("min_tpr", "min_tnr", "min_accuracy")
#: Samples that the rate of a floor counts.
_COUNTED = {"min_tpr": "positive samples", "min_tnr": "negative samples", "min_accuracy": "samples"}


class Floor(NamedTuple):
    """A floor under the share of a set of samples that have their margin."""

    name: str  # such as "min_tpr", or "min_tpr of women"
    share: float
    members: Bools  # (n,), samples of the set


def members_of(name: str, positive: Bools) -> Bools:
    """Find the samples that the rate of this name counts."""
    return {"min_tpr": positive, "min_tnr": ~positive}.get(name, np.ones_like(positive))


def read_floors(
    floors: Any, by: Any, positive: Bools, present: NDArray[np.intp] | None, n_given: int
) -> list[Floor]:
    """Floors of subgroups from pairs of a label of `by`, or a mask, and a rate or a dict of rates.

    Labels and masks are those of all samples given; the floors are those of the samples present.
    """
    if floors is None:
        return []
    subgroups = None if by is None else read_subgroups(by, n_given)
    found: dict[str, Floor] = {}
    for place, (subgroup, rates) in enumerate(_pairs(floors)):
        called, mask = _samples_of(subgroup, place, subgroups, n_given)
        mask = mask if present is None else mask[present]
        for rate, share in _rates(called, rates).items():
            name, members = f"{rate} of {called}", mask & members_of(rate, positive)
            if name in found:
                raise ValueError(f"floors must set a rate once, got {name} twice.")
            if not members.any():
                raise ValueError(
                    f"floors sets {name}, which has no {_COUNTED[rate]}: leave it out, or join it "
                    f"to another subgroup."
                )
            found[name] = Floor(name, share, members)
    return list(found.values())


def refuse_unused(by: Any, floors: Iterable[Any]) -> None:
    """Refuse subgroups that no floor names."""
    if by is not None and all(some is None for some in floors):
        raise ValueError(
            "by names subgroups and has no use without their floors: "
            "floors={subgroup: rate} sets them."
        )


def _pairs(floors: Any) -> list[tuple[Any, Any]]:
    pairs = floors.items() if isinstance(floors, Mapping) else floors
    listed = list(pairs) if isinstance(pairs, Iterable) and not isinstance(pairs, str) else []
    if not listed or any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in listed):
        raise ValueError(
            f"floors must be None, a dict of subgroup to rate or a list of pairs (subgroup, rate), "
            f"at least one, got {floors!r}."
        )
    return [(subgroup, rates) for subgroup, rates in listed]


def _samples_of(
    subgroup: Any, place: int, subgroups: Subgroups | None, n: int
) -> tuple[str, Bools]:
    """Name of a subgroup and its samples."""
    if np.ndim(subgroup) > 0:
        mask = np.asarray(subgroup)
        if mask.shape != (n,) or mask.dtype != bool:
            raise ValueError(
                f"The mask of floors[{place}] must hold True or False for each of the {n} samples, "
                f"got shape {mask.shape} of {mask.dtype}."
            )
        return f"floors[{place}]", mask
    if subgroups is None:
        raise ValueError(
            f"floors names the subgroup {subgroup!r}, which needs by, the subgroup of every "
            f"sample: give it to fit."
        )
    names = subgroups.names.tolist()
    if subgroup not in names:
        raise ValueError(f"floors must name subgroups of by, {names!r}, got {subgroup!r}.")
    return str(subgroup), subgroups.masks[names.index(subgroup)]


def _rates(called: str, rates: Any) -> dict[str, float]:
    """Floors by the names of rates; a number is a floor under the true positive rate."""
    given = {"min_tpr": rates} if isinstance(rates, Real) else rates
    if not isinstance(given, Mapping) or not given or not set(given) <= set(FLOORS):
        raise ValueError(
            f"The floor of {called} must be a number in [0, 1], the least true positive rate, or a "
            f"dict with keys among {FLOORS}, got {rates!r}."
        )
    for name, share in given.items():
        check_number(f"{name} of {called}", share, 0, 1, "a number in [0, 1]")
    return {name: float(share) for name, share in given.items()}
