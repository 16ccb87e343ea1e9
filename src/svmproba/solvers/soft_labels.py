r"""SVMs in which each sample has the margin of its soft label as target.

.. math::
    \min_{w,b}\ \tfrac12\|w\|^2+C\sum_i|\tilde y_i|\max\big(0,\ |\tilde y_i|-s_i(w^\top x_i+b)\big),
    \qquad s_i=\mathrm{sgn}\,\tilde y_i,

is the problem of :mod:`~svmproba.solvers.problem` with targets and bounds of its own. It is
equivalent to slacks :math:`\xi_i\ge0` under
:math:`\tilde y_i(w^\top x_i+b)\ge\tilde y_i^2-\xi_i` at the price :math:`C\sum_i\xi_i`, whose dual
is :math:`\max\sum_i\alpha_i\tilde y_i^2-\frac12\|\sum_i\alpha_i\tilde y_ix_i\|^2` with
:math:`0\le\alpha_i\le C` and :math:`\sum_i\alpha_i\tilde y_i=0`.
Where all soft labels have one sign, :math:`w=0` with any :math:`b` beyond the largest of them is
optimal; the :math:`b` nearest to 0 is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from svmproba._types import Floats, Rows
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.runtime.tasks import Parcel, run_tasks
from svmproba.solvers.runtime.threads import blas_threads


def fit_soft_paths(
    rows: Rows,
    soft: Floats,
    grid: Floats,
    *,
    tol: float,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Fit one path over C for every vector of soft labels.

    Parameters
    ----------
    rows : array or CSR of shape (n, d)
    soft : array of shape (m, n)
        Soft labels in [-1, 1]; a sample with 0 is absent.
    grid : array of shape (n_C,)
        Increasing values of C.
    tol : float
        Relative duality gap to reach.
    n_jobs : int, optional
        Paths fitted at once, as in joblib.

    Returns
    -------
    coef, intercept, gap : arrays of shapes (n_C, m, d), (n_C, m) and (n_C, m)
    """
    last = soft[-1]
    if np.all((soft == last) | (soft == 0.0)):
        fits = [_fit(rows, last, soft != 0.0, grid, tol, n_jobs)]
    else:
        # Targets and weights are shared by all bags, so other labels need another call.
        parcel = Parcel((rows, grid, tol), tuple, tuple)
        with blas_threads():
            done = dict(run_tasks(_fit_alone, parcel, soft, n_jobs))
        fits = [done[place] for place in range(len(soft))]
    coef, intercept, gap = (np.concatenate(part, axis=1) for part in zip(*fits, strict=True))
    for k, labels in enumerate(soft):
        if labels.min() >= 0.0 or labels.max() <= 0.0:
            coef[:, k], intercept[:, k], gap[:, k] = 0.0, labels[np.abs(labels).argmax()], 0.0
    return coef, intercept, gap


def _fit_alone(shared: tuple[Any, ...], labels: Floats) -> tuple[Floats, Floats, Floats]:
    rows, grid, tol = shared
    return _fit(rows, labels, (labels != 0.0)[np.newaxis], grid, tol, 1)


def _fit(
    rows: Rows, labels: Floats, used: Floats, grid: Floats, tol: float, n_jobs: int | None
) -> tuple[Floats, Floats, Floats]:
    size = np.abs(labels)
    signs = np.where(labels >= 0.0, 1.0, -1.0)
    counts = used.astype(np.uint8)
    fit = fit_ensemble(rows, signs, counts, grid, weight=size, targets=size, tol=tol, n_jobs=n_jobs)
    return fit.coef, fit.intercept, fit.gap
