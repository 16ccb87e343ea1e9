"""The compiled passes over scores and wins, against plain counting; also by `make uncompiled`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from svmproba.bootstrap.classes.calls_rows import (
    add_scores,
    count_calls,
    find_levels,
    mix_calls,
    note_wins,
)

RNG = np.random.default_rng(0)
N_CLASSES, N, N_BAGS = 4, 12, 5
WINS = RNG.integers(0, 7, (N_CLASSES, N, N_BAGS)).astype(np.uint8)
COUNTED = RNG.integers(0, 3, (N, N_BAGS)).astype(float)


def shared_calls():
    """What each class gets of the call of a bag (n_classes, n, n_bags)."""
    won = WINS.max(axis=0) == WINS
    return won / won.sum(axis=0)


def space():
    return np.empty(N_BAGS, np.uint8), np.empty(N_BAGS)


def test_ties_are_shared():
    # Samples: a cycle of three classes, a score of zero, two classes that tie behind a third.
    scores = {(0, 1): [-1.0, 0.0, 1.0], (0, 2): [1.0, -1.0, 1.0], (1, 2): [-1.0, -1.0, 1.0]}
    wins = np.zeros((3, 3, 1), np.uint8)
    for (first, second), values in scores.items():
        note_wins(np.array(values)[:, np.newaxis], np.zeros(1), wins, first, second)
    assert wins[:, :, 0].T.tolist() == [[2, 2, 2], [3, 3, 0], [0, 2, 4]]
    shares, right = np.empty((3, 3)), np.zeros((3, 1))
    label, space = np.array([0, -1, 2]), (np.empty(1, np.uint8), np.empty(1))
    count_calls(wins, np.ones((3, 1)), label, *space, shares, right)
    assert_allclose(shares, [[1 / 3, 1 / 3, 1 / 3], [1 / 2, 1 / 2, 0], [0, 0, 1]])
    assert_allclose(right[:, 0], [1 / 3, 0, 1])


def test_calls_are_counted_in_the_bags_that_count():
    shares, right = np.empty((N, N_CLASSES)), np.zeros((N_CLASSES, N_BAGS))
    label = np.arange(N) % (N_CLASSES + 1) - 1
    count_calls(WINS, COUNTED, label, *space(), shares, right)
    calls = shared_calls() * COUNTED
    assert_allclose(shares, calls.sum(axis=2).T)
    for k in range(N_CLASSES):
        assert_allclose(right[k], calls[k, label == k].sum(axis=0))


def test_calls_are_mixed_with_weights():
    mixed = np.ones((N, N_CLASSES, N_BAGS))
    mix_calls(WINS, 0.3, np.ones((N, N_BAGS)), *space(), mixed)
    assert_allclose(mixed, 1.0 + 0.3 * shared_calls().transpose(1, 0, 2))


def test_scores_are_summed_over_the_bags_that_count():
    products, intercept, sums = RNG.normal(size=(N, N_BAGS)), RNG.normal(size=N_BAGS), np.empty(N)
    add_scores(products, intercept, COUNTED, sums)
    assert_allclose(sums, (COUNTED * (products + intercept)).sum(axis=1))


@pytest.mark.parametrize("n_others", [1, 2, 3, 5])
def test_levels_are_the_highest_thresholds_of_a_class_alone(n_others):
    own = RNG.normal(size=(n_others, 60, 3))
    wins = np.zeros((n_others, 60, 3), np.uint8)
    for first in range(n_others):
        for second in range(first + 1, n_others):
            note_wins(RNG.normal(size=(60, 3)), np.zeros(3), wins, first, second)
    levels = np.empty((60, 3))
    find_levels(own, wins, levels, np.empty(n_others), np.empty(n_others, np.int64))

    def is_alone(threshold):
        above = own > threshold
        return 2 * above.sum(axis=0) > (wins + 2 * ~above).max(axis=0)

    assert_array_equal(is_alone(levels - 1e-9), np.ones((60, 3), bool))
    assert_array_equal(is_alone(levels + 1e-9), np.zeros((60, 3), bool))
