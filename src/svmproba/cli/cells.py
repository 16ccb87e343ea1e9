"""Cells as numbers or as words, whatever the file had; what cannot be one is pointed out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from svmproba.cli.tables import MISSING

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Numbers(NamedTuple):
    """A column as numbers.

    Attributes
    ----------
    values : ndarray of shape (n,)
        NaN where the cell is missing or bad.
    bad : ndarray of bool of shape (n,)
        Cells that are neither missing nor a finite number.
    """

    values: Floats
    bad: Bools


def is_text(column: Any) -> bool:
    """Whether the cells are strings."""
    kind = column.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def flat(column: Any) -> Any:
    """Column of Arrow in one piece; dictionaries are written out, odd strings made plain."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    return column


def tidied(strings: Any) -> Any:
    """Strings without spaces around them; null where they stand for a missing cell."""
    strings = pc.utf8_trim_whitespace(strings)
    missing = pc.is_in(strings, value_set=pa.array(MISSING, strings.type))
    return pc.if_else(missing, pa.scalar(None, strings.type), strings)


def to_numbers(column: Any, decimal: str = ".") -> Numbers:
    """Read a column as numbers.

    Parameters
    ----------
    column : pyarrow array or chunked array
    decimal : {".", ","}, default="."
        Sign before the decimals in text.

    Returns
    -------
    Numbers

    Examples
    --------
    >>> import pyarrow as pa
    >>> from svmproba.cli.cells import to_numbers
    >>> to_numbers(pa.array(["1", " 2.5", "?", "many"]))
    Numbers(values=array([1. , 2.5, nan, nan]), bad=array([False, False, False,  True]))
    """
    column = flat(column)
    if is_text(column):
        values = _parse(column, decimal)
        given = ~np.isnan(values) | _is_given(column)
    elif pa.types.is_null(column.type):
        values = np.full(len(column), np.nan)
        given = np.zeros(len(column), dtype=bool)
    elif pa.types.is_boolean(column.type):
        return to_numbers(column.cast(pa.int8()))
    elif _is_number(column.type):
        values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        # A NaN of the file is a missing cell, as in pandas.
        return Numbers(np.where(np.isinf(values), np.nan, values), np.isinf(values))
    else:
        return to_numbers(to_words(column), decimal)
    bad = given & ~np.isfinite(values)
    return Numbers(np.where(bad, np.nan, values), bad)


def _parse(strings: Any, decimal: str) -> Floats:
    """Numbers in strings, NaN where there is none; the first way is fast, the last one patient."""
    if decimal == ",":
        strings = pc.replace_substring(strings, ",", ".")
    for prepare in (lambda cells: cells, tidied):
        try:
            parsed = prepare(strings).cast(pa.float64())
        except pa.ArrowInvalid:
            continue
        return np.array(parsed.to_numpy(zero_copy_only=False))
    patient = pd.to_numeric(tidied(strings).to_pandas(), errors="coerce")
    return patient.to_numpy(dtype=np.float64, na_value=np.nan)


def _is_given(strings: Any) -> Bools:
    return np.asarray(pc.is_valid(tidied(strings)).to_numpy(zero_copy_only=False))


def to_words(column: Any) -> Any:
    """Read a column as words: categories are compared as text.

    Parameters
    ----------
    column : pyarrow array or chunked array

    Returns
    -------
    pyarrow.StringArray
        Null where the cell is missing. Whole numbers have no decimals.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from svmproba.cli.cells import to_words
    >>> to_words(pa.array([1.0, None, 3.0])).to_pylist()
    ['1', None, '3']
    """
    column = flat(column)
    if is_text(column):
        return tidied(column.cast(pa.string()))
    if pa.types.is_floating(column.type):
        numbers = column.to_numpy(zero_copy_only=False)
        whole = np.isnan(numbers) | (np.abs(numbers) < 2**53) & (numbers == np.round(numbers))
        if whole.all():
            column = pa.array(numbers, mask=np.isnan(numbers)).cast(pa.int64())
    try:
        return tidied(column.cast(pa.string()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        texts = [None if cell is None else str(cell) for cell in column.to_pylist()]
        return tidied(pa.array(texts, pa.string()))


def looks_nested(kind: Any) -> bool:
    """Whether a cell holds more than one value, or bytes."""
    return bool(pa.types.is_nested(kind) or pa.types.is_binary(kind))


def _is_number(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))
