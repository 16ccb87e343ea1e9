from __future__ import annotations

import numpy as np
import pytest

from svmproba.links import PlattLink, WahbaLink


def test_log_odds_are_the_score():
    scores = np.linspace(-30, 30, 61)
    P = WahbaLink().fit(np.array([-1.0, 1.0]), np.array([False, True])).predict(scores)
    np.testing.assert_allclose(np.log(P) - np.log(1 / (1 + np.exp(scores))), scores, atol=1e-12)


def test_it_is_platts_with_fixed_coefficients():
    platt = PlattLink()
    platt.A_, platt.B_ = -1.0, 0.0
    scores = np.linspace(-3, 3, 7)
    np.testing.assert_array_equal(WahbaLink().predict(scores), platt.predict(scores))


def test_large_scores_do_not_overflow():
    np.testing.assert_array_equal(WahbaLink().predict([-1e9, 1e9]), [0.0, 1.0])


def test_bad_scores_are_named():
    with pytest.raises(ValueError, match="scores must be finite"):
        WahbaLink().fit([np.nan, 0.0], np.array([True, False]))
