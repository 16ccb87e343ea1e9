import numpy as np
import pytest

from svmproba.selection._search import find_selection, l1_path
from svmproba.selection._task import threshold
from svmproba.selection._weights import (
    Candidate,
    constrained,
    extensions,
    group_directions,
    improve,
)

from .enumeration import noisy
from .test_proof import task_of


def test_weights_without_shortfall_have_a_threshold():
    X, positive = noisy(0, 200, 6)
    task = task_of(X, positive, (0.85, 0.85))
    found = improve(task, (0, 1, 2), [], np.random.default_rng(0))
    assert found.shortfall < 0
    assert threshold(task, np.arange(3), found.w) is not None
    missed = improve(task, (3, 4, 5), [], np.random.default_rng(0))
    assert missed.shortfall > 0
    assert threshold(task, np.array([3, 4, 5]), missed.w) is None


def test_shortfall_counts_what_is_missing():
    """One column, best threshold between 2 and 3: one positive of four is missing."""
    X = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.5])[:, None]
    positive = np.array([0, 0, 0, 1, 1, 1, 0, 1], dtype=bool)
    task = task_of(X, positive, (1.0, 0.75))
    found = improve(task, (0,), [], np.random.default_rng(0))
    # Correct samples beyond the floors count a little.
    assert found.shortfall == pytest.approx(0.25, abs=0.5 / 4)


def test_a_column_may_have_samples_at_its_mean():
    X = np.column_stack([np.arange(-4.0, 5.0), np.zeros(9)])
    task = task_of(X, X[:, 0] > 0.5, (1.0, 1.0))
    assert (task.columns[0] == 0.0).any()
    assert find_selection(task, np.random.default_rng(0)).chosen == (0,)


def test_the_informative_column_is_the_best_extension():
    X, positive = noisy(0, 300, 8, informative=1)
    task = task_of(X, positive, (0.9, 0.9))
    nothing = Candidate((), np.empty(0), 0.9)
    first, *_ = extensions(task, group_directions(task), nothing, np.arange(8), 3)
    assert first.chosen == (0,)
    assert first.shortfall < 0.9


def test_the_path_goes_from_few_columns_to_many():
    X, positive = noisy(0, 300, 8, informative=2)
    sizes = [np.count_nonzero(w) for w in l1_path(task_of(X, positive, (0.9, 0.9)))]
    assert sizes[0] <= 2
    assert sizes[-1] == 8


def test_constrained_svm_reaches_what_lines_miss():
    X, positive = noisy(1, 150, 12, informative=12, noise=0.0)
    task = task_of(X, positive, (1.0, 1.0))
    start = Candidate(tuple(range(12)), np.eye(12)[0], 1.0)
    found = constrained(task, start, 0)
    assert found.shortfall < 0
    assert threshold(task, np.arange(12), found.w) is not None


def test_separable_tables_are_searched_from_all_columns():
    X, positive = noisy(1, 150, 12, informative=12, noise=0.0)
    task = task_of(X, positive, (1.0, 1.0))
    found = find_selection(task, np.random.default_rng(0))
    assert len(found.chosen) == 12
    assert threshold(task, task.places(found.chosen), found.w) is not None
