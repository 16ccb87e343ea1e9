"""The fit race: the same bags and values of C for our engine and scikit-learn's SVMs."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from svmproba import BootstrapSVC

BAGS = 20
CS = 2.0 ** np.arange(-5, 6)
PEERS = {
    "SVC": lambda kernel, C: SVC(kernel=kernel, C=C),
    "LinearSVC": lambda kernel, C: LinearSVC(loss="hinge", C=C),
}


def wisconsin() -> tuple[Any, Any]:
    """569 samples, 30 columns, nearly separable."""
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def overlapping() -> tuple[Any, Any]:
    """400 samples, 12 columns, one label in five is noise."""
    X, y = make_classification(400, 12, n_informative=6, flip_y=0.2, random_state=0)
    return StandardScaler().fit_transform(X), y


def text() -> tuple[Any, Any]:
    """400 sparse rows of 2 000 columns."""
    rng = np.random.default_rng(0)
    X = sparse.random(400, 2000, density=0.02, format="csr", random_state=0)
    return X, (X @ rng.normal(size=2000) > 0).astype(int)


TABLES = {"wisconsin": wisconsin, "overlapping": overlapping, "text": text}


class Fit:
    """CPU seconds of BAGS bags x 11 values of C."""

    params = (list(TABLES), ["svmproba", *PEERS])
    param_names = ("table", "solver")
    kernel = "linear"
    timer = time.process_time
    unit = "CPU seconds"
    timeout = 600
    # The first fit, in setup, compiles or loads code and is not measured.
    rounds, number, repeat, warmup_time = 1, 1, (2, 5, 5.0), 0

    def setup(self, table: str, solver: str) -> None:
        """Draw the bags; the peers get those of our fit."""
        self.X, self.y = TABLES[table]()
        counts = self._ours().counts_
        self.bags = [np.repeat(np.arange(len(self.y)), count) for count in counts]

    def _ours(self) -> BootstrapSVC:
        model = BootstrapSVC(CS, kernel=self.kernel, n_bootstraps=BAGS, n_jobs=1, random_state=0)
        return model.fit(self.X, self.y)

    def time_fit(self, table: str, solver: str) -> None:
        """Fit all models of all bags."""
        if solver == "svmproba":
            self._ours()
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LinearSVC stops before it converges
            for bag in self.bags:
                for C in CS:
                    PEERS[solver](self.kernel, C).fit(self.X[bag], self.y[bag])


class FitKernel(Fit):
    """The same with an rbf kernel."""

    params = (["overlapping"], ["svmproba", "SVC"])
    kernel = "rbf"


class Quality:
    """What speed must not cost."""

    params = tuple(TABLES)
    param_names = ("table",)

    def track_largest_gap(self, table: str) -> float:
        """Largest certified relative gap: 1e-3 is asked for."""
        X, y = TABLES[table]()
        model = BootstrapSVC(CS, n_bootstraps=BAGS, n_jobs=1, random_state=0).fit(X, y)
        return float(model.duality_gap_.max())


class Predict:
    """CPU seconds of 20 000 predictions."""

    params = ([None, "platt"],)
    param_names = ("calibration",)
    timer = time.process_time
    rounds, number, warmup_time = 1, 1, 0

    def setup(self, calibration: str | None) -> None:
        """Fit, and predict once."""
        X, y = overlapping()
        model = BootstrapSVC(CS, n_bootstraps=BAGS, calibration=calibration, random_state=0)
        self.model, self.X = model.fit(X, y), np.tile(X, (50, 1))
        self.model.predict_proba(self.X)

    def time_predict_proba(self, calibration: str | None) -> None:
        """Probabilities of all samples."""
        self.model.predict_proba(self.X)
