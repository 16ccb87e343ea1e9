"""Labels of a table: the classes, and the class of interest of two."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from svmproba._types import Bools, Ints
from svmproba.cli.errors import InputError, Messages
from svmproba.cli.input.cells import refuse_nested, to_words
from svmproba.cli.input.tables import WholeTable, shorten

#: Classes that a message lists.
CLASSES_LISTED = 6
#: Truth values may be written as numbers.
_SAME = {"True": "1", "False": "0"}


class Labels(NamedTuple):
    """Labels of the records that have one, their classes, and which records these are."""

    y: NDArray[Any]  # (n,), integers where all are integers, else text
    classes: list[Any]  # sorted
    positive: Any  # the class of interest of two; None: more than two
    present: Bools

    @property
    def places(self) -> Ints:
        """Place of the class of every record."""
        return np.searchsorted(self.classes, self.y)

    def in_words(self, target: str) -> str:
        """Say which classes there are."""
        sizes = np.bincount(self.places).tolist()
        counts = dict(zip(self.classes, sizes, strict=True))
        return f"column {target!r} has {len(counts)}: {listed(counts)}"


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
    """Read the labels of two classes or more."""
    refuse_nested(target, whole.table.column(target).type)
    words = to_words(whole.table.column(target))
    present = np.asarray(pc.is_valid(words).to_numpy(zero_copy_only=False))
    counts = {
        entry["values"]: entry["counts"] for entry in pc.value_counts(words.drop_null()).to_pylist()
    }
    if len(counts) < 2:
        found = f"it has 1: {listed(counts)}" if counts else "it has no labels"
        raise InputError(f"--target: column {target!r} must have at least two classes, {found}")
    warn_of_missing(whole, target, present, messages)
    names: list[Any] = sorted(counts)
    y = np.asarray(words.drop_null().to_pylist())
    if all(is_whole_number(name) for name in names):
        y, names = y.astype(np.int64), sorted(int(name) for name in names)
    labels = Labels(y, names, None, present)
    if len(names) == 2:
        return labels._replace(positive=_choose_positive(names, positive, messages))
    if positive is not None:
        raise InputError(
            f"--positive {positive} needs two classes, {labels.in_words(target)}: give "
            f"--floor {positive}=0.9 for a recall of a class, or leave it out"
        )
    messages.note(f"{len(names)} classes: {listed({name: counts[str(name)] for name in names})}")
    return labels


def is_whole_number(name: str) -> bool:
    """Whether a label is a number as it is written, of at most 64 bits."""
    return bool(re.fullmatch(r"0|-?[1-9][0-9]{0,18}", name)) and abs(int(name)) < 2**63


def warn_of_missing(whole: WholeTable, target: str, present: Bools, messages: Messages) -> None:
    """Warn of records without a label."""
    n = int(np.count_nonzero(~present))
    if n:
        are = f"1 record without {target!r} is" if n == 1 else f"{n} records without {target!r} are"
        messages.warn(f"{are} left out, the first in {whole.place(int(present.argmin()) + 1)}")


def listed(counts: Mapping[Any, int]) -> str:
    """List classes with their sizes, the first of them if there are many."""
    named = [
        f"{shorten(str(name), 20)!r} ({n})" for name, n in list(counts.items())[:CLASSES_LISTED]
    ]
    more = f" and {len(counts) - CLASSES_LISTED} more" if len(counts) > CLASSES_LISTED else ""
    return f"{', '.join(named)}{more}"


def other_class(classes: Sequence[Any], positive: Any) -> Any:
    """Tell the other of two classes; None where there is no class of interest."""
    return None if positive is None else next(label for label in classes if label != positive)


def _choose_positive(names: list[Any], positive: str | None, messages: Messages) -> Any:
    if positive is None:
        messages.note(f"class of interest: {names[1]!r}, the larger label (--positive chooses)")
        return names[1]
    return find_class(positive, names, "--positive")


def find_class(word: str, classes: Sequence[Any], option: str) -> Any:
    """Find the class that a word of the command line means; words are compared as in tables."""
    wanted, *words = to_words(pa.array([word, *map(str, classes)])).to_pylist()
    for label, own in zip(classes, words, strict=True):
        if _SAME.get(own, own) == _SAME.get(wanted, wanted):
            return label
    raise InputError(f"{option} must name one of {', '.join(map(repr, classes))}; got {word!r}")
