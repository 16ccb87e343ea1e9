from itertools import combinations

import numpy as np
import pytest

from svmproba.selection._boxes import FOUND, IMPOSSIBLE, search_boxes
from svmproba.selection._proof import _by_cost, prove
from svmproba.selection._task import ROUNDING, make_task, standardise, threshold
from svmproba.selection._weights import Candidate

from .enumeration import can_reach, noisy


def task_of(X, positive, floors, costs=None):
    p = X.shape[1]
    costs = np.ones(p) if costs is None else costs
    groups = [np.array([k]) for k in range(p)]
    return make_task(standardise(X)[0], positive, floors, groups, costs, 100.0)


def rounded(X):
    """Few distinct values, so that many scores are equal."""
    return np.round(standardise(X)[0])


@pytest.mark.parametrize("prepare", [np.asarray, rounded])
@pytest.mark.parametrize("seed", range(3))
def test_boxes_decide_as_a_mixed_integer_program(seed, prepare):
    X, positive = noisy(seed, 30, 4, noise=1.0)
    X = prepare(X)
    floors = (0.75, 0.7)
    task = task_of(X, positive, floors)
    need = task.n_plus, task.need_plus, task.need_minus
    outcomes = set()
    for m in (1, 2, 3):
        for chosen in combinations(range(4), m):
            rows, w = np.ascontiguousarray(task.columns[list(chosen)]), np.zeros(m)
            outcome, _ = search_boxes(rows, *need, 0.02 * (1 - ROUNDING / 2), 100_000, w)
            expected = can_reach(standardise(X)[0][:, list(chosen)], positive, need[1:])
            assert outcome == (FOUND if expected else IMPOSSIBLE)
            if expected:
                assert threshold(task, np.array(chosen), w) is not None
            outcomes.add(outcome)
    assert len(outcomes) == 2


def test_too_few_boxes_prove_nothing():
    X, positive = noisy(0, 60, 6, informative=6, noise=0.0)
    task = task_of(X, positive, (0.9, 0.9))
    everything = Candidate(tuple(range(6)), np.ones(6), -1.0)
    assert prove(task, everything, boxes=30).bound < prove(task, everything, boxes=10**6).bound


def test_bound_is_infinite_where_nothing_reaches_the_floors():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    task = task_of(X, np.array([True, False, True, False]), (1.0, 1.0))
    assert prove(task, None, boxes=10_000) == (None, np.inf)


def test_a_cheaper_selection_is_found():
    X, positive = noisy(1, 40, 4, informative=1, noise=0.0)
    task = task_of(X, positive, (0.9, 0.9), costs=np.array([2.0, 1.0, 1.0, 1.0]))
    best, bound = prove(task, Candidate((0, 1, 2, 3), np.ones(4), -1.0), boxes=100_000)
    assert best.chosen == (0,)
    assert bound == 2


def test_sets_come_by_increasing_cost():
    costs = np.array([3.0, 1.0, 2.5, 1.0])
    found = list(_by_cost(costs))
    assert len({chosen for _, chosen in found}) == 15
    values = [cost for cost, _ in found]
    assert values == sorted(values)
    assert all(cost == pytest.approx(costs[list(chosen)].sum()) for cost, chosen in found)
