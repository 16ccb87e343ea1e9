r"""Rows of samples on which an SVM with a kernel is a linear one, shared by all bags and all C.

For the linear kernel the rows are the samples themselves, or, where they have more columns than
there are samples, their coordinates in a basis of their span. For every other kernel there are
three forms:

* the kernel matrix :math:`K` itself, a :class:`~svmproba.solvers.gram.Gram`: members are signed
  multipliers :math:`\beta`, and a new sample has the row :math:`k(x, X)`. Nothing is factored. A
  kernel that is indefinite is replaced by its positive part :math:`K_+ = KP`,
  :math:`P = V_+V_+^\top`, and a new sample has the row :math:`k(x, X)P`.
* a pivoted Cholesky factor :math:`LL^\top\approx K`, where rows with
  :math:`f(x)^\top f(x') = k(x, x')` are needed (constrained SVMs, Gaussian posteriors). A new
  sample has the row :math:`L_P^{-1}k(X_P, x)`, where :math:`P` are the pivots and :math:`L_P` their
  rows.
* the same with few pivots drawn at random (Nyström), where the samples are too many. Factors are
  found in `svmproba.solvers.factors`.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import qr

from svmproba._types import Floats, Ints, Rows
from svmproba.solvers.factors import (
    inverse_transposed,
    leaves_little,
    pivoted_cholesky,
    positive_part,
    random_cholesky,
)
from svmproba.solvers.gram import Gram
from svmproba.solvers.kernels import (
    BLOCK_BYTES,
    as_rows,
    check_kernel,
    check_kernel_matrix,
    kernel_diagonal,
    kernel_matrix,
    resolve_gamma,
)
from svmproba.solvers.runtime.threads import blas_threads

#: Samples up to which a kernel matrix is kept whole (3.2 GB), and up to which it is factored.
_EXACT_LIMIT, _FACTOR_LIMIT = 20_000, 4000
#: Entries of a wide table that may be made dense (800 MB).
_DENSE = 10**8


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """Map from samples to rows; made by `fit_features`.

    Attributes
    ----------
    kernel : str
        Name of the kernel.
    gamma, degree, coef0 : float, int, float
        Its parameters as numbers; ``gamma`` is 0 where the kernel has none.
    n_features : int
        Columns that `transform` expects: those of X, or the training samples if precomputed.
    basis : array or CSR (n_landmarks, n_features), or None
        Landmark samples of the kernels rbf, poly and sigmoid.
    pivots : int array (n_landmarks,) or None
        Places of the landmarks among the training samples; None for the linear kernel.
    projection : array (d or n_landmarks, r) or None
        What turns samples (linear) or kernel values at the landmarks into rows; None: nothing.
    exact : bool
        False where the rows are a Nyström approximation.
    """

    kernel: str
    gamma: float
    degree: int
    coef0: float
    n_features: int
    basis: Rows | None
    pivots: Ints | None
    projection: Floats | None
    exact: bool

    def transform(self, X: Any) -> Rows:
        """Rows (n, r) of the samples X, kernel values with all training samples if precomputed.

        They are a C-contiguous float64 array, or CSR where X is sparse and the rows are X itself.
        """
        if not sparse.issparse(X):
            X = np.asarray(X)
        elif self.kernel == "precomputed":
            raise ValueError("X must be a dense array with kernel='precomputed', got a sparse one.")
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"X must have {self.n_features} columns, got shape {X.shape}.")
        if self.projection is None and self.kernel == "linear":
            return as_rows(X)
        if sparse.issparse(X):
            X = as_rows(X)
        rows = np.empty((X.shape[0], self.width))
        step = max(1, BLOCK_BYTES // (8 * max(self.n_features, self.width)))
        for start in range(0, len(rows), step):
            values = self._values(X[start : start + step])
            if self.projection is not None:
                values = values @ self.projection
            rows[start : start + step] = values
        return rows

    @property
    def width(self) -> int:
        """Columns of the rows."""
        if self.projection is not None:
            return self.projection.shape[1]
        return self.n_features if self.pivots is None else len(self.pivots)

    def _values(self, X: Rows) -> Rows:
        if self.kernel == "precomputed":
            return np.asarray(X[:, self.pivots], dtype=np.float64)
        X = as_rows(X)
        if self.kernel == "linear":
            return X
        return kernel_matrix(
            X, self.basis, self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0
        )

    def restricted(self, used: Ints) -> FeatureMap:
        """Map to some of the columns of the rows, for a kernel matrix that is not projected."""
        assert self.pivots is not None
        basis = None if self.basis is None else self.basis[used]
        return replace(self, basis=basis, pivots=self.pivots[used])

    def input_coef(self, W: Floats) -> Floats:
        """Coefficients (..., n_features) of the samples for coefficients W (..., r) of the rows."""
        if self.kernel != "linear":
            raise ValueError(f"only the linear kernel has input coefficients, not {self.kernel!r}.")
        return W if self.projection is None else W @ self.projection.T


def fit_features(
    X: Any,
    kernel: str = "linear",
    *,
    gamma: str | float = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    tol: float = 1e-7,
    exact_limit: int | None = None,
    n_components: int | None = None,
    factored: bool = False,
    few: bool = False,
    rng: np.random.Generator | int | None = None,
) -> tuple[FeatureMap, Rows | Gram]:
    r"""Find the rows of the training samples and the map that gives those of new samples.

    Parameters
    ----------
    X : array or sparse (n, d)
        Training samples; with ``kernel="precomputed"`` their kernel matrix (n, n).
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"}
        An indefinite kernel (sigmoid, poly with ``coef0 < 0``) is replaced by its positive
        semidefinite part, with a warning that says how much was dropped.
    gamma, degree, coef0 : float or {"scale", "auto"}, int, float
        Parameters of the kernel, see `kernel_matrix`.
    tol : float
        The rows give :math:`k(x,x)` of every training sample up to this relative error. What is
        missing, :math:`R = K - LL^\top \succeq 0`, makes the optimal value of an SVM with bounds
        :math:`c_i` larger by a share between 0 and :math:`\max_i c_i\,\lambda_{\max}(R)`.
        Never less than n times the machine precision.
    exact_limit : int or None
        Number of samples up to which the kernel is exact unless `n_components` is given; None:
        20 000, or 4 000 if factored, or any number if `few`.
    n_components : int or None
        Number of landmarks (Nyström); None: exact up to `exact_limit`, beyond it 300, narrow enough
        for Newton steps, which reach the tolerance at every C.
    factored : bool
        Whether products of the rows must be kernel values: a factor instead of the kernel matrix.
    few : bool
        Whether one SVM or a few are fitted, which need some rows of the kernel matrix only. It
        matters to kernels that are semidefinite for all samples.
    rng : Generator, int or None
        Source of the random landmarks.

    Returns
    -------
    feature_map : FeatureMap
        Map for new samples.
    rows : array (n, r), CSR (n, d) or Gram
        Rows of the training samples.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    >>> feature_map, rows = fit_features(X, "rbf", gamma=0.5, factored=True)
    >>> rows.shape, feature_map.pivots.tolist()
    ((3, 2), [0, 1])
    >>> np.round(rows @ rows.T, 3)
    array([[1.   , 0.368, 0.368],
           [0.368, 1.   , 1.   ],
           [0.368, 1.   , 1.   ]])
    """
    check_kernel(kernel, degree, coef0)
    if n_components is not None and n_components < 1:
        raise ValueError(f"n_components must be None or an integer >= 1, got {n_components!r}.")
    X = as_rows(X) if kernel != "precomputed" else check_kernel_matrix(X)
    if kernel == "linear":
        return _linear_features(X)
    gamma = 0.0 if kernel == "precomputed" else resolve_gamma(gamma, X)
    rng = np.random.default_rng(rng)
    n, rank = X.shape[0], min(X.shape[0], n_components or 300)
    tol = max(tol, n * np.finfo(float).eps)
    shape: dict[str, Any] = {"gamma": gamma, "degree": degree, "coef0": coef0}

    def columns(chosen: slice | Ints) -> Floats:
        if kernel == "precomputed":
            return X[:, chosen]
        return kernel_matrix(X, X[chosen], kernel, **shape)

    definite = kernel == "rbf" or (kernel == "poly" and coef0 >= 0)
    if exact_limit is None and few and definite and not factored:
        exact_limit = n
    elif exact_limit is None:
        exact_limit = _FACTOR_LIMIT if factored else _EXACT_LIMIT
    exact = n <= exact_limit and (n_components is None or n_components >= n)
    if exact and not factored:
        gram, projection = _gram(X, kernel, shape, definite, tol)
        basis = None if kernel == "precomputed" else X
        fixed = (kernel, gamma, degree, coef0, X.shape[1], basis, np.arange(n))
        return FeatureMap(*fixed, projection, True), gram
    if exact:
        rows, pivots, projection = _factor(columns(slice(None)), tol, kernel, definite)
    elif definite:
        diagonal = kernel_diagonal(X, kernel, **shape)
        rows, pivots, exact = random_cholesky(columns, diagonal, rank, tol, rng)
        projection = inverse_transposed(rows[pivots])
    else:
        # Sampling by residual needs a semidefinite kernel; landmarks drawn evenly do not.
        pivots = rng.choice(n, rank, replace=False)
        K = columns(pivots)
        _, kept, projection = _factor(K[pivots], tol, kernel, definite)
        rows, pivots = K[:, kept] @ projection, pivots[kept]
    if rows.shape[1] == 0:
        # Nothing positive in the kernel: one column of zeros avoids a special case elsewhere.
        rows, pivots, projection = np.zeros((n, 1)), np.arange(1), np.zeros((1, 1))
    basis = None if kernel == "precomputed" else X[pivots]
    feature_map = FeatureMap(
        kernel, gamma, degree, coef0, X.shape[1], basis, pivots, projection, exact
    )
    return feature_map, rows


def _gram(
    X: Rows, kernel: str, shape: dict[str, Any], definite: bool, tol: float
) -> tuple[Gram, Floats | None]:
    """Kernel matrix of the training samples, and what makes its rows those of its positive part."""
    if definite:
        return Gram.of_samples(X, kernel, **shape), None
    K = X if kernel == "precomputed" else kernel_matrix(X, X, kernel, **shape)
    if leaves_little(K, pivoted_cholesky(K, tol)[0]):
        return Gram.of_matrix(K), None
    rows, inverse = positive_part(K, tol, kernel)
    return Gram.of_matrix(rows @ rows.T), inverse @ rows.T


def dense_if_wide(X: Rows) -> Rows:
    """Make wide sparse samples dense, which `fit_features` turns into as many columns as samples.

    For solvers of problems with floors: they keep their rows densely, or form a matrix as wide.
    """
    wide = sparse.issparse(X) and X.shape[1] > X.shape[0]
    return X.toarray() if wide and X.shape[0] * X.shape[1] <= _DENSE else X


def _linear_features(X: Rows) -> tuple[FeatureMap, Rows]:
    rows, projection = X, None
    if not sparse.issparse(X) and X.shape[1] > X.shape[0]:
        # QR costs half as much as the SVD here, and needs no rank: X = R^T Q^T always. BLAS
        # threads go on spinning after a small product, which slows down what follows.
        with blas_threads() if X.size * len(X) < 10**9 else nullcontext():
            projection, triangle = qr(X.T, mode="economic")
        rows = np.ascontiguousarray(triangle.T)
    return FeatureMap("linear", 0.0, 1, 0.0, X.shape[1], None, None, projection, True), rows


def _factor(K: Floats, tol: float, kernel: str, definite: bool) -> tuple[Floats, Ints, Floats]:
    """Rows (n, r), pivots (m,) and projection (m, r) with rows = K[:, pivots] @ projection."""
    rows, pivots = pivoted_cholesky(K, tol)
    if definite or leaves_little(K, rows):
        projection = inverse_transposed(rows[pivots])
    else:
        rows, projection = positive_part(K, tol, kernel)
        pivots = np.arange(len(K))
    return rows, pivots, projection
