"""``svmproba report``: one page about a model, for those who decide."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from svmproba.cli import options
from svmproba.cli.errors import InputError, Outcome, Voice, conduct
from svmproba.cli.output.files import check_target


def report(
    model: options.Model,
    data: options.Data,
    out: Annotated[Path, typer.Option(help="The page, .html.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    no_header: options.NoHeader = False,
    force: options.Force = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Write a page about a model: how good its probabilities are, what another threshold does.

    The table must have the columns of the training table and its target; best are records that
    the model has not seen. The page needs no network.
    """

    def work(voice: Voice) -> Outcome:
        from svmproba.cli.commands.predict import load_model
        from svmproba.cli.input.tables import open_table
        from svmproba.cli.scoring import Scorer
        from svmproba.cli.task import read_labelled
        from svmproba.evaluation.report import write_report

        check_target(out, (".html", ".htm"), inputs=[model, data], force=force)
        pipeline, about = load_model(model)
        reading = options.reading_of(separator, encoding, no_header, decimal, thousands)
        with open_table(data, reading) as table:
            scorer = Scorer(pipeline, about, table, lenient=True)
            X, y = read_labelled(table, about, voice, scorer.frame)
        scorer.warn(voice)
        if voice.warnings:
            about["warnings"] = [f"In the table, {said}." for said in voice.warnings]
        try:
            write_report(pipeline, X, y, out, about=about, title=title, overwrite=force)
        except ValueError as error:
            raise InputError(str(error)) from error
        voice.tell(f"{len(y):,} records; the page is {out}")
        oddities = [oddity.to_dict() for oddity in scorer.oddities.values()]
        return Outcome({"out": str(out), "rows": len(y), "oddities": oddities})

    raise typer.Exit(conduct(work, as_json=json, debug=debug))
