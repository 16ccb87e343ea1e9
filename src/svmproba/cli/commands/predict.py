"""``svmproba predict``: probabilities and decisions for the records of a table."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from svmproba.cli import options
from svmproba.cli.errors import InputError, Messages, Outcome, conduct
from svmproba.cli.output.files import STANDARD, check_target, table_writer
from svmproba.preparation.progress import show_progress

INTERVALS = ("sampling", "simulation", "venn_abers")


def predict(
    model: options.Model,
    data: options.Data,
    out: Annotated[
        str, typer.Option(help="File, .parquet or .csv; - for CSV on standard output.")
    ] = STANDARD,
    keep: Annotated[
        str | None, typer.Option(help="Columns to copy to the output, separated by commas.")
    ] = None,
    interval: Annotated[
        str | None,
        typer.Option(help=f"Interval of the probability: {', '.join(INTERVALS)}. Slower."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence of the interval.")] = 0.95,
    explain: Annotated[
        int,
        typer.Option(
            help="Reasons for each record: the columns that add most to its score. For models of "
            "svmproba fit --kernel linear."
        ),
    ] = 0,
    strict: Annotated[
        bool, typer.Option("--strict", help="An unknown category is an error.")
    ] = False,
    lenient: Annotated[
        bool,
        typer.Option(
            "--lenient",
            help="Cells that are not numbers count as missing; a column that has only unknown "
            "categories is not an error.",
        ),
    ] = False,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    no_header: options.NoHeader = False,
    jobs: options.Jobs = -1,
    force: options.Force = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Score the records of a table with a model of svmproba fit.

    Writes a row for each record, in the same order: the columns of --keep, probability, low and
    high with --interval, decision, expected_cost where the model has costs, and with --explain the
    reasons: reason_1 is the column that moves the score most from that of the mean record, and
    contribution_1 by how much, positive towards the class of interest. With more than two classes
    each has a column probability_CLASS, low_CLASS and high_CLASS, and contributions are positive
    towards the class of the decision. The table is read in chunks: the memory needed does not
    depend on its length.
    """

    def work(messages: Messages) -> Outcome:
        from svmproba.cli.input.tables import open_table
        from svmproba.cli.scoring import Scorer

        if out == STANDARD and json:
            raise InputError("--json needs standard output: give a file with --out")
        check_target(out, (".parquet", ".csv"), inputs=[model, data], force=force)
        if interval is not None:
            options.choice("--interval", interval, INTERVALS)
        if not 0 < confidence < 1:
            raise InputError(f"--confidence must be between 0 and 1; got {confidence:g}")
        pipeline, about = load_model(model)
        pipeline[-1].set_params(n_jobs=options.check_jobs(jobs))
        check_explain(explain, pipeline[-1])
        reading = options.reading_of(separator, encoding, no_header, decimal, thousands)
        with open_table(data, reading) as table:
            scorer = Scorer(
                pipeline,
                about,
                table,
                keep=[keep or ""],
                interval=interval,
                confidence=confidence,
                strict=strict,
                lenient=lenient,
                explain=explain,
            )
            return _predict(messages, scorer, table, out, force)

    raise typer.Exit(conduct(work, as_json=json, debug=debug))


def load_model(path: str) -> tuple[Any, dict[str, Any]]:
    """Load a model of ``svmproba fit`` and what was saved with it; other files are refused."""
    from svmproba import load, read_about

    if not Path(path).is_file():
        raise InputError(f"there is no model file {path!r}")
    try:
        model, about = load(path), read_about(path)["about"]
    except ValueError as error:
        raise InputError(str(error)) from error
    if not isinstance(about, dict) or "columns" not in about or not hasattr(model, "steps"):
        raise InputError(f"{path} holds a model that was not made by svmproba fit")
    return model, about


def check_explain(explain: int, svm: Any) -> None:
    """Refuse reasons for a model that has none."""
    options.at_least("--explain", explain, 0)
    if explain and not hasattr(svm, "mean_coef_"):
        raise InputError(
            "--explain needs linear SVMs, whose scores are sums over the columns: fit the model "
            "with --kernel linear"
        )


def _predict(messages: Messages, scorer: Any, table: Any, out: str, force: bool) -> Outcome:
    started = time.monotonic()
    n_rows = _score_all(messages, scorer, table, out, force)
    scorer.warn(messages)
    seconds = time.monotonic() - started
    if not n_rows:
        messages.warn(f"{table.name} has no records")
    where = "standard output" if out == STANDARD else out
    speed = n_rows / max(seconds, 1e-9)
    messages.note(f"{n_rows:,} rows written to {where}, {speed:,.0f} per second")
    return Outcome(
        {
            "out": out,
            "rows": n_rows,
            "seconds": seconds,
            "columns": scorer.schema.names,
            "unseen": scorer.unseen_cells(),
        }
    )


def _score_all(messages: Messages, scorer: Any, table: Any, out: str, force: bool) -> int:
    """Score chunk by chunk; returns the number of records."""
    n_rows = before = 0
    with (
        show_progress("predict", table.size, "", messages.check) as advance,
        table_writer(out, scorer.schema, overwrite=force) as write,
    ):
        for chunk in table.chunks(scorer.columns):
            write(scorer.score(chunk))
            n_rows += chunk.batch.num_rows
            advance(table.position - before, f"{n_rows:,} rows")
            before = table.position
        scorer.check_all()
    return n_rows
