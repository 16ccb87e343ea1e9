"""Tiny constrained SVMs of every kind, and their optima by closed form.

Nothing here calls the code that is judged by it. At an optimum some records :math:`A` lie on their
margin (a bias that no record holds can move until one does), others :math:`B` have slack, and

.. math:: w = \\arg\\min\\ \\tfrac12\\|w\\|^2 - C\\sum_{i\\in B}c_iy_i(w^\\top x_i + b)
   \\quad\\text{s.t.}\\quad w^\\top x_i + b = y_i,\\ i\\in A,

which is a projection. All points of this form, for all :math:`A` and :math:`B`, are tried.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

#: Margins and masses that are missed by so little are held: rounding.
_MARGIN, _MASS = 1e-9, 1e-12
#: Every choice of floors.
_KINDS = [
    names
    for size in (1, 2, 3)
    for names in combinations(("min_tpr", "min_tnr", "min_accuracy"), size)
]


class Tiny(NamedTuple):
    rows: Any
    signs: Any
    weight: Any
    C: float
    floors: dict[str, float]


def needs(signs: Any, weight: Any, floors: dict[str, float]) -> tuple[Any, Any]:
    """Return the mass that the floors ask for, and which records count for each."""
    groups = np.stack([signs > 0, signs < 0, signs != 0], 1) * weight[:, None]
    names = ("min_tpr", "min_tnr", "min_accuracy")
    return np.array([floors.get(name, 0.0) for name in names]) * groups.sum(0), groups


def optimum(problem: Tiny) -> float:
    """Least value, infinite where the floors clash."""
    here = problem.weight > 0
    rows, signs, weight = (part[here] for part in problem[:3])
    n, d = rows.shape
    slack = np.arange(2**n)[:, None] >> np.arange(n) & 1
    pull = problem.C * slack * weight * signs  # (2^n, n)
    points = []
    for size in range(1, min(n, d + 1) + 1):
        held = np.array(list(combinations(range(n), size)))
        first, others = held[:, 0], held[:, 1:]
        ways = rows[others] - rows[first][:, None]  # (m, size - 1, d)
        inverse = np.linalg.pinv(ways, rcond=1e-10)
        w = np.einsum("mji,mi->mj", inverse, signs[others] - signs[first][:, None])[:, None]
        if size <= d:
            rest = np.eye(d) - inverse @ ways
            toward = (pull @ rows)[None] - pull.sum(1)[None, :, None] * rows[first][:, None]
            w = w + np.einsum("mij,mpj->mpi", rest, toward)
        b = signs[first][:, None] - np.einsum("mpi,mi->mp", w, rows[first])
        points.append(np.concatenate([w, b[..., None]], -1).reshape(-1, d + 1))
    w, b = np.split(np.concatenate(points), [d], axis=1)
    margins = signs * (w @ rows.T + b)
    rounding = _MARGIN * (1 + np.abs(w) @ np.abs(rows).max(0))[:, None]
    need, groups = needs(signs, weight, problem.floors)
    mass = (margins >= 1 - rounding) @ groups
    fits = (mass >= need - _MASS * groups.sum(0)).all(1)
    value = 0.5 * (w**2).sum(1) + problem.C * (np.maximum(1 - margins, 0) @ weight)
    return float(value[fits].min(initial=np.inf))


def tiny(seed: int) -> Tiny:
    """Draw 3 to 7 records of 1 or 2 columns: grids, ties, copies, weights, all kinds of floors."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 8)), int(rng.integers(1, 3))
    rows = (
        lambda: rng.integers(-2, 3, (n, d)).astype(float),
        lambda: np.round(rng.normal(size=(n, d)), 1),
        lambda: rng.normal(size=(n, d)),
        lambda: rng.normal(size=(n, d))[rng.integers(n, size=n)],
    )[rng.integers(4)]()
    signs = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    weight = (
        lambda: np.ones(n),
        lambda: rng.integers(0, 4, n).astype(float),
        lambda: rng.uniform(0.2, 3.0, n),
        lambda: 0.1 * rng.integers(1, 5, n),
    )[rng.integers(4)]()
    signs[:2], weight[:2] = (1.0, -1.0), np.maximum(weight[:2], 0.1)
    names = _KINDS[rng.integers(len(_KINDS))]
    levels = [0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, rng.random()]
    floors = {name: float(rng.choice(levels)) for name in names}
    return Tiny(rows, signs, weight, float(10 ** rng.uniform(-3, 2)), floors)
