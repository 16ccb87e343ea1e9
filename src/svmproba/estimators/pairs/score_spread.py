"""Uncertainty of scores, for the links that read more than one score per sample."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from svmproba._types import Floats
from svmproba.bootstrap.fitting.bags import draw_bags
from svmproba.links.rivals._sollich import margin_variance
from svmproba.links.rivals._sollich_posterior import sample_posterior
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.features import FeatureMap
from svmproba.solvers.kernels import Rows, kernel_diagonal

#: Duality gap of the SVM that tells which samples are on the margin, and distance from it.
_SHARP, _ON_MARGIN = 1e-10, 1e-4


class Trained(NamedTuple):
    """One SVM and the samples it was trained on."""

    rows: Rows
    signs: Floats
    C: float
    weight: Floats | None
    coef: Floats
    intercept: float


class Spread(NamedTuple):
    """Rows of the samples on the margin (m, d), or coefficients of draws (n_draws, d).

    `intercept` and `noise`, standard normal, (n_draws,) belong to the draws.
    """

    coef: Floats
    intercept: Floats
    noise: Floats


def fit_spread(link: Any, svm: Trained, rng: np.random.Generator) -> Spread | None:
    """Find what the link needs beside the score; None if nothing."""
    if link.reads == "mixed":
        return None
    nothing = np.empty(0)
    if link.reads == "margin":
        return Spread(_margin_rows(svm), nothing, nothing)
    if link.reads == "bootstrap":
        counts, _ = draw_bags(link.n_bootstraps, svm.signs > 0, rng)
        bags = _fit(svm, counts, 1e-3)
        return Spread(bags.coef[0], bags.intercept[0], nothing)
    bounds = svm.C if svm.weight is None else svm.C * svm.weight
    draws = sample_posterior(
        _dense(svm.rows),
        svm.signs,
        bounds,
        np.append(svm.coef, svm.intercept),
        bias_scale=link.bias_scale,
        n_draws=link.n_draws,
        rng=rng,
    )
    even = (np.arange(len(draws)) + 0.5) / len(draws)
    return Spread(draws[:, :-1], draws[:, -1], ndtri(rng.permutation(even)))


def _fit(svm: Trained, counts: Any, tol: float) -> Any:
    grid = np.array([svm.C])
    return fit_ensemble(svm.rows, svm.signs, counts, grid, weight=svm.weight, tol=tol)


def _margin_rows(svm: Trained) -> Floats:
    """Rows of the samples whose multipliers lie strictly between their bounds."""
    sharp = _fit(svm, np.ones((1, len(svm.signs)), dtype=np.uint8), _SHARP)
    scores = svm.rows @ sharp.coef[0, 0] + sharp.intercept[0, 0]
    return _dense(svm.rows[np.abs(svm.signs * scores - 1) < _ON_MARGIN])


def link_proba(
    link: Any, scores: Floats, rows: Rows, rest: Floats, spread: Spread | None
) -> Floats:
    """Probability (n,) of the second class of a pair from scores (n,), rows (n, d) and a spread."""
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
    """Kernel values (n,) of samples with themselves less those of their rows.

    Zero for kernels without such values: the linear one, precomputed and indefinite ones.
    """
    if feature_map.kernel not in ("rbf", "poly"):
        return np.zeros(X.shape[0])
    shape = {name: getattr(feature_map, name) for name in ("gamma", "degree", "coef0")}
    diagonal = kernel_diagonal(X, feature_map.kernel, **shape)
    return np.maximum(diagonal - np.einsum("ij,ij->i", rows, rows), 0.0)


def _dense(rows: Rows) -> Floats:
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
