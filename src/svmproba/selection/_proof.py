"""Lower bounds of the cost: selections are ruled out one by one, the cheapest first."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from svmproba._types import Floats
from svmproba.selection._boxes import FOUND, UNKNOWN, search_boxes
from svmproba.selection._task import ROUNDING, Task
from svmproba.selection._weights import Candidate

#: Boxes between two looks at the clock.
_BOXES = 10_000
#: Relative difference of costs that is rounding of their sums.
SAME = 1e-9


class Outcome(NamedTuple):
    """Best selection that is known, None for none, and a proven lower bound of the cost."""

    best: Candidate | None
    bound: float


def prove(task: Task, best: Candidate | None, boxes: int, deadline: float = -np.inf) -> Outcome:
    """Rule out all cheaper selections than the best, or find one that is then the cheapest.

    Stops after so many boxes or at the deadline, whichever is later. The bound is infinite where
    no selection reaches the floors.
    """
    limit = np.inf if best is None else task.cost(best.chosen) * (1.0 - SAME)
    usable = np.flatnonzero([np.any(task.columns[g]) for g in task.groups])
    for cost, places in _by_cost(task.costs[usable]):
        if cost >= limit:
            break
        chosen = tuple(int(usable[k]) for k in places)
        most, outcome = boxes, UNKNOWN
        while outcome == UNKNOWN:
            if most <= 0:
                if time.monotonic() >= deadline:
                    return Outcome(best, cost)
                most = _BOXES
            outcome, w, used = _decide(task, chosen, most)
            boxes -= used
            most = 2 * used if time.monotonic() < deadline else 0
        if outcome == FOUND:
            return Outcome(Candidate(chosen, w, -1.0), cost)
    return Outcome(best, np.inf if best is None else task.cost(best.chosen))


def _decide(task: Task, chosen: tuple[int, ...], most: int) -> tuple[int, Floats, int]:
    rows = np.ascontiguousarray(task.columns[task.places(chosen)])
    w = np.zeros(len(rows))
    least = 2.0 * task.margin * (1.0 - ROUNDING / 2.0)
    need = task.n_plus, task.need_plus, task.need_minus
    outcome, used = search_boxes(rows, *need, least, most, w)
    return int(outcome), w, int(used)


def _by_cost(costs: Floats) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Yield all non-empty sets of places by increasing cost."""
    order = np.argsort(costs, kind="stable")
    price = [float(cost) for cost in costs[order]]
    heap: list[tuple[float, tuple[int, ...]]] = [(price[0], (0,))] if price else []
    while heap:
        cost, places = heapq.heappop(heap)
        yield cost, tuple(int(order[k]) for k in places)
        last = places[-1]
        if last + 1 < len(price):
            heapq.heappush(heap, (cost + price[last + 1], (*places, last + 1)))
            heapq.heappush(heap, (cost - price[last] + price[last + 1], (*places[:-1], last + 1)))
