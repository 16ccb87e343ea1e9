"""``svmproba compare``: our methods and others on the user's own table."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer

from svmproba._files import whole_file
from svmproba.cli import options
from svmproba.cli.errors import Messages, Outcome, conduct
from svmproba.cli.output.files import check_target
from svmproba.preparation.progress import show_progress

OF_TWO = (
    "MSE: mean squared error of the probability, MSE+ and MSE- within the class of interest and "
    "the other"
)
OF_SEVERAL = (
    "Brier: squared error of the probabilities, summed over the classes; accuracy: of the most "
    "probable class; AUC: mean over all pairs of classes"
)
LEGEND = (
    "Every record is predicted by a model that was fitted without it; the folds are the same for "
    "all methods. {}; *: best. Vote shares are not probabilities of the label: a wrong 0 or 1 "
    "counts 36 in the log loss. The EBB methods share a fit of linear SVMs."
)
#: Kinds of pictures that can be written.
PICTURES = (".png", ".pdf", ".svg")


def compare(
    data: options.Data,
    target: options.Target,
    positive: options.Positive = None,
    folds: Annotated[int, typer.Option(help="Number of folds.")] = 10,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Some of fit (what svmproba fit does by default), ebb, ebb_calibrated, ebb_best, "
            "platt, sollich, tao, linear_svc, separated by commas. Default: all.",
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
    """Compare our methods and others on a table: print a table and, with --out, draw a picture."""

    def work(messages: Messages) -> Outcome:
        from svmproba.cli.comparison import check_methods
        from svmproba.cli.input.tables import open_table
        from svmproba.cli.task import load_task

        chosen = check_methods(tuple(options.listed(methods)))
        setting = options.fit_setting(bootstraps, jobs, seed)
        setting["n_folds"] = options.at_least("--folds", folds, 2)
        if out is not None:
            import matplotlib  # noqa: F401  # where it is missing, say so before hours of work

            check_target(out, PICTURES, inputs=[data], force=force)
        reading = options.reading_of(separator, encoding, no_header, decimal, thousands)
        choices = options.choices_of(drop, numeric, categorical)
        with open_table(data, reading) as table:
            task = load_task(table, target, messages, positive=positive, choices=choices)
        return _compare(messages, task, chosen, setting, out, force)

    raise typer.Exit(conduct(work, as_json=json, debug=debug))


def _compare(
    messages: Messages,
    task: Any,
    methods: tuple[str, ...],
    setting: dict[str, Any],
    out: Path | None,
    force: bool,
) -> Outcome:
    from svmproba.cli.comparison import compare_methods, families_of, to_text

    total = setting["n_folds"] * len(families_of(methods))
    with show_progress("compare", total, "fits", messages.check) as advance:
        results = compare_methods(task, methods, **setting, report=lambda said: advance(1, said))
    legend = LEGEND.format(OF_SEVERAL if task.positive is None else OF_TWO)
    for text in ("", to_text(results), "", textwrap.fill(legend, 90)):
        messages.tell(text)
    if out is not None:
        from svmproba.cli.output.picture import draw_comparison

        with whole_file(out, overwrite=force) as place:
            draw_comparison(results, task.y, task.positive, place)
        messages.tell(f"The picture is {out}.")
    return Outcome(
        {
            "rows": len(task.y),
            "classes": task.classes,
            "positive": task.positive,
            "folds": setting["n_folds"],
            "picture": None if out is None else str(out),
            "methods": [result.to_dict() for result in results],
        }
    )
