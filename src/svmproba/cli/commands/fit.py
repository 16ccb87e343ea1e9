"""``svmproba fit``: a model from a table."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from svmproba._json import plain
from svmproba.cli import options
from svmproba.cli.errors import InputError, Messages, Outcome, conduct
from svmproba.cli.output.files import check_model_target
from svmproba.preparation.progress import show_progress

GUARANTEES = ("none", "split", "oob", "jackknife+")
CALIBRATIONS = (
    "auto", "none", "platt", "isotonic", "beta", "quadratic", "spline", "venn_abers", "stack",
)  # fmt: skip
CLASS_WEIGHTS, KERNELS = ("auto", "balanced", "none"), ("linear", "rbf", "auto")


def _goal(text: str, **more: Any) -> Any:
    return typer.Option(help=text, rich_help_panel="What the model should do", **more)


def fit(
    data: options.Data,
    target: options.Target,
    out: Annotated[Path, typer.Option(help="Model file, .svmproba.", dir_okay=False)],
    positive: options.Positive = None,
    tpr: Annotated[
        float | None, _goal("True positive rate to reach (recall of the class of interest).")
    ] = None,
    tnr: Annotated[
        float | None, _goal("True negative rate to reach (recall of the other class).")
    ] = None,
    floor: Annotated[
        list[str] | None,
        _goal(
            "Recall that a class must reach, CLASS=RATE; repeatable with more than two classes.",
            show_default=False,
        ),
    ] = None,
    guarantee: Annotated[
        str, _goal(f"How the rate is guaranteed: {', '.join(GUARANTEES)}.")
    ] = "none",
    confidence: Annotated[float, _goal("Confidence of the guarantee.")] = 0.9,
    costs: Annotated[
        str | None,
        _goal(
            "Costs of wrong decisions, such as fn=500,fp=20; tp and tn are optional. Or a CSV file "
            "with a row for each true and a column for each called class."
        ),
    ] = None,
    calibration: Annotated[
        str, _goal(f"How scores become probabilities: {', '.join(CALIBRATIONS)}.")
    ] = "auto",
    class_weight: Annotated[
        str | None,
        _goal(
            "Weights of the classes: none, balanced, or auto, which adds balanced SVMs where a "
            "class is rare. Default: auto, or none without calibration.",
            show_default=False,
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        _goal(
            "Kernel: linear (fast, and predict --explain gives reasons), rbf, or auto: both, which "
            "finds curved boundaries. Default: auto with --calibration auto and up to 3,000 "
            "records, otherwise linear.",
            show_default=False,
        ),
    ] = None,
    bootstraps: options.Bootstraps = 500,
    groups: options.Groups = None,
    by: options.By = None,
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
    """Fit a model to a table and save it.

    Prints what is done with each column and warns of doubtful ones. Then prints how well the model
    does on records that it was not fitted on.
    """

    def work(messages: Messages) -> Outcome:
        from svmproba.cli.costs import parse_costs
        from svmproba.cli.input.tables import open_table
        from svmproba.cli.task import load_task
        from svmproba.cli.training import Goal, default_kernel, parse_floors

        check_model_target(out, inputs=[data, *([costs] if costs else [])], force=force)
        weighting = class_weight or ("none" if calibration == "none" else "auto")
        goal = Goal(
            tpr,
            tnr,
            parse_floors(floor),
            _choice("--guarantee", guarantee, GUARANTEES),
            confidence,
            _choice("--calibration", calibration, CALIBRATIONS),
            parse_costs(costs),
            _choice("--class-weight", weighting, CLASS_WEIGHTS),
            options.choice("--kernel", kernel or "auto", KERNELS),
        )
        goal.check()
        if by is not None and goal.guarantee == "jackknife+":
            raise InputError("--by goes with --guarantee none, oob or split; got jackknife+")
        setting = options.fit_setting(bootstraps, jobs, seed)
        reading = options.reading_of(separator, encoding, no_header, decimal, thousands)
        with open_table(data, reading) as table:
            task = load_task(
                table,
                target,
                messages,
                positive=positive,
                choices=options.choices_of(drop, numeric, categorical),
                held_out_share=goal.held_out_share,
                judges=goal.judges,
                groups=groups,
                by=by,
                seed=seed,
            )
        if kernel is None:
            goal = replace(goal, kernel=default_kernel(len(task.kept), goal.calibration))
            if goal.kernel == "linear" and goal.calibration == "auto":
                messages.note("a large table: linear SVMs alone; --kernel auto adds rbf SVMs")
        model, about = _train(messages, task, goal.for_classes(task), setting, target)
        about |= {"groups": groups, "by": by}
        return _save(messages, model, about, out, force)

    raise typer.Exit(conduct(work, as_json=json, debug=debug))


def _choice(option: str, value: str, allowed: tuple[str, ...]) -> str | None:
    value = options.choice(option, value, allowed)
    return None if value == "none" else value


def _train(
    messages: Messages, task: Any, goal: Any, setting: dict[str, Any], target: str
) -> tuple[Any, dict[str, Any]]:
    """Fit the model and describe it."""
    from svmproba.cli.output.classes import describe_classes
    from svmproba.cli.output.summary import describe
    from svmproba.cli.training import train

    if goal.costs is not None and goal.calibration is None:
        messages.warn(
            "without calibration the probability is a share of votes: costs need --calibration"
        )
    with show_progress("fit", None, "bags", messages.check) as advance:
        model = train(task, goal, **setting, advance=lambda n, total: advance(n, total=total))
    tell = describe if task.positive is not None else describe_classes
    return model, plain(tell(model, task, goal, target))


def _save(messages: Messages, model: Any, about: dict[str, Any], out: Path, force: bool) -> Outcome:
    """Save the model and print its summary."""
    from svmproba import save
    from svmproba.cli.output.classes import classes_in_words
    from svmproba.cli.output.summary import in_words

    save(model, out, about=about, overwrite=force)
    several = about["positive"] is None
    lines = classes_in_words(about) if several else in_words(about, model["svm"].proba_threshold_)
    for line in ["", *lines]:
        messages.tell(line)
    size = os.path.getsize(out)
    messages.tell(f"Saved as {out} ({size / 1e6:.1f} MB).")
    return Outcome({**about, "model": str(out), "bytes": size})
