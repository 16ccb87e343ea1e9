"""Fit of a bootstrap ensemble by the bag of little bootstraps, of tables in memory or of dask."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from svmproba._types import Floats
from svmproba.bootstrap.fitting.little import Split, fit_little_members, split_records
from svmproba.bootstrap.fitting.members import Members, Training
from svmproba.estimators.ensemble.setting import Setting, fit_options, given_gammas, make_families
from svmproba.estimators.input.dask_tables import is_lazy, read_labels, read_rows
from svmproba.estimators.input.parameters import (
    as_generator,
    check_ensemble_parameters,
    check_kernels,
    check_number,
    check_option,
    is_auto,
)
from svmproba.estimators.input.samples import check_records, check_sizes
from svmproba.estimators.input.training_set import TrainingSet, encode_two_classes, training_set
from svmproba.estimators.shared.progress import FitProgress
from svmproba.solvers.kernels import Rows, as_rows

RESAMPLES = ("bootstrap", "blb")


class Drawn(NamedTuple):
    """Samples that a fit reads, in random order: those held out, then the subsets."""

    X: Rows
    positive: NDArray[np.bool_]
    weight: Floats | None
    classes: NDArray[Any]
    plus: int
    sizes: tuple[int, int]
    split: Split
    places: NDArray[np.int64]


def is_little(estimator: Any) -> bool:
    """Whether the parameters ask for little bootstraps; refuses bad ones."""
    check_option("resample", estimator.resample, RESAMPLES)
    check_number("subset_exponent", estimator.subset_exponent, 0.5, 1, "a number in [0.5, 1]")
    return bool(estimator.resample == "blb")


def fit_little(
    estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None
) -> tuple[Setting, Members, Training]:
    """Fit the members on subsets; the samples held out judge them."""
    Cs = check_ensemble_parameters(estimator)
    if "precomputed" in check_kernels(estimator.kernel):
        raise ValueError(
            "resample='blb' cannot take kernel='precomputed' apart: give the samples and a "
            "kernel by name, or use resample='bootstrap'."
        )
    if is_auto(estimator.n_components):
        raise ValueError("n_components must be None or an integer with resample='blb', got 'auto'.")
    rng = as_generator(estimator.random_state)
    draw = _draw_lazy if is_lazy(X) else _draw_in_memory
    drawn = draw(estimator, X, y, sample_weight, rng)
    split, n_held, n_bags = drawn.split, drawn.split.n_held_out, estimator.n_bootstraps
    families = make_families(estimator, drawn, drawn.sizes, given_gammas(estimator))
    judged = drawn.positive[:n_held]
    progress = FitProgress(
        estimator,
        len(families) * n_bags,
        X=drawn.X,
        y=drawn.positive,
        metadata={"sample_weight": sample_weight},
    )
    weighing = (judged, drawn.weight, estimator.n_components)
    options = fit_options(estimator, families, Cs, *weighing, rng=rng, report=progress)
    members, training, n_redraws = fit_little_members(
        drawn.X, drawn.positive, split, n_bags, **options
    )
    rows = as_rows(drawn.X[:n_held])
    held = TrainingSet(rows, drawn.classes, drawn.plus, judged, None, None, n_held)
    unseen = np.zeros((n_bags, n_held), np.uint8)
    subsets = split.n_subsets, split.subset_size
    places = drawn.places[:n_held]
    setting = Setting(held, unseen, n_redraws, places, options, progress, subsets)
    return setting, members, training


def _draw_in_memory(
    estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None, rng: np.random.Generator
) -> Drawn:
    dtypes = [np.float64, np.float32]
    rows, labels = check_records(estimator, X, y, dtype=dtypes, order="C")
    data = training_set(rows, labels, sample_weight, None, estimator.pos_label, pairwise=False)
    n, n_features = data.X.shape
    split = _split(estimator, n, n_features, data.X.dtype.itemsize)
    places = rng.choice(split.n_records, split.n_drawn, replace=False)
    weight = None if data.weight is None else data.weight[places]
    known = places if data.present is None else data.present[places]
    n_plus = int(data.positive.sum())
    sizes = len(data.positive) - n_plus, n_plus
    part = data.X[places], data.positive[places], weight
    return Drawn(*part, data.classes, data.plus, sizes, split, known)


def _draw_lazy(
    estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None, rng: np.random.Generator
) -> Drawn:
    if sample_weight is not None:
        raise ValueError("sample_weight cannot be given with a table of dask.")
    lengths, classes, sizes = read_labels(X, y)
    if len(classes) != 2:
        shown = classes[:5].tolist()
        raise ValueError(f"y must have two classes, got {len(classes)}: {shown!r}.")
    _, plus = encode_two_classes(np.repeat(classes, np.minimum(sizes, 2)), estimator.pos_label)
    split = _split(estimator, int(lengths.sum()), X.shape[1], 4)
    places = rng.choice(split.n_records, split.n_drawn, replace=False)
    rows, labels, sample = read_rows(X, y, lengths, places)
    validate_data(estimator, sample, dtype=None)  # notes the number and the names of the columns
    rows = check_array(rows, dtype=[np.float64, np.float32], copy=False, input_name="X")
    check_sizes(rows, getattr(estimator, "feature_names_in_", None))
    by_class = int(sizes[1 - plus]), int(sizes[plus])
    return Drawn(rows, labels == classes[plus], None, classes, plus, by_class, split, places)


def _split(estimator: Any, n: int, n_features: int, itemsize: int) -> Split:
    exponent = estimator.subset_exponent
    return split_records(n, estimator.n_bootstraps, exponent, n_features * itemsize)
