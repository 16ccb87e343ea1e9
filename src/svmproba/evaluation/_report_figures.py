"""The numbers of a report, as plain lists and dictionaries: nothing here knows of HTML."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_auc_score

from svmproba.estimators._records import take_rows
from svmproba.evaluation._calibration import brier_decomposition, calibration_error
from svmproba.evaluation._checks import (
    Calls,
    check_calls,
    check_columns,
    check_probabilities,
    check_size,
)
from svmproba.evaluation._classifiers import is_calibrated
from svmproba.evaluation._limits import auc_limits, mean_limits
from svmproba.evaluation._metrics import class_mse, mse
from svmproba.evaluation._report_model import class_names, drivers, facts
from svmproba.evaluation._report_records import (
    DEMANDS,
    Records,
    Steps,
    ensemble_of,
    first_demand,
    named_columns,
    read_records,
    shares_with_limits,
    take_steps,
)

Floats = NDArray[np.float64]

N_NEAR, N_BINS = 20, 40
COST_NAMES = ("fn", "fp", "tp", "tn")
#: What to do where the model calls nobody: at the usual threshold, and at one that was asked for.
REMEDY = (
    'Give costs, or demand a rate as below. Vote shares move with class_weight="balanced" as well, '
    "calibrated probabilities do not."
)
REMEDY_ASKED = "The costs, or the rate, that were asked for give this threshold: are they right?"
#: Demands of the table that needs no slider.
TABLE_DEMANDS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 1.0)


def report_figures(
    model: Any, X: Any, y: ArrayLike, about: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Compute all numbers of a report.

    Parameters
    ----------
    model, X, y, about
        As in :func:`svmproba.evaluation.report_html`.

    Returns
    -------
    dict
        Of numbers, strings, lists and dictionaries; None where a number is not defined.
    """
    about = {} if about is None else dict(about)
    ensemble, records = ensemble_of(model), read_records(model, X, y)
    costs = _costs(about.get("costs") or ensemble.costs_)
    steps = take_steps(ensemble, records)
    present, n_plus = _present(ensemble, records), int(records.positive.sum())
    figures = {
        "names": class_names(ensemble, about),
        "n": len(records.positive),
        "n_plus": n_plus,
        "n_minus": len(records.positive) - n_plus,
        "n_left_aside": int(np.size(y) - len(records.positive)),
        "n_trained_on": records.n_trained_on,
        "out_of_bag": records.out_of_bag,
        "by_cost": ensemble.costs_ is not None,
        "calibrated": is_calibrated(ensemble),
        "present": present,
        "steps": _steps(steps, records),
        "table": [round(1000 * demand) for demand in TABLE_DEMANDS],
        "costs": costs,
        "histogram": _histogram(ensemble, records, steps),
        "quality": quality(ensemble, records),
        "near": _near(ensemble, records, steps, X, present["proba_threshold"]),
        "drivers": drivers(model, records),
        "guarantee": ensemble.guarantee_,
        "facts": facts(model),
        "warnings": [str(text) for text in about.get("warnings", ())],
    }
    figures["findings"] = _findings(ensemble, records, X, figures["names"], figures["by_cost"])
    plain: dict[str, Any] = _plain(figures)
    return plain


def _present(ensemble: Any, records: Records) -> dict[str, Any]:
    """Tell what the model does at its own threshold."""
    n_plus, n_minus = int(records.positive.sum()), int((~records.positive).sum())
    tp = int(np.sum(records.called & records.positive))
    fp = int(np.sum(records.called & ~records.positive))
    threshold: Any = ensemble.proba_threshold_ if is_calibrated(ensemble) else ensemble.threshold_
    scores_decide = is_calibrated(ensemble) or ensemble.costs_ is None
    one_threshold = (
        scores_decide and np.ndim(threshold) == 0 and ensemble.ensemble_.jackknife is None
    )
    counts = np.array([tp, n_plus - tp, fp, n_minus - fp])
    return {
        "tp": tp,
        "fp": fp,
        "tpr": shares_with_limits(tp, n_plus),
        "tnr": shares_with_limits(n_minus - fp, n_minus),
        "precision": shares_with_limits(tp, tp + fp),
        "oob_tpr": ensemble.oob_tpr_,
        "oob_tnr": ensemble.oob_tnr_,
        "threshold": threshold if one_threshold else None,
        "proba_threshold": ensemble.proba_threshold_,
        "per_thousand": _thousand(counts),
    }


