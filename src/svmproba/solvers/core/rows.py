"""Signed rows :math:`a_i = y_i (x_i, 1)`, and what compiled code does with them.

A table of signed rows is either a dense array, padded with zero columns to a multiple of eight
(whole vector registers, no remainder loops), or the three arrays of a CSR matrix. Compiled code
that takes both goes through the functions below and does not know which it has. Exact paths take
dense tables alone (:func:`~svmproba.solvers.core.tables.is_dense`) and also read single entries.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit, types

from svmproba._types import Floats, Rows
from svmproba.solvers.core.compiled import JIT, body_of, generic

_LANES = 8
#: Mask that leads an index back to the start of its register. An index that runs from there, or
#: from anything but 0, is unsigned: Numba lets signed ones count from the end, and then LLVM does
#: not vectorise the loop.
WHOLE = -_LANES
#: Dense tables with fewer nonzeros than this share are stored as CSR: one-hot tables gain most.
_SPARSE_BELOW = 0.2


def whole(size: int) -> int:
    """Round up to a multiple of the lanes of a register."""
    return -(-size // _LANES) * _LANES


def aligned(*shape: int) -> Floats:
    """Return zeros that start at a cache line: vector loads that straddle two cost double."""
    size = int(np.prod(shape))
    raw = np.zeros(size + _LANES)
    first = -raw.ctypes.data % (8 * _LANES) // 8
    return raw[first : first + size].reshape(shape)


def signed_rows(rows: Rows, signs: Floats) -> tuple[Any, int]:
    """Return the signed rows and their width (columns, bias at column d, padding).

    The rows are an array or CSR matrix (n, d); the signed ones an array (n, width), or the tuple of
    CSR arrays (data, indices, indptr).
    """
    n, d = rows.shape
    width = whole(d + 1)
    if not sp.issparse(rows) and np.count_nonzero(rows) < _SPARSE_BELOW * rows.size:
        rows = sp.csr_array(rows)
    if sp.issparse(rows):
        full = sp.hstack([sp.csr_array(rows), np.ones((n, 1))], format="csr")
        full.sort_indices()
        data = full.data * np.repeat(signs, np.diff(full.indptr))
        return (data, full.indices.astype(np.int32), full.indptr.astype(np.int64)), width
    table = aligned(n, width)
    np.multiply(rows, signs[:, None], out=table[:, :d])
    table[:, d] = signs
    return table, width


# Names for compiled code only: Numba puts one of the overloads below in their place, by the type
# of the table.


@generic
def row_dot(table, i, p):
    """Return the product of row i with p."""
    raise NotImplementedError


@generic
def rows_dot(table, index, count, p, out):
    """Write the products of the listed rows with p to out, by place in the list."""
    raise NotImplementedError


@generic
def row_square(table, i):
    """Return the squared length of row i."""
    raise NotImplementedError


@generic
def row_add(table, i, x, g):
    """Add x times row i to g."""
    raise NotImplementedError


@generic
def rows_add(table, index, x, count, g):
    """Add the listed rows times x, by place in the list, to g."""
    raise NotImplementedError


@generic
def gram_add(table, index, sign, count, gram):
    """Add sign * a a' of the listed rows to the upper triangle of gram."""
    raise NotImplementedError


@body_of(row_dot)
def _row_dot(table, i, p):
    if isinstance(table, types.BaseTuple):

        def sparse(table, i, p):
            data, indices, indptr = table
            s = 0.0
            for q in range(indptr[i], indptr[i + 1]):
                s += data[q] * p[indices[q]]
            return s

        return sparse

    def dense(table, i, p):
        a = table[i]
        s = 0.0
        for k in range(a.shape[0]):
            s += a[k] * p[k]
        return s

    return dense


@body_of(rows_dot)
def _rows_dot(table, index, count, p, out):
    if isinstance(table, types.BaseTuple):

        def sparse(table, index, count, p, out):
            for m in range(count):
                out[m] = row_dot(table, index[m], p)

        return sparse

    def dense(table, index, count, p, out):
        m = 0
        while m + 4 <= count:  # p is read once for four rows, and their sums are independent
            a, b, c, e = (
                table[index[m]],
                table[index[m + 1]],
                table[index[m + 2]],
                table[index[m + 3]],
            )
            xa, xb, xc, xe = 0.0, 0.0, 0.0, 0.0
            for k in range(a.shape[0]):
                x = p[k]
                xa += a[k] * x
                xb += b[k] * x
                xc += c[k] * x
                xe += e[k] * x
            out[m], out[m + 1], out[m + 2], out[m + 3] = xa, xb, xc, xe
            m += 4
        while m < count:
            out[m] = row_dot(table, index[m], p)
            m += 1

    return dense


