r"""Draws from Sollich's posterior, by elliptical slice sampling."""

from __future__ import annotations

import numpy as np

from svmproba._types import Floats

_CHAINS, _BURN_IN, _THIN = 20, 500, 10


def sample_posterior(
    rows: Floats,
    signs: Floats,
    bounds: float | Floats,
    start: Floats,
    *,
    bias_scale: float,
    n_draws: int,
    rng: np.random.Generator,
) -> Floats:
    r"""Draw weights and, in the last column, bias; shape (n_draws, d + 1).

    Products of the rows R (n, d) are kernel values, so that :math:`\theta=Rw+b` with the prior
    :math:`w\sim N(0,I)`, :math:`b\sim N(0,B^2)`, B the `bias_scale`, is the Gaussian process with
    covariance :math:`RR^\top+B^2`. Its likelihood is
    :math:`\exp(-\sum_iC_i\max(0,1-y_i\theta_i))` with `signs` :math:`y` and `bounds` :math:`C_i`.

    A step draws :math:`v` from the prior and moves to :math:`u\cos\varphi+v\sin\varphi` with an
    angle that is shrunk until the likelihood exceeds a random level. That is exact and has nothing
    to tune [1]_. Several chains run side by side from `start` (d + 1,), the SVM.

    References
    ----------
    .. [1] I. Murray, R. P. Adams and D. J. C. MacKay, "Elliptical slice sampling", AISTATS 2010.
    """
    # In units of the prior, where it is standard normal.
    table = np.column_stack([rows, np.full(len(rows), bias_scale)]).T
    limits = np.broadcast_to(bounds, signs.shape)
    u = np.tile(start, (_CHAINS, 1))
    u[:, -1] /= bias_scale if bias_scale > 0 else 1.0
    n_kept = -(-n_draws // _CHAINS)
    kept = np.empty((n_kept, *u.shape))
    for step in range(_BURN_IN + _THIN * n_kept):
        u = _slice_step(u, table, signs, limits, rng)
        done = step + 1 - _BURN_IN
        if done > 0 and done % _THIN == 0:
            kept[done // _THIN - 1] = u
    kept[:, :, -1] *= bias_scale
    return kept.reshape(-1, len(table))[:n_draws]


def _slice_step(
    u: Floats, table: Floats, signs: Floats, bounds: Floats, rng: np.random.Generator
) -> Floats:
    """Advance every chain by one step; chains that have accepted wait for the others."""

    def log_likelihood(theta: Floats) -> Floats:
        return -np.maximum(0, 1 - signs * theta) @ bounds

    n_chains = len(u)
    v = rng.standard_normal(u.shape)
    theta, across = u @ table, v @ table
    level = log_likelihood(theta) - rng.standard_exponential(n_chains)
    angle = rng.uniform(0, 2 * np.pi, n_chains)
    low, high = angle - 2 * np.pi, angle.copy()
    open_chains = np.arange(n_chains)
    while len(open_chains):
        a = angle[open_chains, np.newaxis]
        proposed = theta[open_chains] * np.cos(a) + across[open_chains] * np.sin(a)
        open_chains = open_chains[log_likelihood(proposed) <= level[open_chains]]
        below = angle[open_chains] < 0
        low[open_chains[below]] = angle[open_chains[below]]
        high[open_chains[~below]] = angle[open_chains[~below]]
        angle[open_chains] = rng.uniform(low[open_chains], high[open_chains])
    return u * np.cos(angle)[:, np.newaxis] + v * np.sin(angle)[:, np.newaxis]
