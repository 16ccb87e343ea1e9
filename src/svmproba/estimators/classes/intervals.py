"""Intervals of the probabilities of more than two classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmproba._types import Floats
from svmproba.bootstrap.classes.calls import bag_calls
from svmproba.bootstrap.classes.fitted import FittedClasses
from svmproba.bootstrap.summaries.blocks import map_blocks, row_blocks
from svmproba.estimators.classes.calibration import bag_class_proba, calibrated_class_proba
from svmproba.estimators.ensemble.intervals import limits_of_bags, warn_if_not_estimated
from svmproba.solvers.kernels import Rows


def class_interval(
    ensemble: FittedClasses, rows: Rows, confidence: float, kind: str, n_jobs: int | None
) -> Floats:
    """Limits (n, n_classes, 2), see `BootstrapSVC.predict_proba_interval`."""
    if kind == "venn_abers":
        raise ValueError("kind='venn_abers' needs two classes: give 'simulation' or 'sampling'.")
    if kind == "sampling" and ensemble.groups is not None:
        raise ValueError("kind='sampling' with groups of samples needs two classes.")
    members, calibrated = ensemble.members, ensemble.is_calibrated
    n_classes, n_bags = members.n_classes, len(ensemble.counts)

    def block_interval(block: slice) -> tuple[Floats, Any]:
        some = rows[block]
        if calibrated:
            values = bag_class_proba(ensemble, some)
        else:
            values = bag_calls(members, some, ensemble.weights, ensemble.shifts)
        flat = np.clip(values, 0.0, 1.0).reshape(-1, n_bags).T  # (n_bags, n * n_classes)
        fixed = (ensemble.counts, confidence, kind)
        limits, estimated = limits_of_bags(flat, *fixed, votes=not calibrated)
        limits = limits.reshape(-1, n_classes, 2)
        if calibrated:
            # The probability of the mean score is not quite the mean of the probabilities.
            P = calibrated_class_proba(ensemble, some, 1)
            limits += (P - values.mean(axis=2))[:, :, np.newaxis]
        return np.clip(limits, 0.0, 1.0), estimated

    n_theta, n_pairs = len(ensemble.weights), len(members.of_pair)
    width = n_bags * (2 * n_classes + (n_pairs * (n_theta + 2) if calibrated else n_classes))
    parts = map_blocks(block_interval, row_blocks(rows.shape[0], width), n_jobs)
    limits, estimated = zip(*parts, strict=True)
    if kind == "sampling":
        warn_if_not_estimated(np.concatenate(estimated), ensemble.counts.shape, "samples")
    return np.concatenate(limits)
