"""The role of each column: numbers, categories or left out, with warnings about doubtful ones."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from svmproba._types import Bools, Floats
from svmproba.cli.errors import InputError
from svmproba.cli.input.cells import flat, formats_of, looks_nested, to_numbers, to_words
from svmproba.cli.input.numerals import NumberFormat, look_like_numbers
from svmproba.cli.input.roles import CATEGORICAL, DROPPED, NUMERIC, Column, ColumnChoices
from svmproba.cli.input.tables import Reading, shorten
from svmproba.evaluation._checks import column_auc, leak_in_words, leak_limit

#: A column is numeric where at most this share of its cells are not numbers; they count as missing.
SHARE_NOT_NUMBERS = 0.1
#: At most so many different cells, some of them not numbers, are categories.
FEW_CATEGORIES = 20
#: With fewer records, identifiers cannot be recognised.
LEAST_RECORDS = 20
#: Integers without any repeated value are doubtful where so many repeats are expected.
PAIRS_EXPECTED = 5
#: More categories than this are warned of; more than that are left out.
MANY_CATEGORIES, TOO_MANY_CATEGORIES = 50, 500

_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T]\d{1,2}:\d{2}.*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .*)?"
    r"|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?|-?\d+ days.*"
)
_IDENTIFIER = re.compile(r"(^|[^a-z])(id|ids|nr|no|number|key|uuid|guid|index)$|[a-z]I[dD]$")


def plan_columns(
    table: Any,
    label: NDArray[Any],
    *,
    choices: ColumnChoices | None = None,
    reading: Reading | None = None,
    rows: NDArray[np.intp] | None = None,
) -> list[Column]:
    """Decide what each column of a table without the target is; choices of the user are obeyed.

    `rows` are the numbers of the records in the file, for messages; by default 1, 2, …
    """
    choices, reading = choices or ColumnChoices(), reading or Reading()
    rows = np.arange(1, table.num_rows + 1) if rows is None else rows
    plan = []
    for name in table.column_names:
        cells = flat(table.column(name))
        if name in choices.drop:
            plan.append(Column(name, DROPPED, "as requested"))
        elif looks_nested(cells.type):
            plan.append(Column(name, DROPPED, f"cells of type {cells.type}"))
        elif name in choices.categorical:
            plan.append(_categorical(name, to_words(cells), label, asked=True))
        else:
            asked = name in choices.numeric
            with np.errstate(over="ignore"):  # numbers too large are refused later, by their row
                plan.append(_guess(name, cells, label, reading, rows, asked))
    return plan


def _guess(
    name: str,
    cells: Any,
    label: NDArray[Any],
    reading: Reading,
    rows: NDArray[np.intp],
    asked: bool,
) -> Column:
    if not asked and pa.types.is_temporal(cells.type):
        return _dropped(name, to_words(cells), "dates", _DATES)
    if not asked and pa.types.is_boolean(cells.type):
        return _categorical(name, to_words(cells), label)
    formats = formats_of(cells, reading)
    if len(formats) > 1:
        doubt = _two_ways(cells, formats)
        if asked:
            raise InputError(f"--numeric: column {name!r}: {doubt}")
        return _dropped(name, to_words(cells), "ambiguous numbers", f"{doubt}; it is left out")
    (written,) = formats
    if asked:
        return _numeric(name, cells, label, written, reading, rows, asked=True)
    numbers = to_numbers(cells, written, booleans=False)
    n_given = np.count_nonzero(~np.isnan(numbers.values)) + np.count_nonzero(numbers.bad)
    if n_given == 0:
        return Column(name, DROPPED, "empty", n_missing=len(rows))
    n_bad = np.count_nonzero(numbers.bad)
    if not n_bad:
        return _numeric(name, cells, label, written, reading, rows)
    words = to_words(cells)
    # Few different cells, such as 0, 1, 2, 3+, are categories.
    if len(pc.unique(words)) > FEW_CATEGORIES:
        if n_bad <= SHARE_NOT_NUMBERS * n_given:
            return _numeric(name, cells, label, written, reading, rows)
        if n_bad <= n_given / 2:
            doubt = f"{_not_numbers(cells, numbers.bad, rows)}; give --numeric or --categorical"
            return _dropped(name, words, "numbers and words", doubt)
    return _categorical(name, words, label)


_DATES = "it looks like dates: turn it into numbers, such as days before the decision"
_FORMATS = "it looks like numbers written in different ways (--decimal, --thousands)"


def _two_ways(cells: Any, formats: list[NumberFormat]) -> str:
    """Show a cell that two formats read as different numbers."""
    first, second = (to_numbers(cells, written).values for written in formats)
    k = int((first != second).argmax())
    said = [
        f"{values[k]:.10g} ({written})"
        for values, written in zip((first, second), formats, strict=True)
    ]
    return f"{str(to_words(cells)[k])!r} may be {' or '.join(said)}: say which"


def _numeric(
    name: str,
    cells: Any,
    label: NDArray[Any],
    written: NumberFormat,
    reading: Reading,
    rows: NDArray[np.intp],
    asked: bool = False,
) -> Column:
    values, bad = to_numbers(cells, written)
    given = values[~np.isnan(values)]
    distinct = np.unique(given)
    counts: dict[str, Any] = {"n_missing": int(np.isnan(values).sum()), "n_distinct": len(distinct)}
    counts["format"] = written
    doubts = _written_so(name, cells, values, written, reading)
    if bad.any():
        if asked and not len(given):
            raise InputError(f"--numeric: column {name!r}: {_not_numbers(cells, bad, rows)}")
        doubts.append(f"{_not_numbers(cells, bad, rows)}; such cells count as missing")
    if not asked:
        if len(distinct) <= 1:
            always = f"constant: always {given[0]:g}" if len(given) else "no numbers"
            return Column(name, DROPPED, always, **counts, warnings=doubts)
        if is_running_number(values):
            doubts.append(
                f"it looks like a running number and is left out; --numeric {name!r} keeps it"
            )
            return Column(name, DROPPED, "identifier", **counts, warnings=doubts)
        if _all_whole(given) and len(distinct) == len(values) >= LEAST_RECORDS:
            if _IDENTIFIER.search(name):
                doubts.append("every record has its own: it is left out as an identifier")
                return Column(name, DROPPED, "identifier", **counts, warnings=doubts)
            # Expected number of equal pairs among integers drawn from this range.
            if len(values) ** 2 / (2 * np.ptp(values)) > PAIRS_EXPECTED:
                doubts.append(f"every record has its own: is it an identifier? --drop {name!r}")
    doubts += leak_of(values, label)
    reason = "as requested" if asked else "numbers"
    if written.unit:
        reason += f" in {written.unit}"
    return Column(name, NUMERIC, reason, **counts, warnings=doubts)


def _written_so(
    name: str, cells: Any, values: Floats, written: NumberFormat, reading: Reading
) -> list[str]:
    """Warn of a format that was guessed: show how one cell is read."""
    base = NumberFormat(reading.decimal or ".", reading.thousands or "", written.unit)
    if written == base:
        return []
    k = int((to_numbers(cells, base).bad & ~np.isnan(values)).argmax())
    return [
        f"{str(flat(cells)[k])!r} is read as {values[k]:.10g} ({written}); if these are no "
        f"numbers: --categorical {name!r}"
    ]


def _not_numbers(cells: Any, bad: Bools, rows: NDArray[np.intp]) -> str:
    first = int(bad.argmax())
    cell = shorten(str(to_words(cells)[first]), 30)
    n = int(bad.sum())
    are = "cell is not a number" if n == 1 else "cells are not numbers"
    return f"{n} {are}, the first in row {rows[first]}: {cell!r}"


def is_running_number(values: Floats) -> bool:
    """Whether the values number the records: integers, all different, without gaps or in order."""
    if len(values) < LEAST_RECORDS or np.isnan(values).any() or not _all_whole(values):
        return False
    if np.ptp(values) == len(values) - 1 and len(np.unique(values)) == len(values):
        return True
    steps = np.diff(values)
    return bool((steps > 0).all() or (steps < 0).all())


def _all_whole(values: Floats) -> bool:
    return bool((values == np.round(values)).all())


def _categorical(name: str, words: Any, label: NDArray[Any], asked: bool = False) -> Column:
    counts = pc.value_counts(words.drop_null())
    distinct = counts.field("values").to_pylist()
    tally: dict[str, Any] = {"n_missing": words.null_count, "n_distinct": len(distinct)}
    n_given = len(words) - words.null_count
    if asked:
        return Column(name, CATEGORICAL, "as requested", **tally, warnings=_leak(words, label))
    if len(distinct) <= 1:
        always = f"constant: always {shorten(distinct[0], 20)!r}" if distinct else "empty"
        return Column(name, DROPPED, always, **tally)
    sample = distinct[:200]
    if all(_DATE.fullmatch(word) for word in sample):
        return _dropped(name, words, "dates", _DATES)
    enough = n_given >= LEAST_RECORDS
    if enough and len(distinct) > n_given / 2:
        if np.mean([len(word.split()) for word in sample]) >= 4:
            return _dropped(name, words, "free text", "it looks like free text: it is left out")
        if look_like_numbers(pa.array(sample)).mean() > 1 - SHARE_NOT_NUMBERS:
            return _dropped(name, words, "ambiguous numbers", f"{_FORMATS}: it is left out")
        own = "every record has its own" if len(distinct) == n_given else "few records share one"
        return _dropped(name, words, "identifier", f"{own}: it is left out as an identifier")
    if len(distinct) > TOO_MANY_CATEGORIES:
        said = f"it has {len(distinct)} categories: it is left out; --categorical {name!r} keeps it"
        return _dropped(name, words, "too many categories", said)
    doubts = []
    if len(distinct) > MANY_CATEGORIES:
        doubts.append(f"it has {len(distinct)} categories, each of which becomes a column")
    if look_like_numbers(pa.array(sample)).all():
        doubts.append(_FORMATS)
    doubts += _leak(words, label)
    return Column(name, CATEGORICAL, f"{len(distinct)} categories", **tally, warnings=doubts)


def _dropped(name: str, words: Any, reason: str, doubt: str) -> Column:
    n_distinct = len(pc.unique(words.drop_null()))
    return Column(name, DROPPED, reason, words.null_count, n_distinct, [doubt])


def leak_of(values: Floats, label: NDArray[Any], categories: bool = False) -> list[str]:
    """Warn of a column that almost alone separates each class from each of the others."""
    classes = np.unique(label)
    if len(classes) < 2 or len(label) < LEAST_RECORDS:
        return []
    areas = []
    for first, second in combinations(classes, 2):
        chosen = (label == first) | (label == second)
        positive = label[chosen] == second
        own = _shares(values[chosen], positive) if categories else values[chosen]
        n_plus = int(positive.sum())
        areas.append(column_auc(own, positive))
        if areas[-1] < leak_limit(n_plus, len(positive) - n_plus):
            return []
    return [leak_in_words(min(areas))]


def _shares(codes: NDArray[Any], positive: Bools) -> Floats:
    """Share of positives in the category of each record."""
    n = np.bincount(codes)
    # Rare categories separate any classes: they are drawn towards the share of all records.
    return ((np.bincount(codes, positive) + 3 * positive.mean()) / (n + 3))[codes]


def _leak(words: Any, label: NDArray[Any]) -> list[str]:
    """Warn of a column of categories that almost alone separates the classes."""
    return leak_of(pd.factorize(words.to_pandas(), use_na_sentinel=False)[0], label, True)
