"""Checks of single attributes: type, shape and range.

A check is called with a value and the named sizes, such as "theta" or "samples". The first array
with a named size sets it; all later ones must have the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from svmproba.persistence._archive import Refused

Sizes = dict[str, int]
Check = Callable[[Any, Sizes], None]

#: Ranges by the name that errors give them.
RANGES: dict[str, Callable[[Any], Any]] = {
    "anything": lambda a: True,
    "numbers": lambda a: ~np.isnan(a),
    "finite": np.isfinite,
    "finite or NaN": lambda a: ~np.isinf(a),
    "positive": lambda a: (a > 0) & np.isfinite(a),
    "positive or NaN": lambda a: np.isnan(a) | ((a > 0) & np.isfinite(a)),
    "positive or infinite": lambda a: a > 0,
    "not negative": lambda a: (a >= 0) & np.isfinite(a),
    "in [0, 1]": lambda a: (a >= 0) & (a <= 1),
    "in [0, 1] or NaN": lambda a: np.isnan(a) | ((a >= 0) & (a <= 1)),
    "weights that sum to one": lambda a: np.all(a >= 0) and abs(a.sum() - 1) < 1e-9,
    "increasing": lambda a: np.isfinite(a).all() and (a[1:] > a[:-1]).all(),
    "numbers that do not fall": lambda a: not np.isnan(a).any() and (a[1:] >= a[:-1]).all(),
    "increasing inside (0, 1)": lambda a: (a[1:] > a[:-1]).all() and ((a > 0) & (a < 1)).all(),
}


def refuse(wrong: Any, reason: str) -> None:
    """Raise `Refused` if the value is wrong."""
    if wrong:
        raise Refused(reason)


def within(part: str, step: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function for a part of a value, so that errors name the place."""
    try:
        return step(*arguments)
    except Refused as error:
        raise Refused(error.reason, part + error.place) from error


def check_shape(found: tuple[int, ...], shape: tuple[str | int, ...], sizes: Sizes) -> None:
    """Compare a shape with the sizes; "knots+1" is one more than the size "knots"."""
    refuse(len(found) != len(shape), f"has shape {found}, not {_spell(shape)}")
    for n, size in zip(found, shape, strict=True):
        name, _, more = str(size).partition("+")
        known = size if isinstance(size, int) else sizes.setdefault(name, n - int(more or 0))
        wanted = int(known) + int(more or 0)
        refuse(n != wanted, f"has shape {found}, not {_spell(shape)}: {size} is {wanted}")


def _spell(shape: tuple[str | int, ...]) -> str:
    return f"({', '.join(map(str, shape))})"


def array(kind: str, *shape: str | int, be: str = "anything") -> Check:
    """Check an array of kind "f" (float64), "i" (int64), "b" (bool) or "u" (unsigned)."""

    def check(value: Any, sizes: Sizes) -> None:
        refuse(not isinstance(value, np.ndarray), "is not an array")
        wrong = value.dtype.kind != kind or (kind in "fi" and value.dtype.itemsize != 8)
        refuse(wrong, f"is an array of {value.dtype}, which is not of kind {kind!r} and 8 bytes")
        check_shape(value.shape, shape, sizes)
        refuse(not np.all(RANGES[be](value)), f"must be {be}")

    return check


def floats(*shape: str | int, be: str = "finite") -> Check:
    """Check an array of float64."""
    return array("f", *shape, be=be)


def table(*shape: str) -> Check:
    """Check a table, dense or CSR; the reader has checked the indices of CSR."""

    def check(value: Any, sizes: Sizes) -> None:
        if sparse.issparse(value):
            check_shape(value.shape, shape, sizes)
            floats(value.nnz)(value.data, sizes)
        else:
            floats(*shape)(value, sizes)

    return check


def labels(size: str) -> Check:
    """Check an array of two distinct labels or more."""

    def check(value: Any, sizes: Sizes) -> None:
        refuse(not isinstance(value, np.ndarray), "is not an array")
        check_shape(value.shape, (size,), sizes)
        distinct = len({*value.tolist()})
        refuse(not 2 <= distinct == len(value), "must be two distinct labels or more")

    return check


def number(be: str = "finite") -> Check:
    """Check a single real number."""

    def check(value: Any, sizes: Sizes) -> None:
        refuse(isinstance(value, bool) or not isinstance(value, Real), "is not a number")
        refuse(not np.all(RANGES[be](np.float64(value))), f"must be {be}")

    return check


def whole(low: int, high: int = 2**62, size: str = "") -> Check:
    """Check a whole number; it may set a named size."""

    def check(value: Any, sizes: Sizes) -> None:
        refuse(isinstance(value, bool) or not isinstance(value, Integral), "is not a whole number")
        refuse(not low <= value <= high, f"must be a whole number in [{low}, {high}]")
        if size:
            sizes[size] = int(value)

    return check


def kind(cls: type) -> Check:
    """Check that a value is of a class."""
    return lambda value, sizes: refuse(type(value) is not cls, f"is not a {cls.__name__}")


def nothing(value: Any, sizes: Sizes) -> None:
    """Check what must be None."""
    refuse(value is not None, "must be None")


def elsewhere(value: Any, sizes: Sizes) -> None:
    """Check nothing here: the value depends on others and is checked after them."""


def maybe(check: Check) -> Check:
    """Check what may be None."""
    return lambda value, sizes: None if value is None else check(value, sizes)


class Optional:
    """A check of an attribute that may be missing."""

    def __init__(self, check: Check) -> None:
        self._check = check

    def __call__(self, value: Any, sizes: Sizes) -> None:
        """Check an attribute that is not missing."""
        self._check(value, sizes)


def each(check: Check, size: str) -> Check:
    """Check every entry of a list of this size."""

    def check_all(value: Any, sizes: Sizes) -> None:
        refuse(type(value) is not list, "is not a list")
        check_shape((len(value),), (size,), sizes)
        for i, item in enumerate(value):
            within(f"[{i}]", check, item, sizes)

    return check_all


def by_name(check: Check) -> Check:
    """Check every value of a dict with names as keys."""

    def check_all(value: Any, sizes: Sizes) -> None:
        wrong = type(value) is not dict or not all(type(name) is str for name in value)
        refuse(wrong, "is not a dict of names")
        for name, item in value.items():
            within(f"[{name[:80]!r}]", check, item, sizes)

    return check_all


def check_all(found: Mapping[str, Any], checks: Mapping[str, Check], sizes: Sizes) -> None:
    """Check attributes in the order of the checks; only optional ones may be missing."""
    for name, check in checks.items():
        if name in found:
            within(f".{name}", check, found[name], sizes)
        else:
            refuse(not isinstance(check, Optional), f"has no {name}")
