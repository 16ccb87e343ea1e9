"""The bag of little bootstraps: how tables are taken apart, and what its members are."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svmproba.bootstrap.fitting.bags import draw_bags
from svmproba.bootstrap.fitting.little import (
    MOST_HELD_OUT,
    TABLE_BYTES,
    Split,
    draw_weights,
    fit_little_members,
    recentre,
    split_records,
)
from svmproba.bootstrap.fitting.members import Family, fit_members, member_scores
from svmproba.bootstrap.summaries.votes import tally_block
from svmproba.solvers.ensemble import fit_ensemble

CS = np.array([0.1, 1.0])
LINEAR = {"degree": 3, "coef0": 0.0, "n_components": None}


@given(
    n=st.integers(4, 10**12),
    n_bootstraps=st.integers(1, 2000),
    exponent=st.floats(0.5, 1.0),
    row_bytes=st.integers(1, 10**6),
)
def test_split_fits_the_table(n, n_bootstraps, exponent, row_bytes):
    split = split_records(n, n_bootstraps, exponent, row_bytes)
    assert split.n_drawn <= n
    assert 0 <= split.n_held_out <= min(n / 5, MOST_HELD_OUT)
    assert split.n_subsets == 1 or split.n_drawn * row_bytes <= TABLE_BYTES + MOST_HELD_OUT * 10**6
    bags = split.bags_of_subsets(n_bootstraps)
    assert len(bags) == split.n_subsets
    assert sum(bags) == n_bootstraps
    assert max(bags) - min(bags) <= 1
    assert min(bags) >= min(10, n_bootstraps)


@pytest.mark.parametrize(
    ("n", "n_bootstraps", "exponent", "row_bytes", "expected"),
    [
        (1000, 500, 0.7, 8, (1000, 200, 4, 200)),  # no fewer than 200 samples in a subset
        (100, 500, 0.7, 8, (100, 20, 1, 80)),  # all that are left
        (10**6, 500, 0.6, 8, (10**6, 50_000, 50, 3981)),  # 10 bags for each subset
        (10**6, 499, 0.6, 8, (10**6, 50_000, 49, 3981)),
        (10**5, 500, 0.8, 8, (10**5, 20_000, 8, 10_000)),  # as many as the table has room for
        (10**6, 500, 0.8, 2**14, (10**6, 50_000, 1, 63_096)),  # 2**30 bytes in all
        (10**6, 500, 0.6, 2**14, (10**6, 50_000, 16, 3981)),
        (10**6, 9, 0.6, 0, (10**6, 50_000, 1, 3981)),
    ],
)
def test_subsets_of_a_table(n, n_bootstraps, exponent, row_bytes, expected):
    assert tuple(split_records(n, n_bootstraps, exponent, row_bytes)) == expected


def test_weights_sum_to_the_table():
    rng = np.random.default_rng(0)
    counts, n_redraws = draw_weights(400, 5000, np.arange(100) < 30, rng)
    assert counts.shape == (400, 100)
    assert (counts.sum(axis=1) == 5000).all()
    assert n_redraws == 0
    # Binomial(5000, 1/100): mean 50, variance 49.5.
    assert counts.mean() == 50
    assert counts.var() == pytest.approx(49.5, rel=0.05)


@pytest.mark.parametrize("rare", [True, False])
def test_bags_without_a_class_are_drawn_again(rare):
    rng = np.random.default_rng(0)
    positive = (np.arange(10) == 0) == rare
    counts, n_redraws = draw_weights(200, 10, positive, rng)
    assert (counts[:, 0] > 0).all()
    # A bag lacks the record with probability 0.9 ** 10 = 0.35.
    assert 60 < n_redraws < 160


def test_a_class_that_cannot_be_drawn():
    with pytest.raises(ValueError, match=r"class 101 times .* subset of 3 has 0 positive samples"):
        draw_weights(1, 10, np.zeros(3, bool), np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"class 3 times .* subset of 3 has 3 positive samples"):
        draw_weights(1, 10, np.ones(3, bool), np.random.default_rng(0), max_redraws=2)


def test_recentred_members_share_a_mean_and_keep_their_spread():
    rng = np.random.default_rng(0)
    sizes = [4, 5, 4]
    values = rng.normal(size=(2, 13, 3)) + np.repeat([0.0, 10.0, -7.0], sizes)[:, None]
    moved = recentre(values, sizes)
    parts = np.split(values, [4, 9], axis=1)
    centre = np.mean([part.mean(axis=1) for part in parts], axis=0)
    for before, after in zip(parts, np.split(moved, [4, 9], axis=1), strict=True):
        np.testing.assert_allclose(after.mean(axis=1), centre)
        np.testing.assert_allclose(after.var(axis=1), before.var(axis=1, ddof=1))


def gaussians(n, d=5, seed=0):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.4
    return rng.normal(size=(n, d)) + 0.6 * np.where(positive, 1, -1)[:, None], positive


def fit_little(X, positive, split, n_bootstraps, seed=0, weight=None):
    held = positive[: split.n_held_out]
    return fit_little_members(
        X,
        positive,
        split,
        n_bootstraps,
        kernel=LINEAR | {"rng": np.random.default_rng(seed)},
        families=[Family("linear", np.nan)],
        Cs=CS,
        weight=weight,
        tol=1e-4,
        tally=partial(tally_block, positive=held, measure="accuracy"),
        n_jobs=1,
        report=lambda n_bags: None,
    )


def test_members_are_machines_on_counts_that_sum_to_n():
    X, positive = gaussians(300)
    weight = np.random.default_rng(1).uniform(0.5, 2, 300)
    split = Split(n_records=5000, n_held_out=100, n_subsets=2, subset_size=100)
    members, training, _ = fit_little(X, positive, split, 20, weight=weight)
    rng, coefs = np.random.default_rng(0), []
    for part in (slice(100, 200), slice(200, 300)):
        counts = rng.multinomial(5000, np.full(100, 0.01), size=10)
        signs = np.where(positive[part], 1.0, -1.0)
        coefs.append(fit_ensemble(X[part], signs, counts * weight[part], CS, tol=1e-4).coef)
    expected = recentre(np.concatenate(coefs, axis=1), [10, 10])
    found = members.columns[0].T.reshape(2, 20, 5)
    # Two certified solutions of the same problems: the start differs, the tolerance is 1e-4.
    np.testing.assert_allclose(found, expected, atol=0.02 * np.abs(expected).max())
    assert training.gap.max() <= 1e-4
    right = (member_scores(members, X[:100]) > 0) == positive[:100, None, None]
    np.testing.assert_allclose(training.reliability, right.mean(axis=0))


def test_spread_and_votes_are_those_of_the_bootstrap():
    n = 20_000
    X, positive = gaussians(n)
    new, _ = gaussians(500, seed=1)
    counts, _ = draw_bags(200, positive, np.random.default_rng(0))
    full, _ = fit_members(
        X,
        positive,
        counts,
        kernel=LINEAR,
        families=[Family("linear", np.nan)],
        Cs=CS,
        weight=None,
        tol=1e-3,
        tally=partial(tally_block, positive=positive, measure="accuracy"),
        n_jobs=1,
        report=lambda n_bags: None,
    )
    split = split_records(n, 200, 0.7, 40)
    assert (split.n_subsets, split.subset_size) == (15, 1025)
    little, _, _ = fit_little(X[: split.n_drawn], positive[: split.n_drawn], split, 200)
    ours, theirs = member_scores(little, new), member_scores(full, new)
    ratio = ours.std(axis=2).mean(axis=0) / theirs.std(axis=2).mean(axis=0)
    assert (np.abs(ratio - 1) < 0.25).all()
    # The centre knows 15 375 of 20 000 records, so it is off by about half a spread.
    off = (ours.mean(axis=2) - theirs.mean(axis=2)) / theirs.std(axis=2)
    assert np.sqrt(np.mean(off**2)) < 1.5
    difference = (ours > 0).mean(axis=2) - (theirs > 0).mean(axis=2)
    assert np.abs(difference).mean() < 0.01


def test_a_subset_without_a_class_is_named():
    X, positive = gaussians(300)
    positive[200:] = True
    split = Split(n_records=300, n_held_out=100, n_subsets=2, subset_size=100)
    with pytest.raises(ValueError, match="Subset 2 of 2 has no negative sample among its 100"):
        fit_little(X, positive, split, 20)
