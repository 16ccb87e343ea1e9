"""What the intervals guarantee, measured on SVMs: simulations in place of theorems."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from svmproba.bootstrap.fitting.bags import draw_bags
from svmproba.bootstrap.intervals import (
    percentile_interval,
    sampling_interval,
    simulation_interval,
)
from svmproba.solvers.ensemble import fit_ensemble

pytestmark = pytest.mark.slow

PAPER_GRID = 2.0 ** np.arange(-5, 6)


def two_normals(n, rng, n_features=2, shift=0.75):
    """Two spherical normal classes, apart along the first axis."""
    signs = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    rows = rng.normal(size=(n, n_features))
    rows[:, 0] += shift * signs
    return rows, signs


def on_axis(places, n_features=2):
    """Records on the line through the class means, which meets the boundary at 0."""
    new = np.zeros((len(places), n_features))
    new[:, 0] = places
    return new


def bag_scores(rows, signs, counts, grid, new):
    """Scores of all bags, shape (n_C, n_bags, n_new)."""
    fit = fit_ensemble(rows, signs, counts, np.asarray(grid, dtype=float))
    return fit.coef @ new.T + fit.intercept[:, :, np.newaxis]


def three_errors(coverage, n_replicates):
    return 3 * np.sqrt(coverage * (1 - coverage) / n_replicates)


def share_covered(truth, lower, upper):
    return np.mean((np.asarray(lower) <= truth) & (truth <= np.asarray(upper)), axis=0)


@pytest.fixture(scope="module")
def pool():
    """Votes (n_C, n_bags, n_new) of 20 000 bags of one training set."""
    rng = np.random.default_rng(0)
    rows, signs = two_normals(80, rng)
    counts, _ = draw_bags(20_000, signs > 0, rng)
    new = on_axis([-0.6, -0.5, -0.4, -0.2, -0.1, 0.0, 0.1, 0.2])
    return bag_scores(rows, signs, counts, PAPER_GRID, new) > 0


def simulation_coverage(votes, n_bags, n_replicates, seed):
    """Coverage of the pool's mean by intervals from bags drawn out of the pool."""
    rng = np.random.default_rng(seed)
    truth = votes.mean(axis=0)
    draws = (rng.integers(len(votes), size=n_bags) for _ in range(n_replicates))
    lower, upper = np.moveaxis([simulation_interval(votes[drawn]) for drawn in draws], 1, 0)
    half = stats.norm.ppf(0.975) * votes.std(axis=0) / np.sqrt(n_bags)
    return truth, share_covered(truth, lower, upper), (upper - lower).mean(axis=0) / (2 * half)


@pytest.mark.parametrize("n_bags", [100, 500])
@pytest.mark.parametrize("mixture", [False, True])
def test_simulation_interval(pool, mixture, n_bags):
    """Fixed training set, redrawn bags, shares from .008 to .95, 3000 replicates.

    Measured for 95 %, one C: .954 to .990 with 100 bags, .951 to .964 with 500; for a mixture of
    eleven: .956 to .992 and .946 to .977.
    """
    votes = pool.mean(axis=0) if mixture else pool[5].astype(float)
    truth, covered, width = simulation_coverage(votes, n_bags, 3000, seed=n_bags)
    assert truth.min() < 0.02
    assert covered.min() >= 0.95 - three_errors(0.95, 3000)
    # Next to z s / sqrt(B) the limits give away little, but at the ends, where that is too short.
    assert width.max() < 1.5
    assert width[(truth > 0.2) & (truth < 0.8)].max() < 1.05


def sampling_coverage(n, n_bags, grid, n_replicates, new, shift):
    """Over redrawn training sets, for votes and for mean scores.

    Returns
    -------
    covered, symmetric : coverage of the mean over training sets, by ours and by mean ± z sqrt(V)
    ratio : mean estimated variance over the true one
    """
    rng = np.random.default_rng(n + n_bags)
    replicates = ([], [])
    for _ in range(n_replicates):
        rows, signs = two_normals(n, rng, new.shape[1], shift)
        counts, _ = draw_bags(n_bags, signs > 0, rng)
        scores = bag_scores(rows, signs, counts, grid, new)
        for kind, values in enumerate([(scores > 0).mean(axis=0), scores.mean(axis=0)]):
            found = sampling_interval(values, counts, probability=kind == 0)
            replicates[kind].append((values.mean(axis=0), *found[:3]))
    for replicate in replicates:
        mean, lower, upper, variance = np.moveaxis(replicate, 1, 0)
        truth = mean.mean(axis=0)
        half = stats.norm.ppf(0.975) * np.sqrt(variance)
        symmetric = share_covered(truth, mean - half, mean + half)
        yield (
            share_covered(truth, lower, upper),
            symmetric,
            variance.mean(axis=0) / mean.var(axis=0),
        )


