"""``svmproba compare``: our methods and their rivals on the user's own table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from svmproba._files import whole_file
from svmproba.cli import options
from svmproba.cli.errors import Outcome, Voice, conduct
from svmproba.cli.output.files import check_target
from svmproba.cli.output.progress import tell_progress

LEGEND = (
    "Every record is judged by a model that has not seen it; the folds are the same for all. "
    "MSE: mean squared error of the probability, MSE+ and MSE- within the class of interest and "
    "the other; *: best. Vote shares are no probabilities of the label, and a wrong 0 or 1 counts "
    "36 in the log loss. Methods of EBB share a fit."
)


def compare(
    data: options.Data,
    target: options.Target,
    positive: options.Positive = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds.")] = 10,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Of ebb, ebb_calibrated, ebb_best, platt, sollich, tao, linear_svc; with commas. "
            "By default all.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Picture, .png, .pdf or .svg.", show_default=False)
    ] = None,
    bootstraps: options.Bootstraps = 500,
    drop: options.Drop = None,
    numeric: options.Numeric = None,
    categorical: options.Categorical = None,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    no_header: options.NoHeader = False,
    jobs: options.Jobs = -1,
    seed: options.Seed = 0,
    force: options.Force = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Compare our methods and their rivals on a table: one table and, with --out, one picture."""

    def work(voice: Voice) -> Outcome:
        from svmproba.cli.contest import check_methods
        from svmproba.cli.input.tables import open_table
        from svmproba.cli.task import load_task

        chosen = check_methods(tuple(options.listed(methods)))
        setting = {"n_folds": folds, "n_bootstraps": bootstraps, "seed": seed}
        setting["n_jobs"] = options.check_jobs(jobs)
        if out is not None:
            _check_picture(out, data, force)
        reading = options.reading_of(separator, encoding, no_header, decimal, thousands)
        wishes = options.wishes_of(drop, numeric, categorical)
        with open_table(data, reading) as table:
            task = load_task(table, target, voice, positive=positive, wishes=wishes)
        return _compare(voice, task, chosen, setting, out, force)

    raise typer.Exit(conduct(work, as_json=json, debug=debug))


def _check_picture(out: Path, data: str, force: bool) -> None:
    """Refuse a picture that cannot be drawn before hours are spent."""
    import matplotlib  # noqa: F401

    from svmproba.cli.output.picture import SUFFIXES

    check_target(out, SUFFIXES, inputs=[data], force=force)


def _compare(
    voice: Voice,
    task: Any,
    methods: tuple[str, ...],
    setting: dict[str, Any],
    out: Path | None,
    force: bool,
) -> Outcome:
    import textwrap

    from svmproba.cli.contest import families_of, run_contest, to_text

    total = setting["n_folds"] * len(families_of(methods))
    with tell_progress("compare", total, "fits", voice.check) as advance:
        standings = run_contest(task, methods, **setting, report=lambda name: advance(1, name))
    for text in ("", to_text(standings), "", textwrap.fill(LEGEND, 90)):
        voice.tell(text)
    if out is not None:
        from svmproba.cli.output.picture import draw_contest

        with whole_file(out, overwrite=force) as place:
            draw_contest(standings, task.y, task.positive, place)
        voice.tell(f"The picture is {out}.")
    return Outcome(
        {
            "rows": len(task.y),
            "positive": task.positive,
            "folds": setting["n_folds"],
            "picture": None if out is None else str(out),
            "methods": [standing.to_dict() for standing in standings],
        }
    )
