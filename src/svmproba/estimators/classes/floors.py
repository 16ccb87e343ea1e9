"""Floors under the recalls of several classes (CEBB2), as floors of all pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Bools, Floats
from svmproba.bootstrap.classes.calls import calls_of
from svmproba.bootstrap.classes.fitted import FittedClasses
from svmproba.bootstrap.fitting.constrained_members import fit_constrained_members
from svmproba.estimators.classes.setting import ClassSetting
from svmproba.estimators.input.parameters import check_number
from svmproba.solvers.kernels import Rows


class ClassFloorFit(NamedTuple):
    """A fitted ensemble at one set of floors."""

    ensemble: FittedClasses
    proven: Bools  # (n_pairs, n_theta, n_bootstraps), proven to be optimal
    replaced: Bools  # no feasible point is known: plain SVMs instead
    bag_recalls: Floats  # (n_theta, n_bootstraps, n_classes), of the members on their own bags


def check_recall_floors(min_recall: Mapping[Any, float] | None, classes: NDArray[Any]) -> Floats:
    """Floors (n_classes,), 0 for none, from a dict of labels."""
    labels, floors = classes.tolist(), np.zeros(len(classes))
    if min_recall is None:
        return floors
    if not isinstance(min_recall, Mapping):
        raise ValueError(f"min_recall must be None or a dict of classes, got {min_recall!r}.")
    for label, floor in min_recall.items():
        if label not in labels:
            raise ValueError(f"min_recall must name classes among {labels!r}, got {label!r}.")
        check_number(f"min_recall of class {label!r}", floor, 0, 1, "a number in [0, 1]")
        floors[labels.index(label)] = floor
    return floors


def floors_of_two(wish: Mapping[str, Any], classes: NDArray[Any], plus: int) -> dict[str, Any]:
    """Floors of two classes by the names of rates."""
    floors = check_recall_floors(wish.get("min_recall"), classes)
    named = {"min_tpr": floors[plus], "min_tnr": floors[1 - plus]}
    found = {name: floor for name, floor in named.items() if floor}
    clash = [name for name in found if wish.get(name) is not None]
    if clash:
        raise ValueError(f"min_recall and {clash[0]} name the same class: give one of them.")
    return {**wish, **found}


def floor_of_pair(floor: float, n_classes: int) -> float:
    r"""Floor :math:`1-(1-\lambda)/(K-1)` of a class in each of its pairs; 0 for none."""
    return 1 - (1 - floor) / (n_classes - 1) if floor else 0.0


def fit_class_floors(
    estimators: list[Any], setting: ClassSetting, floors: Floats, effort: str
) -> list[ClassFloorFit]:
    """Fit the members of all pairs at floors (n_floors, n_classes), one for each estimator."""
    samples, n_classes = setting.samples, floors.shape[1]
    of_pairs = np.vectorize(floor_of_pair)(floors, n_classes)
    # A child: the bags and landmarks are those of `BootstrapSVC` with the same state.
    rng = setting.options["kernel"]["rng"].spawn(1)[0]
    seeds = rng.integers(2**31, size=len(setting.pairs)).tolist()

    def fit_pair(pair: int, X: Rows, positive: Bools, counts: Any, **how: Any) -> Any:
        first, second = samples.pairs[pair]
        own = np.column_stack([of_pairs[:, second], of_pairs[:, first], np.zeros(len(floors))])
        fixed: dict[str, Any] = {"floors": own, "effort": effort, "seed": seeds[pair]}
        return fit_constrained_members(X, positive, counts, **fixed, **how)

    fits = setting.fit(fit_pair, estimators[0].n_jobs)
    masses = setting.counts if samples.weight is None else setting.counts * samples.weight
    found = []
    for k, estimator in enumerate(estimators):
        parts = [of_pair[k] for of_pair in fits]
        ensemble = setting.settle(estimator, [(part.members, part.training) for part in parts])
        label = samples.label.astype(np.int64)
        calls = calls_of(
            ensemble.members,
            samples.X,
            ensemble.shifts,
            counts=masses,
            label=label,
            in_bag=True,
            n_jobs=estimator.n_jobs,
        )
        sizes = np.stack([masses[:, label == c].sum(axis=1) for c in range(n_classes)], axis=-1)
        assert calls.right is not None
        proven, replaced = (np.stack([part[i] for part in parts]) for i in (2, 3))
        found.append(ClassFloorFit(ensemble, proven, replaced, calls.right / sizes))
    return found
