"""Levels of samples in groups: single and repeated subsampling."""

from __future__ import annotations

import itertools
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svmproba.bootstrap.groups import averaged_level, one_of_each
from svmproba.bootstrap.guarantee import guaranteed_level, samples_needed, state_guarantee


def binomial_cdf(k, n, p):
    return sum(comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k + 1))


def averaged_level_by_enumeration(levels, groups, rate, delta):
    """Every draw of one sample from each group, one after the other."""
    places = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    draws = [levels[list(draw)] for draw in itertools.product(*places)]
    found = None
    for level in np.unique(levels):
        p = [binomial_cdf(int((draw < level).sum()), len(places), 1 - rate) for draw in draws]
        if 2 * np.mean(p) > delta:
            break
        found = level
    return found


def test_one_of_each_draws_from_all_samples_of_a_group_alike():
    groups = np.repeat(np.arange(3000), 3)
    drawn = one_of_each(groups)
    np.testing.assert_array_equal(groups[drawn], np.arange(3000))
    np.testing.assert_array_equal(drawn, one_of_each(groups))
    # Each place of a group is drawn in a third of them; bounds of five standard errors.
    shares = np.bincount(drawn % 3) / 3000
    assert np.abs(shares - 1 / 3).max() < 5 * np.sqrt(2 / 9 / 3000)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=9),
    st.sampled_from([0.3, 0.5, 0.7, 0.9]),
    st.sampled_from([0.1, 0.4, 0.8, 0.99]),
)
def test_averaged_level_is_that_of_all_draws(samples, rate, delta):
    groups, levels = (np.array(column) for column in zip(*samples, strict=True))
    expected = averaged_level_by_enumeration(levels.astype(float), groups, rate, delta)
    assert averaged_level(levels.astype(float), groups, rate, delta) == expected


def test_groups_of_one_sample_are_independent_samples():
    levels, groups = np.random.default_rng(0).normal(size=60), np.arange(60)
    plain = guaranteed_level(levels, 0.8, 0.9)
    assert guaranteed_level(levels, 0.8, 0.9, groups=groups) == plain
    # Twice the p-value: half of delta.
    repeated = guaranteed_level(levels, 0.8, 0.9, groups=groups, subsampling="repeated")
    assert repeated == guaranteed_level(levels, 0.8, 0.95)


@pytest.mark.parametrize("subsampling", ["single", "repeated"])
def test_groups_needed(subsampling):
    needed = samples_needed(0.9, 0.9, subsampling, groups=True)
    assert needed == {"single": 22, "repeated": 29}[subsampling]
    rng = np.random.default_rng(0)
    for n, enough in ((needed - 1, False), (needed, True)):
        groups = np.repeat(np.arange(n), 4)
        levels = np.append(rng.normal(size=4 * n), np.nan)
        groups = np.append(groups, 10**6)
        if enough:
            found = guaranteed_level(levels, 0.9, 0.9, groups=groups, subsampling=subsampling)
            assert found <= np.nanmin([levels[:-1][groups[:-1] == g].max() for g in range(n)])
        else:
            message = f"needs at least {needed} groups with positive samples, got {n}"
            with pytest.raises(ValueError, match=message):
                guaranteed_level(levels, 0.9, 0.9, groups=groups, subsampling=subsampling)


def test_copies_of_a_group_are_no_evidence():
    rng = np.random.default_rng(1)
    levels, groups = rng.normal(size=40), np.arange(40)
    for subsampling in ("single", "repeated"):
        once, often = (
            guaranteed_level(
                np.repeat(levels, k), 0.8, 0.9, groups=np.repeat(groups, k), subsampling=subsampling
            )
            for k in (1, 7)
        )
        assert once == often


@pytest.mark.parametrize("kind", ["split", "oob", "jackknife+"])
@pytest.mark.parametrize("subsampling", ["single", "repeated"])
def test_sentence_says_which_rate(kind, subsampling):
    said = state_guarantee(kind, "tpr", 0.9, 0.95, 31, "ill", subsampling=subsampling)
    assert "random future group" in said
    assert "of class 'ill'" in said
    assert "these and future groups are drawn independently" in said
    assert ("one sample drawn from each" in said) == (subsampling == "single")
    assert "31 " in said


def test_sentence_of_groups_in_subgroups():
    subgroups = {"f": 30, "m": 40}
    said = state_guarantee("oob", "tpr", 0.9, 0.95, 70, subgroups=subgroups, subsampling="single")
    assert ", whatever the size of the group, in each of 2 subgroups at the same time; this" in said


def test_sentence_of_subgroups():
    said = state_guarantee("split", "tpr", 0.9, 0.95, 70, "ill", subgroups={"f": 30, "m": 40})
    assert said.startswith(
        "With confidence 95 %, at least 90 % of all future samples of class 'ill' will be "
        "recognised as such in each of 2 subgroups at the same time; this is proven from samples "
        "of that class that were held out (30 of 'f', 40 of 'm'), provided that"
    )
