"""Out-of-bag figures of a fitted model, and their description in words."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline

from svmproba.bootstrap.guarantee import in_records
from svmproba.cli.costs import Costs, rule_in_words
from svmproba.cli.output.doubts import findings_of, limits_of
from svmproba.cli.output.subgroups import subgroup_rows, subgroups_in_words
from svmproba.cli.task import Task
from svmproba.cli.training import Goal, n_features
from svmproba.evaluation import brier_decomposition

NOT_GUARANTEED = (
    "anything about records of another population, of another time, or measured in another way"
)


def describe(model: Pipeline, task: Task, goal: Goal, target: str) -> dict[str, Any]:
    """Collect what is saved with a model, in types of JSON."""
    found = figures(model, task, goal)
    return {
        **setting_of(model, task, goal, target),
        "goal": {"tpr": goal.tpr, "tnr": goal.tnr, "guarantee": goal.guarantee},
        "figures": found,
        "limits": limits_of(model, task, found),
        "findings": findings_of(model, task, goal, found),
        "subgroups": subgroup_rows(model, task, goal),
    }


def setting_of(model: Pipeline, task: Task, goal: Goal, target: str) -> dict[str, Any]:
    """Tell what a model was fitted for, with any number of classes."""
    return {
        "target": target,
        "classes": task.classes,
        "positive": task.positive,
        "negative": task.negative,
        "columns": [column.to_dict() for column in task.plan],
        "wants_rate": goal.wants_rate,
        "calibration": goal.calibration,
        "costs": None if goal.costs is None else asdict(goal.costs),
        "guarantee": in_records(model["svm"].guarantee_),
    }


def sizes_of(model: Pipeline, task: Task) -> dict[str, int]:
    """Count what a model was made of."""
    return {
        "n_records": len(task.kept),
        "n_held_out": len(task.held_out),
        "n_features": n_features(model),
        "n_bootstraps": model["svm"].n_bootstraps,
        "n_theta": len(model["svm"].thetas_),
    }


def figures(model: Pipeline, task: Task, goal: Goal) -> dict[str, Any]:
    """Measure the decisions of `svmproba predict` out of bag; NaN where a figure is unknown."""
    svm, kept = model["svm"], task.kept
    positive = task.y[kept] == task.positive
    found: dict[str, Any] = {
        **sizes_of(model, task),
        "n_positive": int(positive.sum()),
        "tpr": svm.oob_tpr_,
        "tnr": svm.oob_tnr_,
        "accuracy": svm.oob_score_,
    }
    if hasattr(svm, "oob_proba_"):
        proba = svm.oob_proba_[:, list(svm.classes_).index(task.positive)]
        known = ~np.isnan(proba)
        truth, proba = positive[known], proba[known]
        parts = brier_decomposition(truth, proba, pos_label=True)
        found |= {"auc": roc_auc_score(truth, proba), "mse": parts.mse}
        found |= {"miscalibration": parts.miscalibration, "mse_of_base_rate": parts.uncertainty}
    if goal.costs is not None:
        found |= _costs(found, positive.mean(), goal)
    return {
        name: value if isinstance(value, int) else float(value) for name, value in found.items()
    }


def _costs(found: dict[str, Any], share: float, goal: Goal) -> dict[str, float]:
    """Mean costs of the decisions, and of deciding positive for all records, or for none."""
    costs = goal.costs
    assert isinstance(costs, Costs)

    def mean(tpr: float, tnr: float) -> float:
        of_positives = tpr * costs.tp + (1 - tpr) * costs.fn
        return share * of_positives + (1 - share) * (tnr * costs.tn + (1 - tnr) * costs.fp)

    return {
        "mean_cost": mean(found["tpr"], found["tnr"]),
        "mean_cost_all_positive": mean(1.0, 0.0),
        "mean_cost_all_negative": mean(0.0, 1.0),
    }


def in_words(about: dict[str, Any], threshold: float) -> list[str]:
    """Summarise what `describe` returns in lines of text."""
    found, positive = about["figures"], about["positive"]
    records = f"{found['n_records']:,} records, {found['n_positive']:,} of them {positive!r}"
    told, limits = _told(about, found), about["limits"]
    width = max(len(name) for _, name, _, _ in told)
    broad = max(len(_span(key, limits)) for key, *_ in told)
    lines = [
        *head(found, records),
        *(
            f"  {name.ljust(width)}  {value:>7}  {_span(key, limits):<{broad}}  ({why})"
            for key, name, value, why in told
        ),
        "",
        f"Decision: {rule_in_words(about, threshold)}.",
    ]
    if "mean_cost" in found:
        every, none = (money(found[f"mean_cost_all_{c}"]) for c in ("positive", "negative"))
        lines.append(
            f"Mean cost per record: {money(found['mean_cost'])}; {every} if the decision is "
            f"always {positive!r}, {none} if it never is."
        )
    return [*lines, *subgroups_in_words(about), *tail(about)]


def head(found: dict[str, Any], records: str, pairs: str = "") -> list[str]:
    """First lines of a summary: what was fitted."""
    held = f"; {found['n_held_out']:,} more were held out" if found["n_held_out"] else ""
    return [
        f"Fitted on {records}{held}.",
        f"{found['n_bootstraps']} bags x {found['n_theta']} hyperparameter values{pairs}, "
        f"{found['n_features']} features.",
        "",
        "Out of bag (records that the SVMs were not fitted on), with 95 % limits:",
    ]


def tail(about: dict[str, Any]) -> list[str]:
    """Last lines of a summary: warnings, and what is guaranteed."""
    lines = []
    if about["findings"]:
        texts = (finding["text"] for finding in about["findings"])
        notes = (textwrap.fill(f"- {text}", 90, subsequent_indent="  ") for text in texts)
        lines += ["", "Before you trust these figures:", *notes]
    guaranteed = about["guarantee"].replace("No guarantee: ", "nothing: ")
    said = [f"Guaranteed: {guaranteed}", f"Not guaranteed: {NOT_GUARANTEED}."]
    return [*lines, "", *(textwrap.fill(text, 90, subsequent_indent="  ") for text in said)]


def _told(about: dict[str, Any], found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Figures: key, name, value, explanation."""
    told = [
        ("tpr", f"recall of {about['positive']!r}", percent(found["tpr"]), "true positive rate"),
        ("tnr", f"recall of {about['negative']!r}", percent(found["tnr"]), "true negative rate"),
        ("accuracy", "accuracy", percent(found["accuracy"]), "share of right decisions"),
    ]
    if "auc" not in found:
        return told
    base = f"of the probability; {found['mse_of_base_rate']:.3f} for the base rate"
    told += [
        ("auc", "ROC AUC", f"{found['auc']:.3f}", "area under the ROC curve; 0.5 is chance"),
        ("mse", "mean squared error", f"{found['mse']:.3f}", base),
    ]
    if about["calibration"] is None:
        return [*told, ("", "calibration", "none", "the probability is a share of votes")]
    how = f"part of that error; the calibration is {about['calibration']!r}"
    return [*told, ("", "miscalibration", f"{found['miscalibration']:.3f}", how)]


def _span(key: str, limits: dict[str, list[float]]) -> str:
    if key not in limits:
        return ""
    lower, upper = limits[key]
    if key in ("auc", "mse"):
        return f"{max(lower, 0.0):.3f} to {upper:.3f}"
    return f"{100 * lower:.1f} to {100 * upper:.1f} %"


def percent(share: float | None) -> str:
    """Write a share in per cent."""
    return "unknown" if share is None or np.isnan(share) else f"{100 * share:.1f} %"


def money(amount: float | None) -> str:
    """Write a cost."""
    return "unknown" if amount is None or np.isnan(amount) else f"{amount:,.4g}"
