"""Search for the cheapest groups of columns: add, drop and swap.

The shortfall of the best known weights ranks selections that do not reach the floors yet. Groups
are added until the floors are reached, from none and along an l1 path. Then the search asks for
less: it looks for a selection below the best cost, among the neighbours of those met so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from svmproba._types import Floats
from svmproba.selection._task import Task
from svmproba.selection._weights import (
    Candidate,
    constrained,
    extensions,
    group_directions,
    improve,
)

#: Selections that are extended at once, and those among their extensions that are improved.
_BEAM, _TRIED = 3, 16
#: Starts of a search below the best cost.
_STARTS = 4
#: Groups up to which one search is enough.
_SMALL = 3
#: Groups that are added in a row without a smaller shortfall before the search starts elsewhere.
_IN_VAIN = 3
#: Penalties of the l1 path as shares of the largest, and the steps for each.
_PATH, _PATH_STEPS = np.geomspace(0.5, 1e-3, 8), 50


def find_selection(task: Task, rng: np.random.Generator, searches: int = 2) -> Candidate | None:
    """Cheap selection that reaches the floors, None where none was found.

    Small selections are left to the proof; others are searched again, in other directions.
    """
    best: Candidate | None = None
    for _ in range(searches):
        found = _search(task, rng)
        if best is None or (found is not None and task.cost(found.chosen) < task.cost(best.chosen)):
            best = found
        if best is None or len(best.chosen) <= _SMALL:
            break
    return best


def _search(task: Task, rng: np.random.Generator) -> Candidate | None:
    """Search once."""
    search = _Search(task, rng)
    if not len(search.usable):
        return None
    best = search.grown() or search.from_path()
    while best is not None:
        cheaper = search.below(best)
        if cheaper is None:
            break
        best = cheaper
    return best


class _Search:
    """Selections met so far."""

    def __init__(self, task: Task, rng: np.random.Generator) -> None:
        self.task, self.rng = task, rng
        self.directions = group_directions(task)
        self.usable = np.flatnonzero([np.any(task.columns[g]) for g in task.groups])
        n_minus = task.columns.shape[1] - task.n_plus
        # A constant rule falls short of one floor.
        self.nothing = min(task.need_plus / task.n_plus, task.need_minus / n_minus)
        self.known: dict[frozenset[int], Candidate] = {}

    def improved(self, start: Candidate) -> Candidate:
        """Improve the weights of a selection, once for each selection."""
        key = frozenset(start.chosen)
        if key not in self.known:
            self.known[key] = improve(self.task, start.chosen, [start.w], self.rng)
        return self.known[key]

    def grown(self) -> Candidate | None:
        """Add groups one by one until the floors are reached."""
        front, least, in_vain = [Candidate((), np.empty(0), self.nothing)], np.inf, 0
        while front and in_vain < _IN_VAIN:
            larger = _distinct(c for given in front for c in self._larger(given, np.inf))
            front = [self.improved(c) for c in sorted(larger, key=self._projected)[:_TRIED]]
            front.sort(key=self._projected)
            if front and front[0].shortfall < 0.0:
                return front[0]
            here = min((c.shortfall for c in front), default=least)
            in_vain = in_vain + 1 if here >= least else 0
            least, front = min(least, here), front[:_BEAM]
        return None

    def from_path(self) -> Candidate | None:
        """Take the first selection on an l1 path, or all groups."""
        w = np.zeros(len(self.task.columns))  # stays where no column differs between the classes
        for w in l1_path(self.task):
            chosen = tuple(int(g) for g in self.usable if w[self.task.groups[g]].any())
            here = self.improved(Candidate(chosen, w[self.task.places(chosen)], np.inf))
            if here.shortfall < 0.0:
                return here
        everything = tuple(int(g) for g in self.usable)
        here = improve(self.task, everything, [w[self.task.places(everything)]], self.rng)
        if here.shortfall >= 0.0:
            here = constrained(self.task, here, int(self.rng.integers(2**31)))
        return here if here.shortfall < 0.0 else None

    def below(self, best: Candidate) -> Candidate | None:
        """Look for a cheaper selection than the best one."""
        limit = self.task.cost(best.chosen) * (1.0 - 1e-9)
        for smaller in self._smaller(best):
            if self.improved(smaller).shortfall < 0.0:
                return self.improved(smaller)
        near = [c for c in self.known.values() if self.task.cost(c.chosen) < limit]
        near.sort(key=lambda c: c.shortfall)
        for start in near[:_STARTS]:
            end = self._descended(start, limit)
            if end.shortfall < 0.0:
                return end
        return None

    def _descended(self, here: Candidate, limit: float) -> Candidate:
        """Add or swap groups while this makes the shortfall smaller."""
        while here.shortfall >= 0.0:
            bases = [here, *map(self.improved, self._smaller(here))]
            around = _distinct(c for base in bases for c in self._larger(base, limit))
            around.sort(key=lambda c: c.shortfall)
            best = min(map(self.improved, around[:_TRIED]), key=lambda c: c.shortfall, default=here)
            if best.shortfall >= here.shortfall:
                break
            here = best
        return here

    def _larger(self, given: Candidate, limit: float) -> list[Candidate]:
        """Extensions by one group within the limit."""
        room = limit - self.task.cost(given.chosen)
        fits = (self.task.costs[self.usable] <= room) & ~np.isin(self.usable, given.chosen)
        # Enough to be left with others after those in common with other selections.
        most = _TRIED + len(given.chosen)
        groups = self.usable[fits]
        return extensions(self.task, self.directions, given, groups, most) if len(groups) else []

    def _smaller(self, given: Candidate) -> Iterator[Candidate]:
        """Yield selections without one of the groups, the costliest first."""
        ends = np.cumsum([len(self.task.groups[g]) for g in given.chosen])
        parts = np.split(given.w, ends[:-1])
        for k in sorted(range(len(parts)), key=lambda k: -self.task.costs[given.chosen[k]]):
            if len(parts) > 1:
                rest = given.chosen[:k] + given.chosen[k + 1 :]
                yield Candidate(rest, np.concatenate(parts[:k] + parts[k + 1 :]), np.inf)

    def _projected(self, candidate: Candidate) -> float:
        """Cost at which nothing would be missing if cost went on to work as it did so far."""
        gained = max(self.nothing - candidate.shortfall, 1e-9)
        return self.task.cost(candidate.chosen) * self.nothing / gained


def _distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Leave the best candidate of each selection."""
    best: dict[frozenset[int], Candidate] = {}
    for candidate in candidates:
        key = frozenset(candidate.chosen)
        if key not in best or candidate.shortfall < best[key].shortfall:
            best[key] = candidate
    return list(best.values())


