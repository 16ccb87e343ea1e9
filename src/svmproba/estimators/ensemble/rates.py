"""Rates under control: thresholds at which a class of a fitted ensemble reaches a rate (CEBB1)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Floats
from svmproba.bootstrap.fitted import FittedEnsemble, oob_levels, own_scores
from svmproba.bootstrap.fitting.members import member_scores, score_blocks
from svmproba.bootstrap.groups import SUBSAMPLINGS
from svmproba.bootstrap.guarantee import (
    bag_scores,
    check_guaranteed,
    check_kind,
    jackknife_plus,
    state_guarantee,
)
from svmproba.bootstrap.subgroups import (
    SubgroupRates,
    Subgroups,
    rates_of_subgroups,
    subgroup_thresholds,
)
from svmproba.bootstrap.summaries.blocks import map_blocks
from svmproba.bootstrap.summaries.profile import profile_records
from svmproba.bootstrap.threshold import CLEARANCE, threshold_for_rate
from svmproba.estimators.ensemble.calibration import calibrated_proba
from svmproba.estimators.input.groups import places_of_labels
from svmproba.estimators.input.parameters import check_confidence, check_number, check_option
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
    subsampling: str = "single"
    common: bool = True


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
    subsampling: str = "single",
    common_threshold: bool = True,
    by: Any = None,
    prefix: str = "",
) -> Target:
    """Refuse what is out of range or does not go together, see `BootstrapSVC.with_rate`."""
    if (tpr is None) == (tnr is None):
        raise ValueError(
            f"One of {prefix}tpr and {prefix}tnr must be given, and only one, got {tpr!r} and "
            f"{tnr!r}: a threshold has one free rate; rate_curve() tells the other one."
        )
    name, value, sign = ("tpr", tpr, 1) if tnr is None else ("tnr", tnr, -1)
    check_number(prefix + name, value, 0, 1, "a number in [0, 1]")
    check_confidence(confidence)
    check_kind(guarantee)
    rate = float(value)  # type: ignore[arg-type]
    check_guaranteed(prefix + name, rate, guarantee)
    check_option("subsampling", subsampling, SUBSAMPLINGS)
    if by is not None and (per_theta or guarantee == "jackknife+"):
        raise ValueError(
            f"by goes with guarantee=None, 'oob' or 'split' and per_theta=False, got "
            f"guarantee={guarantee!r} and per_theta={per_theta!r}."
        )
    if by is None and not common_threshold:
        raise ValueError("common_threshold=False needs by, the subgroup of every sample.")
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
    return Target(
        sign, rate, per_theta, exceed, guarantee, confidence, subsampling, common_threshold
    )


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
    groups: NDArray[np.int64] | None = None,
    subgroups: Subgroups | None = None,
) -> FittedEnsemble:
    """Move the threshold to where a class, with this label, reaches its rate.

    Levels are (n,), or (n_theta, n) with a threshold for each theta; NaN is not counted. In the
    result costs decide no longer, and vote shares have no ``oob_proba``.
    """
    calibrated, jackknife = ensemble.is_calibrated, target.guarantee == "jackknife+"
    neutral = BELOW_HALF if calibrated else 0.0
    clearance = 0.0 if calibrated else CLEARANCE
    found = RateDecision(neutral, None, False)
    if not jackknife:
        found = decide_rate(
            levels, positive, target, groups, subgroups, neutral=neutral, clearance=clearance
        )
    judged = ~np.isnan(np.atleast_2d(levels)[0]) & (positive == (target.sign > 0))
    return replace(
        at_threshold(ensemble, neutral if found.separate else found.threshold),
        oob_proba=ensemble.oob_proba if calibrated else None,
        jackknife=(target.sign, target.rate) if jackknife else None,
        costs=None,
        subgroup_rates=found.rates,
        separate=found.separate,
        guarantee=state_target(target, judged, label, groups, subgroups),
    )


class RateDecision(NamedTuple):
    """How samples are decided on so that a class has its rate."""

    threshold: Any  # for all samples or one for each theta; of the first subgroup if separate
    rates: SubgroupRates | None  # of the subgroups, with their thresholds
    separate: bool  # whether every subgroup has a threshold of its own


def decide_rate(
    levels: Floats,
    positive: NDArray[np.bool_],
    target: Target,
    groups: NDArray[np.int64] | None,
    subgroups: Subgroups | None,
    *,
    neutral: float = 0.0,
    clearance: float = CLEARANCE,
) -> RateDecision:
    """Find the threshold, or those of the subgroups, at which levels reach a target."""
    find: dict[str, Any] = {
        "sign": target.sign,
        "rate": target.rate,
        "neutral": neutral,
        "exceed": target.exceed,
        "confidence": None if target.guarantee is None else target.confidence,
        "clearance": clearance,
        "groups": groups,
        "subsampling": target.subsampling,
    }
    if subgroups is not None:
        found = subgroup_thresholds(levels, positive, subgroups, common=target.common, **find)
        rates = rates_of_subgroups(levels, positive, subgroups, found)
        return RateDecision(float(found[0]), rates, not target.common)
    if target.per_theta:
        of_each = [threshold_for_rate(row, positive, **find) for row in levels]
        return RateDecision(np.array(of_each), None, False)
    return RateDecision(threshold_for_rate(levels, positive, **find), None, False)


def state_target(
    target: Target,
    judged: NDArray[np.bool_],
    label: Any,
    groups: NDArray[np.int64] | None,
    subgroups: Subgroups | None,
) -> str:
    """Say what the judged samples, in groups and subgroups or not, guarantee of a target."""

    def size(places: NDArray[np.bool_]) -> int:
        if groups is None or target.guarantee is None:
            return int(np.count_nonzero(places))
        return len(np.unique(groups[places]))

    sizes = None
    if subgroups is not None:
        pairs = zip(subgroups.names.tolist(), subgroups.masks, strict=True)
        sizes = {name: size(judged & mask) for name, mask in pairs}
    return state_guarantee(
        target.guarantee,
        "tpr" if target.sign > 0 else "tnr",
        target.rate,
        target.confidence,
        size(judged),
        label,
        subsampling=None if groups is None else target.subsampling,
        subgroups=sizes,
    )


def at_threshold(ensemble: FittedEnsemble, threshold: Any) -> FittedEnsemble:
    """Ensemble that calls positive what is above a threshold of its levels."""
    if ensemble.is_calibrated:
        above = float(np.nextafter(threshold, 1))
        return replace(ensemble, threshold=0.0, proba_threshold=above, separate=False)
    return replace(ensemble, threshold=threshold, proba_threshold=0.5, separate=False)


def at_subgroups(ensemble: FittedEnsemble, by: Any, n: int) -> list[tuple[FittedEnsemble, Any]]:
    """Ensembles and the places of the samples that they decide on: one for each threshold."""
    if not ensemble.separate or ensemble.subgroup_rates is None:
        return [(ensemble, slice(None))]
    rates = ensemble.subgroup_rates
    places = places_of_labels(by, rates.subgroup, n)
    return [
        (at_threshold(ensemble, rates.threshold[k]), np.flatnonzero(places == k))
        for k in np.unique(places)
    ]


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
