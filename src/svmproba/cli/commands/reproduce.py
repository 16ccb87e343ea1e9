"""``svmproba reproduce``: the paper's experiments, with its values beside ours."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from svmproba._files import write_whole
from svmproba.cli import options
from svmproba.cli.errors import FAILED, INTERRUPTED, OK, Outcome, Voice, conduct, heard_signals

if TYPE_CHECKING:
    from svmproba.paper.reproduce import Plan, Table
    from svmproba.paper.store import Cell, Store


@dataclass(frozen=True)
class Request:
    """What ``svmproba reproduce`` was asked for, checked."""

    plan: Plan
    datasets: tuple[str, ...]
    tables: tuple[int, ...]
    families: tuple[str, ...]
    figures: bool
    out: Path
    data_dir: Path | None
    n_jobs: int
    device: str
    compute: bool


def reproduce(
    datasets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Data sets of the paper; all 15 by default, and heart-full.", show_default=False
        ),
    ] = None,
    table: Annotated[
        list[int] | None, typer.Option(help="Table of the paper, 1 to 6; repeatable.")
    ] = None,
    methods: Annotated[
        str,
        typer.Option(
            help="Methods, separated by commas; by default those that the tables need.",
            show_default=False,
        ),
    ] = "",
    bootstraps: Annotated[int, typer.Option(help="Bags of EBB, CEBB1 and CEBB2.")] = 500,
    folds: Annotated[int, typer.Option(help="Folds.")] = 10,
    repeats: Annotated[int, typer.Option(help="How often everything is done.")] = 1,
    protocol: Annotated[
        str, typer.Option(help="fair: folds for all; paper: as its numbers reveal.")
    ] = "fair",
    seed: Annotated[int, typer.Option(help="Thresholds the folds and draws the bags.")] = 0,
    effort: Annotated[
        str, typer.Option(help="Effort of CEBB2: fast, default or thorough.")
    ] = "default",
    jobs: Annotated[int, typer.Option(help="Jobs of every fit; -1: all cores.")] = -1,
    device: Annotated[
        str, typer.Option(help="Where to fit: cpu, cuda, cuda:1, auto or torch.")
    ] = "cpu",
    compute: Annotated[
        bool, typer.Option(help="Compute what is missing, or show what is there.")
    ] = True,
    figures: Annotated[
        bool, typer.Option(help="Draw the figures too, unless tables are named.")
    ] = True,
    out: Annotated[Path, typer.Option(help="Folder of results, tables and figures.")] = Path("out"),
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of the data files.", show_default=False)
    ] = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Run the paper's experiments and print Tables 1 to 6 beside the paper's values.

    Finished parts are kept in OUT/results.sqlite: an interrupted run goes on where it was.
    """
    from svmproba.paper.reproduce import Plan

    try:
        request = check_request(
            Plan(protocol, bootstraps, folds, repeats, seed, effort),
            datasets or [],
            table or [],
            list(options.listed(methods)),
            figures=figures,
            out=out,
            data_dir=data_dir,
            n_jobs=jobs,
            device=device,
            compute=compute,
        )
    except (ValueError, ImportError, RuntimeError) as error:
        raise typer.BadParameter(str(error)) from error
    raise typer.Exit(conduct(lambda voice: carry_out(request, voice), as_json=json, debug=debug))


def check_request(
    plan: Plan,
    datasets: Sequence[str],
    tables: Sequence[int],
    methods: Sequence[str],
    *,
    figures: bool,
    out: Path,
    data_dir: Path | None,
    n_jobs: int,
    device: str = "cpu",
    compute: bool = True,
) -> Request:
    """Check what was asked for and fill in what was not said.

    Parameters
    ----------
    plan : Plan
    datasets, methods : sequence of str
        Empty: all, and those that the tables need.
    tables : sequence of int
        Empty: all.
    figures : bool
        Whether to draw; only done without a choice of tables.
    out, data_dir : Path
    n_jobs : int
    device : str, default="cpu"
    compute : bool, default=True
        Whether to compute what the store lacks.

    Returns
    -------
    Request

    Raises
    ------
    ValueError
        Naming the option, its value and what is allowed.
    """
    from svmproba.paper.comparison import EFFORTS, METHODS_OF_TABLE
    from svmproba.paper.datasets import DATASETS, PAPER_DATASETS
    from svmproba.paper.methods import choose_families
    from svmproba.paper.protocol import PROTOCOLS
    from svmproba.solvers.runtime.devices import resolve_device

    for name in datasets:
        if name not in DATASETS:
            raise ValueError(f"DATASETS must be of {', '.join(DATASETS)}; got {name!r}")
    for name, value, allowed in (
        ("--protocol", plan.protocol, PROTOCOLS),
        ("--effort", plan.effort, EFFORTS),
    ):
        if value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {value!r}")
    for name, number, least in (
        ("--bootstraps", plan.n_bootstraps, 1),
        ("--folds", plan.n_folds, 2),
        ("--repeats", plan.n_repeats, 1),
        ("--seed", plan.seed, 0),
    ):
        if number < least:
            raise ValueError(f"{name} must be at least {least}; got {number}")
    for number in tables:
        if number not in METHODS_OF_TABLE:
            raise ValueError(f"--table must be from 1 to {len(METHODS_OF_TABLE)}; got {number}")
    if n_jobs == 0:
        raise ValueError("--jobs must not be 0")
    resolve_device(device)
    wanted = tuple(sorted(set(tables))) or tuple(METHODS_OF_TABLE)
    needed = dict.fromkeys(method for number in wanted for method in METHODS_OF_TABLE[number])
    families = choose_families(methods or list(needed))
    return Request(
        plan,
        tuple(dict.fromkeys(datasets)) or PAPER_DATASETS,
        wanted,
        tuple(families),
        figures and not tables,
        out,
        data_dir,
        n_jobs,
        device,
        compute,
    )


