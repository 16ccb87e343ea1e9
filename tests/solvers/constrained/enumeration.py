"""The constrained SVM by looking at all choices of hard margins."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from svmproba.solvers.constrained.single import Constrained

from ..twins import Instance, clarabel_solution


def hard_value(rows: Any, signs: Any, weight: Any, C: float, chosen: Any) -> float:
    """Value of a choice of hard margins, by an interior-point method."""
    bounds = np.where(chosen & (weight > 0), np.inf, C * weight)
    return clarabel_solution(Instance(rows, signs, np.ones(len(signs)), bounds)).value


def classes(signs: Any) -> Any:
    """The positives, the negatives, all."""
    return np.array([signs > 0, signs < 0, signs != 0])


def enumerated(rows: Any, signs: Any, weight: Any, C: float, need: Any, sets: Any = None) -> float:
    """Least value over all choices that satisfy the floors."""
    sets = classes(signs) if sets is None else sets
    index, best = np.flatnonzero(sets[need > 0].any(axis=0) & (weight > 0)), np.inf
    for bits in product((False, True), repeat=len(index)):
        chosen = np.zeros(len(signs), bool)
        chosen[index] = bits
        if np.all((sets & chosen) @ weight >= need):
            best = min(best, hard_value(rows, signs, weight, C, chosen))
    return best


def check_point(
    found: Constrained, rows: Any, signs: Any, weight: Any, C: float, need: Any, sets: Any = None
) -> None:
    """Feasible, counted here, and worth what it says."""
    sets = classes(signs) if sets is None else sets
    margins = signs * (rows @ found.coef + found.intercept)
    assert np.all((sets & (margins >= 1.0)) @ weight >= need)
    slack = np.maximum(1.0 - margins, 0.0)
    value = 0.5 * found.coef @ found.coef + C * (weight @ slack)
    assert found.objective == pytest.approx(value, rel=1e-9)
    assert found.bound <= found.objective
    assert np.array_equal(found.satisfied, margins >= 1.0)
