"""Fitting a pipeline on a task: standard parts of scikit-learn and one of our estimators."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from svmproba.cli.costs import Costs
from svmproba.cli.errors import InputError, in_options
from svmproba.cli.task import Task
from svmproba.estimators import BootstrapSVC, ThresholdBootstrapSVC
from svmproba.estimators._progress import listening
from svmproba.estimators._setting import check_class_weights
from svmproba.estimators._validation import check_kernels
from svmproba.preparation.preprocessing import make_preprocessor

#: Share of either class that ``guarantee="split"`` holds back.
HELD_OUT_SHARE = 0.3


@dataclass(frozen=True)
class Wish:
    """What the model shall do.

    Attributes
    ----------
    tpr, tnr : float or None
        Wanted rate of the class of interest, or of the other; at most one.
    guarantee : {None, "split", "oob", "jackknife+"}
    confidence : float
    calibration : str or None
    costs : Costs or None
    class_weight : {None, "balanced", "auto"}
    kernel : {"linear", "rbf", "auto"}
    """

    tpr: float | None = None
    tnr: float | None = None
    guarantee: str | None = None
    confidence: float = 0.9
    calibration: str | None = "auto"
    costs: Costs | None = None
    class_weight: str | None = "auto"
    kernel: str = "linear"

    @property
    def wants_rate(self) -> bool:
        """Whether a rate was asked for."""
        return self.tpr is not None or self.tnr is not None

    def check(self) -> None:
        """Refuse what does not go together."""
        if self.tpr is not None and self.tnr is not None:
            raise InputError("--tpr and --tnr: a threshold has one free rate, give one of the two")
        for option, rate in (("--tpr", self.tpr), ("--tnr", self.tnr)):
            if rate is not None and not 0 <= rate <= 1:
                raise InputError(f"{option} must be from 0 to 1; got {rate:g}")
        if self.guarantee is not None and not self.wants_rate:
            raise InputError("--guarantee needs the rate to guarantee: give --tpr or --tnr")
        if not 0 < self.confidence < 1:
            raise InputError(f"--confidence must be between 0 and 1; got {self.confidence:g}")

    @property
    def held_out_share(self) -> float:
        """Share of the records that nothing may be learned from."""
        return HELD_OUT_SHARE if self.guarantee == "split" else 0.0


def train(
    task: Task,
    wish: Wish,
    *,
    n_bootstraps: int = 500,
    n_jobs: int | None = None,
    seed: int = 0,
    advance: Callable[[int], None] | None = None,
) -> Pipeline:
    """Fit.

    Records held back take part in nothing, the preprocessing included: only so is the guarantee on
    them a theorem.

    Parameters
    ----------
    task : Task
    wish : Wish
    n_bootstraps : int, default=500
    n_jobs : int, default=None
    seed : int, default=0
    advance : callable, default=None
        Called after every block of bags with their number.

    Returns
    -------
    Pipeline
        Steps ``columns`` (a ColumnTransformer) and ``svm``.
    """
    common: dict[str, Any] = {
        "n_bootstraps": n_bootstraps,
        "calibration": wish.calibration,
        "class_weight": wish.class_weight,
        "kernel": wish.kernel,
        "pos_label": task.positive,
        "n_jobs": n_jobs,
        "random_state": seed,
    }
    rate: dict[str, Any] = {"guarantee": wish.guarantee, "confidence": wish.confidence}
    if wish.wants_rate and wish.guarantee != "split":
        svm: Any = ThresholdBootstrapSVC(wish.tpr, target_tnr=wish.tnr, **rate, **common)
    else:
        svm = BootstrapSVC(**common)
    kept, held_out = task.kept, task.held_out
    columns = make_preprocessor(task.X)
    try:
        rows = columns.fit_transform(task.X.iloc[kept])
        with listening(advance) if advance is not None else nullcontext():
            svm.fit(rows, task.y[kept])
        if wish.wants_rate and wish.guarantee == "split":
            judges = columns.transform(task.X.iloc[held_out])
            svm = svm.with_rate(tpr=wish.tpr, tnr=wish.tnr, **rate, X=judges, y=task.y[held_out])
        elif wish.costs is not None and not wish.wants_rate:
            with warnings.catch_warnings():
                # The command warns of vote shares itself, before the fit.
                warnings.simplefilter("ignore", UserWarning)
                svm = svm.with_costs(**wish.costs.by_name())
    except ValueError as error:
        raise InputError(in_options(str(error))) from error
    return Pipeline([("columns", columns), ("svm", svm)])


def n_families(task: Task, wish: Wish) -> int:
    """Families of SVMs that are fitted to every bag: kernels times class weights."""
    n_plus = int(np.sum(task.y[task.kept] == task.positive))
    classes = np.array([task.negative, task.positive])
    sizes = len(task.kept) - n_plus, n_plus
    weights = check_class_weights(wish.class_weight, classes, 1, sizes)
    return len(check_kernels(wish.kernel)) * len(weights)


def n_features(model: Pipeline) -> int:
    """Columns that the SVMs see."""
    return int(np.shape(model["columns"].get_feature_names_out())[0])
