"""Cost matrices: what it costs to call a class another one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmproba._types import Floats


def check_cost_matrix(
    cost_matrix: ArrayLike, classes: NDArray[Any], n: int | None = None
) -> Floats:
    """Costs (n_classes, n_classes), true classes by called ones, or one such matrix per sample.

    A table with labels (of pandas) is put into the order of the classes; arrays are in that order.
    """
    labels = classes.tolist()
    table: Any = cost_matrix
    if hasattr(table, "index") and hasattr(table, "columns"):
        for axis, found in (("rows", list(table.index)), ("columns", list(table.columns))):
            faults = {
                "missing": [label for label in labels if label not in found],
                "unknown": [label for label in found if label not in labels],
                "more than once": [label for label in labels if found.count(label) > 1],
            }
            told = [f"{fault}: {', '.join(map(repr, bad))}" for fault, bad in faults.items() if bad]
            if told:
                raise ValueError(
                    f"cost_matrix must have each of the classes {labels!r} once among its {axis}, "
                    f"got {found!r}; {'; '.join(told)}."
                )
        table = table.loc[labels, labels].to_numpy()
    elif hasattr(table, "columns") and list(table.columns) != labels:
        raise ValueError(
            f"cost_matrix without names of the rows must have the classes {labels!r} as columns, "
            f"in this order, and rows in the same order; got columns {list(table.columns)!r}."
        )
    try:
        costs = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"cost_matrix must hold numbers, got {cost_matrix!r}.") from None
    square = (len(labels), len(labels))
    if costs.shape != square and (n is None or costs.shape != (n, *square)):
        each = "" if n is None else f" or {(n, *square)}"
        raise ValueError(
            f"cost_matrix must have shape {square}{each}, a row for each true and a column for "
            f"each called class in the order {labels!r}, got shape {costs.shape}."
        )
    bad = np.argwhere(~np.isfinite(costs))
    if len(bad):
        true, called = (labels[k] for k in bad[0][-2:])
        raise ValueError(
            f"cost_matrix must hold finite numbers, got {costs[tuple(bad[0])]} for class {true!r} "
            f"called {called!r}."
        )
    return costs


def expected_costs(P: Floats, costs: Floats) -> Floats:
    """Tell the expected cost (n, n_classes) of calling each class, from probabilities."""
    if costs.ndim == 2:
        return P @ costs
    return np.einsum("ik,ikl->il", P, costs)


def costs_of_two(costs: Floats, plus: int) -> dict[str, Floats]:
    """Costs of two classes by the names of `with_costs`."""
    minus = 1 - plus
    places = {"tp_cost": (plus, plus), "tn_cost": (minus, minus)}
    places |= {"fn_cost": (plus, minus), "fp_cost": (minus, plus)}
    return {name: costs[..., true, called] for name, (true, called) in places.items()}
