"""Probabilities of a fitted ensemble: mixtures of vote shares, or calibrated ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from svmproba._types import Bools, Floats
from svmproba.bootstrap.fitted import FittedEnsemble, ensemble_vote_shares, without_target
from svmproba.bootstrap.fitting.members import Members, mean_scores, transformed
from svmproba.bootstrap.summaries.blocks import row_blocks
from svmproba.bootstrap.summaries.spread import (
    deviations,
    family_mixtures,
    mixture_scores,
    score_ratios,
)
from svmproba.bootstrap.summaries.votes import mix_shares
from svmproba.links._choose import fit_link
from svmproba.links._super_learner import folds_for
from svmproba.solvers.kernels import Rows

#: Out-of-bag scores from fewer bags than this are too rough to calibrate on.
LEAST_BAGS = 5
#: Share of a sigmoid of the score in calibrated probabilities.
TIE_BREAK = 1e-9


def with_calibration(ensemble: FittedEnsemble, calibration: str | None) -> FittedEnsemble:
    """Fit a link, or take it away; the threshold goes back to one half, without rate or costs."""
    plain = without_target(replace(ensemble, calibrator=None))
    if calibration is None:
        return plain
    out_of_bag = _out_of_bag(ensemble)
    families, n_bags = families_of(ensemble.members), len(ensemble.counts)
    link = fit_oob_link(calibration, out_of_bag, ensemble.weights, families, n_bags)
    P = link_proba(link, ensemble.weights, out_of_bag.scaled, out_of_bag.spreads)
    return replace(plain, calibrator=link, oob_proba=P)


def cross_fitted_proba(ensemble: FittedEnsemble, calibration: str) -> Floats:
    """Out-of-bag probabilities (n,) by links that were fitted to the other samples, or groups.

    A link of several scores has so many coefficients that at its own samples it looks better than
    it is: a rate that is guaranteed must not rest on that.
    """
    scaled, spreads, positive, n_left_out, groups = _out_of_bag(ensemble)
    families, n_bags = families_of(ensemble.members), len(ensemble.counts)
    known = np.flatnonzero(~np.isnan(scaled).any(axis=0))
    fold = folds_for(scaled[:, known], positive[known], None if groups is None else groups[known])
    P = np.full(scaled.shape[1], np.nan)
    for k in [] if fold is None else range(fold.max() + 1):
        kept, held = known[fold != k], known[fold == k]
        of_kept = None if groups is None else groups[kept]
        others = scaled[:, kept], spreads[:, kept], positive[kept], n_left_out[kept], of_kept
        link = fit_oob_link(calibration, OutOfBag(*others), ensemble.weights, families, n_bags)
        P[held] = link_proba(link, ensemble.weights, scaled[:, held], spreads[:, held])
    return P


class OutOfBag(NamedTuple):
    """What the bags that left samples out say of them."""

    scaled: Floats  # (n_theta, n), mean scores in units of their scales
    spreads: Floats  # (n_families or 0, n)
    positive: Bools  # (n,)
    n_bags: NDArray[np.int64]  # (n,), how many bags left a sample out
    groups: NDArray[np.int64] | None  # (n,)


def _out_of_bag(ensemble: FittedEnsemble) -> OutOfBag:
    return OutOfBag(
        ensemble.oob_scores / ensemble.score_scales[:, np.newaxis],
        ensemble.oob_spreads,
        ensemble.positive,
        np.count_nonzero(ensemble.counts == 0, axis=0),
        ensemble.groups,
    )


def fit_oob_link(
    calibration: str,
    out_of_bag: OutOfBag,
    weights: Floats,
    families: NDArray[np.int64],
    n_bags: int,
    between: str = "",
) -> Any:
    """Fit a link to the samples that enough bags left out; `between` names a pair of classes."""
    scaled, spreads, positive, n_left_out, groups = out_of_bag
    usable = (n_left_out >= LEAST_BAGS) & ~np.isnan(scaled).any(axis=0)
    if not usable.any():
        raise ValueError(
            f"calibration={calibration!r} needs samples{between} that {LEAST_BAGS} bags left out; "
            f"there is none with n_bootstraps={n_bags}."
        )
    in_use = weights > 0
    return fit_link(
        calibration,
        scaled[np.ix_(in_use, usable)],
        (weights @ scaled)[usable],
        positive[usable],
        families[in_use],
        _ratios(weights, scaled, spreads)[:, usable],
        None if groups is None else groups[usable],
        of_pair=bool(between),
    )


def families_of(members: Members) -> NDArray[np.int64]:
    """Give hyperparameter values that differ in C only the same number."""
    n_theta, n_families = len(members.intercept), len(members.columns)
    return np.repeat(np.arange(n_families), n_theta // n_families)


def positive_proba(ensemble: FittedEnsemble, rows: Rows, n_jobs: int | None, device: str) -> Floats:
    """Probability of the class of interest, before a guarantee by jackknife+."""
    if ensemble.is_calibrated:
        return calibrated_proba(ensemble, rows)
    return mix_shares(ensemble_vote_shares(ensemble, rows, n_jobs, device), ensemble.weights)


def calibrated_proba(ensemble: FittedEnsemble, rows: Rows) -> Floats:
    """Calibrated probability of the class of interest."""
    return link_proba(ensemble.calibrator, ensemble.weights, *scores_and_spreads(ensemble, rows))


def scores_and_spreads(ensemble: FittedEnsemble, rows: Rows) -> tuple[Floats, Floats]:
    """Scaled mean scores (n_theta, n) and spreads (n_families, n); (0, n) where unused."""
    return scaled_scores(
        ensemble.members,
        ensemble.weights,
        ensemble.score_scales,
        rows,
        reads_spreads(ensemble.calibrator, ensemble.oob_spreads),
    )


def reads_spreads(link: Any, spreads: Floats) -> bool:
    """Whether a link reads the spreads of the scores, and they are known."""
    return bool(len(spreads)) and getattr(link, "reads", "") == "ratios"


def scaled_scores(
    members: Members, weights: Floats, scales: Floats, rows: Rows, wanted: bool
) -> tuple[Floats, Floats]:
    """Mean scores in units of their scales (n_theta, n), and spreads where these are wanted."""
    mixtures = family_mixtures(members, weights / scales) if wanted else []
    scores, spreads = [], []
    for block in row_blocks(rows.shape[0], rows.shape[1] + members.intercept.size):
        tables = list(transformed(members, rows[block]))
        scores.append(mean_scores(members, tables))
        mixed = mixture_scores(mixtures, tables)
        spreads.append(deviations(mixed) if wanted else np.empty((0, len(scores[-1]))))
    return np.concatenate(scores).T / scales[:, np.newaxis], np.concatenate(spreads, axis=1)


def link_proba(link: Any, weights: Floats, scaled: Floats, spreads: Floats) -> Floats:
    """Probability from scaled scores (n_theta, n) and spreads; NaN where they are."""
    mixed = weights @ scaled
    scores = mixed if link.reads == "mixed" else scaled[weights > 0]
    if link.reads == "ratios":
        scores = np.vstack([scores, _ratios(weights, scaled, spreads)])
    known = ~np.isnan(mixed)
    P = np.full(len(mixed), np.nan)
    P[known] = link.predict(scores[..., known])
    # Samples on one step of a link keep their order.
    return P + TIE_BREAK * (expit(mixed) - P)


def _ratios(weights: Floats, scaled: Floats, spreads: Floats) -> Floats:
    return score_ratios(weights[:, np.newaxis] * scaled, spreads)
