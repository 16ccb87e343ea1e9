"""Votes of machines trained on the parts of a k-fold split (Figure 2 of the paper)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmproba.bootstrap.votes import vote_shares
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.features import fit_features

Floats = NDArray[np.float64]


def kfold_scores(
    X: Floats,
    y: NDArray[np.int64],
    new: Floats,
    *,
    n_folds: int = 10,
    C: float = 1.0,
    tol: float = 1e-5,
    random_state: int = 0,
) -> Floats:
    """Scores that k linear machines, each trained without one of k folds, give to new records.

    Parameters
    ----------
    X : ndarray, shape (n, n_features)
        Training records.
    y : ndarray, shape (n,)
        1 for the class of interest, 0 for the other.
    new : ndarray, shape (m, n_features)
        Records to be scored.
    n_folds : int, default=10
        Number of folds k, from 2 to n.
    C : float, default=1.0
        Price of a unit of slack.
    tol : float, default=1e-5
        Relative duality gap.
    random_state : int, default=0
        Deals the records to the folds, those of either class evenly.

    Returns
    -------
    ndarray, shape (m, n_folds)
        One column a machine.
    """
    if not 2 <= n_folds <= len(y):
        raise ValueError(f"n_folds must be from 2 to the {len(y)} records, got {n_folds!r}.")
    order = np.random.default_rng(random_state).permutation(len(y))
    fold = np.empty(len(y), dtype=np.intp)
    fold[order[np.argsort(y[order], kind="stable")]] = np.arange(len(y)) % n_folds
    used = fold != np.arange(n_folds)[:, np.newaxis]
    feature_map, rows = fit_features(X)
    signs = np.where(y == 1, 1.0, -1.0)
    fit = fit_ensemble(rows, signs, used.astype(np.uint8), np.array([C]), tol=tol)
    return np.asarray(feature_map.transform(new) @ fit.coef[0].T + fit.intercept[0])


def kfold_vote_shares(X: Floats, y: NDArray[np.int64], new: Floats, **options: Any) -> Floats:
    r"""Share of the k machines that call a record positive, ties counted half.

    Two training parts of k folds share :math:`\frac{k-2}{k-1}` of their records. The more folds,
    the less the machines differ: their scores draw together as k grows, and nearly all shares are
    0 or 1. Bootstrap bags differ by the same amount however many there are, which is why the
    paper's method lets bags vote.

    Parameters
    ----------
    X, y, new, **options
        As in `kfold_scores`.

    Returns
    -------
    ndarray, shape (m,)
        Vote shares of the new records.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from svmproba.paper.kfold_votes import kfold_vote_shares
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> shares = kfold_vote_shares(scale(X), y, scale(X), n_folds=20)
    >>> bool(((shares > 0) & (shares < 1)).mean() < 0.05)
    True
    """
    return vote_shares(kfold_scores(X, y, new, **options))
