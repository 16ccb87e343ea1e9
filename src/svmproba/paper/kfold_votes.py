"""Scores of SVMs fitted on the parts of a k-fold split (Figure 2 of the paper).

Two training parts of k folds share a fraction (k - 2) / (k - 1) of their samples. The more folds,
the less the SVMs differ: their scores draw together, and nearly all vote shares are 0 or 1.
Bootstrap bags differ by the same amount however many there are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Floats
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.features import fit_features


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
    """Scores (m, n_folds) of new samples by linear SVMs, each fitted without one fold."""
    if not 2 <= n_folds <= len(y):
        raise ValueError(f"n_folds must be from 2 to the {len(y)} samples, got {n_folds!r}.")
    order = np.random.default_rng(random_state).permutation(len(y))
    fold = np.empty(len(y), dtype=np.intp)
    fold[order[np.argsort(y[order], kind="stable")]] = np.arange(len(y)) % n_folds
    used = fold != np.arange(n_folds)[:, np.newaxis]
    feature_map, rows = fit_features(X)
    signs = np.where(y == 1, 1.0, -1.0)
    fit = fit_ensemble(rows, signs, used.astype(np.uint8), np.array([C]), tol=tol)
    return np.asarray(feature_map.transform(new) @ fit.coef[0].T + fit.intercept[0])
