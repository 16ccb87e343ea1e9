"""Votes of several classes: the reduction to two."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from svmproba import BootstrapSVC
from svmproba.bootstrap.classes.calls import bag_calls, calls_of, mix_call_shares
from svmproba.bootstrap.classes.members import ClassMembers
from svmproba.bootstrap.fitting.members import member_scores


@pytest.fixture(scope="module")
def two_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.normal(size=60) > 0
    return X, y, BootstrapSVC([0.1, 1.0], n_bootstraps=30, random_state=0).fit(X, y)


def test_two_classes_are_the_binary_votes_to_the_last_bit(two_classes):
    X, y, model = two_classes
    members = ClassMembers(2, [model.ensemble_.members], None)
    calls = calls_of(members, X, np.zeros(2))
    assert_array_equal(calls.shares[:, :, 1], model.vote_shares(X))
    P = mix_call_shares(calls.shares, model.weights_)
    assert_allclose(P, model.predict_proba(X), rtol=1e-11)
    oob = calls_of(members, X, np.zeros(2), counts=model.counts_, label=y.astype(np.int64))
    P = mix_call_shares(oob.shares, model.weights_)
    assert_allclose(P, model.oob_proba_, rtol=1e-11)
    assert_allclose(oob.means[0], model.oob_scores_, rtol=1e-12)
    n_out = (model.counts_ == 0).sum(axis=1)
    assert_allclose((oob.right.sum(axis=2) / n_out).mean(axis=1), model.reliability_, rtol=1e-14)
    by_bag = bag_calls(members, X, model.weights_, np.zeros(2))
    assert_allclose(by_bag.mean(axis=2), model.predict_proba(X), atol=1e-11)


def test_a_shift_of_one_of_two_classes_is_a_threshold(two_classes):
    X, _, model = two_classes
    members = ClassMembers(2, [model.ensemble_.members], None)
    moved = model.with_rate(tpr=0.99)
    assert moved.threshold_ < 0
    shares = calls_of(members, X, np.array([0.0, -moved.threshold_])).shares
    assert_array_equal(shares[:, :, 1], moved.vote_shares(X))


@pytest.mark.parametrize("device", ["cpu", "torch"])
def test_calls_are_those_of_plain_counting(device):
    if device == "torch":
        pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    X, label = rng.normal(size=(40, 3)), np.arange(40) % 4
    model = BootstrapSVC([0.1, 1.0], kernel=["linear", "rbf"], n_bootstraps=25, random_state=0)
    members = model.fit(X, label).ensemble_.members
    counts, shifts = model.counts_.copy(), np.array([0.0, 0.3, -0.2, 0.1])
    counts[:, 5] = 1  # in every bag
    n_theta, n_bags = model.duality_gap_.shape[1:]
    scores = np.array([member_scores(of_pair, X) for of_pair in members.of_pair])
    wins = np.zeros((4, 40, n_theta, n_bags))
    for (k, other), of_pair in zip(members.pairs, scores, strict=True):
        above = of_pair + shifts[other] - shifts[k] > 0
        wins[other] += above
        wins[k] += ~above
    called = (wins == wins.max(axis=0)) / (wins == wins.max(axis=0)).sum(axis=0)
    for in_bag, weights in [(False, (counts == 0).T), (True, counts.T)]:
        found = calls_of(
            members, X, shifts, counts=counts, label=label, in_bag=in_bag, device=device
        )
        n = weights.sum(axis=1)
        with np.errstate(invalid="ignore"):
            expected = np.einsum("kitb,ib->tik", called, weights) / n[:, np.newaxis]
            means = np.einsum("pitb,ib->pti", scores, weights) / n
        assert_allclose(found.shares, expected, atol=1e-12)
        assert_allclose(found.means, means, atol=1e-12)
        own = called[label, np.arange(40)] * weights[:, np.newaxis]
        right = np.stack([own[label == k].sum(axis=0) for k in range(4)], axis=-1)
        assert_allclose(found.right, right, atol=1e-12)
    plain = calls_of(members, X, shifts, device=device)
    assert plain.means is plain.right is None
    assert_allclose(plain.shares, called.mean(axis=3).transpose(2, 1, 0), atol=1e-12)
