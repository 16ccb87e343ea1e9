from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from svmproba.bootstrap.summaries.profile import Profile
from svmproba.bootstrap.threshold import (
    calibrated_curve,
    level_for_rate,
    rate_curve,
    rates_at_threshold,
    threshold_for_rate,
)

TENTHS = st.integers(-50, 50).map(lambda tenths: tenths / 10)
LEVELS = arrays(np.float64, st.integers(2, 30), elements=TENTHS)


def test_worked_example_of_the_closed_form():
    scores = np.array([[1.2, 0.4, -0.3, 0.1], [-0.2, -0.6, -0.9, -0.1], [-1.0, -0.8, 0.3, -0.5]])
    medians = -np.sort(-scores)[:, 1]
    assert medians.tolist() == [0.4, -0.2, -0.5]
    assert level_for_rate(medians, 0.5) == -0.2
    assert level_for_rate(medians, 1.0) == -0.5
    assert level_for_rate(medians, 0.0) == np.inf


@pytest.mark.parametrize("sign", [1, -1])
@given(levels=LEVELS, rate=st.floats(0, 1), data=st.data())
def test_the_threshold_reaches_the_rate_and_is_the_nearest_that_does(sign, levels, rate, data):
    positive = data.draw(arrays(np.bool_, len(levels)))
    positive[:2] = [True, False]
    wish = {"sign": sign, "rate": rate, "neutral": 0.0}
    place = 0 if sign > 0 else 1
    for exceed in (True, False):
        threshold = threshold_for_rate(levels, positive, exceed=exceed, **wish)
        assert rates_at_threshold(levels, positive, threshold)[place] >= rate - 1e-9
    # Beyond the free threshold, every other threshold that separates levels differently misses the
    # rate.
    for level in levels:
        farther = level if sign > 0 else np.nextafter(level, -np.inf)
        if sign * farther > sign * threshold and rate > 0:
            assert rates_at_threshold(levels, positive, farther)[place] < rate
    kept = threshold_for_rate(levels, positive, exceed=True, **wish)
    assert sign * kept <= 0
    if rates_at_threshold(levels, positive, 0.0)[place] >= rate:
        assert kept == 0.0 or abs(kept) <= 5e-324


def test_a_rate_of_nothing_is_refused():
    with pytest.raises(ValueError, match=r"A rate of 0\.9 needs negative samples"):
        threshold_for_rate(
            np.array([1.0, np.nan]),
            np.array([True, False]),
            sign=-1,
            rate=0.9,
            neutral=0.0,
            exceed=True,
        )


def test_a_guarantee_takes_an_order_statistic():
    levels, positive = np.arange(101.0) - 200, np.arange(101) > 0
    threshold = threshold_for_rate(
        levels, positive, sign=1, rate=0.9, neutral=0.0, exceed=True, confidence=0.9
    )
    assert threshold == np.nextafter(-194.0, -np.inf)  # k = 6 of 100
    with pytest.raises(ValueError, match="at least 22 negative samples, got 1"):
        threshold_for_rate(
            levels, positive, sign=-1, rate=0.9, neutral=0.0, exceed=True, confidence=0.9
        )


def test_calibrated_curve_counts_rates_and_keeps_errors():
    P = np.array([0.1, 0.4, 0.6, 0.9, np.nan])
    positive = np.array([False, True, False, True, True])
    curve = calibrated_curve(P, positive)
    assert np.nextafter(curve.threshold, 1).tolist() == [0.1, 0.4, 0.5, 0.6, 0.9]
    assert curve.tpr.tolist() == [1, 1, 0.5, 0.5, 0.5]
    assert curve.tnr.tolist() == [0, 0.5, 0.5, 0.5, 1]
    assert np.unique(curve.mse_plus) == pytest.approx([(0.6**2 + 0.1**2) / 2])
    assert np.unique(curve.mse_minus) == pytest.approx([(0.1**2 + 0.6**2) / 2])


@pytest.mark.parametrize("rate", [0.07, 0.14, 0.28, 0.55, 0.56])
def test_rounding_does_not_ask_for_one_record_more(rate):
    """0.07 * 100 is 7.000000000000001: the seventh record is enough."""
    assert rate * 100 > round(rate * 100)
    assert level_for_rate(np.arange(100.0), rate) == 100 - round(rate * 100)


def test_rate_curve_divides_by_the_records_that_are_known():
    profile = Profile(
        mean=np.empty((0, 7)),
        median=np.array([0.5, 0.1, -0.2, np.nan, 0.3, 0.0, np.nan]),
        medians=np.empty((0, 7)),
        hits=np.array([[3, 0], [2, 1]]),
        squares=np.array([[1.5, 0.3], [0.2, 0.8]]),
    )
    positive = np.array([True, True, False, True, False, False, False])
    curve = rate_curve(np.array([-0.3, 0.4]), profile, positive)
    assert curve.tpr.tolist() == [1, 0.5]
    assert curve.tnr.tolist() == [0, 1]
    assert curve.mse_plus == pytest.approx([0.1, 0.4])
    assert curve.mse_minus == pytest.approx([0.5, 0.1])
