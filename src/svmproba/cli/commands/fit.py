"""``svmproba fit``: a model from a table."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from svmproba.cli import options
from svmproba.cli.errors import InputError, Outcome, Voice, conduct, plain
from svmproba.cli.output.files import check_model_target
from svmproba.cli.output.progress import tell_progress

GUARANTEES = ("none", "split", "oob", "jackknife+")
CALIBRATIONS = (
    "auto", "none", "platt", "isotonic", "beta", "quadratic", "spline", "venn_abers", "stack",
)  # fmt: skip
CLASS_WEIGHTS, KERNELS = ("auto", "balanced", "none"), ("linear", "rbf", "auto")
_WISH = "What the model shall do"


def fit(
    data: options.Data,
    target: options.Target,
    out: Annotated[
        Path, typer.Option(help="File of the model, .svmproba.", show_default=False, dir_okay=False)
    ],
    positive: options.Positive = None,
    tpr: Annotated[
        float | None,
        typer.Option(help="Share of the class of interest to find.", rich_help_panel=_WISH),
    ] = None,
    tnr: Annotated[
        float | None,
        typer.Option(help="Share of the other class to leave alone.", rich_help_panel=_WISH),
    ] = None,
    guarantee: Annotated[
        str,
        typer.Option(
            help=f"Guarantee of that rate: {', '.join(GUARANTEES)}.", rich_help_panel=_WISH
        ),
    ] = "none",
    confidence: Annotated[
        float, typer.Option(help="Confidence of the guarantee.", rich_help_panel=_WISH)
    ] = 0.9,
    costs: Annotated[
        str | None,
        typer.Option(
            help="Costs of wrong calls, fn=500,fp=20; tp and tn may be given, too.",
            rich_help_panel=_WISH,
        ),
    ] = None,
    calibration: Annotated[
        str,
        typer.Option(
            help=f"How scores become probabilities: {', '.join(CALIBRATIONS)}.",
            rich_help_panel=_WISH,
        ),
    ] = "auto",
    class_weight: Annotated[
        str | None,
        typer.Option(
            help="Weights of the classes: none, balanced, or auto, which adds balanced SVMs where "
            "a class is rare. By default auto, or none without calibration.",
            show_default=False,
            rich_help_panel=_WISH,
        ),
    ] = None,
    kernel: Annotated[
        str,
        typer.Option(
            help="Kernel: linear, rbf, or auto for both, which is slower and finds curved "
            "boundaries.",
            rich_help_panel=_WISH,
        ),
    ] = "linear",
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
    """Fit a model to a table and save it.

    Says what it did with each column and what to doubt, and ends with what the model is worth on
    records it had not seen.
    """

    def work(voice: Voice) -> Outcome:
        from svmproba.cli.costs import parse_costs
        from svmproba.cli.training import Wish

        check_model_target(out, inputs=[data], force=force)
        weighing = class_weight or ("none" if calibration == "none" else "auto")
        wish = Wish(
            tpr,
            tnr,
            _choice("--guarantee", guarantee, GUARANTEES),
            confidence,
            _choice("--calibration", calibration, CALIBRATIONS),
            parse_costs(costs),
            _choice("--class-weight", weighing, CLASS_WEIGHTS),
            str(_choice("--kernel", kernel, KERNELS)),
        )
        wish.check()
        setting = {"n_bootstraps": bootstraps, "n_jobs": options.check_jobs(jobs), "seed": seed}
        return _fit(
            voice,
            data,
            out,
            target,
            wish,
            setting,
            force=force,
            positive=positive,
            reading=options.reading_of(separator, encoding, no_header, decimal, thousands),
            wishes=options.wishes_of(drop, numeric, categorical),
        )

    raise typer.Exit(conduct(work, as_json=json, debug=debug))


def _choice(option: str, value: str, allowed: tuple[str, ...]) -> str | None:
    if value not in allowed:
        raise InputError(f"{option} must be one of {', '.join(allowed)}; got {value!r}")
    return None if value == "none" else value


def _fit(
    voice: Voice,
    data: str,
    out: Path,
    target: str,
    wish: Any,
    setting: dict[str, Any],
    *,
    force: bool,
    positive: str | None,
    reading: Any,
    wishes: Any,
) -> Outcome:
    from svmproba import save
    from svmproba.cli.input.tables import open_table
    from svmproba.cli.output.summary import describe, in_words
    from svmproba.cli.task import load_task
    from svmproba.cli.training import n_families, train

    with open_table(data, reading) as table:
        task = load_task(
            table,
            target,
            voice,
            positive=positive,
            wishes=wishes,
            held_out_share=wish.held_out_share,
            seed=setting["seed"],
        )
    if wish.costs is not None and wish.calibration is None:
        voice.warn(
            "without calibration the probability is a share of votes: costs need --calibration"
        )
    n_bags = setting["n_bootstraps"] * n_families(task, wish)
    with tell_progress("fit", n_bags, "bags", voice.check) as advance:
        model = train(task, wish, **setting, advance=advance)
    about = plain(describe(model, task, wish, target))
    save(model, out, about=about, overwrite=force)
    for line in ["", *in_words(about, model["svm"].proba_threshold_)]:
        voice.tell(line)
    size = os.path.getsize(out)
    voice.tell(f"Saved as {out} ({size / 1e6:.1f} MB).")
    return Outcome({**about, "model": str(out), "bytes": size})
