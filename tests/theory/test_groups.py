"""Guarantees with groups of samples and for subgroups, by Monte Carlo.

Scores are Gaussian, so the rate of every threshold is known in closed form.

    python -m pytest tests/theory/test_groups.py -m slow -rP     # prints what was measured
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm
from sklearn.linear_model import LogisticRegression

from svmproba import RateGuarantee, ThresholdBootstrapSVC
from svmproba.bootstrap.guarantee import guaranteed_level, order_statistic
from svmproba.bootstrap.subgroups import Subgroups, subgroup_thresholds

pytestmark = pytest.mark.slow

#: A right guarantee fails a test with this probability.
RISK = 1e-4


def most_violations(n_replicates, allowed):
    """Violations that a guarantee may show which holds with probability 1 - allowed."""
    return binom.ppf(1 - RISK, n_replicates, allowed)


def clustered_levels(rng, n_groups, share):
    """Levels of 1 to 15 samples a group; `share` of their variance of 1 is that of the groups."""
    groups = np.repeat(np.arange(n_groups), rng.integers(1, 16, n_groups))
    own = np.sqrt(1 - share) * rng.standard_normal(len(groups))
    return own + np.sqrt(share) * rng.standard_normal(n_groups)[groups], groups


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_groups_keep_the_guarantee_that_samples_break(share, capsys):
    rng, rate, confidence, n_groups, n_replicates = np.random.default_rng(0), 0.9, 0.9, 60, 2000
    found = {"ignored": [], "single": [], "repeated": []}
    for _ in range(n_replicates):
        levels, groups = clustered_levels(rng, n_groups, share)
        found["ignored"].append(guaranteed_level(levels, rate, confidence))
        for kind in ("single", "repeated"):
            at = guaranteed_level(levels, rate, confidence, groups=groups, subsampling=kind)
            found[kind].append(at)
    kept = {kind: norm.sf(levels) for kind, levels in found.items()}
    violated = {kind: np.count_nonzero(rates < rate) for kind, rates in kept.items()}
    # Negative samples lie two standard deviations lower.
    price = {kind: norm.sf(np.array(levels) + 2).mean() for kind, levels in found.items()}
    with capsys.disabled():
        listed = "; ".join(
            f"{kind}: violated in {n / n_replicates:.3f}, mean TPR {kept[kind].mean():.3f}, mean "
            f"FPR {price[kind]:.3f}"
            for kind, n in violated.items()
        )
        print(f"\n{share:.0%} of the variance between groups, {n_groups} groups: {listed}")
    known = binom.cdf(order_statistic(n_groups, rate, confidence) - 1, n_groups, 1 - rate)
    assert binom.ppf(RISK, n_replicates, known) <= violated["single"]
    assert violated["single"] <= most_violations(n_replicates, known)
    assert violated["repeated"] <= most_violations(n_replicates, 1 - confidence)
    assert violated["ignored"] > most_violations(n_replicates, 1 - confidence)


def patients(rng, n_groups, visits=8, d=5):
    """Visits of patients: a class for each patient, and an effect that all its visits share."""
    groups = np.repeat(np.arange(n_groups), visits)
    y = (rng.random(n_groups) < 0.5)[groups].astype(int)
    effect = rng.standard_normal((n_groups, d))[groups]
    return rng.standard_normal((len(y), d)) + effect + 1.5 * y[:, None] * (np.arange(d) < 2), y


@pytest.mark.parametrize("kind", ["split", "oob"])
def test_the_estimator_keeps_its_guarantee_on_new_patients(kind, capsys):
    rng, rate, n_replicates, n_groups = np.random.default_rng(0), 0.8, 300, 120
    groups = np.repeat(np.arange(n_groups), 8)
    kept = {"ignored": [], "single": [], "repeated": []}
    for r in range(n_replicates):
        X, y = patients(rng, n_groups)
        new_X, new_y = patients(rng, 4000, visits=1)
        for how, rates in kept.items():
            model = ThresholdBootstrapSVC(
                rate,
                guarantee=kind,
                subsampling="single" if how == "ignored" else how,
                exceed=False,
                calibration_size=0.5,
                Cs=[0.1],
                n_bootstraps=40,
                random_state=r,
                n_jobs=1,
            )
            model.fit(X, y, groups=None if how == "ignored" else groups)
            rates.append(np.mean(model.predict(new_X)[new_y == 1]))
    violated = {how: np.mean(np.array(rates) < rate) for how, rates in kept.items()}
    with capsys.disabled():
        listed = "; ".join(
            f"{how}: violated in {violated[how]:.3f}, mean TPR {np.mean(kept[how]):.3f}"
            for how in kept
        )
        print(f"\n{kind}, {n_groups} patients of 8 visits, TPR >= {rate} at 0.9: {listed}")
    most = most_violations(n_replicates, 0.1) / n_replicates
    assert max(violated["single"], violated["repeated"]) <= most
    assert violated["ignored"] > most


@pytest.mark.parametrize("K", [2, 5, 10])
def test_all_subgroups_hold_at_the_same_time(K, capsys):
    rng, rate, confidence, n_replicates = np.random.default_rng(K), 0.9, 0.9, 4000
    means = np.linspace(0, 1, K)
    labels = np.repeat(np.arange(K), np.linspace(60, 200, K).astype(int))
    subgroups = Subgroups(np.arange(K), labels == np.arange(K)[:, None], overlapping=False)
    positive, kept = np.ones(len(labels), bool), {True: [], False: []}
    for _ in range(n_replicates):
        levels = rng.standard_normal(len(labels)) + means[labels]
        for common, rates in kept.items():
            at = subgroup_thresholds(
                levels,
                positive,
                subgroups,
                common=common,
                sign=1,
                rate=rate,
                confidence=confidence,
                neutral=0.0,
                exceed=False,
                groups=None,
                subsampling="single",
            )
            rates.append(norm.sf(at - means))
    violated = {c: np.count_nonzero(np.min(rates, axis=1) < rate) for c, rates in kept.items()}
    # One threshold for all samples keeps the rate on average over the subgroups, not in each.
    average = [
        norm.sf(
            guaranteed_level(rng.standard_normal(len(labels)) + means[labels], rate, 0.9) - means
        ).min()
        for _ in range(500)
    ]
    with capsys.disabled():
        print(
            f"\n{K} subgroups: some rate missed in {violated[False] / n_replicates:.3f} with "
            f"separate thresholds, {violated[True] / n_replicates:.3f} with a common one, "
            f"{np.mean(np.array(average) < rate):.3f} with a guarantee for all samples together"
        )
    sizes = np.bincount(labels)
    each = [binom.cdf(order_statistic(n, rate, 1 - 0.1 / K) - 1, n, 1 - rate) for n in sizes]
    known = 1 - np.prod(1 - np.array(each))
    assert binom.ppf(RISK, n_replicates, known) <= violated[False]
    assert violated[False] <= most_violations(n_replicates, known)
    assert violated[True] <= violated[False]
    assert np.mean(np.array(average) < rate) > 0.5


@pytest.mark.parametrize("cv", [None, 5])
def test_any_classifier_keeps_the_rate_of_overlapping_subgroups(cv, capsys):
    rng, rate, n_replicates, missed = np.random.default_rng(0), 0.8, 500, 0

    def table(n):
        y = (rng.random(n) < 0.5).astype(int)
        by = {"old": rng.random(n) < 0.4, "female": rng.random(n) < 0.5}
        X = rng.standard_normal((n, 3)) + y[:, None] * np.array([1.5, 0.5, 0])
        return X - 0.7 * by["old"][:, None] * [1, 0, 0], y, by

    for r in range(n_replicates):
        X, y, by = table(500)
        model = RateGuarantee(LogisticRegression(), tpr=rate, cv=cv, random_state=r)
        model.fit(X, y, by=by)
        X, y, by = table(20_000)
        called = model.predict(X) == 1
        missed += min(called[mask & (y == 1)].mean() for mask in by.values()) < rate
    with capsys.disabled():
        print(f"\nRateGuarantee, cv={cv}: some rate missed in {missed / n_replicates:.3f}")
    assert missed <= most_violations(n_replicates, 0.1)
