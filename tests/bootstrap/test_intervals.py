from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special, stats

from svmproba.bootstrap.intervals import (
    clopper_pearson,
    percentile_interval,
    sampling_interval,
    simulation_interval,
)
from svmproba.bootstrap.summaries import blocks

Z95 = stats.norm.ppf(0.975)


def multinomial_bags(n_bags, n, rng):
    return rng.multinomial(n, np.full(n, 1 / n), size=n_bags).astype(np.uint8)


def binomial_error(coverage, n_replicates):
    return np.sqrt(coverage * (1 - coverage) / n_replicates)


# --- Clopper and Pearson -------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_clopper_pearson_equals_scipy(confidence):
    cases = [(k, n) for n in (1, 2, 7, 40) for k in range(n + 1)]
    lower, upper = clopper_pearson(*zip(*cases, strict=True), confidence=confidence)
    for (k, n), low, high in zip(cases, lower, upper, strict=True):
        twin = stats.binomtest(k, n).proportion_ci(confidence, method="exact")
        assert (low, high) == pytest.approx((twin.low, twin.high), abs=1e-10)


def test_clopper_pearson_covers():
    """Exact coverage by enumeration: never below the stated confidence."""
    n, confidence = 25, 0.9
    k = np.arange(n + 1)
    lower, upper = clopper_pearson(k, np.full(n + 1, n), confidence=confidence)
    for p in np.linspace(0.01, 0.99, 99):
        covered = stats.binom.pmf(k, n, p)[(lower <= p) & (p <= upper)].sum()
        assert covered >= confidence - 1e-12


# --- Simulation error ----------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.6, 0.95, 0.99])
@pytest.mark.parametrize("n_bags", [1, 2, 9, 100])
def test_votes_of_0_and_1_get_clopper_pearson(n_bags, confidence):
    hits = np.arange(n_bags + 1)
    votes = np.arange(n_bags)[:, np.newaxis] < hits
    lower, upper = simulation_interval(votes, confidence)
    exact = clopper_pearson(hits, np.full(n_bags + 1, n_bags), confidence=confidence)
    np.testing.assert_allclose([lower, upper], exact, atol=1e-10)


@pytest.mark.parametrize("common", [0.0, 0.3, 1.0])
def test_unanimous_votes_are_no_certainty(common):
    """With B equal votes, unseen bags hold a share q at most: (1 - q)^B = alpha / 2."""
    n_bags, confidence = 500, 0.95
    lower, upper = simulation_interval(np.full((n_bags, 1), common), confidence)
    q = 1 - 0.025 ** (1 / n_bags)
    assert q == pytest.approx(3.69 / n_bags, rel=0.01)
    assert lower[0] == pytest.approx((1 - q) * common, abs=1e-12)
    assert upper[0] == pytest.approx((1 - q) * common + q, abs=1e-12)


@pytest.mark.parametrize("n_bags", [2, 100, 2000])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_nearly_unanimous_votes(n_bags, confidence):
    """Huge effective numbers of votes: the limits are those of unanimous votes, never NaN."""
    common = np.r_[np.linspace(0.003, 0.997, 200), np.geomspace(1e-10, 1e-3, 50)]
    q = 1 - ((1 - confidence) / 2) ** (1 / n_bags)
    for spread in [0.0, 1e-12, 1e-9]:
        votes = np.tile(common, (n_bags, 1))
        votes[::2] *= 1 - spread
        lower, upper = simulation_interval(votes, confidence)
        # 1e9 trials, the most that are counted, leave this much beside the unseen bags.
        slack = special.ndtri((1 + confidence) / 2) ** 2 / (4e9 * q) + 2e-9
        assert np.abs(lower - (1 - q) * common).max() <= slack
        assert np.abs(upper - (1 - q) * common - q).max() <= slack


def test_a_mixture_that_is_one_but_for_rounding_reaches_one():
    _, upper = simulation_interval(np.full((50, 1), np.full(11, 1 / 11).cumsum()[-1] - 2e-16))
    assert upper[0] == 1.0


