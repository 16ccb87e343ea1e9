"""What a report states about the model: its classes, coefficients and settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from svmproba._types import Floats
from svmproba.bootstrap.guarantee import in_records
from svmproba.bootstrap.intervals import percentile_interval
from svmproba.estimators.ensemble.attributes import training_size
from svmproba.evaluation._classifiers import is_calibrated
from svmproba.evaluation.explanations._original_columns import column_names
from svmproba.evaluation.report._records import Records, ensemble_of

N_DRIVERS = 20
#: Labels that mean nothing without the name of the target.
BARE_LABELS = {"yes", "no", "y", "n", "true", "false", "t", "f", "0", "1", "-1", "+", "-", "+1"}


def class_names(ensemble: Any, about: Mapping[str, Any]) -> dict[str, str]:
    """Names of the classes, the records and the target, for readers."""
    labels = ensemble.classes_.tolist()
    target = about.get("target")
    return {
        "positive": label_name(labels[ensemble._plus], target),
        "negative": label_name(labels[1 - ensemble._plus], target),
        "records": str(about.get("records") or "records"),
        "target": "" if target is None else str(target),
    }


def label_name(label: Any, target: Any) -> str:
    """Name of a class: its label, if that says enough without the target."""
    if isinstance(label, str) and (target is None or label.lower() not in BARE_LABELS):
        return label
    return f"class {label}" if target is None else f"{target} = {label}"


def drivers(model: Any, records: Records) -> dict[str, Any] | None:
    r"""Coefficients of a linear ensemble with their intervals, largest first; None for kernels.

    Times the standard deviations of the columns: :math:`\beta_{bj}=s_j\sum_\theta\rho_\theta
    w_{\theta bj}/\sigma_\theta`.
    """
    ensemble = ensemble_of(model)
    if (ensemble.thetas_["kernel"] != "linear").any():
        return None
    weights = ensemble.weights_ / ensemble.score_scales_
    spread = _column_spread(records.rows)
    by_bag = np.tensordot(weights, ensemble.member_coef_, axes=1) * spread
    mean = by_bag.mean(axis=0)
    lower, upper = percentile_interval(by_bag)
    same_sign = np.mean(np.sign(by_bag) == np.sign(mean), axis=0)
    names = column_names(model, len(mean))
    shown = np.argsort(-np.abs(mean), kind="stable")[:N_DRIVERS]
    columns = {"coef": mean, "lower": lower, "upper": upper, "same_sign": same_sign}
    rows = [
        {"name": names[j], **{name: float(column[j]) for name, column in columns.items()}}
        for j in shown
    ]
    return {
        "rows": rows,
        "n_columns": len(mean),
        "n_sure": int(np.sum((lower > 0) | (upper < 0))),
    }


def _column_spread(rows: Any) -> Floats:
    """Compute the standard deviation of every column of a dense or sparse table."""
    if hasattr(rows, "multiply"):
        mean = np.asarray(rows.mean(axis=0)).ravel()
        square = np.asarray(rows.multiply(rows).mean(axis=0)).ravel()
        return np.sqrt(np.maximum(square - mean**2, 0.0))
    return np.asarray(rows, dtype=np.float64).std(axis=0)


def facts(model: Any) -> list[tuple[str, str]]:
    """List settings and size of the model, as names and values."""
    ensemble = ensemble_of(model)
    n_bags = ensemble.intercept_.shape[-1]
    C, gamma = ensemble.thetas_["C"], ensemble.thetas_["gamma"]
    gaps = ensemble.duality_gap_[np.isfinite(ensemble.duality_gap_)]
    columns = f"{ensemble.n_features_in_}"
    if isinstance(model, Pipeline) and hasattr(model, "n_features_in_"):
        columns = f"{model.n_features_in_}, encoded as {ensemble.n_features_in_} numbers"
    found = [
        ("Model", type(ensemble).__name__),
        ("Trained on", in_records(training_size(ensemble))),
        ("Columns", columns),
        ("Bags", f"{n_bags}"),
        ("SVMs", f"{ensemble.intercept_.size}"),
        ("Kernel", " and ".join(dict.fromkeys(ensemble.thetas_["kernel"].tolist()))),
        ("C", _range(np.unique(C))),
    ]
    if not np.isnan(gamma).all():
        found.append(("gamma", _range(np.unique(gamma))))
    class_weight = np.unique(ensemble.thetas_["class_weight"])
    if len(class_weight) > 1 or class_weight[0] != 1:
        of_two = len(ensemble.classes_) == 2
        what = "class of interest" if of_two else "class of largest weight by the smallest"
        found.append((f"Weight of the {what}", _range(class_weight)))
    found += [
        ("Most reliable C", f"{C[np.argmax(ensemble.reliability_)]:.4g}"),
        ("Hyperparameters weighted by", f"out-of-bag {ensemble.reliability}".replace("_", " ")),
        ("Probabilities", _link_name(ensemble)),
        ("Largest relative optimality gap", f"{gaps.max():.1e}" if len(gaps) else "unknown"),
    ]
    for name in ("min_tpr", "min_tnr", "min_accuracy", "target_tpr", "target_tnr"):
        if getattr(ensemble, name, None) is not None:
            found.append((name, f"{getattr(ensemble, name):g}"))
    if hasattr(ensemble, "summary_"):
        found.append(("Constrained SVMs", ensemble.summary_))
    return found


def _range(values: Floats) -> str:
    if len(values) == 1:
        return f"{values[0]:.4g}"
    return f"{values[0]:.4g} to {values[-1]:.4g}, {len(values)} values"


def _link_name(ensemble: Any) -> str:
    if not is_calibrated(ensemble):
        return "vote shares, not calibrated"
    link = ensemble.calibrator_
    if len(ensemble.classes_) > 2:
        scaling = link.scaling.kind_
        return (
            f"calibrated on out-of-bag scores ({type(link.links[0]).__name__} for each pair of "
            f"classes, coupled; scaling: {scaling})"
        )
    name = type(link).__name__
    return f"calibrated on out-of-bag scores ({name})"
