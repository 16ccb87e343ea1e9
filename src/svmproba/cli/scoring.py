"""Scoring a table chunk by chunk with a saved model, noting cells that were not in training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.pipeline import Pipeline

from svmproba._types import Bools, Ints
from svmproba.cli.decisions import Decisions
from svmproba.cli.errors import InputError, Messages
from svmproba.cli.input.cells import to_words
from svmproba.cli.input.frames import frame_of
from svmproba.cli.input.numerals import best_formats
from svmproba.cli.input.roles import (
    Column,
    check_needed,
    columns_of,
    split_names,
)
from svmproba.cli.input.tables import Chunk, TableFile, shorten
from svmproba.evaluation.explanations import original_columns

UNKNOWN, NOT_A_NUMBER = "unknown category", "not a number"
#: Different cells of one column that are kept; the others are only counted.
CELLS_KEPT = 100
#: Different cells of one column that are named in a warning.
CELLS_NAMED = 5


class Seen(NamedTuple):
    """First row of a value, that row in words, and how often the value occurs."""

    row: int
    place: str
    n: int


@dataclass
class UnseenCells:
    """Cells of one column that the model cannot use: first place and count of each value."""

    column: str
    kind: str
    cells: dict[str, Seen] = field(default_factory=dict)
    n_others: int = 0

    def add(self, value: str, n: int, chunk: Chunk, find: Callable[[], int]) -> None:
        """Count n more cells of a value; `find` gives the place of the first in the chunk."""
        if value in self.cells:
            self.cells[value] = self.cells[value]._replace(n=self.cells[value].n + n)
        elif len(self.cells) < CELLS_KEPT:
            row = chunk.first_row + find()
            self.cells[value] = Seen(row, chunk.place(row), n)
        else:
            self.n_others += n

    def in_words(self) -> Iterator[str]:
        """Say which cells, where, and how they are treated."""
        effect = "counts as no category" if self.kind == UNKNOWN else "counts as missing"
        for value, (_, place, n) in list(self.cells.items())[:CELLS_NAMED]:
            often = "once" if n == 1 else f"{n:,} times"
            said = f"column {self.column!r}: {self.kind} {shorten(value, 40)!r} {often}, first in "
            yield f"{said}{place}; it {effect}"
        n_more = len(self.cells) - CELLS_NAMED
        if n_more > 0:
            at_least = " at least" if self.n_others else ""
            yield f"column {self.column!r}: {self.kind}:{at_least} {n_more} other values as well"

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON."""
        cells = [
            {"value": value, "first_row": seen.row, "count": seen.n}
            for value, seen in self.cells.items()
        ]
        return {"column": self.column, "kind": self.kind, "cells": cells, "others": self.n_others}


