from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from svmproba import BootstrapSVC
from svmproba.bootstrap.fitting.members import member_scores, transformed
from svmproba.bootstrap.summaries.blocks import BLOCK_BYTES
from svmproba.bootstrap.summaries.spread import (
    deviations,
    family_mixtures,
    mixture_scores,
    out_of_bag_spreads,
    score_ratios,
)
from svmproba.solvers.runtime import devices


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.normal(size=60) > 0.5
    options = {"Cs": [0.1, 1.0], "kernel": "auto", "class_weight": [None, "balanced"]}
    model = BootstrapSVC(n_bootstraps=30, random_state=0, **options).fit(X, y)
    return X, model.ensemble_


def naive(scores, factors, counted):
    """Standard deviation of each pair of values, sample by sample."""
    found = np.empty((len(factors) // 2, len(scores)))
    for i, s in enumerate(scores):
        for f in range(len(found)):
            g = [factors[2 * f] * b[2 * f] + factors[2 * f + 1] * b[2 * f + 1] for b in s.T]
            found[f, i] = np.std(np.array(g)[counted[i]], ddof=1)
    return found


def test_spread_over_the_bags_of_every_family(fitted):
    X, ensemble = fitted
    weights, scales = np.random.default_rng(1).random((2, len(ensemble.weights)))
    factors = weights / scales
    scores = member_scores(ensemble.members, X)
    out = ensemble.counts.T == 0
    mixtures = family_mixtures(ensemble.members, factors)
    all_bags = deviations(mixture_scores(mixtures, transformed(ensemble.members, X)))
    np.testing.assert_allclose(all_bags, naive(scores, factors, np.ones_like(out)), rtol=1e-9)
    found = out_of_bag_spreads(ensemble.members, weights, scales, X, ensemble.counts, None)
    np.testing.assert_allclose(found, naive(scores, factors, out), rtol=1e-9)


@pytest.mark.parametrize("n_bytes", [2**29, 1])
def test_a_device_gives_the_same(fitted, n_bytes, monkeypatch):
    pytest.importorskip("torch")
    X, ensemble = fitted
    scaling = ensemble.weights, ensemble.score_scales
    counts = ensemble.counts.copy()
    counts[:, 7] = 1  # a sample that is in every bag
    expected = out_of_bag_spreads(ensemble.members, *scaling, X, counts, None)
    assert (expected[:, 7] == 0).all()
    monkeypatch.setattr(devices, "CPU_BYTES", n_bytes)
    found = out_of_bag_spreads(ensemble.members, *scaling, X, counts, None, device="torch")
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_sparse_samples_and_blocks_change_nothing(fitted, monkeypatch):
    X, ensemble = fitted
    scaling = ensemble.weights, ensemble.score_scales
    whole = out_of_bag_spreads(ensemble.members, *scaling, X, ensemble.counts, None)
    np.testing.assert_array_equal(ensemble.oob_spreads, whole)
    monkeypatch.setattr("svmproba.bootstrap.summaries.blocks.BLOCK_BYTES", BLOCK_BYTES // 2000)
    table = sparse.csr_array(X)
    parts = out_of_bag_spreads(ensemble.members, *scaling, table, ensemble.counts, 2)
    np.testing.assert_allclose(parts, whole, rtol=1e-9)


def test_one_bag_has_no_deviation(fitted):
    X, ensemble = fitted
    mixtures = family_mixtures(ensemble.members, ensemble.weights)
    counted = np.zeros((len(X), 30), dtype=bool)
    counted[1:, 4] = True  # the first sample has none at all
    assert np.all(
        deviations(mixture_scores(mixtures, transformed(ensemble.members, X)), counted) == 0
    )


def test_ratios_are_bounded():
    weighted = np.array([[1.0, 1.0, 0.0, -1.0], [2.0, 2.0, 0.0, 0.0]])
    spreads = np.array([[2.0, 0.0, 0.0, 1e-9]])
    np.testing.assert_array_equal(score_ratios(weighted, spreads), [[1.5, 100.0, 0.0, -100.0]])
    assert score_ratios(weighted, spreads[:0]).shape == (0, 4)


@pytest.mark.parametrize("n_used", [1, 2])
def test_several_values_are_needed(fitted, n_used):
    X, ensemble = fitted
    weights = (np.arange(len(ensemble.weights)) < n_used).astype(float)
    scaling = weights, ensemble.score_scales
    found = out_of_bag_spreads(ensemble.members, *scaling, X, ensemble.counts, None)
    assert len(found) == (0 if n_used == 1 else len(ensemble.members.columns))


def test_many_bags_are_needed(fitted):
    X, ensemble = fitted
    scaling = ensemble.weights, ensemble.score_scales
    found = out_of_bag_spreads(ensemble.members, *scaling, X, ensemble.counts[:29], None)
    assert found.shape == (0, 60)
