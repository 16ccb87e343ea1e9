from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, recall_score, roc_auc_score

from svmproba.bootstrap.summaries.reliability import MEASURES, mean_reliability, weights
from svmproba.bootstrap.summaries.votes import tally_block


def g_mean(y, f):
    return np.sqrt(recall_score(y, f > 0) * recall_score(~y, f <= 0))


TWINS = {
    "accuracy": lambda y, f: accuracy_score(y, f > 0),
    "balanced_accuracy": lambda y, f: balanced_accuracy_score(y, f > 0),
    "g_mean": g_mean,
    "auc": roc_auc_score,
}


def measure(name, scores, counts, positive):
    return tally_block(scores, counts, positive=positive, measure=name)[1]


def block(seed=0, n_bags=6, n_theta=3, n=60):
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(n, np.full(n, 1 / n), size=n_bags).astype(np.uint8)
    return rng.normal(size=(n_bags, n_theta, n)), counts, rng.random(n) < 0.3


def test_a_twin_for_every_measure():
    assert set(TWINS) == set(MEASURES)


@pytest.mark.parametrize("name", MEASURES)
def test_equals_scikit_learn_on_the_out_of_bag_records(name):
    scores, counts, positive = block()
    if name == "auc":
        scores = scores.round(1)  # many ties
    values = measure(name, scores, counts, positive)
    for b, theta in np.ndindex(scores.shape[:2]):
        out = counts[b] == 0
        expected = TWINS[name](positive[out], scores[b, theta, out])
        assert values[theta, b] == pytest.approx(expected, abs=1e-15)


def test_a_score_of_zero_is_half_right():
    scores = np.array([[[0.0, 0.0, 1.0, -1.0]]])
    counts = np.zeros((1, 4), dtype=np.uint8)
    positive = np.array([True, False, True, False])
    assert measure("accuracy", scores, counts, positive) == 0.75
    assert measure("balanced_accuracy", scores, counts, positive) == 0.75
    assert measure("g_mean", scores, counts, positive) == 0.75
    assert measure("auc", scores, counts, positive) == 0.875


@pytest.mark.parametrize("name", MEASURES)
def test_label_flip_leaves_the_measure_alone(name):
    scores, counts, positive = block(1)
    scores = scores.round(1)
    flipped = measure(name, -scores, counts, ~positive)
    np.testing.assert_allclose(flipped, measure(name, scores, counts, positive), atol=1e-15)


@pytest.mark.parametrize("name", MEASURES)
def test_undefined_is_nan_and_skipped(name):
    positive = np.array([True, True, False, False])
    counts = np.array([[1, 1, 1, 1], [0, 0, 2, 2], [0, 1, 0, 3]], dtype=np.uint8)
    scores = np.tile([1.0, 2.0, -1.0, 3.0], (3, 1, 1))
    values = measure(name, scores, counts, positive)
    undefined = [True, name != "accuracy", False]
    assert np.isnan(values[0]).tolist() == undefined
    assert mean_reliability(values) == pytest.approx(1.0)


def test_mean_of_nothing_is_nan():
    assert np.isnan(mean_reliability(np.full((2, 3), np.nan))).all()


@pytest.mark.parametrize("name", MEASURES)
def test_blocks_of_bags_do_not_matter(name):
    scores, counts, positive = block(2, n_bags=9)
    votes, values = tally_block(scores, counts, positive=positive, measure=name)
    parts = [
        tally_block(scores[b : b + 4], counts[b : b + 4], positive=positive, measure=name)
        for b in range(0, 9, 4)
    ]
    assert np.array_equal(votes, sum(part[0] for part in parts))
    assert np.array_equal(values, np.concatenate([part[1] for part in parts], axis=1))


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [
        (0.0, [0, 0.5, 0, 0.5]),
        (0.1, [0, 0.9 / 2.6, 0.8 / 2.6, 0.9 / 2.6]),
        (np.inf, [0.6 / 3.2, 0.9 / 3.2, 0.8 / 3.2, 0.9 / 3.2]),
    ],
)
def test_weights_by_hand(epsilon, expected):
    np.testing.assert_allclose(weights(np.array([0.6, 0.9, 0.8, 0.9]), epsilon), expected)


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_weights_are_uniform_without_a_reliability(value):
    assert weights(np.full(4, value), 0.0).tolist() == [0.25] * 4


def test_rounding_does_not_break_a_tie():
    values = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])
    means = mean_reliability(values)
    assert means[0] != means[1]
    assert weights(means, 0.0) == pytest.approx([0.5, 0.5])


def test_a_bag_counts_for_every_theta_or_for_none():
    assert mean_reliability(np.array([[np.nan, 0.5], [0.7, 0.6]])).tolist() == [0.5, 0.6]


@pytest.mark.parametrize("n", [127, 128, 200, 32_768, 40_000])
def test_sums_of_votes_fit_into_their_type(n):
    """Twice the votes of n records do not fit where n itself does: 400 is no byte."""
    positive = np.arange(n) < n - 1
    scores, counts = np.ones((1, 1, n)), np.zeros((1, n), dtype=np.uint8)
    assert measure("accuracy", scores, counts, positive) == (n - 1) / n
    assert measure("balanced_accuracy", scores, counts, positive) == 0.5
