"""Roles of columns, and checks of their names and numbers."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from svmproba.cli.errors import InputError
from svmproba.cli.input.cells import PLAIN
from svmproba.cli.input.numerals import NumberFormat
from svmproba.cli.input.tables import Reading, TableFile

NUMERIC, CATEGORICAL, DROPPED = "numeric", "categorical", "dropped"


@dataclass(frozen=True)
class Column:
    """Role of one column, and why; counts of missing cells and of different other values."""

    name: str
    role: str
    reason: str
    n_missing: int = 0
    n_distinct: int = 0
    warnings: list[str] = field(default_factory=list)
    format: NumberFormat = PLAIN  # of numbers in text

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON."""
        return {**asdict(self), "format": self.format._asdict()}


@dataclass(frozen=True)
class ColumnChoices:
    """Columns that the user decided on."""

    drop: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()

    def of_columns(self, columns: Sequence[str], where: str) -> ColumnChoices:
        """Take lists apart; refuse names that are in no column, or in two choices."""
        found = {}
        for option in ("drop", "numeric", "categorical"):
            found[option] = split_names(getattr(self, option), columns)
            for name in found[option]:
                check_column(name, columns, where, f"--{option}")
        choices = [name for names in found.values() for name in names]
        twice = sorted({name for name in choices if choices.count(name) > 1})
        if twice:
            raise InputError(f"column {twice[0]!r} is named more than once by the options")
        return ColumnChoices(**found)


def split_names(given: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Split lists at commas, except for names of columns that contain commas."""
    names: list[str] = []
    for text in given:
        names += [text] if text in columns else [name.strip() for name in text.split(",")]
    return tuple(dict.fromkeys(name for name in names if name))


def check_column(name: str, columns: Sequence[str], where: str, option: str) -> None:
    """Refuse a name that no column has, and suggest a similar one."""
    if name in columns:
        return
    lower = {column.lower(): column for column in columns}
    near = difflib.get_close_matches(name.lower(), lower, n=1)
    hint = f", did you mean {lower[near[0]]!r}?" if near else "."
    listed = ", ".join(map(repr, columns[:20])) + (", …" if len(columns) > 20 else "")
    raise InputError(f"{option}: {where} has no column {name!r}{hint} It has {listed}")


def check_needed(needed: Sequence[str], table: TableFile) -> None:
    """Refuse a table that lacks columns of the model."""
    missing = [name for name in needed if name not in table.columns]
    if missing:
        n, listed = len(missing), ", ".join(map(repr, missing[:10]))
        more = f" and {n - 10} more" if n > 10 else ""
        raise InputError(
            f"{table.name} lacks {'a column' if n == 1 else f'{n} columns'} that the model needs: "
            f"{listed}{more}; it has {', '.join(map(repr, table.columns[:20]))}"
        )


def columns_of(about: dict[str, Any], reading: Reading) -> list[Column]:
    """Columns that a model uses; `reading` has precedence over the format of numbers at the fit."""
    columns = []
    for saved in about["columns"]:
        if saved["role"] != DROPPED:
            decimal, thousands, unit = NumberFormat(**saved["format"])
            decimal = reading.decimal or decimal
            thousands = reading.thousands or thousands.replace(decimal, "")
            columns.append(Column(**{**saved, "format": NumberFormat(decimal, thousands, unit)}))
    return columns
