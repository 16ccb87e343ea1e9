"""Thresholds of subgroups: Bonferroni, common or separate, and their price."""

from __future__ import annotations

import numpy as np
import pytest

from svmproba.bootstrap.guarantee import guaranteed_level
from svmproba.bootstrap.subgroups import Subgroups, rates_of_subgroups, subgroup_thresholds

RNG = np.random.default_rng(0)
N = 900
POSITIVE = RNG.random(N) < 0.6
LEVELS = RNG.normal(size=N) + POSITIVE
OLD, FEMALE = RNG.random(N) < 0.5, RNG.random(N) < 0.3
NAMES = np.array(["female", "male", "old"])
OVERLAPPING = Subgroups(NAMES, np.array([FEMALE, ~FEMALE, OLD]), True)
FREE = {"neutral": 0.0, "exceed": False, "groups": None, "subsampling": "single"}


def thresholds(subgroups=OVERLAPPING, *, sign=1, rate=0.8, confidence=0.9, **options):
    options = FREE | {"common": True} | options
    found = {"sign": sign, "rate": rate, "confidence": confidence} | options
    return subgroup_thresholds(LEVELS, POSITIVE, subgroups, **found)


@pytest.mark.parametrize("sign", [1, -1])
def test_each_subgroup_has_its_order_statistic_and_the_common_one_serves_all(sign):
    separate = thresholds(common=False, sign=sign)
    for mask, threshold in zip(OVERLAPPING.masks, separate, strict=True):
        of_class = sign * LEVELS[mask & ((sign > 0) == POSITIVE)]
        level = guaranteed_level(of_class, 0.8, 1 - 0.1 / 3)
        assert threshold == np.nextafter(sign * level, -sign * np.inf)
    common = thresholds(sign=sign)
    best = separate.min() if sign > 0 else separate.max()
    np.testing.assert_array_equal(common, [best] * 3)


def test_without_a_guarantee_every_subgroup_reaches_the_rate_at_hand():
    for common in (True, False):
        found = thresholds(confidence=None, common=common)
        rates = rates_of_subgroups(LEVELS, POSITIVE, OVERLAPPING, found)
        assert rates.tpr.min() >= 0.8
        if not common:
            assert np.all(rates.tpr < 0.8 + 1 / rates.n_positive)


def test_the_number_needed_is_that_of_the_issue():
    few = Subgroups(np.arange(5), np.arange(5)[:, None] == np.arange(N) % 400, False)
    with pytest.raises(ValueError, match=r"in each of 5 subgroups, .* needs at least 38 positive"):
        thresholds(few, rate=0.9, confidence=0.9)
    one = Subgroups(np.arange(1), np.zeros((1, N), bool), False)
    with pytest.raises(ValueError, match="needs at least 22 positive samples in each, and 0 has 0"):
        thresholds(one, rate=0.9, confidence=0.9)
    with pytest.raises(ValueError, match="needs at least 1 positive samples in each, and 0 has 0"):
        thresholds(one, rate=0.9, confidence=None)


def test_only_the_subgroups_that_are_too_small_are_named():
    masks = np.array([np.arange(N) < 500, np.arange(N) > 890])
    with pytest.raises(ValueError, match="needs at least 29") as error:
        thresholds(Subgroups(np.array(["many", "few"]), masks, True), rate=0.9, sign=-1)
    assert "'few' has" in str(error.value)
    assert "'many'" not in str(error.value)
    assert "negative samples" in str(error.value)


def test_a_few_of_many_small_subgroups_are_named():
    each = Subgroups(np.arange(40), np.arange(40)[:, None] == np.arange(N) // (N // 40), False)
    with pytest.raises(
        ValueError, match=r"4 has \d+ and \d+ others have fewer, too: join"
    ) as error:
        thresholds(each, rate=0.99, confidence=0.9)
    assert len(str(error.value)) < 400


def test_groups_count_once():
    groups = np.arange(N) // 30
    with pytest.raises(ValueError, match="31 groups with positive samples in each, and 'female'"):
        thresholds(groups=groups, rate=0.85, confidence=0.98)
    found = thresholds(groups=groups, rate=0.7)
    assert np.isfinite(found).all()


def test_price_by_counting():
    levels = LEVELS.copy()
    levels[:50] = np.nan
    rates = rates_of_subgroups(levels, POSITIVE, OVERLAPPING, np.array([0.1, 0.5, -0.2]))
    for k, mask in enumerate(OVERLAPPING.masks):
        inside = [i for i in range(N) if mask[i] and levels[i] == levels[i]]
        called = [i for i in inside if levels[i] > rates.threshold[k]]
        plus = [i for i in inside if POSITIVE[i]]
        hits = [i for i in called if POSITIVE[i]]
        assert (rates.n_samples[k], rates.n_positive[k]) == (len(inside), len(plus))
        assert rates.tpr[k] == len(hits) / len(plus)
        assert rates.fpr[k] == (len(called) - len(hits)) / (len(inside) - len(plus))
        assert rates.precision[k] == len(hits) / len(called)
        assert rates.called[k] == len(called) / len(inside)


def test_a_share_of_none_is_nan():
    everyone = Subgroups(np.array(["a"]), np.ones((1, 4), bool), False)
    rates = rates_of_subgroups(np.arange(4.0), np.ones(4, bool), everyone, np.array([9.0]))
    assert np.isnan(rates.fpr[0])
    assert np.isnan(rates.precision[0])
    assert (rates.tpr[0], rates.called[0]) == (0, 0)
