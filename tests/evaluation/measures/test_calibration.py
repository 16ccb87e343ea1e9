import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss

from svmproba.evaluation import brier_decomposition, calibration_error, reliability_curve


def pairs(seed, n=200):
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(n), 2)
    return (rng.random(n) < p).astype(int), p


def test_uniform_bins():
    p = np.array([0.0, 0.05, 0.1, 0.3, 0.95, 1.0])
    y = np.array([0, 1, 0, 1, 1, 1])
    curve = reliability_curve(y, p)
    np.testing.assert_allclose(curve.mean_predicted, [0.025, 0.1, 0.3, 0.975])
    np.testing.assert_array_equal(curve.observed, [0.5, 0, 1, 1])
    np.testing.assert_array_equal(curve.n_samples, [2, 1, 1, 2])
    assert (curve.lower <= curve.observed).all()
    assert (curve.upper >= curve.observed).all()


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_bins_partition_the_records(strategy):
    y, p = pairs(2, 500)
    curve = reliability_curve(y, p, strategy=strategy, n_bins=7)
    assert curve.n_samples.sum() == 500
    assert curve.n_samples @ curve.observed == pytest.approx(y.sum())
    assert curve.n_samples @ curve.mean_predicted == pytest.approx(p.sum())
    if strategy == "quantile":
        assert np.ptp(curve.n_samples) <= 20


def test_quantile_bins_with_ties():
    p = np.array([0.0] * 60 + [0.4, 0.6] + [1.0] * 38)
    curve = reliability_curve(np.r_[np.zeros(61), np.ones(39)], p, strategy="quantile")
    assert curve.n_samples.sum() == 100
    assert len(curve.n_samples) < 10
    constant = reliability_curve([0, 1, 1], [0.3, 0.3, 0.3], strategy="quantile")
    assert constant.observed == pytest.approx([2 / 3])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bins": 0}, "n_bins"),
        ({"n_bins": 2.5}, "n_bins"),
        ({"strategy": "equal"}, "strategy"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": 1.5, "simultaneous": True}, r"confidence must .* got 1\.5"),
        ({"confidence": -0.5, "simultaneous": True}, r"confidence must .* got -0\.5"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        reliability_curve([0, 1], [0.2, 0.4], **options)


def test_simultaneous_limits_are_those_of_a_smaller_error():
    y, p = pairs(3, 300)
    at_once = reliability_curve(y, p, n_bins=5, confidence=0.9, simultaneous=True)
    each = reliability_curve(y, p, n_bins=5, confidence=1 - 0.1 / 5)
    np.testing.assert_allclose(at_once.lower, each.lower, rtol=1e-12)
    np.testing.assert_allclose(at_once.upper, each.upper, rtol=1e-12)
    assert (at_once.lower < reliability_curve(y, p, n_bins=5, confidence=0.9).lower).all()


def test_simultaneous_limits_cover_all_bins_at_once():
    """Bins with a known share: all limits hold in at least 90 % of the samples."""
    rng, share = np.random.default_rng(0), np.array([0.1, 0.4, 0.5, 0.9])
    p = np.repeat([0.1, 0.3, 0.6, 0.9], 25)
    covered = 0
    for _ in range(1000):
        y = (rng.random(100) < np.repeat(share, 25)).astype(int)
        curve = reliability_curve(y, p, n_bins=10, confidence=0.9, simultaneous=True)
        covered += bool(np.all((curve.lower <= share) & (share <= curve.upper)))
    assert covered >= 900


def test_calibration_error_by_hand():
    p = np.array([0.1, 0.1, 0.1, 0.7, 0.9])
    y = np.array([0, 0, 1, 1, 1])
    result = calibration_error(y, p, n_bins=2)
    assert result.error == pytest.approx(3 / 5 * (1 / 3 - 0.1) + 2 / 5 * (1 - 0.8))
    limits = [binomtest(k, n).proportion_ci(0.975, method="exact") for k, n in ((1, 3), (2, 2))]
    assert result.lower == pytest.approx(0.0)
    assert limits[0].low <= 0.1 <= limits[0].high
    farthest = 3 / 5 * (limits[0].high - 0.1) + 2 / 5 * (0.8 - limits[1].low)
    assert result.upper == pytest.approx(farthest)
    np.testing.assert_array_equal(result.curve.n_samples, [3, 2])


def test_limits_of_the_calibration_error_cover_it():
    """Probabilities pushed to the ends: the distance of bins from their true shares is known."""
    rng = np.random.default_rng(1)
    true = rng.beta(2, 2, size=250)
    said = np.clip(1.6 * (true - 0.5) + 0.5, 0, 1)
    bin_of = np.minimum((10 * said).astype(int), 9)
    distance = sum(
        abs(np.mean(true[bin_of == k] - said[bin_of == k])) * np.mean(bin_of == k)
        for k in np.unique(bin_of)
    )
    covered, doubted = 0, 0
    for _ in range(500):
        result = calibration_error((rng.random(250) < true).astype(int), said, confidence=0.9)
        covered += result.lower <= distance <= result.upper
        doubted += result.lower > 0
        assert result.lower <= result.error <= result.upper
    assert covered >= 450
    assert doubted >= 250  # the distance, 0.1, is seen more often than not


def test_perfect_probabilities_are_seldom_doubted():
    rng = np.random.default_rng(2)
    p = rng.beta(0.5, 0.5, size=300)
    results = [calibration_error((rng.random(300) < p).astype(int), p) for _ in range(500)]
    assert sum(result.lower > 0 for result in results) <= 25
    assert np.mean([result.error for result in results]) > 0.02  # chance alone


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1, allow_nan=False)), min_size=1, max_size=40)
)
def test_parts_of_the_brier_score_add_up(records):
    y, p = np.array([r[0] for r in records], dtype=int), np.array([r[1] for r in records])
    parts = brier_decomposition(y, p)
    total = parts.miscalibration - parts.discrimination + parts.uncertainty
    assert total == pytest.approx(parts.mse, abs=1e-15)
    assert parts.mse == pytest.approx(np.mean((y - p) ** 2), abs=1e-15)
    assert parts.uncertainty == pytest.approx(y.mean() * (1 - y.mean()), abs=1e-15)
    assert min(parts) >= -1e-15


