"""Members with floors; the fits themselves are tested with their estimators."""

from __future__ import annotations

import numpy as np

from svmproba.bootstrap.constrained_members import _relative_gap


def test_gaps_of_closed_of_empty_and_of_replaced_members():
    objective = np.array([2.0, 1.0, 0.0, 1.0, np.inf])
    bound = np.array([1.0, 1.0, 0.0, 1.0 + 1e-12, 0.5])  # rounding may put it above
    replaced = np.array([False, False, False, False, True])
    np.testing.assert_array_equal(
        _relative_gap(objective, bound, replaced), [0.5, 0.0, 0.0, 0.0, np.inf]
    )
