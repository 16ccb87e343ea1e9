"""Votes, tallies and profiles on torch's CPU are those of NumPy."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from svmproba.bootstrap.fitting.bags import draw_bags
from svmproba.bootstrap.fitting.members import Members, count_votes, member_scores
from svmproba.bootstrap.summaries.profile import profile_records, scales_and_thresholds
from svmproba.bootstrap.summaries.reliability import MEASURES
from svmproba.bootstrap.summaries.votes import tally_block, vote_shares
from svmproba.solvers.features import fit_features
from svmproba.solvers.runtime import devices

torch = pytest.importorskip("torch", reason="work on a device needs torch")

from svmproba.bootstrap.fitting.on_device import device_count_votes, device_vote_shares  # noqa: E402

CPU = torch.device("cpu")
N, N_THETA, N_BAGS = 60, 3, 21


@pytest.fixture
def drawn():
    """Members with whole coefficients on whole records: many scores are tied, many are 0."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (N, 4)).astype(float)
    positive = rng.random(N) < 0.4
    counts, _ = draw_bags(N_BAGS, positive, rng)
    counts[:, 5] = 1  # a record that is in every bag
    feature_map, _ = fit_features(X, "linear")
    columns = rng.integers(-1, 2, (4, N_THETA * N_BAGS)).astype(float)
    intercept = rng.integers(-1, 2, (N_THETA, N_BAGS)).astype(float)
    means = columns.reshape(4, N_THETA, N_BAGS).mean(axis=2)
    return Members([feature_map], [columns], intercept, [means]), X, positive, counts


@pytest.mark.parametrize("measure", MEASURES)
def test_tallies(drawn, measure):
    members, X, positive, counts = drawn
    counts[3] = np.where(positive, 0, 1)  # only one class is left out
    scores = np.ascontiguousarray(member_scores(members, X).transpose(2, 1, 0))
    votes, reliability = tally_block(scores, counts, positive=positive, measure=measure)
    moved = torch.as_tensor(scores), torch.as_tensor(counts)
    found = tally_block(*moved, positive=positive, measure=measure)
    np.testing.assert_array_equal(found[0], votes, strict=True)
    np.testing.assert_allclose(found[1], reliability, rtol=1e-14, strict=True)
    assert (np.isnan(reliability[:, 3]) == (measure != "accuracy")).all()


@pytest.mark.parametrize("n_bytes", [2**29, 1])
def test_counted_votes(drawn, n_bytes, monkeypatch):
    monkeypatch.setattr(devices, "CPU_BYTES", n_bytes)
    members, X, positive, counts = drawn
    coef = members.columns[0].T.reshape(N_THETA, N_BAGS, -1).copy()
    tally = partial(tally_block, positive=positive, measure="g_mean")
    task = (X, coef, members.intercept, counts, tally)
    for found, expected in zip(device_count_votes(*task, CPU), count_votes(*task), strict=True):
        np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("n_bytes", [2**29, 1])
@pytest.mark.parametrize("out_of_bag", [True, False])
def test_profiles(drawn, out_of_bag, n_bytes, monkeypatch):
    monkeypatch.setattr(devices, "CPU_BYTES", n_bytes)
    members, X, positive, counts = drawn
    rho = np.array([0.25, 0.0, 0.75])
    _, thresholds = scales_and_thresholds(members, X, counts)
    options = {
        "counts": counts if out_of_bag else None,
        "positive": positive,
        "thresholds": thresholds,
    }
    profile = profile_records(members, X, rho, **options)
    found = profile_records(members, X, rho, **options, device="torch")
    for name, expected in profile._asdict().items():
        np.testing.assert_allclose(
            getattr(found, name), expected, rtol=1e-12, atol=1e-12, err_msg=name, strict=True
        )
    assert np.isnan(found.median[5]) == out_of_bag
    assert (found.hits > 0).any()


def test_profile_without_thresholds(drawn):
    members, X, _, _ = drawn
    rho = np.full(3, 1 / 3)
    profile = profile_records(members, X, rho)
    found = profile_records(members, X, rho, device="torch")
    np.testing.assert_array_equal(found.median, profile.median)
    assert found.hits.shape == profile.hits.shape == (2, 0)


@pytest.mark.parametrize("left_out", [True, False])
def test_scales_and_thresholds(drawn, left_out):
    members, X, _, counts = drawn
    counts = counts if left_out else np.ones_like(counts)
    scales, thresholds = scales_and_thresholds(members, X, counts)
    found = scales_and_thresholds(members, X, counts, device="torch")
    np.testing.assert_allclose(found[0], scales, strict=True)
    np.testing.assert_allclose(found[1], thresholds, atol=1e-12, strict=True)


@pytest.mark.parametrize("n_bytes", [2**29, 1])
@pytest.mark.parametrize("threshold", [[[0.0]], [[0.0], [1.0], [-1.0]]])
def test_vote_shares(drawn, threshold, n_bytes, monkeypatch):
    monkeypatch.setattr(devices, "CPU_BYTES", n_bytes)
    members, X, _, _ = drawn
    thresholds = np.array(threshold)
    expected = vote_shares(member_scores(members, X), thresholds)
    found = device_vote_shares(members, X, thresholds, CPU)
    np.testing.assert_array_equal(found, expected, strict=True)
    assert ((expected * 2 * N_BAGS) % 2 == 1).any()  # ties were drawn


def test_two_feature_maps(drawn):
    members, X, _, _ = drawn
    maps = [fit_features(X, "rbf", gamma=gamma)[0] for gamma in (0.1, 1.0)]
    rng = np.random.default_rng(1)
    columns = [rng.normal(size=(m.width, N_THETA * N_BAGS)) for m in maps]
    intercept = rng.normal(size=(2 * N_THETA, N_BAGS))
    members = Members(maps, columns, intercept, [])
    expected = vote_shares(member_scores(members, X))
    np.testing.assert_array_equal(device_vote_shares(members, X, np.zeros((1, 1)), CPU), expected)