class Scorer:
    """Turns chunks of a table into chunks of probabilities and decisions.

    Strict: an unknown category is an error. Lenient: neither a cell that is not a number nor a
    column that has only unknown categories is one.
    """

    def __init__(
        self,
        model: Pipeline,
        about: dict[str, Any],
        table: TableFile,
        *,
        keep: Sequence[str] = (),
        interval: str | None = None,
        confidence: float = 0.95,
        strict: bool = False,
        lenient: bool = False,
        explain: int = 0,
    ) -> None:
        self._model, self._about, self._table = model, about, table
        self._keep = split_names(keep, table.columns)
        self._decisions = Decisions(model[-1], about, interval, confidence)
        self._strict, self._lenient = strict, lenient
        self._columns = columns_of(about, table.reading)
        # Cells of each column of categories that are not missing, and those that are known.
        self._n_given: Counter[str] = Counter()
        self._n_known: Counter[str] = Counter()
        self._known = known_categories(model)
        self._groups = original_columns(model) if explain else []
        self._n_reasons = min(explain, len(set(self._groups)))
        self._unseen: dict[tuple[str, str], UnseenCells] = {}
        self._check_columns()
        self.schema = self._make_schema()

    @property
    def columns(self) -> list[str]:
        """Columns of the table that are read."""
        return list(dict.fromkeys([*(column.name for column in self._columns), *self._keep]))

    def _check_columns(self) -> None:
        table, taken = self._table, {"probability", "low", "high", "decision", "expected_cost"}
        taken |= {name for name, _ in self._decisions.fields}
        taken |= {name for k in range(self._n_reasons) for name in reason_names(k)}
        check_needed([column.name for column in self._columns], table)
        for name in self._keep:
            if name not in table.columns:
                raise InputError(f"--keep: {table.name} has no column {name!r}")
            if name in taken:
                raise InputError(f"--keep: {name!r} is the name of a column that is written")

    def _make_schema(self) -> Any:
        fields = [(name, self._table.type_of(name)) for name in self._keep]
        fields += self._decisions.fields
        for k in range(self._n_reasons):
            fields += zip(reason_names(k), (pa.string(), pa.float64()), strict=True)
        return pa.schema(fields)

    def score(self, chunk: Chunk) -> Any:
        """Score the records of a chunk of the columns `columns`; returns a record batch."""
        rows = self._model[:-1].transform(self.frame(chunk))
        made: list[Any] = [chunk.batch.column(name) for name in self._keep]
        decided = self._decisions.decide(rows)
        made += [*decided.columns, *self._reasons(rows, decided.called)]
        return pa.record_batch(made, schema=self.schema)

    def _reasons(self, rows: Any, called: Ints) -> list[Any]:
        """Columns of largest contribution to the score, and these contributions."""
        if not self._n_reasons:
            return []
        values, _, _, _, names = self._model[-1].contributions(rows, groups=self._groups)
        if values.ndim == 3:
            values = np.take_along_axis(values, called[:, np.newaxis, np.newaxis], axis=2)[:, :, 0]
        order = np.argsort(-np.abs(values), axis=1, kind="stable")[:, : self._n_reasons]
        found: list[Any] = []
        for places in order.T:
            found.append(pa.array(names, pa.string()).take(pa.array(places)))
            found.append(values[np.arange(len(values)), places])
        return found

    def warn(self, messages: Messages) -> None:
        """Warn of cells that the model cannot use."""
        for unseen in self._unseen.values():
            for said in unseen.in_words():
                messages.warn(said)

    def unseen_cells(self) -> list[dict[str, Any]]:
        """Cells that the model cannot use, as JSON."""
        return [unseen.to_dict() for unseen in self._unseen.values()]

    def frame(self, chunk: Chunk) -> pd.DataFrame:
        """Make the table that the model reads, and note cells that it cannot use."""
        return frame_of(
            chunk.batch,
            self._columns,
            partial(self._place, chunk),
            note_bad=partial(self._note_bad_numbers, chunk),
            note_words=partial(self._note_unknown, chunk),
        )

    def _place(self, chunk: Chunk, k: int) -> str:
        return f"{self._table.name}, {chunk.place(chunk.first_row + k)}"

    def _note_bad_numbers(self, chunk: Chunk, column: Column, bad: Bools) -> None:
        name, places = column.name, np.flatnonzero(bad).tolist()
        words = to_words(chunk.batch.column(name)).take(pa.array(places))
        first = str(words[0])
        if not self._lenient:
            others = [str(other) for other in best_formats(words, np.ones(len(words)))]
            hint = f"{' or '.join(others)} reads such numbers; " if all(others) else ""
            unit = " with %" if column.format.unit == "%" else ""
            raise InputError(
                f"{self._place(chunk, places[0])}, column {name!r}: {shorten(first, 40)!r} is not "
                f"a number{unit} ({hint}--lenient counts such cells as missing)"
            )
        unseen = self._unseen.setdefault((name, NOT_A_NUMBER), UnseenCells(name, NOT_A_NUMBER))
        for place, word in zip(places, words.to_pylist(), strict=True):
            unseen.add(word, 1, chunk, partial(int, place))

    def _note_unknown(self, chunk: Chunk, name: str, words: Any) -> None:
        for entry in pc.value_counts(words.drop_null()).to_pylist():
            value = entry["values"]
            self._n_given[name] += entry["counts"]
            if value in self._known[name]:
                self._n_known[name] += entry["counts"]
                continue

            def find(value: str = value) -> int:
                return int(pc.index(words, value).as_py())

            if self._strict:
                raise InputError(
                    f"{self._place(chunk, find())}, column {name!r}: the model does not know the "
                    f"category {shorten(value, 40)!r} (without --strict it counts as no category)"
                )
            unseen = self._unseen.setdefault((name, UNKNOWN), UnseenCells(name, UNKNOWN))
            unseen.add(value, entry["counts"], chunk, find)

    def check_all(self) -> None:
        """Refuse, after the last chunk, columns of which no category is known."""
        for name, n_given in self._n_given.items():
            if not self._n_known[name] and not self._lenient:
                cells = list(self._unseen[name, UNKNOWN].cells)[:CELLS_NAMED]
                known = sorted(self._known[name])[:CELLS_NAMED]
                raise InputError(
                    f"{self._table.name}, column {name!r}: the model knows none of its {n_given:,} "
                    f"cells, such as {', '.join(map(repr, cells))}; it was fitted on "
                    f"{', '.join(map(repr, known))} (--lenient scores without the column)"
                )


def reason_names(k: int) -> tuple[str, str]:
    """Names of the two columns of a reason, the strongest being number 0."""
    return f"reason_{k + 1}", f"contribution_{k + 1}"


def known_categories(model: Pipeline) -> dict[str, set[str]]:
    """Categories that the model was fitted on, by column."""
    for name, pipeline, columns in model[0].transformers_:
        if name == "categories" and len(columns):
            categories = pipeline[-1].categories_
            return {
                column: set(map(str, values))
                for column, values in zip(columns, categories, strict=True)
            }
    return {}
