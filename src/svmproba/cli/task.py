"""From a file to records, labels, and the role of each column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from svmproba._types import Bools
from svmproba.bootstrap.fitting.bags import draw_held_out, draw_held_out_groups
from svmproba.cli.errors import InputError, Messages, visible
from svmproba.cli.input.cells import refuse_nested, to_words
from svmproba.cli.input.columns import plan_columns
from svmproba.cli.input.frames import frame_of
from svmproba.cli.input.labels import (
    Labels,
    other_class,
    read_labels,
    read_words,
    warn_of_missing,
)
from svmproba.cli.input.roles import (
    CATEGORICAL,
    DROPPED,
    NUMERIC,
    Column,
    ColumnChoices,
    check_column,
    check_needed,
)
from svmproba.cli.input.tables import Chunk, TableFile, read_whole, shorten

#: More columns than this are counted; only those left out are listed.
COLUMNS_LISTED = 40
#: Groups below which a column of groups is likely to be one of subgroups.
FEW_GROUPS = 10


@dataclass(frozen=True)
class Task:
    """Records and their classes."""

    X: pd.DataFrame  # numbers as float64, categories as text; missing cells are NaN
    y: NDArray[Any]  # (n,), integers where all are integers, else text
    classes: list[Any]  # sorted labels
    positive: Any  # label of the class of interest; None: more than two classes
    plan: list[Column]
    held_out: NDArray[np.intp]  # places of records for a guarantee: nothing is learned from them
    groups: NDArray[np.int64] | None = None  # (n,), numbers of the groups of records
    by: NDArray[Any] | None = None  # (n,), subgroups, as text

    @property
    def negative(self) -> Any:
        """Label of the other of two classes."""
        return other_class(self.classes, self.positive)

    @property
    def kept(self) -> NDArray[np.intp]:
        """Places of the records that are not held out."""
        return np.setdiff1d(np.arange(len(self.y)), self.held_out)


def load_task(
    table: TableFile,
    target: str,
    messages: Messages,
    *,
    positive: str | None = None,
    choices: ColumnChoices | None = None,
    held_out_share: float = 0.0,
    judges: Callable[[Labels], Bools] | None = None,
    groups: str | None = None,
    by: str | None = None,
    seed: int = 0,
) -> Task:
    """Read a table and decide what its columns are.

    A share of every class is held out, also from the decisions about columns; with the column
    `groups`, a share of the groups of the records that `judges` marks.
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
    if by is not None and labels.positive is None:
        raise InputError(f"--by needs two classes, {labels.in_words(target)}")
    codes = None
    if groups is not None:
        words, codes = np.unique(read_words(whole, groups, "--groups", rows), return_inverse=True)
        if len(words) < FEW_GROUPS:
            messages.warn(
                f"column {groups!r} has {len(words)} groups only, and bags draw whole groups; --by "
                f"is for the rates of subgroups"
            )
    held_out = _hold_out(labels, held_out_share, codes, judges, seed)
    kept = np.setdiff1d(np.arange(len(labels.y)), held_out)
    plan = plan_columns(
        attributes.take(pa.array(kept)),
        labels.places[kept],
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
        labels.classes,
        labels.positive,
        plan,
        held_out,
        codes,
        None if by is None else read_words(whole, by, "--by", rows),
    )


def _hold_out(
    labels: Labels,
    share: float,
    codes: NDArray[np.int64] | None,
    judges: Callable[[Labels], Bools] | None,
    seed: int,
) -> NDArray[np.intp]:
    """Draw a share of every class, or of the groups of the records that `judges` marks."""
    rng = np.random.default_rng(seed)
    # The class of interest is drawn from first.
    drawn = labels.places if labels.positive is None else labels.y != labels.positive
    if codes is None or not share:
        return draw_held_out(drawn, share, rng)
    return draw_held_out_groups(codes, drawn == 0 if judges is None else judges(labels), share, rng)


def read_labelled(
    table: TableFile,
    about: dict[str, Any],
    messages: Messages,
    frame: Callable[[Chunk], pd.DataFrame],
    by: str | None = None,
) -> tuple[pd.DataFrame, NDArray[Any], NDArray[Any] | None]:
    """Read the columns of a saved model, the labels as it has them, and those in `by`."""
    if by is not None:
        check_column(by, table.columns, table.name, "--by")
    target = about["target"]
    used = [column["name"] for column in about["columns"] if column["role"] != DROPPED]
    check_needed([*used, target], table)
    whole = read_whole(table, list(dict.fromkeys([*used, target, *([by] if by else [])])))
    refuse_nested(target, whole.table.column(target).type)
    words = to_words(whole.table.column(target))
    known = {str(label): label for label in about["classes"]}
    foreign = [word for word in pc.unique(words.drop_null()).to_pylist() if word not in known]
    if foreign:
        where = whole.place(pc.index(words, foreign[0]).as_py() + 1)
        raise InputError(
            f"{table.name}, {where}, column {target!r}: {shorten(foreign[0], 40)!r} is none "
            f"of {', '.join(map(repr, known))}, the classes of the model"
        )
    present = np.asarray(pc.is_valid(words).to_numpy(zero_copy_only=False))
    warn_of_missing(whole, target, present, messages)
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
