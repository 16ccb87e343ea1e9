"""From a file to records, labels, and the role of each column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from svmproba._types import Bools
from svmproba.bootstrap.fitting.bags import draw_held_out, draw_held_out_groups
from svmproba.cli.errors import InputError, Messages, visible
from svmproba.cli.input.cells import to_words
from svmproba.cli.input.columns import plan_columns
from svmproba.cli.input.frames import frame_of
from svmproba.cli.input.roles import (
    CATEGORICAL,
    DROPPED,
    NUMERIC,
    Column,
    ColumnChoices,
    check_column,
    check_needed,
)
from svmproba.cli.input.tables import Chunk, TableFile, WholeTable, read_whole, shorten

#: More columns than this are counted; only those left out are listed.
COLUMNS_LISTED = 40


@dataclass(frozen=True)
class Task:
    """Records of two classes."""

    X: pd.DataFrame  # numbers as float64, categories as text; missing cells are NaN
    y: NDArray[Any]  # (n,), integers where all are integers, else text
    positive: Any  # label of the class of interest
    negative: Any
    plan: list[Column]
    held_out: NDArray[np.intp]  # places of records for a guarantee: nothing is learned from them
    groups: NDArray[np.int64] | None = None  # (n,), numbers of the groups of records
    by: NDArray[Any] | None = None  # (n,), subgroups, as text

    @property
    def kept(self) -> NDArray[np.intp]:
        """Places of the records that are not held out."""
        return np.setdiff1d(np.arange(len(self.y)), self.held_out)


class Labels(NamedTuple):
    """Labels of the records that have one, the two classes, and which records these are."""

    y: NDArray[Any]
    positive: Any
    negative: Any
    present: Bools


def load_task(
    table: TableFile,
    target: str,
    messages: Messages,
    *,
    positive: str | None = None,
    choices: ColumnChoices | None = None,
    held_out_share: float = 0.0,
    held_out_class: bool = True,
    groups: str | None = None,
    by: str | None = None,
    seed: int = 0,
) -> Task:
    """Read a table and decide what its columns are.

    `positive` is the class of interest, by default the larger label. A share of either class,
    drawn by `seed`, is held out, also from the decisions about columns; with the column `groups`,
    a share of the groups that have the class of interest (`held_out_class`, else the other). That
    column is no attribute, while `by`, the column of subgroups, remains one.
    """
    given = {"--target": target, "--groups": groups, "--by": by}
    named = {option: name for option, name in given.items() if name is not None}
    for option, name in named.items():
        check_column(name, table.columns, table.name, option)
    if len(set(named.values())) < len(named):
        raise InputError(f"{', '.join(named)} must be different columns")
    choices = (choices or ColumnChoices()).of_columns(table.columns, table.name)
    if target in choices.drop + choices.numeric + choices.categorical:
        raise InputError(f"column {target!r} is the target and cannot be an attribute")
    if groups in choices.drop + choices.numeric + choices.categorical:
        raise InputError(f"column {groups!r} is that of --groups and cannot be an attribute")
    whole = read_whole(table)
    labels = read_labels(whole, target, messages, positive)
    rows = np.flatnonzero(labels.present) + 1
    others = [name for name in (target, groups) if name is not None]
    attributes = whole.table.drop_columns(others).filter(pa.array(labels.present))
    called = labels.y == labels.positive
    codes = None
    if groups is not None:
        codes = np.unique(read_words(whole, groups, "--groups", rows), return_inverse=True)[1]
    rng = np.random.default_rng(seed)
    if codes is not None and held_out_share:
        held_out = draw_held_out_groups(codes, called == held_out_class, held_out_share, rng)
    else:
        # The class of interest is drawn from first.
        held_out = draw_held_out(~called, held_out_share, rng)
    kept = np.setdiff1d(np.arange(len(called)), held_out)
    plan = plan_columns(
        attributes.take(pa.array(kept)),
        called[kept],
        choices=choices,
        reading=table.reading,
        rows=rows[kept],
    )
    tell_plan(plan, messages)
    used = [column for column in plan if column.role != DROPPED]
    if not used:
        raise InputError(f"{table.name}: no column is left to learn from")
    return Task(
        frame_of(attributes, used, lambda k: f"{table.name}, {whole.place(rows[k])}"),
        labels.y,
        labels.positive,
        labels.negative,
        plan,
        held_out,
        codes,
        None if by is None else read_words(whole, by, "--by", rows),
    )


def read_words(whole: WholeTable, name: str, option: str, rows: NDArray[np.intp]) -> NDArray[Any]:
    """Read a column of labels as text, for records counted from 1; none may be missing."""
    words = to_words(whole.table.column(name)).take(pa.array(rows - 1))
    if words.null_count:
        first = rows[int(np.argmin(np.asarray(pc.is_valid(words).to_numpy(zero_copy_only=False))))]
        raise InputError(
            f"{option}: column {name!r} must have no empty cells, got {words.null_count}, the "
            f"first in {whole.place(int(first))}: give such records a label of their own"
        )
    return np.asarray(words.to_pylist())


def read_labels(whole: WholeTable, target: str, messages: Messages, positive: str | None) -> Labels:
    """Read the labels of two classes."""
    words = to_words(whole.table.column(target))
    present = np.asarray(pc.is_valid(words).to_numpy(zero_copy_only=False))
    counts = {
        entry["values"]: entry["counts"] for entry in pc.value_counts(words.drop_null()).to_pylist()
    }
    if len(counts) != 2:
        hint = "; in Python BootstrapSVC takes more than two" if len(counts) > 2 else ""
        found = f"{_found(counts)}{hint}"
        raise InputError(f"--target: column {target!r} must have two classes, {found}")
    _warn_of_missing(whole, target, present, messages)
    names: list[Any] = sorted(counts)
    y = np.asarray(words.drop_null().to_pylist())
    if all(name.lstrip("-").isdecimal() and str(int(name)) == name for name in names):
        y, names = y.astype(np.int64), sorted(int(name) for name in names)
    chosen = _choose_positive(names, positive, messages)
    return Labels(y, names[chosen], names[1 - chosen], present)


def _warn_of_missing(whole: WholeTable, target: str, present: Bools, messages: Messages) -> None:
    n = int(np.count_nonzero(~present))
    if n:
        are = f"1 record without {target!r} is" if n == 1 else f"{n} records without {target!r} are"
        messages.warn(f"{are} left out, the first in {whole.place(int(present.argmin()) + 1)}")


def _found(counts: dict[str, int]) -> str:
    if not counts:
        return "it has no labels"
    listed = [f"{shorten(name, 20)!r} ({n})" for name, n in list(counts.items())[:6]]
    more = f" and {len(counts) - 6} more" if len(counts) > 6 else ""
    return f"it has {len(counts)}: {', '.join(listed)}{more}"


def _choose_positive(names: list[Any], positive: str | None, messages: Messages) -> int:
    if positive is None:
        messages.note(f"class of interest: {names[1]!r}, the larger label (--positive chooses)")
        return 1
    same = {"True": "1", "False": "0"}
    wanted, *words = to_words(pa.array([positive, *map(str, names)])).to_pylist()
    for k, word in enumerate(words):
        if same.get(word, word) == same.get(wanted, wanted):
            return k
    raise InputError(f"--positive must be one of {names[0]!r} and {names[1]!r}; got {positive!r}")


def read_labelled(
    table: TableFile,
    about: dict[str, Any],
    messages: Messages,
    frame: Callable[[Chunk], pd.DataFrame],
    by: str | None = None,
) -> tuple[pd.DataFrame, NDArray[Any], NDArray[Any] | None]:
    """Read the columns of a saved model, `frame` of each chunk, and the labels as it has them.

    The last value are the labels in the column `by`; None without it.
    """
    if by is not None:
        check_column(by, table.columns, table.name, "--by")
    target = about["target"]
    used = [column["name"] for column in about["columns"] if column["role"] != DROPPED]
    check_needed([*used, target], table)
    whole = read_whole(table, list(dict.fromkeys([*used, target, *([by] if by else [])])))
    words = to_words(whole.table.column(target))
    known = {str(label): label for label in (about["negative"], about["positive"])}
    foreign = [word for word in pc.unique(words.drop_null()).to_pylist() if word not in known]
    if foreign:
        where = whole.place(pc.index(words, foreign[0]).as_py() + 1)
        raise InputError(
            f"{table.name}, {where}, column {target!r}: {shorten(foreign[0], 40)!r} is neither "
            f"{' nor '.join(map(repr, known))}, the classes of the model"
        )
    present = np.asarray(pc.is_valid(words).to_numpy(zero_copy_only=False))
    _warn_of_missing(whole, target, present, messages)
    y = np.array([known[word] for word in words.drop_null().to_pylist()])
    X = pd.concat([frame(chunk) for chunk in whole.chunks], ignore_index=True)
    subgroups = None
    if by is not None:
        subgroups = read_words(whole, by, "--by", np.flatnonzero(present) + 1)
    return X[present].reset_index(drop=True), y, subgroups


def tell_plan(plan: Sequence[Column], messages: Messages) -> None:
    """Print what is done with each column, and its warnings."""
    listed = [column for column in plan if column.role == DROPPED or len(plan) <= COLUMNS_LISTED]
    if len(listed) < len(plan):
        for role in (NUMERIC, CATEGORICAL):
            messages.note(f"{sum(column.role == role for column in plan)} {role} columns")
    names = [visible(column.name, keep="") for column in listed]
    width = min(40, max(map(len, names), default=0))
    for column, name in zip(listed, names, strict=True):
        missing = f", {column.n_missing} missing" if column.n_missing else ""
        messages.note(
            f"  {shorten(name, width):<{width}}  {column.role:<11}  {column.reason}{missing}"
        )
    for column in plan:
        for doubt in column.warnings:
            messages.warn(f"column {column.name!r}: {doubt}")
