from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from svmproba.links import PlattLink


def targets(positive):
    """Smoothed targets, (n+ + 1) / (n+ + 2) and 1 / (n- + 2)."""
    n_plus, n_minus = positive.sum(), (~positive).sum()
    return np.where(positive, (n_plus + 1) / (n_plus + 2), 1 / (n_minus + 2))


def loss(AB, scores, positive):
    """The objective as it is written, term by term."""
    p = 1 / (1 + np.exp(AB[0] * scores + AB[1]))
    t = targets(positive)
    return -np.sum(t * np.log(p) + (1 - t) * np.log(1 - p))


def noisy(seed=0, n=200):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n)
    return scores, scores + rng.normal(size=n) > 0.4


def test_worked_example():
    scores = np.array([-2, -1, -0.5, 0.25, 0.5, 1, 2])
    positive = np.array([False, False, True, False, True, True, True])
    link = PlattLink().fit(scores, positive)
    found, known = [link.A_, link.B_], [-0.8062138929, -0.2691242653]
    np.testing.assert_allclose(found, known, rtol=0, atol=1e-9)
    assert loss((link.A_, link.B_), scores, positive) == pytest.approx(4.12274318, abs=1e-8)
    expected = [0.206967, 0.368865, 0.466554, 0.615544, 0.662003, 0.745611, 0.867789]
    np.testing.assert_allclose(link.predict(scores), expected, rtol=0, atol=5e-7)


def test_constant_scores_give_the_mean_target():
    link = PlattLink().fit(np.zeros(5), np.array([True, True, False, False, False]))
    np.testing.assert_allclose([link.A_, link.B_], [0, 0.322773], rtol=0, atol=1e-6)
    assert link.predict(np.array([0.0])) == pytest.approx(0.42)


def test_separated_scores_reach_the_targets():
    link = PlattLink().fit(np.array([-1, -1, 1, 1]), np.array([False, False, True, True]))
    np.testing.assert_allclose([link.A_, link.B_], [-np.log(3), 0], rtol=0, atol=1e-12)
    assert link.predict(np.array([1.0])) == pytest.approx(0.75)


def test_one_class_does_not_depend_on_the_score():
    with pytest.warns(UserWarning, match="All 3 calibration samples are positive"):
        link = PlattLink().fit(np.array([-1.0, 0.0, 5.0]), np.ones(3, dtype=bool))
    assert abs(link.A_) < 1e-12
    np.testing.assert_allclose(link.predict(np.array([-9.0, 9.0])), 4 / 5)


def test_scores_against_the_labels_are_warned_of_and_not_turned_round():
    scores, positive = noisy()
    with pytest.warns(UserWarning, match="probability falls with the score"):
        link = PlattLink().fit(-scores, positive)
    assert link.A_ > 0
    assert link.predict(np.array([-1.0])) > link.predict(np.array([1.0]))


@pytest.mark.parametrize("seed", range(5))
def test_twin_a_general_minimiser(seed):
    scores, positive = noisy(seed)
    link = PlattLink().fit(scores, positive)
    twin = minimize(loss, [0.0, 0.0], args=(scores, positive), method="BFGS", tol=1e-7)
    np.testing.assert_allclose([link.A_, link.B_], twin.x, rtol=0, atol=1e-5)
    assert loss((link.A_, link.B_), scores, positive) <= twin.fun + 1e-10


def test_twin_scikit_learn():
    calibration = pytest.importorskip("sklearn.calibration")
    scores, positive = noisy(7, 500)
    A, B = calibration._sigmoid_calibration(scores, positive.astype(float))
    link = PlattLink().fit(scores, positive)
    np.testing.assert_allclose([link.A_, link.B_], [A, B], rtol=1e-3)


@given(
    st.lists(st.tuples(st.integers(-20, 20), st.booleans()), min_size=4, max_size=40),
    st.sampled_from([1e-9, 1e-3, 1.0, 1e6]),
    st.sampled_from([0.0, -3.0, 100.0]),
)
@settings(max_examples=100, deadline=None)
@pytest.mark.filterwarnings("ignore:The probability falls", "ignore:All")
def test_first_order_conditions_and_equivariance(pairs, scale, shift):
    scores = np.array([s for s, _ in pairs], dtype=float)
    positive = np.array([y for _, y in pairs])
    link, t = PlattLink().fit(scores, positive), targets(positive)
    P = link.predict(scores)
    assert np.sum(P - t) == pytest.approx(0, abs=1e-6)
    assert np.sum(scores * (P - t)) == pytest.approx(0, abs=1e-5)
    moved = (scores + shift) * scale
    np.testing.assert_allclose(PlattLink().fit(moved, positive).predict(moved), P, atol=1e-7)
