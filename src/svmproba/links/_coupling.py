"""Pairwise coupling: probabilities of many classes from those of all pairs."""

from __future__ import annotations

from math import isqrt

import numpy as np
from numpy.typing import ArrayLike

from svmproba._types import Floats

#: Least distance of pairwise probabilities from 0 and 1, as in LIBSVM.
_LEAST = 1e-7
_BLOCK_BYTES = 16 * 2**20


def couple(pairwise: ArrayLike) -> Floats:
    r"""Class probabilities that agree best with the pairwise ones (Wu, Lin and Weng).

    With :math:`r_{ij}\approx P(i\,|\,i\text{ or }j)` and :math:`r_{ji}=1-r_{ij}`,

    .. math:: \min_p\sum_i\sum_{j\ne i}(r_{ji}p_i-r_{ij}p_j)^2\quad\text{s.t. }\sum_ip_i=1 ,

    the second method of [1]_, whose solution is never negative. In matrix form
    :math:`\min_pp^\top Qp`, :math:`Q_{ii}=\sum_{j\ne i}r_{ji}^2`, :math:`Q_{ij}=-r_{ji}r_{ij}`; it
    takes one linear system per sample. LIBSVM iterates instead and stops early, so that its
    probabilities differ by about :math:`10^{-3}`.

    Parameters
    ----------
    pairwise : array-like, shape (n, n_pairs)
        :math:`r_{ij}` for the pairs (0, 1), (0, 2), ..., (1, 2), ... with i < j; clipped to
        :math:`[10^{-7},1-10^{-7}]`.

    Returns
    -------
    ndarray, shape (n, n_classes)
        Probabilities; rows sum to one.

    References
    ----------
    .. [1] T.-F. Wu, C.-J. Lin and R. C. Weng, "Probability estimates for multi-class
       classification by pairwise coupling", Journal of Machine Learning Research 5, 2004.

    Examples
    --------
    >>> from svmproba.links import couple
    >>> couple([[0.9, 0.4, 0.7]]).round(6)
    array([[0.457233, 0.202129, 0.340638]])
    """
    r = np.asarray(pairwise, dtype=np.float64)
    n_classes = (1 + isqrt(1 + 8 * r.shape[-1])) // 2
    if r.ndim != 2 or n_classes < 2 or n_classes * (n_classes - 1) // 2 != r.shape[1]:
        raise ValueError(
            f"pairwise must have one column for every pair of classes (1, 3, 6, 10, ...), "
            f"got shape {r.shape}"
        )
    if not np.all((r >= 0) & (r <= 1)):
        raise ValueError("pairwise must hold probabilities, numbers in [0, 1]")
    r = r.clip(_LEAST, 1 - _LEAST)
    step = max(1, _BLOCK_BYTES // (3 * 8 * (n_classes + 1) ** 2))
    blocks = [_solve(r[start : start + step], n_classes) for start in range(0, len(r), step)]
    return np.concatenate([np.empty((0, n_classes)), *blocks])


def _solve(r: Floats, n_classes: int) -> Floats:
    """Solve the optimality conditions [[Q, e], [e', 0]] (p, b) = (0, 1) of every sample."""
    i, j = np.triu_indices(n_classes, 1)
    R = np.zeros((len(r), n_classes, n_classes))
    R[:, i, j], R[:, j, i] = r, 1 - r
    system = np.ones((len(r), n_classes + 1, n_classes + 1))
    system[:, -1, -1] = 0
    Q = system[:, :-1, :-1]
    np.multiply(R, -R.transpose(0, 2, 1), out=Q)
    diagonal = np.arange(n_classes)
    Q[:, diagonal, diagonal] = np.square(R).sum(axis=1)
    right = np.zeros((n_classes + 1, 1))
    right[-1] = 1
    p = np.linalg.solve(system, np.broadcast_to(right, (len(r), *right.shape)))[:, :-1, 0]
    p = p.clip(0)  # only rounding leaves values below zero
    return p / p.sum(axis=1, keepdims=True)
