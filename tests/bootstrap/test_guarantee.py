from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svmproba.bootstrap.guarantee import (
    bag_scores,
    guaranteed_level,
    in_records,
    jackknife_plus,
    order_statistic,
    samples_needed,
    state_guarantee,
)
from svmproba.bootstrap.summaries.blocks import BLOCK_BYTES

shares = st.integers(1, 99).map(lambda percent: Fraction(percent, 100))


def exact_rank(n, rate, confidence):
    """Largest k with P(Bin(n, 1 - rate) <= k - 1) <= 1 - confidence, in fractions."""
    miss, k, below = 1 - rate, 0, Fraction(0)
    for j in range(n):
        below += comb(n, j) * miss**j * rate ** (n - j)
        if below > 1 - confidence:
            break
        k = j + 1
    return k


def jackknife_plus_by_loops(V_own, out_of_bag, V_new, rate):
    called = []
    for v in V_new:
        above = 0
        for own, left_out in zip(V_own, out_of_bag, strict=True):
            if left_out.any():
                above += v[left_out].mean() < own[left_out].mean()
        called.append(above < rate * (len(V_own) + 1))
    return np.array(called)


def left_out_means(V_own, out_of_bag):
    """Mean score of each record over the bags without it, -inf where there is none."""
    n_left_out = np.count_nonzero(out_of_bag, axis=1)
    summed = np.sum(V_own, axis=1, where=out_of_bag)
    return np.where(n_left_out > 0, summed / np.maximum(1, n_left_out), -np.inf)


def random_bags(rng, n_own=40, n_new=200, n_bags=30):
    V_own, V_new = rng.standard_normal((n_own, n_bags)), rng.standard_normal((n_new, n_bags))
    V_own += rng.standard_normal((n_own, 1))
    V_new += rng.standard_normal((n_new, 1)) - 1
    return V_own, rng.random((n_own, n_bags)) < 0.37, V_new


# The order statistic


@pytest.mark.parametrize(
    ("n", "k"), [(0, 0), (10, 0), (21, 0), (22, 1), (35, 1), (50, 2), (100, 6), (200, 15)]
)
def test_worked_values(n, k):
    assert order_statistic(n, 0.9, 0.9) == k


@given(st.integers(0, 60), shares, shares)
def test_rank_is_that_of_exact_arithmetic(n, rate, confidence):
    assert order_statistic(n, float(rate), float(confidence)) == exact_rank(n, rate, confidence)


# 0.08 ** 2 = 1 - 0.9936 on paper.
@pytest.mark.parametrize(("n", "rate", "confidence"), [(2, 0.08, 0.9936), (1, 0.1, 0.9)])
def test_equalities_are_not_lost_to_rounding(n, rate, confidence):
    assert 0 < rate**n - (1 - confidence) < 1e-15
    assert order_statistic(n, rate, confidence) == 1
    assert samples_needed(rate, confidence) == n


@given(shares, shares)
def test_samples_needed_is_the_smallest_that_do(rate, confidence):
    n = samples_needed(float(rate), float(confidence))
    assert rate**n <= 1 - confidence
    assert n == 1 or rate ** (n - 1) > 1 - confidence
    assert order_statistic(n, float(rate), float(confidence)) >= 1
    assert order_statistic(n - 1, float(rate), float(confidence)) == 0


def test_rank_of_many_records_is_near_the_quantile():
    n = 10**7
    k = order_statistic(n, 0.9, 0.95)
    assert k == pytest.approx(0.1 * n - 1.645 * np.sqrt(0.09 * n), abs=10)


@pytest.mark.parametrize("name", ["rate", "confidence"])
@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_shares_lie_inside_the_unit_interval(name, value):
    arguments = {"rate": 0.9, "confidence": 0.9, name: value}
    for function in (samples_needed, lambda **kw: order_statistic(50, **kw)):
        with pytest.raises(ValueError, match=rf"{name} must lie between 0 and 1.*got {value}"):
            function(**arguments)


# The level


def test_level_is_the_kth_smallest_whatever_the_order():
    levels = np.random.default_rng(0).permutation(np.arange(100.0))
    assert guaranteed_level(levels, 0.9, 0.9) == 5.0
    assert guaranteed_level(-levels, 0.9, 0.9) == -94.0


def test_level_leaves_out_what_is_not_known_and_keeps_its_input():
    levels = np.concatenate([np.full(50, np.nan), np.arange(22.0)[::-1]])
    before = levels.copy()
    assert guaranteed_level(levels, 0.9, 0.9) == 0.0
    assert np.array_equal(levels, before, equal_nan=True)


def test_ties_keep_more_records():
    levels = np.repeat([1.0, 2.0, 3.0], [3, 40, 57])
    threshold = guaranteed_level(levels, 0.9, 0.9)
    assert threshold == 2.0
    assert np.mean(levels >= threshold) == 0.97


def test_too_few_records_say_how_many_are_needed():
    with pytest.raises(ValueError, match=r"0\.9 with confidence 0\.9.* 22 negative samples, got 3"):
        guaranteed_level(np.array([1.0, 2.0, 3.0, np.nan]), 0.9, 0.9, name="negative")


# Jackknife+-after-bootstrap


