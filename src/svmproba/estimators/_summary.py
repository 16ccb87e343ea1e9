"""A fitted bootstrap ensemble in a few lines, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np


def training_size(model: Any) -> str:
    """Tell on how many records an ensemble was trained."""
    if getattr(model, "oob_records_", None) is None:
        return f"{model.counts_.shape[1]} records"
    return f"{model.n_subsets_} subsets of {model.subset_size_} records"


def summary_of(model: Any) -> list[str]:
    """Sentences on a fitted ensemble."""
    n_theta, n_bags = model.intercept_.shape
    gaps = model.duality_gap_[np.isfinite(model.duality_gap_)]
    largest = f"; largest certified gap {gaps.max():.1e}" if len(gaps) else ""
    rates = {"TPR": model.oob_tpr_, "TNR": model.oob_tnr_, "accuracy": model.oob_score_}
    known = ", ".join(f"{name} {rate:.1%}" for name, rate in rates.items() if rate == rate)
    kind = "vote shares" if model.calibrator_ is None else "calibrated"
    return [
        f"{n_bags} bags × {n_theta} hyperparameter values = {n_bags * n_theta} SVMs on "
        f"{training_size(model)}{largest}.",
        f"Out of bag, {model.pos_label_!s} being positive: {known or 'rates not known'}. "
        f"Probabilities: {kind}.",
        model.guarantee_,
    ]


def with_list(html: str, lines: Sequence[str]) -> str:
    """HTML with a list at its end."""
    return f"{html}<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"
