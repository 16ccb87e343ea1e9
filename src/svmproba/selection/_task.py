r"""The problem of a selection, as arrays.

Columns are scaled to mean 0 and variance 1. A rule has weights :math:`|w_k|\le1` and a sample
counts as correct if :math:`y(w^\top z+b)\ge\delta` with :math:`\delta` the inverse of the largest
weight that the user allows at a margin of 1. Both say the same, since :math:`(w,b)` may be scaled.
For given weights a threshold exists if and only if

.. math:: q_+(w)-q_-(w)\ge2\delta,

with :math:`q_+` the score that the needed number of positives reach and :math:`q_-` the score that
the needed number of negatives do not exceed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmproba._types import Bools, Floats, Ints

#: Share of the margin that rounding may take. Proofs ask for a little more than rules have to keep.
ROUNDING = 1e-6


class Task(NamedTuple):
    """Scaled columns with the positives first, what must be correct, and what columns cost."""

    columns: Floats  # (p, n)
    n_plus: int
    need_plus: int
    need_minus: int
    groups: list[Ints]  # columns that are chosen together
    costs: Floats  # (n_groups,)
    margin: float  # δ, for weights of at most 1

    def places(self, chosen: tuple[int, ...]) -> Ints:
        """Columns of some groups."""
        return np.concatenate([np.empty(0, np.intp), *(self.groups[g] for g in chosen)])

    def cost(self, chosen: tuple[int, ...]) -> float:
        """Cost of some groups, each paid once."""
        return float(self.costs[list(chosen)].sum())


class Scale(NamedTuple):
    """Means and deviations by which columns were scaled."""

    mean: Floats
    deviation: Floats


def standardise(X: Floats) -> tuple[Floats, Scale]:
    """Scale columns to mean 0 and variance 1; constant ones become 0."""
    mean = X.mean(axis=0)
    centred = X - mean
    size = np.abs(X).max(axis=0)
    deviation = np.sqrt(np.mean(centred * centred, axis=0))
    # Rounding of the mean leaves some deviation in a constant column.
    deviation = np.where(deviation > 1e-13 * size, deviation, np.inf)
    return centred / deviation, Scale(mean, deviation)


def make_task(
    Z: Floats,
    positive: Bools,
    floors: tuple[float, float],
    groups: list[Ints],
    costs: Floats,
    max_weight: float,
) -> Task:
    """Sort the samples and turn rates into numbers of samples."""
    columns = np.ascontiguousarray(np.concatenate([Z[positive], Z[~positive]]).T)
    n_plus = int(positive.sum())
    sizes = n_plus, len(positive) - n_plus
    # A floor of 0.7 of 10 samples is 7 of them, although 0.7 * 10 is above 7 in some cases.
    need = [int(np.ceil(floor * n - 1e-9)) for floor, n in zip(floors, sizes, strict=True)]
    return Task(columns, n_plus, need[0], need[1], groups, costs, 1.0 / max_weight)


def gaps(task: Task, plus: Floats, minus: Floats) -> Floats:
    """Distance from the score of the needed negatives to that of the needed positives, by row."""
    place = plus.shape[-1] - task.need_plus
    high = np.partition(plus, place, axis=-1)[..., place]
    low = np.partition(minus, task.need_minus - 1, axis=-1)[..., task.need_minus - 1]
    return np.asarray(high - low)


def threshold(task: Task, places: Ints, w: Floats) -> float | None:
    """Middle of the gap for these weights, None where they do not reach the floors."""
    scores = w @ task.columns[places]
    plus, minus = scores[: task.n_plus], scores[task.n_plus :]
    gap = gaps(task, plus, minus)
    if gap < 2.0 * task.margin * np.abs(w).max() * (1.0 - ROUNDING):
        return None
    low = np.partition(minus, task.need_minus - 1)[task.need_minus - 1]
    return float(low + gap / 2.0)
