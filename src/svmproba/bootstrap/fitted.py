"""A fitted bootstrap ensemble as arrays, and what follows from them out of bag.

Everything is about the class of interest: probabilities are its probabilities. Functions that
change how an ensemble decides give another ensemble, which shares all arrays of the fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Bools, Floats
from svmproba.bootstrap.contributions import column_means
from svmproba.bootstrap.fitting.members import (
    Members,
    Training,
    member_scores,
    member_vote_shares,
    score_blocks,
)
from svmproba.bootstrap.groups import one_of_each
from svmproba.bootstrap.guarantee import jackknife_threshold
from svmproba.bootstrap.subgroups import SubgroupRates
from svmproba.bootstrap.summaries.blocks import map_blocks
from svmproba.bootstrap.summaries.profile import (
    profile_records,
    scales_and_thresholds,
    scales_of_varying,
)
from svmproba.bootstrap.summaries.reliability import mean_reliability, weights
from svmproba.bootstrap.summaries.spread import out_of_bag_spreads
from svmproba.bootstrap.summaries.votes import mix_shares, out_of_bag_shares, vote_shares
from svmproba.bootstrap.threshold import RateCurve, calibrated_curve, rate_curve, rates_at_threshold
from svmproba.solvers.kernels import Rows
from svmproba.solvers.runtime.devices import resolve_device

NO_GUARANTEE = "No guarantee: the threshold is where the model put it, and no rate was asked for."


@dataclass(frozen=True, eq=False, repr=False)
class FittedEnsemble:
    """Members of a bootstrap ensemble, what they say out of bag, and how they decide."""

    members: Members
    thetas: NDArray[Any]  # (n_theta,), structured: hyperparameter values
    duality_gap: Floats  # (n_theta, n_bootstraps), relative
    counts: NDArray[np.uint8]  # (n_bootstraps, n_samples), the bags
    n_redraws: int  # bags that were drawn again because they lacked a class
    places: NDArray[np.int64] | None  # (n_samples,), of the samples in the table; None: all
    positive: Bools  # (n_samples,), samples of the class of interest
    reliability: Floats  # (n_theta,), mean out-of-bag measure
    weights: Floats  # (n_theta,), made of it
    score_scales: Floats  # (n_theta,); infinite where all samples have about the same score
    oob_scores: Floats  # (n_theta, n_samples), mean over the bags that left a sample out
    oob_medians: Floats  # (n_theta, n_samples), upper median over the same bags
    oob_spreads: Floats  # (n_families or 0, n_samples), standard deviation of their mixtures
    oob_median: Floats  # (n_samples,), upper weighted median over these bags and all theta
    vote_proba: Floats  # (n_samples,), out-of-bag mixture of the vote shares at the threshold 0
    vote_curve: RateCurve  # rates of the vote shares at many thresholds
    oob_proba: Floats | None  # (n_samples,), in force; None: not known at the threshold
    calibrator: Any = None  # link from scores to probabilities; None: vote shares
    threshold: float | Floats = 0.0  # of the scores, or one for each theta: where votes are counted
    proba_threshold: float = 0.5  # from which on the class of interest is chosen
    jackknife: tuple[int, float] | None = None  # sign of the class, guaranteed rate
    costs: dict[str, float] | None = None  # costs that decide
    guarantee: str = NO_GUARANTEE
    groups: NDArray[np.int64] | None = None  # (n_samples,), -1 for weight 0; None: no groups
    subgroup_rates: SubgroupRates | None = None  # where subgroups have a rate
    separate: bool = False  # whether each of these decides at its own threshold
    column_means: Floats | None = None  # (n_features,) of the samples, for linear members only

    @property
    def is_calibrated(self) -> bool:
        """Whether the probabilities are estimates of P(y=+|x) rather than vote shares."""
        return self.calibrator is not None


class Rates(NamedTuple):
    """Out-of-bag rates of the classes and accuracy, NaN where they are not known."""

    tpr: float
    tnr: float
    accuracy: float


def settle_ensemble(
    members: Members,
    training: Training,
    X: Rows,
    positive: Bools,
    counts: NDArray[np.uint8],
    *,
    thetas: NDArray[Any],
    epsilon: float,
    n_redraws: int,
    places: NDArray[np.int64] | None,
    groups: NDArray[np.int64] | None,
    spread: Callable[[NDArray[Any], float], NDArray[Any]],
    n_jobs: int | None,
    device: str,
) -> FittedEnsemble:
    """Weigh the hyperparameter values and summarise the out-of-bag scores of the samples X.

    ``spread(values, fill)`` puts values of these samples at their places among all samples given.
    """
    reliability, kept = mean_reliability(training.reliability), training.scores
    rho = weights(reliability, epsilon)
    P = mix_shares(out_of_bag_shares(training.twice_votes, counts), rho)
    scales, thresholds = scales_and_thresholds(members, X, counts, n_jobs, device, kept)
    profile = profile_records(
        members,
        X,
        rho,
        counts=counts,
        positive=positive,
        thresholds=thresholds,
        n_jobs=n_jobs,
        device=device,
        kept=kept,
    )
    vote_proba = spread(P, np.nan)
    scales = scales_of_varying(scales, profile.mean)
    spreads = out_of_bag_spreads(members, rho, scales, X, counts, n_jobs, kept)
    return FittedEnsemble(
        members=members,
        thetas=thetas,
        duality_gap=training.gap,
        counts=spread(counts, 0),
        n_redraws=n_redraws,
        places=places,
        positive=spread(positive, False),
        reliability=reliability,
        weights=rho,
        score_scales=scales,
        oob_scores=spread(profile.mean, np.nan),
        oob_medians=spread(profile.medians, np.nan),
        oob_spreads=spread(spreads, np.nan),
        oob_median=spread(profile.median, np.nan),
        vote_proba=vote_proba,
        vote_curve=rate_curve(thresholds, profile, positive),
        oob_proba=vote_proba,
        groups=None if groups is None else spread(groups, -1),
        column_means=column_means(members, X),
    )


def without_target(ensemble: FittedEnsemble) -> FittedEnsemble:
    """Put the threshold back to one half: neither a rate nor costs decide."""
    return replace(
        ensemble,
        oob_proba=ensemble.oob_proba if ensemble.is_calibrated else ensemble.vote_proba,
        threshold=0.0,
        proba_threshold=0.5,
        jackknife=None,
        costs=None,
        guarantee=NO_GUARANTEE,
        subgroup_rates=None,
        separate=False,
    )


def ensemble_vote_shares(
    ensemble: FittedEnsemble, rows: Rows, n_jobs: int | None, device: str
) -> Floats:
    r"""Vote shares :math:`P(+|x,\theta)` at the threshold of the ensemble, (n_theta, n)."""
    threshold = np.reshape(ensemble.threshold, (-1, 1))
    torch_device = resolve_device(device)
    if torch_device is not None:
        from svmproba.bootstrap.fitting.on_device import device_vote_shares

        return device_vote_shares(ensemble.members, rows, threshold, torch_device).T

    def block_shares(block: slice) -> Floats:
        return member_vote_shares(ensemble.members, rows[block], threshold)

    blocks = score_blocks(ensemble.members, rows)
    return np.concatenate(map_blocks(block_shares, blocks, n_jobs)).T


def with_oob_votes(ensemble: FittedEnsemble, rows: Rows, n_jobs: int | None) -> FittedEnsemble:
    """Count the out-of-bag votes of the training samples again, at the threshold in force."""
    threshold = np.reshape(ensemble.threshold, (-1, 1))

    def block_shares(block: slice) -> Floats:
        scores = member_scores(ensemble.members, rows[block])
        return vote_shares(scores, threshold, ensemble.counts[:, block].T == 0)

    blocks = score_blocks(ensemble.members, rows)
    P = mix_shares(np.concatenate(map_blocks(block_shares, blocks, n_jobs)).T, ensemble.weights)
    P[np.isnan(ensemble.oob_median)] = np.nan
    return replace(ensemble, oob_proba=P)


def oob_levels(ensemble: FittedEnsemble) -> Floats:
    """Out-of-bag level of every training sample: what a threshold is compared with."""
    if ensemble.is_calibrated and ensemble.oob_proba is not None:
        return ensemble.oob_proba
    return ensemble.oob_median


def own_scores(ensemble: FittedEnsemble) -> Floats:
    """Score of each training sample over the bags without it; with groups, of one in each group."""
    scaled = ensemble.oob_scores / ensemble.score_scales[:, np.newaxis]
    own: Floats = scaled.mean(axis=0)
    if ensemble.groups is not None:
        known = np.flatnonzero(~np.isnan(own))
        chosen = known[one_of_each(2 * ensemble.groups[known] + ensemble.positive[known])]
        own[np.setdiff1d(np.arange(len(own)), chosen)] = np.nan
    return own


def oob_decisions(ensemble: FittedEnsemble) -> tuple[Floats, Any]:
    """Out-of-bag levels, and the threshold above which they are called positive."""
    if ensemble.jackknife is not None:
        levels = own_scores(ensemble)
        threshold: Any = jackknife_threshold(levels, ensemble.positive, *ensemble.jackknife)
    elif ensemble.oob_proba is not None:
        levels = ensemble.oob_proba
        threshold = np.nextafter(ensemble.proba_threshold, -np.inf)
    else:
        levels, threshold = ensemble.oob_median, ensemble.threshold
    return levels, threshold


def oob_rates(ensemble: FittedEnsemble) -> Rates:
    """Rates of the decisions out of bag; NaN where there are several thresholds."""
    levels, threshold = oob_decisions(ensemble)
    known = ~np.isnan(levels)
    if np.ndim(threshold) or ensemble.separate or not known.any():
        return Rates(np.nan, np.nan, np.nan)
    right = (levels[known] > threshold) == ensemble.positive[known]
    rates = rates_at_threshold(levels, ensemble.positive, float(threshold))
    return Rates(*rates, float(right.mean()))


def curve_of(ensemble: FittedEnsemble) -> RateCurve:
    """Rates at many thresholds, of the scores or of calibrated probabilities."""
    if ensemble.is_calibrated and ensemble.oob_proba is not None:
        return calibrated_curve(ensemble.oob_proba, ensemble.positive)
    return ensemble.vote_curve
