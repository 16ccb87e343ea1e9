"""What the estimators tell scikit-learn of the input that they take."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_predict
from sklearn.utils import get_tags

import svmproba

WITH_KERNELS = [
    "BootstrapSVC",
    "ThresholdBootstrapSVC",
    "ConstrainedBootstrapSVC",
    "ConstrainedSVC",
    "ProbabilitySVC",
    "PosteriorProbabilitySVC",
    "WeightedProbabilitySVC",
]


@pytest.mark.parametrize("name", WITH_KERNELS)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_columns_are_samples_for_a_precomputed_kernel_alone(name, kernel):
    tags = get_tags(getattr(svmproba, name)(kernel=kernel)).input_tags
    assert tags.pairwise == (kernel == "precomputed")
    assert tags.sparse == (kernel != "precomputed")


def test_lists_of_kernels_take_columns():
    tags = get_tags(svmproba.BootstrapSVC(kernel=["linear", "rbf"])).input_tags
    assert tags.sparse
    assert not tags.pairwise


def test_cross_validation_cuts_rows_and_columns_of_a_kernel_matrix():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y, K = X[:, 0] > 0.2 * rng.normal(size=60), rbf_kernel(X, gamma=0.5)
    params = {"Cs": [1.0], "n_bootstraps": 25, "random_state": 0}
    given = svmproba.BootstrapSVC(kernel="precomputed", **params)
    own = svmproba.BootstrapSVC(kernel="rbf", gammas=0.5, **params)
    one, other = (cross_val_predict(m, Z, y, cv=3) for m, Z in ((given, K), (own, X)))
    assert np.mean(one == other) > 0.9
    assert np.mean(one == y) > 0.8
