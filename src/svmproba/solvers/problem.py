r"""The one problem behind every method, its dual, and the certificates.

.. math::

    P(w, b) = \tfrac12\|w\|^2 + \sum_i c_i\max(0,\ t_i - y_i(w^\top x_i + b)), \qquad
    D(\alpha) = \sum_i\alpha_i t_i - \tfrac12\Big\|\sum_i\alpha_i y_i x_i\Big\|^2,

with :math:`0\le\alpha_i\le c_i` and :math:`\sum_i\alpha_i y_i = 0`.
The bounds :math:`c_i` may be 0 (the sample is absent) or infinite (its margin is a hard
constraint). Any :math:`(w, b)` and any feasible :math:`\alpha` satisfy
:math:`D(\alpha)\le P^*\le P(w, b)`, so the relative gap bounds the error of a member whatever
method produced it. Every gap and every lower bound that is returned to a user is computed here.
What methods compute on their way decides only when they stop.

Gaps are bounds in exact arithmetic [1]_: with :math:`u` the unit roundoff and :math:`r_j` the
largest size of column j, a score that sums m terms is wrong by at most
:math:`\delta = (m + 8)\,u\,(\sum_j|w_j|r_j + |b|)`, and :math:`\sum_i\alpha_iy_ix_i`, of s
multipliers that balance up to rounding only, by :math:`(3s + 8)\,u\,r_j\sum_i\alpha_i` in column j.
Every margin is taken to be :math:`\delta` smaller than computed, and every such sum to be that much
larger in size. Hard margins are those that are met as computed.

With hard margins whose choice is part of the problem (constrained SVMs), :func:`lower_bound` bounds
the value below. If only hard margins have multipliers, every solution has
:math:`\|w\|\ge\sum_i\alpha_it_i\,/\,\|\sum_i\alpha_iy_ix_i\|`, which is unbounded where the hard
margins cannot all hold (Farkas).

References
----------
.. [1] N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, SIAM, 2002, chapters 3 and 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from svmproba._types import Floats, Rows
from svmproba.solvers.core.compiled import JIT, lean_entry
from svmproba.solvers.core.rows import row_add
from svmproba.solvers.core.tables import column_sizes, is_dense, product

if TYPE_CHECKING:
    from torch import Tensor

    from svmproba.solvers.gram import Gram


#: Share of the zero member's loss below which an objective counts as zero (one class only).
ZERO = 1e-15
_ROUND = 2.0**-53
#: Roundings beyond those of a sum: of its terms, the bounds, the centred rows, the intercept.
_FEW = 8
#: Relative growth of a member that is always harmless, see `stretch`.
_GROWTH = 1e-5
#: Hard margins that need scores beyond this cannot hold: they would be rounding.
_BEYOND = 1e10


class Problem(NamedTuple):
    """What all members share."""

    table: Any  #: signed rows, see :mod:`svmproba.solvers.core.rows`
    d: int  #: column of the bias
    signs: Floats  #: (n,), labels in {-1, +1}
    targets: Floats  #: (n,), wanted margins
    kernel: Floats | None  #: (n, n), products of the signed rows without the bias


@njit(**JIT)
def relative_gap(primal: float, dual: float, floor: float = 0.0) -> float:
    """Return ``(primal - dual) / max(primal, floor)``, a bound of the relative error.

    Rounding can push a closed gap below zero, which is reported as 0. The gap of NaN is infinite.
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


class Reach(NamedTuple):
    """Sizes of the rows, which rounding is a share of; arrays or tensors."""

    inner: Any  #: (d,), largest sizes of the columns
    outer: Any  #: (d,), the same before the mean was taken off
    terms: int  #: most nonzeros of a row
    length: float  #: of the longest row, if the rows are wider ones rotated, else 0


def row_reach(rows: Rows, mean: Floats | None = None) -> Reach:
    """Measure rows (n, d), an array or a CSR matrix, from which ``mean`` (d,) was taken off."""
    inner, terms = column_sizes(rows)
    outer = inner if mean is None else inner + np.abs(mean)
    # The rounding of a rotation, see `features`, is a share of a row's length in every column.
    rotated = is_dense(rows) and rows.shape[1] >= rows.shape[0]
    length = float(np.sqrt(np.square(outer).sum())) if rotated else 0.0
    return Reach(inner, outer, terms, length)


