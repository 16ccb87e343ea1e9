"""Weights that are wide enough apart, by hand."""

import numpy as np
import pytest

from svmproba.selection._task import make_task, threshold


@pytest.mark.parametrize("weights", [(1.0, 0.0), (1.0, 0.5), (2.0, 0.0), (-2.0, 0.0)])
@pytest.mark.parametrize(("share", "enough"), [(1.01, True), (0.99, False), (0.01, False)])
def test_the_gap_is_a_share_of_the_largest_weight(weights, share, enough):
    positive, sign = np.arange(4) < 2, np.sign(weights[0])
    gap = 2 * 0.25 * share
    Z = np.column_stack([sign * np.array([gap, 5.0, 0.0, -3.0]), np.zeros(4)])
    groups = [np.array([0]), np.array([1])]
    task = make_task(Z, positive, (1.0, 1.0), groups, np.ones(2), max_weight=4.0)
    found = threshold(task, np.arange(2), np.array(weights))
    assert (found is not None) == enough
    if enough:
        assert found == pytest.approx(abs(weights[0]) * gap / 2)
