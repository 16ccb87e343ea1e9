"""Arguments and options that commands share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from svmproba.cli.errors import InputError
from svmproba.cli.input.csv_text import check_encoding, parse_separator
from svmproba.cli.input.tables import Reading

if TYPE_CHECKING:
    from svmproba.cli.input.roles import ColumnChoices

_TABLE = "Table: CSV, .csv.gz or Parquet; - for CSV on standard input."


def _column_option(text: str) -> Any:
    return typer.Option(help=text, rich_help_panel="Columns")


def _reading_option(text: str, *names: str) -> Any:
    return typer.Option(*names, help=text, rich_help_panel="How CSV is read")


Data = Annotated[str, typer.Argument(help=_TABLE, show_default=False)]
Model = Annotated[str, typer.Argument(help="Model saved by svmproba fit.", show_default=False)]
Target = Annotated[str, typer.Option(help="Column of the labels.", show_default=False)]
_LARGER = "Label of the class of interest. Default: the larger label."
Positive = Annotated[str | None, typer.Option(help=_LARGER, show_default=False)]
By = Annotated[
    str | None,
    _column_option("Column of subgroups: shows the rates in each; a rate holds in each."),
]
Groups = Annotated[
    str | None,
    _column_option("Column of records that belong together, such as a patient; no feature."),
]
Drop = Annotated[list[str] | None, _column_option("Columns to leave out, separated by commas.")]
Numeric = Annotated[list[str] | None, _column_option("Columns to read as numbers.")]
Categorical = Annotated[list[str] | None, _column_option("Columns to read as categories.")]
Separator = Annotated[
    str | None,
    _reading_option("One character, or comma, semicolon, tab, space, bar. Default: guessed."),
]
Encoding = Annotated[str | None, _reading_option("Such as cp1252 or latin-1. Default: UTF-8.")]
Decimal = Annotated[str | None, _reading_option("Decimal sign: . or ,")]
Thousands = Annotated[str | None, _reading_option("Thousands separator: . , ' or space")]
NoHeader = Annotated[
    bool,
    _reading_option("The file has no line of names: they are column1, column2, …", "--no-header"),
]
Bootstraps = Annotated[int, typer.Option(help="Number of bootstrap bags.")]
Jobs = Annotated[int, typer.Option(help="Parallel jobs; -1: all cores.")]
Seed = Annotated[int, typer.Option(help="Seed; the same seed gives the same result.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the file of --out if it exists.")]
Json = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON object on standard output; the rest goes to stderr."
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def reading_of(
    separator: str | None,
    encoding: str | None,
    no_header: bool,
    decimal: str | None,
    thousands: str | None,
) -> Reading:
    """Check the options about reading a table."""
    if decimal not in (None, ".", ","):
        raise InputError(f"--decimal must be . or ,; got {decimal!r}")
    thousands = " " if thousands == "space" else thousands
    if thousands not in (None, ".", ",", "'", " "):
        raise InputError(f"--thousands must be . , ' or space; got {thousands!r}")
    if thousands is not None and thousands == decimal:
        raise InputError(f"--decimal and --thousands must differ; got {decimal!r} for both")
    if decimal is None:
        decimal = {".": ",", ",": "."}.get(thousands or "")
    return Reading(
        parse_separator(separator), check_encoding(encoding), not no_header, decimal, thousands
    )


def choice(option: str, value: str, allowed: Sequence[str]) -> str:
    """Check that a value is one of those allowed."""
    if value not in allowed:
        raise InputError(f"{option} must be one of {', '.join(allowed)}; got {value!r}")
    return value


def at_least(option: str, value: int, least: int) -> int:
    """Check that a number is not too small."""
    if value < least:
        raise InputError(f"{option} must be at least {least}; got {value}")
    return value


def check_jobs(jobs: int) -> int:
    """Check the number of jobs."""
    if jobs == 0:
        raise InputError("--jobs must not be 0")
    return jobs


def fit_setting(bootstraps: int, jobs: int, seed: int) -> dict[str, int]:
    """Check the options of every fit."""
    return {
        "n_bootstraps": at_least("--bootstraps", bootstraps, 1),
        "n_jobs": check_jobs(jobs),
        "seed": at_least("--seed", seed, 0),
    }


def choices_of(
    drop: list[str] | None, numeric: list[str] | None, categorical: list[str] | None
) -> ColumnChoices:
    """Collect the columns that the user decided on."""
    from svmproba.cli.input.roles import ColumnChoices

    return ColumnChoices(
        *(tuple(dict.fromkeys(names or ())) for names in (drop, numeric, categorical))
    )


def listed(text: str | None) -> Iterator[str]:
    """Split names at commas."""
    return (name.strip() for name in (text or "").split(",") if name.strip())
