r"""The one problem behind every method, its dual, and the certificate.

.. math::

    P(w, b) = \tfrac12\|w\|^2 + \sum_i c_i\max(0,\ t_i - y_i(w^\top x_i + b)), \qquad
    D(\alpha) = \sum_i\alpha_i t_i - \tfrac12\Big\|\sum_i\alpha_i y_i x_i\Big\|^2,

with :math:`0\le\alpha_i\le c_i` and :math:`\sum_i\alpha_i y_i = 0`.
The bounds :math:`c_i` may be 0 (the record is absent) or infinite (its margin is a hard
constraint). Any :math:`(w, b)` and any feasible :math:`\alpha` satisfy
:math:`D(\alpha)\le P^*\le P(w, b)`, so the relative gap bounds the error of a model whatever
algorithm produced it. Nothing outside this module computes a gap.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]

_FLAGS = {
    "nogil": True,
    "error_model": "numpy",
    # Sums may be reordered, so that they vectorise; infinities keep their meaning (bounds!).
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
}
#: Flags of functions that compiled code calls. No wrappers: half the compile time.
JIT = {**_FLAGS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


@lru_cache
def _digest(folder: Path) -> str:
    """Return a digest of a folder: compiled code is stale when any part of it changed."""
    digest = sha256()
    for source in sorted(folder.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that Python calls, once per machine where a cache can be written."""
    try:
        compiled = njit(**_FLAGS, cache=True)(function)
    except RuntimeError:  # neither beside the package nor in the user's cache folder
        return njit(**_FLAGS)(function)
    # Numba watches the file of the function alone, not those of the functions it calls.
    cache_file: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(cache_file, "_source_stamp"):
        cache_file._source_stamp = _digest(Path(function.__code__.co_filename).parent)
    return compiled


#: Share of the zero model's loss below which an objective counts as zero (one class only).
_ZERO = 1e-15


class Problem(NamedTuple):
    """What all models share."""

    table: Any  #: signed rows, see :mod:`svmproba.solvers.rows`
    d: int  #: column of the bias
    signs: Array  #: (n,), labels in {-1, +1}
    targets: Array  #: (n,), wanted margins
    kernel: Array  #: (n, n), products of the signed rows without the bias; or (0, 0)


@njit(**_FLAGS)
def relative_gap(primal: float, dual: float, floor: float = 0.0) -> float:
    """Return ``(primal - dual) / max(primal, floor)``, a bound of the relative error.

    Rounding can push a closed gap below zero; it is reported as 0. What is not a number has an
    infinite gap.
    """
    if not (primal < np.inf and dual > -np.inf):
        return np.inf
    if primal - dual <= 0.0:
        return 0.0
    return (primal - dual) / max(primal, floor, 1e-300)


@njit(**JIT)
def class_scales(positive_mass: float, negative_mass: float) -> tuple[float, float]:
    r"""Return the factors that make :math:`\sum\alpha_i y_i = 0` by shrinking one class."""
    if positive_mass > negative_mass:
        return negative_mass / positive_mass, 1.0
    if negative_mass > positive_mass:
        return 1.0, positive_mass / negative_mass
    return 1.0, 1.0


@entry
def _settle(scores, signs, targets, base, grid, alphas, hinge, linear, total):
    """Clip, balance and sign the multipliers; fills in hinge sums, linear terms, totals.

    The totals are the hinge sums of the zero model, hard margins left out.
    """
    n_bags, n_grid, n = scores.shape
    for b in range(n_bags):
        for k in range(n_grid):
            score, alpha = scores[b, k], alphas[b, k]
            loss, zero, mass, balance, value = 0.0, 0.0, 0.0, 0.0, 0.0
            for i in range(n):
                c = grid[k] * base[b, i]
                r = targets[i] - signs[i] * score[i]
                loss += 0.0 if r <= 0.0 else c * r  # NaN counts
                zero += c * abs(targets[i]) if c < np.inf else 0.0
                x = alpha[i] if alpha[i] > 0.0 and alpha[i] < np.inf else 0.0
                x = min(x, c)
                alpha[i] = x
                mass += x
                balance += x * signs[i]
            up, down = class_scales(0.5 * (mass + balance), 0.5 * (mass - balance))
            for i in range(n):
                x = alpha[i] * (up if signs[i] > 0.0 else down)
                value += x * targets[i]
                alpha[i] = x * signs[i]
            hinge[b, k], total[b, k], linear[b, k] = loss, zero, value


def certify(
    rows: Any,
    signs: Array,
    targets: Array,
    base: Array,
    grid: Array,
    coef: Array,
    intercept: Array,
    alphas: Array,
) -> tuple[Array, Array]:
    r"""Score every record with the models of some bags and bound the models' errors.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
    signs, targets : arrays of shape (n,)
        Labels in {-1, +1} and wanted margins.
    base : array of shape (n_bags, n)
    grid : array of shape (n_C,)
        The bounds of bag b at the k-th C are ``grid[k] * base[b]``.
    coef, intercept : arrays of shape (n_bags, n_C, d) and (n_bags, n_C)
    alphas : array of shape (n_bags, n_C, n)
        Any numbers: they are clipped to their bounds and balanced first, so the result is a bound
        whatever they are. Overwritten by the :math:`\alpha_i y_i` that were used.

    Returns
    -------
    gap : array of shape (n_bags, n_C)
        Relative duality gaps; infinite where a hard margin is violated.
    scores : array of shape (n_bags, n_C, n)
        :math:`f(x_i)` of every model at every record.

    Examples
    --------
    Two records at -1 and +1: the solution is w = 1, b = 0, alpha = (1/2, 1/2).

    >>> import numpy as np
    >>> gap, scores = certify(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2),
    ...     np.ones((1, 2)), np.ones(1), np.ones((1, 1, 1)), np.zeros((1, 1)),
    ...     np.full((1, 1, 2), 0.5))
    >>> gap, scores
    (array([[0.]]), array([[[-1.,  1.]]]))
    """
    # Bag by bag: BLAS rounds by the shape of a product, results must not depend on the block.
    scores, combined = np.empty_like(alphas), np.empty_like(coef)
    for b in range(len(coef)):
        product(coef[b], rows.T, scores[b])
    scores += intercept[:, :, None]
    hinge, linear, total = np.empty((3, *scores.shape[:2]))
    _settle(scores, signs, targets, base, grid, alphas, hinge, linear, total)
    for b in range(len(coef)):
        product(alphas[b], rows, combined[b])
    primal = 0.5 * np.einsum("bkj,bkj->bk", coef, coef) + hinge
    dual = linear - 0.5 * np.einsum("bkj,bkj->bk", combined, combined)
    parts = zip(primal.flat, dual.flat, (_ZERO * total).flat, strict=True)
    return np.array([relative_gap(*part) for part in parts]).reshape(hinge.shape), scores


def product(left: Array, right: Any, out: Array) -> Array:
    """Write ``left @ right`` to ``out``, a C-contiguous array; ``right`` may be sparse."""
    if isinstance(right, np.ndarray):
        return np.matmul(left, right, out=out)
    out[:] = (right.T @ left.T).T
    return out
