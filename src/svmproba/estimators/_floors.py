"""Floors under rates, and what is said where they clash or columns are badly scaled."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from svmproba._types import Floats
from svmproba.estimators.input.parameters import check_number
from svmproba.solvers.constrained.feasible_point import needed_mass
from svmproba.solvers.constrained.single import solve_constrained
from svmproba.solvers.kernels import Rows

FLOORS = ("min_tpr", "min_tnr", "min_accuracy")
#: Factor between the ranges of columns from which they should be scaled.
_UNEQUAL = 1e6


def check_floor(name: str, value: Any) -> float:
    """Return the floor, 0 for none."""
    if value is None:
        return 0.0
    check_number(name, value, 0, 1, "None or a number in [0, 1]")
    return float(value)


def clash_message(
    table: Rows,
    signs: Floats,
    C: float,
    weight: Floats,
    floors: dict[str, float],
    seed: int,
    status: str,
) -> str:
    """Say which value of the last floor goes with the others, by bisection."""
    *others, last = floors
    fixed = {name: floors[name] for name in others}
    low, high = 0.0, floors[last]
    for _ in range(8):
        middle = (low + high) / 2
        need = needed_mass(signs, weight, **fixed, **{last: middle})
        found = solve_constrained(
            table, signs, C, need=need, weight=weight, effort="fast", seed=seed
        )
        if found.coef is None:
            high = middle
        else:
            reached = margin_rates(found.satisfied, signs > 0, weight)
            low = max(low, reached[last.removeprefix("min_")])
    asked = " and ".join(f"{name}={floor:g}" for name, floor in floors.items())
    told = f"The floors clash: no SVM has {asked}."
    if status != "infeasible":
        told = (
            f"No SVM was found that has {asked}: the floors may clash. "
            f'effort="thorough" and solver="bb" look further.'
        )
    rest = f"With {' and '.join(f'{k}={x:g}' for k, x in fixed.items())} the" if fixed else "The"
    return f"{told} {rest} best {last} that was found is {low:.4g}."


def scale_advice(table: Rows) -> str:
    """Advise to scale columns whose ranges differ so much that solvers lose their precision."""
    if sp.issparse(table):
        largest = np.asarray(abs(table).max(axis=0).todense()).ravel()
    else:
        largest = np.abs(table - table.mean(axis=0)).max(axis=0)
    largest = largest[largest > 0]
    factor = largest.max() / largest.min() if largest.size else 1.0
    if factor < _UNEQUAL:
        return ""
    return (
        f" The ranges of the columns of X differ by a factor of {factor:.1g}, which costs the "
        f"solver its precision: scale X first, for example with StandardScaler."
    )


def margin_rates(
    satisfied: NDArray[np.bool_], positive: NDArray[np.bool_], weight: Floats
) -> dict[str, float]:
    """Rates of the classes and of all samples, counted by margins of at least 1."""
    groups = {"tpr": positive, "tnr": ~positive, "accuracy": np.ones_like(positive)}
    return {
        name: float(weight[group & satisfied].sum() / weight[group].sum())
        for name, group in groups.items()
    }
