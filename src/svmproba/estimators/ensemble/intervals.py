"""Intervals of the probabilities and scores of a fitted ensemble."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from svmproba._types import Bools, Floats
from svmproba.bootstrap.fitted import FittedEnsemble
from svmproba.bootstrap.fitting.members import member_scores, score_blocks
from svmproba.bootstrap.intervals import (
    percentile_interval,
    sampling_interval,
    simulation_interval,
)
from svmproba.bootstrap.summaries.blocks import map_blocks
from svmproba.bootstrap.summaries.votes import twice_votes
from svmproba.estimators.ensemble.calibration import (
    calibrated_proba,
    link_proba,
    scores_and_spreads,
)
from svmproba.links import VennAbersLink
from svmproba.solvers.kernels import Rows

KINDS = ("simulation", "sampling", "venn_abers")


def proba_interval(
    ensemble: FittedEnsemble, rows: Rows, confidence: float, kind: str, n_jobs: int | None
) -> Floats:
    """Limits (n, 2) of the probability, see `BootstrapSVC.predict_proba_interval`."""
    if kind == "venn_abers":
        mixed = ensemble.weights @ scores_and_spreads(ensemble, rows)[0]
        return np.column_stack(_venn_abers(ensemble).interval(mixed))
    calibrated, counts, unit = ensemble.is_calibrated, ensemble.counts, "samples"
    if ensemble.groups is not None:  # what was drawn are groups: one column for each
        names, places = np.unique(ensemble.groups, return_index=True)
        counts, unit = counts[:, places[names >= 0]], "groups"

    def block_interval(block: slice) -> tuple[Floats, Any]:
        values = _bag_probabilities(ensemble, rows[block])
        limits, estimated = limits_of_bags(values, counts, confidence, kind, not calibrated)
        if calibrated:
            # The probability of the mean score is not quite the mean of the probabilities.
            limits += (calibrated_proba(ensemble, rows[block]) - values.mean(axis=0))[:, np.newaxis]
        return np.clip(limits, 0.0, 1.0), estimated

    parts = map_blocks(block_interval, score_blocks(ensemble.members, rows), n_jobs)
    limits, estimated = zip(*parts, strict=True)
    if kind == "sampling" and ensemble.places is None:
        warn_if_not_estimated(np.concatenate(estimated), counts.shape, unit)
    return np.concatenate(limits)


def limits_of_bags(
    values: Floats, counts: Any, confidence: float, kind: str, votes: bool
) -> tuple[Floats, Bools]:
    """Limits (n, 2) from a value of each bag (n_bags, n), and whether their error is estimated."""
    if kind == "sampling":
        found = sampling_interval(values, counts, confidence, votes=votes)
        return np.column_stack(found[:2]), found.estimated
    return np.column_stack(simulation_interval(values, confidence)), np.ones(0, dtype=bool)


def score_interval(
    ensemble: FittedEnsemble, rows: Rows, confidence: float, theta: int | None, n_jobs: int | None
) -> Floats:
    """Limits (n, 2) of the score, see `BootstrapSVC.score_interval`."""
    n_theta = len(ensemble.weights)
    if theta is not None and theta not in range(n_theta):
        raise ValueError(f"theta must be None or in 0, ..., {n_theta - 1}, got {theta!r}.")
    weights = ensemble.weights if theta is None else np.eye(n_theta)[theta]

    def block_interval(block: slice) -> Floats:
        scores = member_scores(ensemble.members, rows[block])
        values = np.tensordot(scores, weights, axes=(1, 0)).T
        return np.column_stack(percentile_interval(values, confidence))

    blocks = score_blocks(ensemble.members, rows)
    return np.concatenate(map_blocks(block_interval, blocks, n_jobs))


def _bag_probabilities(ensemble: FittedEnsemble, rows: Rows) -> Floats:
    """Probability of every bag by itself, shape (n_bootstraps, n_samples), from its scores."""
    scores = member_scores(ensemble.members, rows)
    if ensemble.is_calibrated:
        scaled = np.moveaxis(scores, 1, 0) / ensemble.score_scales[:, np.newaxis, np.newaxis]
        spreads = np.repeat(scores_and_spreads(ensemble, rows)[1], scores.shape[2], axis=1)
        flat = scaled.reshape(len(scaled), -1)
        P = link_proba(ensemble.calibrator, ensemble.weights, flat, spreads)
        return P.reshape(scaled.shape[1:]).T
    votes = twice_votes(scores, np.reshape(ensemble.threshold, (-1, 1))) / 2
    return np.tensordot(votes, ensemble.weights, axes=(1, 0)).T


def _venn_abers(ensemble: FittedEnsemble) -> VennAbersLink:
    mixed = (ensemble.weights / ensemble.score_scales) @ ensemble.oob_scores
    known = ~np.isnan(mixed)
    return VennAbersLink().fit(mixed[known], ensemble.positive[known])


def warn_if_not_estimated(estimated: Any, shape: tuple[int, ...], unit: str) -> None:
    """Warn of sampling variances that the noise of the bags hides."""
    n_failed = int(np.count_nonzero(~estimated))
    if n_failed:
        warnings.warn(
            f"The sampling variance of {n_failed} of {len(estimated)} samples could not be "
            f"estimated: n_bootstraps={shape[0]} is small for {shape[1]} training {unit} (about "
            f"five bags for each are needed), or their votes are unanimous. Their intervals assume "
            f"that training sets move a score as much as bags do.",
            UserWarning,
            stacklevel=4,
        )