def _findings(
    ensemble: Any, records: Records, X: Any, names: dict[str, str], by_cost: bool
) -> list[str]:
    """Tell what to know before the page is trusted."""
    positive, called = records.positive, records.called
    n_plus = int(positive.sum())
    tp = int(np.sum(called & positive))
    calls = Calls(tp, int(called.sum()) - tp, n_plus, len(positive) - n_plus)
    classes = names["positive"], names["negative"]
    usual = (
        not by_cost and np.ndim(ensemble.threshold_) == 0 and ensemble.ensemble_.jackknife is None
    )
    usual = usual and ensemble.threshold_ == 0 and ensemble.proba_threshold_ == 0.5
    found = check_size(calls, classes)
    found += check_calls(calls, classes, REMEDY if usual else REMEDY_ASKED, usual)
    found += check_probabilities(positive, records.proba)
    columns = {} if ensemble.kernel == "precomputed" else named_columns(X, records.place)
    found += check_columns(columns, positive, records.proba)
    return [finding.text for finding in found]


def _thousand(counts: NDArray[np.int64]) -> list[int]:
    """Scale counts to a sum of 1000, in whole numbers by largest remainders."""
    exact = 1000 * counts / counts.sum()
    whole = np.floor(exact).astype(int)
    largest = np.argsort(whole - exact, kind="stable")[: 1000 - whole.sum()]
    whole[largest] += 1
    return [int(value) for value in whole]


def _steps(steps: Steps, records: Records) -> dict[str, Any]:
    """Columns of the demands: what the page reads instead of computing it."""
    n_plus, n_minus = int(records.positive.sum()), int((~records.positive).sum())
    columns: dict[str, Any] = {"tp": steps.tp, "fp": steps.fp}
    trials: dict[str, tuple[Any, Any]] = {
        "tpr": (steps.tp, n_plus),
        "tnr": (n_minus - steps.fp, n_minus),
        "precision": (steps.tp, steps.tp + steps.fp),
    }
    for name, (hits, of) in trials.items():
        _, lower, upper = shares_with_limits(hits, of)
        columns[f"{name}_lower"], columns[f"{name}_upper"] = lower.round(4), upper.round(4)
    columns["oob_tpr"], columns["oob_tnr"] = steps.oob_tpr.round(5), steps.oob_tnr.round(5)
    # Nobody is called at a demand of 0: its threshold is above all numbers.
    columns["threshold"] = [
        float(f"{threshold:.6g}") if abs(threshold) < 1e300 else None
        for threshold in steps.threshold
    ]
    return columns


def _costs(costs: Mapping[str, Any] | None) -> dict[str, Any]:
    """Costs of the four outcomes; 1 for a miss and a false alarm where none were given."""
    given = {} if costs is None else {str(k).removesuffix("_cost"): v for k, v in costs.items()}
    unknown = set(given) - set(COST_NAMES)
    if unknown:
        raise ValueError(f"about['costs'] must have keys among {COST_NAMES}, got {unknown}.")
    found: dict[str, Any] = {"fn": 1.0, "fp": 1.0, "tp": 0.0, "tn": 0.0} | given
    for name, cost in found.items():
        if not isinstance(cost, int | float | np.number) or not np.isfinite(cost):
            raise ValueError(f"about['costs'][{name!r}] must be a finite number, got {cost!r}.")
    return {**found, "given": bool(given)}


