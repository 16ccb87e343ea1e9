from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from svmproba.links import VennAbersLink

SCORES = np.array([0.1, 0.2, 0.35, 0.4, 0.6, 0.8])
POSITIVE = np.array([False, False, True, False, True, True])
PAIRS = st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=40)


def fit_at(scores, labels, i):
    """Isotonic fit at sample i, ties pooled."""
    _, group = np.unique(scores, return_inverse=True)
    weight = np.bincount(group)
    mean = np.bincount(group, weights=labels) / weight
    return isotonic_regression(mean, weights=weight).x[group[i]]


def brute_force(scores, positive, x):
    """One isotonic fit for each new score and label."""
    return tuple(
        np.array([fit_at(np.append(scores, s), np.append(positive, label), -1) for s in x])
        for label in (0, 1)
    )


@pytest.mark.parametrize(
    ("score", "p0", "p1", "log", "brier"),
    [
        (0.05, 0, 1 / 3, 0.25, 1 / 3 - 1 / 18),
        (0.3, 0, 2 / 3, 0.4, 0.4444),
        (0.5, 1 / 3, 1, 0.6, 0.5556),
        (0.9, 2 / 3, 1, 0.75, 0.7222),
    ],
)
def test_worked_example(score, p0, p1, log, brier):
    link = VennAbersLink().fit(SCORES, POSITIVE)
    assert np.concatenate(link.interval([score])) == pytest.approx([p0, p1], abs=1e-15)
    assert link.predict([score]) == pytest.approx(brier, abs=5e-5)
    assert VennAbersLink(loss="log").fit(SCORES, POSITIVE).predict([score]) == pytest.approx(log)


@given(PAIRS)
@settings(max_examples=150, deadline=None)
@pytest.mark.filterwarnings("ignore:All")
def test_one_isotonic_fit_for_each_new_score(pairs):
    scores = np.array([s for s, _ in pairs], dtype=float)
    positive = np.array([y for _, y in pairs])
    x = np.arange(-1, 10.5, 0.5)
    p0, p1 = VennAbersLink().fit(scores, positive).interval(x)
    expected0, expected1 = brute_force(scores, positive, x)
    np.testing.assert_allclose(p0, expected0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(p1, expected1, rtol=0, atol=1e-12)
    assert np.all(p0 <= p1)


def test_many_samples():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=2000)
    positive = rng.random(2000) < 1 / (1 + np.exp(-scores))
    x = np.append(rng.normal(size=30), scores[:10])
    pair = VennAbersLink().fit(scores, positive).interval(x)
    np.testing.assert_allclose(pair, brute_force(scores, positive, x), rtol=0, atol=1e-12)


@given(PAIRS)
@settings(max_examples=50, deadline=None)
@pytest.mark.filterwarnings("ignore:All")
def test_the_value_of_the_true_label_is_calibrated(pairs):
    """Every sample in turn is the new one: among equal values, their mean label is the value."""
    pairs = [*pairs, (4, True)]
    scores = np.array([s for s, _ in pairs], dtype=float)
    positive = np.array([y for _, y in pairs])
    P = np.empty(len(pairs))
    for i in range(len(pairs)):
        rest = np.arange(len(pairs)) != i
        pair = VennAbersLink().fit(scores[rest], positive[rest]).interval(scores[i : i + 1])
        P[i] = pair[int(positive[i])][0]
    for value in np.unique(P.round(9)):
        assert positive[P.round(9) == value].mean() == pytest.approx(value, abs=1e-8)


def test_twin_the_package_venn_abers():
    twin = pytest.importorskip("venn_abers")
    rng = np.random.default_rng(1)
    p, new = rng.random(300).round(2), rng.random(200).round(2)
    positive = rng.random(300) < p
    calibrator = twin.VennAbers()
    calibrator.fit(np.column_stack([1 - p, p]), positive.astype(int))
    single, pair = calibrator.predict_proba(np.column_stack([1 - new, new]))
    link = VennAbersLink(loss="log").fit(p, positive)
    np.testing.assert_allclose(np.column_stack(link.interval(new)), pair, rtol=0, atol=1e-12)
    np.testing.assert_allclose(link.predict(new), single[:, 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("loss", "of_positive", "of_negative"),
    [
        ("brier", lambda p: (1 - p) ** 2, lambda p: p**2),
        ("log", lambda p: -np.log(p), lambda p: -np.log1p(-p)),
    ],
)
def test_the_single_value_has_the_least_worst_regret(loss, of_positive, of_negative):
    link = VennAbersLink(loss=loss)
    link.scores_ = np.array([0.0])
    link.p0_, link.p1_ = np.array([0.3, 0.1]), np.array([0.5, 0.9])
    p0, p1 = np.array([0.3, 0.1]), np.array([0.5, 0.9])
    grid = np.linspace(1e-4, 1 - 1e-4, 20001)[:, np.newaxis]
    regret = np.maximum(of_positive(grid) - of_positive(p1), of_negative(grid) - of_negative(p0))
    best = grid[regret.argmin(axis=0), 0]
    np.testing.assert_allclose(link.predict([-1.0, 1.0]), best, rtol=0, atol=1e-4)


def test_a_wrong_loss_is_named():
    with pytest.raises(ValueError, match="loss must be 'brier' or 'log', got 'hinge'"):
        VennAbersLink(loss="hinge")
