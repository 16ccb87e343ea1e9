r"""Probabilities from the signs of support vector machines with changing class weights.

An SVM whose positive records cost :math:`2C(1-\pi)` and whose negative ones cost :math:`2C\pi`
estimates the sign of :math:`P(+|x)-\pi`. Followed from :math:`\pi=0` to :math:`\pi=1`, the sign
changes from plus to minus where :math:`\pi` passes :math:`P(+|x)`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmproba.solvers.ensemble import Ensemble, fit_ensemble
from svmproba.solvers.kernels import Rows

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

READOUTS = ("bracket", "count")

#: Memory for the prices of all models of one engine call.
_PRICE_BYTES = 64 * 2**20
#: Probabilities that are one half in exact arithmetic are one half in floating point.
_DECIMALS = 12


def even_weights(n: int) -> Floats:
    r"""Weights :math:`\pi_j=j/m` in (0, 1), with m even and about :math:`\sqrt n`, at most 100.

    One half is among them: there the machine is the plain SVM.

    Examples
    --------
    >>> from svmproba.links._weight_path import even_weights
    >>> even_weights(12)
    array([0.25, 0.5 , 0.75])
    """
    m = min(100, max(2, 2 * int(np.ceil(np.sqrt(n) / 2))))
    return np.arange(1, m) / m


def read_probability(scores: Floats, weights: Floats, readout: str = "bracket") -> Floats:
    r"""Probability of the class of interest from the scores along the weights.

    ``"bracket"`` takes the half-way point between the largest weight that says plus and the
    smallest that says minus,

    .. math::
        \hat p=\tfrac12\big(\max\{\pi_j:f_j>0\}+\min\{\pi_j:f_j<0\}\big),

    whether or not the signs change only once; :math:`\pi=0` always says plus and :math:`\pi=1`
    always minus. ``"count"`` first sorts the signs, which makes them change once. The two agree
    where they do so by themselves.

    Parameters
    ----------
    scores : ndarray, shape (..., m)
        Scores :math:`f_j(x)`, weights along the last axis.
    weights : ndarray, shape (m,)
        Increasing weights :math:`\pi_j` in (0, 1).
    readout : {"bracket", "count"}, default="bracket"
        The rule.

    Returns
    -------
    ndarray, shape (...)
        Values in (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links._weight_path import read_probability
    >>> weights = np.array([0.2, 0.4, 0.6, 0.8])
    >>> scores = np.array([[1, 1, -1, -1], [1, -1, 1, -1], [-1, -1, -1, 1], [1, 1, 1, 1]])
    >>> read_probability(scores, weights)
    array([0.5, 0.5, 0.5, 0.9])
    >>> read_probability(scores, weights, "count")
    array([0.5, 0.5, 0.3, 0.9])
    """
    plus, minus = scores > 0, scores < 0
    if readout == "bracket":
        lower = np.where(plus, weights, 0.0).max(axis=-1)
        upper = np.where(minus, weights, 1.0).min(axis=-1)
    else:
        ends = np.concatenate([[0.0], weights, [1.0]])
        lower = ends[plus.sum(axis=-1)]
        upper = ends[len(weights) + 1 - minus.sum(axis=-1)]
    return np.round((lower + upper) / 2, _DECIMALS)


def fit_weight_paths(
    rows: Rows,
    positive: Bools,
    used: Bools,
    weights: Floats,
    grid: Floats,
    *,
    price: Floats | None,
    tol: float,
    n_jobs: int | None = None,
) -> list[Ensemble]:
    r"""Fit the machines of all class weights on every part of the records.

    Positive records cost :math:`2C(1-\pi)`, negative ones :math:`2C\pi`, so that one half is the
    plain SVM. All machines of a part, and as many parts as memory allows, go through one call of
    the engine: a class weight is a bag whose counts are prices.

    Parameters
    ----------
    rows : ndarray or CSR, shape (n, d)
        Rows of a feature map.
    positive : ndarray of bool, shape (n,)
        Which records belong to the class of interest.
    used : ndarray of bool, shape (n_parts, n)
        Records of each part.
    weights : ndarray, shape (m,)
        Weights :math:`\pi_j`.
    grid : ndarray, shape (n_C,)
        Increasing values of C.
    price : ndarray, shape (n,) or None
        Further factor on C for each record.
    tol : float
        Relative duality gap to reach.
    n_jobs : int, optional
        Number of jobs, as in joblib.

    Returns
    -------
    list of Ensemble
        One for each part, its m bags the weights.
    """
    signs = np.where(positive, 1.0, -1.0)
    prices = np.where(positive, 2 * (1 - weights[:, np.newaxis]), 2 * weights[:, np.newaxis])
    m, step = len(weights), max(1, _PRICE_BYTES // prices.nbytes)
    fits = []
    for start in range(0, len(used), step):
        parts = used[start : start + step]
        counts = (parts[:, np.newaxis] * prices).reshape(-1, len(positive))
        fit = fit_ensemble(rows, signs, counts, grid, weight=price, tol=tol, n_jobs=n_jobs)
        for first in range(0, len(counts), m):
            bags = slice(first, first + m)
            arrays = (fit.coef[:, bags], fit.intercept[:, bags], fit.gap[:, bags])
            fits.append(Ensemble(*arrays, None, None))
    return fits