def _score_error(coef: Any, intercept: Any, reach: Reach) -> Any:
    """Bound the rounding in the scores of members (..., d); arrays or tensors."""
    size = abs(coef) @ reach.outer + abs(intercept)
    error = (reach.terms + _FEW) * _ROUND * size
    if reach.length:
        longest = reach.length * (coef * coef).sum(-1) ** 0.5
        error += (reach.terms**0.5 + _FEW) * _ROUND * longest
    return error


def stretch(coef: Any, intercept: Any, targets: Any, reach: Reach) -> None:
    """Lengthen members (..., d) just enough that rounding takes no margin below its target.

    The objective changes by some 1e-14 of itself. Without this, the rounding of margins that are
    met exactly costs C times as much, and C may be large. Arrays or tensors.
    """
    least = targets[targets > 0.0].min() if (targets > 0.0).any() else 1.0
    growth = 1.0 + (2.0 / least * _score_error(coef, intercept, reach)).clip(max=_GROWTH)
    coef *= growth[..., None]
    intercept *= growth


@lean_entry
def _balance(signs, targets, base, grid, alphas, linear, mass, doubt):
    """Clip, balance and sign multipliers; writes their linear terms, masses and doubts.

    The linear terms are lower bounds for multipliers that balance exactly; the doubts bound the
    mass that is missing for that.
    """
    n_bags, n_grid, n = alphas.shape
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(targets[i]))
    for b in range(n_bags):
        for k in range(n_grid):
            alpha = alphas[b, k]
            total, balance, value = 0.0, 0.0, 0.0
            support = 0
            for i in range(n):
                x = alpha[i] if alpha[i] > 0.0 and alpha[i] < np.inf else 0.0
                x = min(x, grid[k] * base[b, i])
                alpha[i] = x
                total += x
                support += x > 0.0
                balance += x * signs[i]
            up, down = class_scales(0.5 * (total + balance), 0.5 * (total - balance))
            for i in range(n):
                x = alpha[i] * (up if signs[i] > 0.0 else down)
                value += x * targets[i]
                alpha[i] = x * signs[i]
            mass[b, k], doubt[b, k] = total, (3 * support + _FEW) * _ROUND * total
            linear[b, k] = value - doubt[b, k] * largest


@lean_entry
def _hinges(scores, error, signs, targets, base, grid, hinge, total):
    """Write hinge sums, upper bounds for scores with that error, and those of the zero member.

    The latter are without the hard margins.
    """
    n_bags, n_grid, n = scores.shape
    for b in range(n_bags):
        for k in range(n_grid):
            score, loss, zero = scores[b, k], 0.0, 0.0
            for i in range(n):
                c = grid[k] * base[b, i]
                r = targets[i] - signs[i] * score[i] + (error[b, k] if c < np.inf else 0.0)
                loss += 0.0 if r <= 0.0 else c * r  # NaN counts
                zero += c * abs(targets[i]) if c < np.inf else 0.0
            hinge[b, k], total[b, k] = loss * (1.0 + (n + _FEW) * _ROUND), zero


@njit(**JIT)
def _combined(table, d, alpha, bounds, targets, norms, sums, least):
    """Return the sum of the multipliers times their targets, and the length of the combined rows.

    Multipliers are clipped and balanced first. The first result is rounded down, the second up.
    Only of the samples whose bounds are at least ``least``.
    """
    n = table.shape[0]  # bounds, multipliers and norms may be longer: whole registers
    up, down, linear, spread, length = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(sums.shape[0]):
        sums[k] = 0.0
    for i in range(n):
        x = min(alpha[i], bounds[i]) if 0.0 < alpha[i] < np.inf else 0.0
        x = x if bounds[i] >= least else 0.0
        if table[i, d] > 0.0:
            up += x
        else:
            down += x
    up, down = class_scales(up, down)
    for i in range(n):
        x = min(alpha[i], bounds[i]) if 0.0 < alpha[i] < np.inf else 0.0
        x = x if bounds[i] >= least else 0.0
        if x > 0.0:
            x *= up if table[i, d] > 0.0 else down
            linear += x * targets[i]
            spread += x * norms[i]
            row_add(table, i, x, sums)
    for k in range(d):
        length += sums[k] * sums[k]
    noise = 8.0 * _ROUND * (n + 4.0)
    return linear * (1.0 - noise), np.sqrt(length) + noise * spread


