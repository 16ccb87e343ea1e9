from __future__ import annotations

import pytest
from scipy.stats import binom

from svmproba.solvers.constrained.floors import sample_floor


@pytest.mark.parametrize(("rate", "exact", "hoeffding"), [(0.7, 0.76, 0.787), (0.8, 0.85, 0.887)])
def test_worked_values(rate, exact, hoeffding):
    assert sample_floor(rate, 200, 0.95) == exact
    assert sample_floor(rate, 200, 0.95, "hoeffding") == pytest.approx(hoeffding, abs=5e-4)


@pytest.mark.parametrize("n", [30, 57, 200])
@pytest.mark.parametrize("rate", [0.5, 0.8, 0.9])
def test_the_exact_floor_is_the_smallest_that_the_test_believes(rate, n):
    k = round(sample_floor(rate, n, 0.9) * n)
    assert binom.sf(k - 1, n, rate) <= 0.1 < binom.sf(k - 2, n, rate)


@pytest.mark.parametrize(("rule", "needed"), [("exact", 29), ("hoeffding", 150)])
def test_too_few_records(rule, needed):
    with pytest.raises(ValueError, match=f"needs at least {needed} records of the class .* got 20"):
        sample_floor(0.9, 20, 0.95, rule)
    assert sample_floor(0.9, needed, 0.95, rule) <= 1


@pytest.mark.parametrize("confidence", [0.1, 0.3, 0.5])
def test_a_floor_is_never_below_the_rate(confidence):
    """Not even where the test believes anything."""
    for n in range(20, 40):
        assert sample_floor(0.5, n, confidence) >= 0.5
