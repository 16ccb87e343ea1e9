r"""Newton directions: solve :math:`(E + \sigma A_J^\top\Omega A_J)\,p = -g`.

:math:`E` is the identity with a zero for the unpenalised bias, :math:`J` the set of records
strictly between their bounds, :math:`\Omega` their relative penalties. Two ways:

* *primal*: Cholesky of the matrix itself; its Gram part is updated only by the records that
  entered or left :math:`J`;
* *dual*: the bordered system of size :math:`|J|` (Woodbury) on the shared kernel matrix, when
  :math:`|J|` is smaller than the number of columns.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .problem import JIT
from .rows import gram_add, row_dot

_TINY = 1e-12


@njit(**JIT)
def factor(h, size):
    """Overwrite the upper triangle of h by its Cholesky factor U, h = U'U, with 1 / diagonal."""
    for k in range(0, size, 4):
        stop = min(k + 4, size)
        for q in range(k, stop):
            row = h[q]
            x = 1.0 / np.sqrt(max(row[q], _TINY))
            row[q] = x
            for j in range(q + 1, size):
                row[j] *= x
            for i in range(q + 1, stop):
                x = row[i]
                other = h[i]
                for j in range(i, size):
                    other[j] -= x * row[j]
        if stop < size:  # four pivots a sweep: the rest is read and written once for all of them
            a, b, c, e = h[k], h[k + 1], h[k + 2], h[k + 3]
            for i in range(stop, size):
                xa, xb, xc, xe = a[i], b[i], c[i], e[i]
                other = h[i]
                for j in range(i, size):
                    other[j] -= xa * a[j] + xb * b[j] + xc * c[j] + xe * e[j]


@njit(**JIT)
def back_solve(u, size, x):
    """Overwrite x by the solution of U'U x = x."""
    for i in range(size):
        row = u[i]
        x[i] *= row[i]
        s = x[i]
        for j in range(i + 1, size):
            x[j] -= s * row[j]
    for i in range(size - 1, -1, -1):
        row = u[i]
        s = x[i]
        for j in range(i + 1, size):
            s -= row[j] * x[j]
        x[i] = s * row[i]


@njit(**JIT)
def primal_system(d, g, sigma, gram, square, x):
    """Write the system in the space of the columns; ``gram`` is the upper part of A_J' O A_J."""
    width = g.shape[0]
    for i in range(width):
        for j in range(i, width):
            square[i, j] = sigma * gram[i, j]
        square[i, i] += 1.0
        x[i] = -g[i]
    square[d, d] -= 1.0 - _TINY * (1.0 + sigma)


@njit(**JIT)
def dual_system(table, d, g, sigma, penalty, inner, n_inner, signs, kernel, square, x, y):
    r"""Write the system in the space of the inner records (Woodbury).

    With :math:`M = K_{JJ}+(\sigma\Omega)^{-1}` and :math:`p_w = A_J^\top x - g_w` it is
    :math:`Mx + p_by_J = A_Jg_w,\ y_J^\top x = g_b`: two right-hand sides, the product and
    :math:`y_J`.
    """
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
    g[d] = slope


@njit(**JIT)
def sync_gram(table, penalty, inner, n_inner, member, in_gram, listed, count, index, sign, gram):
    """Bring the Gram matrix up to date: take out the records that left J, add those that entered.

    ``listed[:count[0]]`` are the records in it.
    """
    changed, kept = np.int64(0), np.int64(0)
    for a in range(count[0]):
        i = listed[a]
        if member[i]:
            listed[kept] = i
            kept += 1
        else:
            index[changed] = i
            sign[changed] = -penalty[i]
            in_gram[i] = False
            changed += 1
    for a in range(n_inner):
        i = inner[a]
        if not in_gram[i]:
            index[changed] = i
            sign[changed] = penalty[i]
            in_gram[i] = True
            changed += 1
            listed[kept] = i
            kept += 1
    count[0] = kept
    gram_add(table, index, sign, changed, gram)
