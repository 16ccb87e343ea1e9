r"""Factors of kernel matrices: exact ones, those of the positive part, and random ones.

References
----------
.. [1] N. J. Higham, *Analysis of the Cholesky decomposition of a semi-definite matrix*, in
   Reliable Numerical Computation, Oxford University Press, 1990.
.. [2] Y. Chen, E. N. Epperly, J. A. Tropp and R. J. Webber, *Randomly pivoted Cholesky: practical
   approximation of a kernel matrix with few entry evaluations*, Communications on Pure and
   Applied Mathematics 78 (2025), arXiv:2207.06503.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh, solve_triangular
from scipy.linalg.lapack import dpstrf, dtrtri

from svmproba._types import Floats, Ints
from svmproba.solvers.kernels import ROUNDING

#: Landmarks drawn at once.
PIVOT_BLOCK = 100


def pivoted_cholesky(K: Floats, tol: float) -> tuple[Floats, Ints]:
    """Partial Cholesky factor with the largest pivots first (reference [1]).

    Returns rows L (n, r) and pivots (r,) with L[pivots] lower triangular and
    diag(K - L L^T) <= tol diag(K).
    """
    # With a unit diagonal no sample is lost beside a much longer one (poly).
    scale = np.sqrt(np.maximum(K.diagonal(), 0.0))
    scale[scale == 0.0] = 1.0
    unit = K / scale[:, None]
    unit /= scale
    # Without rounding errors on the diagonal, ties do not depend on them.
    np.fill_diagonal(unit, K.diagonal() > 0.0)
    factor, order, rank, _ = dpstrf(unit.T, tol=tol, lower=1, overwrite_a=1)
    order = order.astype(np.intp) - 1
    rows = np.empty((len(K), rank))
    rows[order] = factor[:, :rank]
    rows[order[:rank]] = np.tril(factor[:rank, :rank])
    rows *= scale[:, None]
    return rows, order[:rank]


def leaves_little(K: Floats, rows: Floats) -> bool:
    """Whether R = K - L L^T is as small as its trace says, which it is if K is semidefinite.

    Then the Frobenius norm of R, here estimated from four random vectors, is at most its trace.
    """
    diagonal = K.diagonal()
    probes = np.random.default_rng(0).standard_normal((len(K), 4))
    norm = np.linalg.norm(K @ probes - rows @ (rows.T @ probes)) / 2.0
    trace = diagonal.sum() - np.square(rows).sum()
    return bool(norm <= 2.0 * trace + 1e-12 * np.abs(diagonal).sum())


def positive_part(K: Floats, tol: float, kernel: str) -> tuple[Floats, Floats]:
    """Rows and projection of the nearest semidefinite matrix, U max(D, 0) U^T of K = U D U^T."""
    values, vectors = eigh(K)
    if values[0] < -ROUNDING * np.abs(values).max():
        found = f"smallest eigenvalue {values[0]:.3g}, largest {values[-1]:.3g}"
        if kernel == "precomputed":
            raise ValueError(
                f"a precomputed kernel matrix must be positive semidefinite, got {found} "
                f"(on {len(K)} samples)."
            )
        share = -values[values < 0].sum() / np.abs(values).sum()
        warnings.warn(
            f"kernel={kernel!r} is indefinite on these samples ({found}): its negative part, "
            f"{share:.2%} of the spectrum, is dropped.",
            UserWarning,
            stacklevel=4,
        )
    kept = values > tol * np.abs(K).max()
    roots = np.sqrt(values[kept])
    return np.ascontiguousarray(vectors[:, kept] * roots), vectors[:, kept] / roots


def random_cholesky(
    columns: Callable[[Ints], Floats],
    diagonal: Floats,
    rank: int,
    tol: float,
    rng: np.random.Generator,
) -> tuple[Floats, Ints, bool]:
    """Partial Cholesky factor with pivots drawn by residual, in blocks (reference [2]).

    Returns rows (n, r) with rows[pivots] lower triangular, pivots (r,), and whether all residuals
    are within `tol`.
    """
    rows = np.empty((len(diagonal), rank))
    pivots = np.empty(0, dtype=np.intp)
    residual = diagonal.copy()
    while True:
        k = len(pivots)
        unexplained = np.flatnonzero(residual > tol * diagonal)
        if k == rank or len(unexplained) == 0:
            break
        share = residual[unexplained] / residual[unexplained].sum()
        size = min(PIVOT_BLOCK, rank - k, len(unexplained))
        drawn = rng.choice(unexplained, size, replace=False, p=share)
        new = columns(drawn)
        new -= rows[:, :k] @ rows[drawn, :k].T
        # Near-duplicates drawn together would waste rank and digits: keep one, draw again later.
        factor, kept = pivoted_cholesky(new[drawn], 0.1)
        block = slice(k, k + len(kept))
        rows[:, block] = solve_triangular(factor[kept], new[:, kept].T, lower=True).T
        pivots = np.append(pivots, drawn[kept])
        residual -= np.square(rows[:, block]).sum(axis=1)
        # Rounding must not bring back a pivot, nor a sample found to have nothing left.
        residual[drawn[kept] if len(kept) else drawn] = 0.0
    return np.ascontiguousarray(rows[:, :k]), pivots, len(unexplained) == 0


def inverse_transposed(triangle: Floats) -> Floats:
    """Invert and transpose a lower triangle."""
    if len(triangle) == 0:
        return triangle
    return np.ascontiguousarray(dtrtri(triangle, lower=1)[0].T)
