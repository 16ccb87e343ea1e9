"""What a fit of an ensemble starts from: families of hyperparameter values, bags, options."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmproba._types import Floats
from svmproba.bootstrap.fitted import FittedEnsemble, settle_ensemble
from svmproba.bootstrap.fitting.bags import draw_bags
from svmproba.bootstrap.fitting.members import Family, Members, Training
from svmproba.bootstrap.summaries.votes import tally_block
from svmproba.estimators.input.dask_tables import refuse_lazy
from svmproba.estimators.input.groups import check_classes_of_groups, check_groups
from svmproba.estimators.input.parameters import (
    as_generator,
    check_ensemble_parameters,
    check_gammas,
    check_kernels,
    is_auto,
    is_search,
)
from svmproba.estimators.input.samples import check_records
from svmproba.estimators.input.training_set import (
    TrainingSet,
    check_weight_range,
    class_factors,
    n_classes_of,
    present_samples,
    training_set,
)
from svmproba.estimators.shared.progress import FitProgress
from svmproba.solvers.kernels import Rows

THETA = np.dtype(
    [("C", np.float64), ("gamma", np.float64), ("kernel", "U11"), ("class_weight", np.float64)]
)
#: Share of the rarer of two classes below which ``class_weight="auto"`` adds balanced weights; of K
#: classes 2 / K times this share.
RARE = 0.3


def make_families(estimator: Any, data: Any, sizes: tuple[int, int], gammas: Any) -> list[Family]:
    """Families of an ensemble: kernels, gammas and class weights, every one with every other."""
    weights = check_class_weights(weighting_of(estimator), data.classes, data.plus, sizes)
    return cross_families(estimator, data, weights, gammas)


def weighting_of(estimator: Any) -> Any:
    """Class weights that parameters ask for."""
    # Balanced weights leave calibrated probabilities right and rank rare classes better.
    if estimator.class_weight is None and is_auto(estimator.calibration):
        return "auto"
    return estimator.class_weight


def cross_families(
    estimator: Any, data: Any, weights: Sequence[tuple[float, ...]], gammas: Any
) -> list[Family]:
    """Cross kernels, gammas and factors of the classes; refuses weights out of range."""
    low, high = (1.0, 1.0) if data.weight is None else (data.weight.min(), data.weight.max())
    names = ["sample_weight"] * (data.weight is not None) + ["class_weight"]
    with np.errstate(over="ignore", under="ignore"):
        check_weight_range(names, low * min(map(min, weights)), high * max(map(max, weights)))
    return [
        Family(kernel, float(gamma), factors)
        for kernel in check_kernels(estimator.kernel)
        for gamma in check_gammas(gammas, kernel, data.X)
        for factors in weights
    ]


def check_class_weights(
    class_weight: Any, classes: NDArray[Any], plus: int, sizes: tuple[int, int]
) -> list[tuple[float, float]]:
    """Factors on C of the other class and of the class of interest, one pair for each weighting."""
    order = [1 - plus, plus]
    found = class_weightings(class_weight, classes[order], sizes)
    return [(of_other, of_interest) for of_other, of_interest in found]


def class_weightings(
    class_weight: Any, classes: NDArray[Any], sizes: Sequence[int]
) -> list[tuple[float, ...]]:
    """Factors on C of all classes, given with their sizes; one tuple for each weighting."""
    n, n_classes = sum(sizes), len(sizes)
    wishes = class_weight if isinstance(class_weight, list | tuple) else [class_weight]
    if is_auto(class_weight):
        wishes = [None, "balanced"] if min(sizes) < 2 * RARE / n_classes * n else [None]
    found: list[tuple[float, ...]] = []
    for wish in wishes:
        if isinstance(wish, str) and wish == "balanced":
            factors = tuple(n / (n_classes * size) for size in sizes)
        elif wish is None:
            factors = (1.0,) * n_classes
        else:
            order = np.argsort(classes)
            values = class_factors(wish, classes[order], classes[order])
            factors = tuple(values[np.argsort(order)].tolist())
        if factors not in found:
            found.append(factors)
    if not found:
        raise ValueError(
            f"class_weight must be None, 'balanced', 'auto', a dict or a non-empty list of such, "
            f"got {class_weight!r}."
        )
    return found


class Setting(NamedTuple):
    """What a fit starts from."""

    data: TrainingSet  # the samples that judge the members
    counts: NDArray[np.uint8]  # (n_bootstraps, n), the bags
    n_redraws: int  # bags that were drawn again because they lacked a class
    places: NDArray[np.int64] | None  # (n,), of the samples in the table; None: all
    options: dict[str, Any]  # keyword arguments of `fit_members` and its like
    progress: FitProgress
    subsets: tuple[int, int] = (0, 0)  # number and size of those of little bootstraps
    groups: NDArray[np.int64] | None = None  # (n,), of samples that belong together

    def settle(self, estimator: Any, members: Members, training: Training) -> FittedEnsemble:
        """Weigh the hyperparameter values and summarise the out-of-bag scores."""
        return settle_ensemble(
            members,
            training,
            self.data.X,
            self.data.positive,
            self.counts,
            thetas=make_thetas(self.options["families"], self.options["Cs"]),
            epsilon=estimator.epsilon,
            n_redraws=self.n_redraws,
            places=self.places,
            groups=self.groups,
            spread=self.data.spread,
            n_jobs=estimator.n_jobs,
            device=estimator.device,
        )


class Checked(NamedTuple):
    """What is known of a fit before labels are encoded."""

    Cs: Floats
    X: Rows
    y: NDArray[Any]
    sample_weight: ArrayLike | None
    n_classes: int  # of the samples of positive weight
    groups: NDArray[np.int64] | None  # (n_given,), numbers of groups of samples
    n_components: int | None  # landmarks of kernels
    gammas: Any  # as parameters name them, "scale" where the fit shall look for more


def check_input(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None,
    groups: ArrayLike | None = None,
) -> Checked:
    """Check parameters and data."""
    Cs = check_ensemble_parameters(estimator)
    refuse_lazy(X, "BootstrapSVC(resample='blb') takes it by partitions, X.compute() collects")
    rows, labels = check_records(estimator, X, y, order="C")
    n_classes, codes = n_classes_of(labels, sample_weight, rows), check_groups(groups, len(labels))
    n_components = None if is_auto(estimator.n_components) else estimator.n_components
    given = (Cs, rows, labels, sample_weight, n_classes, codes)
    return Checked(*given, n_components, given_gammas(estimator))


def without_absent(estimator: Any, checked: Checked) -> Checked:
    """Leave out the samples of weight 0."""
    pairwise = "precomputed" in check_kernels(estimator.kernel)
    given = (checked.X, checked.y, checked.sample_weight)
    X, y, weight, present = present_samples(*given, pairwise)
    groups = checked.groups
    if groups is not None and present is not None:
        groups = groups[present]
    return checked._replace(X=X, y=y, sample_weight=weight, groups=groups)


def given_gammas(estimator: Any) -> Any:
    """Gammas that parameters give; "scale" where they leave them to the fit."""
    wish = estimator.gammas
    return "scale" if wish is None or is_search(wish, estimator.kernel) else wish


def set_up(estimator: Any, checked: Checked, passes: int = 1) -> Setting:
    """Encode two classes and draw the bags; each will be reported `passes` times."""
    Cs, rows, labels, sample_weight, _, groups, n_components, gammas = checked
    pairwise = "precomputed" in check_kernels(estimator.kernel)
    data = training_set(rows, labels, sample_weight, None, estimator.pos_label, pairwise=pairwise)
    n_plus = int(data.positive.sum())
    families = make_families(estimator, data, (len(data.positive) - n_plus, n_plus), gammas)
    rng = as_generator(estimator.random_state)
    names = data.classes[[1 - data.plus, data.plus]].tolist()
    codes = groups_of(data.positive, groups, data.present, names)
    counts, n_redraws = draw_bags(estimator.n_bootstraps, data.positive, rng, codes, classes=names)
    n_bags, metadata = passes * len(families) * len(counts), {"sample_weight": sample_weight}
    progress = FitProgress(estimator, n_bags, X=rows, y=labels, metadata=metadata)
    weighing = (data.positive, data.weight, n_components)
    options = fit_options(estimator, families, Cs, *weighing, rng=rng, report=progress)
    return Setting(data, counts, n_redraws, None, options, progress, groups=codes)


def groups_of(
    label: NDArray[Any],
    groups: NDArray[np.int64] | None,
    present: NDArray[np.intp] | None,
    classes: Sequence[Any],
) -> NDArray[np.int64] | None:
    """Numbers of the groups of the samples that have a weight; None without groups.

    Labels are places among `classes`, which an error names.
    """
    if groups is None:
        return None
    codes = groups if present is None else groups[present]
    codes = np.unique(codes, return_inverse=True)[1]
    check_classes_of_groups(codes, label, classes)
    return codes


def fit_options(
    estimator: Any,
    families: list[Family],
    Cs: Floats,
    judged: NDArray[np.bool_],
    weight: Floats | None,
    n_components: int | None,
    *,
    rng: np.random.Generator,
    report: FitProgress,
) -> dict[str, Any]:
    """Keyword arguments of `fit_members`; `judged` are the labels of samples that judge members."""
    return {
        "kernel": {
            "degree": estimator.degree,
            "coef0": estimator.coef0,
            "n_components": n_components,
            "rng": rng,
        },
        "families": families,
        "Cs": Cs,
        "weight": weight,
        "tol": estimator.tol,
        "tally": partial(tally_block, positive=judged, measure=estimator.reliability),
        "n_jobs": estimator.n_jobs,
        "report": report,
        "device": estimator.device,
    }


def make_thetas(families: list[Family], Cs: Floats) -> NDArray[Any]:
    """Grid of hyperparameter values: by family, then by C."""
    grid = [
        (C, family.gamma, family.kernel, family.factors[1] / family.factors[0])
        for family in families
        for C in Cs
    ]
    return np.array(grid, dtype=THETA)
