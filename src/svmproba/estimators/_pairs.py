"""Pairs of classes: their samples, their fitted SVMs, and the probabilities of all classes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets

from svmproba.bootstrap.blocks import row_blocks
from svmproba.bootstrap.votes import two_columns
from svmproba.estimators._validation import Floats, check_sample_weight, join_weights
from svmproba.links import couple
from svmproba.solvers.features import FeatureMap
from svmproba.solvers.kernels import Rows

Bools = NDArray[np.bool_]
Places = NDArray[np.intp]
Pair = tuple[int, int]


class PairSamples(NamedTuple):
    """Samples of one pair of classes.

    Attributes
    ----------
    places : ndarray of int, shape (m,)
        Places of these samples among all.
    positive : ndarray of bool, shape (m,)
        Which of them belong to the second class.
    weight : ndarray, shape (m,) or None
        Factor on C for each sample.
    """

    places: Places
    positive: Bools
    weight: Floats | None

    @property
    def signs(self) -> Floats:
        """Labels, +1 for the second class and -1 for the first."""
        return np.where(self.positive, 1.0, -1.0)


class Samples(NamedTuple):
    """Samples of positive weight, and the pairs of their classes.

    Attributes
    ----------
    X : ndarray or CSR, shape (n, n_features)
        Samples, or their kernel matrix (n, n).
    label : ndarray of int, shape (n,)
        Places of the labels among the classes.
    classes : ndarray, shape (n_classes,)
        Labels, sorted.
    weight : ndarray, shape (n,) or None
        Factor on C for each sample.
    present : ndarray of int, shape (n,)
        Places of these samples among those given.
    n_given : int
        Number of samples given.
    pairs : list of tuple of two int
        (0, 1), (0, 2), ..., (1, 2), ...; of two classes, the class of interest is the second.
    """

    X: Rows
    label: Places
    classes: NDArray[Any]
    weight: Floats | None
    present: Places
    n_given: int
    pairs: list[Pair]

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
    if pairwise and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"X must be a square matrix of kernel values with kernel='precomputed', got shape "
            f"{X.shape}."
        )
    weight, n_given = check_sample_weight(sample_weight, X), X.shape[0]
    present = np.arange(n_given) if weight is None else np.flatnonzero(weight)
    if len(present) < n_given:
        X, y = X[present], y[present]
        X = X[:, present] if pairwise else X
        weight = None if weight is None else weight[present]
    classes, label = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must have two classes or more, got one class: {classes.tolist()!r}.")
    pairs = list(combinations(range(len(classes)), 2))
    if pos_label is not None:
        pairs = [_pair_of_interest(classes, pos_label)]
    weight = join_weights(weight, class_weight, classes, y)
    return Samples(X, label.astype(np.intp), classes, weight, present, n_given, pairs)


def _pair_of_interest(classes: NDArray[Any], pos_label: object) -> Pair:
    if len(classes) > 2:
        raise ValueError(f"pos_label must be None with {len(classes)} classes, got {pos_label!r}.")
    plus = np.flatnonzero(classes == pos_label)
    if len(plus) != 1:
        raise ValueError(
            f"pos_label must be None or one of the classes {classes.tolist()!r}, got {pos_label!r}."
        )
    return 1 - int(plus[0]), int(plus[0])


class PairMembers(NamedTuple):
    """Fitted SVMs of all pairs: one for each pair, or one for each pair and class weight.

    Attributes
    ----------
    feature_map : FeatureMap
        Map from samples to rows.
    coef : ndarray, shape (n_pairs, d) or (n_pairs, n_weights, d)
        Coefficients for the rows.
    intercept : ndarray, shape (n_pairs,) or (n_pairs, n_weights)
        Intercepts.
    """

    feature_map: FeatureMap
    coef: Floats
    intercept: Floats

    def blocks(self, X: Rows, width: int) -> Iterator[tuple[slice, Rows]]:
        """Rows of new samples, block by block; `width` is the number of floats per sample."""
        projection = self.feature_map.projection
        own = 0 if projection is None else projection.shape[1]
        for block in row_blocks(X.shape[0], X.shape[1] + own + width):
            yield block, self.feature_map.transform(X[block])

    def scores(self, rows: Rows) -> Floats:
        """Scores of rows, shape (n, n_pairs) or (n, n_pairs, n_weights)."""
        scores = np.asarray(rows @ self.coef.reshape(-1, self.coef.shape[-1]).T)
        return scores.reshape(-1, *self.intercept.shape) + self.intercept


def join_pairs(P: Floats, pairs: list[Pair]) -> Floats:
    """Probabilities (n, n_classes) from those of the second class of every pair (n, n_pairs)."""
    return couple(1 - P) if len(pairs) > 1 else two_columns(P[:, 0], pairs[0][1])
