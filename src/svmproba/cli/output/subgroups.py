"""Rates of subgroups of the records, and what a rate in every one of them costs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from svmproba._types import Bools
from svmproba.bootstrap.fitted import oob_decisions
from svmproba.cli.task import Task
from svmproba.cli.training import Goal, reach_rate
from svmproba.estimators.input.groups import read_subgroups
from svmproba.evaluation.measures.subgroups import subgroup_table


def subgroup_rows(model: Pipeline, task: Task, goal: Goal) -> list[dict[str, Any]]:
    """Out-of-bag rates of every subgroup; none without subgroups.

    ``"called_without"`` is the share called positive where the rate is reached for all together.
    """
    called = None if task.by is None else _called(model["svm"])
    if called is None or task.by is None:
        return []
    known, kept = ~np.isnan(called), task.kept
    positive = (task.y[kept] == task.positive)[known]
    subgroups = read_subgroups(task.by[kept][known], int(known.sum()))
    table = subgroup_table(called[known] > 0, positive, subgroups)._asdict()
    if goal.wants_rate:
        without = _called(reach_rate(model["columns"], model["svm"], task, goal, each=False))
        if without is not None:
            alone = subgroup_table(without[known] > 0, positive, subgroups)
            table["called_without"] = alone.called
    rows = zip(*(column.tolist() for column in table.values()), strict=True)
    return [dict(zip(table, row, strict=True)) for row in rows]


def _called(svm: Any) -> Any:
    """Which training records are called positive out of bag, 0 or 1; NaN where it is unknown."""
    levels, threshold = oob_decisions(svm.ensemble_)
    if np.ndim(threshold) or svm.ensemble_.jackknife is not None:
        return None
    called: Bools = levels > threshold
    return np.where(np.isnan(levels), np.nan, called)


def subgroups_in_words(about: dict[str, Any]) -> list[str]:
    """Lines of text on what `subgroup_rows` gives."""
    rows = about.get("subgroups")
    if not rows:
        return []
    positive, negative = about["positive"], about["negative"]
    width = max(len(str(row["subgroup"])) for row in rows)
    lines = ["", f"In each subgroup of {about['by']!r}, out of bag, with 95 % limits:"]
    for row in rows:
        tpr = _share(row["tpr"], row["tpr_lower"], row["tpr_upper"])
        tnr = "unknown"
        if row["fpr"] is not None:
            tnr = _share(*(1 - row[name] for name in ("fpr", "fpr_upper", "fpr_lower")))
        without = row.get("called_without")
        price = "" if without is None else f" ({100 * without:.1f} % without its own rate)"
        lines.append(
            f"  {row['subgroup']:<{width}}  recall of {positive!r} {tpr}, of {negative!r} {tnr}; "
            f"{positive!r} is decided for {100 * row['called']:.1f} % of {row['n_samples']:,} "
            f"records{price}"
        )
    return lines


def _share(share: float | None, lower: float, upper: float) -> str:
    if share is None:
        return "unknown"
    return f"{100 * share:.1f} % ({100 * lower:.1f} to {100 * upper:.1f} %)"
