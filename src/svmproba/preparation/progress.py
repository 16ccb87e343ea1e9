"""Progress of long work on standard error: a live bar on a terminal, lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

from svmproba._pace import Pace

#: Without a terminal, a line is written at most every so many seconds.
SECONDS_BETWEEN_LINES = 5.0

#: ``advance(n, said=None, left=None, total=None)``, see `show_progress`.
Advance = Callable[..., None]


def duration(seconds: float) -> str:
    """Write a duration in words, such as 0.4 s, 1 min 15 s, 2 h 5 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@contextlib.contextmanager
def show_progress(
    what: str,
    total: int | None,
    unit: str = "",
    check: Callable[[], None] = lambda: None,
    *,
    done: int = 0,
    seconds_between: float = SECONDS_BETWEEN_LINES,
) -> Iterator[Advance]:
    """Show the progress of some work of `total` units while the context lasts.

    `check` is called at every step and may stop the work by an exception. Yields ``advance(n,
    said=None, left=None, total=None)``: n more units are done; `said` replaces their number in what
    is shown, `left` the estimate of the seconds left, and `total` sets the number of all units.
    With ``n=0`` a bar shows `said`, and no line is written.
    """
    bar = sys.stderr.isatty() and find_spec("rich") is not None
    with _bar(what, total) if bar else _lines(what, seconds_between) as show:
        pace = Pace(total, done)

        def advance(
            n: int, said: str | None = None, left: float | None = None, total: int | None = None
        ) -> None:
            pace.total = total or pace.total
            if n:
                pace.note(n)
            of = "" if pace.total is None else f" of {pace.total:,}"
            seconds = pace.left() if left is None else left
            when = f"about {duration(seconds)} left" if seconds else ""
            show(n, pace, said or f"{pace.done:,}{of} {unit}", when)
            check()

        yield advance


@contextlib.contextmanager
def _bar(what: str, total: int | None) -> Iterator[Callable[[int, Pace, str, str], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = [
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[said]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    ]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task: Any = bar.add_task(what, total=total, said="", left="")
        yield lambda n, pace, said, left: bar.update(
            task, completed=pace.done, total=pace.total, said=said, left=left
        )


@contextlib.contextmanager
def _lines(what: str, seconds_between: float) -> Iterator[Callable[[int, Pace, str, str], None]]:
    written = time.monotonic()

    def show(n: int, pace: Pace, said: str, left: str) -> None:
        nonlocal written
        now = time.monotonic()
        if n and now - written >= seconds_between:
            written = now
            print(", ".join(filter(None, [f"{what}: {said}", left])), file=sys.stderr, flush=True)

    yield show
