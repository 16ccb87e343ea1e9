"""The numbers of a report about more than two classes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from svmproba._json import plain
from svmproba._types import Floats
from svmproba.bootstrap.classes.fitted import FittedClasses, called_classes
from svmproba.bootstrap.guarantee import in_records
from svmproba.evaluation._class_checks import check_class_calls, check_class_proba, class_squares
from svmproba.evaluation._classifiers import is_calibrated, rows_for_last_step
from svmproba.evaluation.measures.calibration import calibration_error
from svmproba.evaluation.measures.limits import mean_limits
from svmproba.evaluation.report._model import facts, label_name
from svmproba.evaluation.report._records import ensemble_of, shares_with_limits

#: Advice for a class that is hardly ever called: by default, and where costs or recalls were set.
REMEDY = "Give costs, or a recall of {}."
REMEDY_ASKED = "This follows from the given costs or recalls: check them."


class ClassRecords(NamedTuple):
    """Records that can be evaluated, and their predictions."""

    label: NDArray[np.intp]  # (n,), places of the classes
    proba: Floats  # (n, n_classes)
    called: NDArray[np.intp]  # (n,)
    n_trained_on: int


def read_class_records(model: Any, X: Any, y: ArrayLike) -> ClassRecords:
    """Predict records, training records out of bag; those that are in every bag are left out."""
    ensemble = ensemble_of(model)
    rows, labels = ensemble._check_judges(rows_for_last_step(model, X), y)
    label = np.searchsorted(ensemble.classes_, labels)
    P, several = ensemble.predict_proba(rows_for_last_step(model, X)), ensemble.ensemble_
    given, trained = recognised(several, rows, label)
    P[given] = several.oob_proba[trained]
    called = called_classes(several, P)
    known = called >= 0
    if not known.any():
        raise ValueError("every record is in all bags: give more bags, or other records.")
    return ClassRecords(label[known], P[known], called[known], len(given))


def recognised(
    ensemble: FittedClasses, rows: Any, label: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Find training records by label and numbers: places among those given, and in training."""
    present = np.arange(len(ensemble.label)) if ensemble.present is None else ensemble.present
    places: dict[tuple[bytes, int], list[int]] = defaultdict(list)
    for place, key in zip(present, _keys(ensemble.X, ensemble.label[present]), strict=True):
        places[key].append(int(place))
    pairs = [(i, places[key].pop()) for i, key in enumerate(_keys(rows, label)) if places.get(key)]
    given, trained = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return given, trained


def _keys(rows: Any, label: NDArray[Any]) -> list[tuple[bytes, int]]:
    """Return the numbers of every row as bytes, and its label."""
    if sp.issparse(rows):
        table = sp.csr_matrix(rows, dtype=np.float64, copy=True)
        table.sum_duplicates()
        table.eliminate_zeros()
        ends = list(zip(table.indptr[:-1], table.indptr[1:], strict=True))
        parts = [
            table.indices[a:b].astype(np.int64).tobytes() + table.data[a:b].tobytes()
            for a, b in ends
        ]
    else:
        # Adding 0 turns -0.0 into 0.0.
        parts = [row.tobytes() for row in np.ascontiguousarray(rows, dtype=np.float64) + 0.0]
    return list(zip(parts, map(int, label), strict=True))


def class_figures(
    model: Any, X: Any, y: ArrayLike, about: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Compute the numbers of the page as plain values; None where one is undefined."""
    about = {} if about is None else dict(about)
    ensemble, records = ensemble_of(model), read_class_records(model, X, y)
    target, several = about.get("target"), ensemble.ensemble_
    names = [label_name(label, target) for label in ensemble.classes_.tolist()]
    n, n_classes = len(records.label), len(names)
    confusion = np.bincount(records.label * n_classes + records.called, minlength=n_classes**2)
    confusion = confusion.reshape(n_classes, n_classes)
    moved = np.any(several.shifts != 0) or np.any(several.factors != 1)
    usual = several.costs is None and not moved
    findings = check_class_calls(confusion, names, REMEDY if usual else REMEDY_ASKED, usual)
    findings += check_class_proba(records.label, records.proba)
    figures = {
        "names": names,
        "records": str(about.get("records") or "records"),
        "target": "" if target is None else str(target),
        "n": n,
        "n_left_aside": int(np.size(y)) - n,
        "n_trained_on": records.n_trained_on,
        "by_cost": several.costs is not None,
        "moved": bool(moved),
        "calibrated": is_calibrated(ensemble),
        "confusion": confusion,
        "classes": [
            _of_class(records, confusion, place) | {"name": name}
            for place, name in enumerate(names)
        ],
        "quality": _quality(ensemble, records),
        "cost": None if several.costs is None else _costs(confusion, several.costs),
        "guarantee": in_records(ensemble.guarantee_),
        "facts": facts(model),
        "findings": [finding.text for finding in findings],
        "warnings": [str(text) for text in about.get("warnings") or ()],
    }
    found: dict[str, Any] = plain(figures)
    return found


def _of_class(records: ClassRecords, confusion: NDArray[Any], place: int) -> dict[str, Any]:
    """Count one class against the rest: rates with limits, and the reliability curve."""
    truth, P = records.label == place, np.clip(records.proba[:, place], 0.0, 1.0)
    n, n_called, right = confusion[place].sum(), confusion[:, place].sum(), confusion[place, place]
    found = calibration_error(truth, P, pos_label=True)
    return {
        "n": n,
        "n_called": n_called,
        "recall": shares_with_limits(right, n),
        "precision": shares_with_limits(right, n_called),
        "curve": [
            dict(zip(("predicted", "observed", "n", "lower", "upper"), row, strict=True))
            for row in zip(*found.curve, strict=True)
        ],
        "counts": np.histogram(P, np.linspace(0, 1, 21))[0],
    }


def _quality(ensemble: Any, records: ClassRecords) -> list[dict[str, Any]]:
    """Accuracy, Brier score and log loss with limits, and what the shares of the classes give."""
    label, P = records.label, records.proba
    right, squares = records.called == label, class_squares(label, P)
    # Vote shares stay half a vote away from 0 and 1: the loss would be infinite.
    least = 1e-9 if is_calibrated(ensemble) else 0.5 / (ensemble.counts_.shape[0] + 1)
    losses = -np.log(np.clip(P[np.arange(len(P)), label], least, 1))
    shares = np.bincount(label, minlength=P.shape[1]) / len(label)
    some = shares[shares > 0]
    return [
        {"name": "Accuracy", "value": shares_with_limits(right.sum(), len(right))}
        | {"base": float(shares.max()), "text": "share of right decisions; 1 is perfect"},
        {"name": "Brier score", "value": [squares.mean(), *mean_limits(squares)]}
        | {"base": 1 - float(np.sum(shares**2)), "text": "summed over the classes; 0 is perfect"},
        {"name": "Log loss", "value": [losses.mean(), *mean_limits(losses)]}
        | {"base": -float(np.sum(some * np.log(some))), "text": "0 is perfect"},
    ]


def _costs(confusion: NDArray[Any], costs: Floats) -> dict[str, Any]:
    """Mean cost of the decisions, and of the cheapest decision that is the same for all."""
    n, constant = confusion.sum(), confusion.sum(axis=1) @ costs / confusion.sum()
    return {
        "mean": float(np.sum(confusion * costs) / n),
        "constant": float(constant.min()),
        "class": int(constant.argmin()),
    }
