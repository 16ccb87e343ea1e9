r"""Probabilities from the signs of SVMs with changing class weights.

An SVM whose positive samples cost :math:`2C(1-\pi)` and whose negative ones cost :math:`2C\pi`
estimates the sign of :math:`P(+|x)-\pi`. From :math:`\pi=0` to :math:`\pi=1` the sign changes from
plus to minus where :math:`\pi` passes :math:`P(+|x)`.
"""

from __future__ import annotations

import numpy as np

from svmproba._types import Bools, Floats
from svmproba.solvers.ensemble import Ensemble, fit_ensemble
from svmproba.solvers.kernels import Rows

READOUTS = ("bracket", "count")

#: Memory for the costs of all SVMs of one engine call.
_PRICE_BYTES = 64 * 2**20
#: Rounding to so many makes one half exact: the sum of two weights is not.
_DECIMALS = 12


def even_weights(n: int) -> Floats:
    r"""Weights :math:`\pi_j=j/m` in (0, 1), with m even and about :math:`\sqrt n`, at most 100.

    One half is among them, which gives the plain SVM.
    """
    m = min(100, max(2, 2 * int(np.ceil(np.sqrt(n) / 2))))
    return np.arange(1, m) / m


def read_probability(scores: Floats, weights: Floats, readout: str = "bracket") -> Floats:
    r"""Probability of the class of interest from scores (..., m) at the weights (m,).

    ``"bracket"`` takes the half-way point between the largest weight with a positive score and the
    smallest with a negative one,

    .. math::
        \hat p=\tfrac12\big(\max\{\pi_j:f_j>0\}+\min\{\pi_j:f_j<0\}\big),

    also where the signs change more than once; the sign is plus at :math:`\pi=0` and minus at
    :math:`\pi=1`. ``"count"`` first sorts the signs, so that they change once. The two agree where
    the signs change once.
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
    r"""Fit the SVMs of all class weights on every part of the samples.

    Gives one ensemble for each part, a row of `used` (n_parts, n), whose bags are the m weights.
    Positive samples cost :math:`2C(1-\pi)`, negative ones :math:`2C\pi`, times `price` (n,); one
    half gives the plain SVM. As many parts as memory allows go through one call of the engine: a
    class weight is a bag whose counts are costs.
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