def test_large_samples_get_the_normal_interval():
    rng = np.random.default_rng(0)
    votes = rng.dirichlet(np.ones(3)) @ (rng.random((3, 40_000)) < 0.4)
    lower, upper = simulation_interval(votes[:, np.newaxis])
    half = Z95 * votes.std() / np.sqrt(len(votes))
    assert lower[0] == pytest.approx(votes.mean() - half, abs=0.02 * half)
    assert upper[0] == pytest.approx(votes.mean() + half, abs=0.02 * half)


def coverage_of_mixtures(interval, small, large, n_bags=100):
    """Exact coverage where bags vote 0, `small` or `large`, on a grid of their probabilities."""
    k = np.array([(i, j) for i in range(n_bags + 1) for j in range(n_bags + 1 - i)])
    zeros = n_bags - k.sum(axis=1)
    ways = special.gammaln(n_bags + 1) - special.gammaln(np.c_[k, zeros] + 1).sum(axis=1)
    mean = k @ [small, large] / n_bags
    lower, upper = interval(k, zeros, mean)
    grid = [0.001, 0.003, 0.01, 0.02, 0.04, 0.1, 0.3, 0.5, 0.9]
    covered = []
    for p in [(a, b) for a in grid for b in grid if a + b < 1]:
        truth = p[0] * small + p[1] * large
        mass = np.exp(ways + k @ np.log(p) + zeros * np.log1p(-sum(p)))
        covered.append(mass[(lower <= truth) & (truth <= upper)].sum())
    return np.array(covered)


@pytest.mark.parametrize(("small", "large"), [(0.1, 1.0), (0.5, 1.0), (0.09, 0.5)])
def test_mixtures_are_covered(small, large):
    """Exact coverage of 95 %: .918 at worst; mean ± z sd / sqrt(B) falls to .18."""

    def ours(k, zeros, mean):
        votes = np.zeros((100, len(k)))
        position = np.arange(100)[:, np.newaxis]
        votes[position < k.sum(axis=1)] = small
        votes[position < k[:, 1]] = large
        return simulation_interval(votes)

    def normal(k, zeros, mean):
        variance = np.maximum(k @ [small**2, large**2] / 100 - mean**2, 0)
        half = Z95 * np.sqrt(variance / 100)
        return mean - half, mean + half

    covered = coverage_of_mixtures(ours, small, large)
    assert covered.min() > 0.915
    assert np.median(covered) > 0.95
    assert coverage_of_mixtures(normal, small, large).min() < 0.2


tables = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12),
    elements=st.sampled_from([0.0, 0.1, 0.25, 0.5, 2 / 3, 1.0]),
)


@settings(deadline=None, max_examples=100)
@given(tables, st.floats(0.05, 0.999))
def test_simulation_limits_hold_the_share(votes, confidence):
    lower, upper = simulation_interval(votes, confidence)
    share = votes.mean(axis=0)
    assert np.all(lower >= 0)
    assert np.all(upper <= 1)
    assert np.all(lower <= share + 1e-12)
    assert np.all(upper >= share - 1e-12)
    assert np.all(upper > lower)
    # The classes may be exchanged, the bags shuffled, and more confidence needs more room.
    np.testing.assert_allclose(simulation_interval(1 - votes, confidence)[0], 1 - upper, atol=1e-9)
    np.testing.assert_allclose(simulation_interval(votes[::-1], confidence)[0], lower, atol=1e-12)
    wide_lower, wide_upper = simulation_interval(votes, 0.5 + confidence / 2)
    assert np.all(wide_lower <= lower + 1e-12)
    assert np.all(wide_upper >= upper - 1e-12)


# --- Sampling error ------------------------------------------------------------------------------


