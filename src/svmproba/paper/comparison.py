"""Tables 1 to 6 with the paper's values beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from svmproba.paper.data.datasets import DISCREPANCIES
from svmproba.paper.methods import FAMILIES, TARGETS, target_name
from svmproba.paper.reproduce import Plan, Table, plan_jobs
from svmproba.paper.store import Result, Store
from svmproba.paper.tables import read_table
from svmproba.preparation.performance import Summary, summarise

TITLES = {
    1: "Data sets",
    2: "Mean squared error",
    3: "Mean squared error of the positives, by requested true positive rate",
    4: "Mean squared error of the negatives, by requested true positive rate",
    5: "Area under the ROC curve",
    6: "Area under the ROC curve, by requested true positive rate",
}
#: Methods that each table needs.
METHODS_OF_TABLE: dict[int, tuple[str, ...]] = {
    1: (),
    2: ("ebb", "ebb_best", "sollich", "platt", "tao"),
    3: ("cebb1", "cebb2"),
    4: ("cebb1", "cebb2"),
    5: ("ebb", "ebb_best", "sollich", "platt", "tao"),
    6: ("cebb1", "cebb2"),
}
_MEASURE = {2: "mse", 3: "mse_plus", 4: "mse_minus", 5: "auc", 6: "auc"}
_COUNTS = ("records", "attributes", "positives")
#: The paper prints three decimals.
ROUNDING = 0.0005
EFFORTS = ("thorough", "default", "fast")


class Measured(NamedTuple):
    """Performance of one output on one data set."""

    summary: Summary
    n_records: int  # predicted
    note: str  # how it differs from the plan; empty if it does not


class Entry(NamedTuple):
    r"""Our value, its standard error, the paper's, and their distance in standard errors.

    The distance is :math:`(ours-paper)/\sqrt{se^2+se_p^2}`, less what rounding explains;
    :math:`se_p` is taken from the spread of ours.
    """

    ours: float
    se: float
    paper: float
    distance: float


class Row(NamedTuple):
    """One line of a table; `method` is empty where the columns are methods."""

    dataset: str
    method: str
    entries: dict[str, Entry]


class ComparedTable(NamedTuple):
    """One of the paper's tables, ours beside it."""

    number: int
    columns: list[str]
    rows: list[Row]
    notes: list[str]


Found = dict[tuple[str, str], Measured]


def collect(store: Store, plan: Plan, tables: dict[str, Table], families: Sequence[str]) -> Found:
    """Summarise what the store has for a plan, by data set and output.

    Where the plan's bags are missing, the largest number that was used stands in, with a note.
    """
    found: Found = {}
    for dataset, table in tables.items():
        for family in families:
            results, note = stored_results(store, plan, dataset, table, family)
            if results:
                found.update(_summaries(dataset, results, note))
    return found


def stored_results(
    store: Store, plan: Plan, dataset: str, table: Table, family: str
) -> tuple[list[tuple[int, int, Result]], str]:
    """Read (repeat, fold, Result) of a plan or the nearest one stored, and how that one differs."""
    efforts = [plan.effort, *(effort for effort in EFFORTS if effort != plan.effort)]
    for effort in efforts if family == "cebb2" else efforts[:1]:
        cells = [
            job.cell for job in plan_jobs(replace(plan, effort=effort), {dataset: table}, [family])
        ]
        used = sorted({bags for cell in cells for bags in store.bags_used(cell)})
        if not used:
            continue
        wanted = plan.n_bootstraps if FAMILIES[family].bootstrap else 0
        bags = wanted if wanted in used else used[-1]
        cells = [cell._replace(bags=bags) for cell in cells]
        there = [cell for cell in cells if cell in store]
        changes = [f"{bags} bags"] * (bags != wanted)
        changes += [f"effort {effort}"] * (effort != plan.effort)
        changes += [f"{len(there)} of {len(cells)} parts"] * (len(there) < len(cells))
        return [(cell.repeat, cell.fold, store.get(cell)) for cell in there], ", ".join(changes)
    return [], ""


def _summaries(dataset: str, results: list[tuple[int, int, Result]], note: str) -> Found:
    sizes = [len(result.y) for _, _, result in results]
    repeat, fold = (np.repeat([entry[k] for entry in results], sizes) for k in (0, 1))
    y = np.concatenate([result.y for _, _, result in results])
    record = np.concatenate([result.record for _, _, result in results])
    found: Found = {}
    for name in results[0][2].outputs:
        if name.endswith("_score"):
            continue
        proba = np.concatenate([result.outputs[name] for _, _, result in results])
        summary = summarise(y, proba, fold, repeat=repeat, record=record)
        found[dataset, name] = Measured(summary, len(np.unique(record)), note)
    return found


def compare(number: int, tables: dict[str, Table], found: Found) -> ComparedTable:
    """Set our values beside a table of the paper, 1 to 6; `found` is from `collect`."""
    if number == 1:
        return _compare_counts(tables)
    printed = {(row["dataset"], row.get("method", "")): row for row in read_table(number)}
    columns = [name for name in read_table(number)[0] if name not in ("dataset", "method")]
    methods = ("cebb1", "cebb2") if number in (3, 4, 6) else ("",)
    rows, notes = [], []
    for dataset, (_, y) in tables.items():
        for method in methods:
            theirs = printed.get((dataset, method), {})
            entries = {}
            for column in columns:
                measured = found.get((dataset, _output(method, column)))
                if measured is not None:
                    paper = float(theirs.get(column, np.nan))
                    # The paper's own methods were measured on a tenth.
                    own = column.startswith(("ebb", "tpr"))
                    n_paper = round(len(y) / 10) if own else len(y)
                    entries[column] = _entry(measured, _MEASURE[number], paper, n_paper)
                    if measured.note:
                        notes.append(f"{dataset}, {method or column}: {measured.note}")
            # The first column of CEBB2 is EBB: alone it would say nothing of CEBB2.
            if len(entries) > (method == "cebb2"):
                rows.append(Row(dataset, method, entries))
    return ComparedTable(number, columns, rows, list(dict.fromkeys(notes)))


def _output(method: str, column: str) -> str:
    """Name in the store of a column of the paper."""
    if not method:
        return column
    target = float(column.removeprefix("tpr_"))
    # CEBB2 without a requested rate is EBB, as in the paper.
    return target_name("cebb1" if target == TARGETS[0] else method, target)


def _entry(measured: Measured, measure: str, paper: float, n_paper: int) -> Entry:
    ours = float(getattr(measured.summary, measure))
    se = float(getattr(measured.summary, f"{measure}_se"))
    spread = se * np.sqrt(1 + measured.n_records / n_paper)
    beyond = np.sign(ours - paper) * max(abs(ours - paper) - ROUNDING, 0.0)
    return Entry(ours, se, paper, float(beyond / spread) if spread > 0 else float("nan"))


def _compare_counts(tables: dict[str, Table]) -> ComparedTable:
    printed = {row["dataset"]: row for row in read_table(1)}
    rows, nan = [], float("nan")
    for dataset, (X, y) in tables.items():
        theirs = printed.get(dataset, {})
        counts = dict(zip(_COUNTS, (len(y), X.shape[1], int(y.sum())), strict=True))
        entries = {
            name: Entry(count, nan, float(theirs.get(name, nan)), nan)
            for name, count in counts.items()
        }
        rows.append(Row(dataset, "", entries))
    notes = [f"{name}: {DISCREPANCIES[name]}" for name in tables if name in DISCREPANCIES]
    return ComparedTable(1, list(_COUNTS), rows, notes)
