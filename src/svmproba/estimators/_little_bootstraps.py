"""Fit of a bootstrap ensemble by the bag of little bootstraps, of tables in memory or of dask."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from svmproba.bootstrap.little import Split, fit_little_members, split_records
from svmproba.bootstrap.members import Members, Training
from svmproba.bootstrap.votes import tally_block
from svmproba.estimators._families import make_families
from svmproba.estimators._lazy_table import is_lazy, read_labels, read_rows
from svmproba.estimators._progress import FitProgress
from svmproba.estimators._records import check_records, check_sizes
from svmproba.estimators._validation import (
    Floats,
    TrainingSet,
    as_generator,
    check_ensemble_parameters,
    check_kernels,
    check_number,
    check_option,
    encode_two_classes,
    training_set,
)
from svmproba.solvers.kernels import Rows, as_rows

RESAMPLES = ("bootstrap", "blb")
KERNEL_PARAMETERS = ("degree", "coef0", "n_components")


class Drawn(NamedTuple):
    """Records that a fit reads, in random order: those held out, then the subsets."""

    X: Rows
    positive: NDArray[np.bool_]
    weight: Floats | None
    classes: NDArray[Any]
    plus: int
    sizes: tuple[int, int]
    split: Split
    places: NDArray[np.int64]


class LittleBootstrapMixin:
    """What ``resample="blb"`` does in `fit`; see `svmproba.bootstrap.little`."""

    oob_records_: NDArray[np.int64] | None

    def _is_little(self: Any) -> bool:
        """Whether the parameters ask for little bootstraps; refuses bad ones."""
        check_option("resample", self.resample, RESAMPLES)
        check_number("subset_exponent", self.subset_exponent, 0.5, 1, "a number in [0.5, 1]")
        return bool(self.resample == "blb")

    def _draw_in_memory(
        self: Any, X: Any, y: Any, sample_weight: ArrayLike | None, rng: np.random.Generator
    ) -> Drawn:
        dtypes = [np.float64, np.float32]
        rows, labels = check_records(self, X, y, dtype=dtypes, order="C")
        data: TrainingSet = training_set(
            rows, labels, sample_weight, None, self.pos_label, pairwise=False
        )
        split = self._split(*data.X.shape, data.X.dtype.itemsize)
        places = rng.choice(split.n_records, split.n_drawn, replace=False)
        weight = None if data.weight is None else data.weight[places]
        known = places if data.present is None else data.present[places]
        n_plus = int(data.positive.sum())
        sizes = len(data.positive) - n_plus, n_plus
        part = data.X[places], data.positive[places], weight
        return Drawn(*part, data.classes, data.plus, sizes, split, known)

    def _draw_lazy(
        self: Any, X: Any, y: Any, sample_weight: ArrayLike | None, rng: np.random.Generator
    ) -> Drawn:
        if sample_weight is not None:
            raise ValueError("sample_weight cannot be given with a table of dask.")
        lengths, classes, sizes = read_labels(X, y)
        if len(classes) != 2:
            shown = classes[:5].tolist()
            raise ValueError(f"y must have two classes, got {len(classes)}: {shown!r}.")
        _, plus = encode_two_classes(np.repeat(classes, np.minimum(sizes, 2)), self.pos_label)
        split = self._split(int(lengths.sum()), X.shape[1], 4)
        places = rng.choice(split.n_records, split.n_drawn, replace=False)
        rows, labels, sample = read_rows(X, y, lengths, places)
        validate_data(self, sample, dtype=None)  # notes the number and the names of the columns
        rows = check_array(rows, dtype=[np.float64, np.float32], copy=False, input_name="X")
        check_sizes(rows, getattr(self, "feature_names_in_", None))
        by_class = int(sizes[1 - plus]), int(sizes[plus])
        return Drawn(rows, labels == classes[plus], None, classes, plus, by_class, split, places)

    def _split(self: Any, n: int, n_features: int, itemsize: int) -> Split:
        bytes_of_row = n_features * itemsize
        return split_records(n, self.n_bootstraps, self.subset_exponent, bytes_of_row)

    def _fit_little(
        self: Any, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[tuple[Any, ...], Members, Training, NDArray[np.int64]]:
        """Fit the members on subsets; what they are judged by are the records held out.

        Gives the fields of a setting, as `_set_up` does, the members, what is known of them, and
        the places of the records held out.
        """
        Cs = check_ensemble_parameters(self)
        if "precomputed" in check_kernels(self.kernel):
            raise ValueError(
                "resample='blb' cannot take kernel='precomputed' apart: give the records and a "
                "kernel by name, or use resample='bootstrap'."
            )
        rng = as_generator(self.random_state)
        draw = self._draw_lazy if is_lazy(X) else self._draw_in_memory
        drawn: Drawn = draw(X, y, sample_weight, rng)
        split, n_held = drawn.split, drawn.split.n_held_out
        self.n_subsets_, self.subset_size_ = split.n_subsets, split.subset_size
        families = make_families(self, drawn, drawn.sizes)
        positive = drawn.positive[:n_held]
        held = TrainingSet(
            as_rows(drawn.X[:n_held]), drawn.classes, drawn.plus, positive, None, None, n_held
        )
        kernel = {name: getattr(self, name) for name in KERNEL_PARAMETERS} | {"rng": rng}
        tally = partial(tally_block, positive=positive, measure=self.reliability)
        n_bags = len(families) * self.n_bootstraps
        metadata = {"sample_weight": sample_weight}
        progress = FitProgress(self, n_bags, X=drawn.X, y=drawn.positive, metadata=metadata)
        members, training, n_redraws = fit_little_members(
            drawn.X,
            drawn.positive,
            split,
            self.n_bootstraps,
            kernel=kernel,
            families=families,
            Cs=Cs,
            weight=drawn.weight,
            tol=self.tol,
            tally=tally,
            n_jobs=self.n_jobs,
            report=progress,
            device=self.device,
        )
        unseen = np.zeros((self.n_bootstraps, n_held), np.uint8)
        fields = (held, unseen, n_redraws, families, Cs, kernel, tally, progress)
        return fields, members, training, drawn.places[:n_held]
