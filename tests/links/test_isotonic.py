from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svmproba.links import IsotonicLink

PAIRS = st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=30)


def clipped(values, n):
    return np.clip(values, 1 / (n + 2), 1 - 1 / (n + 2))


def max_min(scores, positive):
    """The isotonic fit by its max-min formula."""
    x = np.unique(scores)
    return np.array([
        max(
            min(positive[(scores >= a) & (scores <= b)].mean() for b in x[x >= at])
            for a in x[x <= at]
        )
        for at in x
    ])  # fmt: skip


@given(PAIRS)
@settings(max_examples=100, deadline=None)
@pytest.mark.filterwarnings("ignore:All")
def test_the_max_min_formula(pairs):
    scores = np.array([s for s, _ in pairs], dtype=float)
    positive = np.array([y for _, y in pairs])
    link = IsotonicLink().fit(scores, positive)
    expected = clipped(max_min(scores, positive), len(pairs))
    np.testing.assert_allclose(link.predict(np.unique(scores)), expected, atol=1e-12)


@pytest.mark.parametrize("decimals", [1, 8])
def test_twin_scikit_learn(decimals):
    IsotonicRegression = pytest.importorskip("sklearn.isotonic").IsotonicRegression
    rng = np.random.default_rng(0)
    scores = rng.normal(size=400).round(decimals)
    positive = rng.random(400) < 1 / (1 + np.exp(-scores))
    twin = IsotonicRegression(out_of_bounds="clip").fit(scores, positive)
    x = np.linspace(-5, 5, 1001)
    link = IsotonicLink().fit(scores, positive)
    knots = np.flatnonzero((twin.y_thresholds_ > 0) & (twin.y_thresholds_ < 1))
    inner = (x > twin.X_thresholds_[knots[0]]) & (x < twin.X_thresholds_[knots[-1]])
    np.testing.assert_allclose(link.predict(x)[inner], twin.predict(x)[inner], atol=1e-12)
    at = np.unique(scores)
    np.testing.assert_allclose(link.predict(at), clipped(twin.predict(at), 400), atol=1e-12)


def test_ties_are_pooled_and_gaps_interpolated():
    scores = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 3.0])
    positive = np.array([False, True, True, True, True, False, True])
    link = IsotonicLink().fit(scores, positive)
    expected = [0.5, 0.5, 0.75, (0.75 + 8 / 9) / 2, 8 / 9, 8 / 9]
    np.testing.assert_allclose(link.predict(np.array([-9, 0, 1, 2, 3, 9])), expected)


def test_few_knots_are_kept():
    positive = np.arange(1000) >= 500
    link = IsotonicLink().fit(np.arange(1000.0), positive)
    assert link.scores_.tolist() == [0, 499, 500, 999]
    np.testing.assert_allclose(link.values_, clipped([0, 0, 1, 1], 1000))
