"""How uncertain scores are, for the links that read more than one score a record."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from svmproba.bootstrap.bags import draw_bags
from svmproba.estimators._validation import Floats
from svmproba.links._sollich import margin_variance
from svmproba.links._sollich_posterior import sample_posterior
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.features import FeatureMap
from svmproba.solvers.kernels import Rows, kernel_diagonal

#: The records on the margin are told from the others by a machine with this gap.
_SHARP, _ON_MARGIN = 1e-10, 1e-4


class Machine(NamedTuple):
    """One machine and the records it was trained on."""

    rows: Rows
    signs: Floats
    C: float
    weight: Floats | None
    coef: Floats
    intercept: float


class Spread(NamedTuple):
    """Rows of the records on the margin (m, d), or coefficients of draws (n_draws, d).

    `intercept` and `noise` (n_draws,) belong to the draws; the noise is standard normal, for what
    new records have outside the span of the rows.
    """

    coef: Floats
    intercept: Floats
    noise: Floats


def fit_spread(link: Any, machine: Machine, rng: np.random.Generator) -> Spread | None:
    """Find what the link needs beside the score; None where it needs nothing."""
    if link.reads == "mixed":
        return None
    nothing = np.empty(0)
    if link.reads == "margin":
        return Spread(_margin_rows(machine), nothing, nothing)
    if link.reads == "bootstrap":
        counts, _ = draw_bags(link.n_bootstraps, machine.signs > 0, rng)
        bags = _fit(machine, counts, 1e-3)
        return Spread(bags.coef[0], bags.intercept[0], nothing)
    bounds = machine.C if machine.weight is None else machine.C * machine.weight
    draws = sample_posterior(
        _dense(machine.rows),
        machine.signs,
        bounds,
        np.append(machine.coef, machine.intercept),
        bias_scale=link.bias_scale,
        n_draws=link.n_draws,
        rng=rng,
    )
    even = (np.arange(len(draws)) + 0.5) / len(draws)
    return Spread(draws[:, :-1], draws[:, -1], ndtri(rng.permutation(even)))


def _fit(machine: Machine, counts: Any, tol: float) -> Any:
    grid = np.array([machine.C])
    return fit_ensemble(machine.rows, machine.signs, counts, grid, weight=machine.weight, tol=tol)


def _margin_rows(machine: Machine) -> Floats:
    """Rows of the records whose multipliers lie strictly between their bounds."""
    sharp = _fit(machine, np.ones((1, len(machine.signs)), dtype=np.uint8), _SHARP)
    scores = machine.rows @ sharp.coef[0, 0] + sharp.intercept[0, 0]
    return _dense(machine.rows[np.abs(machine.signs * scores - 1) < _ON_MARGIN])


def link_proba(
    link: Any, scores: Floats, rows: Rows, rest: Floats, spread: Spread | None
) -> Floats:
    """Probability of the second class of a pair.

    Parameters
    ----------
    link : link
        Fitted link.
    scores : ndarray, shape (n,)
        Scores of the machine.
    rows : ndarray or CSR, shape (n, d)
        Rows of the records.
    rest : ndarray, shape (n,)
        See `kernel_rest`.
    spread : Spread or None
        What `fit_spread` found.

    Returns
    -------
    ndarray, shape (n,)
        Probabilities.
    """
    if spread is None:
        P: Floats = link.predict(scores)
        return P
    table = _dense(rows)
    if link.reads == "margin":
        variance = margin_variance(spread.coef, table, bias_scale=link.bias_scale, rest=rest)
        return np.asarray(link.predict(scores, variance))
    draws = spread.coef @ table.T + spread.intercept[:, np.newaxis]
    if link.reads == "bootstrap":
        return np.asarray(link.predict(scores, draws.var(axis=0)))
    draws += spread.noise[:, np.newaxis] * np.sqrt(rest)
    return np.asarray(link.predict(draws))


def kernel_rest(feature_map: FeatureMap, X: Rows, rows: Rows) -> Floats:
    """Kernel values of records with themselves less those of their rows, (n,).

    Zero for the linear kernel, and where the kernel has no value of its own for a new record
    (precomputed) or is not the one in use (the positive part of an indefinite one).
    """
    if feature_map.kernel not in ("rbf", "poly"):
        return np.zeros(X.shape[0])
    shape = {name: getattr(feature_map, name) for name in ("gamma", "degree", "coef0")}
    diagonal = kernel_diagonal(X, feature_map.kernel, **shape)
    return np.maximum(diagonal - np.einsum("ij,ij->i", rows, rows), 0.0)


def _dense(rows: Rows) -> Floats:
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
