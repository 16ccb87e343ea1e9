"""What the first bytes of CSV show: encoding, separator and names of columns."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from svmproba.cli.errors import InputError

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": " ", "bar": "|"}
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
#: Files that are often taken for CSV, by their first bytes.
_FOREIGN = {
    b"PK\x03\x04": "an archive or an Excel workbook: save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook: save the sheet as CSV",
    b"\x1f\x8b": "compressed: its name must end with .gz",
    b"PAR1": "Parquet, which cannot be read from standard input: give the name of the file",
    b"SQLite": "a database: export the table as CSV",
}
_LINES_LOOKED_AT = 20


def parse_separator(text: str | None) -> str | None:
    """Read a separator or its name."""
    if text is None or len(text) == 1:
        return text
    separator = SEPARATORS.get(text, "\t" if text == r"\t" else None)
    if separator is None:
        names = ", ".join(SEPARATORS)
        raise InputError(f"--separator must be one character or of {names}; got {text!r}")
    return separator


def check_encoding(encoding: str | None) -> str | None:
    """Refuse an encoding that Python does not know."""
    if encoding is not None:
        try:
            codecs.lookup(encoding)
        except LookupError:
            raise InputError(
                f"--encoding must be one that Python knows, such as utf-8, latin-1 or cp1252; "
                f"got {encoding!r}"
            ) from None
    return encoding


def check_looks_like_text(name: str, head: bytes, encoding: str | None) -> None:
    """Refuse an empty file and what is not text."""
    if not head.strip():
        raise InputError(f"{name} is empty")
    for start, what in _FOREIGN.items():
        if head.startswith(start):
            raise InputError(f"{name} is {what}")
    if b"\0" in head and encoding is None and not head.startswith(tuple(_MARKS)):
        raise InputError(f"{name} is not text: it is neither CSV nor Parquet")


def encoding_of(head: bytes, encoding: str | None) -> str:
    """Choose the given encoding, or that of a byte order mark, or UTF-8."""
    marked = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    if encoding is None or codecs.lookup(encoding).name == "utf-8":
        return marked or "utf-8"
    return encoding


def guess_separator(text: str) -> str:
    """Find the separator that divides most of the first lines into equally many cells."""
    best, best_rank = ",", (0, 1)
    for separator in SEPARATORS.values():
        rows = _first_rows(text, separator)
        widths = [len(cells) for cells in rows]
        # The lines need not agree: a broken one must be named later, not hide the separator.
        common = max(widths, key=widths.count) if widths else 1
        rank = (widths.count(common) if common > 1 else 0, common)
        if rank > best_rank:
            best, best_rank = separator, rank
    return best


def separator_line(text: str) -> tuple[str | None, str, int]:
    """Read Excel's line ``sep=;``: the separator or None, the text after it, bytes of the line."""
    line = re.match(r'"?sep=([^\r\n])"?(?:\r\n|\r|\n)', text, re.IGNORECASE)
    if line is None:
        return None, text, 0
    return line[1], text[line.end() :], len(line[0].encode())


def _first_rows(text: str, separator: str) -> list[list[str]]:
    reader, rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator), []
    try:
        for cells in reader:
            if cells:
                rows.append(cells)
            if len(rows) == _LINES_LOOKED_AT:
                break
    except csv.Error:
        pass
    return rows


class Header(NamedTuple):
    """Names of the columns, and their length in bytes of UTF-8."""

    columns: list[str]
    n_bytes: int


def split_header(name: str, text: str, separator: str, has_header: bool) -> Header:
    """Read the names of the columns; without a header they are made up."""
    lines = io.StringIO(text, newline="")
    try:
        cells = next(row for row in csv.reader(lines, delimiter=separator) if row)
    except (StopIteration, csv.Error) as error:
        raise InputError(f"{name}: the line with the names of columns cannot be read") from error
    if not has_header:
        return Header([f"column{k}" for k in range(1, len(cells) + 1)], 0)
    columns = [cell.strip() or f"column{k}" for k, cell in enumerate(cells, 1)]
    if all(_is_number(cell) for cell in columns):
        raise InputError(
            f"{name}: the first line holds numbers where names of columns are expected; "
            "give --no-header if it has none"
        )
    check_names(name, columns)
    return Header(columns, len(text[: lines.tell()].encode()))


def check_names(name: str, columns: Sequence[str]) -> None:
    """Refuse columns that share a name."""
    twice = [column for column, n in Counter(columns).items() if n > 1]
    if twice:
        raise InputError(f"{name}: more than one column is called {', '.join(map(repr, twice))}")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
