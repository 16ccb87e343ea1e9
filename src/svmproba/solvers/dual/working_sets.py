r"""Working sets of several hundred samples: the method for one or a few SVMs on a kernel.

A step of :mod:`~svmproba.solvers.dual.smo` looks at all samples. Where these are many, steps are
taken within a working set of the samples that violate the optimality conditions most [1]_:

1. Choose half of the set among the multipliers that moved last and are between their bounds, the
   others by the largest violation: :math:`F` large where :math:`\beta` may rise, small where it may
   fall.
2. Compute the rows of the kernel matrix that are not yet held.
3. Move the multipliers of the set until their violation is a tenth of what it was.
4. Update :math:`F` of all samples, and stop if the gap is closed.

On 8 000 rows of the data set adult a step within a set of 1 024 costs a tenth of one on all rows,
and most of the time goes into kernel values.

References
----------
.. [1] Z. Wen, J. Shi, Q. Li, B. He and J. Chen, *ThunderSVM: a fast SVM library on GPUs and CPUs*,
   Journal of Machine Learning Research 19, 2018.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from svmproba._types import Bools, Floats, Ints
from svmproba.solvers.dual.smo import padded_square, solve_set
from svmproba.solvers.gram import Gram, add_rows
from svmproba.solvers.problem import relative_gaps

#: Samples of a working set.
SET_SIZE = 1024
#: Share of the largest violation at which a working set is left.
_INNER = 0.1
#: Sets without a smaller gap after which a member is returned with the gap it has.
_PATIENCE = 100


def solve_sets(
    gram: Gram,
    signs: Floats,
    targets: Floats,
    base: Floats,
    grid: Floats,
    tol: float,
    stop: Any,
    bias: Floats,
    alphas: Floats,
) -> None:
    """Solve one bag as :func:`~svmproba.solvers.dual.smo.solve_pairs` does."""
    wish = signs * targets
    beta, F = np.zeros(len(signs)), wish.copy()
    for k, C in enumerate(grid):
        low, high = np.minimum(C * base * signs, 0.0), np.maximum(C * base * signs, 0.0)
        if k > 0:
            _scale(beta, F, wish, C / grid[k - 1])
            np.clip(beta, low, high, out=beta)  # rounding only
        bias[k] = _solve(gram, signs, targets, beta, low, high, F, tol, stop)
        alphas[k] = np.abs(beta)


def polish(
    gram: Gram,
    signs: Floats,
    targets: Floats,
    bounds: Floats,
    beta: Floats,
    products: Floats,
    tol: float,
    stop: Any,
) -> float:
    """Go on from multipliers ``beta``, whose products with K are known anew; gives the bias.

    After very many steps :math:`F` has lost digits, and a member may have stopped too early.
    """
    low, high = np.minimum(bounds * signs, 0.0), np.maximum(bounds * signs, 0.0)
    F = signs * targets - products
    return _solve(gram, signs, targets, beta, low, high, F, tol, stop)


def _scale(beta: Floats, F: Floats, wish: Floats, most: float) -> None:
    """Multiply the multipliers by the best factor between 1 and ``most``."""
    linear, norm = float(beta @ wish), float(beta @ (wish - F))
    factor = min(max(linear / norm, 1.0), most) if norm > 0.0 else 1.0
    F[:] = wish - factor * (wish - F)
    beta *= factor


def _solve(
    gram: Gram,
    signs: Floats,
    targets: Floats,
    beta: Floats,
    low: Floats,
    high: Floats,
    F: Floats,
    tol: float,
    stop: Any,
) -> float:
    """Take working sets until the gap is closed; gives the bias."""
    last = np.empty(0, np.intp)
    bias, least, in_vain = 0.0, np.inf, 0
    while in_vain < _PATIENCE:
        rise, fall = beta < high, beta > low
        top, bottom = F[rise].max(initial=-np.inf), F[fall].min(initial=np.inf)
        if np.isinf(top) or np.isinf(bottom):  # one class only: nothing may move
            return float(bottom if np.isinf(top) else top)
        bias = float(0.5 * (top + bottom))
        gap = _gap(signs, targets, beta, low, high, F, bias)
        if stop[0] or top <= bottom or gap <= 0.85 * tol:
            break
        in_vain = 0 if gap < 0.99 * least else in_vain + 1
        least = min(gap, least)
        chosen = _choose(F, rise, fall, bias, last[rise[last] & fall[last]])
        gram.block(chosen, packed := padded_square(len(chosen)))
        span = _INNER * (top - bottom)
        moved = solve_set(
            packed, gram.unit, chosen, signs, targets, gram.diagonal, beta, low, high,
            F - bias, span, stop,
        )  # fmt: skip
        some = np.flatnonzero(moved)
        last = chosen[some]
        slots = gram.hold(last)
        add_rows(gram.table, slots, -moved[np.newaxis, some], F[np.newaxis])
    return bias


def _choose(F: Floats, rise: Bools, fall: Bools, bias: float, kept: Ints) -> Ints:
    """Choose a working set, sorted."""
    n = len(F)
    if n <= SET_SIZE:
        return np.arange(n)
    mark = np.zeros(n, np.bool_)
    mark[kept[: SET_SIZE // 2]] = True
    size = SET_SIZE - int(mark.sum())
    for value, may in ((bias - F, rise), (F - bias, fall)):
        order = np.where(may & ~mark, value, np.inf)
        found = np.argpartition(order, size // 2)[: size // 2]
        mark[found[order[found] < 0.0]] = True
    return np.flatnonzero(mark)


def _gap(
    signs: Floats, targets: Floats, beta: Floats, low: Floats, high: Floats, F: Floats, bias: float
) -> float:
    """Return the relative gap at this bias."""
    linear = float(beta @ (signs * targets))
    norm = linear - float(beta @ F)
    hinge = float(np.maximum(0.0, signs * (F - bias)) @ (high - low))
    return float(relative_gaps(0.5 * norm + hinge, linear - 0.5 * norm))
