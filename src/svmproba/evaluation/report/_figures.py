"""The numbers of a report as plain lists and dictionaries, without HTML."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_auc_score

from svmproba._json import plain
from svmproba.bootstrap.guarantee import in_records
from svmproba.estimators.input.groups import read_subgroups
from svmproba.estimators.input.samples import take_rows
from svmproba.evaluation._checks import check_calls, check_columns, check_probabilities, check_size
from svmproba.evaluation._classifiers import is_calibrated, single_threshold
from svmproba.evaluation.measures.calibration import calibration_error
from svmproba.evaluation.measures.limits import auc_limits, mean_limits
from svmproba.evaluation.measures.metrics import class_mse, mse
from svmproba.evaluation.measures.subgroups import called_with_floor, subgroup_table
from svmproba.evaluation.report._model import class_names, drivers, facts
from svmproba.evaluation.report._reasons import mean_sizes, reasons
from svmproba.evaluation.report._records import (
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

N_NEAR, N_BINS = 20, 40
COST_NAMES = ("fn", "fp", "tp", "tn")
#: Advice for a model that calls no record positive: by default, and where costs or a rate were set.
REMEDY = (
    "Give costs, or choose a target rate below. For vote shares (not for calibrated "
    'probabilities), class_weight="balanced" helps too.'
)
REMEDY_ASKED = "This threshold follows from the given costs or rate: check them."
#: Target rates of the table, which needs no slider.
TABLE_DEMANDS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 1.0)


def report_figures(
    model: Any, X: Any, y: ArrayLike, about: Mapping[str, Any] | None = None, by: Any = None
) -> dict[str, Any]:
    """Compute the numbers of `report_html` as plain values; None where one is undefined."""
    about = {} if about is None else dict(about)
    ensemble, records = ensemble_of(model), read_records(model, X, y)
    costs = _costs(about.get("costs") or ensemble.costs_)
    steps, calls = take_steps(ensemble, records), records.calls
    present, names = _present(ensemble, records), class_names(ensemble, about)
    figures = {
        "names": names,
        "n": len(records.positive),
        "n_plus": calls.n_plus,
        "n_minus": calls.n_minus,
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
        "subgroups": _subgroups(ensemble, records, by, np.size(y), about),
        "near": _near(model, records, steps, X, present["proba_threshold"]),
        "mean_sizes": mean_sizes(model, records.rows),
        "drivers": drivers(model, records),
        "guarantee": in_records(ensemble.guarantee_),
        "facts": facts(model),
        "findings": _findings(ensemble, records, X, (names["positive"], names["negative"])),
        "warnings": [str(text) for text in about.get("warnings") or ()],
    }
    found: dict[str, Any] = plain(figures)
    return found


def _present(ensemble: Any, records: Records) -> dict[str, Any]:
    """Results at the current threshold."""
    tp, fp, n_plus, n_minus = records.calls
    return {
        "tp": tp,
        "fp": fp,
        "tpr": shares_with_limits(tp, n_plus),
        "tnr": shares_with_limits(n_minus - fp, n_minus),
        "precision": shares_with_limits(tp, tp + fp),
        "oob_tpr": ensemble.oob_tpr_,
        "oob_tnr": ensemble.oob_tnr_,
        "threshold": single_threshold(ensemble),
        "proba_threshold": ensemble.proba_threshold_,
        "per_thousand": _thousand(np.array([tp, n_plus - tp, fp, n_minus - fp])),
    }


def _subgroups(
    ensemble: Any, records: Records, by: Any, n: int, about: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Rates in every subgroup, now and where each reaches the rate asked for by one threshold."""
    if by is None:
        return None
    every = read_subgroups(by, n)
    subgroups = every._replace(masks=every.masks[:, records.place])
    goal = about.get("goal") or {}
    sign, rate = (1, goal.get("tpr")) if goal.get("tnr") is None else (-1, goal["tnr"])
    calls = records.calls
    rate = calls.tp / calls.n_plus if rate is None else rate
    now = subgroup_table(records.called, records.positive, subgroups)
    rows = [dict(zip(now._fields, row, strict=True)) for row in zip(*now, strict=True)]
    judged = subgroups.masks & (records.positive == (sign > 0))
    with_floor = judged.any(axis=1).all() and ensemble.ensemble_.jackknife is None
    if with_floor:
        called = called_with_floor(records.level, records.positive, subgroups, sign, rate)
        later = subgroup_table(called, records.positive, subgroups)
        for k, row in enumerate(rows):
            row |= {f"floor_{name}": getattr(later, name)[k] for name in ("tpr", "fpr", "called")}
    return {"rows": rows, "rate": rate, "of_positive": sign > 0, "with_floor": bool(with_floor)}


