"""The command ``svmproba``: fit, predict, report, compare, example, warmup and reproduce."""

from __future__ import annotations

import sys
from typing import Any

from svmproba.cli.errors import BAD_INPUT, BROKEN_PIPE, EXIT_CODES, FAILED, INTERRUPTED, OK

__all__ = ["BAD_INPUT", "BROKEN_PIPE", "FAILED", "INTERRUPTED", "OK", "main", "make_app"]


def main() -> None:
    """Run the command line of this process."""
    try:
        app = make_app()
    except ModuleNotFoundError as error:
        sys.exit(
            f"the command svmproba needs {error.name}, which is missing: pip install "
            "'svmproba[cli]'"
        )
    app(prog_name="svmproba")


def make_app() -> Any:
    """Build the command line, a callable that ends the process with an exit code."""
    import typer

    from svmproba.cli.commands.compare import compare
    from svmproba.cli.commands.example import example
    from svmproba.cli.commands.fit import fit
    from svmproba.cli.commands.predict import predict
    from svmproba.cli.commands.report import report
    from svmproba.cli.commands.reproduce import reproduce
    from svmproba.cli.commands.warmup import warmup

    app = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        help="Probabilities and decisions from support vector machines.",
        epilog=EXIT_CODES,
    )

    def print_version(wanted: bool) -> None:
        if wanted:
            from svmproba import __version__

            print(__version__)
            raise typer.Exit

    @app.callback()
    def all_commands(
        version: bool = typer.Option(
            False, "--version", callback=print_version, is_eager=True, help="Print the version."
        ),
    ) -> None:
        pass

    for command in (fit, predict, report, compare, example, warmup, reproduce):
        app.command(epilog=EXIT_CODES)(command)
    return app
