"""How methods are compared: who is trained on what, and what is said of the predictions.

Two protocols. ``"fair"`` predicts every record by a model that has not seen it, in stratified folds
that are the same for every method. ``"paper"`` is what the paper's numbers reveal: its own methods
were measured on one random tenth of the records, which was not stratified, and the others by ten
folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold

from svmproba.evaluation import class_mse, mse
from svmproba.preparation.preprocessing import make_preprocessor

if TYPE_CHECKING:
    import pandas as pd

#: Reads something about each record out of a fitted estimator: (estimator, X) -> (n, ...).
Reader = Callable[[Any, NDArray[np.float64]], NDArray[np.float64]]


PROTOCOLS = ("fair", "paper")


class Part(NamedTuple):
    """One training part and the records that are predicted by what it taught.

    Attributes
    ----------
    repeat, fold : int
    train, test : ndarray of int
        Places of the records.
    """

    repeat: int
    fold: int
    train: NDArray[np.intp]
    test: NDArray[np.intp]


class Summary(NamedTuple):
    """Performance of probabilities on records that the models had not seen.

    Attributes
    ----------
    mse, mse_plus, mse_minus : float
        Mean squared error of all records, of the positive and of the negative ones, pooled over
        the folds so that a fold without positives does no harm.
    mse_se, mse_plus_se, mse_minus_se : float
        Their standard errors, from the spread over the records.
    auc : float
        Area under the ROC curve, mean over the folds that have both classes.
    auc_se : float
        Its standard error, from the spread over the folds or, for a single one, by DeLong.
    """

    mse: float
    mse_se: float
    mse_plus: float
    mse_plus_se: float
    mse_minus: float
    mse_minus_se: float
    auc: float
    auc_se: float


def cut_parts(
    protocol: str,
    y: NDArray[np.int64],
    *,
    bootstrap: bool,
    n_folds: int = 10,
    n_repeats: int = 1,
    seed: int = 0,
) -> list[Part]:
    """Threshold the records into training parts and records to predict.

    Parameters
    ----------
    protocol : {"fair", "paper"}
        See the module.
    y : ndarray of shape (n,)
        1 for the class of interest, 0 for the other.
    bootstrap : bool
        Whether the method is one of the paper's own, for which ``"paper"`` holds out one tenth.
    n_folds : int, default=10
        Folds, where there are folds.
    n_repeats : int, default=1
        How often all of it is done, each time with other folds or another tenth.
    seed : int, default=0
        The repeat r uses the seed ``seed + r``.

    Returns
    -------
    list of Part

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.paper.protocol import cut_parts
    >>> y = np.repeat([0, 1], [357, 212])
    >>> [len(part.test) for part in cut_parts("paper", y, bootstrap=True)]
    [57]
    >>> len(cut_parts("fair", y, bootstrap=True, n_repeats=3))
    30
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol must be one of {', '.join(PROTOCOLS)}, got {protocol!r}")
    parts = []
    for repeat in range(n_repeats):
        pairs: Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]]
        if protocol == "fair":
            splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed + repeat)
            pairs = splitter.split(y, y)
        elif bootstrap:
            order = np.random.default_rng(seed + repeat).permutation(len(y))
            held_out = round(len(y) / 10)
            pairs = [(np.sort(order[held_out:]), np.sort(order[:held_out]))]
        else:
            pairs = KFold(n_folds, shuffle=True, random_state=seed + repeat).split(y)
        parts += [Part(repeat, fold, train, test) for fold, (train, test) in enumerate(pairs)]
    return parts


