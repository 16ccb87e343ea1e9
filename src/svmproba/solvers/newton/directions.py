r"""Newton directions: solve :math:`(E + \sigma A_J^\top\Omega A_J)\,p = -g`.

:math:`E` is the identity with a zero for the unpenalised bias, :math:`J` the set of samples
strictly between their bounds, :math:`\Omega` their relative penalties. Two ways:

* *primal*: Cholesky of the matrix itself; its Gram part is updated only by the samples that
  entered or left :math:`J`, and while these are few, so is its factor;
* *dual*: the bordered system of size :math:`|J|` (Woodbury) on the shared kernel matrix, for wide
  rows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from svmproba.solvers.core.compiled import JIT
from svmproba.solvers.core.rows import WHOLE, add_squares, gram_add, row_add, row_dot

_TINY = 1e-12
#: An update that divides a curvature by more than 1 / this is not trusted.
_SINGULAR = 1e-6


@njit(**JIT)
def factor(h, size):
    """Overwrite the upper triangle of h by its Cholesky factor U, h = U'U, with 1 / diagonal.

    The size is a multiple of four, here and in the two functions below. Some entries below the
    diagonal are overwritten too, see :func:`~svmproba.solvers.core.rows.add_squares`.
    """
    n = np.uint64(size)
    for k in range(0, size, 4):
        stop = k + 4
        for q in range(k, stop):
            row = h[q]
            x = 1.0 / np.sqrt(max(row[q], _TINY))
            for j in range(np.uint64(q & WHOLE), n):
                row[j] *= x
            row[q] = x
            for i in range(q + 1, stop):
                x = row[i]
                other = h[i]
                for j in range(np.uint64(i & WHOLE), n):
                    other[j] -= x * row[j]
        if stop < size:
            a, b, c, e = h[k], h[k + 1], h[k + 2], h[k + 3]
            add_squares(h, stop, size, a, b, c, e, -1.0, -1.0, -1.0, -1.0)


@njit(**JIT)
def forward_solve(u, size, x):
    """Overwrite x by the solution z of U'z = x, four rows a sweep."""
    for k in range(0, size, 4):
        p, q, r, s = u[k], u[k + 1], u[k + 2], u[k + 3]
        a = x[k] * p[k]
        b = (x[k + 1] - a * p[k + 1]) * q[k + 1]
        c = (x[k + 2] - a * p[k + 2] - b * q[k + 2]) * r[k + 2]
        e = (x[k + 3] - a * p[k + 3] - b * q[k + 3] - c * r[k + 3]) * s[k + 3]
        x[k], x[k + 1], x[k + 2], x[k + 3] = a, b, c, e
        for j in range(np.uint64(k + 4), np.uint64(size)):
            x[j] -= a * p[j] + b * q[j] + c * r[j] + e * s[j]


@njit(**JIT)
def backward_solve(u, size, x):
    """Overwrite x by the solution z of U z = x, four rows a sweep."""
    for k in range(size - 4, -1, -4):
        p, q, r, s = u[k], u[k + 1], u[k + 2], u[k + 3]
        a, b, c, e = x[k], x[k + 1], x[k + 2], x[k + 3]
        for j in range(np.uint64(k + 4), np.uint64(size)):
            y = x[j]
            a -= p[j] * y
            b -= q[j] * y
            c -= r[j] * y
            e -= s[j] * y
        e *= s[k + 3]
        c = (c - r[k + 3] * e) * r[k + 2]
        b = (b - q[k + 2] * c - q[k + 3] * e) * q[k + 1]
        a = (a - p[k + 1] * b - p[k + 2] * c - p[k + 3] * e) * p[k]
        x[k], x[k + 1], x[k + 2], x[k + 3] = a, b, c, e