def test_a_bagged_mean_has_the_known_variance():
    """The estimate's own deviation is V sqrt(4/B + 2n/B^2): 1.4 % here."""
    n, n_bags = 30, 20_000
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 4))
    counts = multinomial_bags(n_bags, n, rng)
    found = sampling_interval(counts @ x / n, counts, probability=False)
    exact = x.var(axis=0) / n
    deviation = np.sqrt(4 / n_bags + 2 * n / n_bags**2)
    np.testing.assert_allclose(found.variance / exact, 1, atol=3.5 * deviation)
    assert found.estimated.all()
    np.testing.assert_allclose(found.upper - found.lower, 2 * Z95 * np.sqrt(exact), rtol=0.03)
    np.testing.assert_allclose((found.lower + found.upper) / 2, (counts @ x / n).mean(axis=0))


def test_few_bags_are_corrected_for():
    """Without the correction, B bags add the share (n - 1) / B to the variance."""
    n, n_bags, n_repeats = 30, 200, 400
    rng = np.random.default_rng(1)
    x = rng.normal(size=n)
    exact = x.var() / n
    raw, corrected = np.empty(n_repeats), np.empty(n_repeats)
    for r in range(n_repeats):
        counts = multinomial_bags(n_bags, n, rng)
        values = counts @ x / n
        corrected[r] = sampling_interval(values[:, np.newaxis], counts, probability=False).variance[
            0
        ]
        raw[r] = corrected[r] + n / n_bags * values.var()
    error = corrected.std() / np.sqrt(n_repeats)
    # The formula takes away n / B, one part in n too much.
    assert corrected.mean() / exact == pytest.approx(1 - 1 / n_bags, abs=3.5 * error / exact)
    assert raw.mean() / exact == pytest.approx(1 + (n - 1) / n_bags, abs=3.5 * error / exact)
    assert raw.mean() - exact > 10 * error


def plain_jackknife(values, counts):
    """The formula, one covariance at a time."""
    n_bags, n = counts.shape
    covariances = [np.mean((counts[:, i] - 1.0) * (values - values.mean())) for i in range(n)]
    return np.sum(np.square(covariances)) - n / n_bags**2 * np.sum((values - values.mean()) ** 2)


@pytest.mark.parametrize("block_bytes", [16 * 2**20, 4096])
def test_blocks_and_idle_columns_change_nothing(block_bytes, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", block_bytes)
    rng = np.random.default_rng(2)
    counts = multinomial_bags(40, 25, rng)
    values = counts @ rng.normal(size=(25, 3)) + rng.normal(size=(40, 3))
    twin = [plain_jackknife(v, counts) for v in values.T]
    assert min(twin) > 0
    found = sampling_interval(values, counts, probability=False)
    np.testing.assert_allclose(found.variance, twin, rtol=1e-12)
    idle = np.insert(counts, [0, 7, 25], 0, axis=1)
    np.testing.assert_allclose(
        sampling_interval(values, idle, probability=False).variance, twin, rtol=1e-12
    )


def test_a_variance_that_cannot_be_told_is_flagged():
    """Values that have nothing to do with the bags: few exceed twice the noise."""
    rng = np.random.default_rng(3)
    counts = multinomial_bags(100, 50, rng)
    scores = rng.normal(size=(100, 200))
    found = sampling_interval(scores, counts, 0.9, probability=False)
    assert found.estimated.mean() < 0.1
    untold = ~found.estimated
    assert found.variance.min() == 0
    spread = scores.var(axis=0)
    assert np.all(found.variance[untold] <= 2 * np.sqrt(2 * 50) / 100 * spread[untold])
    error = np.sqrt(np.where(untold, spread, found.variance) + spread / 100)
    np.testing.assert_allclose(found.upper - found.lower, 2 * stats.norm.ppf(0.95) * error)


def test_untold_votes_move_as_much_as_the_bags():
    counts = multinomial_bags(100, 50, np.random.default_rng(4))
    votes = np.c_[np.ones(100), np.zeros(100), np.full(100, 0.3)]
    found = sampling_interval(votes, counts)
    assert not found.estimated.any()
    np.testing.assert_allclose(found.variance, 0, atol=1e-24)  # rounding of 0.3
    g = stats.norm.ppf((100 * votes.mean(axis=0) + 0.5) / 101)
    np.testing.assert_allclose(found.lower[[0, 2]], stats.norm.cdf(g - Z95)[[0, 2]])
    np.testing.assert_allclose(found.upper[[1, 2]], stats.norm.cdf(g + Z95)[[1, 2]])
    assert found.upper[0] == 1.0
    assert found.lower[1] == 0.0


def test_probabilities_with_too_few_bags_have_intervals_of_like_width():
    """Whether or not the variance stands out from the noise, the error is about that of a bag."""
    rng = np.random.default_rng(8)
    counts = multinomial_bags(40, 600, rng)
    scores = counts @ rng.normal(size=(600, 300)) / 30
    values = special.expit(scores + np.linspace(-3, 3, 300))
    found = sampling_interval(values, counts, votes=False)
    assert 0.05 < found.estimated.mean() < 0.95
    assert np.any(found.variance > 1.5 * values.var(axis=0))  # noise: it cannot be more than 1
    g = stats.norm.ppf(values.mean(axis=0))
    units = values.std(axis=0) / stats.norm.pdf(g)
    least = simulation_interval(values)
    # Twice the noise is above the variance of the bags here: all take that variance.
    for sign, limit, widened in zip((-1, 1), found[:2], least, strict=True):
        by_method = limit != widened
        assert by_method.mean() > 0.8
        half = sign * (stats.norm.ppf(limit) - g)[by_method] / units[by_method]
        np.testing.assert_allclose(half, Z95 * np.sqrt(1 + 1 / 40), rtol=1e-6)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.floats(0.1, 0.99))
