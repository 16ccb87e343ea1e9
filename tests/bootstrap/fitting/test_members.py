from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from svmproba.bootstrap.fitting import members as module
from svmproba.bootstrap.fitting.members import (
    Members,
    mean_scores,
    member_scores,
    member_vote_shares,
    scores_width,
    transformed,
)
from svmproba.solvers.features import fit_features

N, D, N_BAGS = 40, 3, 9


def share(scores, threshold):
    return np.mean([1.0 if f > threshold else 0.5 if f == threshold else 0.0 for f in scores])


@pytest.fixture
def lattice():
    """Linear members and records of whole numbers: scores without rounding errors, many ties."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, size=(N, D)).astype(float)
    coef, intercept = rng.integers(-1, 2, (2, N_BAGS, D)), rng.integers(-1, 2, (2, N_BAGS))
    columns = np.ascontiguousarray(coef.reshape(-1, D).T, dtype=float)
    return Members([fit_features(X)[0]], [columns], intercept.astype(float), []), coef, X


@pytest.mark.parametrize("n", [1, module.FEW_RECORDS, module.FEW_RECORDS + 1, N])
@pytest.mark.parametrize("threshold", [[[0.0]], [[1.0], [-1.0]]])
@pytest.mark.parametrize("container", [np.asarray, np.float32, sparse.csr_array])
def test_vote_shares_by_loop(lattice, n, threshold, container):
    members, coef, X = lattice
    shares = member_vote_shares(members, container(X[:n]), np.array(threshold))
    assert shares.shape == (n, 2)
    ties = 0
    for i, k in np.ndindex(n, 2):
        limit = threshold[k if len(threshold) > 1 else 0][0]
        scores = coef[k] @ X[i] + members.intercept[k]
        ties += np.count_nonzero(scores == limit)
        assert shares[i, k] == share(scores, limit)
    assert n == 1 or ties > 0


def test_several_feature_maps():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, D))
    maps = [fit_features(X, "rbf", gamma=gamma)[0] for gamma in (0.1, 1.0)]
    columns = [rng.normal(size=(m.width, 2 * N_BAGS)) for m in maps]
    means = [part.reshape(-1, 2, N_BAGS).mean(axis=2) for part in columns]
    members = Members(maps, columns, rng.normal(size=(4, N_BAGS)), means)
    thresholds = np.array([[0.0], [0.5], [-0.5], [1.0]])
    products = [m.transform(X) @ part for m, part in zip(maps, columns, strict=True)]
    scores = np.concatenate([p.reshape(N, 2, N_BAGS) for p in products], axis=1) + members.intercept
    assert member_scores(members, X) == pytest.approx(scores)
    assert mean_scores(members, transformed(members, X)) == pytest.approx(scores.mean(axis=2))
    assert np.array_equal(
        member_vote_shares(members, X, thresholds), (scores > thresholds).mean(axis=2)
    )


def test_vote_shares_of_arrays_that_cannot_be_written(lattice):
    members, _, X = lattice
    expected = member_vote_shares(members, X, np.zeros((1, 1)))
    for array in (members.intercept, members.columns[0], X):
        array.flags.writeable = False
    assert np.array_equal(member_vote_shares(members, X, np.zeros((1, 1))), expected)


def test_the_memory_of_scores_is_that_of_the_widest_feature_map():
    """Two copies of the scores, and the rows of one feature map at a time."""
    X = np.random.default_rng(1).normal(size=(N, D))
    maps = [fit_features(X)[0], fit_features(X)[0]]
    columns = [np.zeros((D, 2 * N_BAGS)), np.zeros((3 * D, 2 * N_BAGS))]
    for order in (slice(None), slice(None, None, -1)):
        members = Members(maps, columns[order], np.zeros((4, N_BAGS)), [])
        assert scores_width(members) == 2 * 4 * N_BAGS + 3 * D
