import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from svmproba import BootstrapSVC


@pytest.fixture(scope="session")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    return X, np.where(X[:, 0] + rng.normal(size=150) > 0, "yes", "no")


@pytest.fixture(scope="session")
def new_data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 2))
    return X, np.where(X[:, 0] + rng.normal(size=90) > 0, "yes", "no")


@pytest.fixture(scope="session")
def ensemble(data):
    return BootstrapSVC([0.1, 1.0], n_bootstraps=40, random_state=0).fit(*data)


@pytest.fixture(scope="session")
def calibrated(data):
    model = BootstrapSVC([0.1, 1.0], n_bootstraps=50, calibration="platt", random_state=0)
    return model.fit(*data)


@pytest.fixture(scope="session")
def pipeline(data):
    """Ensemble at the end of a pipeline, with the smaller label as the class of interest."""
    svc = BootstrapSVC([1.0], n_bootstraps=40, pos_label="no", random_state=0)
    return make_pipeline(StandardScaler(), svc).fit(*data)
