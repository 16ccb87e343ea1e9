"""One selection: search, proof, and the solvers of others."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from svmproba._types import Bools, Floats, Ints
from svmproba.selection._mip import solve_exact
from svmproba.selection._proof import SAME, Outcome, prove
from svmproba.selection._search import find_selection
from svmproba.selection._task import Task, make_task, standardise, threshold
from svmproba.selection._weights import constrained, improve

SOLVERS = ("search", "bb", "scip", "highs")
#: Boxes times samples of the proof after a search.
_PROOF = 10_000_000
#: Disturbed starts for the best rates in an error message.
_KICKS = 5


class Problem(NamedTuple):
    """What a selection starts from, with the columns as they are."""

    X: Floats
    positive: Bools
    floors: tuple[float, float]
    groups: list[Ints]
    costs: Floats
    max_weight: float


class Selection(NamedTuple):
    """Chosen groups with a rule on all columns, or None, and what is proven."""

    chosen: tuple[int, ...] | None
    coef: Floats
    intercept: float
    cost: float
    bound: float

    @property
    def status(self) -> str:
        """Whether the bound proves the cost, or that there is no selection."""
        if self.chosen is None:
            return "infeasible" if np.isinf(self.bound) else "not found"
        return "optimal" if self.bound >= self.cost * (1.0 - SAME) else "feasible"


def select(
    problem: Problem,
    rng: np.random.Generator,
    solver: str = "search",
    time_limit: float = 60.0,
    proof: bool = True,
) -> Selection:
    """Choose the cheapest groups. Without `proof` the search alone runs, as for many bags."""
    Z, scale = standardise(problem.X)
    task = make_task(Z, *problem[1:])
    coef = np.zeros(Z.shape[1])
    if min(task.need_plus, task.need_minus) == 0:  # a constant rule is enough
        return Selection((), coef, 1.0 if task.need_plus else -1.0, 0.0, 0.0)
    best, bound = _solve(task, rng, solver, time_limit, proof)
    if best is None:
        return Selection(None, coef, 0.0, np.inf, bound)
    places = task.places(best.chosen)
    middle = threshold(task, places, best.w)
    assert middle is not None
    # Back to the columns as they are, scaled so that the margins are at least 1.
    factor = problem.max_weight / np.abs(best.w).max()
    coef[places] = factor * best.w / scale.deviation[places]
    intercept = -factor * middle - float(coef @ scale.mean)
    return Selection(best.chosen, coef, intercept, task.cost(best.chosen), bound)


def _solve(
    task: Task, rng: np.random.Generator, solver: str, time_limit: float, proof: bool
) -> Outcome:
    deadline = time.monotonic() + time_limit if solver == "bb" else -np.inf
    if not proof:
        return Outcome(find_selection(task, rng, searches=1), 0.0)
    best = find_selection(task, rng)
    best, bound = prove(task, best, _PROOF // task.columns.shape[1], deadline)
    cost = np.inf if best is None else task.cost(best.chosen)
    if solver not in ("scip", "highs") or bound >= cost * (1.0 - SAME):
        return Outcome(best, bound)
    found = solve_exact(task, solver, time_limit, best, rng)
    return Outcome(found.best, max(bound, found.bound))


def best_rates(problem: Problem, rng: np.random.Generator) -> tuple[float, float]:
    """Best TNR that was found at the floor under the TPR, and the other way round."""
    Z, _ = standardise(problem.X)
    task = make_task(Z, *problem[1:])
    everything = tuple(g for g in range(len(task.groups)) if np.any(task.columns[task.groups[g]]))
    sizes = task.n_plus, task.columns.shape[1] - task.n_plus
    best = []
    for name, n in (("need_minus", sizes[1]), ("need_plus", sizes[0])):
        low, high = 0, getattr(task, name)
        while high - low > 1 and everything:
            middle = (low + high) // 2
            eased = task._replace(**{name: middle})
            found = improve(eased, everything, [], rng, _KICKS)
            if found.shortfall >= 0.0:
                found = constrained(eased, found, int(rng.integers(2**31)))
            low, high = (middle, high) if found.shortfall < 0.0 else (low, middle)
        best.append(low / n)
    return best[0], best[1]
