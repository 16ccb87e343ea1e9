"""Scoring a table chunk by chunk with a saved model, and noting what it had not seen."""

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

from svmproba.cli.costs import Costs
from svmproba.cli.errors import InputError, Voice
from svmproba.cli.input.cells import Bools, to_numbers, to_words
from svmproba.cli.input.numerals import best_formats
from svmproba.cli.input.roles import (
    NUMERIC,
    Column,
    check_needed,
    check_range,
    columns_of,
    split_names,
)
from svmproba.cli.input.tables import Chunk, TableFile, shorten
from svmproba.cli.task import categories_of
from svmproba.estimators._costs import expected_cost

UNKNOWN, NOT_A_NUMBER = "unknown category", "not a number"
#: Different cells that are remembered of one column; the others are only counted.
CELLS_REMEMBERED = 100
#: Different cells of one column that people are told of.
CELLS_TOLD = 5


class Cells(NamedTuple):
    """First row of a value, that row for people, and how often it was there."""

    row: int
    place: str
    n: int


@dataclass
class Oddity:
    """Cells of one column that the model had not seen: first place and count of each value."""

    column: str
    kind: str
    cells: dict[str, Cells] = field(default_factory=dict)
    n_others: int = 0

    def add(self, value: str, n: int, chunk: Chunk, find: Callable[[], int]) -> None:
        """Note some more cells of a value; the first is in the place of the chunk to be found."""
        if value in self.cells:
            self.cells[value] = self.cells[value]._replace(n=self.cells[value].n + n)
        elif len(self.cells) < CELLS_REMEMBERED:
            row = chunk.first_row + find()
            self.cells[value] = Cells(row, chunk.place(row), n)
        else:
            self.n_others += n

    def in_words(self) -> Iterator[str]:
        """Say which cells, where, and what became of them."""
        fate = "counts as no category" if self.kind == UNKNOWN else "counts as missing"
        for value, (_, place, n) in list(self.cells.items())[:CELLS_TOLD]:
            often = "once" if n == 1 else f"{n:,} times"
            said = f"column {self.column!r}: {self.kind} {shorten(value, 40)!r} {often}, first in "
            yield f"{said}{place}; it {fate}"
        n_more = len(self.cells) - CELLS_TOLD
        if n_more > 0:
            at_least = " at least" if self.n_others else ""
            yield f"column {self.column!r}: {self.kind}:{at_least} {n_more} other values as well"

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON has it."""
        cells = [
            {"value": value, "first_row": seen.row, "count": seen.n}
            for value, seen in self.cells.items()
        ]
        return {"column": self.column, "kind": self.kind, "cells": cells, "others": self.n_others}


class Scorer:
    """Turns chunks of a table into chunks of probabilities and decisions.

    Parameters
    ----------
    model : Pipeline
        From `svmproba.cli.training.train`.
    about : dict
        What was saved with it, see `svmproba.cli.output.summary.describe`.
    table : TableFile
        The one to be scored.
    keep : sequence of str, default=()
        Columns to pass on; lists with commas, too.
    interval : str, default=None
        Kind of interval, as in ``predict_proba_interval``.
    confidence : float, default=0.95
        Of the interval.
    strict, lenient : bool, default=False
        Whether an unknown category is an error; whether a cell that is no number, or a column
        of nothing but unknown categories, is none.

    Attributes
    ----------
    oddities : dict of (column, kind) to Oddity
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
    ) -> None:
        self._model, self._about, self._table = model, about, table
        self._keep = split_names(keep, table.columns)
        self._interval, self._confidence = interval, confidence
        self._strict, self._lenient = strict, lenient
        self._columns = columns_of(about, table.reading)
        #: Cells of each column of categories that are given, and those that are known.
        self._n_given: Counter[str] = Counter()
        self._n_known: Counter[str] = Counter()
        self._costs = None if about["costs"] is None else Costs(**about["costs"])
        self._classes = list(model.classes_)
        self._known = known_categories(model)
        self.oddities: dict[tuple[str, str], Oddity] = {}
        self._check_columns()
        self.schema = self._make_schema()

    @property
    def columns(self) -> list[str]:
        """Columns of the table that are read."""
        return list(dict.fromkeys([*(column.name for column in self._columns), *self._keep]))

    def _check_columns(self) -> None:
        table, taken = self._table, {"probability", "low", "high", "decision", "expected_cost"}
        check_needed([column.name for column in self._columns], table)
        for name in self._keep:
            if name not in table.columns:
                raise InputError(f"--keep: {table.name} has no column {name!r}")
            if name in taken:
                raise InputError(f"--keep: {name!r} is the name of a column that is written")

    def _make_schema(self) -> Any:
        labels = pa.int64() if isinstance(self._about["positive"], int) else pa.string()
        fields = [(name, self._table.type_of(name)) for name in self._keep]
        fields.append(("probability", pa.float64()))
        if self._interval is not None:
            fields += [("low", pa.float64()), ("high", pa.float64())]
        fields.append(("decision", labels))
        if self._costs is not None:
            fields.append(("expected_cost", pa.float64()))
        return pa.schema(fields)

    def score(self, chunk: Chunk) -> Any:
        """Score some records.

        Parameters
        ----------
        chunk : Chunk
            Of the columns `columns`.

        Returns
        -------
        pyarrow.RecordBatch
        """
        rows = self._model[:-1].transform(self.frame(chunk))
        svm = self._model[-1]
        place = self._classes.index(self._about["positive"])
        proba = svm.predict_proba(rows)[:, place]
        called = proba >= svm.proba_threshold_
        made: list[Any] = [chunk.batch.column(name) for name in self._keep]
        made.append(proba)
        if self._interval is not None:
            limits = svm.predict_proba_interval(rows, self._confidence, kind=self._interval)
            made += [np.ascontiguousarray(limits[:, 0]), np.ascontiguousarray(limits[:, 1])]
        labels = pa.array(
            [self._about["negative"], self._about["positive"]], self.schema.field("decision").type
        )
        made.append(labels.take(pa.array(called.astype(np.int8))))
        if self._costs is not None:
            made.append(expected_cost(proba, called, self._costs.by_name()))
        return pa.record_batch(made, schema=self.schema)

    def warn(self, voice: Voice) -> None:
        """Say which cells the model had not seen."""
        for oddity in self.oddities.values():
            for said in oddity.in_words():
                voice.warn(said)

    def frame(self, chunk: Chunk) -> pd.DataFrame:
        """Make the table that the model reads, and note what it had not seen."""
        made: dict[str, Any] = {}
        for column in self._columns:
            name, cells = column.name, chunk.batch.column(column.name)
            if column.role == NUMERIC:
                numbers = to_numbers(cells, column.format)
                if numbers.bad.any():
                    self._note_bad_numbers(column, numbers.bad, chunk)
                check_range(numbers.values, lambda k: self._place(chunk, k), name)
                made[name] = numbers.values
            else:
                words = to_words(cells)
                self._note_unknown(name, words, chunk)
                made[name] = categories_of(words)
        return pd.DataFrame(made)

    def _place(self, chunk: Chunk, k: int) -> str:
        return f"{self._table.name}, {chunk.place(chunk.first_row + k)}"

    def _note_bad_numbers(self, column: Column, bad: Bools, chunk: Chunk) -> None:
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
        oddity = self.oddities.setdefault((name, NOT_A_NUMBER), Oddity(name, NOT_A_NUMBER))
        for place, word in zip(places, words.to_pylist(), strict=True):
            oddity.add(word, 1, chunk, partial(int, place))

    def _note_unknown(self, name: str, words: Any, chunk: Chunk) -> None:
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
            oddity = self.oddities.setdefault((name, UNKNOWN), Oddity(name, UNKNOWN))
            oddity.add(value, entry["counts"], chunk, find)

    def check_all(self) -> None:
        """Refuse, when all is scored, columns of which no cell was known."""
        for name, n_given in self._n_given.items():
            if not self._n_known[name] and not self._lenient:
                cells = list(self.oddities[name, UNKNOWN].cells)[:CELLS_TOLD]
                known = sorted(self._known[name])[:CELLS_TOLD]
                raise InputError(
                    f"{self._table.name}, column {name!r}: the model knows none of its {n_given:,} "
                    f"cells, such as {', '.join(map(repr, cells))}; it was fitted on "
                    f"{', '.join(map(repr, known))} (--lenient goes on without the column)"
                )


def known_categories(model: Pipeline) -> dict[str, set[str]]:
    """Categories that the model was fitted with, by column."""
    for name, pipeline, columns in model[0].transformers_:
        if name == "categories" and len(columns):
            categories = pipeline[-1].categories_
            return {
                column: set(map(str, values))
                for column, values in zip(columns, categories, strict=True)
            }
    return {}
