"""Fixtures shared by all tests."""

import os
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Make fits without a ``random_state`` the same in every run, in fixtures too."""
    np.random.seed(0)  # noqa: NPY002


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the paper's data sets, or skip."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("SVMPROBA_DATA", beside))
    if not folder.is_dir():
        pytest.skip("the paper's data files are absent: set SVMPROBA_DATA to their folder")
    return folder


@pytest.fixture
def closed_figures():
    """Close the figures a test opens."""
    import matplotlib.pyplot as plt

    yield
    plt.close("all")