@pytest.mark.parametrize("rate", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("seed", range(5))
def test_jackknife_plus_by_loops(rate, seed):
    V_own, out_of_bag, V_new = random_bags(np.random.default_rng(seed))
    out_of_bag[3] = False  # in every bag
    called = jackknife_plus(left_out_means(V_own, out_of_bag), out_of_bag, V_new, rate)
    assert np.array_equal(called, jackknife_plus_by_loops(V_own, out_of_bag, V_new, rate))
    assert called.dtype == bool
    if rate > 0.5:
        assert 0 < called.sum() < len(called)


def test_a_higher_rate_refuses_fewer():
    V_own, out_of_bag, V_new = random_bags(np.random.default_rng(0), n_new=400)
    own = left_out_means(V_own, out_of_bag)
    called = [jackknife_plus(own, out_of_bag, V_new, rate) for rate in np.arange(0.1, 0.96, 0.05)]
    assert all(np.all(low <= high) for low, high in itertools.pairwise(called))
    assert called[0].sum() < called[-1].sum()


def test_copies_of_the_training_records_tie_with_them():
    # One score for all: a new record is refused only if its copies and all the rest are above it.
    rng = np.random.default_rng(0)
    V = np.tile(rng.standard_normal(97) * 1e3, (50, 1))
    out_of_bag = rng.random(V.shape) < 0.37
    own = left_out_means(V, out_of_bag)
    assert jackknife_plus(own, out_of_bag, V[:7], 0.02).all()
    assert not jackknife_plus(own, out_of_bag, V[:7] - 1e-3, 0.98).any()


def test_constant_bags_give_the_split_quantile():
    # Scores that no record influences: the rule is the threshold at the floor(alpha (n + 1))-th
    # score.
    rng = np.random.default_rng(0)
    scores, new = rng.standard_normal(99), rng.standard_normal(500)
    out_of_bag = rng.random((99, 20)) < 0.5
    own = left_out_means(np.tile(scores[:, None], 20), out_of_bag)
    called = jackknife_plus(own, out_of_bag, np.tile(new[:, None], 20), 0.9)
    assert np.array_equal(called, new >= np.sort(scores)[10 - 1])


def test_blocks_do_not_change_the_result(monkeypatch):
    V_own, out_of_bag, V_new = random_bags(np.random.default_rng(1), 200, 150, 64)
    own = left_out_means(V_own, out_of_bag)
    whole = jackknife_plus(own, out_of_bag, V_new, 0.9)
    assert BLOCK_BYTES > 200 * 200 * 8
    monkeypatch.setattr("svmproba.bootstrap.summaries.blocks.BLOCK_BYTES", 64 * 8 * 7)
    assert np.array_equal(jackknife_plus(own, out_of_bag, V_new, 0.9), whole)


@pytest.mark.parametrize(("rate", "needed"), [(0.9, 9), (0.8, 4), (0.95, 19)])
def test_jackknife_plus_with_too_few_records(rate, needed):
    V_own, out_of_bag, V_new = random_bags(np.random.default_rng(0), needed)
    own = left_out_means(V_own, out_of_bag)
    assert not jackknife_plus(own, out_of_bag, V_new - 100, rate).any()
    with pytest.raises(ValueError, match=rf"at least {needed} training .* got {needed - 1}"):
        jackknife_plus(own[1:], out_of_bag[1:], V_new, rate)


def test_bag_scores_are_means_of_scaled_scores():
    scores = np.random.default_rng(0).standard_normal((6, 3, 4))
    spread = np.array([1.0, 2.0, 0.5])
    expected = (scores / spread[:, None]).mean(axis=1)
    assert bag_scores(scores, spread) == pytest.approx(expected, abs=1e-15)


# The sentence


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (None, ["No guarantee", "at least 90 %", "240 samples of class 'bad' at hand"]),
        ("split", ["With confidence 95 %", "at least 90 %", "proven from 240", "held out"]),
        ("oob", ["Approximately", "confidence 95 %", "at least 90 %", "240", "not proven"]),
        (
            "jackknife+",
            ["On average", "at most 20 %", "about 10 %", "240", "not for this model"],
        ),
    ],
)
def test_guarantee(kind, words):
    sentence = state_guarantee(kind, "tpr", 0.9, 0.95, 240, label="bad")
    assert all(word in sentence for word in words)
    assert "class 'bad'" in sentence
    assert sentence.count(".") == 1
    assert sentence.endswith(".")
    rests_on = "drawn independently from the same population"
    assert (rests_on in sentence) == (kind is not None)


def test_the_command_line_says_records_and_leaves_labels_alone():
    sentence = state_guarantee("split", "tpr", 0.9, 0.95, 240, label="bad samples")
    said = in_records(sentence)
    assert "future records of class 'bad samples' will be" in said
    assert "240 records of that class" in said
    assert said.count("samples") == 1


def test_guarantee_names_the_class_by_its_rate():
    assert "the positive class" in state_guarantee("split", "tpr", 0.9, 0.95, 24)
    assert "the negative class" in state_guarantee("oob", "tnr", 0.9, 0.95, 24)


def test_guarantee_of_an_unknown_kind():
    with pytest.raises(ValueError, match=r"guarantee must be one of None, 'split'.*got 'full'"):
        state_guarantee("full", "tpr", 0.9, 0.95, 240)
