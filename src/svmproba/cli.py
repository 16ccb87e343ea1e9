"""The command ``svmproba``."""

from __future__ import annotations

import contextlib
import signal
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svmproba.paper.reproduce import Plan, Table
    from svmproba.paper.store import Cell, Store

#: Exit codes: all went well; something failed; interrupted from the keyboard. Wrong use is 2.
OK, FAILED, INTERRUPTED = 0, 1, 130


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


def main() -> None:
    """Run the command line of this process."""
    try:
        app = make_app()
    except ImportError as error:
        sys.exit(
            f"the command svmproba needs typer and rich ({error}): pip install 'svmproba[cli]'"
        )
    app(prog_name="svmproba")


def make_app() -> Any:
    """Build the command line.

    Returns
    -------
    typer.Typer
        Callable; it ends the process with an exit code.
    """
    import typer

    app = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        help="Support vector machines with probabilities people can act on.",
    )
    option = typer.Option

    def print_version(wanted: bool) -> None:
        if wanted:
            from svmproba import __version__

            print(__version__)
            raise typer.Exit

    # A callback keeps the name of a lone command in the command line.
    @app.callback()
    def all_commands(
        version: bool = option(
            False, "--version", callback=print_version, is_eager=True, help="Print the version."
        ),
    ) -> None:
        pass

    datasets_help = "Data sets of the paper; all 15 by default, and heart-full."
    methods_help = "Methods, separated by commas; by default those that the tables need."

    @app.command()
    def reproduce(
        datasets: list[str] = typer.Argument(None, help=datasets_help, show_default=False),  # noqa: B008
        table: list[int] = option([], help="Table of the paper, 1 to 6; repeatable."),  # noqa: B008
        methods: str = option("", help=methods_help),
        bootstraps: int = option(500, help="Bags of EBB, CEBB1 and CEBB2."),
        folds: int = option(10, help="Folds."),
        repeats: int = option(1, help="How often everything is done."),
        protocol: str = option("fair", help="fair: folds for all; paper: as its numbers reveal."),
        seed: int = option(0, help="Cuts the folds and draws the bags."),
        effort: str = option("default", help="Effort of CEBB2: fast, default or thorough."),
        jobs: int = option(-1, help="Jobs of every fit; -1: all cores."),
        device: str = option("cpu", help="Where to compute; only cpu for now."),
        figures: bool = option(True, help="Draw the figures too, unless tables are named."),
        out: Path = option(Path("out"), help="Folder of results, tables and figures."),  # noqa: B008
        data_dir: Path = option(None, help="Folder of the data files.", show_default=False),  # noqa: B008
        debug: bool = option(False, "--debug", help="Show where an error comes from."),
    ) -> None:
        """Run the paper's experiments and print Tables 1 to 6 beside the paper's values.

        Finished parts are kept in OUT/results.sqlite: an interrupted run goes on where it was.
        """
        from svmproba.paper.reproduce import Plan

        try:
            if device != "cpu":
                raise ValueError(f"--device must be cpu for now, got {device!r}")
            request = check_request(
                Plan(protocol, bootstraps, folds, repeats, seed, effort),
                datasets or [],
                table,
                [name.strip() for name in methods.split(",") if name.strip()],
                figures=figures,
                out=out,
                data_dir=data_dir,
                n_jobs=jobs,
            )
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
        try:
            code = carry_out(request)
        except Exception as error:
            if debug:
                raise
            print(f"error: {error}", file=sys.stderr)
            code = FAILED
        raise typer.Exit(code)

    return app


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
    wanted = tuple(sorted(set(tables))) or tuple(METHODS_OF_TABLE)
    needed = dict.fromkeys(method for number in wanted for method in METHODS_OF_TABLE[number])
    families, missing = choose_families(methods or list(needed))
    for method in missing:
        print(f"{method} is skipped: this version of svmproba does not have it", file=sys.stderr)
    return Request(
        plan,
        tuple(dict.fromkeys(datasets)) or PAPER_DATASETS,
        wanted,
        tuple(families),
        figures and not tables,
        out,
        data_dir,
        n_jobs,
    )


