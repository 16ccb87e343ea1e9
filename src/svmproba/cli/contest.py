"""Our methods and their rivals on one table: every record is judged by models without it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss

from svmproba.cli.errors import InputError
from svmproba.cli.task import Task
from svmproba.paper.methods import FAMILIES, best_theta_proba
from svmproba.paper.protocol import Summary, cut_parts, positive_proba, summarise
from svmproba.preparation.preprocessing import make_preprocessor

Floats = NDArray[np.float64]

#: Names for people, in the order of the table.
LABELS = {
    "ebb": "EBB, vote shares",
    "ebb_calibrated": "EBB, calibrated",
    "ebb_best": "EBB, best C alone",
    "platt": "Platt",
    "sollich": "Sollich",
    "tao": "Tao et al., r² = 10",
    "linear_svc": "calibrated LinearSVC (scikit-learn)",
}
_OF_EBB = ("ebb", "ebb_calibrated", "ebb_best")


class Standing(NamedTuple):
    """How one method did.

    Attributes
    ----------
    method : str
        Key of ``LABELS``.
    proba : ndarray of shape (n,)
        Probability of the class of interest, of every record.
    summary : Summary
    log_loss : float
    seconds : float
        Fits and predictions; those that share a fit have it all.
    """

    method: str
    proba: Floats
    summary: Summary
    log_loss: float
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON has it, without the probabilities."""
        return {
            "method": self.method,
            "name": LABELS[self.method],
            **self.summary._asdict(),
            "log_loss": self.log_loss,
            "seconds": self.seconds,
        }


def check_methods(methods: Sequence[str]) -> tuple[str, ...]:
    """Methods in the order of the table; all where none is named."""
    unknown = [method for method in methods if method not in LABELS]
    if unknown:
        raise InputError(f"--methods must be of {', '.join(LABELS)}; got {', '.join(unknown)}")
    return tuple(method for method in LABELS if not methods or method in methods)


def families_of(methods: Sequence[str]) -> list[tuple[str, ...]]:
    """Methods that share a fit, together."""
    ours = tuple(method for method in methods if method in _OF_EBB)
    return [ours] * bool(ours) + [(method,) for method in methods if method not in _OF_EBB]


def run_contest(
    task: Task,
    methods: Sequence[str],
    *,
    n_folds: int = 10,
    n_bootstraps: int = 500,
    n_jobs: int | None = None,
    seed: int = 0,
    report: Callable[[str], None] | None = None,
) -> list[Standing]:
    """Judge the methods by stratified folds, the same for all.

    Parameters
    ----------
    task : Task
    methods : sequence of str
        Keys of ``LABELS``.
    n_folds : int, default=10
    n_bootstraps : int, default=500
    n_jobs : int, default=None
    seed : int, default=0
    report : callable, default=None
        Called with the name of what was fitted, after each.

    Returns
    -------
    list of Standing
    """
    y = (task.y == task.positive).astype(np.int64)
    smallest = int(min(y.sum(), len(y) - y.sum()))
    if smallest < 2 * n_folds:
        raise InputError(
            f"--folds {n_folds} needs {2 * n_folds} records of either class, the smaller has "
            f"{smallest}"
        )
    parts = cut_parts("fair", y, bootstrap=False, n_folds=n_folds, seed=seed)
    fold = np.empty(len(y), dtype=np.int64)
    proba = {method: np.empty(len(y)) for method in methods}
    seconds = dict.fromkeys(methods, 0.0)
    for part in parts:
        fold[part.test] = part.fold
        preprocessor = make_preprocessor(task.X)
        train = preprocessor.fit_transform(task.X.iloc[part.train])
        test = preprocessor.transform(task.X.iloc[part.test])
        for family in families_of(methods):
            started = time.perf_counter()
            model = make_model(family[0], n_bootstraps, n_jobs, seed).fit(train, y[part.train])
            fitted = time.perf_counter() - started
            for method in family:
                started = time.perf_counter()
                proba[method][part.test] = read_proba(method, model, test)
                seconds[method] += fitted + time.perf_counter() - started
            if report is not None:
                report(f"{family[0]}, fold {part.fold + 1}")
    return [
        Standing(
            method,
            proba[method],
            summarise(y, proba[method], fold),
            float(log_loss(y, proba[method])),
            seconds[method],
        )
        for method in methods
    ]


def make_model(method: str, n_bootstraps: int, n_jobs: int | None, seed: int) -> Any:
    """Unfitted classifier of labels 0 and 1 that serves a method."""
    setting = {"n_bootstraps": n_bootstraps, "n_jobs": n_jobs, "random_state": seed}
    if method == "linear_svc":
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.svm import LinearSVC

        # Its jobs would be processes, which take longer to start than the fits.
        return CalibratedClassifierCV(LinearSVC(random_state=seed))
    name = "ebb" if method in _OF_EBB else "tao_r10" if method == "tao" else method
    return FAMILIES[name].make(**setting)


def read_proba(method: str, model: Any, rows: Floats) -> Floats:
    """Probability of class 1 from the fitted classifier of `make_model`."""
    if method == "ebb_best":
        return best_theta_proba(model, rows)
    if method == "ebb_calibrated":
        return positive_proba(model.with_calibration("auto"), rows)
    return positive_proba(model, rows)


def to_text(standings: Sequence[Standing]) -> str:
    """Write the table of a contest; a star marks the best of each column.

    Parameters
    ----------
    standings : sequence of Standing

    Returns
    -------
    str
    """
    head = ["method", "MSE", "± s.e.", "MSE+", "MSE-", "AUC", "log loss", "seconds"]
    columns = [
        _column([s.summary.mse for s in standings], 4, min),
        [f"{s.summary.mse_se:.4f}" for s in standings],
        _column([s.summary.mse_plus for s in standings], 4, min),
        _column([s.summary.mse_minus for s in standings], 4, min),
        _column([s.summary.auc for s in standings], 4, max),
        _column([s.log_loss for s in standings], 4, min),
        _column([s.seconds for s in standings], 1, min),
    ]
    rows = [[LABELS[s.method], *cells] for s, *cells in zip(standings, *columns, strict=True)]
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
