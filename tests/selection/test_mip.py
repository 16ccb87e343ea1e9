import numpy as np
import pytest

from svmproba.selection import _mip
from svmproba.selection._mip import _reach, cost_step, round_up, solve_exact, widest
from svmproba.selection._task import gaps, threshold
from svmproba.selection._weights import Candidate

from .enumeration import cheapest, noisy
from .test_proof import task_of

FLOORS = (0.8, 0.75)


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_without_a_start(solver):
    if solver == "scip":
        pytest.importorskip("pyscipopt")
    X, positive = noisy(5, 24, 5)
    task = task_of(X, positive, FLOORS)
    best, bound = solve_exact(task, solver, 60.0, None, np.random.default_rng(0))
    least = cheapest(X, positive, FLOORS)
    assert task.cost(best.chosen) == bound == least
    assert threshold(task, task.places(best.chosen), best.w) is not None


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_no_rule_is_proven(solver):
    if solver == "scip":
        pytest.importorskip("pyscipopt")
    X = np.arange(6.0)[:, None]
    task = task_of(X, np.array([True, False] * 3), (1.0, 1.0))
    assert solve_exact(task, solver, 30.0, None, np.random.default_rng(0)) == (None, np.inf)


def test_no_time_leaves_the_start():
    X, positive = noisy(5, 24, 5)
    task = task_of(X, positive, FLOORS)
    start = Candidate((0, 1, 2), np.ones(3), -1.0)
    best, bound = solve_exact(task, "highs", 0.0, start, np.random.default_rng(0))
    assert best is start
    assert bound <= 3


def test_a_rule_that_is_right_within_tolerances_alone_ends_the_search(monkeypatch):
    X, positive = noisy(5, 24, 5)
    task = task_of(X, positive, FLOORS)
    start = Candidate((0, 1, 2, 3, 4), np.ones(5), -1.0)
    checked = []
    monkeypatch.setattr(_mip, "_checked", lambda task, weights, rng: checked.append(weights))
    best, bound = solve_exact(task, "highs", 20.0, start, np.random.default_rng(0))
    assert best is start
    assert bound <= cheapest(X, positive, FLOORS)
    assert len(checked) == 1


def test_scores_stay_within_reach():
    X, positive = noisy(2, 20, 5)
    costs = np.array([1.0, 2.0, 1.0, 3.0, 1.5])
    task = task_of(X, positive, FLOORS, costs)
    limit = 4.0
    reach = _reach(task, limit)
    for chosen in [(0, 1, 2), (3, 0), (1, 4), (2, 3), (0, 2, 4)]:
        assert costs[list(chosen)].sum() <= limit
        assert (np.abs(task.columns[list(chosen)]).sum(axis=0) <= reach + 1e-12).all()


def test_steps_between_costs():
    assert cost_step(np.array([2.0, 4.0, 6.0])) == 2
    assert round_up(2.3, np.array([2.0, 4.0])) == 4
    assert round_up(2.0 + 1e-9, np.array([2.0, 4.0])) == 2
    assert round_up(2.3, np.array([0.5, 4.0])) == 2.3


def test_the_margin_grows():
    X, positive = noisy(0, 40, 3)
    task = task_of(X, positive, (0.7, 0.7))
    w = np.array([1.0, 0.3, 0.1])

    def margin(w):
        scores = w @ task.columns
        return gaps(task, scores[: task.n_plus], scores[task.n_plus :]) / np.abs(w).max()

    assert margin(widest(task, (0, 1, 2), w)) > margin(w)
