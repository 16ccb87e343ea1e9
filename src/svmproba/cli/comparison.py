"""Our methods and others on one table: every record is predicted by models fitted without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.svm import LinearSVC

from svmproba._types import Floats
from svmproba.cli.errors import InputError
from svmproba.cli.task import Task
from svmproba.cli.training import default_kernel
from svmproba.estimators import BootstrapSVC, PosteriorProbabilitySVC, ProbabilitySVC
from svmproba.preparation.folds import (
    Reader,
    best_theta_proba,
    class_proba,
    out_of_fold,
    positive_proba,
)
from svmproba.preparation.performance import ClassSummary, Summary, summarise, summarise_classes

#: Titles of the methods, in the order of the table.
LABELS = {
    "fit": "svmproba fit, its default",
    "ebb": "EBB, vote shares",
    "ebb_calibrated": "EBB, calibrated",
    "ebb_best": "EBB, best C alone",
    "platt": "Platt",
    "sollich": "Sollich",
    "tao": "Tao et al., r² = 10",
    "linear_svc": "calibrated LinearSVC (scikit-learn)",
}


#: Methods that are read from one fit of EBB.
OF_EBB = ("ebb", "ebb_calibrated", "ebb_best")


class MethodResult(NamedTuple):
    """Out-of-fold probabilities by one method, and their summary."""

    method: str
    proba: Floats  # (n,) of the class of interest; of more than two classes (n, n_classes)
    summary: Summary | ClassSummary
    log_loss: float
    seconds: float  # of fits and predictions; methods that share a fit each count all of it

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON, without the probabilities."""
        return {
            "method": self.method,
            "name": LABELS[self.method],
            **self.summary._asdict(),
            "log_loss": self.log_loss,
            "seconds": self.seconds,
        }


def _calibrated_proba(read: Reader) -> Reader:
    return lambda model, X: read(model.with_calibration("auto"), X)


def _readers(family: Sequence[str], several: bool) -> dict[str, Reader]:
    """Tell what is read from the fit of a family, by method."""
    usual: Reader = class_proba if several else positive_proba
    special = {"ebb_calibrated": _calibrated_proba(usual), "ebb_best": best_theta_proba}
    return {method: special.get(method, usual) for method in family}


def check_methods(methods: Sequence[str]) -> tuple[str, ...]:
    """Put the methods into the order of the table; none given: all."""
    unknown = [method for method in methods if method not in LABELS]
    if unknown:
        raise InputError(f"--methods must be of {', '.join(LABELS)}; got {', '.join(unknown)}")
    return tuple(method for method in LABELS if not methods or method in methods)


def families_of(methods: Sequence[str]) -> list[tuple[str, ...]]:
    """Group the methods that share a fit."""
    ours = tuple(method for method in methods if method in OF_EBB)
    return [ours] * bool(ours) + [(method,) for method in methods if method not in OF_EBB]


def compare_methods(
    task: Task,
    methods: Sequence[str],
    *,
    n_folds: int = 10,
    n_bootstraps: int = 500,
    n_jobs: int | None = None,
    seed: int = 0,
    report: Callable[[str], None] = lambda said: None,
) -> list[MethodResult]:
    """Measure the methods by the same stratified folds; `report` is told what was fitted."""
    several = task.positive is None
    y = np.searchsorted(task.classes, task.y) if several else task.y == task.positive
    y = y.astype(np.int64)
    sizes = {label: int(np.sum(task.y == label)) for label in task.classes}
    smallest = min(task.classes, key=lambda label: sizes[label])
    if sizes[smallest] < 2 * n_folds:
        raise InputError(
            f"--folds {n_folds} needs {2 * n_folds} records of every class, {smallest!r} has "
            f"{sizes[smallest]}"
        )
    results = []
    for family in families_of(methods):
        name = family[0]
        found = out_of_fold(
            _estimator(name, len(y), n_bootstraps, n_jobs=n_jobs, random_state=seed),
            task.X,
            y,
            readers=_readers(family, several),
            n_folds=n_folds,
            random_state=seed,
            progress=lambda fold, name=name: report(f"{name}, fold {fold}"),  # type: ignore[misc]
        )
        for method, proba in found.values.items():
            summary: Summary | ClassSummary
            summary = summarise_classes(y, proba) if several else summarise(y, proba, found.fold)
            loss = float(log_loss(y, proba))
            results.append(MethodResult(method, proba, summary, loss, found.seconds[method]))
    return results


def _estimator(
    method: str, n_records: int, n_bootstraps: int, n_jobs: int | None, random_state: int
) -> Any:
    """Unfitted classifier of a method."""
    if method == "linear_svc":
        # Its jobs would be processes, which take longer to start than the fits.
        return CalibratedClassifierCV(LinearSVC(random_state=random_state))
    common: dict[str, Any] = {"n_jobs": n_jobs, "random_state": random_state}
    if method == "fit":
        common |= {"calibration": "auto", "kernel": default_kernel(n_records)}
    if method in ("fit", *OF_EBB):
        return BootstrapSVC(n_bootstraps=n_bootstraps, **common)
    if method == "tao":
        return PosteriorProbabilitySVC(np.sqrt(10.0), cv=10, **common)
    return ProbabilitySVC(method, cv=10, **common)


def to_text(results: Sequence[MethodResult]) -> str:
    """Write the table; a star marks the best of each column."""
    loss = _column([r.log_loss for r in results], 4, min)
    seconds = _column([r.seconds for r in results], 1, min)
    measured = _measured([r.summary for r in results])
    head = ["method", *measured, "log loss", "seconds"]
    columns = [*measured.values(), loss, seconds]
    rows = [[LABELS[r.method], *cells] for r, *cells in zip(results, *columns, strict=True)]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for cells in (head, *rows):
        right = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        lines.append("  ".join([cells[0].ljust(widths[0]), *right]).rstrip())
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def _measured(summaries: Sequence[Any]) -> dict[str, list[str]]:
    """Cells of the figures of the probabilities, by the heads of their columns."""
    if isinstance(summaries[0], ClassSummary):
        return {
            "Brier": _column([s.brier for s in summaries], 4, min),
            "± s.e.": [f"{s.brier_se:.4f}" for s in summaries],
            "accuracy": _column([s.accuracy for s in summaries], 4, max),
            "AUC": _column([s.auc for s in summaries], 4, max),
        }
    return {
        "MSE": _column([s.mse for s in summaries], 4, min),
        "± s.e.": [f"{s.mse_se:.4f}" for s in summaries],
        "MSE+": _column([s.mse_plus for s in summaries], 4, min),
        "MSE-": _column([s.mse_minus for s in summaries], 4, min),
        "AUC": _column([s.auc for s in summaries], 4, max),
    }


def _column(values: list[float], decimals: int, best: Callable[[list[float]], float]) -> list[str]:
    known = [value for value in values if not np.isnan(value)]
    cells = [f"{value:.{decimals}f}" for value in values]
    top = f"{best(known):.{decimals}f}" if known and len(values) > 1 else ""
    return [f"{cell}*" if cell == top else f"{cell} " for cell in cells]
