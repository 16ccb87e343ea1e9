"""Floors under rates, and what is said where they clash or columns are badly scaled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from svmproba._types import Bools, Floats
from svmproba.estimators.input.parameters import check_number
from svmproba.estimators.input.subgroup_floors import FLOORS, Floor, members_of, read_floors
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


def floors_of_model(
    wish: Mapping[str, Any], by: Any, positive: Bools, present: Any, n_given: int
) -> list[Floor]:
    """Floors of one model: those of the classes that are given, and those of subgroups."""
    of_classes = {name: check_floor(name, wish.get(name)) for name in FLOORS}
    floors = [Floor(k, x, members_of(k, positive)) for k, x in of_classes.items() if x]
    return floors + read_floors(wish.get("floors"), by, positive, present, n_given)


def join_floors(floors: list[list[Floor]], positive: Bools) -> tuple[Floats, Bools | None]:
    """Shares (n_models, n_sets) of the floors of all models, and their sets (n_sets, n).

    The first sets are those of the classes; they are None where there are no others.
    """
    sets = {members_of(name, positive).tobytes(): members_of(name, positive) for name in FLOORS}
    sets |= {floor.members.tobytes(): floor.members for some in floors for floor in some}
    places, shares = {key: k for k, key in enumerate(sets)}, np.zeros((len(floors), len(sets)))
    for row, some in zip(shares, floors, strict=True):
        for floor in some:
            place = places[floor.members.tobytes()]
            row[place] = max(row[place], floor.share)
    return shares, np.array(list(sets.values())) if len(sets) > len(FLOORS) else None


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
