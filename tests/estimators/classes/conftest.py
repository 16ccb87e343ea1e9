import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale

from svmproba import BootstrapSVC


@pytest.fixture(scope="session")
def iris():
    X, y = load_iris(return_X_y=True)
    return scale(X), np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="session")
def four_classes():
    """Wine, and a fourth class cut out of its first: classes overlap."""
    X, y = load_wine(return_X_y=True)
    X = scale(X)[:, [0, 2, 6, 9]]
    return X, np.where((y == 0) & (X[:, 1] > 0), 3, y)


@pytest.fixture(scope="session")
def model(four_classes):
    return BootstrapSVC([0.1, 1.0], n_bootstraps=40, random_state=0).fit(*four_classes)


@pytest.fixture(scope="session")
def calibrated(model):
    return model.with_calibration("platt")