def l1_path(task: Task) -> Iterator[Floats]:
    r"""Weights of least squares with classes of equal weight and the penalty :math:`\lambda|w|_1`.

    The penalty of a column is multiplied by the cost of its group. Accelerated proximal steps,
    from strong to weak penalties.
    """
    (p, n), n_plus = task.columns.shape, task.n_plus
    plus = np.arange(n) < n_plus
    share = np.where(plus, 0.5 / n_plus, 0.5 / (n - n_plus))
    target = np.where(plus, 1.0, -1.0)
    columns = task.columns - (task.columns @ share)[:, np.newaxis]
    factor = np.empty(p)
    for places, cost in zip(task.groups, task.costs, strict=True):
        factor[places] = cost
    pull = columns @ (share * target)
    norm = np.linalg.norm(columns * np.sqrt(share), 2) ** 2
    largest = np.abs(pull / factor).max()
    w = np.zeros(p)
    for penalty in _PATH * largest:
        ahead, momentum = w, 1.0
        for _ in range(_PATH_STEPS):
            step = ahead + (pull - columns @ (share * (ahead @ columns))) / norm
            new = np.sign(step) * np.maximum(np.abs(step) - penalty * factor / norm, 0.0)
            before, momentum = momentum, (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            ahead, w = new + (before - 1.0) / momentum * (new - w), new
        if w.any():
            yield w