def _findings(ensemble: Any, records: Records, X: Any, names: tuple[str, str]) -> list[str]:
    """Warnings to read before the page is relied on."""
    calls = records.calls
    usual = ensemble.costs_ is None and ensemble.ensemble_.jackknife is None
    usual = usual and np.array_equal(ensemble.threshold_, 0) and ensemble.proba_threshold_ == 0.5
    found = check_size(calls.n_plus, calls.n_minus, names)
    found += check_calls(calls, names, REMEDY if usual else REMEDY_ASKED, usual)
    found += check_probabilities(records.positive, records.proba)
    columns = {} if ensemble.kernel == "precomputed" else named_columns(X, records.place)
    found += check_columns(columns, records.positive, records.proba)
    return [finding.text for finding in found]


def _thousand(counts: NDArray[np.int64]) -> list[int]:
    """Scale counts to a sum of 1000, in whole numbers by largest remainders."""
    exact = 1000 * counts / counts.sum()
    whole = np.floor(exact).astype(int)
    largest = np.argsort(whole - exact, kind="stable")[: 1000 - whole.sum()]
    whole[largest] += 1
    return [int(value) for value in whole]


def _steps(steps: Steps, records: Records) -> dict[str, Any]:
    """Collect counts, limits and thresholds at every target rate, for the script of the page."""
    _, _, n_plus, n_minus = records.calls
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
    # At a target rate of 0 the threshold is above all numbers.
    columns["threshold"] = [
        float(f"{threshold:.6g}") if abs(threshold) < 1e300 else None
        for threshold in steps.threshold
    ]
    return columns


def _costs(costs: Mapping[str, Any] | None) -> dict[str, Any]:
    """Costs of the four outcomes; without any, 1 for a miss and for a false alarm."""
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
    """Histograms of the deciding number by class, over a range that holds the thresholds."""
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
    """Errors of the probabilities with limits, and the reliability curve."""
    positive, P = records.positive, records.proba
    squares = (positive - P) ** 2
    # Vote shares stay half a vote away from 0 and 1: the loss would be infinite.
    least = 1e-9 if is_calibrated(ensemble) else 0.5 / (ensemble.intercept_.shape[1] + 1)
    losses = -np.log(np.clip(np.where(positive, P, 1 - P), least, 1))
    mse_plus, mse_minus = class_mse(positive, P, pos_label=True)
    found = calibration_error(positive, P, pos_label=True)
    auc, n_plus, share = float(roc_auc_score(positive, P)), int(positive.sum()), positive.mean()
    return {
        "mse": [mse(positive, P, pos_label=True), *mean_limits(squares)],
        "mse_plus": [mse_plus, *mean_limits(squares[positive])],
        "mse_minus": [mse_minus, *mean_limits(squares[~positive])],
        "auc": [auc, *auc_limits(auc, n_plus, len(P) - n_plus)],
        "log_loss": [float(losses.mean()), *mean_limits(losses)],
        "base_mse": share * (1 - share),
        "base_log_loss": -(share * np.log(share) + (1 - share) * np.log(1 - share)),
        "error": [found.error, found.lower, found.upper],
        "curve": [
            dict(zip(("predicted", "observed", "n", "lower", "upper"), row, strict=True))
            for row in zip(*found.curve, strict=True)
        ],
        "counts": np.histogram(P, np.linspace(0, 1, 21))[0],
    }


def _near(model: Any, records: Records, steps: Steps, X: Any, threshold: float) -> dict[str, Any]:
    """Collect the records whose probability is nearest to the threshold, and reasons for it."""
    ensemble = ensemble_of(model)
    distance = np.abs(records.proba - threshold)
    order = np.argsort(distance, kind="stable")[:N_NEAR]
    order = order[np.argsort(-records.proba[order], kind="stable")]
    own = take_rows(records.rows, order)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        limits = ensemble.predict_proba_interval(own)
    # The limits use all bags, the probability of a training record those that left it out.
    lower = np.minimum(limits[:, 0], records.proba[order])
    upper = np.maximum(limits[:, 1], records.proba[order])
    demand = first_demand(steps, records.level[order], is_calibrated(ensemble))
    names, named = _record_names(X, records.place[order])
    why = reasons(model, own)
    rows = [
        {
            "name": names[i],
            "proba": records.proba[k],
            "lower": lower[i],
            "upper": upper[i],
            "positive": bool(records.positive[k]),
            "called": bool(records.called[k]),
            "demand": DEMANDS[demand[i]] if demand[i] < len(DEMANDS) else None,
            "reasons": None if why is None else why[i],
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