@njit(**JIT)
def lower_bound(table, d, alpha, bounds, targets, norms, sums, solved):
    """Return what multipliers prove about the value under some bounds, whatever rounding did.

    Infinite where they prove that the hard margins cannot all hold; this is looked at unless the
    problem was ``solved``. The rows are dense, ``norms`` (n,) are their lengths, and ``sums``
    (width,) is overwritten.
    """
    linear, length = _combined(table, d, alpha, bounds, targets, norms, sums, 0.0)
    share = min(1.0, linear / max(length * length, 1e-300))  # the best multiple of them
    bound = share * (linear - 0.5 * share * length * length)
    if not solved:
        # Of the hard margins.
        linear, length = _combined(table, d, alpha, bounds, targets, norms, sums, np.inf)
        longest = 0.0
        for i in range(table.shape[0]):
            longest = max(longest, norms[i])
        if linear * longest > _BEYOND * length:
            return np.inf
        if length > 0.0:
            norm = linear / length
            bound = max(bound, 0.5 * norm * norm)
    return max(bound, 0.0)


def relative_gaps(primal: Any, dual: Any, floor: Any = 0.0) -> Any:
    """Do what `relative_gap` does for many members."""
    with np.errstate(invalid="ignore"):
        gap = np.maximum(primal - dual, 0.0) / np.maximum(np.maximum(primal, floor), 1e-300)
        return np.where((primal < np.inf) & (dual > -np.inf), gap, np.inf)


def certify(
    rows: Rows,
    signs: Floats,
    targets: Floats,
    base: Floats,
    grid: Floats,
    coef: Floats,
    intercept: Floats,
    alphas: Floats,
    out: Floats | None = None,
    reach: Reach | None = None,
) -> tuple[Floats, Floats]:
    r"""Score every sample with the members of some bags and bound the members' errors.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
    signs, targets : arrays of shape (n,)
        Labels in {-1, +1} and margins to reach.
    base, grid : arrays of shapes (n_bags, n) and (n_C,)
        The bounds of bag b at the k-th C are ``grid[k] * base[b]``.
    coef, intercept : arrays of shapes (n_bags, n_C, d) and (n_bags, n_C)
    alphas : array of shape (n_bags, n_C, n)
        Any numbers: they are clipped to their bounds and balanced first, so the result is a bound
        whatever they are. Overwritten by the :math:`\alpha_i y_i` that were used.
    out : array of shape (n_bags, n_C, n), optional
        Where the scores are written.
    reach : Reach, optional
        Sizes of the rows, by default measured here.

    Returns
    -------
    gap, scores : arrays of shapes (n_bags, n_C) and (n_bags, n_C, n)
        Relative duality gaps, rounding included, infinite where a hard margin is violated; and
        :math:`f(x_i)` of every member at every sample.

    Examples
    --------
    Two samples at -1 and +1: the solution is w = 1, b = 0, alpha = (1/2, 1/2).

    >>> import numpy as np
    >>> gap, scores = certify(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2),
    ...     np.ones((1, 2)), np.ones(1), np.ones((1, 1, 1)), np.zeros((1, 1)),
    ...     np.full((1, 1, 2), 0.5))
    >>> gap.round(13), scores
    (array([[0.]]), array([[[-1.,  1.]]]))
    """
    # Bag by bag: BLAS rounds by the shape of a product, results must not depend on the block.
    scores = np.empty_like(alphas) if out is None else out
    combined = np.empty_like(coef)
    reach = row_reach(rows) if reach is None else reach
    hinge, total, linear, mass, doubt = np.empty((5, *scores.shape[:2]))
    for b in range(len(coef)):
        product(coef[b], rows.T, scores[b])
    scores += intercept[:, :, None]
    error = _score_error(coef, intercept, reach)
    _hinges(scores, error, signs, targets, base, grid, hinge, total)
    _balance(signs, targets, base, grid, alphas, linear, mass, doubt)
    for b in range(len(coef)):
        product(alphas[b], rows, combined[b])
    combined = np.abs(combined, out=combined) + doubt[:, :, None] * (reach.inner + reach.length)
    longer = 0.5 + (coef.shape[2] + _FEW) * _ROUND
    primal = longer * np.einsum("bkj,bkj->bk", coef, coef) + hinge
    dual = linear - longer * np.einsum("bkj,bkj->bk", combined, combined)
    return relative_gaps(primal, dual, ZERO * total), scores


