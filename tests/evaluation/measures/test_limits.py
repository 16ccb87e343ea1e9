"""Limits of means and of the area under the ROC curve."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from svmproba.evaluation.measures.limits import auc_deviation, auc_limits, mean_limits


def test_the_mean_has_the_limits_of_scipy():
    values = np.random.default_rng(0).exponential(size=30)
    twin = stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    assert mean_limits(values, 0.9) == pytest.approx((twin.low, twin.high))
    assert np.isnan(mean_limits([1.0])).all()


@pytest.mark.parametrize(("auc", "n_plus", "n_minus"), [(0.5, 5, 5), (0.8, 10, 40), (1.0, 5, 5)])
def test_limits_solve_their_equation(auc, n_plus, n_minus):
    lower, upper = auc_limits(auc, n_plus, n_minus, 0.9)
    z = stats.norm.ppf(0.95)
    assert 0 < lower < auc <= upper <= 1
    assert auc - lower == pytest.approx(z * auc_deviation(lower, n_plus, n_minus), abs=1e-9)
    assert upper - auc == pytest.approx(z * auc_deviation(upper, n_plus, n_minus), abs=1e-9)
    mirrored = auc_limits(1 - auc, n_plus, n_minus, 0.9)
    assert mirrored == pytest.approx((1 - upper, 1 - lower), abs=1e-9)


@pytest.mark.parametrize("auc", [0.0, 0.3, 0.5, 0.83, 1.0])
@pytest.mark.parametrize(("n_plus", "n_minus"), [(7, 7), (10, 30), (1, 4)])
def test_the_deviation_is_that_of_hanley_and_mcneil(auc, n_plus, n_minus):
    """Radiology 143 (1982), with the mean of both sizes for either."""
    n = (n_plus + n_minus) / 2
    of_plus, of_minus = auc / (2 - auc) - auc**2, 2 * auc**2 / (1 + auc) - auc**2
    variance = (auc * (1 - auc) + (n - 1) * (of_plus + of_minus)) / (n_plus * n_minus)
    assert auc_deviation(auc, n_plus, n_minus) == pytest.approx(np.sqrt(variance), abs=1e-12)


@pytest.mark.parametrize(("shift", "n_plus", "n_minus"), [(1.0, 10, 10), (2.5, 10, 30)])
def test_limits_cover_the_area_of_two_normals(shift, n_plus, n_minus):
    """Newcombe found coverage from .95 to .97 for such samples."""
    rng, n_replicates = np.random.default_rng(0), 1000
    truth = stats.norm.cdf(shift / np.sqrt(2))
    y = np.repeat([1, 0], [n_plus, n_minus])
    covered = 0
    for _ in range(n_replicates):
        lower, upper = auc_limits(roc_auc_score(y, rng.normal(shift * y)), n_plus, n_minus)
        covered += lower <= truth <= upper
    error = np.sqrt(0.95 * 0.05 / n_replicates)
    assert 0.95 - 3 * error <= covered / n_replicates <= 0.98 + 3 * error
