r"""Draws from Sollich's posterior, and the evidence.

All functions take rows whose products are kernel values, :math:`K=RR^\top` (records themselves for
the linear kernel), so that :math:`\theta=Rw+b` with :math:`w\sim N(0,I)`, :math:`b\sim N(0,B^2)`
is the Gaussian process with covariance :math:`K+B^2`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.special import roots_legendre

from svmproba.links._fitting import Floats
from svmproba.links._sollich import log_pseudo_likelihood

_CHAINS, _BURN_IN, _THIN = 20, 500, 10
#: Of the evidence: nodes of its rule, and shorter chains, but more, each starting where the one at
#: the node before has ended.
_NODES, _POWER, _EVIDENCE = 12, 4, {"burn_in": 100, "thin": 2, "n_chains": 100}

LogLikelihood = Callable[[Floats], Floats]


def hinge_log_likelihood(signs: Floats, C: float | Floats) -> LogLikelihood:
    r"""Return the function :math:`\theta\mapsto-\sum_iC_i\max(0,1-y_i\theta_i)` of (..., n)."""
    bounds = np.broadcast_to(C, signs.shape)
    return lambda theta: -np.maximum(0, 1 - signs * theta) @ bounds


def sample_posterior(
    rows: Floats,
    log_likelihood: LogLikelihood,
    *,
    bias_scale: float,
    n_draws: int,
    rng: np.random.Generator,
    start: Floats | None = None,
    burn_in: int = _BURN_IN,
    thin: int = _THIN,
    n_chains: int = _CHAINS,
) -> Floats:
    r"""Draw weights and bias by elliptical slice sampling.

    A step draws :math:`v` from the prior and moves to :math:`u\cos\varphi+v\sin\varphi` with an
    angle that is shrunk until the likelihood exceeds a random level: exact, nothing to tune [1]_.
    Several chains run side by side.

    Parameters
    ----------
    rows : ndarray, shape (n, d)
        Rows R.
    log_likelihood : callable
        Logarithm of the likelihood, (n_chains,) of :math:`\theta` (n_chains, n).
    bias_scale : float
        Prior standard deviation B of the bias.
    n_draws : int
        Number of draws to return.
    rng : Generator
        Source of chance.
    start : ndarray, shape (d + 1,) or (n_chains, d + 1), optional
        Weights and bias where the chains start, say the machine's; by default draws of the prior.
    burn_in, thin, n_chains : int
        Steps left out at the start of every chain, steps from one kept draw to the next, chains.

    Returns
    -------
    ndarray, shape (n_draws, d + 1)
        Weights, and the bias in the last column.

    References
    ----------
    .. [1] I. Murray, R. P. Adams and D. J. C. MacKay, "Elliptical slice sampling", AISTATS 2010.

    Examples
    --------
    Without a likelihood the prior comes back.

    >>> import numpy as np
    >>> from svmproba.links._sollich_posterior import sample_posterior
    >>> draws = sample_posterior(np.ones((1, 1)), lambda theta: np.zeros(len(theta)),
    ...     bias_scale=2.0, n_draws=4000, rng=np.random.default_rng(0), burn_in=0, thin=1)
    >>> draws.std(axis=0).round(1)
    array([1., 2.])
    """
    # In units of the prior, where it is standard normal.
    table = np.column_stack([rows, np.full(len(rows), bias_scale)]).T
    shape = (n_chains, len(table))
    if start is None:
        u = rng.standard_normal(shape)
    else:
        u = np.tile(start, (n_chains, 1)) if start.ndim == 1 else start.copy()
        u[:, -1] /= bias_scale if bias_scale > 0 else 1.0
    n_kept = -(-n_draws // n_chains)
    kept = np.empty((n_kept, *shape))
    for step in range(burn_in + thin * n_kept):
        u = _slice_step(u, table, log_likelihood, rng)
        done = step + 1 - burn_in
        if done > 0 and done % thin == 0:
            kept[done // thin - 1] = u
    kept[:, :, -1] *= bias_scale
    return kept.reshape(-1, len(table))[:n_draws]


def _slice_step(
    u: Floats, table: Floats, log_likelihood: LogLikelihood, rng: np.random.Generator
) -> Floats:
    """One step of every chain; those that have found their place wait for the others."""
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


def log_evidence(
    rows: Floats,
    signs: Floats,
    C: float,
    *,
    bias_scale: float,
    rng: np.random.Generator,
    n_draws: int = 4000,
    normalised: bool = False,
) -> float:
    r"""Logarithm of the evidence by thermodynamic integration.

    .. math::
        \ln Q(Y|X)=n\ln\kappa+\int_0^1\langle L\rangle_t\,dt,\qquad L=-C\sum_il(y_i\theta_i),

    where the bracket is the mean under the prior times :math:`e^{tL}`, that is, the posterior at
    :math:`tC`; it comes from `sample_posterior` at the nodes of a Gauss–Legendre rule in
    :math:`t^{1/4}`. The formula is derived here; Sollich's chain of Monte Carlo runs is its
    discrete relative.

    :math:`Q` does not sum to one over all label vectors :math:`Y'`. The sum,
    :math:`E[\prod_i\nu(\theta_i)]` under the prior with :math:`\nu=Q(+|\theta)+Q(-|\theta)`, is
    found in the same way, and ``normalised=True`` gives :math:`\ln Q(Y|X)-\ln\sum_{Y'}Q(Y'|X)`.

    Parameters
    ----------
    rows : ndarray, shape (n, d)
        Rows R.
    signs : ndarray, shape (n,)
        Labels in {-1, +1}.
    C : float
        C, on the scale of :math:`\frac12\|w\|^2`.
    bias_scale : float
        Prior standard deviation B of the bias; the evidence depends on it.
    rng : Generator
        Source of chance.
    n_draws : int, default=4000
        Draws at each of the twelve nodes.
    normalised : bool, default=False
        Whether to divide by the sum over all label vectors.

    Returns
    -------
    float
        The logarithm, with an error of chance that falls with the root of `n_draws`.

    References
    ----------
    P. Sollich, "Bayesian methods for support vector machines: evidence and predictive class
    probabilities", Machine Learning 46, 2002.

    Examples
    --------
    One record of variance 2 at C = 2; the integral is .358.

    >>> import numpy as np
    >>> from svmproba.links._sollich_posterior import log_evidence
    >>> rng = np.random.default_rng(0)
    >>> value = log_evidence(np.full((1, 1), 2**0.5), np.ones(1), 2.0, bias_scale=0.0, rng=rng)
    >>> bool(abs(np.exp(value) - 0.358) < 0.02)
    True
    """

    def integral(log_likelihood: LogLikelihood) -> float:
        return _log_mean(rows, log_likelihood, bias_scale, n_draws, rng)

    log_kappa = float(log_pseudo_likelihood(1.0, C))
    value = len(rows) * log_kappa + integral(hinge_log_likelihood(signs, C))
    return value - integral(lambda theta: _log_sum_of_labels(theta, C)) if normalised else value


def _log_sum_of_labels(theta: Floats, C: float) -> Floats:
    r""":math:`\sum_i\ln\nu(\theta_i)`."""
    both = np.logaddexp(log_pseudo_likelihood(theta, C), log_pseudo_likelihood(-theta, C))
    return both.sum(axis=-1)


def _log_mean(
    rows: Floats,
    log_likelihood: LogLikelihood,
    bias_scale: float,
    n_draws: int,
    rng: np.random.Generator,
) -> float:
    r""":math:`\ln E[e^L]` under the prior, as the integral of :math:`\langle L\rangle_t`."""
    x, weights = roots_legendre(_NODES)
    s = (x + 1) / 2
    n_chains = _EVIDENCE["n_chains"]
    total, draws = 0.0, None
    for t, weight in zip(s**_POWER, weights / 2 * _POWER * s ** (_POWER - 1), strict=True):
        draws = sample_posterior(
            rows,
            lambda theta, t=t: t * log_likelihood(theta),  # type: ignore[misc]
            bias_scale=bias_scale,
            n_draws=n_chains * -(-n_draws // n_chains),
            rng=rng,
            start=None if draws is None else draws[-n_chains:],
            **_EVIDENCE,
        )
        total += weight * log_likelihood(draws[:, :-1] @ rows.T + draws[:, -1:]).mean()
    return float(total)


def kink_log_evidence(
    rows: Floats,
    signs: Floats,
    multipliers: Floats,
    scores: Floats,
    C: float,
    *,
    bias_scale: float = 0.0,
) -> float:
    r"""Logarithm of the evidence by Sollich's approximation around the machine.

    .. math::
        -\ln Q(Y|X)\approx\tfrac12\sum_i\alpha_iy_i\theta_i+C\sum_il(y_i\theta_i)
        +n\ln(1+e^{-2C})+\tfrac12\ln\det(L_mK_m),\quad
        L_m=\mathrm{diag}\,2\pi\Big[\tfrac{\alpha_i(C-\alpha_i)}C\Big]^2

    with the records :math:`m` whose multipliers lie strictly inside :math:`(0,C)`. **Crude**: it
    is good only without such records, or where the multipliers are far from both bounds against
    the width of the prior; for one record with :math:`K=C=10` it gives a "probability" of 1.21
    where .388 is right. A value above one is warned of. Use `log_evidence` for any conclusion. The
    formula is Sollich's from memory, derived again here.

    Parameters
    ----------
    rows : ndarray, shape (n, d)
        Rows R.
    signs : ndarray, shape (n,)
        Labels in {-1, +1}.
    multipliers : ndarray, shape (n,)
        The machine's :math:`\alpha_i\in[0,C]`.
    scores : ndarray, shape (n,)
        The machine's scores :math:`\theta_i`.
    C : float
        C, on the scale of :math:`\frac12\|w\|^2`.
    bias_scale : float, default=0.0
        Prior standard deviation B of the bias; 0 is a machine without bias.

    Returns
    -------
    float
        The logarithm.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links._sollich_posterior import kink_log_evidence
    >>> one = np.ones(1)
    >>> value = kink_log_evidence(2**0.5 * np.ones((1, 1)), one, 0.5 * one, one, 2.0)
    >>> round(float(np.exp(value)), 3)
    0.575
    """
    inside = (multipliers > 1e-8 * C) & (multipliers < (1 - 1e-8) * C)
    K = rows[inside] @ rows[inside].T + bias_scale**2
    alpha = multipliers[inside]
    log_L = np.log(2 * np.pi) + 2 * np.log(alpha * (C - alpha) / C)
    quadratic = multipliers @ (signs * scores) / 2
    log_det = float(np.linalg.slogdet(K)[1]) + float(log_L.sum())
    value = float(log_pseudo_likelihood(signs * scores, C).sum() - quadratic - log_det / 2)
    if value > 0:
        warnings.warn(
            f"The approximate evidence exp({value:.3g}) exceeds one, which no evidence can: the "
            "approximation fails here, use log_evidence.",
            stacklevel=2,
        )
    return value
