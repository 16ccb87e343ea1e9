"""Held-out scores of one SVM for every pair of classes, every C and every gamma."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import check_classification_targets

from svmproba.estimators._training_set import join_weights, place_of_interest, present_samples
from svmproba.estimators._validation import Floats
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.features import FeatureMap, fit_features
from svmproba.solvers.kernels import Rows

Places = NDArray[np.intp]
Pair = tuple[int, int]


class Records(NamedTuple):
    """Records of positive weight, and the pairs of their classes.

    Attributes
    ----------
    X : ndarray or CSR, shape (n, n_features)
        Records, or their kernel matrix (n, n).
    place : ndarray of int, shape (n,)
        Places of the labels among the classes.
    classes : ndarray, shape (n_classes,)
        Labels, sorted.
    weight : ndarray, shape (n,) or None
        Factor on C for each record.
    present : ndarray of int, shape (n,)
        Places of these records among those given.
    n_given : int
        Number of records given.
    pairs : list of tuple of two int
        (0, 1), (0, 2), ..., (1, 2), ...; of two classes, the class of interest is the second.
    """

    X: Rows
    place: Places
    classes: NDArray[Any]
    weight: Floats | None
    present: Places
    n_given: int
    pairs: list[Pair]

    def members(self, pair: Pair) -> tuple[Places, NDArray[np.bool_]]:
        """Places of the records of both classes, and which of them belong to the second."""
        here = np.flatnonzero((self.place == pair[0]) | (self.place == pair[1]))
        return here, self.place[here] == pair[1]

    def signs(self, pair: Pair) -> Floats:
        """Labels of the members, +1 for the second class."""
        return np.where(self.members(pair)[1], 1.0, -1.0)


def encode_records(
    X: Rows,
    y: NDArray[Any],
    sample_weight: ArrayLike | None,
    class_weight: Any,
    pos_label: object,
    *,
    pairwise: bool,
) -> Records:
    """Leave out records of weight 0, encode the labels, multiply sample and class weights."""
    check_classification_targets(y)
    n_given = X.shape[0]
    X, y, weight, left = present_samples(X, y, sample_weight, pairwise)
    present = np.arange(n_given) if left is None else left
    classes, place = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must have two classes or more, got one class: {classes.tolist()!r}.")
    pairs = list(combinations(range(len(classes)), 2))
    if pos_label is not None:
        pairs = [_pair_of_interest(classes, pos_label)]
    weight = join_weights(weight, class_weight, classes, y)
    return Records(X, place.astype(np.intp), classes, weight, present, n_given, pairs)


def _pair_of_interest(classes: NDArray[Any], pos_label: object) -> Pair:
    if len(classes) > 2:
        raise ValueError(f"pos_label must be None with {len(classes)} classes, got {pos_label!r}.")
    plus = place_of_interest(classes, pos_label)
    return 1 - plus, plus


def deal_folds(cv: Any, records: Records, rng: np.random.Generator) -> tuple[Places, int]:
    """Fold of every record, and their number.

    A number of folds deals the records of every class evenly, at most one fold a record. Anything
    else is split by scikit-learn's conventions; its test parts must hold every record once.
    """
    n = len(records.place)
    if isinstance(cv, Integral):
        n_folds = min(int(cv), n)
        order = rng.permutation(n)
        fold = np.empty(n, dtype=np.intp)
        fold[order[np.argsort(records.place[order], kind="stable")]] = np.arange(n) % n_folds
        return fold, n_folds
    labels = np.zeros(records.n_given, dtype=np.intp)
    labels[records.present] = records.place
    of_given = np.zeros(records.n_given, dtype=np.intp)
    seen = np.zeros(records.n_given, dtype=np.intp)
    splits = list(check_cv(cv, labels, classifier=True).split(labels[:, np.newaxis], labels))
    for k, (_, test) in enumerate(splits):
        of_given[test] = k
        np.add.at(seen, test, 1)
    if not np.all(seen[records.present] == 1):
        raise ValueError("cv must hold out every record exactly once, as k-fold splitters do.")
    return of_given[records.present], len(splits)


class Machines(NamedTuple):
    """Machines of all pairs for every C at one gamma.

    Attributes
    ----------
    feature_map : FeatureMap
        Map from records to rows.
    rows : ndarray or CSR, shape (n, d)
        Rows of the training records.
    coef : ndarray, shape (n_C, n_pairs, d)
        Coefficients of the machines trained on all records of their pair.
    intercept, gap : ndarray, shape (n_C, n_pairs)
        Their intercepts, and relative duality gaps.
    largest_gap : ndarray, shape (n_C,)
        Largest gap among them and the machines of the folds.
    held_out : ndarray, shape (n_C, n_pairs, n)
        Scores of every record by the machines that its fold was held out from.
    """

    feature_map: FeatureMap
    rows: Rows
    coef: Floats
    intercept: Floats
    gap: Floats
    largest_gap: Floats
    held_out: Floats


def fit_members(
    records: Records,
    fold: Places,
    n_folds: int,
    Cs: Floats,
    *,
    kernel: dict[str, Any],
    tol: float,
    n_jobs: int | None,
    report: Callable[[int], None],
) -> Machines:
    r"""Fit the machines of all pairs, for every C, on every fold's complement and on all records.

    All of one pair are one call of the engine: a fold is a vector of counts 0 and 1. Folds are
    shared by the pairs, and records of other classes are scored too. Where the training part of a
    fold holds one class of the pair only, scores are +1 or -1 for that class, and 0 where it holds
    neither, as in LIBSVM.

    Parameters
    ----------
    records : Records
        The training records.
    fold : ndarray of int, shape (n,)
        Fold of every record.
    n_folds : int
        Number of folds.
    Cs : ndarray, increasing
        Values of C.
    kernel : dict
        Arguments of `svmproba.solvers.features.fit_features`.
    tol : float
        Relative duality gap to reach.
    n_jobs : int or None
        Number of jobs.
    report : callable
        ``report(n)`` is called when n more folds of one pair are done.

    Returns
    -------
    Machines
        The machines and the held-out scores.
    """
    feature_map, rows = fit_features(records.X, **kernel)
    shape = (len(Cs), len(records.pairs))
    coef, intercept, gap = np.empty((*shape, rows.shape[1])), np.empty(shape), np.empty(shape)
    largest_gap, held_out = np.zeros(len(Cs)), np.empty((*shape, len(fold)))
    for p, pair in enumerate(records.pairs):
        here, positive = records.members(pair)
        used = fold[here] != np.arange(n_folds)[:, np.newaxis]
        both = (used & positive).any(axis=1) & (used & ~positive).any(axis=1)
        counts = np.vstack([used[both], np.ones(len(here), dtype=np.bool_)]).astype(np.uint8)
        fit = fit_ensemble(
            rows if len(here) == len(fold) else rows[here],
            records.signs(pair),
            counts,
            Cs,
            weight=None if records.weight is None else records.weight[here],
            tol=tol,
            n_jobs=n_jobs,
            report=report,
        )
        coef[:, p], intercept[:, p] = fit.coef[:, -1], fit.intercept[:, -1]
        gap[:, p] = fit.gap[:, -1]
        largest_gap = np.maximum(largest_gap, fit.gap.max(axis=1))
        for b, k in enumerate(np.flatnonzero(both)):
            out = np.flatnonzero(fold == k)
            held_out[:, p, out] = (rows[out] @ fit.coef[:, b].T + fit.intercept[:, b]).T
        for k in np.flatnonzero(~both):
            held_out[:, p, fold == k] = np.sign(used[k] @ np.where(positive, 1, -1))
    return Machines(feature_map, rows, coef, intercept, gap, largest_gap, held_out)


def class_scores(scores: Floats, n_classes: int) -> Floats:
    """Scores (n, n_classes) from those of all pairs (n, n_pairs), positive for the second class.

    The number of pairs that vote for the class, plus the squashed sum of its scores, less than a
    third in size, as in scikit-learn's ``SVC(decision_function_shape="ovr")``.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.estimators._cross_fit import class_scores
    >>> class_scores(np.array([[-1.0, -2.0, 1.0]]), 3)
    array([[ 2.25      , -0.22222222,  0.83333333]])
    """
    votes, sums = np.zeros((2, len(scores), n_classes))
    for column, (i, j) in zip(scores.T, combinations(range(n_classes), 2), strict=True):
        votes[:, i] += column <= 0
        votes[:, j] += column > 0
        sums[:, i] -= column
        sums[:, j] += column
    return votes + sums / (3 * (np.abs(sums) + 1))
