import numpy as np
import pytest

from .enumeration import noisy


@pytest.fixture(scope="session")
def table():
    """Eight columns, two of which tell the class."""
    X, positive = noisy(3, 120, 8, informative=2, noise=0.3)
    return X, np.where(positive, "yes", "no")
