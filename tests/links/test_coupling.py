from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from svmproba.links import couple


def libsvm_iteration(pairwise, n_classes):
    """LIBSVM's own loop, its loose stop included."""
    R = np.zeros((n_classes, n_classes))
    i, j = np.triu_indices(n_classes, 1)
    R[i, j], R[j, i] = pairwise, 1 - pairwise
    Q = -R * R.T + np.diag(np.square(R).sum(axis=0))
    p = np.full(n_classes, 1 / n_classes)
    for _ in range(max(100, n_classes)):
        Qp = Q @ p
        pQp = p @ Qp
        if np.abs(Qp - pQp).max() < 0.005 / n_classes:
            break
        for t in range(n_classes):
            step = (-Qp[t] + pQp) / Q[t, t]
            p[t] += step
            pQp = (pQp + step * (step * Q[t, t] + 2 * Qp[t])) / (1 + step) ** 2
            Qp = (Qp + step * Q[t]) / (1 + step)
            p /= 1 + step
    return p


def disagreement(p, pairwise):
    i, j = np.triu_indices(len(p), 1)
    return 2 * np.sum(((1 - pairwise) * p[i] - pairwise * p[j]) ** 2)


def test_worked_example():
    pairwise = np.array([0.9, 0.4, 0.7])
    np.testing.assert_allclose(
        couple([pairwise])[0], [0.457233, 0.202129, 0.340638], rtol=0, atol=5e-7
    )
    np.testing.assert_allclose(
        libsvm_iteration(pairwise, 3), [0.457454, 0.201940, 0.340606], rtol=0, atol=5e-7
    )


def test_consistent_pairs_come_back():
    p = np.array([0.5, 0.3, 0.2])
    i, j = np.triu_indices(3, 1)
    np.testing.assert_allclose(couple([p[i] / (p[i] + p[j])])[0], p, rtol=1e-12)


def test_two_classes_are_left_alone():
    r = np.linspace(0.001, 0.999, 50)
    np.testing.assert_allclose(couple(r[:, None]), np.column_stack([r, 1 - r]), rtol=1e-9)


@given(arrays(float, (4, 10), elements=st.floats(0, 1)))
@settings(max_examples=60, deadline=None)
def test_probabilities_for_any_pairs(pairwise):
    p = couple(pairwise)
    assert p.shape == (4, 5)
    assert np.all(p >= 0)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)


def test_the_solution_is_a_minimum_without_the_clip():
    rng = np.random.default_rng(0)
    for pairwise in rng.random((5, 10)):
        p = couple([pairwise])[0]
        twin = minimize(
            disagreement,
            np.full(5, 0.2),
            args=(pairwise,),
            constraints={"type": "eq", "fun": lambda q: q.sum() - 1},
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        np.testing.assert_allclose(p, twin.x, atol=1e-5)


def test_close_to_libsvms_iteration():
    pairwise = np.random.default_rng(1).random((200, 6))
    twins = np.array([libsvm_iteration(row, 4) for row in pairwise])
    np.testing.assert_allclose(couple(pairwise), twins, atol=5e-3)


def test_classes_may_be_renamed():
    rng = np.random.default_rng(2)
    i, j = np.triu_indices(4, 1)
    R = np.zeros((4, 4))
    R[i, j] = rng.random(6)
    R[j, i] = 1 - R[i, j]
    order = np.array([2, 0, 3, 1])
    renamed = R[np.ix_(order, order)]
    np.testing.assert_allclose(couple([renamed[i, j]])[0], couple([R[i, j]])[0][order], rtol=1e-9)


def test_certain_pairs_are_clipped_as_in_libsvm():
    p = couple([[1.0, 1.0, 0.5]])[0]
    assert p[0] == pytest.approx(1, abs=1e-6)
    assert np.all(p[1:] > 0)
    np.testing.assert_allclose(couple([[1.0]])[0], [1 - 1e-7, 1e-7], rtol=1e-6)


def test_many_samples_in_blocks():
    pairwise = np.random.default_rng(3).random((40000, 6))
    p = couple(pairwise)
    np.testing.assert_allclose(p[[0, 12345, 39999]], couple(pairwise[[0, 12345, 39999]]))
    assert couple(np.empty((0, 6))).shape == (0, 4)


@pytest.mark.parametrize(
    ("pairwise", "message"),
    [
        (np.full((2, 4), 0.5), r"one column for every pair .* got shape \(2, 4\)"),
        (np.full(3, 0.5), r"got shape \(3,\)"),
        ([[0.5, 1.2, 0.1]], r"numbers in \[0, 1\]"),
        ([[0.5, np.nan, 0.1]], r"numbers in \[0, 1\]"),
    ],
)
def test_bad_input(pairwise, message):
    with pytest.raises(ValueError, match=message):
        couple(pairwise)
