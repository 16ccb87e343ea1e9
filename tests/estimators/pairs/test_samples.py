from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from svmproba.estimators.pairs.samples import PairMembers, encode_samples, join_pairs
from svmproba.solvers.features import fit_features

X = np.arange(12.0).reshape(6, 2)
LABELS = np.array(["c", "a", "b", "a", "c", "b"])


def encode(X=X, y=LABELS, weight=None, class_weight=None, pos_label=None, pairwise=False):
    return encode_samples(X, y, weight, class_weight, pos_label, pairwise=pairwise)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_samples_of_weight_0_are_left_out(make):
    samples = encode(make(X), weight=[1.0, 0.0, 2.0, 3.0, 0.0, 4.0])
    rows = samples.X.toarray() if sparse.issparse(samples.X) else samples.X
    np.testing.assert_array_equal(rows, X[[0, 2, 3, 5]])
    assert samples.present.tolist() == [0, 2, 3, 5]
    assert samples.label.tolist() == [2, 1, 0, 1]
    assert samples.weight.tolist() == [1, 2, 3, 4]
    assert samples.n_given == 6


def test_a_kernel_matrix_loses_their_columns_too():
    K = X @ X.T
    samples = encode(K, weight=[1.0, 0.0, 2.0, 3.0, 0.0, 4.0], pairwise=True)
    np.testing.assert_array_equal(samples.X, K[np.ix_([0, 2, 3, 5], [0, 2, 3, 5])])


def test_pairs_of_many_classes():
    samples = encode(weight=np.arange(1.0, 7.0), class_weight={"a": 10.0, "b": 1.0, "c": 1.0})
    assert samples.pairs == [(0, 1), (0, 2), (1, 2)]
    first, second, third = samples.by_pair()
    assert first.places.tolist() == [1, 2, 3, 5]
    assert first.positive.tolist() == [False, True, False, True]
    assert first.signs.tolist() == [-1, 1, -1, 1]
    assert first.weight.tolist() == [20, 3, 40, 6]
    assert second.places.tolist() == [0, 1, 3, 4]
    assert third.places.tolist() == [0, 2, 4, 5]


@pytest.mark.parametrize(("pos_label", "pair"), [(None, (0, 1)), ("c", (0, 1)), ("a", (1, 0))])
def test_class_of_interest_is_the_second_of_two(pos_label, pair):
    two = LABELS != "b"
    samples = encode(X[two], LABELS[two], pos_label=pos_label)
    assert samples.pairs == [pair]
    (only,) = samples.by_pair()
    np.testing.assert_array_equal(only.positive, LABELS[two] == ("ac"[pair[1]]))
    P = join_pairs(np.array([[0.3]]), samples.pairs)
    assert P[0, pair[1]] == 0.3
    assert P[0, pair[0]] == pytest.approx(0.7)


def test_probabilities_of_pairs_that_agree_come_back():
    p = np.array([0.5, 0.3, 0.2])
    second = [p[j] / (p[i] + p[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    P = join_pairs(np.array([second]), [(0, 1), (0, 2), (1, 2)])
    np.testing.assert_allclose(P, [p], rtol=1e-9)


def test_scores_with_and_without_class_weights():
    feature_map, rows = fit_features(X)
    coef, intercept = np.arange(12.0).reshape(3, 2, 2), np.arange(6.0).reshape(3, 2)
    scores = PairMembers(feature_map, coef, intercept).scores(rows)
    for p in range(3):
        for j in range(2):
            expected = X @ coef[p, j] + intercept[p, j]
            np.testing.assert_allclose(scores[:, p, j], expected)
    plain = PairMembers(feature_map, coef[:, 0], intercept[:, 0]).scores(sparse.csr_array(rows))
    np.testing.assert_allclose(plain, scores[:, :, 0])
