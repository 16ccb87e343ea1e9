"""Kernel functions of dense and sparse samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from svmproba._types import Floats, Rows

KERNELS = ("linear", "rbf", "poly", "sigmoid", "precomputed")

BLOCK_BYTES = 2**25
"""Size of the blocks in which samples or kernel values are worked on."""

LARGEST_VALUE = 1e100
"""Largest size of a kernel value: solvers form squares of lengths of rows, times C."""

ROUNDING = 1e-6
"""Asymmetry or negative eigenvalues up to this share of the largest count as rounding errors."""


def as_rows(X: Any) -> Rows:
    """Give samples as float64 rows: a C-contiguous array, or CSR where X is sparse.

    CSR rows come with sorted, unique column indices, of type int32 where they fit.
    Nothing is copied that already has the right form, and X itself is never changed.
    """
    if not sparse.issparse(X):
        rows = np.ascontiguousarray(X, dtype=np.float64)
        if rows.ndim != 2:
            raise ValueError(f"X must be a table (n_samples, n_features), got {rows.ndim} axes.")
        return rows
    csr = sparse.csr_array(X, dtype=np.float64)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    if max(csr.nnz, *csr.shape) <= np.iinfo(np.int32).max:
        csr.indices = csr.indices.astype(np.int32, copy=False)
        csr.indptr = csr.indptr.astype(np.int32, copy=False)
    return csr


def check_kernel(kernel: Any, degree: Any, coef0: Any) -> None:
    """Raise an error for an unknown kernel, or a degree or coef0 that it cannot have."""
    if callable(kernel):
        raise ValueError(
            "kernel must be a name, not a callable: pass the matrix of your kernel's values "
            "as X with kernel='precomputed'."
        )
    if kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, got {kernel!r}.")
    if kernel == "poly" and not (isinstance(degree, int | np.integer) and degree >= 1):
        raise ValueError(f"degree must be an integer >= 1, got {degree!r}.")
    if kernel in ("poly", "sigmoid") and not (_is_number(coef0) and np.isfinite(coef0)):
        raise ValueError(f"coef0 must be a finite number, got {coef0!r}.")


def check_kernel_matrix(K: Any) -> Floats:
    """Raise an error for a kernel matrix (n, n) that is not dense, square, finite, symmetric."""
    if sparse.issparse(K):
        raise ValueError("X must be a dense array with kernel='precomputed', got a sparse one.")
    K = as_rows(K)
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"a precomputed kernel matrix must be square, got shape {K.shape}.")
    largest = max(K.max(), -K.min())
    if not np.isfinite(largest):
        raise ValueError("a precomputed kernel matrix must be finite, got NaN or infinite values.")
    step = max(1, BLOCK_BYTES // (8 * len(K)))
    blocks = [slice(start, start + step) for start in range(0, len(K), step)]
    difference = max(np.abs(K[block] - K[:, block].T).max() for block in blocks)
    if difference > ROUNDING * largest:
        raise ValueError(
            f"a precomputed kernel matrix must be symmetric, got entries K[i, j] and K[j, i] "
            f"that differ by {difference:.3g} (largest entry {largest:.3g})."
        )
    return K


def resolve_gamma(gamma: Any, X: Rows, weight: Floats | None = None) -> float:
    r"""Turn ``gamma`` into a number.

    ``"scale"`` is :math:`1/(d\,\mathrm{Var}(X))` over all entries of X, or 1 where X is
    constant, and ``"auto"`` is :math:`1/d`, both as in scikit-learn. Weights (n,) are
    multiplicities of the samples.

    Examples
    --------
    >>> resolve_gamma("auto", np.zeros((3, 4)))
    0.25
    """
    if isinstance(gamma, str) and gamma == "auto":
        return 1.0 / X.shape[1]
    if isinstance(gamma, str) and gamma == "scale":
        if X.min() == X.max():
            return 1.0
        each = np.ones(X.shape[0]) if weight is None else weight
        if sparse.issparse(X):
            stored, mass = X.data, np.repeat(each, np.diff(X.indptr))
        else:
            stored, mass = X, each[:, np.newaxis]
        size = each.sum() * X.shape[1]
        mean = (mass * stored).sum() / size
        zeros = size - np.broadcast_to(mass, stored.shape).sum()
        variance = ((mass * np.square(stored - mean)).sum() + zeros * mean**2) / size
        # Squares of values below 1e-154 are 0 or have lost digits: those columns are constant too.
        return float(1.0 / (X.shape[1] * variance)) if variance > 1e-300 else 1.0
    if _is_number(gamma) and 0 < gamma < np.inf:
        return float(gamma)
    raise ValueError(f"gamma must be 'scale', 'auto' or a finite number > 0, got {gamma!r}.")


def kernel_matrix(
    X: Rows, Y: Rows, kernel: str, *, gamma: float = 1.0, degree: int = 3, coef0: float = 0.0
) -> Floats:
    r"""Kernel values :math:`k(x_i, y_j)` of the samples of X (n, d) and Y (m, d).

    ========  ==============================================
    rbf       :math:`\exp(-\gamma\|x-y\|^2)`
    poly      :math:`(\gamma\,x^\top y + c_0)^{\text{degree}}`
    sigmoid   :math:`\tanh(\gamma\,x^\top y + c_0)`
    ========  ==============================================

    The result (n, m) is worked on in place; callers keep it small by passing few rows of X.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.0, 2.0]])
    >>> kernel_matrix(X, X, "poly", gamma=0.5, degree=2, coef0=1.0)
    array([[1., 1.],
           [1., 9.]])
    """
    dense = not (sparse.issparse(X) or sparse.issparse(Y))
    centre = Y.mean(axis=0) if kernel == "rbf" and dense else None
    left, _ = kernel_sides(X, kernel, gamma, coef0, centre)
    _, right = kernel_sides(Y, kernel, gamma, coef0, centre)
    with np.errstate(over="ignore", invalid="ignore"):
        K = left @ right.T
    K = K.toarray() if sparse.issparse(K) else K
    return _finite(apply_kernel(K, kernel, degree), kernel, gamma, degree, coef0)


def kernel_sides(
    X: Rows, kernel: str, gamma: float, coef0: float, centre: Floats | None
) -> tuple[Rows, Rows]:
    r"""Rows whose products are the arguments of the kernel: ``left[i] @ right[j]``.

    For rbf the argument is :math:`-\gamma\|x_i-x_j\|^2`: with two more columns, one product gives
    it. Dense samples are shifted by a centre (d,): distances survive that, and near the
    origin they lose no digits to cancellation.
    """
    stack = sparse.hstack if sparse.issparse(X) else np.hstack
    ones = np.ones((X.shape[0], 1))
    if kernel != "rbf":
        return as_rows(stack([gamma * X, coef0 * ones])), as_rows(stack([X, ones]))
    if centre is not None:
        X = X - centre
    with np.errstate(over="ignore"):
        norms = -gamma * _squared_norms(X)[:, None]
        _finite(norms, kernel, gamma, 1, coef0)
        left, right = stack([2.0 * gamma * X, norms, ones]), stack([X, ones, norms])
    return as_rows(left), as_rows(right)


def apply_kernel(K: Floats, kernel: str, degree: int) -> Floats:
    """Turn the arguments of a kernel into its values, in place."""
    with np.errstate(over="ignore", invalid="ignore"):
        if kernel == "rbf":
            np.exp(np.minimum(K, 0.0, out=K), out=K)
        elif kernel == "poly":
            np.power(K, degree, out=K)
        elif kernel == "sigmoid":
            np.tanh(K, out=K)
    return K


def kernel_diagonal(X: Rows, kernel: str, *, gamma: float, degree: int, coef0: float) -> Floats:
    """Kernel values of each sample with itself, (n,), for the kernels rbf and poly."""
    if kernel == "rbf":
        return np.ones(X.shape[0])
    with np.errstate(over="ignore"):
        diagonal = (gamma * _squared_norms(X) + coef0) ** degree
    return _finite(diagonal, kernel, gamma, degree, coef0)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating)


def _finite(K: Floats, kernel: str, gamma: float, degree: int, coef0: float) -> Floats:
    if K.size == 0 or max(K.max(), -K.min()) <= LARGEST_VALUE:  # false where one is NaN
        return K
    shape = f", degree={degree}" if kernel == "poly" else ""
    raise ValueError(
        f"kernel={kernel!r} with gamma={gamma:.4g}, coef0={coef0:.4g}{shape} has values that are "
        f"not finite or above {LARGEST_VALUE:g}: scale X, lower gamma, coef0 or the degree, and "
        f"see that X holds no NaN."
    )


def _squared_norms(X: Rows) -> Floats:
    if sparse.issparse(X):
        return X.multiply(X).sum(axis=1)
    return np.einsum("ij,ij->i", X, X)
