"""The members of all pairs of classes: each pair is a bootstrap ensemble of two classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray

from svmproba._types import Bools, Floats, Ints
from svmproba.bootstrap.fitting.members import Members, transformed
from svmproba.solvers.features import FeatureMap
from svmproba.solvers.kernels import Rows
from svmproba.solvers.runtime.tasks import in_threads
from svmproba.solvers.runtime.threads import as_done

Pair = tuple[int, int]


class ClassMembers(NamedTuple):
    """Members of the pairs (0, 1), (0, 2), ..., (1, 2), ...; positive for the second class."""

    n_classes: int
    of_pair: list[Members]
    columns: list[Ints] | None  # kernel values that each pair reads, precomputed ones only

    @property
    def pairs(self) -> list[Pair]:
        """Places of the classes of every pair."""
        return list(combinations(range(self.n_classes), 2))

    @property
    def intercept(self) -> Floats:
        """Intercepts (n_pairs, n_theta, n_bootstraps)."""
        return np.stack([members.intercept for members in self.of_pair])

    @property
    def feature_maps(self) -> list[FeatureMap]:
        """Feature maps of the first pair; those of the others have the same kernels."""
        return self.of_pair[0].feature_maps

    def rows(self, pair: int, X: Rows) -> Iterator[Rows]:
        """Yield the rows of samples for each family of one pair."""
        yield from transformed(
            self.of_pair[pair], X if self.columns is None else X[:, self.columns[pair]]
        )


class PairSamples(NamedTuple):
    """Samples of a pair, among all samples."""

    places: Ints  # (m,)
    positive: Bools  # (m,), which belong to the second class


def samples_of_pairs(label: NDArray[np.integer[Any]], n_classes: int) -> list[PairSamples]:
    """Find the samples of every pair, from the places of their labels among the classes."""
    found = []
    for first, second in combinations(range(n_classes), 2):
        places = np.flatnonzero((label == first) | (label == second))
        found.append(PairSamples(places, label[places] == second))
    return found


def fit_pairs(
    fit: Callable[..., Any],
    X: Rows,
    pairs: Sequence[PairSamples],
    counts: NDArray[np.uint8],
    *,
    pairwise: bool,
    in_turn: bool,
    n_jobs: int | None,
    report: Callable[[int], None],
) -> list[Any]:
    """Call ``fit(place, X, positive, counts, n_jobs, report)`` with the samples of every pair.

    Pairs are small, so threads take whole pairs where there are enough of them; with few pairs, or
    where joblib sends tasks to other processes, or `in_turn`, as on a device that one thread
    commands, the bags of one pair are divided. The result does not depend on that. `report` is
    called in the calling thread.
    """
    stop: list[bool] = []

    def fit_pair(place: int, n_jobs: int | None, report: Callable[[int], None]) -> Any:
        chosen, positive = pairs[place]
        rows = X[chosen]
        if pairwise:
            rows = rows[:, chosen]
        return fit(place, rows, positive, counts[:, chosen], n_jobs=n_jobs, report=report)

    n_threads = joblib.effective_n_jobs(n_jobs)
    if in_turn or not in_threads() or n_threads == 1 or len(pairs) < 2 * n_threads:
        return [fit_pair(place, n_jobs, report) for place in range(len(pairs))]

    def in_thread(place: int) -> tuple[Any, int]:
        done = [0]

        def note(n_done: int) -> None:
            done[0] += n_done
            if stop:
                raise KeyboardInterrupt

        return fit_pair(place, 1, note), done[0]

    results = {}
    try:
        for place, (result, n_done) in as_done(in_thread, range(len(pairs)), n_threads):
            results[place] = result
            report(n_done)
    except BaseException:
        stop.append(True)  # pairs that still run in threads end after their block
        raise
    return [results[place] for place in range(len(pairs))]


def no_tally(scores: Any, counts: Any) -> tuple[Floats, Floats]:
    """Tally nothing: votes of several classes need the scores of all pairs."""
    return np.zeros((1, 1)), np.zeros((scores.shape[1], len(counts)))
