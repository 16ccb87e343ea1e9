"""What is done to the rows of a table outside compiled code: arrays or CSR matrices."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from joblib import cpu_count

from svmproba._types import Floats, Rows
from svmproba.solvers.runtime.threads import blas_threads

#: Columns whose mean is more than so many standard deviations from 0 are centred.
_OFFSET = 3.0
#: Multiplications of a product that is worth several threads, and rows of a kernel matrix that one
#: thread computes at a time.
_LARGE_PRODUCT, _KERNEL_BLOCK = 10**9, 1024


def is_dense(rows: Any) -> bool:
    """Whether rows, signed or not, are stored as an array."""
    return isinstance(rows, np.ndarray)


def as_array(rows: Rows) -> Floats:
    """Return rows as a C-contiguous array."""
    return np.ascontiguousarray(rows if is_dense(rows) else rows.toarray())


def centred(rows: Rows) -> tuple[Rows, Floats | None]:
    """Centre dense columns that are far from 0; exact, because the bias is free."""
    if not is_dense(rows):
        return rows, None
    mean, std = rows.mean(axis=0), rows.std(axis=0)
    if np.all(np.abs(mean) <= _OFFSET * std) or not np.isfinite(mean).all():
        return np.ascontiguousarray(rows, np.float64), None
    return np.ascontiguousarray(rows - mean), mean


def column_sizes(rows: Rows) -> tuple[Floats, int]:
    """Return the largest size in each column, (d,), and the most nonzeros of a row."""
    if is_dense(rows):
        return np.maximum(rows.max(axis=0), -rows.min(axis=0)), rows.shape[1]
    sizes = np.asarray(abs(rows).max(axis=0).toarray(), np.float64).ravel()
    return sizes, int(np.diff(rows.indptr).max())


def product(left: Floats, right: Rows, out: Floats) -> Floats:
    """Write ``left @ right`` to ``out``, a C-contiguous array."""
    if is_dense(right):
        return np.matmul(left, right, out=out)
    out[:] = (right.T @ left.T).T
    return out


def row_products(rows: Rows, n_threads: int) -> Floats:
    """Products (n, n) of all pairs of rows."""
    n, d = rows.shape
    if not is_dense(rows):
        return (rows @ rows.T).toarray()
    products = np.empty((n, n))

    def fill(first: int) -> None:
        part = slice(first, first + _KERNEL_BLOCK)
        np.matmul(rows[part], rows.T, out=products[part])

    # Threads of our own: the number of BLAS threads changes the rounding, and they go on spinning
    # after a product, which slows down what follows.
    n_threads = min(n_threads, cpu_count()) if n * n * d > _LARGE_PRODUCT else 1
    with blas_threads(), ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(fill, range(0, n, _KERNEL_BLOCK)))
    return products