@body_of(row_square)
def _row_square(table, i):
    if isinstance(table, types.BaseTuple):

        def sparse(table, i):
            data, _, indptr = table
            s = 0.0
            for q in range(indptr[i], indptr[i + 1]):
                s += data[q] * data[q]
            return s

        return sparse
    return lambda table, i: row_dot(table, i, table[i])


@body_of(row_add)
def _row_add(table, i, x, g):
    if isinstance(table, types.BaseTuple):

        def sparse(table, i, x, g):
            data, indices, indptr = table
            for q in range(indptr[i], indptr[i + 1]):
                g[indices[q]] += x * data[q]

        return sparse

    def dense(table, i, x, g):
        a = table[i]
        for k in range(a.shape[0]):
            g[k] += x * a[k]

    return dense


@body_of(rows_add)
def _rows_add(table, index, x, count, g):
    if isinstance(table, types.BaseTuple):

        def sparse(table, index, x, count, g):
            for m in range(count):
                row_add(table, index[m], x[m], g)

        return sparse

    def dense(table, index, x, count, g):
        m = 0
        while m + 4 <= count:  # g is read and written once for four rows
            a, b, c, e = (
                table[index[m]],
                table[index[m + 1]],
                table[index[m + 2]],
                table[index[m + 3]],
            )
            xa, xb, xc, xe = x[m], x[m + 1], x[m + 2], x[m + 3]
            for k in range(g.shape[0]):
                g[k] += xa * a[k] + xb * b[k] + xc * c[k] + xe * e[k]
            m += 4
        while m < count:
            row_add(table, index[m], x[m], g)
            m += 1

    return dense


@njit(**JIT)
def add_squares(h, first, size, a, b, c, e, xa, xb, xc, xe):
    """Add xa * a a' + xb * b b' + xc * c c' + xe * e e' to h from row ``first`` on; sizes are even.

    Only the upper triangle counts; some entries below it change too, so that every row starts at a
    whole register. The triangle is read and written once for four terms, their rows once for two
    rows of the triangle.
    """
    n = np.uint64(size)
    for i in range(first, size, 2):
        row, other = h[i], h[i + 1]
        ia, ib, ic, ie = xa * a[i], xb * b[i], xc * c[i], xe * e[i]
        ka, kb, kc, ke = xa * a[i + 1], xb * b[i + 1], xc * c[i + 1], xe * e[i + 1]
        for j in range(np.uint64(i & WHOLE), n):
            aj, bj, cj, ej = a[j], b[j], c[j], e[j]
            row[j] += ia * aj + ib * bj + ic * cj + ie * ej
            other[j] += ka * aj + kb * bj + kc * cj + ke * ej


@body_of(gram_add)
def _gram_add(table, index, sign, count, gram):
    if isinstance(table, types.BaseTuple):

        def sparse(table, index, sign, count, gram):
            data, indices, indptr = table
            for m in range(count):
                first, last = indptr[index[m]], indptr[index[m] + 1]
                for q in range(first, last):
                    x = sign[m] * data[q]
                    row = gram[indices[q]]
                    for r in range(q, last):
                        row[indices[r]] += x * data[r]

        return sparse

    def dense(table, index, sign, count, gram):
        last = count - 1
        for m in range(0, count, 4):  # the last one fills up a block of four, times zero
            p, q, r = min(m + 1, last), min(m + 2, last), min(m + 3, last)
            add_squares(
                gram, np.int64(0), np.int64(gram.shape[0]),
                table[index[m]], table[index[p]], table[index[q]], table[index[r]],
                sign[m], sign[p] * (p > m), sign[q] * (q > p), sign[r] * (r > q),
            )  # fmt: skip

    return dense


@njit(**JIT)
def row_norms(table, index, out):
    """Write the squared lengths of the listed rows to out, by sample."""
    for a in range(index.shape[0]):
        out[index[a]] = row_square(table, index[a])