def positive_proba(estimator: Any, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Read the probability of class 1."""
    return estimator.predict_proba(X)[:, 1]


def out_of_fold(
    estimator: Any,
    X: pd.DataFrame,
    y: NDArray[np.int64],
    *,
    readers: Mapping[str, Reader] | None = None,
    n_folds: int = 10,
    random_state: int | None = 0,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.int64]]:
    """Predict every record by a model that has not seen it.

    Parameters
    ----------
    estimator : classifier
        Cloned and fitted once on each training part, after
        :func:`~svmproba.preparation.preprocessing.make_preprocessor` learned on that part.
    X : pandas DataFrame of shape (n, n_attributes)
    y : ndarray of shape (n,)
        1 for the class of interest, 0 for the other.
    readers : mapping of str to callable, default=None
        What to read out of each fitted model, ``reader(estimator, X_test) -> (n_test, ...)``.
        By default ``{"proba": positive_proba}``. Several readers share one fit.
    n_folds : int, default=10
        Stratified folds.
    random_state : int or None, default=0
        Of the shuffle before the folds are drawn.
    progress : callable, default=None
        Called as ``progress(folds_done, n_folds)`` after each fold.

    Returns
    -------
    values : dict of str to ndarray of shape (n, ...)
        What each reader said of each record.
    fold : ndarray of int of shape (n,)
        The fold in which the record was predicted.
    """
    readers = {"proba": positive_proba} if readers is None else readers
    values: dict[str, NDArray[np.float64]] = {}
    fold = np.empty(len(y), dtype=np.int64)
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
    for k, (train, test) in enumerate(splitter.split(X, y)):
        preprocessor = make_preprocessor(X)
        model = clone(estimator).fit(preprocessor.fit_transform(X.iloc[train]), y[train])
        rows = preprocessor.transform(X.iloc[test])
        for name, reader in readers.items():
            read = reader(model, rows)
            values.setdefault(name, np.empty((len(y), *read.shape[1:])))[test] = read
        fold[test] = k
        if progress is not None:
            progress(k + 1, n_folds)
    return values, fold


def summarise(
    y: NDArray[np.int64],
    proba: NDArray[np.float64],
    fold: NDArray[np.int64],
    *,
    repeat: NDArray[np.int64] | None = None,
    record: NDArray[np.int64] | None = None,
) -> Summary:
    """Summarise predictions as the paper does, with standard errors.

    Parameters
    ----------
    y : ndarray of shape (n,)
        1 for the class of interest, 0 for the other.
    proba : ndarray of shape (n,)
        Probability of class 1.
    fold : ndarray of int of shape (n,)
        Fold of each prediction.
    repeat : ndarray of int of shape (n,), default=None
        Repeat of each prediction; None: there is one. Repeats share their records, so they do not
        make a standard error smaller.
    record : ndarray of int of shape (n,), default=None
        Record of each prediction; None: every record is predicted once.

    Returns
    -------
    Summary

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.paper.protocol import summarise
    >>> y, fold = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    >>> summary = summarise(y, np.array([0.0, 1.0, 0.5, 0.0]), fold)
    >>> summary.mse, summary.auc
    (0.3125, 0.5)
    """
    repeat = np.zeros_like(fold) if repeat is None else repeat
    record = np.arange(len(y)) if record is None else record
    plus, minus = class_mse(y, proba, pos_label=1)
    squares = (y - proba) ** 2
    auc, auc_se = _mean_auc(y, proba, fold, repeat)
    return Summary(
        mse=mse(y, proba, pos_label=1),
        mse_se=_error_over_records(squares, record),
        mse_plus=plus,
        mse_plus_se=_error_over_records(squares[y == 1], record[y == 1]),
        mse_minus=minus,
        mse_minus_se=_error_over_records(squares[y == 0], record[y == 0]),
        auc=auc,
        auc_se=auc_se,
    )


def _error_over_records(squares: NDArray[np.float64], record: NDArray[np.int64]) -> float:
    """Tell the standard error of a mean over records, each with the mean of its predictions."""
    n_predictions = np.bincount(record)
    seen = n_predictions > 0
    return _standard_error(np.bincount(record, squares)[seen] / n_predictions[seen])


def _standard_error(values: NDArray[np.float64]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def _mean_auc(
    y: NDArray[np.int64],
    proba: NDArray[np.float64],
    fold: NDArray[np.int64],
    repeat: NDArray[np.int64],
) -> tuple[float, float]:
    """Mean area under the curve of all parts, and its standard error."""
    by_repeat: list[list[float]] = []
    for r in np.unique(repeat):
        parts = [(repeat == r) & (fold == k) for k in np.unique(fold[repeat == r])]
        # A fold without both classes has no ROC curve.
        parts = [part for part in parts if 0 < y[part].sum() < part.sum()]
        by_repeat.append([float(roc_auc_score(y[part], proba[part])) for part in parts])
    aucs = [auc for of_repeat in by_repeat for auc in of_repeat]
    if not aucs:
        return float("nan"), float("nan")
    if len(aucs) == 1:
        return aucs[0], _delong_error(y, proba)
    if all(len(of_repeat) <= 1 for of_repeat in by_repeat):
        return float(np.mean(aucs)), _standard_error(np.array(aucs))
    errors = [_standard_error(np.array(of_repeat)) for of_repeat in by_repeat]
    return float(np.mean(aucs)), float(np.sqrt(np.nanmean(np.square(errors))))


def _delong_error(y: NDArray[np.int64], proba: NDArray[np.float64]) -> float:
    """Tell the standard error of one area (DeLong, DeLong and Clarke-Pearson 1988)."""
    positive, negative = np.sort(proba[y == 1]), np.sort(proba[y == 0])
    variance = 0.0
    for of_class, others in ((positive, negative), (negative, positive)):
        if len(of_class) < 2:
            return float("nan")
        sides = [np.searchsorted(others, of_class, side=side) for side in ("left", "right")]
        placements = np.mean(sides, axis=0) / len(others)
        variance += np.var(placements, ddof=1) / len(of_class)
    return float(np.sqrt(variance))
