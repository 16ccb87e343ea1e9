"""From columns of Arrow to the table that a model reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from svmproba._types import Bools, Floats
from svmproba.cli.errors import InputError
from svmproba.cli.input.cells import refuse_nested, to_numbers, to_words
from svmproba.cli.input.roles import NUMERIC, Column

#: Larger numbers are refused: their squares, and sums of these, must be finite.
LARGEST = 1e100


def frame_of(
    table: Any,
    columns: Sequence[Column],
    where: Callable[[int], str] = str,
    *,
    note_bad: Callable[[Column, Bools], None] = lambda column, bad: None,
    note_words: Callable[[str, Any], None] = lambda name, words: None,
) -> pd.DataFrame:
    """Make the model's table; `note_bad` and `note_words` hear of cells, `where` names a record."""
    made: dict[str, Any] = {}
    for column in columns:
        name, cells = column.name, table.column(column.name)
        refuse_nested(name, cells.type)
        if column.role == NUMERIC:
            numbers = to_numbers(cells, column.format)
            if numbers.bad.any():
                note_bad(column, numbers.bad)
            _check_range(numbers.values, where, name)
            made[name] = numbers.values
        else:
            words = to_words(cells)
            note_words(name, words)
            made[name] = _categories(words)
    return pd.DataFrame(made)


def _categories(words: Any) -> pd.Series:
    """Words as Python strings, NaN where missing, whatever string type pandas uses."""
    cells = np.array(words.to_numpy(zero_copy_only=False), dtype=object)
    cells[np.asarray(pc.is_null(words).to_numpy(zero_copy_only=False))] = np.nan
    return pd.Series(cells, dtype=object)


def _check_range(values: Floats, where: Callable[[int], str], name: str) -> None:
    large = np.abs(values) > LARGEST  # NaN is not
    if large.any():
        k = int(large.argmax())
        raise InputError(
            f"{where(k)}, column {name!r}: {values[k]:g} is too large; numbers must lie between "
            f"-{LARGEST:g} and {LARGEST:g}"
        )
