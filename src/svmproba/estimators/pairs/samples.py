"""Pairs of classes: their samples, their fitted SVMs, and the probabilities of all classes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets

from svmproba._types import Bools, Floats
from svmproba.bootstrap.summaries.blocks import row_blocks
from svmproba.bootstrap.summaries.votes import two_columns
from svmproba.estimators.input.training_set import join_weights, place_of_interest, present_samples
from svmproba.links import couple
from svmproba.solvers.features import FeatureMap
from svmproba.solvers.kernels import Rows

Places = NDArray[np.intp]
Pair = tuple[int, int]


class PairSamples(NamedTuple):
    """Samples of one pair of classes, arrays of shape (m,)."""

    places: Places  # among all samples
    positive: Bools  # which belong to the second class
    weight: Floats | None  # factor on C

    @property
    def signs(self) -> Floats:
        """Labels, +1 for the second class and -1 for the first."""
        return np.where(self.positive, 1.0, -1.0)


class Samples(NamedTuple):
    """Samples of positive weight, and the pairs of their classes."""

    X: Rows  # (n, n_features), or the kernel matrix (n, n)
    label: Places  # (n,), places of the labels among the classes
    classes: NDArray[Any]  # (n_classes,), sorted
    weight: Floats | None  # (n,), factor on C
    present: Places  # (n,), places of these samples among those given
    n_given: int
    pairs: list[
        Pair
    ]  # (0, 1), (0, 2), ..., (1, 2), ...; of two classes, that of interest is second

    def by_pair(self) -> list[PairSamples]:
        """Give the samples of every pair."""
        found = []
        for first, second in self.pairs:
            places = np.flatnonzero((self.label == first) | (self.label == second))
            weight = None if self.weight is None else self.weight[places]
            found.append(PairSamples(places, self.label[places] == second, weight))
        return found


def encode_samples(
    X: Rows,
    y: NDArray[Any],
    sample_weight: ArrayLike | None,
    class_weight: Any,
    pos_label: object,
    *,
    pairwise: bool,
) -> Samples:
    """Leave out samples of weight 0, encode the labels, multiply sample and class weights."""
    check_classification_targets(y)
    n_given = X.shape[0]
    X, y, weight, present = present_samples(X, y, sample_weight, pairwise)
    classes, label = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must have two classes or more, got one class: {classes.tolist()!r}.")
    if len(classes) > 2 and pos_label is not None:
        raise ValueError(f"pos_label must be None with {len(classes)} classes, got {pos_label!r}.")
    pairs = list(combinations(range(len(classes)), 2))
    if len(classes) == 2 and place_of_interest(classes, pos_label) == 0:
        pairs = [(1, 0)]
    weight = join_weights(weight, class_weight, classes, y)
    places = np.arange(n_given) if present is None else present
    return Samples(X, label.astype(np.intp), classes, weight, places, n_given, pairs)


class PairMembers(NamedTuple):
    """Fitted SVMs of all pairs: one for each pair, or one for each pair and class weight."""

    feature_map: FeatureMap  # from samples to rows
    coef: Floats  # (n_pairs, d) or (n_pairs, n_weights, d), for the rows
    intercept: Floats  # (n_pairs,) or (n_pairs, n_weights)

    def blocks(self, X: Rows, width: int) -> Iterator[tuple[slice, Rows]]:
        """Rows of new samples, block by block; `width` is the number of floats per sample."""
        for block in row_blocks(X.shape[0], X.shape[1] + self.feature_map.width + width):
            yield block, self.feature_map.transform(X[block])

    def scores(self, rows: Rows) -> Floats:
        """Scores of rows, shape (n, n_pairs) or (n, n_pairs, n_weights)."""
        scores = np.asarray(rows @ self.coef.reshape(-1, self.coef.shape[-1]).T)
        return scores.reshape(-1, *self.intercept.shape) + self.intercept


def join_pairs(P: Floats, pairs: list[Pair]) -> Floats:
    """Probabilities (n, n_classes) from those of the second class of every pair (n, n_pairs)."""
    return couple(1 - P) if len(pairs) > 1 else two_columns(P[:, 0], pairs[0][1])
