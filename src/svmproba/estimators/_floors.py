"""Floors under rates, and what is said where they clash or columns are badly scaled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmproba._types import Bools, Floats
from svmproba.estimators.input.parameters import check_number
from svmproba.estimators.input.subgroup_floors import FLOORS, Floor, members_of
from svmproba.solvers.constrained.feasible_point import mass_in_sets
from svmproba.solvers.constrained.single import Constrained, solve_constrained
from svmproba.solvers.kernels import Rows

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
    floors: list[Floor],
    seed: int,
    status: str,
) -> str:
    """Name floors that cannot be met together, and the best value of the last of them.

    Floors are left out without which no point is found either; the value is found by bisection.
    """

    def solve(some: list[Floor]) -> Constrained:
        sets = np.array([floor.members for floor in some])
        need = mass_in_sets(sets, weight, np.array([floor.share for floor in some]))
        task: dict[str, Any] = {"need": need, "sets": sets, "weight": weight, "seed": seed}
        return solve_constrained(table, signs, C, effort="fast", **task)

    clashing = floors
    for floor in floors if len(floors) > 2 else ():
        rest = [other for other in clashing if other is not floor]
        found = solve(rest) if rest else None
        if found is not None and found.coef is None:
            clashing, status = rest, found.status
    *fixed, last = clashing
    low, high = 0.0, last.share
    for _ in range(8):
        middle = (low + high) / 2
        found = solve([*fixed, last._replace(share=middle)])
        if found.coef is None:
            high = middle
        else:
            low = max(low, share_of(last.members, found.satisfied, weight))
    asked = " and ".join(f"{floor.name}={floor.share:g}" for floor in clashing)
    told = f"The floors clash: no SVM has {asked}."
    if status != "infeasible":
        told = (
            f"No SVM was found that has {asked}: the floors may clash. "
            f'effort="thorough" and solver="bb" look further.'
        )
    others = " and ".join(f"{floor.name}={floor.share:g}" for floor in fixed)
    rest_of_it = f"With {others} the" if fixed else "The"
    return f"{told} {rest_of_it} best {last.name} that was found is {low:.4g}."


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
    satisfied: Bools, positive: Bools, weight: Floats, floors: Iterable[Floor] = ()
) -> dict[str, float]:
    """Rates of the classes, of all samples and of floors, counted by margins of at least 1."""
    sets = {name: members_of(name, positive) for name in FLOORS}
    sets |= {floor.name: floor.members for floor in floors}
    return {
        name.removeprefix("min_"): share_of(members, satisfied, weight)
        for name, members in sets.items()
    }


def share_of(members: Bools, satisfied: Bools, weight: Floats) -> float:
    """Share of the mass of a set that has its margin."""
    return float(weight[members & satisfied].sum() / weight[members].sum())
