"""Contributions of the columns to the scores of a report's records."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from svmproba.bootstrap.contributions import Contributions
from svmproba.evaluation.explanations._original_columns import column_names, original_columns
from svmproba.evaluation.report._records import ensemble_of

#: Columns that are listed for each record, and for all of them.
N_REASONS, N_MEANS = 8, 20


def reasons(model: Any, rows: Any) -> list[dict[str, Any]] | None:
    """List the columns that add most to the score of each record; None for kernels."""
    found = _contributions(model, rows)
    return None if found is None else [_reasons_of(found, i) for i in range(len(found.values))]


def mean_sizes(model: Any, rows: Any) -> list[dict[str, Any]] | None:
    """Mean absolute contribution of the columns over the records, largest first."""
    found = _contributions(model, rows)
    if found is None:
        return None
    size = np.abs(found.values).mean(axis=0)
    order = np.argsort(-size, kind="stable")[:N_MEANS]
    return [{"name": found.names[k], "size": float(size[k])} for k in order]


def _contributions(model: Any, rows: Any) -> Contributions | None:
    ensemble = ensemble_of(model)
    if not hasattr(ensemble, "mean_coef_"):
        return None
    piped = isinstance(model, Pipeline)
    groups = original_columns(model) if piped else column_names(model, ensemble.n_features_in_)
    found: Contributions = ensemble.contributions(rows, groups=groups)
    return found


def _reasons_of(found: Contributions, i: int) -> dict[str, Any]:
    values = found.values[i]
    order = np.argsort(-np.abs(values), kind="stable")
    top, rest = order[:N_REASONS], order[N_REASONS:]
    bars = [
        {
            "name": found.names[k],
            "coef": float(values[k]),
            "lower": float(found.lower[i, k]),
            "upper": float(found.upper[i, k]),
        }
        for k in top
    ]
    return {
        "base": found.base,
        "score": found.base + float(values.sum()),
        "bars": bars,
        "n_rest": len(rest),
        "rest": float(values[rest].sum()),
        "reach": max((max(abs(b["lower"]), abs(b["upper"])) for b in bars), default=0.0) or 1.0,
    }
