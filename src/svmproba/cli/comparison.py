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
from svmproba.estimators import BootstrapSVC, PosteriorProbabilitySVC, ProbabilitySVC
from svmproba.preparation.folds import Reader, best_theta_proba, out_of_fold, positive_proba
from svmproba.preparation.performance import Summary, summarise

#: Titles of the methods, in the order of the table.
LABELS = {
    "ebb": "EBB, vote shares",
    "ebb_calibrated": "EBB, calibrated",
    "ebb_best": "EBB, best C alone",
    "platt": "Platt",
    "sollich": "Sollich",
    "tao": "Tao et al., r² = 10",
    "linear_svc": "calibrated LinearSVC (scikit-learn)",
}


class MethodResult(NamedTuple):
    """Out-of-fold probabilities of the class of interest by one method, and their summary."""

    method: str
    proba: Floats
    summary: Summary
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


def _calibrated_proba(model: Any, X: Floats) -> Floats:
    return positive_proba(model.with_calibration("auto"), X)


#: Methods that are read from one fit of EBB.
_OF_EBB: dict[str, Reader] = {
    "ebb": positive_proba,
    "ebb_calibrated": _calibrated_proba,
    "ebb_best": best_theta_proba,
}


def check_methods(methods: Sequence[str]) -> tuple[str, ...]:
    """Put the methods into the order of the table; none given: all."""
    unknown = [method for method in methods if method not in LABELS]
    if unknown:
        raise InputError(f"--methods must be of {', '.join(LABELS)}; got {', '.join(unknown)}")
    return tuple(method for method in LABELS if not methods or method in methods)


def families_of(methods: Sequence[str]) -> list[tuple[str, ...]]:
    """Group the methods that share a fit."""
    ours = tuple(method for method in methods if method in _OF_EBB)
    return [ours] * bool(ours) + [(method,) for method in methods if method not in _OF_EBB]


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
    y = (task.y == task.positive).astype(np.int64)
    smallest = int(min(y.sum(), len(y) - y.sum()))
    if smallest < 2 * n_folds:
        raise InputError(
            f"--folds {n_folds} needs {2 * n_folds} records of either class, the smaller has "
            f"{smallest}"
        )
    results = []
    for family in families_of(methods):
        name = family[0]
        found = out_of_fold(
            _estimator(name, n_bootstraps=n_bootstraps, n_jobs=n_jobs, random_state=seed),
            task.X,
            y,
            readers={method: _OF_EBB.get(method, positive_proba) for method in family},
            n_folds=n_folds,
            random_state=seed,
            progress=lambda fold, name=name: report(f"{name}, fold {fold}"),  # type: ignore[misc]
        )
        for method, proba in found.values.items():
            summary = summarise(y, proba, found.fold)
            loss = float(log_loss(y, proba))
            results.append(MethodResult(method, proba, summary, loss, found.seconds[method]))
    return results


def _estimator(method: str, n_bootstraps: int, n_jobs: int | None, random_state: int) -> Any:
    """Unfitted classifier of a method."""
    if method == "linear_svc":
        # Its jobs would be processes, which take longer to start than the fits.
        return CalibratedClassifierCV(LinearSVC(random_state=random_state))
    common: dict[str, Any] = {"n_jobs": n_jobs, "random_state": random_state}
    if method in _OF_EBB:
        return BootstrapSVC(n_bootstraps=n_bootstraps, **common)
    if method == "tao":
        return PosteriorProbabilitySVC(np.sqrt(10.0), cv=10, **common)
    return ProbabilitySVC(method, cv=10, **common)


def to_text(results: Sequence[MethodResult]) -> str:
    """Write the table; a star marks the best of each column."""
    head = ["method", "MSE", "± s.e.", "MSE+", "MSE-", "AUC", "log loss", "seconds"]
    columns = [
        _column([r.summary.mse for r in results], 4, min),
        [f"{r.summary.mse_se:.4f}" for r in results],
        _column([r.summary.mse_plus for r in results], 4, min),
        _column([r.summary.mse_minus for r in results], 4, min),
        _column([r.summary.auc for r in results], 4, max),
        _column([r.log_loss for r in results], 4, min),
        _column([r.seconds for r in results], 1, min),
    ]
    rows = [[LABELS[r.method], *cells] for r, *cells in zip(results, *columns, strict=True)]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for cells in (head, *rows):
        right = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        lines.append("  ".join([cells[0].ljust(widths[0]), *right]).rstrip())
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def _column(values: list[float], decimals: int, best: Callable[[list[float]], float]) -> list[str]:
    known = [value for value in values if not np.isnan(value)]
    cells = [f"{value:.{decimals}f}" for value in values]
    top = f"{best(known):.{decimals}f}" if known and len(values) > 1 else ""
    return [f"{cell}*" if cell == top else f"{cell} " for cell in cells]
