"""Costs of decisions, from the option ``--costs``."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from svmproba._types import Floats
from svmproba.cli.errors import InputError
from svmproba.cli.input.labels import find_class
from svmproba.estimators.classes.costs import check_cost_matrix, costs_of_two
from svmproba.estimators.shared.costs import cost_threshold

NAMES = ("fn", "fp", "tp", "tn")


@dataclass(frozen=True)
class Costs:
    """Costs of a false negative, a false positive, a true positive and a true negative."""

    fn: float = 1.0
    fp: float = 1.0
    tp: float = 0.0
    tn: float = 0.0

    def arguments(self) -> dict[str, float]:
        """Keyword arguments of `with_costs`, `svmproba.evaluation.mean_cost` and the like."""
        return {f"{name}_cost": getattr(self, name) for name in NAMES}


@dataclass(frozen=True)
class CostTable:
    """A table as it stands in a file: a row for each true class, a column for each called one."""

    path: str
    rows: list[str]
    columns: list[str]
    cells: list[list[str]]


@dataclass(frozen=True)
class CostMatrix:
    """Costs (n_classes, n_classes) of every true and every called class, in their order."""

    matrix: list[list[float]]

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `with_costs` and `decide`."""
        return {"cost_matrix": self.matrix}


def parse_costs(text: str | None) -> Costs | CostTable | None:
    """Read ``fn=500,fp=20``, with ``tp`` and ``tn`` optional, or the file of a matrix."""
    if text is None:
        return None
    if text.lower().endswith(".csv") or Path(text).is_file():
        return read_cost_table(text)
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = math.nan
        if name not in NAMES or not math.isfinite(found[name]):
            raise InputError(
                f"--costs must be like fn=500,fp=20, with names of {', '.join(NAMES)}; got {text!r}"
            )
    if not {"fn", "fp"} <= set(found):
        raise InputError(f"--costs must give both fn and fp; got {text!r}")
    return _check_costs(Costs(**found))


def _check_costs(costs: Costs) -> Costs:
    try:
        cost_threshold(costs.arguments())
    except ValueError as error:
        raise InputError(f"--costs: {str(error).replace('_cost', '')}") from error
    return costs


def read_cost_table(path: str) -> CostTable:
    """Read a CSV file whose first row has the called classes and first column the true ones."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--costs: {path!r} cannot be read: {error}") from error
    separator = ";" if ";" in text.partition("\n")[0] else ","
    lines = [line for line in csv.reader(text.splitlines(), delimiter=separator) if any(line)]
    if len(lines) < 2:
        raise InputError(f"--costs: {path} must have a row of called classes and rows of costs")
    head, *rest = ([cell.strip() for cell in line] for line in lines)
    for number, line in enumerate(rest, 2):
        if len(line) != len(head):
            raise InputError(
                f"--costs: {path}, the row of class {line[0]!r} (line {number}) must have "
                f"{len(head) - 1} costs, one for each class of the first row; got {len(line) - 1}"
            )
    return CostTable(path, [line[0] for line in rest], head[1:], [line[1:] for line in rest])


def costs_for(
    costs: Costs | CostTable | CostMatrix | None, classes: Sequence[Any], positive: Any
) -> Costs | CostMatrix | None:
    """Put costs into the order of the classes; refuses costs for another number of classes."""
    if isinstance(costs, Costs) and positive is None:
        raise InputError(
            f"--costs with {', '.join(NAMES)} needs two classes, the target has {len(classes)}: "
            f"{', '.join(map(repr, classes))}; give a CSV file with a row for each true and a "
            f"column for each called class"
        )
    if not isinstance(costs, CostTable):
        return costs
    matrix = _matrix_of(costs, classes)
    if positive is None:
        return CostMatrix(matrix.tolist())
    named = costs_of_two(matrix, list(classes).index(positive))
    return _check_costs(Costs(**{name: float(named[f"{name}_cost"]) for name in NAMES}))


def _matrix_of(table: CostTable, classes: Sequence[Any]) -> Floats:
    where = f"--costs: {table.path}"
    index = [find_class(word, classes, f"{where}: a row") for word in table.rows]
    columns = [find_class(word, classes, f"{where}: a column") for word in table.columns]
    values = np.empty((len(index), len(columns)))
    for (k, true), (j, called) in product(enumerate(index), enumerate(columns)):
        try:
            values[k, j] = float(table.cells[k][j])
        except ValueError:
            raise InputError(
                f"{where}: the cost of class {true!r} called {called!r} must be a number; got "
                f"{table.cells[k][j]!r}"
            ) from None
    try:
        frame = pd.DataFrame(values, index=index, columns=columns)
        return check_cost_matrix(frame, np.array(classes))
    except ValueError as error:
        raise InputError(f"{where}: {str(error).replace('cost_matrix', 'the matrix')}") from error


def rule_in_words(about: dict[str, Any], threshold: float) -> str:
    """Say which records are decided as positive."""
    how = ", the usual threshold" if about["costs"] is None else ", the least expected cost"
    how = ", the threshold that reaches the rate" if about["wants_rate"] else how
    return f"{about['positive']!r} from probability {threshold:.3g} on{how}"
