"""Fitting a pipeline: preprocessing by scikit-learn and one of our estimators."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from svmproba.cli.costs import Costs
from svmproba.cli.errors import InputError, in_options
from svmproba.cli.task import Task
from svmproba.estimators import BootstrapSVC, ThresholdBootstrapSVC
from svmproba.estimators._progress import listening
from svmproba.estimators.ensemble.setting import check_class_weights
from svmproba.estimators.input.parameters import check_kernels
from svmproba.preparation.preprocessing import make_preprocessor

#: Share of either class that ``guarantee="split"`` holds out.
HELD_OUT_SHARE = 0.3


@dataclass(frozen=True)
class Goal:
    """What the model should do; at most one of the rates `tpr` and `tnr` is given."""

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
        """Whether a rate is to be reached."""
        return self.tpr is not None or self.tnr is not None

    def check(self) -> None:
        """Refuse values out of range and options that exclude each other."""
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
        """Share of the records that nothing is learned from."""
        return HELD_OUT_SHARE if self.guarantee == "split" else 0.0


def train(
    task: Task,
    goal: Goal,
    *,
    n_bootstraps: int = 500,
    n_jobs: int | None = None,
    seed: int = 0,
    advance: Callable[[int], None] | None = None,
) -> Pipeline:
    """Fit a pipeline of the steps ``columns`` (a ColumnTransformer) and ``svm``.

    Records held out take no part, not even in the preprocessing: the guarantee would not hold.
    """
    common: dict[str, Any] = {
        "n_bootstraps": n_bootstraps,
        "calibration": goal.calibration,
        "class_weight": goal.class_weight or [None],
        "kernel": goal.kernel,
        "pos_label": task.positive,
        "n_jobs": n_jobs,
        "random_state": seed,
    }
    rate: dict[str, Any] = {"guarantee": goal.guarantee, "confidence": goal.confidence}
    if goal.wants_rate and goal.guarantee != "split" and task.by is None:
        svm: Any = ThresholdBootstrapSVC(goal.tpr, target_tnr=goal.tnr, **rate, **common)
    else:
        svm = BootstrapSVC(**common)
    kept = task.kept
    columns = make_preprocessor(task.X, any_types=True)
    try:
        rows = columns.fit_transform(task.X.iloc[kept])
        with listening(advance) if advance is not None else nullcontext():
            svm.fit(rows, task.y[kept], groups=_part(task.groups, kept))
        if goal.wants_rate and not isinstance(svm, ThresholdBootstrapSVC):
            svm = reach_rate(columns, svm, task, goal)
        elif goal.costs is not None and not goal.wants_rate:
            with warnings.catch_warnings():
                # The command warns of vote shares itself, before the fit.
                warnings.simplefilter("ignore", UserWarning)
                svm = svm.with_costs(**goal.costs.by_name())
    except ValueError as error:
        raise InputError(in_options(str(error))) from error
    return Pipeline([("columns", columns), ("svm", svm)])


def reach_rate(columns: Any, svm: Any, task: Task, goal: Goal, each: bool = True) -> Any:
    """Move the threshold to where a fitted ensemble has its rate, in each subgroup or in all."""
    wish: dict[str, Any] = {"tpr": goal.tpr, "tnr": goal.tnr, "guarantee": goal.guarantee}
    places = task.kept
    if goal.guarantee == "split":
        places = task.held_out
        wish |= {"X": columns.transform(task.X.iloc[places]), "y": task.y[places]}
        wish |= {"groups": _part(task.groups, places)}
    by = _part(task.by, places) if each else None
    return svm.with_rate(confidence=goal.confidence, by=by, **wish)


def _part(labels: NDArray[Any] | None, places: NDArray[np.intp]) -> NDArray[Any] | None:
    return None if labels is None else labels[places]


def n_families(task: Task, goal: Goal) -> int:
    """Count the SVMs that are fitted to every bag and C: kernels times class weights."""
    n_plus = int(np.sum(task.y[task.kept] == task.positive))
    classes = np.array([task.negative, task.positive])
    sizes = len(task.kept) - n_plus, n_plus
    weights = check_class_weights(goal.class_weight, classes, 1, sizes)
    return len(check_kernels(goal.kernel)) * len(weights)


def n_features(model: Pipeline) -> int:
    """Count the columns after the preprocessing."""
    return int(np.shape(model["columns"].get_feature_names_out())[0])
