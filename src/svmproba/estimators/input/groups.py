"""Groups of samples that belong together, and subgroups of a population: checked and encoded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Bools
from svmproba.bootstrap.subgroups import Subgroups


def check_groups(groups: Any, n: int) -> NDArray[np.int64] | None:
    """Numbers 0, 1, ... of the groups of n samples, at least two of them; None without groups."""
    if groups is None:
        return None
    names, codes = np.unique(_column("groups", groups, n), return_inverse=True)
    if len(names) < 2:
        raise ValueError(f"groups must name two groups or more, got {names.tolist()!r}.")
    return np.asarray(codes, dtype=np.int64)


def check_classes_of_groups(
    groups: NDArray[np.int64], label: NDArray[Any], classes: Sequence[Any]
) -> None:
    """Refuse a class in one group alone: no bag could have it and leave some of it out."""
    for value in np.unique(label):
        if len(np.unique(groups[label == value])) < 2:
            raise ValueError(
                f"groups must spread every class over two groups or more, one for a bag and one "
                f"to be left out of it; all {np.sum(label == value)} samples of class "
                f"{classes[int(value)]!r} are in one."
            )


def read_subgroups(by: Any, n: int) -> Subgroups:
    """Subgroups of n samples: labels, or a dict or data frame of several columns.

    Columns give one subgroup for True and False, or one for each label; they may overlap.
    """
    if not isinstance(by, Mapping) and not (hasattr(by, "columns") and np.ndim(by) == 2):
        labels = _column("by", by, n)
        names = np.unique(labels)
        return Subgroups(names, labels == names[:, np.newaxis], overlapping=False)
    found: dict[str, Bools] = {}
    for key in by.keys() if isinstance(by, Mapping) else by.columns:
        column = _column(f"by[{key!r}]", by[key], n)
        if column.dtype == bool:
            found[str(key)] = column
        else:
            found |= {f"{key}={label}": column == label for label in np.unique(column).tolist()}
    if not found:
        raise ValueError("by must name one subgroup or more, got none.")
    return Subgroups(np.array(list(found)), np.array(list(found.values())), overlapping=True)


def subgroups_for(by: Any, n: int, common_threshold: bool) -> Subgroups | None:
    """Subgroups that can have a common threshold, or one each; None without `by`."""
    subgroups = None if by is None else read_subgroups(by, n)
    if subgroups is not None and subgroups.overlapping and not common_threshold:
        raise ValueError(
            "common_threshold=False needs one label for each sample as by, got columns of "
            "subgroups that may overlap."
        )
    return subgroups


def places_of_labels(by: Any, names: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Place of every sample's label among the names of subgroups that have their own threshold."""
    if by is None:
        raise ValueError(
            "by must give the subgroup of every sample: this model has a threshold for each. "
            "common_threshold=True sets one threshold for all."
        )
    labels = _column("by", by, n).tolist()
    known = {name: place for place, name in enumerate(names.tolist())}
    unseen = sorted({repr(label) for label in labels if label not in known})
    if unseen:
        raise ValueError(
            f"by must name subgroups that have a threshold, {list(known)!r}, got "
            f"{', '.join(unseen[:5])} too."
        )
    return np.array([known[label] for label in labels], dtype=np.int64)


def _column(name: str, labels: Any, n: int) -> NDArray[Any]:
    """One label for each of n samples, none of them missing and all of comparable types."""
    column = np.asarray(labels)
    if column.shape != (n,):
        raise ValueError(
            f"{name} must hold one label for each of the {n} samples, got shape {column.shape}."
        )
    if column.dtype.kind in "OfmM":
        missing = [place for place, label in enumerate(column.tolist()) if _is_missing(label)]
        if missing:
            raise ValueError(
                f"{name} must have no missing labels, got {len(missing)}, the first at place "
                f"{missing[0]}: give such samples a label of their own, or leave them out."
            )
    if column.dtype.kind == "O":
        kinds = {type(label) for label in column.tolist()}
        if kinds == {bool}:
            return column.astype(bool)
        if any(issubclass(kind, str) for kind in kinds) and len(kinds) > 1:
            listed = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise ValueError(f"{name} must hold labels of one type, got {listed}.")
        return column.astype(str) if kinds == {str} else column
    return column


def _is_missing(label: Any) -> bool:
    # pandas.NA is neither equal nor unequal to itself.
    return label is None or type(label).__name__ in ("NAType", "NaTType") or label != label
