"""Temperature and vector scaling of the probabilities of several classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from svmproba.links import ClassScaling
from svmproba.links._class_scaling import KINDS, _fit


def drawn(slope, offset, n=4000, seed=0):
    """Probabilities P, and labels drawn from what the scaling makes of them."""
    rng = np.random.default_rng(seed)
    logs = rng.normal(size=(n, 3)) * 1.5
    P = softmax(logs, axis=1)
    truth = softmax(slope * np.log(P) + offset, axis=1)
    return P, (rng.random((n, 1)) > truth.cumsum(axis=1)).sum(axis=1), truth


@pytest.mark.parametrize(
    ("kind", "slope", "offset"),
    [
        ("none", np.ones(3), np.zeros(3)),
        ("temperature", np.full(3, 0.5), np.zeros(3)),
        ("vector", np.array([0.5, 1.0, 1.5]), np.array([0.7, 0.0, -0.7])),
    ],
)
def test_the_kind_that_made_the_labels_is_found(kind, slope, offset):
    P, label, truth = drawn(slope, offset)
    scaling = ClassScaling().fit(P, label)
    assert scaling.kind_ == kind
    assert_allclose(scaling.predict(P), truth, atol=0.06)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_first_order_conditions(kind):
    P, label, _ = drawn(np.array([0.5, 1.0, 1.5]), np.array([0.7, 0.0, -0.7]), n=300)
    logs, own = np.log(P), np.eye(3)[label]
    slope, offset = _fit(kind, logs, label)
    errors = softmax(slope * logs + offset, axis=1) - own
    of_slopes = (errors * logs).sum(axis=0)
    if kind == "temperature":
        assert_allclose(of_slopes.sum() + slope[0] - 1, 0, atol=1e-3)
        assert_array_equal(offset, 0)
    else:
        assert_allclose(of_slopes + slope - 1, 0, atol=1e-3)
        assert_allclose(errors.sum(axis=0) + offset, 0, atol=1e-3)


def test_order_of_samples_and_of_classes():
    P, label, _ = drawn(np.full(3, 0.5), np.zeros(3), n=500)
    scaling = ClassScaling().fit(P, label)
    order = np.random.default_rng(1).permutation(len(P))
    again = ClassScaling().fit(P[order], label[order])
    assert_array_equal(again.slope_, scaling.slope_)
    Q = scaling.predict(P)
    assert_allclose(Q.sum(axis=1), 1)


@pytest.mark.parametrize("n", [1, 3])
def test_few_samples(n):
    scaling = ClassScaling().fit(np.full((n, 3), 1 / 3), np.arange(n))
    assert_allclose(scaling.predict([[0.0, 0.5, 0.5]]).sum(), 1)


def test_copies_of_a_sample_do_not_judge_themselves():
    # A few labels, many times: scaling to them is worth nothing on other groups.
    P, label, _ = drawn(np.ones(3), np.zeros(3), n=15, seed=6)
    many = np.repeat(P, 40, axis=0), np.repeat(label, 40)
    assert ClassScaling().fit(*many).kind_ != "none"
    assert ClassScaling().fit(*many, np.arange(600) // 40).kind_ == "none"