def test_parts_of_the_brier_score_equal_those_of_scikit_learn():
    y, p = pairs(5, 400)
    fit = IsotonicRegression().fit_transform(p, y)
    parts = brier_decomposition(y, p)
    assert parts.mse == pytest.approx(brier_score_loss(y, p), abs=1e-15)
    assert parts.miscalibration == pytest.approx(np.mean((y - p) ** 2 - (y - fit) ** 2), abs=1e-12)
    assert parts.discrimination == pytest.approx(y.var() - np.mean((y - fit) ** 2), abs=1e-12)
    recalibrated = brier_decomposition(y, fit)
    assert recalibrated.miscalibration == pytest.approx(0, abs=1e-15)
    assert recalibrated.discrimination == pytest.approx(parts.discrimination, abs=1e-12)


def test_parts_of_the_brier_score_of_simple_forecasts():
    y = np.array([0, 0, 0, 1])
    constant = brier_decomposition(y, np.full(4, 0.5))
    assert constant == pytest.approx((0.25, 0.0625, 0.0, 0.1875))
    assert brier_decomposition(y, y) == pytest.approx((0, 0, 0.1875, 0.1875))
    # Turned upside down, a forecast tells nothing that a monotone map could use.
    assert brier_decomposition(y, 1 - y) == pytest.approx((1, 1 - 0.1875, 0, 0.1875))
    assert brier_decomposition(["a", "b", "b", "b"], 1 - y[::-1], pos_label="b").mse == 0
