"""Rates under control: thresholds at which a class of a fitted ensemble reaches a rate (CEBB1)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Floats
from svmproba.bootstrap.fitted import FittedEnsemble, oob_levels, own_scores
from svmproba.bootstrap.fitting.members import member_scores, score_blocks
from svmproba.bootstrap.guarantee import bag_scores, check_kind, jackknife_plus, state_guarantee
from svmproba.bootstrap.summaries.blocks import map_blocks
from svmproba.bootstrap.summaries.profile import profile_records
from svmproba.bootstrap.threshold import HAIR, threshold_for_rate
from svmproba.estimators.ensemble.calibration import calibrated_proba
from svmproba.estimators.input.parameters import check_confidence, check_number
from svmproba.solvers.kernels import Rows

#: Calibrated probabilities above this number, so from one half on, are called positive.
BELOW_HALF = float(np.nextafter(0.5, 0))


class Target(NamedTuple):
    """The rate that a class is to reach, see `BootstrapSVC.with_rate`."""

    sign: int
    rate: float
    per_theta: bool
    exceed: bool
    guarantee: str | None
    confidence: float


def check_target(
    tpr: object,
    tnr: object,
    *,
    per_theta: bool,
    exceed: bool,
    guarantee: str | None,
    confidence: float,
    calibrated: bool,
    new_samples: bool,
    prefix: str = "",
) -> Target:
    """Refuse what is out of range or does not go together, see `BootstrapSVC.with_rate`.

    `new_samples` tells whether samples that had no part in the fit set the threshold; `prefix` is
    that of the names of the rates.
    """
    if (tpr is None) == (tnr is None):
        raise ValueError(
            f"One of {prefix}tpr and {prefix}tnr must be given, and only one, got {tpr!r} and "
            f"{tnr!r}: a threshold has one free rate; rate_curve() tells the other one."
        )
    name, value, sign = ("tpr", tpr, 1) if tnr is None else ("tnr", tnr, -1)
    check_number(prefix + name, value, 0, 1, "a number in [0, 1]")
    check_confidence(confidence)
    check_kind(guarantee)
    if guarantee == "split" and not new_samples:
        raise ValueError(
            "guarantee='split' needs samples that had no part in the fit: give them as X and y."
        )
    if guarantee in ("oob", "jackknife+") and new_samples:
        raise ValueError(f"guarantee={guarantee!r} uses the training samples: leave out X and y.")
    if per_theta and (guarantee is not None or calibrated):
        raise ValueError(
            f"per_theta=True goes with vote shares and guarantee=None, got guarantee={guarantee!r} "
            f"and {'calibrated probabilities' if calibrated else 'vote shares'}."
        )
    rate = float(value)  # type: ignore[arg-type]
    return Target(sign, rate, per_theta, exceed, guarantee, confidence)


def training_levels(ensemble: FittedEnsemble, per_theta: bool) -> Floats:
    """Out-of-bag levels of the training samples, (n,) or (n_theta, n)."""
    return ensemble.oob_medians if per_theta else oob_levels(ensemble)


def new_levels(
    ensemble: FittedEnsemble, rows: Rows, per_theta: bool, n_jobs: int | None, device: str
) -> Floats:
    """Levels of new samples, (n,) or (n_theta, n)."""
    if ensemble.is_calibrated:
        return calibrated_proba(ensemble, rows)
    fixed = (ensemble.members, rows, ensemble.weights)
    profile = profile_records(*fixed, n_jobs=n_jobs, device=device)
    return profile.medians if per_theta else profile.median


def with_rate(
    ensemble: FittedEnsemble,
    target: Target,
    levels: Floats,
    positive: NDArray[np.bool_],
    label: Any,
) -> FittedEnsemble:
    """Move the threshold to where a class, with this label, reaches its rate.

    Levels are (n,), or (n_theta, n) for a threshold for each theta, of the samples that decide on
    the threshold; NaN for one that is not to be counted. In the result costs decide no longer, and
    vote shares have no ``oob_proba``, which would need the training samples again.
    """
    calibrated, guarantee = ensemble.is_calibrated, target.guarantee
    neutral = BELOW_HALF if calibrated else 0.0
    find_threshold = partial(
        threshold_for_rate,
        positive=positive,
        sign=target.sign,
        rate=target.rate,
        neutral=neutral,
        exceed=target.exceed,
        confidence=target.confidence if guarantee in ("split", "oob") else None,
        hair=0.0 if calibrated else HAIR,
    )
    threshold: Any = neutral
    if target.per_theta:
        threshold = np.array([find_threshold(row) for row in levels])
    elif guarantee != "jackknife+":
        threshold = find_threshold(levels)
    judged = ~np.isnan(np.atleast_2d(levels)[0]) & (positive == (target.sign > 0))
    name, n = "tpr" if target.sign > 0 else "tnr", int(np.count_nonzero(judged))
    return replace(
        ensemble,
        threshold=0.0 if calibrated else threshold,
        proba_threshold=float(np.nextafter(threshold, 1)) if calibrated else 0.5,
        oob_proba=ensemble.oob_proba if calibrated else None,
        jackknife=(target.sign, target.rate) if guarantee == "jackknife+" else None,
        costs=None,
        guarantee=state_guarantee(guarantee, name, target.rate, target.confidence, n, label),
    )


def obey_jackknife(ensemble: FittedEnsemble, rows: Rows, P: Floats, n_jobs: int | None) -> Floats:
    """Move probabilities to the side of the threshold that a guarantee by jackknife+ asks for."""
    if ensemble.jackknife is None:
        return P
    (sign, rate), own = ensemble.jackknife, own_scores(ensemble)
    chosen = np.flatnonzero((ensemble.positive == (sign > 0)) & ~np.isnan(own))
    left_out = (ensemble.counts[:, chosen] == 0).T
    own = sign * own[chosen]

    def block_side(block: slice) -> NDArray[np.bool_]:
        scores = member_scores(ensemble.members, rows[block])
        return jackknife_plus(own, left_out, sign * bag_scores(scores, ensemble.score_scales), rate)

    of_class = np.concatenate(map_blocks(block_side, score_blocks(ensemble.members, rows), n_jobs))
    called_positive, limit = of_class == (sign > 0), ensemble.proba_threshold
    return np.where(called_positive, np.maximum(P, limit), np.minimum(P, np.nextafter(limit, 0)))