@njit(**JIT)
def apply_updates(updates, n, x, y):
    r"""Overwrite x by :math:`x-\sum_tz_t(z_t^\top x)/\delta_t`; returns x times the change."""
    pivots, total = updates[updates.shape[0] - 1], 0.0
    for t in range(n):
        z, s = updates[t], 0.0
        for k in range(z.shape[0]):
            s += z[k] * x[k]
        y[t] = s / pivots[t]
        total += s * y[t]
    for t in range(n):
        z, s = updates[t], y[t]
        for k in range(z.shape[0]):
            x[k] -= s * z[k]
    return total


@njit(**JIT)
def update_factor(table, sigma, index, weight, changed, u, updates, n, y):
    r"""Note the samples that entered or left the matrix since it was factored as U'U.

    With :math:`z_t` and :math:`\delta_t` of the terms :math:`s_ta_ta_t^\top` noted before,
    its inverse is :math:`U^{-1}(I-\sum_tz_tz_t^\top/\delta_t)U^{-\top}` (Sherman and Morrison).
    Returns how many are noted now, -1 if they are too many or too close to singular.
    """
    width = u.shape[0]
    if n + changed > updates.shape[0] - 1:
        return np.int64(-1)
    for m in range(changed):
        z, s = updates[n], sigma * weight[m]
        for k in range(width):
            z[k] = 0.0
        row_add(table, index[m], 1.0, z)
        forward_solve(u, width, z)
        pivot = 1.0 / s
        for k in range(width):
            pivot += z[k] * z[k]
        pivot -= apply_updates(updates, n, z, y)
        if not pivot * s > _SINGULAR:
            return np.int64(-1)
        updates[updates.shape[0] - 1, n] = pivot
        n += 1
    return n


@njit(**JIT)
def primal_system(d, sigma, gram, square):
    """Write the system in the space of the columns; ``gram`` is the upper part of A_J' O A_J."""
    for i in range(gram.shape[0]):
        for j in range(np.uint64(i & WHOLE), np.uint64(gram.shape[0])):
            square[i, j] = sigma * gram[i, j]
        square[i, i] += 1.0
    square[d, d] -= 1.0 - _TINY * (1.0 + sigma)


@njit(**JIT)
def dual_system(table, d, g, sigma, penalty, inner, n_inner, signs, kernel, square, x, y):
    r"""Write the system in the space of the inner samples (Woodbury).

    With :math:`M = K_{JJ}+(\sigma\Omega)^{-1}` and :math:`p_w = A_J^\top x - g_w` it is
    :math:`Mx + p_by_J = A_Jg_w,\ y_J^\top x = g_b`: two right-hand sides, the product and
    :math:`y_J`. Returns its size, filled up to a multiple of four.
    """
    size = n_inner + -n_inner % 4
    slope = g[d]
    g[d] = 0.0
    for a in range(n_inner):
        i = inner[a]
        row = kernel[i]
        for b in range(a, n_inner):
            square[a, b] = row[inner[b]]
        square[a, a] += 1.0 / (sigma * penalty[i])
        x[a] = row_dot(table, i, g)
        y[a] = signs[i]
    for b in range(n_inner, size):
        for a in range(b):
            square[a, b] = 0.0
        square[b, b] = 1.0
        x[b] = 0.0
        y[b] = 0.0
    g[d] = slope
    return size


@njit(**JIT)
def sync_gram(table, penalty, inner, n_inner, member, in_gram, listed, count, index, sign, gram):
    """Bring the Gram matrix up to date: take out the samples that left J, add those that entered.

    ``listed[:count[0]]`` are the samples in it.
    """
    changed, kept = np.uint64(0), np.uint64(0)  # lists without branches: see newton
    for a in range(count[0]):
        i = listed[a]
        stays = member[i]
        index[changed], sign[changed], listed[kept] = i, -penalty[i], i
        changed += np.uint64(not stays)
        kept += np.uint64(stays)
        in_gram[i] = stays
    for a in range(n_inner):
        i = inner[a]
        new = not in_gram[i]
        index[changed], sign[changed], listed[kept] = i, penalty[i], i
        changed += np.uint64(new)
        kept += np.uint64(new)
        in_gram[i] = True
    count[0] = kept
    gram_add(table, index, sign, np.int64(changed), gram)
    return np.int64(changed)
