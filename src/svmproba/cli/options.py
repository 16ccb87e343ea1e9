"""Arguments and options that commands share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from svmproba.cli.errors import InputError
from svmproba.cli.input.csv_text import check_encoding, parse_separator
from svmproba.cli.input.tables import Reading

if TYPE_CHECKING:
    from svmproba.cli.input.roles import Wishes

_TABLE = "Table: CSV, .csv.gz or Parquet; - reads CSV from standard input."
_READING = "How CSV is read"
_COLUMNS = "Columns"

Data = Annotated[str, typer.Argument(help=_TABLE, show_default=False)]
Model = Annotated[str, typer.Argument(help="File of svmproba fit.", show_default=False)]
Target = Annotated[str, typer.Option(help="Column of the labels.", show_default=False)]
Positive = Annotated[
    str | None,
    typer.Option(help="Label of the class of interest; by default the larger.", show_default=False),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Columns to leave out, separated by commas.", rich_help_panel=_COLUMNS),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option(help="Columns of numbers, whatever they look like.", rich_help_panel=_COLUMNS),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="Columns of categories, whatever they look like.", rich_help_panel=_COLUMNS),
]
Separator = Annotated[
    str | None,
    typer.Option(
        help="Character, or comma, semicolon, tab, space, bar; guessed by default.",
        rich_help_panel=_READING,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="UTF-8 by default; cp1252, latin-1, …", rich_help_panel=_READING),
]
Decimal = Annotated[
    str | None,
    typer.Option(help="Sign before the decimals: . or ,", rich_help_panel=_READING),
]
Thousands = Annotated[
    str | None,
    typer.Option(help="Sign between thousands: . , ' or space", rich_help_panel=_READING),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header", help="No names in it: they are column1, …", rich_help_panel=_READING
    ),
]
Bootstraps = Annotated[int, typer.Option(min=1, help="Bags.")]
Jobs = Annotated[int, typer.Option(help="Jobs; -1: all cores.")]
Seed = Annotated[int, typer.Option(min=0, help="Same seed, same result.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the file of --out if it exists.")]
Json = Annotated[
    bool, typer.Option("--json", help="One JSON object on standard output, all else on stderr.")
]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]


def reading_of(
    separator: str | None,
    encoding: str | None,
    no_header: bool,
    decimal: str | None,
    thousands: str | None,
) -> Reading:
    """Check how a table is to be read."""
    if decimal not in (None, ".", ","):
        raise InputError(f"--decimal must be . or , and not {decimal!r}")
    thousands = " " if thousands == "space" else thousands
    if thousands not in (None, ".", ",", "'", " "):
        raise InputError(f"--thousands must be . , ' or space, and not {thousands!r}")
    if thousands is not None and thousands == decimal:
        raise InputError(f"--decimal and --thousands must differ; got {decimal!r} for both")
    if decimal is None:
        decimal = {".": ",", ",": "."}.get(thousands or "")
    return Reading(
        parse_separator(separator), check_encoding(encoding), not no_header, decimal, thousands
    )


def check_jobs(jobs: int) -> int:
    """Refuse no jobs."""
    if jobs == 0:
        raise InputError("--jobs must not be 0")
    return jobs


def wishes_of(
    drop: list[str] | None, numeric: list[str] | None, categorical: list[str] | None
) -> Wishes:
    """Gather what the user decided about columns."""
    from svmproba.cli.input.roles import Wishes

    return Wishes(*(tuple(dict.fromkeys(names or ())) for names in (drop, numeric, categorical)))


def listed(text: str | None) -> Iterator[str]:
    """Names that commas separate."""
    return (name.strip() for name in (text or "").split(",") if name.strip())