@pytest.mark.parametrize(
    ("n", "n_bags", "grid", "n_replicates", "guarantee"),
    [
        (60, 300, [1.0], 1000, 0.93),
        (60, 300, PAPER_GRID, 600, 0.93),
        (200, 1000, [1.0], 600, 0.95),
    ],
)
def test_sampling_interval(n, n_bags, grid, n_replicates, guarantee):
    """Two features, normal classes 1.5 deviations apart, from the boundary to far off it.

    Measured for 95 %, in the order of the cases. Votes: .922 to .998, .923 to .997, .950 to 1
    (over-covered far off, where the variance cannot be told); the symmetric limits would cover
    .759 on the boundary and .19 far off, .770 and .49, .800 and .00. Mean scores: .923 to .945,
    .932 to .952, .943 to .957. The guarantee is the stated confidence only with 200 records; with
    60 the variance of first order is up to a tenth too small, worth two points of coverage.
    """
    new = on_axis([0.0, 0.2, 0.4, 0.7, 1.0, 1.5])
    votes, scores = sampling_coverage(n, n_bags, grid, n_replicates, new, shift=0.75)
    error = three_errors(0.95, n_replicates)
    covered, symmetric, _ = votes
    assert covered.min() >= guarantee - error
    assert covered[0] <= 0.95 + error
    assert symmetric.max() < 0.83
    covered, _, ratio = scores
    assert covered.min() >= guarantee - error
    assert covered.max() <= 0.95 + error
    assert ratio.min() > 0.85
    assert ratio.max() < 1.25


@pytest.mark.parametrize("intercept", [0.0, -2.0])
def test_sampling_interval_of_linked_scores_with_few_bags(intercept):
    """600 records and 40 bags, so that the variance is mostly noise; the link is fixed.

    Measured for 95 %: .925 to .992. The deviation of 40 bags is itself uncertain, which is worth a
    point of coverage. In the middle the limits are no wider than those of a known variance.
    """
    rng, n_replicates = np.random.default_rng(640), 600
    new = on_axis([-1.5, -1.0, -0.5, 0.0, 0.3, 0.7, 1.5])
    replicates = []
    for _ in range(n_replicates):
        rows, signs = two_normals(600, rng)
        counts, _ = draw_bags(40, signs > 0, rng)
        values = special.expit(2 * bag_scores(rows, signs, counts, [1.0], new)[0] + intercept)
        found = sampling_interval(values, counts, votes=False)
        replicates.append((values.mean(axis=0), *found[:2], found.estimated))
    mean, lower, upper, estimated = np.moveaxis(replicates, 1, 0)
    covered = share_covered(mean.mean(axis=0), lower, upper)
    assert estimated.mean() < 0.5
    assert covered.min() >= 0.94 - three_errors(0.94, n_replicates)
    middle = np.abs(mean.mean(axis=0) - 0.5) < 0.3
    known = 2 * stats.norm.ppf(0.975) * mean.std(axis=0)
    assert np.all((upper - lower).mean(axis=0)[middle] < 1.1 * known[middle])


def test_sampling_interval_where_theory_ends():
    """Ten features, 60 records, classes three deviations apart: bags are nearly separable.

    The variance over training sets is underestimated by a third. Measured for 95 %: .867 for
    votes on the boundary, .905 and more off it; .823 to .855 for mean scores.
    """
    new = on_axis([0.0, 0.2, 0.4], n_features=10)
    votes, scores = sampling_coverage(60, 300, [1.0], 600, new, shift=1.5)
    assert 0.87 - three_errors(0.87, 600) <= votes[0].min() < 0.93
    assert np.all(np.abs(scores[0] - 0.83) <= three_errors(0.83, 600))
    assert np.all(scores[2] < 0.75)


@pytest.mark.parametrize("n", [60, 200])
def test_percentile_interval_of_a_linear_score(n):
    """The functional: the SVM of the whole distribution, at the same C times n.

    Measured for 95 %: .947 to .960 with 60 records, .953 to .965 with 200.
    """
    rng = np.random.default_rng(6)
    n_large, n_replicates = 400_000, 600
    new = np.array([[0.0, 0.0], [0.5, 0.0], [1.0, 0.0], [0.0, 1.0]])
    rows, signs = two_normals(n_large, rng)
    truth = bag_scores(rows, signs, np.ones((1, n_large)), [n / n_large], new)[0, 0]
    np.testing.assert_allclose(truth[[0, 3]], 0, atol=0.02)  # known by symmetry
    limits = []
    for _ in range(n_replicates):
        rows, signs = two_normals(n, rng)
        counts, _ = draw_bags(1000, signs > 0, rng)
        limits.append(percentile_interval(bag_scores(rows, signs, counts, [1.0], new)[0]))
    covered = share_covered(truth, *np.moveaxis(limits, 1, 0))
    assert np.all(np.abs(covered - 0.95) <= three_errors(0.95, n_replicates))
