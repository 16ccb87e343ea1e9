"""``svmproba warmup``: compile before the first fit."""

from __future__ import annotations

from typing import Annotated

import typer

from svmproba.cli import options
from svmproba.cli.errors import InputError, Messages, Outcome, conduct


def warmup(
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            help="What will be used: linear, sparse, kernel, constrained, selection. Default: all.",
            show_default=False,
        ),
    ] = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Compile what fits and predictions need, and keep it for later processes.

    Without it, the first fit on a computer takes some seconds longer. Set the environment variable
    NUMBA_CACHE_DIR to choose the folder.
    """

    def work(messages: Messages) -> Outcome:
        from svmproba.preparation.warmup import warmup as compile_all

        try:
            done = compile_all(
                parts or None, report=lambda part, s: messages.note(f"{part}: {s:.1f} s")
            )
        except ValueError as error:
            raise InputError(str(error)) from error
        said = f"{done.compiled} functions compiled, {done.loaded} loaded, in {done.seconds:.1f} s"
        messages.tell(f"{said}; they are kept in {done.folder}" if done.folder else said)
        return Outcome({**done._asdict(), "folder": done.folder and str(done.folder)})

    raise typer.Exit(conduct(work, as_json=json, debug=debug))
