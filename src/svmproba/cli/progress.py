"""Telling how far a command is: a live bar with the time left on a terminal, lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

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
        clock = _Clock(total, unit)
        task: Any = bar.add_task(what, total=total, said="", left="")

        def advance(n: int, said: str | None = None) -> None:
            clock.advance(n)
            bar.update(task, completed=clock.done, said=said or clock.said(), left=clock.left())

        yield advance


@contextlib.contextmanager
def _lines(what: str, total: int | None, unit: str) -> Iterator[Advance]:
    clock = _Clock(total, unit)
    written = clock.started

    def advance(n: int, said: str | None = None) -> None:
        nonlocal written
        clock.advance(n)
        now = time.monotonic()
        if now - written >= SECONDS_BETWEEN_LINES:
            written = now
            left = f", {clock.left()}" if clock.left() else ""
            print(f"{what}: {said or clock.said()}{left}", file=sys.stderr, flush=True)

    yield advance


class _Clock:
    """Counts units and guesses the time that the rest will take."""

    def __init__(self, total: int | None, unit: str) -> None:
        self.total, self.unit, self.done = total, unit, 0
        self.started = time.monotonic()

    def advance(self, n: int) -> None:
        self.done += n

    def said(self) -> str:
        of = "" if self.total is None else f" of {self.total:,}"
        return f"{self.done:,}{of} {self.unit}"

    def left(self) -> str:
        if self.total is None or not 0 < self.done < self.total:
            return ""
        spent = time.monotonic() - self.started
        return f"about {in_words(spent * (self.total - self.done) / self.done)} left"