def certify_gram(
    gram: Gram,
    signs: Floats,
    targets: Floats,
    base: Floats,
    grid: Floats,
    intercept: Floats,
    alphas: Floats,
    out: Floats,
) -> Floats:
    r"""Do what `certify` does for members on a kernel matrix :math:`K`, with finite bounds.

    The members are :math:`f = K\beta + b` with the multipliers :math:`\beta_i=\alpha_iy_i` that are
    used, which overwrite ``alphas``; so :math:`\|w\|^2=\beta^\top K\beta` on both sides. The matrix
    is taken as it is stored, symmetric up to rounding. Writes the scores to ``out``
    (n_bags, n_C, n) and returns the gaps.
    """
    hinge, total, linear, mass, doubt = np.empty((5, *out.shape[:2]))
    _balance(signs, targets, base, grid, alphas, linear, mass, doubt)
    n = len(signs)
    if gram.whole:
        for b in range(len(alphas)):
            gram.scores(alphas[b], out[b])
    else:  # kernel values are computed once for all bags
        gram.scores(alphas.reshape(-1, n), out.reshape(-1, n))
    norm = np.einsum("bki,bki->bk", alphas, out)
    # Of a sum of n terms, of their factors, and of the multipliers that do not balance exactly.
    largest = np.abs(gram.diagonal).max()
    error = (n + _FEW) * _ROUND * largest * mass
    norm += 2.0 * mass * error + doubt * (2.0 * np.abs(out).max(axis=2) + doubt * largest)
    out += intercept[:, :, None]
    error += np.where(mass > 0.0, _FEW * _ROUND * np.abs(intercept), 0.0)
    _hinges(out, error, signs, targets, base, grid, hinge, total)
    norm = np.maximum(norm, 0.0)
    return relative_gaps(0.5 * norm + hinge, linear - 0.5 * norm, ZERO * total)


