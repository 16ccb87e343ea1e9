"""The paper's evaluation: ten stratified folds, every record predicted once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from svmproba.evaluation import class_mse, mse
from svmproba.paper.preprocessing import make_preprocessor

if TYPE_CHECKING:
    import pandas as pd

#: Reads something about each record out of a fitted estimator: (estimator, X) -> (n, ...).
Reader = Callable[[Any, NDArray[np.float64]], NDArray[np.float64]]


class Summary(NamedTuple):
    """Performance of out-of-fold probabilities.

    Attributes
    ----------
    mse, mse_plus, mse_minus : float
        Mean squared error of all records, of the positive and of the negative ones, pooled over
        the folds so that a fold without positives does no harm.
    mse_se : float
        Standard error of ``mse`` from the spread over the folds.
    auc, auc_se : float
        Area under the ROC curve, mean over the folds, and its standard error.
    """

    mse: float
    mse_se: float
    mse_plus: float
    mse_minus: float
    auc: float
    auc_se: float


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
        :func:`~svmproba.paper.preprocessing.make_preprocessor` learned on that part.
    X : pandas DataFrame of shape (n, n_attributes)
    y : ndarray of shape (n,)
        1 for the class of interest, 0 for the other.
    readers : mapping of str to callable, default=None
        What to read out of each fitted model, ``reader(estimator, X_test) -> (n_test, ...)``.
        By default ``{"proba": positive_proba}``. Several readers share one fit.
    n_folds : int, default=10
        Stratified folds.
    random_state : int or None, default=0
        Of the shuffle before the folds are cut.
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


def summarise(y: NDArray[np.int64], proba: NDArray[np.float64], fold: NDArray[np.int64]) -> Summary:
    """Summarise out-of-fold probabilities as the paper does.

    Parameters
    ----------
    y : ndarray of shape (n,)
        1 for the class of interest, 0 for the other.
    proba : ndarray of shape (n,)
        Out-of-fold probability of class 1.
    fold : ndarray of int of shape (n,)
        Fold of each record.

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
    parts = [fold == k for k in np.unique(fold)]
    # A fold without both classes has no ROC curve.
    aucs = [roc_auc_score(y[p], proba[p]) for p in parts if 0 < y[p].sum() < p.sum()]
    plus, minus = class_mse(y, proba, pos_label=1)
    return Summary(
        mse=mse(y, proba, pos_label=1),
        mse_se=_standard_error([mse(y[p], proba[p], pos_label=1) for p in parts]),
        mse_plus=plus,
        mse_minus=minus,
        auc=float(np.mean(aucs)) if aucs else float("nan"),
        auc_se=_standard_error(aucs),
    )


def _standard_error(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
