"""``svmproba example``: the tables of the guide."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from svmproba.cli import options
from svmproba.cli.errors import InputError, Messages, Outcome, conduct
from svmproba.cli.output.files import check_target

HEADER = ("customer", "age", "income", "duration", "amount", "job", "home", "default")
#: Records of each file, and what they are.
FILES = {
    "credit.csv": (1000, "past customers, and who did not pay back"),
    "later.csv": (300, "later customers, and who did not pay back"),
    "new.csv": (200, "new customers, not decided on yet"),
}
_JOBS = ("clerk", "driver", "nurse", "shop", "teacher", "none")
_HOMES = ("own", "rent", "free")


def example(
    folder: Annotated[
        Path, typer.Option(help="Where to write them.", file_okay=False, show_default="here")
    ] = Path(),
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Write the tables of the guide: credit.csv, later.csv and new.csv.

    They hold simulated customers of a bank, the same every time. Existing files are not replaced.
    """

    def work(messages: Messages) -> Outcome:
        from svmproba._files import write_whole

        paths = {folder / name: records for name, (records, _) in FILES.items()}
        for path in paths:
            if path.exists():
                raise InputError(f"{path} exists; remove it, or choose another --folder")
            check_target(path, (), option="--folder")
        rows = customers()
        for path, n in paths.items():
            columns = HEADER[:-1] if path.name == "new.csv" else HEADER
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(next(rows)[: len(columns)] for _ in range(n))
            write_whole(path, text.getvalue().encode())
            messages.tell(f"{path}: {n:,} {FILES[path.name][1]}")
        return Outcome({"files": [str(path) for path in paths]})

    raise typer.Exit(conduct(work, as_json=json, debug=debug))


def customers() -> Iterator[list[Any]]:
    """Simulate customers without end, in the columns of `HEADER`; an unknown income is empty."""
    import numpy as np

    rng, number = np.random.default_rng(0), 1000
    while True:
        number += 1
        age, income = int(rng.integers(20, 75)), int(rng.lognormal(7.8, 0.35) // 10 * 10)
        duration, amount = int(rng.integers(1, 6)) * 12, int(rng.integers(10, 200)) * 100
        job, home = _JOBS[rng.integers(len(_JOBS))], _HOMES[rng.choice(3, p=(0.5, 0.4, 0.1))]
        logit = 2e-4 * (amount - 10_000) - 1e-3 * (income - 2_500) - 0.03 * (duration - 36) - 1.7
        logit += 0.9 * (home == "rent") + 1.3 * (job == "none") - 0.03 * (age - 45)
        pays_not = rng.random() < 1 / (1 + np.exp(-logit))
        shown = "" if rng.random() < 0.05 else income
        yield [f"C{number}", age, shown, duration, amount, job, home, "yes" if pays_not else "no"]
