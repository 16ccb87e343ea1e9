"""Telling how far the experiment is: a live bar on a terminal, lines elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

if TYPE_CHECKING:
    from svmproba.paper.reproduce import Event
    from svmproba.paper.store import Cell


class Teller(NamedTuple):
    """Callbacks of `svmproba.paper.reproduce.run`."""

    begin: Callable[[Cell], None]
    report: Callable[[Event], None]


def in_words(seconds: float) -> str:
    """Write a duration.

    Parameters
    ----------
    seconds : float

    Returns
    -------
    str

    Examples
    --------
    >>> from svmproba.paper.progress import in_words
    >>> in_words(0.44), in_words(75), in_words(7500)
    ('0.4 s', '1 min 15 s', '2 h 5 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def name_of(cell: Cell) -> str:
    """Name a cell for people.

    Parameters
    ----------
    cell : Cell

    Returns
    -------
    str
    """
    repeat = f", repeat {cell.repeat + 1}" if cell.repeat else ""
    fold = "hold-out" if cell.n_folds == 1 else f"fold {cell.fold + 1} of {cell.n_folds}"
    return f"{cell.dataset}, {cell.family}, {fold}{repeat}"


@contextlib.contextmanager
def tell_progress(kept: int, total: int, stream: TextIO) -> Iterator[Teller]:
    """Tell the progress while the context lasts.

    Parameters
    ----------
    kept, total : int
        Cells that are there already, and all.
    stream : text stream
        A terminal gets a live bar where rich is installed; anything else a line for each cell.

    Yields
    ------
    Teller
    """
    progress = _rich_progress(stream) if stream.isatty() else None
    if progress is None:
        yield Teller(lambda cell: None, lambda event: _write_line(event, stream))
        return
    with progress:
        task = progress.add_task("starting", total=total, completed=kept, left="")

        def begin(cell: Cell) -> None:
            progress.update(task, description=name_of(cell))

        def report(event: Event) -> None:
            left = "done" if event.done == event.total else _left(event)
            progress.update(task, completed=event.done, left=left)
            if event.failure is not None:
                progress.console.print(_failure(event), markup=False, style="red")

        yield Teller(begin, report)


def _rich_progress(stream: TextIO) -> Any:
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeElapsedColumn as Elapsed
    except ImportError:
        return None
    return Progress(
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        Elapsed(),
        TextColumn("{task.fields[left]}"),
        TextColumn("[dim]{task.description}"),
        console=Console(file=stream),
    )


def _left(event: Event) -> str:
    return f"about {in_words(event.left)} left" if event.left else ""


def _failure(event: Event) -> str:
    return f"{name_of(event.cell)} failed: {type(event.failure).__name__}: {event.failure}"


def _write_line(event: Event, stream: TextIO) -> None:
    width = len(str(event.total))
    said = name_of(event.cell) if event.failure is None else _failure(event)
    left = f", {_left(event)}" if event.left else ""
    stream.write(f"[{event.done:{width}d}/{event.total}] {said}: {in_words(event.seconds)}{left}\n")
    stream.flush()
