r"""Newton directions: solve :math:`(E + \sigma A_J^\top\Omega A_J)\,p = -g`.

:math:`E` is the identity with a zero for the unpenalised bias, :math:`J` the set of records
strictly between their bounds, :math:`\Omega` their relative penalties. Three ways, the cheapest is taken at every step:

* *primal*: Cholesky of the matrix itself; its Gram part is updated only by the records that
  entered or left :math:`J`;
* *dual*: the bordered system of size :math:`|J|` (Woodbury) on the shared kernel matrix, when
  :math:`|J|` is smaller than the number of columns;
* *conjugate gradients* with row products, when both are large.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .problem import JIT
from .rows import gram_add, row_add, row_dot

_TINY = 1e-12


@njit(**JIT)
def factor(h, size):
    """Overwrite the upper triangle of h by its Cholesky factor U, h = U'U."""
    for k in range(0, size, 4):
        stop = min(k + 4, size)
        for q in range(k, stop):
            row = h[q]
            x = 1.0 / np.sqrt(max(row[q], _TINY))
            for j in range(q, size):
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
        x[i] /= row[i]
        s = x[i]
        for j in range(i + 1, size):
            x[j] -= s * row[j]
    for i in range(size - 1, -1, -1):
        row = u[i]
        s = x[i]
        for j in range(i + 1, size):
            s -= row[j] * x[j]
        x[i] = s / row[i]


@njit(**JIT)
def primal_direction(table, d, g, sigma, gram, square, p):
    """Cholesky in the space of the columns; ``gram`` holds the upper triangle of A_J' O A_J."""
    width = g.shape[0]
    for i in range(width):
        for j in range(i, width):
            square[i, j] = sigma * gram[i, j]
        square[i, i] += 1.0
        p[i] = -g[i]
    square[d, d] -= 1.0 - _TINY * (1.0 + sigma)
    factor(square, width)
    back_solve(square, width, p)


@njit(**JIT)
def dual_direction(table, d, g, sigma, penalty, inner, n_inner, signs, kernel, square, x, e, p):
    r"""Woodbury: :math:`(K_{JJ}+(\sigma\Omega)^{-1})x - y_J p_b = -A_J g_w,\ y_J^\top x = -g_b`."""
    slope = g[d]
    g[d] = 0.0
    for a in range(n_inner):
        i = inner[a]
        row = kernel[i]
        for b in range(a, n_inner):
            square[a, b] = row[inner[b]]
        square[a, a] += 1.0 / (sigma * penalty[i])
        x[a] = -row_dot(table, i, g)
        e[a] = signs[i]
    factor(square, n_inner)
    back_solve(square, n_inner, x)
    back_solve(square, n_inner, e)
    yx, ye = 0.0, 0.0
    for a in range(n_inner):
        yx += signs[inner[a]] * x[a]
        ye += signs[inner[a]] * e[a]
    bias = -(slope + yx) / ye
    for k in range(p.shape[0]):
        p[k] = -g[k]
    for a in range(n_inner):
        row_add(table, inner[a], -(x[a] + bias * e[a]), p)
    p[d] = bias
    g[d] = slope


@njit(**JIT)
def conjugate_direction(table, d, g, sigma, penalty, inner, n_inner, r, q, s, p):
    """Conjugate gradients, the bias scaled by its curvature, to a tenth of the residual."""
    width = g.shape[0]
    bias, first = 0.0, 0.0
    for a in range(n_inner):
        bias += sigma * penalty[inner[a]]
    for k in range(width):
        p[k] = 0.0
        r[k] = -g[k]
        s[k] = r[k]
    s[d] /= bias
    for k in range(width):
        first += r[k] * s[k]
    left = first
    for _ in range(100):
        for k in range(width):
            q[k] = s[k]
        q[d] = 0.0
        for a in range(n_inner):
            i = inner[a]
            row_add(table, i, sigma * penalty[i] * row_dot(table, i, s), q)
        curve = 0.0
        for k in range(width):
            curve += s[k] * q[k]
        step = left / curve
        new = 0.0
        for k in range(width):
            p[k] += step * s[k]
            r[k] -= step * q[k]
            new += r[k] * r[k]
        new += r[d] * r[d] * (1.0 / bias - 1.0)
        if new <= 0.01 * first:
            break
        for k in range(width):
            s[k] = s[k] * (new / left) + r[k]
        s[d] += r[d] * (1.0 / bias - 1.0)
        left = new


@njit(**JIT)
def sync_gram(table, penalty, rows, n_rows, member, in_gram, index, sign, gram):
    """Add the listed records that became members to the Gram matrix, take out those that left."""
    changed = np.int64(0)
    for a in range(n_rows):
        i = rows[a]
        if member[i] != in_gram[i]:
            index[changed] = i
            sign[changed] = penalty[i] if member[i] else -penalty[i]
            in_gram[i] = member[i]
            changed += 1
    gram_add(table, index, sign, changed, gram)
