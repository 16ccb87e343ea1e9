"""Labels, weights and samples of a fit."""

from __future__ import annotations

import numpy as np
import pytest

from svmproba.estimators.input.training_set import (
    WEIGHT_RANGE,
    check_sample_weight,
    check_weight_range,
    encode_two_classes,
    place_of_interest,
    training_set,
)

X = np.arange(18.0).reshape(6, 3)
Y = np.array(["b", "a", "b", "b", "a", "b"])
WEIGHT = np.array([1.0, 2.0, 0.0, 3.0, 4.0, 0.5])


def prepared(X=X, y=Y, weight=None, class_weight=None, pos_label=None, pairwise=False, **options):
    return training_set(X, y, weight, class_weight, pos_label, pairwise=pairwise, **options)


def test_without_weights_nothing_is_left_out():
    found = prepared()
    assert found.X is X
    assert found.classes.tolist() == ["a", "b"]
    assert (found.plus, found.weight, found.present, found.n_given) == (1, None, None, 6)
    assert found.positive.tolist() == [True, False, True, True, False, True]
    values = np.arange(6)
    assert found.spread(values, -1) is values


def test_samples_of_weight_zero_are_left_out():
    found = prepared(weight=WEIGHT, pos_label="a", class_weight={"a": 10.0, "b": 3.0})
    assert found.present.tolist() == [0, 1, 3, 4, 5]
    assert np.array_equal(found.X, X[[0, 1, 3, 4, 5]])
    assert found.positive.tolist() == [False, True, False, True, False]
    assert found.weight.tolist() == [3.0, 20.0, 9.0, 40.0, 1.5]
    assert found.n_given == 6
    spread = found.spread(np.arange(10.0).reshape(2, 5), -1.0)
    assert spread.tolist() == [[0, 1, -1, 2, 3, 4], [5, 6, -1, 7, 8, 9]]


def test_balanced_classes_are_those_of_the_samples_left():
    found = prepared(weight=WEIGHT, class_weight="balanced")
    # Of the five samples that are left, three are "b" and two "a".
    factor = {"a": 5 / (2 * 2), "b": 5 / (2 * 3)}
    expected = [w * factor[label] for w, label in zip(WEIGHT, Y, strict=True) if w > 0]
    assert found.weight == pytest.approx(expected)
    alone = prepared(class_weight={"a": 2.0, "b": 0.5})
    assert alone.weight.tolist() == [0.5, 2.0, 0.5, 0.5, 2.0, 0.5]


def test_kernel_matrices_lose_rows_and_columns():
    K = X @ X.T
    kept = [0, 1, 3, 4, 5]
    assert np.array_equal(prepared(K, weight=WEIGHT, pairwise=True).X, K[np.ix_(kept, kept)])
    assert prepared(K, weight=np.ones(6), pairwise=True).present is None
    with pytest.raises(ValueError, match=r"square matrix of kernel values .* got shape \(6, 3\)"):
        prepared(pairwise=True)


def test_classes_need_samples():
    labels = np.array([0, 1, 1, 1])
    with pytest.raises(ValueError, match=r"at least 2 samples, .* class 0 of y has 1"):
        encode_two_classes(labels, None)
    assert encode_two_classes(labels, None, least=1)[1] == 1
    assert encode_two_classes(np.array([0, 1, 1, 0]), 0)[1] == 0
    with pytest.raises(ValueError, match=r"one class only: \[1\]"):
        encode_two_classes(labels[1:], None)


def test_the_class_of_interest():
    classes = np.array(["a", "b"])
    assert [place_of_interest(classes, label) for label in (None, "a", "b")] == [1, 0, 1]
    with pytest.raises(ValueError, match="pos_label must be None or one of the classes"):
        place_of_interest(classes, "c")


def test_sample_weights():
    assert check_sample_weight(None, X) is None
    assert check_sample_weight(2, X).tolist() == [2.0] * 6
    assert check_sample_weight([1, 0, 0, 0, 0, 0], X).tolist() == [1, 0, 0, 0, 0, 0]
    with pytest.raises(ValueError, match=r"must not be negative, got -1\.0"):
        check_sample_weight([-1.0, 1, 1, 1, 1, 1], X)
    with pytest.raises(ValueError, match="must not be zero for every sample"):
        check_sample_weight(0, X)


def test_the_range_of_weights():
    least, most = WEIGHT_RANGE
    check_weight_range(["sample_weight"], least, most)
    with pytest.raises(ValueError, match=r"^a times b must lie .* got 9\.99e-41\.$"):
        check_weight_range(["a", "b"], 0.999 * least, most)
    with pytest.raises(ValueError, match=r"^a must lie .* got 1\.001e\+40\.$"):
        check_weight_range(["a"], 0.5 * least, 1.001 * most)