def test_sampling_limits_of_votes(seed, n_bags, confidence):
    rng = np.random.default_rng(seed)
    counts = multinomial_bags(n_bags, 8, rng)
    scores = counts @ rng.normal(size=(8, 5)) + rng.normal(size=5)
    votes = 0.7 * (scores > 0) + 0.3 * (scores > 1)
    found = sampling_interval(votes, counts, confidence)
    lower, upper = simulation_interval(votes, confidence)
    assert np.all((found.lower >= 0) & (found.lower <= lower))
    assert np.all((found.upper <= 1) & (found.upper >= upper))
    flipped = sampling_interval(1 - votes, counts, confidence)
    np.testing.assert_allclose(flipped.lower, 1 - found.upper, atol=1e-9)
    np.testing.assert_allclose(flipped.variance, found.variance, atol=1e-12)


def test_the_table_of_bags_is_never_copied_whole():
    counts = np.ones((2000, 20_000), dtype=np.uint8)  # 40 MB, eight times as much in float64
    values = np.random.default_rng(5).random((2000, 3))
    tracemalloc.start()
    sampling_interval(values, counts)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40e6


@pytest.fixture(scope="module")
def redrawn_means():
    """Intervals for the mean of 30 normal numbers, and for its sign, in 1000 redrawn samples."""
    n, n_bags, n_replicates = 30, 300, 1000
    rng = np.random.default_rng(6)
    scores, votes = [], []
    for _ in range(n_replicates):
        x = rng.normal(size=n)
        counts = multinomial_bags(n_bags, n, rng)
        means = (counts @ x / n)[:, np.newaxis]
        scores.append(sampling_interval(means, counts, probability=False))
        vote = np.hstack([means > 0, means > -1 / np.sqrt(n)])
        votes.append((vote.mean(axis=0), *sampling_interval(vote, counts)))
    return scores, list(zip(*votes, strict=True))


def test_mean_scores_are_covered(redrawn_means):
    """A z interval with the plain variance covers as a t variable does: .936, not .95."""
    scores, _ = redrawn_means
    covered = np.mean([found.lower[0] <= 0 <= found.upper[0] for found in scores])
    expected = 1 - 2 * stats.t.sf(Z95 * np.sqrt(29 / 30), 29)
    assert covered == pytest.approx(expected, abs=3.5 * binomial_error(expected, 1000))