def _histogram(ensemble: Any, records: Records, steps: Steps) -> dict[str, Any]:
    """Share of either class in bins of what decides, and the place of the thresholds among them."""
    if is_calibrated(ensemble):
        low, high = 0.0, 1.0
    else:
        low, high = np.quantile(records.level, [0.005, 0.995]).tolist()
        inside = steps.threshold[np.abs(steps.threshold) < 1e300]
        low, high = min(low, float(inside.min())), max(high, float(np.quantile(inside, 0.99)))
        margin = 0.02 * (high - low) or 1.0
        low, high = low - margin, high + margin
    edges = np.linspace(low, high, N_BINS + 1)
    shares = [
        np.histogram(np.clip(records.level[of_class], low, high), edges)[0] / of_class.sum()
        for of_class in (records.positive, ~records.positive)
    ]
    return {"low": low, "high": high, "positive": shares[0], "negative": shares[1]}


def quality(ensemble: Any, records: Records) -> dict[str, Any]:
    """Errors of the probabilities with limits, and their reliability with bands."""
    positive, P = records.positive, records.proba
    squares = (positive - P) ** 2
    # Half a vote less than all: an infinite loss would tell nothing.
    least = 1e-9 if is_calibrated(ensemble) else 0.5 / (ensemble.intercept_.shape[1] + 1)
    losses = -np.log(np.clip(np.where(positive, P, 1 - P), least, 1))
    mse_plus, mse_minus = class_mse(positive, P, pos_label=True)
    found = calibration_error(positive, P, pos_label=True)
    parts = brier_decomposition(positive, P, pos_label=True)
    curve, auc, n_plus = found.curve, float(roc_auc_score(positive, P)), int(positive.sum())
    return {
        "mse": [mse(positive, P, pos_label=True), *mean_limits(squares)],
        "mse_plus": [mse_plus, *mean_limits(squares[positive])],
        "mse_minus": [mse_minus, *mean_limits(squares[~positive])],
        "auc": [auc, *auc_limits(auc, n_plus, len(P) - n_plus)],
        "log_loss": [float(losses.mean()), *mean_limits(losses)],
        "least": least,
        "base_mse": parts.uncertainty,
        "base_log_loss": _entropy(float(positive.mean())),
        "miscalibration": parts.miscalibration,
        "error": [found.error, found.lower, found.upper],
        "curve": [
            dict(zip(("said", "seen", "n", "lower", "upper"), row, strict=True))
            for row in zip(*(column.tolist() for column in curve), strict=True)
        ],
        "counts": np.histogram(P, np.linspace(0, 1, 21))[0],
    }


def _entropy(share: float) -> float:
    return float(-(share * np.log(share) + (1 - share) * np.log(1 - share)))


def _near(
    ensemble: Any, records: Records, steps: Steps, X: Any, threshold: float
) -> dict[str, Any]:
    """Return the records whose probability is nearest to the threshold."""
    distance = np.abs(records.proba - threshold)
    order = np.argsort(distance, kind="stable")[:N_NEAR]
    order = order[np.argsort(-records.proba[order], kind="stable")]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        limits = ensemble.predict_proba_interval(take_rows(records.rows, order))
    # Bags with a training record in them were not asked for its probability.
    lower = np.minimum(limits[:, 0], records.proba[order])
    upper = np.maximum(limits[:, 1], records.proba[order])
    demand = first_demand(steps, records.level[order], is_calibrated(ensemble))
    names, named = _record_names(X, records.place[order])
    rows = [
        {
            "name": names[i],
            "proba": records.proba[k],
            "lower": lower[i],
            "upper": upper[i],
            "positive": bool(records.positive[k]),
            "called": bool(records.called[k]),
            "demand": DEMANDS[demand[i]] if demand[i] < len(DEMANDS) else None,
        }
        for i, k in enumerate(order)
    ]
    return {
        "rows": rows,
        "named": named,
        "n_close": int(np.sum(distance <= 0.05)),
        "rough": any("sampling variance" in str(one.message) for one in caught),
    }


def _record_names(X: Any, places: NDArray[np.intp]) -> tuple[list[str], bool]:
    """Names of records: those of a pandas index, else row numbers from 1."""
    index = getattr(X, "index", None)
    if index is None or callable(index) or np.array_equal(index, np.arange(len(index))):
        return [str(place + 1) for place in places], False
    return [str(index[place]) for place in places], True


def _plain(value: Any) -> Any:
    """Turn arrays into lists and what is not finite into None, so that JSON can hold it."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
