"""Confidence limits of the figures of a fit, and warnings about them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from svmproba.bootstrap.fitted import oob_levels
from svmproba.bootstrap.intervals import clopper_pearson
from svmproba.cli.task import Task
from svmproba.cli.training import Goal
from svmproba.evaluation._checks import (
    Calls,
    Finding,
    check_calls,
    check_columns,
    check_probabilities,
    check_size,
)
from svmproba.evaluation.measures.limits import auc_limits, mean_limits

REMEDY = (
    "Give costs (--costs fn=500,fp=20) or a rate (--tpr 0.8). Without calibration, "
    "--class-weight balanced helps as well."
)


def limits_of(model: Pipeline, task: Task, figures: dict[str, Any]) -> dict[str, list[float]]:
    """Find 95 % limits of the figures: Clopper and Pearson, Newcombe and Student."""
    calls, truth, proba = _out_of_bag(model, task, figures)
    found: dict[str, tuple[Any, Any]] = {}
    if calls is not None:
        right = calls.tp + calls.n_minus - calls.fp
        found["tpr"] = clopper_pearson(calls.tp, calls.n_plus)
        found["tnr"] = clopper_pearson(calls.n_minus - calls.fp, calls.n_minus)
        found["accuracy"] = clopper_pearson(right, calls.n_plus + calls.n_minus)
    if proba is not None:
        n_plus = int(truth.sum())
        found["auc"] = auc_limits(figures["auc"], n_plus, len(truth) - n_plus)
        found["mse"] = mean_limits((truth - proba) ** 2)
    return {name: [float(limit) for limit in pair] for name, pair in found.items()}


def findings_of(
    model: Pipeline, task: Task, goal: Goal, figures: dict[str, Any]
) -> list[dict[str, str]]:
    """Collect what to know before the figures are trusted, each with ``"name"`` and ``"text"``."""
    calls, truth, proba = _out_of_bag(model, task, figures)
    names = repr(task.positive), repr(task.negative)
    usual, remedy = not goal.wants_rate and goal.costs is None, REMEDY
    if not usual:
        asked = "--tpr or --tnr" if goal.wants_rate else "--costs"
        remedy = f"This follows from {asked}: is the value right?"
    n_plus = int(truth.sum())
    found: list[Finding] = check_size(n_plus, len(truth) - n_plus, names)
    if calls is not None:
        found += check_calls(calls, names, remedy, usual)
    if proba is not None:
        known = ~np.isnan(oob_levels(model["svm"].ensemble_))
        columns = task.X.iloc[task.kept[known]]
        found += check_probabilities(truth, proba)
        found += check_columns({name: columns[name] for name in columns}, truth, proba)
    return [finding._asdict() for finding in found]


def _out_of_bag(model: Pipeline, task: Task, figures: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Decisions, labels and probabilities out of bag; None for what is unknown."""
    svm = model["svm"]
    known = ~np.isnan(oob_levels(svm.ensemble_))
    truth = (task.y[task.kept] == task.positive)[known]
    calls = proba = None
    n_plus = int(truth.sum())
    n_minus = len(truth) - n_plus
    if not np.isnan(figures["tpr"]) and not np.isnan(figures["tnr"]):
        tp, tn = round(figures["tpr"] * n_plus), round(figures["tnr"] * n_minus)
        calls = Calls(tp, n_minus - tn, n_plus, n_minus)
    if hasattr(svm, "oob_proba_"):
        proba = svm.oob_proba_[known, list(svm.classes_).index(task.positive)]
    return calls, truth, proba