@pytest.mark.parametrize(("column", "mu"), [(0, 0.0), (1, 1.0)])
def test_vote_shares_are_covered(redrawn_means, column, mu):
    r"""Votes for "the mean is above the threshold", which is mu standard errors below the truth.

    Many bags give the share Phi(g), g = sqrt(30/29) t with t Student's, off centre by mu, and the
    limits Phi(g ± z): they cover in .936 and .922 of samples, .931 and .938 of these. The
    symmetric limits Phi(g) ± z phi(g) would in .750 and .697.
    """
    g = np.sqrt(30 / 29) * np.linspace(-12, 12, 100_001)
    density = stats.nct.pdf(g / np.sqrt(30 / 29), 29, mu)
    density /= density.sum()
    truth = density @ stats.norm.cdf(g)
    share, lower, upper, variance, _ = (np.array(part)[:, column] for part in redrawn_means[1])
    assert share.mean() == pytest.approx(truth, abs=3.5 * share.std() / np.sqrt(len(share)))

    expected = density[np.abs(g - stats.norm.ppf(truth)) <= Z95].sum()
    covered = np.mean((lower <= truth) & (truth <= upper))
    assert covered == pytest.approx(expected, abs=3.5 * binomial_error(expected, len(share)))

    expected = density[np.abs(stats.norm.cdf(g) - truth) <= Z95 * stats.norm.pdf(g)].sum()
    covered = np.mean(np.abs(share - truth) <= Z95 * np.sqrt(variance))
    assert covered == pytest.approx(expected, abs=3.5 * binomial_error(expected, len(share)))


# --- Percentiles ---------------------------------------------------------------------------------


def test_percentiles_are_of_type_7():
    """Order statistic number 1 + (B - 1) p, linear in between."""
    scores = np.random.default_rng(7).normal(size=(23, 4))
    lower, upper = percentile_interval(scores, 0.9)
    ordered = np.sort(scores, axis=0)
    place = 22 * 0.05  # 1.1
    np.testing.assert_allclose(lower, ordered[1] + (place - 1) * (ordered[2] - ordered[1]))
    np.testing.assert_allclose(upper, ordered[-2] - (place - 1) * (ordered[-2] - ordered[-3]))


# --- Bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.1, np.nan])
@pytest.mark.parametrize(
    "interval",
    [
        simulation_interval,
        percentile_interval,
        lambda values, confidence: sampling_interval(values, np.ones((3, 3), int), confidence),
        lambda values, confidence: clopper_pearson(1, 2, confidence=confidence),
    ],
)
def test_bad_confidence_is_named(interval, confidence):
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1, both excluded; got"):
        interval(np.zeros((3, 2)), confidence)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simulation_interval([0.0, 1.0]), r"bag_votes must have shape.*got \(2,\)"),
        (lambda: simulation_interval(np.empty((0, 3))), "one bag or more"),
        (lambda: simulation_interval([[0.0], [1.5]]), r"bag_votes must lie in \[0, 1\]"),
        (lambda: simulation_interval([[0.0], [np.nan]]), r"bag_votes must lie in \[0, 1\]"),
        (lambda: percentile_interval([1.0]), "bag_scores must have shape"),
        (
            lambda: sampling_interval(np.zeros((3, 1)), np.ones((4, 2), np.uint8)),
            r"counts must have one row for each of the 3 bags, got shape \(4, 2\)",
        ),
        (
            lambda: sampling_interval(np.full((3, 1), 2.0), np.ones((3, 2), np.uint8)),
            r"must lie in \[0, 1\]",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_no_records_no_limits():
    empty = np.empty((5, 0))
    assert simulation_interval(empty)[0].shape == (0,)
    assert sampling_interval(empty, np.ones((5, 4), np.uint8)).lower.shape == (0,)
    assert percentile_interval(empty)[1].shape == (0,)
