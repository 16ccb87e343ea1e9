"""Probabilities of a fitted ensemble: mixtures of vote shares, or calibrated ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from svmproba._types import Floats
from svmproba.bootstrap.fitted import NO_GUARANTEE, FittedEnsemble, ensemble_vote_shares
from svmproba.bootstrap.fitting.members import mean_scores, transformed
from svmproba.bootstrap.summaries.blocks import row_blocks
from svmproba.bootstrap.summaries.spread import (
    deviations,
    family_mixtures,
    mixture_scores,
    score_ratios,
)
from svmproba.bootstrap.summaries.votes import mix_shares
from svmproba.links._choose import fit_link
from svmproba.solvers.kernels import Rows

#: Out-of-bag scores from fewer bags than this are too rough to calibrate on.
LEAST_BAGS = 5
#: Share of a sigmoid of the score in calibrated probabilities.
TIE_BREAK = 1e-9


def with_calibration(ensemble: FittedEnsemble, calibration: str | None) -> FittedEnsemble:
    """Fit a link, or take it away; the threshold goes back to one half, without rate or costs."""
    plain = replace(
        ensemble,
        calibrator=None,
        oob_proba=ensemble.vote_proba,
        threshold=0.0,
        proba_threshold=0.5,
        jackknife=None,
        costs=None,
        guarantee=NO_GUARANTEE,
    )
    if calibration is None:
        return plain
    scaled = ensemble.oob_scores / ensemble.score_scales[:, np.newaxis]
    enough = np.count_nonzero(ensemble.counts == 0, axis=0) >= LEAST_BAGS
    usable = enough & ~np.isnan(scaled).any(axis=0)
    if not usable.any():
        raise ValueError(
            f"calibration={calibration!r} needs samples that {LEAST_BAGS} bags left out; "
            f"there is none with n_bootstraps={len(ensemble.counts)}."
        )
    in_use = ensemble.weights > 0
    link = fit_link(
        calibration,
        scaled[np.ix_(in_use, usable)],
        (ensemble.weights @ scaled)[usable],
        ensemble.positive[usable],
        families_of(ensemble.thetas)[in_use],
        _ratios(ensemble.weights, scaled, ensemble.oob_spreads)[:, usable],
    )
    P = link_proba(link, ensemble.weights, scaled, ensemble.oob_spreads)
    return replace(plain, calibrator=link, oob_proba=P)


def families_of(thetas: NDArray[Any]) -> NDArray[np.int64]:
    """Give values of equal kernel, gamma and class weight the same number."""
    fields = thetas[["kernel", "gamma", "class_weight"]].tolist()
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(repr(family), len(numbers)) for family in fields])


def positive_proba(ensemble: FittedEnsemble, rows: Rows, n_jobs: int | None, device: str) -> Floats:
    """Probability of the class of interest, before a guarantee by jackknife+."""
    if ensemble.is_calibrated:
        return calibrated_proba(ensemble, rows)
    return mix_shares(ensemble_vote_shares(ensemble, rows, n_jobs, device), ensemble.weights)


def calibrated_proba(ensemble: FittedEnsemble, rows: Rows) -> Floats:
    """Calibrated probability of the class of interest."""
    return link_proba(ensemble.calibrator, ensemble.weights, *scores_and_spreads(ensemble, rows))


def scores_and_spreads(ensemble: FittedEnsemble, rows: Rows) -> tuple[Floats, Floats]:
    """Mean scores over the bags in units of their scales (n_theta, n), and spreads.

    The spreads (n_families, n) are left out, (0, n), where no link reads them.
    """
    members, factors = ensemble.members, ensemble.weights / ensemble.score_scales
    wanted = len(ensemble.oob_spreads) and getattr(ensemble.calibrator, "reads", "") == "ratios"
    mixtures = family_mixtures(members, factors) if wanted else []
    scores, spreads = [], []
    for block in row_blocks(rows.shape[0], rows.shape[1] + members.intercept.size):
        tables = list(transformed(members, rows[block]))
        scores.append(mean_scores(members, tables))
        mixed = mixture_scores(mixtures, tables)
        spreads.append(deviations(mixed) if wanted else np.empty((0, len(scores[-1]))))
    scaled = np.concatenate(scores).T / ensemble.score_scales[:, np.newaxis]
    return scaled, np.concatenate(spreads, axis=1)


def link_proba(link: Any, weights: Floats, scaled: Floats, spreads: Floats) -> Floats:
    """Probability from scaled scores (n_theta, n) and spreads; NaN where they are."""
    mixed = weights @ scaled
    scores = mixed if link.reads == "mixed" else scaled[weights > 0]
    if link.reads == "ratios":
        scores = np.vstack([scores, _ratios(weights, scaled, spreads)])
    known = ~np.isnan(mixed)
    P = np.full(len(mixed), np.nan)
    P[known] = link.predict(scores[..., known])
    # Samples on one step of a link are still ordered, and may be told apart.
    return P + TIE_BREAK * (expit(mixed) - P)


def _ratios(weights: Floats, scaled: Floats, spreads: Floats) -> Floats:
    return score_ratios(weights[:, np.newaxis] * scaled, spreads)
