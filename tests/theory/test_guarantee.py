"""Every guarantee on a rate, by Monte Carlo.

The classes are Gaussian and the score of an ensemble is the mean of linear scores, so the rate of
every threshold is known in closed form and no test records are needed. Only the tests of the
estimator as a whole count test records, and the noise of that count is part of what they expect.

    python -m pytest tests/theory/test_guarantee.py -m slow -rP     # prints what was measured
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import betabinom, binom, norm

from svmproba import BootstrapSVC, ThresholdBootstrapSVC
from svmproba.bootstrap.guarantee import (
    guaranteed_level,
    jackknife_plus,
    order_statistic,
)
from svmproba.solvers.ensemble import fit_ensemble

pytestmark = pytest.mark.slow

#: A right guarantee fails a test with this probability.
RISK = 1e-4


def most_violations(n_replicates, allowed):
    """Violations that a guarantee may show which holds with probability 1 - allowed."""
    return binom.ppf(1 - RISK, n_replicates, allowed)


def marginal_level(levels, rate):
    """Threshold whose rate is right on average: the floor((1 - rate) (n + 1))-th smallest level."""
    k = int((1 - rate) * (len(levels) + 1) + 1e-9)
    return np.sort(levels)[k - 1]


def left_out_means(V_own, out_of_bag):
    """Mean score of each record over the bags without it, -inf where there is none."""
    n_left_out = np.count_nonzero(out_of_bag, axis=1)
    summed = np.sum(V_own, axis=1, where=out_of_bag)
    return np.where(n_left_out > 0, summed / np.maximum(1, n_left_out), -np.inf)


class World(NamedTuple):
    """Two Gaussian classes, `gap` standard deviations apart along the first columns."""

    n_plus: int
    n_minus: int
    d: int
    gap: float = 2.0

    @property
    def mean(self):
        informative = np.arange(self.d) < 5
        return self.gap / 2 * informative / np.sqrt(informative.sum())

    def records(self, rng, n_plus, n_minus):
        signs = np.repeat([1.0, -1.0], [n_plus, n_minus])
        return rng.standard_normal((len(signs), self.d)) + signs[:, None] * self.mean, signs

    def tpr(self, w, intercept, threshold):
        """Rate of the positive class where w.x + intercept >= threshold."""
        return norm.cdf((w @ self.mean + intercept - threshold) / np.linalg.norm(w))


def fit_bags(world, rng, n_bags, C=0.5):
    """Bags of one sample, one SVM each: scores of its positives, who is left out, and (W, b)."""
    X, signs = world.records(rng, world.n_plus, world.n_minus)
    counts = rng.multinomial(len(X), np.full(len(X), 1 / len(X)), size=n_bags)
    fit = fit_ensemble(X, signs, counts, np.array([C]))
    W, b = fit.coef[0], fit.intercept[0]
    return X[signs > 0] @ W.T + b, counts[:, signs > 0].T == 0, W, b


# Split: exact


@pytest.mark.parametrize(
    ("rate", "confidence", "n_plus"),
    [(0.9, 0.9, 22), (0.9, 0.9, 100), (0.8, 0.9, 60), (0.95, 0.95, 200)],
)
def test_split_keeps_its_guarantee_and_the_marginal_rule_would_not(
    rate, confidence, n_plus, capsys
):
    # One fit on 40 + 40 records a replicate, by least squares: any learner will do.
    world, rng, n_replicates = World(n_plus, 0, d=5), np.random.default_rng(0), 10_000
    exact, marginal = np.empty(n_replicates), np.empty(n_replicates)
    for r in range(n_replicates):
        X, signs = world.records(rng, 40, 40)
        w = np.linalg.lstsq(X, signs, rcond=None)[0]
        levels = world.records(rng, n_plus, 0)[0] @ w
        exact[r] = world.tpr(w, 0.0, guaranteed_level(levels, rate, confidence))
        marginal[r] = world.tpr(w, 0.0, marginal_level(levels, rate))
    violations, careless = np.count_nonzero(exact < rate), np.count_nonzero(marginal < rate)
    with capsys.disabled():
        print(
            f"\nsplit, {n_plus} positives, TPR >= {rate} at {confidence}: violated in "
            f"{violations / n_replicates:.3f}, mean TPR {exact.mean():.3f}; "
            f"marginal rule {careless / n_replicates:.3f}, {marginal.mean():.3f}"
        )
    most = most_violations(n_replicates, 1 - confidence)
    assert violations <= most
    assert careless > most
    # For scores without ties the probability of a violation is known: no more cautious than that.
    k = order_statistic(n_plus, rate, confidence)
    known = binom.cdf(k - 1, n_plus, 1 - rate)
    assert binom.ppf(RISK, n_replicates, known) <= violations
    assert violations <= most_violations(n_replicates, known)


# Jackknife+-after-bootstrap: a theorem on the average

WORLDS = {
    "narrow": World(30, 70, d=5),
    "middle": World(100, 100, d=20),
    "wide": World(30, 70, d=100, gap=3.0),
}


@pytest.mark.parametrize("name", WORLDS)
def test_jackknife_plus_misses_at_most_twice_alpha(name, capsys):
    world, rng, alpha, n_replicates, n_new = WORLDS[name], np.random.default_rng(0), 0.1, 1000, 200
    n = world.n_plus + world.n_minus
    missed, missed_by_training_threshold = np.empty(n_replicates), np.empty(n_replicates)
    for r in range(n_replicates):
        # The theorem as it stands: the number of bags is random, none is drawn again.
        n_bags = rng.binomial(136, (1 - 1 / (n + 1)) ** n)
        V, out_of_bag, W, b = fit_bags(world, rng, n_bags)
        new = world.records(rng, n_new, 0)[0] @ W.T + b
        own = left_out_means(V, out_of_bag)
        missed[r] = 1 - jackknife_plus(own, out_of_bag, new, 1 - alpha).mean()
        threshold = marginal_level(V.mean(axis=1), 1 - alpha)
        missed_by_training_threshold[r] = 1 - world.tpr(W.mean(axis=0), b.mean(), threshold)
    error = missed.std() / np.sqrt(n_replicates)
    with capsys.disabled():
        print(
            f"\njackknife+, {name}, alpha {alpha}: misses {missed.mean():.4f} (s.e. {error:.4f}); "
            f"above alpha in {np.mean(missed > alpha):.3f} of the samples; the same threshold from "
            f"training scores misses {missed_by_training_threshold.mean():.3f}"
        )
    assert missed.mean() + norm.isf(RISK) * error <= 2 * alpha
    assert missed.mean() == pytest.approx(alpha, abs=0.02)  # "about alpha in practice"
    if name == "wide":
        assert missed_by_training_threshold.mean() > 2 * alpha


# Out of bag: no theorem, measured


@pytest.mark.parametrize("name", WORLDS)
def test_out_of_bag_guarantee_measured(name, capsys):
    world, rng, n_replicates = WORLDS[name], np.random.default_rng(0), 1000
    rate, confidence = 0.9, 0.9
    tpr, tpr_of_training_threshold = np.empty(n_replicates), np.empty(n_replicates)
    for r in range(n_replicates):
        V, out_of_bag, W, b = fit_bags(world, rng, n_bags=100)
        w, intercept = W.mean(axis=0), b.mean()
        levels = left_out_means(V, out_of_bag)
        tpr[r] = world.tpr(w, intercept, guaranteed_level(levels, rate, confidence))
        threshold = guaranteed_level(V.mean(axis=1), rate, confidence)
        tpr_of_training_threshold[r] = world.tpr(w, intercept, threshold)
    violated, by_training = np.mean(tpr < rate), np.mean(tpr_of_training_threshold < rate)
    k = order_statistic(world.n_plus, rate, confidence)
    with capsys.disabled():
        print(
            f"\nout of bag, {name}, TPR >= {rate} at {confidence}: violated in {violated:.4f} "
            f"(a split with as many records: {binom.cdf(k - 1, world.n_plus, 1 - rate):.4f}), "
            f"mean TPR {tpr.mean():.3f}; the same threshold from training scores {by_training:.3f}"
        )
    # The documentation says that the guarantee held in these worlds.
    assert n_replicates * violated <= most_violations(n_replicates, 1 - confidence)
    assert by_training > violated


# The estimator as a whole


@pytest.mark.parametrize("calibration", [None, "platt"])
@pytest.mark.parametrize("name", ["tpr", "tnr"])
def test_the_estimator_keeps_its_split_guarantee(calibration, name, capsys):
    world, rng, n_replicates, n_test = World(40, 60, d=5), np.random.default_rng(0), 1000, 2000
    rate, confidence, n_threshold = 0.9, 0.9, 60
    side = 1 if name == "tpr" else -1
    sizes = (n_threshold, 20) if name == "tpr" else (20, n_threshold)
    kept = np.empty(n_replicates)
    for r in range(n_replicates):
        model = BootstrapSVC(
            [0.1, 1.0], n_bootstraps=40, calibration=calibration, random_state=r, n_jobs=1
        )
        model.fit(*world.records(rng, world.n_plus, world.n_minus))
        X, y = world.records(rng, *sizes)
        threshold = model.with_rate(
            **{name: rate}, guarantee="split", confidence=confidence, exceed=False, X=X, y=y
        )
        new = side * (rng.standard_normal((n_test, world.d)) + world.mean)
        kept[r] = np.mean(threshold.predict(new) == side)
    violations = np.count_nonzero(kept < rate)
    k = order_statistic(n_threshold, rate, confidence)
    known = betabinom.cdf(rate * n_test - 1, n_test, n_threshold - k + 1, k)
    with capsys.disabled():
        print(
            f"\nBootstrapSVC, split, {name}, calibration={calibration}: violated in "
            f"{violations / n_replicates:.3f}, known {known:.3f}"
        )
    assert known < 1 - confidence
    assert binom.ppf(RISK, n_replicates, known) <= violations
    assert violations <= most_violations(n_replicates, known)


@pytest.mark.parametrize("calibration", [None, "platt"])
def test_the_estimator_without_a_hold_out_measured(calibration, capsys):
    world, rng, n_replicates, n_test = World(40, 60, d=5), np.random.default_rng(0), 1000, 2000
    rate, confidence = 0.9, 0.9
    kept = {"oob": np.empty(n_replicates), "jackknife+": np.empty(n_replicates)}
    for r in range(n_replicates):
        model = BootstrapSVC(
            [0.1, 1.0], n_bootstraps=50, calibration=calibration, random_state=r, n_jobs=1
        )
        model.fit(*world.records(rng, world.n_plus, world.n_minus))
        new = world.records(rng, n_test, 0)[0]
        for kind, shares in kept.items():
            threshold = model.with_rate(
                tpr=rate, guarantee=kind, confidence=confidence, exceed=False
            )
            shares[r] = np.mean(threshold.predict(new) == 1)
    violated = {kind: np.mean(shares < rate) for kind, shares in kept.items()}
    with capsys.disabled():
        print(
            f"\nBootstrapSVC, calibration={calibration}: oob violated in {violated['oob']:.3f}, "
            f"mean TPR {kept['oob'].mean():.3f}; jackknife+ below the rate in "
            f"{violated['jackknife+']:.3f}, mean TPR {kept['jackknife+'].mean():.3f}"
        )
    assert n_replicates * violated["oob"] <= most_violations(n_replicates, 1 - confidence)
    assert kept["jackknife+"].mean() == pytest.approx(rate, abs=0.02)


# What the guarantee rests on: the figures of docs/guarantees.md

#: Copies of every record of the table, and how far new records are shifted towards the boundary.
BROKEN = {"2 copies": (2, 0.0), "5 copies": (5, 0.0), "10 copies": (10, 0.0), "shift": (1, 0.3)}


def violated_share(kind, copies, shift, rate=0.8, confidence=0.9, n_replicates=300, n_test=2000):
    """Share of the trials in which a guaranteed rate is missed, counted on new records."""
    world, rng, violations = World(100, 200, d=20), np.random.default_rng(0), 0
    for r in range(n_replicates):
        X, y = world.records(rng, world.n_plus, world.n_minus)
        model = ThresholdBootstrapSVC(
            rate,
            Cs=[0.5],
            n_bootstraps=50,
            guarantee=kind,
            confidence=confidence,
            exceed=False,
            random_state=r,
            n_jobs=1,
        )
        model.fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
        new = world.records(rng, n_test, 0)[0] - shift * world.mean / np.linalg.norm(world.mean)
        violations += np.mean(model.predict(new) == 1) < rate
    return violations / n_replicates


@pytest.mark.parametrize("kind", ["split", "oob"])
def test_a_guarantee_needs_independent_records_of_one_population(kind, capsys):
    kept = violated_share(kind, 1, 0.0)
    broken = {name: violated_share(kind, *how) for name, how in BROKEN.items()}
    with capsys.disabled():
        listed = ", ".join(f"{name} {share:.3f}" for name, share in broken.items())
        print(f"\n{kind}, TPR >= 0.8 at 0.9: violated in {kept:.3f}; {listed}")
    assert 300 * kept <= most_violations(300, 0.1)
    assert 300 * min(broken.values()) > most_violations(300, 0.1)
    assert broken["2 copies"] < broken["5 copies"] < broken["10 copies"]
