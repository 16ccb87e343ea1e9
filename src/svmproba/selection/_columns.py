"""Costs and groups of columns as users give them, by name or by position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from svmproba._types import Floats, Ints


def check_groups(given: Any, n_columns: int, names: Any) -> list[Ints]:
    """Columns of every group; a column that no group names is a group of its own."""
    groups: list[Ints] = []
    owner = np.full(n_columns, -1)
    for group in given.values() if isinstance(given, Mapping) else given or ():
        if isinstance(group, str) or not np.iterable(group):
            raise ValueError(
                f"groups_of_columns must be a list of lists of columns or a dict of such lists, "
                f"got {group!r} as one of the lists."
            )
        places = [_place("groups_of_columns", column, n_columns, names) for column in group]
        if not places:
            raise ValueError("groups_of_columns must hold no empty group.")
        for place in places:
            if owner[place] >= 0:
                raise ValueError(
                    f"groups_of_columns must name every column once at most, got "
                    f"{_shown(place, names)} twice."
                )
            owner[place] = len(groups)
        groups.append(np.array(places, dtype=np.intp))
    return groups + [np.array([place]) for place in np.flatnonzero(owner < 0)]


def check_costs(given: Any, groups: list[Ints], n_columns: int, names: Any) -> Floats:
    """Cost of every group, 1 where none is given."""
    costs = np.full(n_columns, np.nan)
    if isinstance(given, Mapping):
        for column, cost in given.items():
            costs[_place("costs", column, n_columns, names)] = _number(cost)
    elif given is not None:
        values = list(given) if np.iterable(given) and not isinstance(given, str) else []
        if len(values) != n_columns:
            raise ValueError(
                f"costs must be None, a dict or one number for each of the {n_columns} columns of "
                f"X, got {f'{len(values)} of them' if values else repr(given)}."
            )
        costs[:] = [_number(cost) for cost in values]
    found = np.ones(len(groups))
    for k, places in enumerate(groups):
        told = np.unique(costs[places][~np.isnan(costs[places])])
        if len(told) > 1:
            raise ValueError(
                f"costs must be equal for the columns of a group, which is paid once, got "
                f"{told.tolist()} for the group of {_shown(places[0], names)}."
            )
        found[k] = told[0] if len(told) else 1.0
    return found


def _number(cost: Any) -> float:
    try:
        value = float(cost)
    except (TypeError, ValueError):
        value = np.nan
    if not 0.0 < value < np.inf:
        raise ValueError(f"costs must be positive finite numbers, got {cost!r}.")
    return value


def _place(parameter: str, column: Any, n_columns: int, names: Any) -> int:
    """Position of a column that is given by name or by position."""
    if isinstance(column, str):
        known = [] if names is None else list(names)
        if column not in known:
            have = "X has no column names" if names is None else f"X has {', '.join(known)}"
            raise ValueError(
                f"{parameter} names the column {column!r}, which is not there: {have}."
            )
        return known.index(column)
    if isinstance(column, int | np.integer) and 0 <= column < n_columns:
        return int(column)
    raise ValueError(
        f"{parameter} must name columns or give positions from 0 to {n_columns - 1}, "
        f"got {column!r}."
    )


def _shown(place: Any, names: Any) -> str:
    return f"column {int(place)}" if names is None else f"column {str(names[place])!r}"