def carry_out(request: Request) -> int:
    """Compute what is missing, then print and write tables and figures.

    Parameters
    ----------
    request : Request

    Returns
    -------
    int
        Exit code.
    """
    from svmproba.paper.progress import in_words, tell_progress
    from svmproba.paper.reproduce import plan_jobs, run
    from svmproba.paper.store import Store

    tables, problems = _load(request)
    if not tables:
        print("error: none of the data sets could be had", file=sys.stderr)
        return FAILED
    plan = request.plan
    with Store(request.out / "results.sqlite") as store:
        cells = [job.cell for job in plan_jobs(plan, tables, request.families)]
        kept = sum(cell in store for cell in cells)
        if kept:
            print(f"{kept} of {len(cells)} cells are in {store.path}", file=sys.stderr)
        try:
            with tell_progress(kept, len(cells), sys.stderr) as teller, _heard_signals() as check:

                def begin(cell: Cell) -> None:
                    check()
                    teller.begin(cell)

                failures = run(
                    plan,
                    tables,
                    request.families,
                    store,
                    n_jobs=request.n_jobs,
                    begin=begin,
                    report=teller.report,
                )
            _show(request, tables, store)
        except KeyboardInterrupt:
            there = sum(cell in store for cell in cells)
            print(
                f"\nstopped: {there} of {len(cells)} cells are kept in {store.path}; the same "
                "command goes on from there",
                file=sys.stderr,
            )
            return INTERRUPTED
        spent = sum(store.get(cell).seconds for cell in cells if cell in store)
        warned = sum(bool(store.get(cell).warnings) for cell in cells if cell in store)
    print(f"{len(cells) - len(failures)} cells, {in_words(spent)} of computing", file=sys.stderr)
    if warned:
        print(f"{warned} of them came with warnings, kept in {store.path}", file=sys.stderr)
    if failures:
        first = next(iter(failures.values()))
        print(f"{len(failures)} cells failed, the first with: {first}", file=sys.stderr)
    return FAILED if failures or problems else OK


@contextlib.contextmanager
def _heard_signals() -> Iterator[Callable[[], None]]:
    """Give a check that raises a Ctrl-C again which a finaliser or a callback swallowed."""
    pressed = False

    def note(signum: int, frame: object) -> None:
        nonlocal pressed
        pressed = True
        raise KeyboardInterrupt

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    def quiet(lost: Any) -> None:
        if lost.exc_type is not KeyboardInterrupt:
            unraisable(lost)

    if threading.current_thread() is not threading.main_thread():
        yield check
        return
    before, unraisable = signal.signal(signal.SIGINT, note), sys.unraisablehook
    sys.unraisablehook = quiet
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = unraisable


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


def _show(request: Request, tables: dict[str, Table], store: Store) -> None:
    """Print and write the tables, and draw the figures."""
    from svmproba.paper.comparison import collect, compare
    from svmproba.paper.data_files import write_whole
    from svmproba.paper.illustrate import Material, draw_figures
    from svmproba.paper.render import LEGEND, print_table, to_csv, to_markdown

    plan, folder = request.plan, request.out / request.plan.protocol
    setting = f"protocol {plan.protocol}, {plan.n_bootstraps} bags, {plan.n_folds} folds"
    setting += f", {plan.n_repeats} repeats" if plan.n_repeats > 1 else ""
    found = collect(store, plan, tables, request.families)
    for number in request.tables:
        table = compare(number, tables, found)
        if not table.rows:
            continue
        print_table(table, setting)
        write_whole(folder / f"table{number}.csv", to_csv(table).encode())
        write_whole(folder / f"table{number}.md", to_markdown(table, setting).encode())
    if any(number > 1 for number in request.tables):
        print(textwrap.fill(LEGEND, 90))
    print(f"tables are in {folder}", file=sys.stderr)
    if not request.figures:
        return
    material = Material(store, plan, tables, found, request.families, request.n_jobs)
    try:
        written, lacking = draw_figures(material, folder)
    except ImportError as error:
        print(f"no figures: {error}", file=sys.stderr)
        return
    if written:
        print(f"{len(written)} figures are in {folder}", file=sys.stderr)
    for number, what in lacking.items():
        print(f"figure {number} is left out: it shows {what}", file=sys.stderr)


if __name__ == "__main__":
    main()
