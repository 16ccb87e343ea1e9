"""Fitting a pipeline: preprocessing by scikit-learn and one of our estimators."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from svmproba._types import Bools
from svmproba.cli.costs import costs_for
from svmproba.cli.errors import InputError, in_options
from svmproba.cli.input.labels import Labels, find_class
from svmproba.cli.task import Task
from svmproba.estimators import BootstrapSVC, ThresholdBootstrapSVC
from svmproba.estimators.shared.progress import Listener, listening
from svmproba.preparation.preprocessing import make_preprocessor

#: Share of either class that ``guarantee="split"`` holds out.
HELD_OUT_SHARE = 0.3
#: Records up to which rbf SVMs are fitted as well unless a kernel is named: a fit takes up to a
#: minute of two cores there, and beyond that four times as long for twice as many records.
KERNELS_UP_TO = 3_000


@dataclass(frozen=True)
class Goal:
    """What the model should do; at most one of `tpr`, `tnr` and `floors` is given."""

    tpr: float | None = None
    tnr: float | None = None
    floors: dict[Any, float] = field(default_factory=dict)  # recalls by class
    guarantee: str | None = None
    confidence: float = 0.9
    calibration: str | None = "auto"
    costs: Any = None  # Costs or CostMatrix; before `for_classes` also CostTable
    class_weight: str | None = "auto"
    kernel: str = "linear"

    @property
    def wants_rate(self) -> bool:
        """Whether a rate is to be reached."""
        return self.tpr is not None or self.tnr is not None or bool(self.floors)

    def check(self) -> None:
        """Refuse values out of range and options that exclude each other."""
        if self.tpr is not None and self.tnr is not None:
            raise InputError("--tpr and --tnr: a threshold has one free rate, give one of the two")
        rates = {"--tpr": self.tpr, "--tnr": self.tnr}
        given = [option for option, rate in rates.items() if rate is not None]
        if self.floors and given:
            raise InputError(f"--floor takes the place of {given[0]}: give one of the two")
        rates |= {f"--floor {word}": rate for word, rate in self.floors.items()}
        for option, rate in rates.items():
            if rate is not None and not 0 <= rate <= 1:
                raise InputError(f"{option} must be from 0 to 1; got {rate:g}")
            if rate in (0, 1) and self.guarantee is not None:
                raise InputError(
                    f"{option} must be above 0 and below 1 with --guarantee; got {rate:g}"
                )
        if self.guarantee is not None and not self.wants_rate:
            raise InputError(
                "--guarantee needs the rate to guarantee: give --tpr, --tnr or --floor"
            )
        if not 0 < self.confidence < 1:
            raise InputError(f"--confidence must be between 0 and 1; got {self.confidence:g}")

    def for_classes(self, labels: Labels | Task) -> Goal:
        """Translate words for classes; refuses what the number of classes rules out."""
        classes, positive = labels.classes, labels.positive
        floors: dict[Any, float] = {}
        for word, rate in self.floors.items():
            label = find_class(word, classes, "--floor")
            if label in floors:
                raise InputError(f"--floor names class {label!r} more than once")
            floors[label] = rate
        costs = costs_for(self.costs, classes, positive)
        if positive is None:
            self._check_several(classes)
            return replace(self, floors=floors, costs=costs)
        if len(floors) > 1:
            both = " and ".join(f"{label}={rate:g}" for label, rate in floors.items())
            raise InputError(f"--floor {both}: a threshold has one free rate, give one of the two")
        named: dict[str, Any] = {
            ("tpr" if label == positive else "tnr"): rate for label, rate in floors.items()
        }
        return replace(self, floors={}, costs=costs, **named)

    def _check_several(self, classes: list[Any]) -> None:
        """Refuse what needs two classes."""
        named = f"the target has {len(classes)}: {', '.join(map(repr, classes))}"
        for option, rate in (("--tpr", self.tpr), ("--tnr", self.tnr)):
            if rate is not None:
                raise InputError(
                    f"{option} needs two classes, {named}; give --floor {classes[0]}={rate:g} for "
                    f"a recall of a class"
                )
        if self.guarantee == "jackknife+":
            raise InputError(f"--guarantee jackknife+ needs two classes, {named}")

    def judges(self, labels: Labels) -> Bools:
        """Mark the records of the classes whose rates are to be reached."""
        goal = self.for_classes(labels)
        if labels.positive is None:
            return np.isin(labels.y, list(goal.floors))
        return np.asarray((labels.y == labels.positive) == (goal.tnr is None))

    @property
    def held_out_share(self) -> float:
        """Share of the records that nothing is learned from."""
        return HELD_OUT_SHARE if self.guarantee == "split" else 0.0


def parse_floors(texts: Sequence[str] | None) -> dict[str, float]:
    """Read recalls such as ``setosa=0.9``, by the words for the classes."""
    floors: dict[str, float] = {}
    for text in texts or ():
        word, _, value = (part.strip() for part in text.rpartition("="))
        try:
            rate = float(value)
        except ValueError:
            rate = math.nan
        if not word or math.isnan(rate):
            raise InputError(f"--floor must be like CLASS=0.9; got {text!r}")
        if word in floors:
            raise InputError(f"--floor names class {word!r} more than once")
        floors[word] = rate
    return floors


def train(
    task: Task,
    goal: Goal,
    *,
    n_bootstraps: int = 500,
    n_jobs: int | None = None,
    seed: int = 0,
    advance: Listener | None = None,
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
        rate |= {"target_tpr": goal.tpr, "target_tnr": goal.tnr}
        svm: Any = ThresholdBootstrapSVC(target_recall=goal.floors or None, **rate, **common)
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
                svm = svm.with_costs(**goal.costs.arguments())
    except ValueError as error:
        raise InputError(in_options(str(error))) from error
    return Pipeline([("columns", columns), ("svm", svm)])


def reach_rate(columns: Any, svm: Any, task: Task, goal: Goal, each: bool = True) -> Any:
    """Move the threshold to where a fitted ensemble has its rate, in each subgroup or in all."""
    wish: dict[str, Any] = {"tpr": goal.tpr, "tnr": goal.tnr, "recall": goal.floors or None}
    wish |= {"guarantee": goal.guarantee}
    places = task.kept
    if goal.guarantee == "split":
        places = task.held_out
        wish |= {"X": columns.transform(task.X.iloc[places]), "y": task.y[places]}
        wish |= {"groups": _part(task.groups, places)}
    by = _part(task.by, places) if each else None
    return svm.with_rate(confidence=goal.confidence, by=by, **wish)


def _part(labels: NDArray[Any] | None, places: NDArray[np.intp]) -> NDArray[Any] | None:
    return None if labels is None else labels[places]


def default_kernel(n_records: int, calibration: str | None = "auto") -> str:
    """Kernel where none is named: both if that is affordable and the calibration weighs them."""
    return "auto" if calibration == "auto" and n_records <= KERNELS_UP_TO else "linear"


def n_features(model: Pipeline) -> int:
    """Count the columns after the preprocessing."""
    return int(np.shape(model["columns"].get_feature_names_out())[0])
