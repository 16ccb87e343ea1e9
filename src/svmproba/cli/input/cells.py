"""Cells as numbers or as words, whatever type the file gives them."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from svmproba._types import Bools, Floats
from svmproba._words import MISSING, SAME_WORDS
from svmproba.cli.errors import InputError
from svmproba.cli.input.numerals import NumberFormat, best_formats
from svmproba.cli.input.tables import Reading

PLAIN = NumberFormat()


class Numbers(NamedTuple):
    """Numbers, NaN where missing or bad; bad cells are neither missing nor finite numbers."""

    values: Floats
    bad: Bools


def is_text(column: Any) -> bool:
    """Whether the cells are strings."""
    kind = column.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def flat(column: Any) -> Any:
    """Column of Arrow in one piece, with dictionaries decoded and string views as strings."""
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


def to_numbers(column: Any, written: NumberFormat = PLAIN, *, booleans: bool = True) -> Numbers:
    """Read a column as numbers; with `booleans` the words true and false are 1 and 0."""
    column = flat(column)
    kind, types = column.type, pa.types
    if is_text(column):
        values = _parse(column, written, booleans)
        given = ~np.isnan(values) | pc.is_valid(tidied(column)).to_numpy(zero_copy_only=False)
        bad = given & ~np.isfinite(values)
    elif types.is_null(kind) or types.is_boolean(kind):
        values = column.cast(pa.int8()).cast(pa.float64()).to_numpy(zero_copy_only=False)
        bad = np.zeros(len(column), dtype=bool)
    elif types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        if types.is_float32(kind) or types.is_decimal(kind):
            # By way of text: 0.1 of 32 bits is read as 0.1, and a decimal as the nearest float.
            column = column.cast(pa.string())
        # A NaN of the file is a missing cell, as in pandas.
        values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        # It is unknown whether a plain 0.12 is 12 %.
        bad = ~np.isnan(values) if written.unit == "%" else np.isinf(values)
    else:
        return to_numbers(to_words(column), written)
    return Numbers(np.where(bad, np.nan, values), bad)


def formats_of(column: Any, reading: Reading) -> list[NumberFormat]:
    """Find how a column writes its numbers: one format, or two where the cells are ambiguous."""
    base = NumberFormat(reading.decimal or ".", reading.thousands or "")
    column = flat(column)
    if not is_text(column) or not to_numbers(column, base, booleans=False).bad.any():
        return [base]
    counts = pc.value_counts(tidied(column.cast(pa.string())).drop_null())
    n = counts.field("counts").to_numpy(zero_copy_only=False)
    return best_formats(counts.field("values"), n, reading.decimal, reading.thousands)


def _parse(strings: Any, written: NumberFormat, booleans: bool) -> Floats:
    """Numbers in strings, NaN where there is none; the fast way first."""
    if written == PLAIN:
        for prepare in (lambda cells: cells, tidied):
            with contextlib.suppress(pa.ArrowInvalid):
                return np.array(prepare(strings).cast(pa.float64()).to_numpy(zero_copy_only=False))
    words = tidied(strings.cast(pa.string()))
    if booleans:
        for word, number in (("true", "1"), ("false", "0")):
            words = pc.replace_substring_regex(words, f"^(?i:{word})$", number)
    return np.array(written.plain(words).cast(pa.float64()).to_numpy(zero_copy_only=False))


def refuse_nested(name: str, kind: Any) -> None:
    """Refuse a column whose cells are lists, records or bytes."""
    if looks_nested(kind):
        raise InputError(f"column {name!r} holds {kind}, which is neither numbers nor words")


def to_words(column: Any) -> Any:
    """Read a column as words, null where missing: the same cell is the same word in any type."""
    column = flat(column)
    if pa.types.is_null(column.type):
        return column.cast(pa.string())
    if pa.types.is_temporal(column.type) or isinstance(column, pa.ExtensionArray):
        cells = column.to_pandas()
        column = pa.array(cells.astype(str).where(cells.notna(), None), pa.string())
    column = column.dictionary_encode()
    return _words(column.dictionary).take(column.indices)


def _words(cells: Any) -> Any:
    """Words of some cells that are all different."""
    if pa.types.is_floating(cells.type):
        # As Python and pandas write them, which Arrow does not.
        texts = cells.to_numpy(zero_copy_only=False).astype(str)
        cells = pa.array(texts.tolist(), pa.string())
    try:
        words = tidied(cells.cast(pa.string()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        words = tidied(pa.array([str(cell) for cell in cells.to_pylist()], pa.string()))
    for pattern, word in SAME_WORDS:
        words = pc.replace_substring_regex(words, pattern, word)
    return words


def looks_nested(kind: Any) -> bool:
    """Whether a cell holds more than one value, or bytes."""
    return bool(pa.types.is_nested(kind) or pa.types.is_binary(kind))
