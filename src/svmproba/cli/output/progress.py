"""Telling how far a command is: a live bar with the time left on a terminal, lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from svmproba._pace import Pace
from svmproba.paper.progress import in_words

#: Where there is no terminal, a line is written at most every so many seconds.
SECONDS_BETWEEN_LINES = 5.0

Advance = Callable[..., None]


@contextlib.contextmanager
def tell_progress(
    what: str, total: int | None, unit: str, check: Callable[[], None] = lambda: None
) -> Iterator[Advance]:
    """Tell on standard error how far something is, while the context lasts.

    Parameters
    ----------
    what : str
        What is being done.
    total : int or None
        How many units there are; None where nobody knows.
    unit : str
        Name of the units, in the plural.
    check : callable, default=nothing
        Called at every step: it may stop the work, see `svmproba.cli.errors.heard_signals`.

    Yields
    ------
    callable
        ``advance(n, said=None)``: so many more are done; `said` replaces the number of units in
        what is written.
    """
    with _live_bar(what, total, unit) if sys.stderr.isatty() else _lines(what, total, unit) as show:

        def advance(n: int, said: str | None = None) -> None:
            show(n, said)
            check()

        yield advance


@contextlib.contextmanager
def _live_bar(what: str, total: int | None, unit: str) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = [
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[said]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    ]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        pace = Pace(total)
        task: Any = bar.add_task(what, total=total, said="", left="")

        def advance(n: int, said: str | None = None) -> None:
            pace.note(n)
            bar.update(task, completed=pace.done, said=said or _said(pace, unit), left=_left(pace))

        yield advance


@contextlib.contextmanager
def _lines(what: str, total: int | None, unit: str) -> Iterator[Advance]:
    pace, written = Pace(total), time.monotonic()

    def advance(n: int, said: str | None = None) -> None:
        nonlocal written
        pace.note(n)
        now = time.monotonic()
        if now - written >= SECONDS_BETWEEN_LINES:
            written = now
            told = [f"{what}: {said or _said(pace, unit)}", _left(pace)]
            print(", ".join(filter(None, told)), file=sys.stderr, flush=True)

    yield advance


def _said(pace: Pace, unit: str) -> str:
    of = "" if pace.total is None else f" of {pace.total:,}"
    return f"{pace.done:,}{of} {unit}"


def _left(pace: Pace) -> str:
    seconds = pace.left()
    return "" if seconds is None else f"about {in_words(seconds)} left"
