"""``svmproba reproduce``: the paper's experiments, with its values beside ours."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from svmproba._files import write_whole
from svmproba.cli import options
from svmproba.cli.errors import FAILED, INTERRUPTED, OK, InputError, Messages, Outcome, conduct
from svmproba.preparation.progress import duration, show_progress

if TYPE_CHECKING:
    from svmproba.paper.reproduce import Event, Plan, Table
    from svmproba.paper.store import Cell, Store


@dataclass(frozen=True)
class Request:
    """Checked arguments of ``svmproba reproduce``."""

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
            help="Data sets of the paper, or heart-full. Default: all 15 of the paper.",
            show_default=False,
        ),
    ] = None,
    table: Annotated[
        list[int] | None, typer.Option(help="Table of the paper, 1 to 6; repeatable.")
    ] = None,
    methods: Annotated[
        str,
        typer.Option(
            help="Methods, separated by commas. Default: those that the tables need.",
            show_default=False,
        ),
    ] = "",
    bootstraps: Annotated[
        int, typer.Option(help="Number of bootstrap bags of EBB, CEBB1 and CEBB2.")
    ] = 500,
    folds: Annotated[int, typer.Option(help="Number of folds.")] = 10,
    repeats: Annotated[int, typer.Option(help="Repeats of the whole experiment.")] = 1,
    protocol: Annotated[
        str, typer.Option(help="fair: the same folds for all; paper: as its numbers suggest.")
    ] = "fair",
    seed: Annotated[int, typer.Option(help="Seed of the folds and the bags.")] = 0,
    effort: Annotated[
        str, typer.Option(help="Effort of CEBB2: fast, default or thorough.")
    ] = "default",
    jobs: Annotated[int, typer.Option(help="Parallel jobs of every fit; -1: all cores.")] = -1,
    device: Annotated[
        str, typer.Option(help="Where to fit: cpu, cuda, cuda:1, auto or torch.")
    ] = "cpu",
    compute: Annotated[
        bool, typer.Option(help="Compute what is missing, or show stored results only.")
    ] = True,
    figures: Annotated[
        bool, typer.Option(help="Draw the figures too, unless --table is given.")
    ] = True,
    out: Annotated[Path, typer.Option(help="Folder of results, tables and figures.")] = Path("out"),
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of the data files.", show_default=False)
    ] = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Run the paper's experiments and print Tables 1 to 6 beside the paper's values.

    Results are kept in OUT/results.sqlite: an interrupted run continues where it stopped.
    """

    def work(messages: Messages) -> Outcome:
        from svmproba.paper.comparison import EFFORTS
        from svmproba.paper.reproduce import Plan
        from svmproba.preparation.folds import PROTOCOLS

        tables = _check_tables(table or [])
        request = Request(
            Plan(
                options.choice("--protocol", protocol, PROTOCOLS),
                options.at_least("--bootstraps", bootstraps, 1),
                options.at_least("--folds", folds, 2),
                options.at_least("--repeats", repeats, 1),
                options.at_least("--seed", seed, 0),
                options.choice("--effort", effort, EFFORTS),
            ),
            _check_datasets(datasets or []),
            tables,
            _check_families(list(options.listed(methods)), tables),
            figures and not table,
            out,
            data_dir,
            options.check_jobs(jobs),
            _check_device(device),
            compute,
        )
        return run_experiment(request, messages)

    raise typer.Exit(conduct(work, as_json=json, debug=debug))


def _check_tables(numbers: Sequence[int]) -> tuple[int, ...]:
    from svmproba.paper.comparison import METHODS_OF_TABLE

    for number in numbers:
        if number not in METHODS_OF_TABLE:
            raise InputError(f"--table must be from 1 to {len(METHODS_OF_TABLE)}; got {number}")
    return tuple(sorted(set(numbers))) or tuple(METHODS_OF_TABLE)


def _check_datasets(names: Sequence[str]) -> tuple[str, ...]:
    from svmproba.paper.data.datasets import DATASETS, PAPER_DATASETS

    for name in names:
        options.choice("DATASETS", name, tuple(DATASETS))
    return tuple(dict.fromkeys(names)) or PAPER_DATASETS


def _check_families(methods: Sequence[str], tables: Sequence[int]) -> tuple[str, ...]:
    from svmproba.paper.comparison import METHODS_OF_TABLE
    from svmproba.paper.methods import choose_families

    needed = dict.fromkeys(method for number in tables for method in METHODS_OF_TABLE[number])
    try:
        return tuple(choose_families(methods or list(needed)))
    except ValueError as error:
        raise InputError(f"--{error}") from error


