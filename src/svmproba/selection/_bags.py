"""The selections of many bags."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Bools
from svmproba.selection._select import Problem, select
from svmproba.solvers.runtime.tasks import Parcel, run_tasks


def select_in_bags(
    problem: Problem,
    counts: NDArray[np.unsignedinteger],
    rng: np.random.Generator,
    n_jobs: int | None,
) -> tuple[Bools, Bools]:
    """Chosen columns of every bag, and bags in which a selection was found.

    Every bag is scaled and searched by itself, so that samples left out of it have no part.
    """
    seeds = rng.integers(2**31, size=len(counts))
    support = np.zeros((len(counts), problem.X.shape[1]), dtype=bool)
    found = np.zeros(len(counts), dtype=bool)
    parcel = Parcel(problem, _unchanged, _unchanged)
    pieces = list(zip(counts, seeds, strict=True))
    for bag, chosen in run_tasks(_select_in_bag, parcel, pieces, n_jobs):
        if chosen is not None:
            found[bag] = True
            for group in chosen:
                support[bag, problem.groups[group]] = True
    return support, found


def _select_in_bag(problem: Problem, piece: Any) -> tuple[int, ...] | None:
    counts, seed = piece
    drawn = np.repeat(np.arange(len(counts)), counts)
    bag = problem._replace(X=problem.X[drawn], positive=problem.positive[drawn])
    return select(bag, np.random.default_rng(seed), proof=False).chosen


def _unchanged(content: Any) -> Any:
    return content
