from __future__ import annotations

import itertools
import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from svmproba.bootstrap.summaries.blocks import map_blocks, row_blocks
from svmproba.bootstrap.summaries.votes import (
    mix_shares,
    out_of_bag_shares,
    product_vote_shares,
    tally_block,
    vote_shares,
)


@pytest.fixture
def scores():
    """Scores (n_bags, n_theta, n) with many exact zeros."""
    return np.random.default_rng(0).integers(-2, 3, size=(8, 3, 12)).astype(float)


@pytest.fixture
def counts():
    return np.random.default_rng(1).multinomial(12, np.full(12, 1 / 12), size=8).astype(np.uint8)


def vote(f, threshold=0.0):
    return 1.0 if f > threshold else 0.5 if f == threshold else 0.0


@pytest.mark.parametrize("threshold", [0.0, -1.0])
def test_vote_shares_by_loop(scores, threshold):
    shares = vote_shares(np.moveaxis(scores, 0, -1), threshold)
    assert shares.shape == (3, 12)
    for theta, i in np.ndindex(shares.shape):
        assert shares[theta, i] == np.mean([vote(f, threshold) for f in scores[:, theta, i]])


@pytest.mark.parametrize("threshold", [0.0, np.array([[0.0], [1.0], [-1.0]])])
def test_shares_of_bags_that_left_a_sample_out_by_loop(scores, counts, threshold):
    counts[:, 5] = 1  # in every bag
    shares = vote_shares(np.moveaxis(scores, 0, -1).transpose(1, 0, 2), threshold, counts.T == 0)
    assert shares.shape == (12, 3)
    assert np.isnan(shares[5]).all()
    limits = np.ravel(threshold) + np.zeros(3)
    for i, theta in np.ndindex(shares.shape):
        left_out = np.flatnonzero(counts[:, i] == 0)
        votes = [vote(scores[b, theta, i], limits[theta]) for b in left_out]
        if votes:
            assert shares[i, theta] == pytest.approx(np.mean(votes), abs=1e-15)


@pytest.mark.parametrize("n_bags", [1, 127, 128, 32_767, 32_768])
def test_no_sum_of_votes_overflows(n_bags):
    assert vote_shares(np.ones(n_bags)) == 1
    assert vote_shares(np.zeros(n_bags)) == 0.5


# Many ties, exact ones and ones by rounding, either zero, and what is not a number.
hard = st.sampled_from(
    [0.0, -0.0, 0.1, 0.2, -0.3, 0.3, 1.0, -1.0, 1e-17, -1e-17, 5e-324, 1e308, np.inf, np.nan]
)


@settings(deadline=None)  # the first example may compile
@given(
    arrays(np.float64, (5, 3, 37), elements=hard),
    arrays(np.float64, (3, 37), elements=hard),
    arrays(np.float64, 3, elements=hard),
)
def test_one_pass_gives_the_same_shares(products, intercept, thresholds):
    with np.errstate(over="ignore", invalid="ignore"):
        scores = products + intercept
    shares = product_vote_shares(products, intercept, thresholds)
    np.testing.assert_array_equal(shares, vote_shares(scores, thresholds[:, np.newaxis]))


def test_one_pass_rounds_scores_before_it_compares():
    # 1e-17 is lost in the sum: a tie, though the threshold less the intercept is below the product.
    assert product_vote_shares(np.full((1, 1, 1), 1e-17), np.ones((1, 1)), np.ones(1)) == 0.5


def test_out_of_bag_shares_by_loop(scores, counts):
    positive = np.arange(12) % 2 == 0
    counts[:, 5] = 1  # in every bag
    twice, _ = tally_block(scores, counts, positive=positive, measure="accuracy")
    shares = out_of_bag_shares(twice, counts)
    assert np.isnan(shares[:, 5]).all()
    for theta, i in np.ndindex(shares.shape):
        votes = [vote(scores[b, theta, i]) for b in range(8) if counts[b, i] == 0]
        if votes:
            assert shares[theta, i] == pytest.approx(np.mean(votes), abs=1e-15)


def test_more_bags_than_a_byte_can_count():
    n_bags = 300
    counts = np.zeros((n_bags, 2), dtype=np.uint8)
    twice, _ = tally_block(
        np.ones((n_bags, 1, 2)), counts, positive=np.array([True, False]), measure="accuracy"
    )
    assert twice.tolist() == [[600, 600]]


def test_tally_can_be_sent_to_another_process(scores, counts):
    tally = partial(tally_block, positive=np.arange(12) < 5, measure="g_mean")
    votes, values = pickle.loads(pickle.dumps(tally))(scores, counts)
    assert np.array_equal(votes, tally(scores, counts)[0])
    assert np.array_equal(values, tally(scores, counts)[1], equal_nan=True)


def test_a_half_and_a_one_survive_the_mixture():
    rng = np.random.default_rng(0)
    mixtures = [rho / rho.sum() for rho in rng.random((200, 11))]
    assert any(rho @ np.full(11, 0.5) < 0.5 for rho in mixtures)  # the danger is real
    for rho in mixtures:
        assert mix_shares(np.full((11, 1), 0.5), rho) == 0.5
        assert mix_shares(np.ones((11, 1)), rho) == 1.0


def test_mixture_keeps_nan():
    shares = np.array([[0.5, np.nan], [1.0, np.nan]])
    mixed = mix_shares(shares, np.array([1.0, 0.0]))
    assert mixed[0] == 0.5
    assert np.isnan(mixed[1])


@pytest.mark.parametrize(("n_rows", "width"), [(1, 1), (1000, 10**5), (10**6, 5500), (7, 10**9)])
def test_row_blocks_cover_all_rows_within_the_budget(n_rows, width):
    blocks = row_blocks(n_rows, width)
    assert blocks[0].start == 0
    assert blocks[-1].stop == n_rows
    assert all(a.stop == b.start for a, b in itertools.pairwise(blocks))
    longest = max(block.stop - block.start for block in blocks)
    assert longest == 1 or longest * width * 8 <= 16 * 2**20


@pytest.mark.parametrize(("n_rows", "n_blocks"), [(15, 1), (16, 1), (40, 3), (512, 16), (999, 17)])
def test_row_blocks_for_many_threads(n_rows, n_blocks):
    blocks = row_blocks(n_rows, 1, n_least=16)
    assert len(blocks) == n_blocks
    assert blocks[-1].stop == n_rows


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_map_blocks_keeps_the_order(n_jobs):
    blocks = [slice(k, k + 1) for k in range(20)]
    assert map_blocks(lambda block: block.start, blocks, n_jobs) == list(range(20))
