import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, precision_score, roc_curve

from svmproba import BootstrapSVC
from svmproba.evaluation import class_mse, rate_curve, rates_at
from svmproba.evaluation.measures import rates as _rates


@pytest.fixture(scope="module")
def scored():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    return y, np.round(y + rng.normal(size=120), 1)


def test_rates_equal_the_confusion_matrix(scored):
    y, scores = scored
    for threshold in (-10.0, 0.0, 0.5, scores[3], 10.0):
        called = (scores >= threshold).astype(int)
        tn, fp, fn, tp = confusion_matrix(y, called).ravel()
        found = rates_at(y, scores, threshold)
        assert found[:3] == pytest.approx((tp / (tp + fn), fp / (tn + fp), tn / (tn + fp)))
        if called.any():
            assert found.precision == pytest.approx(precision_score(y, called))
        else:
            assert np.isnan(found.precision)
        assert all(isinstance(rate, float) for rate in found)


def test_rates_equal_the_roc_curve(scored):
    fpr, tpr, thresholds = roc_curve(*scored)
    found = rates_at(*scored, thresholds)
    np.testing.assert_allclose(found.fpr, fpr, atol=1e-15)
    np.testing.assert_allclose(found.tpr, tpr, atol=1e-15)
    np.testing.assert_allclose(found.fpr + found.tnr, 1, atol=1e-15)
    assert rates_at(*scored, np.zeros((2, 3))).tpr.shape == (2, 3)


def test_rates_of_the_other_class(scored):
    y, scores = scored
    there = rates_at(y, scores, 0.25)
    back = rates_at(y, -scores, -0.25, pos_label=0)
    assert (back.tpr, back.tnr) == pytest.approx((there.tnr, there.tpr))


def test_rates_without_records_are_nan():
    found = rates_at([1, 1], [0.2, 0.7], 0.5)
    assert found.tpr == 0.5
    assert np.isnan(found.tnr)
    assert np.isnan(found.fpr)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=1, max_size=30),
    st.lists(st.integers(-4, 4), min_size=2, max_size=6),
)
def test_rates_fall_with_the_threshold(records, thresholds):
    y, scores = np.array([r[0] for r in records]), np.array([r[1] for r in records])
    found = rates_at(y, scores, np.sort(thresholds), pos_label=True)
    assert not (np.diff(found.tpr) > 0).any()
    assert not (np.diff(found.tnr) < 0).any()


def test_curve_of_one_score_equals_the_roc_curve(scored):
    curve = rate_curve(*scored)
    fpr, tpr, thresholds = roc_curve(*scored, drop_intermediate=False)
    np.testing.assert_array_equal(curve.threshold[:-1], thresholds[:0:-1])
    np.testing.assert_allclose(curve.tpr, tpr[::-1])
    np.testing.assert_allclose(curve.tnr, 1 - fpr[::-1])
    assert (curve.tpr[0], curve.tnr[0]) == (1, 0)
    assert (curve.tpr[-1], curve.tnr[-1]) == (0, 1)
    assert np.isnan(curve.mse_plus).all()
    assert np.isnan(curve.mse_minus).all()


def test_curve_has_few_thresholds():
    scores = np.random.default_rng(0).normal(size=3000)
    curve = rate_curve(scores > 0, scores)
    assert 190 < len(curve.threshold) <= 201
    assert (np.diff(curve.threshold) > 0).all()


@pytest.mark.parametrize("block", [7, 60, 2_000_000])
def test_curve_of_members_counts_their_votes(monkeypatch, block):
    """At every threshold: decisions of the vote shares, and their errors; ties count half."""
    monkeypatch.setattr(_rates, "BLOCK", block)
    rng = np.random.default_rng(1)
    y, scores = rng.integers(0, 2, 30), rng.integers(-3, 4, size=(2, 6, 30)).astype(float)
    weights, thresholds = np.array([0.7, 0.3]), np.arange(-4.0, 5.0)
    curve = rate_curve(y, scores, weights=weights, thresholds=thresholds)
    for k, threshold in enumerate(thresholds):
        votes = ((scores > threshold) + 0.5 * (scores == threshold)).mean(axis=1)
        share = np.round(weights @ votes, 12)
        assert (curve.mse_plus[k], curve.mse_minus[k]) == pytest.approx(class_mse(y, share))
        assert curve.tpr[k] == pytest.approx(np.mean(share[y == 1] >= 0.5))
        assert curve.tnr[k] == pytest.approx(np.mean(share[y == 0] < 0.5))


def test_errors_move_against_each_other_with_the_threshold():
    """A higher threshold never lowers the positives' error nor raises the negatives'."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 50)
    curve = rate_curve(y, y + rng.normal(size=(20, 50)))
    assert (np.diff(curve.mse_plus) >= 0).all()
    assert (np.diff(curve.mse_minus) <= 0).all()


def test_curve_of_an_ensemble_equals_its_predictions():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + rng.normal(size=80) > 0).astype(int)
    model = BootstrapSVC([0.1, 1.0], n_bootstraps=40, random_state=0).fit(X, y)
    scores = np.concatenate([block for _, block in model.member_scores(X)], axis=-1)
    curve = rate_curve(y, scores, weights=model.weights_, thresholds=[0.0])
    assert curve.tpr[0] == pytest.approx(model.predict(X)[y == 1].mean())
    mse_plus, mse_minus = class_mse(y, model.predict_proba(X)[:, 1])
    assert (curve.mse_plus[0], curve.mse_minus[0]) == pytest.approx((mse_plus, mse_minus))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rates_at([0, 1], [0.1], 0), "scores must hold one number for each sample"),
        (lambda: rates_at([0, 1], [0.1, np.nan], 0), "scores must not hold NaN or infinite"),
        (lambda: rates_at([0, 1], [0.1, 0.2], np.nan), "threshold must not hold NaN"),
        (lambda: rate_curve([0, 1], np.zeros((2, 3))), "scores must hold 2 samples along"),
        (lambda: rate_curve([0, 1], [0, 1], thresholds=[np.inf]), "thresholds must not hold"),
        (lambda: rate_curve([0, 1], np.zeros((3, 2)), weights=[1, 2]), "weights must hold one"),
        (lambda: rate_curve([0, 1], np.zeros((2, 2)), weights=[0, 0]), "positive sum"),
        (lambda: rate_curve([0, 1], np.zeros(2), weights=[1, 1]), "weights must hold one"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
