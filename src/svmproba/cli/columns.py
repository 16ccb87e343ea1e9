"""What each column of a table is: numbers, categories, or better left out; and what to doubt."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from svmproba.cli.cells import Bools, Floats, looks_nested, to_numbers, to_words
from svmproba.cli.errors import InputError
from svmproba.cli.tables import TableFile, shorten
from svmproba.evaluation.checks import column_auc, leak_in_words, leak_limit

NUMERIC, CATEGORICAL, DROPPED = "numeric", "categorical", "dropped"
#: A column whose cells are numbers but for so small a share is numeric; the others are missing.
SHARE_NOT_NUMBERS = 0.1
#: So few different cells are categories where some are not numbers.
FEW_CATEGORIES = 20
#: Fewer records say nothing of identifiers.
LEAST_RECORDS = 20
#: Numbers without a pair alike are suspicious where so many were to be expected.
PAIRS_EXPECTED = 5
#: More categories than this are pointed out; more than that are not used.
MANY_CATEGORIES, TOO_MANY_CATEGORIES = 50, 500

_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T]\d{1,2}:\d{2}.*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .*)?"
)
_IDENTIFIER = re.compile(r"(^|[^a-z])(id|ids|nr|no|number|key|uuid|guid|index)$|[a-z]I[dD]$")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")


@dataclass(frozen=True)
class Column:
    """What is done with one column, and why.

    Attributes
    ----------
    name : str
    role : {"numeric", "categorical", "dropped"}
    reason : str
    n_missing, n_distinct : int
        Missing cells, and different values without them.
    warnings : list of str
        What to doubt.
    """

    name: str
    role: str
    reason: str
    n_missing: int = 0
    n_distinct: int = 0
    warnings: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class Wishes:
    """Columns that the user decided on."""

    drop: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()

    def check(self, columns: Sequence[str], where: str) -> None:
        """Refuse names that are in no column, or in two wishes."""
        for option in ("drop", "numeric", "categorical"):
            for name in getattr(self, option):
                check_column(name, columns, where, f"--{option}")
        wishes = [*self.drop, *self.numeric, *self.categorical]
        twice = sorted({name for name in wishes if wishes.count(name) > 1})
        if twice:
            raise InputError(f"column {twice[0]!r} is named more than once by the options")


def check_column(name: str, columns: Sequence[str], where: str, option: str) -> None:
    """Refuse a name that no column has, with the one that was perhaps meant."""
    if name in columns:
        return
    lower = {column.lower(): column for column in columns}
    near = difflib.get_close_matches(name.lower(), lower, n=1)
    hint = f", did you mean {lower[near[0]]!r}?" if near else "."
    listed = ", ".join(map(repr, columns[:20])) + (", …" if len(columns) > 20 else "")
    raise InputError(f"{option}: {where} has no column {name!r}{hint} It has {listed}")


def check_needed(needed: Sequence[str], table: TableFile) -> None:
    """Refuse a table that lacks columns that a model needs."""
    missing = [name for name in needed if name not in table.columns]
    if missing:
        n, listed = len(missing), ", ".join(map(repr, missing[:10]))
        more = f" and {n - 10} more" if n > 10 else ""
        raise InputError(
            f"{table.name} lacks {'a column' if n == 1 else f'{n} columns'} that the model needs: "
            f"{listed}{more}; it has {', '.join(map(repr, table.columns[:20]))}"
        )


def plan_columns(
    table: Any,
    positive: Bools,
    *,
    wishes: Wishes | None = None,
    decimal: str = ".",
    rows: NDArray[np.intp] | None = None,
) -> list[Column]:
    """Decide what each column is.

    Parameters
    ----------
    table : pyarrow.Table of n records
        Without the target.
    positive : ndarray of bool of shape (n,)
        Which records are of the class of interest: to find columns that know the outcome.
    wishes : Wishes, default=None
        What the user decided; it is obeyed, and doubted aloud.
    decimal : {".", ","}, default="."
        Sign before the decimals in text.
    rows : ndarray of shape (n,), default=None
        Numbers of the records in the file, for messages; by default 1, 2, …

    Returns
    -------
    list of Column
        In the order of the table.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from svmproba.cli.columns import plan_columns
    >>> table = pa.table({"age": [31, 44, None, 44], "job": ["a", "b", "a", "a"]})
    >>> [(c.name, c.role) for c in plan_columns(table, np.array([True, False, True, False]))]
    [('age', 'numeric'), ('job', 'categorical')]
    """
    wishes = wishes or Wishes()
    rows = np.arange(1, table.num_rows + 1) if rows is None else rows
    plan = []
    for name in table.column_names:
        cells = table.column(name)
        if name in wishes.drop:
            plan.append(Column(name, DROPPED, "as you asked"))
        elif looks_nested(cells.type):
            plan.append(Column(name, DROPPED, f"cells of type {cells.type}"))
        elif name in wishes.numeric:
            plan.append(_numeric(name, cells, positive, decimal, rows, asked=True))
        elif name in wishes.categorical:
            plan.append(_categorical(name, to_words(cells), positive, asked=True))
        else:
            plan.append(_guess(name, cells, positive, decimal, rows))
    return plan


def _guess(name: str, cells: Any, positive: Bools, decimal: str, rows: NDArray[np.intp]) -> Column:
    if pa.types.is_temporal(cells.type):
        return _dropped(name, to_words(cells), "dates", _DATES)
    if pa.types.is_boolean(cells.type):
        return _categorical(name, to_words(cells), positive)
    numbers = to_numbers(cells, decimal)
    n_given = np.count_nonzero(~np.isnan(numbers.values)) + np.count_nonzero(numbers.bad)
    if n_given == 0:
        return Column(name, DROPPED, "empty", n_missing=len(rows))
    words, n_bad = to_words(cells), np.count_nonzero(numbers.bad)
    # Where there are few different cells, such as 0, 1, 2, 3+, each has a meaning.
    if not n_bad or len(pc.unique(words)) > FEW_CATEGORIES:
        if n_bad <= SHARE_NOT_NUMBERS * n_given:
            return _numeric(name, cells, positive, decimal, rows)
        if n_bad <= n_given / 2:
            doubt = f"{_not_numbers(cells, numbers.bad, rows)}; say --numeric or --categorical"
            return _dropped(name, words, "numbers and words", doubt)
    return _categorical(name, words, positive)


_DATES = "it looks like dates: turn it into numbers, such as days before the decision"


def _numeric(
    name: str,
    cells: Any,
    positive: Bools,
    decimal: str,
    rows: NDArray[np.intp],
    asked: bool = False,
) -> Column:
    values, bad = to_numbers(cells, decimal)
    given = values[~np.isnan(values)]
    distinct = np.unique(given)
    counts = {"n_missing": int(np.isnan(values).sum()), "n_distinct": len(distinct)}
    doubts = []
    if bad.any():
        doubts.append(f"{_not_numbers(cells, bad, rows)}; such cells count as missing")
    if not asked:
        if len(distinct) <= 1:
            always = f"constant: always {given[0]:g}" if len(given) else "no numbers"
            return Column(name, DROPPED, always, **counts, warnings=doubts)
        if is_running_number(values):
            doubts.append(f"it looks like a running number: it is left out; --numeric {name!r}")
            return Column(name, DROPPED, "identifier", **counts, warnings=doubts)
        if _all_whole(given) and len(distinct) == len(values) >= LEAST_RECORDS:
            if _IDENTIFIER.search(name):
                doubts.append("every record has its own: it is left out as an identifier")
                return Column(name, DROPPED, "identifier", **counts, warnings=doubts)
            # Whole numbers drawn from this range would have had so many pairs alike.
            if len(values) ** 2 / (2 * np.ptp(values)) > PAIRS_EXPECTED:
                doubts.append(f"every record has its own: is it an identifier? --drop {name!r}")
    doubts += leak_of(values, positive)
    reason = "as you asked" if asked else "numbers"
    return Column(name, NUMERIC, reason, **counts, warnings=doubts)


def _not_numbers(cells: Any, bad: Bools, rows: NDArray[np.intp]) -> str:
    first = int(bad.argmax())
    cell = shorten(str(to_words(cells)[first]), 30)
    n = int(bad.sum())
    are = "cell is not a number" if n == 1 else "cells are not numbers"
    return f"{n} {are}, the first in row {rows[first]}: {cell!r}"


def is_running_number(values: Floats) -> bool:
    """Whether they count the records: whole, all different, without a gap or in order."""
    if len(values) < LEAST_RECORDS or np.isnan(values).any() or not _all_whole(values):
        return False
    if np.ptp(values) == len(values) - 1 and len(np.unique(values)) == len(values):
        return True
    steps = np.diff(values)
    return bool((steps > 0).all() or (steps < 0).all())


def _all_whole(values: Floats) -> bool:
    return bool((values == np.round(values)).all())


def _categorical(name: str, words: Any, positive: Bools, asked: bool = False) -> Column:
    counts = pc.value_counts(words.drop_null())
    distinct = counts.field("values").to_pylist()
    tally: dict[str, Any] = {"n_missing": words.null_count, "n_distinct": len(distinct)}
    n_given = len(words) - words.null_count
    if asked:
        return Column(name, CATEGORICAL, "as you asked", **tally, warnings=_leak(words, positive))
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
        own = "every record has its own" if len(distinct) == n_given else "few records share one"
        return _dropped(name, words, "identifier", f"{own}: it is left out as an identifier")
    if len(distinct) > TOO_MANY_CATEGORIES:
        said = f"it has {len(distinct)} categories: it is left out; --categorical {name!r} keeps it"
        return _dropped(name, words, "too many categories", said)
    doubts = []
    if len(distinct) > MANY_CATEGORIES:
        doubts.append(f"it has {len(distinct)} categories, each of which becomes a column")
    if all(_DECIMAL_COMMA.fullmatch(word) for word in sample):
        doubts.append("it looks like numbers with decimal commas: --decimal ,")
    doubts += _leak(words, positive)
    return Column(name, CATEGORICAL, f"{len(distinct)} categories", **tally, warnings=doubts)


def _dropped(name: str, words: Any, reason: str, doubt: str) -> Column:
    n_distinct = len(pc.unique(words.drop_null()))
    return Column(name, DROPPED, reason, words.null_count, n_distinct, [doubt])


def leak_of(values: Floats, positive: Bools) -> list[str]:
    """Doubt a column that almost alone separates the classes.

    Parameters
    ----------
    values : ndarray of shape (n,)
        NaN where missing: whether it is missing may tell the class, too.
    positive : ndarray of bool of shape (n,)

    Returns
    -------
    list of str
        One doubt, or none.
    """
    if not positive.any() or positive.all() or len(positive) < LEAST_RECORDS:
        return []
    area = column_auc(values, positive)
    n_plus = int(positive.sum())
    return [leak_in_words(area)] if area >= leak_limit(n_plus, len(positive) - n_plus) else []


def _leak(words: Any, positive: Bools) -> list[str]:
    """Doubt a column of categories, put in order by their share of positives."""
    codes = pd.factorize(words.to_pandas(), use_na_sentinel=False)[0]
    n = np.bincount(codes)
    # Rare categories separate anything: they take the share of all records.
    shares = (np.bincount(codes, positive) + 3 * positive.mean()) / (n + 3)
    return leak_of(shares[codes], positive)