def carry_out(request: Request, voice: Voice) -> Outcome:
    """Compute what is missing, then print and write tables and figures.

    Parameters
    ----------
    request : Request
    voice : Voice

    Returns
    -------
    Outcome
    """
    from svmproba.paper.progress import in_words, tell_progress
    from svmproba.paper.reproduce import plan_jobs, run
    from svmproba.paper.store import Store

    tables, problems = _load(request)
    if not tables:
        raise FileNotFoundError("none of the data sets could be had")
    plan = request.plan
    with Store(request.out / "results.sqlite") as store:
        cells = [job.cell for job in plan_jobs(plan, tables, request.families)]
        kept = sum(cell in store for cell in cells)
        if kept:
            print(f"{kept} of {len(cells)} cells are in {store.path}", file=sys.stderr)
        try:
            with tell_progress(kept, len(cells), sys.stderr) as teller, heard_signals() as check:

                def begin(cell: Cell) -> None:
                    check()
                    teller.begin(cell)

                failures = run(
                    plan,
                    tables,
                    request.families if request.compute else (),
                    store,
                    n_jobs=request.n_jobs,
                    device=request.device,
                    begin=begin,
                    report=teller.report,
                )
            shown = _show(request, tables, store, voice)
        except KeyboardInterrupt:
            there = sum(cell in store for cell in cells)
            print(
                f"\nstopped: {there} of {len(cells)} cells are kept in {store.path}; the same "
                "command goes on from there",
                file=sys.stderr,
            )
            return Outcome({"error": "stopped", "cells": there}, INTERRUPTED)
        spent = sum(store.get(cell).seconds for cell in cells if cell in store)
        warned = sum(bool(store.get(cell).warnings) for cell in cells if cell in store)
    print(f"{len(cells) - len(failures)} cells, {in_words(spent)} of computing", file=sys.stderr)
    if warned:
        print(f"{warned} of them came with warnings, kept in {store.path}", file=sys.stderr)
    if failures:
        first = next(iter(failures.values()))
        print(f"{len(failures)} cells failed, the first with: {first}", file=sys.stderr)
    result = {"cells": len(cells) - len(failures), "failed": len(failures), "tables": shown}
    return Outcome(result, FAILED if failures or problems else OK)


def _load(request: Request) -> tuple[dict[str, Table], int]:
    """Return the data sets that can be had, and how many cannot."""
    from svmproba.paper.datasets import load_dataset

    tables: dict[str, Table] = {}
    for name in request.datasets:
        try:
            tables[name] = load_dataset(name, request.data_dir)
        except (OSError, ValueError) as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    return tables, len(request.datasets) - len(tables)


def _show(
    request: Request, tables: dict[str, Table], store: Store, voice: Voice
) -> list[dict[str, Any]]:
    """Print and write the tables, and draw the figures; gives the tables as JSON has them."""
    from svmproba.paper.comparison import collect, compare
    from svmproba.paper.render import LEGEND, print_table, title_of, to_csv, to_markdown

    plan, folder = request.plan, request.out / request.plan.protocol
    folder.mkdir(parents=True, exist_ok=True)
    setting = f"protocol {plan.protocol}, {plan.n_bootstraps} bags, {plan.n_folds} folds"
    setting += f", {plan.n_repeats} repeats" if plan.n_repeats > 1 else ""
    found = collect(store, plan, tables, request.families)
    shown = []
    for number in request.tables:
        table = compare(number, tables, found)
        if not table.rows:
            continue
        if not voice.as_json:
            print_table(table, setting)
        rows = [
            {"dataset": row.dataset, "method": row.method, "column": column, **entry._asdict()}
            for row in table.rows
            for column, entry in row.entries.items()
        ]
        shown.append({"number": number, "title": title_of(table, setting), "rows": rows})
        write_whole(folder / f"table{number}.csv", to_csv(table).encode())
        write_whole(folder / f"table{number}.md", to_markdown(table, setting).encode())
    if any(number > 1 for number in request.tables):
        voice.tell(textwrap.fill(LEGEND, 90))
    voice.note(f"tables are in {folder}")
    if request.figures:
        _draw(request, tables, store, found, folder)
    return shown


def _draw(
    request: Request, tables: dict[str, Table], store: Store, found: Any, folder: Path
) -> None:
    from svmproba.paper.illustrate import Material, draw_figures

    material = Material(store, request.plan, tables, found, request.families, request.n_jobs)
    try:
        written, lacking = draw_figures(material, folder)
    except ImportError as error:
        print(f"no figures: {error}", file=sys.stderr)
        return
    if written:
        print(f"{len(written)} figures are in {folder}", file=sys.stderr)
    for number, what in lacking.items():
        print(f"figure {number} is left out: it shows {what}", file=sys.stderr)