def _check_device(device: str) -> str:
    from svmproba.solvers.runtime.devices import resolve_device

    try:
        resolve_device(device)
    except (ValueError, ImportError, RuntimeError) as error:
        raise InputError(f"--device: {error}") from error
    return device


def run_experiment(request: Request, messages: Messages) -> Outcome:
    """Compute what is missing, then print and write tables and figures."""
    from svmproba.paper.reproduce import plan_jobs
    from svmproba.paper.store import Store

    tables = _load(request, messages)
    if not tables:
        raise FileNotFoundError("none of the data sets could be loaded")
    with Store(request.out / "results.sqlite") as store:
        cells = [job.cell for job in plan_jobs(request.plan, tables, request.families)]
        try:
            failures = _compute(request, tables, store, cells, messages)
            shown = _show(request, tables, store, messages)
        except KeyboardInterrupt:
            kept = sum(cell in store for cell in cells)
            messages.note(
                f"\nstopped: {kept} of {len(cells)} cells are kept in {store.path}; the same "
                "command continues from there"
            )
            return Outcome({"error": "stopped", "cells": kept}, INTERRUPTED)
        results = [store.get(cell) for cell in cells if cell in store]
    spent = duration(sum(result.seconds for result in results))
    messages.note(f"{len(cells) - len(failures)} cells, {spent} of computing")
    warned = sum(bool(result.warnings) for result in results)
    if warned:
        messages.note(f"{warned} of them came with warnings, kept in {store.path}")
    if failures:
        first = next(iter(failures.values()))
        messages.note(f"{len(failures)} cells failed, the first with: {first}")
    result = {"cells": len(cells) - len(failures), "failed": len(failures), "tables": shown}
    complete = not failures and len(tables) == len(request.datasets)
    return Outcome(result, OK if complete else FAILED)


def _load(request: Request, messages: Messages) -> dict[str, Table]:
    """Load the data sets that can be found."""
    from svmproba.paper.data.datasets import load_dataset

    tables: dict[str, Table] = {}
    for name in request.datasets:
        try:
            tables[name] = load_dataset(name, request.data_dir)
        except (OSError, ValueError) as error:
            messages.note(f"{name} is left out: {error}")
    return tables


def _compute(
    request: Request,
    tables: dict[str, Table],
    store: Store,
    cells: Sequence[Cell],
    messages: Messages,
) -> dict[Cell, Exception]:
    """Compute the cells that the store lacks, and show the progress."""
    from svmproba.paper.reproduce import run

    kept, total = sum(cell in store for cell in cells), len(cells)
    if kept:
        messages.note(f"{kept} of {total} cells are in {store.path}")
    families = request.families if request.compute else ()
    with show_progress("reproduce", total, done=kept, seconds_between=0) as advance:

        def begin(cell: Cell) -> None:
            messages.check()
            advance(0, name_of(cell))

        def report(event: Event) -> None:
            if event.failure is not None:
                kind = type(event.failure).__name__
                messages.note(f"{name_of(event.cell)} failed: {kind}: {event.failure}")
            count = f"[{event.done:{len(str(total))}d}/{total}]"
            said = f"{count} {name_of(event.cell)}: {duration(event.seconds)}"
            advance(1, said, event.left)

        return run(
            request.plan,
            tables,
            families,
            store,
            n_jobs=request.n_jobs,
            device=request.device,
            begin=begin,
            report=report,
        )


def name_of(cell: Cell) -> str:
    """Name a cell in words."""
    repeat = f", repeat {cell.repeat + 1}" if cell.repeat else ""
    fold = "hold-out" if cell.n_folds == 1 else f"fold {cell.fold + 1} of {cell.n_folds}"
    return f"{cell.dataset}, {cell.family}, {fold}{repeat}"


def _show(
    request: Request, tables: dict[str, Table], store: Store, messages: Messages
) -> list[dict[str, Any]]:
    """Print and write the tables, and draw the figures; returns the tables as JSON."""
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
        if not messages.as_json:
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
        messages.tell(textwrap.fill(LEGEND, 90))
    messages.note(f"tables are in {folder}")
    if request.figures:
        _draw(request, tables, store, found, folder, messages)
    return shown


def _draw(
    request: Request,
    tables: dict[str, Table],
    store: Store,
    found: Any,
    folder: Path,
    messages: Messages,
) -> None:
    from svmproba.paper.drawing.illustrate import Material, draw_figures

    material = Material(store, request.plan, tables, found, request.families, request.n_jobs)
    try:
        written, lacking = draw_figures(material, folder)
    except ImportError as error:
        messages.note(f"no figures: {error}")
        return
    if written:
        messages.note(f"{len(written)} figures are in {folder}")
    for number, what in lacking.items():
        messages.note(f"figure {number} is left out: it needs {what}")