def tensor_gap(
    primal: Tensor,
    plus: Tensor,
    minus: Tensor,
    floor: Tensor | None = None,
    blur: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    r"""Gaps and dual values (p,) of members on a device: `relative_gap` after `class_scales`.

    Sums over the samples of one class, (p, d + 2), are those of the multipliers, which are within
    their bounds, times :math:`y_i x_i`, :math:`y_i` and :math:`t_i`. ``blur`` (p, d + 1) bounds the
    rounding in the sums of :math:`y_i x_i` and :math:`t_i`.
    """
    up, down = plus[:, -2], -minus[:, -2]
    least = up.minimum(down)
    up, down = (least / up).nan_to_num(nan=1.0), (least / down).nan_to_num(nan=1.0)  # 0 / 0
    total = up[:, None] * plus + down[:, None] * minus
    if blur is None:
        dual = total[:, -1] - 0.5 * total[:, :-2].square().sum(1)
    else:
        length = (total[:, :-2].abs() + blur[:, :-1]).square().sum(1)
        dual = total[:, -1] - blur[:, -1] - (0.5 + (blur.shape[1] + _FEW) * _ROUND) * length
    scale = primal.clamp(min=1e-300)
    scale = scale if floor is None else scale.maximum(floor)
    return ((primal - dual).clamp(min=0.0) / scale).nan_to_num(nan=np.inf, posinf=np.inf), dual


def certify_tensors(
    rows: Tensor,
    sums: Tensor,
    reach: Reach,
    targets: Tensor,
    bounds: Tensor,
    point: Tensor,
    shares: Tensor,
) -> tuple[Tensor, Tensor]:
    r"""Do what `certify` does for p members, in float64 on a device.

    Parameters
    ----------
    rows : tensor of shape (n, d + 1)
        Signed rows :math:`y_i(x_i, 1)`.
    sums : tensor of shape (n, 2, d + 2)
        The same with the targets as last column, one class at a time, 0 for the other class.
    reach : Reach
        Sizes of the rows, as tensors.
    targets, bounds : tensors of shapes (n,) and (p, n), finite
    point : tensor of shape (p, d + 1)
        Weights, bias.
    shares : tensor of shape (p, n)
        Multipliers as shares of their bounds: any numbers, they are clipped. Overwritten.

    Returns
    -------
    gap, margins : tensors of shapes (p,) and (p, n)
        Relative duality gaps, and :math:`y_i f(x_i)`.
    """
    margins = point @ rows.T
    alphas = shares.nan_to_num_(nan=0.0).clamp_(0.0, 1.0).mul_(bounds)
    plus, minus = (alphas @ sums.flatten(1)).chunk(2, 1)
    n, width = rows.shape
    error = _score_error(point[:, :-1], point[:, -1], reach)
    lack = (targets - margins).add_(error[:, None]).clamp_(min=0.0)
    hinge = (lack * bounds).sum(1) * (1.0 + (n + _FEW) * _ROUND)
    primal = (0.5 + (width + _FEW) * _ROUND) * point[:, :-1].square().sum(1) + hinge
    floor = ZERO * (bounds @ targets.abs())
    doubt = (3 * (alphas > 0.0).sum(1) + _FEW) * _ROUND * alphas.sum(1)
    largest = targets.abs().max().repeat(width)
    largest[:-1] = reach.inner + reach.length
    blur = doubt[:, None] * largest
    return tensor_gap(primal, plus, minus, floor, blur)[0], margins


def best_intercepts(scores: Tensor, signs: Tensor, targets: Tensor, bounds: Tensor) -> Tensor:
    """Find the intercepts (p,) with the least hinge sums, the middle where these are an interval.

    The slope of a hinge sum rises by a sample's bound where the intercept meets its target, from
    minus the positives' bounds on, so the least sum is at a weighted quantile.
    """
    edges, order = (signs * targets - scores).sort(1)
    risen = bounds.gather(1, order).cumsum_(1)
    needed = (bounds * (signs > 0.0)).sum(1, keepdim=True)
    last = edges.shape[1] - 1
    first = (risen < needed).sum(1, keepdim=True).clamp_(max=last)
    beyond = (risen <= needed).sum(1, keepdim=True).clamp_(max=last)
    return 0.5 * (edges.gather(1, first) + edges.gather(1, beyond))[:, 0]


def certify_gram_tensors(
    kernel: Tensor, largest: float, signs: Tensor, targets: Tensor, bounds: Tensor, beta: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    r"""Do what `certify_gram` does for p members, in float64 on a device; chooses the intercepts.

    Parameters
    ----------
    kernel : tensor of shape (n, n)
        Kernel matrix in float64, with ``largest`` on its diagonal.
    signs, targets, bounds : tensors of shapes (n,), (n,) and (p, n), finite
    beta : tensor of shape (p, n)
        Signed multipliers: any numbers. Overwritten by the clipped and balanced ones.

    Returns
    -------
    gap, intercept, scores : tensors of shapes (p,), (p,) and (p, n)
        Relative duality gaps, rounding included, the best intercepts, and :math:`f(x_i)`.
    """
    classes = signs[:, None].repeat(1, 2)
    classes[:, 1] *= -1.0
    classes.clamp_(min=0.0)
    beta.mul_(signs).nan_to_num_(nan=0.0).clamp_(min=0.0).clamp_(max=bounds)
    masses = beta @ classes
    shrunk = (masses.amin(1, keepdim=True) / masses).nan_to_num_(nan=1.0)  # 0 / 0
    beta *= shrunk @ classes.T
    mass, linear, support = beta.sum(1), beta @ targets, (beta > 0.0).sum(1)
    doubt = (3 * support + _FEW) * _ROUND * mass
    scores = beta.mul_(signs) @ kernel
    n = len(signs)
    error = (n + _FEW) * _ROUND * largest * mass
    norm = (beta * scores).sum(1) + 2.0 * mass * error
    norm += doubt * (2.0 * scores.abs().amax(1) + doubt * largest)
    norm = norm.clamp_(min=0.0)
    intercept = best_intercepts(scores, signs, targets, bounds)
    # One class only: beyond its targets, whatever rounding does.
    intercept *= 1.0 + 1e-9 * (mass == 0.0).to(mass.dtype)
    scores += intercept[:, None]
    error += _FEW * _ROUND * intercept.abs()
    lack = (targets - signs * scores).add_(error[:, None]).clamp_(min=0.0)
    primal = 0.5 * norm + (lack * bounds).sum(1) * (1.0 + (n + _FEW) * _ROUND)
    dual = linear - doubt * targets.abs().max() - 0.5 * norm
    floor = (ZERO * (bounds @ targets.abs())).clamp_(min=1e-300)
    gap = (primal - dual).clamp_(min=0.0) / primal.maximum(floor)
    return gap.nan_to_num(nan=np.inf, posinf=np.inf), intercept, scores
