"""Compared tables as text, Markdown and CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from typing import Any

from svmproba.paper.comparison import TITLES, ComparedTable, Entry

#: Beyond so many standard errors two values count as different.
FAR = 2.0
NOTHING = "–"
LEGEND = (
    "Ours ± its standard error, then the paper's value in brackets. * : they differ by more than "
    "two standard errors, where the paper's is guessed from the spread of ours and the number of "
    "records it predicted (a tenth of them for EBB and CEBB)."
)


def short(value: float, decimals: int = 3) -> str:
    """Write a number without a leading zero, such as .035; a dash for NaN."""
    if math.isnan(value):
        return NOTHING
    text = f"{value:.{decimals}f}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def _cell(table: ComparedTable, entry: Entry | None, separator: str) -> str:
    if entry is None:
        return NOTHING
    if table.number == 1:
        ours, paper = f"{entry.ours:g}", NOTHING
        if not math.isnan(entry.paper):
            paper = f"{entry.paper:g}"
        return ours if ours == paper else f"{ours}{separator}({paper})"
    parts = [short(entry.ours), f"({short(entry.paper)})" + "*" * (abs(entry.distance) > FAR)]
    if not math.isnan(entry.se):
        parts.insert(1, f"±{short(entry.se)}")
    return separator.join(parts)


def _grid(table: ComparedTable, separator: str = " ") -> tuple[list[str], list[list[str]]]:
    """Head and body of a table as texts."""
    by_method = any(row.method for row in table.rows)
    head = ["dataset", *(["method"] if by_method else []), *table.columns]
    body = [
        [
            row.dataset,
            *([row.method] if by_method else []),
            *(_cell(table, row.entries.get(column), separator) for column in table.columns),
        ]
        for row in table.rows
    ]
    return head, body


def title_of(table: ComparedTable, setting: str) -> str:
    """Title of a table; `setting` says how the values were computed."""
    about = "" if table.number == 1 else f" ({setting})"
    return f"Table {table.number}. {TITLES[table.number]}{about}"


def to_csv(table: ComparedTable) -> str:
    """Write a table in long form, one value per line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["dataset", "method", "column", "ours", "se", "paper", "distance"])
    for row in table.rows:
        for column, entry in row.entries.items():
            values = ["" if math.isnan(value) else f"{value:.6g}" for value in entry]
            writer.writerow([row.dataset, row.method, column, *values])
    return out.getvalue()


def to_markdown(table: ComparedTable, setting: str) -> str:
    """Write a table in Markdown, with its notes."""
    head, body = _grid(table)
    lines = [f"# {title_of(table, setting)}", ""]
    lines += ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *body)]
    lines += (
        ["", LEGEND] if table.number > 1 else ["", "In brackets the paper's, where it differs."]
    )
    if table.notes:
        lines += ["", *(f"- {note}" for note in table.notes)]
    return "\n".join(lines) + "\n"


def to_text(table: ComparedTable, setting: str) -> str:
    """Write a table in plain text."""
    head, body = _grid(table)
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    lines = [title_of(table, setting), rule]
    for cells in (head, *body):
        pairs = zip(cells, widths, strict=True)
        lines.append("  ".join(text.ljust(width) for text, width in pairs).rstrip())
    lines.insert(3, rule)
    return "\n".join([*lines, *(f"  {note}" for note in table.notes)]) + "\n"


def print_table(table: ComparedTable, setting: str, write: Callable[[str], object] = print) -> None:
    """Print a table, drawn by rich on a terminal where it is installed."""
    console = _terminal()
    if console is None:
        write(to_text(table, setting))
        return
    from rich import box
    from rich.table import Table

    head, body = _grid(table, separator="\n")
    drawn = Table(
        title=title_of(table, setting), box=box.SIMPLE_HEAD, title_justify="left", padding=(0, 0)
    )
    for k, name in enumerate(head):
        drawn.add_column(name, justify="left" if k == 0 else "right", overflow="fold")
    for cells in body:
        drawn.add_row(*cells, end_section=table.number > 1)
    console.print(drawn)
    for note in table.notes:
        console.print(f"  {note}", markup=False, highlight=False)


def _terminal() -> Any:
    """Console of rich, or None where it is not installed or there is no terminal."""
    try:
        from rich.console import Console
    except ImportError:
        return None
    console = Console()
    return console if console.is_terminal else None
