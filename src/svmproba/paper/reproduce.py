"""The paper's experiment, cell by cell.

A cell is one fit on one training part: (protocol, data set, family of methods, repeat, fold). Each
is kept in a :class:`~svmproba.paper.store.Store` as soon as it is done, and not computed again.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmproba.paper.data.datasets import DATASETS
from svmproba.paper.methods import FAMILIES, recipe_of
from svmproba.paper.store import Cell, Result, Store
from svmproba.preparation.folds import Part, split_parts
from svmproba.preparation.preprocessing import make_preprocessor

if TYPE_CHECKING:
    import pandas as pd

#: A data set as `load_dataset` gives it.
Table = tuple["pd.DataFrame", NDArray[np.int64]]


@dataclass(frozen=True)
class Plan:
    """What is computed, and how; `effort` is that of CEBB2."""

    protocol: str = "fair"
    n_bootstraps: int = 500
    n_folds: int = 10
    n_repeats: int = 1
    seed: int = 0
    effort: str = "default"


class Event(NamedTuple):
    """Report after every cell."""

    done: int  # cells, with those that were stored before
    total: int
    cell: Cell
    seconds: float  # time of the cell
    left: float | None  # estimate of the seconds left
    failure: Exception | None  # why the cell has no result


class Job(NamedTuple):
    """A cell, its records, and its rough work in SVMs times records times columns."""

    cell: Cell
    part: Part
    work: float


def plan_jobs(plan: Plan, tables: dict[str, Table], families: Sequence[str]) -> list[Job]:
    """List all cells of a plan, for data sets by name and families of ``FAMILIES``."""
    jobs = []
    for dataset, (X, y) in tables.items():
        for family in families:
            own = FAMILIES[family].bootstrap
            parts = split_parts(
                plan.protocol,
                y,
                bootstrap=own,
                n_folds=plan.n_folds,
                n_repeats=plan.n_repeats,
                seed=plan.seed,
            )
            members = FAMILIES[family].n_members * (plan.n_bootstraps if own else 1)
            work = float(members * len(y) * min(len(y), X.shape[1]))
            jobs += [Job(make_cell(plan, dataset, family, part), part, work) for part in parts]
    return jobs


def make_cell(plan: Plan, dataset: str, family: str, part: Part) -> Cell:
    """Name a cell by everything that decides its result."""
    own = FAMILIES[family].bootstrap
    estimator = json.loads(recipe_of(family, effort=plan.effort))
    recipe = {"estimator": estimator, "data": DATASETS[dataset].sha256}
    return Cell(
        protocol=plan.protocol,
        dataset=dataset,
        family=family,
        repeat=part.repeat,
        fold=part.fold,
        n_folds=1 if own and plan.protocol == "paper" else plan.n_folds,
        seed=plan.seed,
        bags=plan.n_bootstraps if own else 0,
        recipe=json.dumps(recipe, sort_keys=True),
    )


def compute(job: Job, plan: Plan, table: Table, n_jobs: int | None, device: str = "cpu") -> Result:
    """Fit on the training part and predict the other records."""
    (X, y), (cell, part, _) = table, job
    family = FAMILIES[cell.family]
    words = np.random.SeedSequence([plan.seed, part.repeat, part.fold]).generate_state(1)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        preprocessor = make_preprocessor(X)
        rows = preprocessor.fit_transform(X.iloc[part.train])
        estimator = family.make(
            n_bootstraps=plan.n_bootstraps,
            effort=plan.effort,
            random_state=int(words[0] >> 1),
            n_jobs=n_jobs,
            device=device,
        )
        fitted = family.fit(estimator, rows, y[part.train])
        outputs = family.read(fitted, preprocessor.transform(X.iloc[part.test]))
    said = sorted({str(warning.message) for warning in caught})
    seconds = time.perf_counter() - start
    return Result(part.test, y[part.test], outputs, seconds, "\n".join(said))


def run(
    plan: Plan,
    tables: dict[str, Table],
    families: Sequence[str],
    store: Store,
    *,
    n_jobs: int | None = None,
    device: str = "cpu",
    begin: Callable[[Cell], None] | None = None,
    report: Callable[[Event], None] | None = None,
) -> dict[Cell, Exception]:
    """Compute the cells that the store lacks, keep each at once; gives those that failed."""
    jobs = plan_jobs(plan, tables, families)
    waiting = [job for job in jobs if job.cell not in store]
    speeds, begun = _Speeds(), set[str]()
    for job in jobs:
        if job.cell in store:
            speeds.note(job, store.get(job.cell).seconds)
    failures: dict[Cell, Exception] = {}
    for k, job in enumerate(waiting, 1):
        if begin is not None:
            begin(job.cell)
        start, failure = time.perf_counter(), None
        try:
            table = tables[job.cell.dataset]
            store.add(job.cell, compute(job, plan, table, n_jobs, device))
        except Exception as error:
            failures[job.cell] = failure = error
        seconds = time.perf_counter() - start
        # The first cell of a family may have waited for compilation: its speed says nothing.
        if job.cell.family in begun and failure is None:
            speeds.note(job, seconds)
        begun.add(job.cell.family)
        if report is not None:
            done, left = len(jobs) - len(waiting) + k, speeds.seconds_of(waiting[k:])
            report(Event(done, len(jobs), job.cell, seconds, left, failure))
    return failures


class _Speeds:
    """Speed of finished cells, to estimate the time of others.

    Not `svmproba._pace.Pace`: a cell of CEBB2 takes hundreds of times as long as one of EBB.
    """

    def __init__(self) -> None:
        self._spent: dict[tuple[str, ...], tuple[float, float]] = {}

    @staticmethod
    def _kinds(cell: Cell) -> list[tuple[str, ...]]:
        """From near to far: same data and family, same family, all cells."""
        return [(cell.dataset, cell.family), (cell.family,), ()]

    def note(self, job: Job, seconds: float) -> None:
        for kind in self._kinds(job.cell):
            spent, work = self._spent.get(kind, (0.0, 0.0))
            self._spent[kind] = spent + seconds, work + job.work

    def seconds_of(self, jobs: Sequence[Job]) -> float | None:
        """Estimate by the nearest finished cells; None where there are none."""
        if jobs and not self._spent:
            return None
        total = 0.0
        for job in jobs:
            kind = next(kind for kind in self._kinds(job.cell) if kind in self._spent)
            seconds, work = self._spent[kind]
            total += seconds / work * job.work
        return total
