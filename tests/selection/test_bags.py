"""Selections in bags, as drawn by one generator."""

import numpy as np

from svmproba.selection import _bags
from svmproba.selection._select import Problem, Selection


def test_every_search_draws_other_numbers(monkeypatch):
    seen = []

    def select(bag, rng, proof):
        seen.append(rng.random())
        return Selection(None, np.zeros(2), 0.0, np.inf, np.inf)

    monkeypatch.setattr(_bags, "select", select)
    X, positive = np.arange(8.0).reshape(4, 2), np.arange(4) % 2 == 0
    groups = [np.array([0]), np.array([1])]
    problem = Problem(X, positive, (0.5, 0.5), groups, np.ones(2), np.inf)
    counts = np.ones((200, 4), np.uint8)
    _bags.select_in_bags(problem, counts, np.random.default_rng(0), n_jobs=1)
    assert len(set(seen)) == 200
