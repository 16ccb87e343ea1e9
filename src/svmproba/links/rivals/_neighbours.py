r"""Posterior probabilities by counting neighbours, and soft labels from them.

The neighbourhood of a sample holds the sample itself and either all others within a radius
:math:`r` or its nearest others. With :math:`\ell(x)` samples in it, :math:`\ell^+(x)` of them
positive, the empirical posterior is :math:`\hat P(+|x)=\ell^+(x)/\ell(x)` and the soft label is
:math:`\tilde y=2\hat P(+|x)-1\in[-1,1]`.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from svmproba._types import Bools, Floats
from svmproba.links._link import Places
from svmproba.solvers.kernels import BLOCK_BYTES, Rows

#: A squared distance that exceeds its limit by less counts as equal.
TOLERANCE = 1e-12


def neighbour_counts(
    new: Rows,
    points: Rows,
    indicator: Floats,
    *,
    radius: float | None = None,
    nearest: int | None = None,
) -> Floats:
    r"""Count the neighbours (m, n_kinds) of every new sample among the points, by kind.

    A point is a neighbour of x if :math:`\|x-x_j\|^2\le r^2+10^{-12}`, where :math:`r` is the
    radius or the distance of the k-th nearest point, k = `nearest`; points tied with the k-th all
    count. `indicator` (n, n_kinds) is 1 where a point is of a kind. The result does not depend on
    rounding: distances near the limit, which a matrix product gives with cancelled digits, are
    computed again from the differences. Memory beyond the result: a few blocks of 32 MiB.
    """
    n, d = points.shape
    kinds = np.asarray(indicator, dtype=np.float64)
    # A shift keeps distances, and near the origin they lose fewer digits to cancellation.
    dense = not (sparse.issparse(points) or sparse.issparse(new))
    centre = points.mean(axis=0) if dense else None
    shifted = points - centre if dense else points
    norms = _squared_norms(shifted)
    counts = np.empty((new.shape[0], kinds.shape[1]))
    step = max(1, BLOCK_BYTES // (8 * n))
    for start in range(0, len(counts), step):
        block = new[start : start + step]
        rows = block - centre if dense else block
        product = rows @ shifted.T
        distances = product.toarray() if sparse.issparse(product) else product
        distances *= -2.0
        distances += norms
        own = _squared_norms(rows)[:, np.newaxis]
        distances += own
        slack = 4 * (d + 4) * np.finfo(np.float64).eps * (own + norms.max()) + TOLERANCE
        inside = _inside(block, points, distances, slack, radius, nearest)
        counts[start : start + step] = inside @ kinds
    return counts


def _inside(
    new: Rows,
    points: Rows,
    distances: Floats,
    slack: Floats,
    radius: float | None,
    nearest: int | None,
) -> Bools:
    """Tell which points are neighbours, from squared distances that may be off by the slack."""
    limit: float | Floats = float(radius or 0.0) ** 2
    if nearest is not None:
        rank = min(nearest, distances.shape[1])
        limit = np.partition(distances, rank - 1, axis=1)[:, rank - 1 : rank]
    doubtful = np.abs(distances - limit) <= 2 * slack
    i, j = np.nonzero(doubtful)
    exact = _exact(new, points, i, j)
    if nearest is not None:
        # The k-th nearest point is among the doubtful ones, which follow those surely nearer.
        n_nearer = ((distances < limit) & ~doubtful).sum(axis=1)
        first = np.searchsorted(i, np.arange(len(distances)))
        limit = exact[np.lexsort((exact, i))][first + rank - n_nearer - 1, np.newaxis]
    distances[i, j] = exact
    return np.asarray(distances <= limit + TOLERANCE)


def _exact(new: Rows, points: Rows, i: Places, j: Places) -> Floats:
    """Squared distances of the pairs ``new[i]``, ``points[j]`` from their differences."""
    values = np.empty(len(i))
    step = max(1, BLOCK_BYTES // (8 * points.shape[1]))
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        values[part] = _squared_norms(new[i[part]] - points[j[part]])
    return values


def _squared_norms(X: Rows) -> Floats:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", X, X)


def soft_labels(
    points: Rows,
    positive: Bools,
    used: Bools,
    *,
    radius: float | None = None,
    nearest: int | None = None,
) -> Floats:
    """Soft labels (n_parts, n), counted within each part of the points.

    `used` (n_parts, n) holds the points of each part. A part does not see the points outside it,
    whose soft labels there are 0: a held-out label must not reach the training part through its
    neighbours. Neighbourhoods are those of `neighbour_counts`; `nearest` includes the point itself.
    """
    soft = np.zeros(used.shape)
    signs = np.where(positive, 1.0, -1.0)
    if nearest is None:
        # One pass serves all parts.
        kinds = np.concatenate([used * signs, used]).T
        difference, total = np.hsplit(neighbour_counts(points, points, kinds, radius=radius), 2)
        np.divide(difference.T, total.T, out=soft, where=used)
        return soft
    for k in np.flatnonzero(used.any(axis=1)):
        here = np.flatnonzero(used[k])
        kinds = np.column_stack([signs[here], np.ones(len(here))])
        counts = neighbour_counts(points[here], points[here], kinds, nearest=nearest)
        soft[k, here] = counts[:, 0] / counts[:, 1]
    return soft
