from __future__ import annotations

import numpy as np
import pytest

from svmproba.bootstrap.fitting.bags import draw_bags, draw_held_out


def labels(n_plus, n):
    return np.arange(n) < n_plus


def test_every_bag_has_n_draws_and_both_classes():
    positive = labels(3, 20)
    counts, _ = draw_bags(200, positive, np.random.default_rng(0))
    assert counts.dtype == np.uint8
    assert np.all(counts.sum(axis=1) == 20)
    assert np.all(counts[:, positive].sum(axis=1) > 0)
    assert np.all(counts[:, ~positive].sum(axis=1) > 0)


def test_counts_are_multinomial():
    n, B = 40, 5000
    counts, n_redraws = draw_bags(B, labels(20, n), np.random.default_rng(1))
    assert n_redraws == 0
    # Var N_i = 1 - 1/n, Cov(N_i, N_j) = -1/n, P(N_i = 0) = (1 - 1/n)^n; bounds of five s.e.
    assert np.abs(counts.mean(axis=0) - 1).max() < 5 * np.sqrt(1 / B)
    covariance = np.cov(counts.astype(float).T)
    np.testing.assert_allclose(np.diag(covariance), 1 - 1 / n, atol=5 * np.sqrt(3 / B))
    off_diagonal = covariance[~np.eye(n, dtype=bool)]
    np.testing.assert_allclose(off_diagonal.mean(), -1 / n, atol=1e-3)
    absent = (counts == 0).mean()
    np.testing.assert_allclose(absent, (1 - 1 / n) ** n, atol=5 * np.sqrt(0.23 / (n * B)))


def test_redraws_are_counted_at_the_expected_rate():
    n, n_plus, B = 30, 2, 4000
    rate = (1 - n_plus / n) ** n  # .126, a bag without a positive record
    _, n_redraws = draw_bags(B, labels(n_plus, n), np.random.default_rng(2))
    # Each kept bag costs a geometric number of redraws: mean q/(1-q), variance q/(1-q)^2.
    expected, deviation = B * rate / (1 - rate), np.sqrt(B * rate) / (1 - rate)
    assert abs(n_redraws - expected) < 4 * deviation


def test_too_many_redraws_is_an_error():
    with pytest.raises(
        ValueError, match="lacked a class 1 times in a row: the rarest class of y has 1"
    ):
        draw_bags(100, labels(1, 30), np.random.default_rng(0), max_redraws=0)


def test_same_generator_state_same_bags():
    first, _ = draw_bags(7, labels(5, 11), np.random.default_rng(3))
    again, _ = draw_bags(7, labels(5, 11), np.random.default_rng(3))
    other, _ = draw_bags(7, labels(5, 11), np.random.default_rng(4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_first_bags_do_not_depend_on_how_many_follow():
    few, _ = draw_bags(5, labels(5, 11), np.random.default_rng(3))
    many, _ = draw_bags(50, labels(5, 11), np.random.default_rng(3))
    assert np.array_equal(few, many[:5])


def test_a_bag_is_drawn_until_it_has_both_classes():
    """Of two records, every second bag lacks one."""
    counts, n_redraws = draw_bags(300, labels(1, 2), np.random.default_rng(0))
    assert np.all(counts == 1)
    assert n_redraws > 200


def test_the_same_share_of_either_class_is_held_out():
    positive, rng = labels(20, 100), np.random.default_rng(0)
    held_out = draw_held_out(positive, 0.3, rng)
    assert (positive[held_out].sum(), len(held_out)) == (6, 30)
    assert np.all(np.diff(held_out) > 0)
    assert not np.array_equal(held_out, draw_held_out(positive, 0.3, rng))


def test_two_samples_of_a_class_are_left():
    rng = np.random.default_rng(0)
    assert len(draw_held_out(labels(2, 4), 0.9, rng)) == 0
    assert np.bincount(draw_held_out(labels(5, 9), 1.0, rng) < 5).tolist() == [2, 3]
    assert len(draw_held_out(labels(20, 100), 0.0, rng)) == 0
