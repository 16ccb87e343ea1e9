"""``svmproba report``: one HTML page about a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from svmproba.cli import options
from svmproba.cli.errors import InputError, Messages, Outcome, conduct
from svmproba.cli.output.files import check_target


def report(
    model: options.Model,
    data: options.Data,
    out: Annotated[Path, typer.Option(help="The page, .html.")] = Path("report.html"),
    by: Annotated[
        str | None, typer.Option(help="Column of subgroups: shows the rates in each.")
    ] = None,
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
    """Write a page about a model: the quality of its probabilities, and the effect of thresholds.

    The table must have the columns of the training table and its target. Use records that the
    model was not fitted on. The page needs no network.
    """

    def work(messages: Messages) -> Outcome:
        from svmproba.cli.commands.predict import load_model
        from svmproba.cli.input.tables import open_table
        from svmproba.cli.scoring import Scorer
        from svmproba.cli.task import read_labelled
        from svmproba.evaluation.report import write_report

        check_target(out, (".html", ".htm"), inputs=[model, data], force=force)
        pipeline, about = load_model(model)
        if by is not None and about["positive"] is None:
            raise InputError(f"--by needs two classes, {model} has {len(about['classes'])}")
        reading = options.reading_of(separator, encoding, no_header, decimal, thousands)
        with open_table(data, reading) as table:
            scorer = Scorer(pipeline, about, table, lenient=True)
            X, y, subgroups = read_labelled(table, about, messages, scorer.frame, by)
        scorer.warn(messages)
        if messages.warnings:
            about["warnings"] = [f"In the table, {said}." for said in messages.warnings]
        try:
            write_report(
                pipeline, X, y, out, about=about, title=title, by=subgroups, overwrite=force
            )
        except ValueError as error:
            raise InputError(str(error)) from error
        messages.tell(f"{len(y):,} records; the page is {out}")
        result = {"out": str(out), "rows": len(y), "unseen": scorer.unseen_cells()}
        return Outcome(result)

    raise typer.Exit(conduct(work, as_json=json, debug=debug))
