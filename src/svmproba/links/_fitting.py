"""Logistic regression with smoothed targets, by Newton's method."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from svmproba._types import Bools, Floats

#: Reference implementations stop at a gradient of 1e-5; one more step is cheap and sharper.
_GRADIENT = 1e-9
_STEPS, _LEAST_STEP, _DECREASE, _JITTER, _ROUNDING = 50, 1e-10, 1e-4, 1e-12, 1e-15


def smoothed_targets(positive: Bools) -> Floats:
    r"""Targets :math:`\frac{n_++1}{n_++2}` of positives and :math:`\frac1{n_-+2}` of negatives.

    They lie inside (0, 1), so that separated scores give a finite fit.
    """
    n_plus = np.count_nonzero(positive)
    n_minus = len(positive) - n_plus
    return np.where(positive, (n_plus + 1) / (n_plus + 2), 1 / (n_minus + 2))


def fit_logistic(
    features: Floats,
    positive: Bools,
    *,
    ridge: float = 0.0,
    penalty: Floats | None = None,
    non_negative: bool = False,
) -> tuple[Floats, float]:
    r"""Coefficients :math:`w` (n_features,) and intercept :math:`c` for features (n_features, n).

    With :math:`u=w^\top x+c` and the targets :math:`t` of `smoothed_targets`, they minimise

    .. math::
        F(w,c)=\sum_i\big\{\log(1+e^{u_i})-t_iu_i\big\}
        +\tfrac{1}{2}w^\top(\lambda I+Q)w,

    with the ridge :math:`\lambda` and the positive semidefinite penalty :math:`Q`. Newton's method
    with halved steps starts from :math:`w=0` and the smoothed log odds of the classes [1]_.
    :math:`F` is convex, and every accepted step decreases it. With bounds :math:`w\ge0` the steps
    are projected, and coefficients at zero that would fall are left out of the system [2]_.

    References
    ----------
    .. [1] H.-T. Lin, C.-J. Lin and R. C. Weng, "A note on Platt's probabilistic outputs for
       support vector machines", Machine Learning 68, 2007.
    .. [2] D. P. Bertsekas, "Projected Newton methods for optimization problems with simple
       constraints", SIAM Journal on Control and Optimization 20, 1982.
    """
    t = smoothed_targets(positive)
    n_plus = np.count_nonzero(positive)
    table = np.vstack([features, np.ones(len(t))])
    Q = np.zeros((len(table), len(table)))
    Q[:-1, :-1] = ridge * np.eye(len(features)) + (0.0 if penalty is None else penalty)
    least = np.append(np.full(len(features), 0.0 if non_negative else -np.inf), -np.inf)
    w = np.zeros(len(table))
    w[-1] = np.log((n_plus + 1) / (len(t) - n_plus + 1))
    value = _objective(table, t, Q, w)
    for _ in range(_STEPS):
        u = w @ table
        p = expit(u)
        gradient = table @ (p - t) + Q @ w
        free = (w > least) | (gradient < 0)
        if np.abs(gradient[free]).max() < _GRADIENT:
            break
        inner = table[free]
        hessian = (inner * (p * expit(-u))) @ inner.T + Q[np.ix_(free, free)]
        # Of dependent features the solution is not unique: the jitter must exceed their rounding.
        hessian[np.diag_indices(len(hessian))] += _JITTER * max(hessian.diagonal().max(), 1.0)
        direction = np.zeros(len(w))
        direction[free] = -_solved(hessian, gradient[free])
        step = 1.0
        while step >= _LEAST_STEP:
            new = np.maximum(w + step * direction, least)
            new_value = _objective(table, t, Q, new)
            if new_value < value + _DECREASE * (gradient @ (new - w)) + _ROUNDING * abs(value):
                break
            step /= 2
        else:
            break  # rounding errors leave nothing to gain
        w, value = new, new_value
    return w[:-1], float(w[-1])


def _solved(hessian: Floats, gradient: Floats) -> NDArray[np.floating]:
    try:
        return np.linalg.solve(hessian, gradient)
    except np.linalg.LinAlgError:  # features that repeat each other, too large for the jitter
        return np.linalg.lstsq(hessian, gradient)[0]


def _objective(table: Floats, t: Floats, Q: Floats, w: Floats) -> float:
    u = w @ table
    # log(1 + exp(u)) - t u without its cancellation for large |u|.
    terms = np.where(u >= 0, 1 - t, -t) * u + np.log1p(np.exp(-np.abs(u)))
    return float(terms.sum() + w @ Q @ w / 2)
