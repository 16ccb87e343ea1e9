"""Out-of-bag figures of a model of more than two classes, and their description in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from sklearn.pipeline import Pipeline

from svmproba._types import Floats
from svmproba.bootstrap.classes.fitted import called_classes
from svmproba.bootstrap.intervals import clopper_pearson
from svmproba.cli.costs import CostMatrix
from svmproba.cli.input.labels import listed
from svmproba.cli.output.summary import head, money, percent, setting_of, sizes_of, tail
from svmproba.cli.task import Task
from svmproba.cli.training import Goal
from svmproba.evaluation._class_checks import check_class_calls, check_class_proba, class_squares
from svmproba.evaluation.measures.limits import mean_limits

#: Classes of a confusion table that is printed.
TABLE_CLASSES = 12
REMEDY = "Give costs (--costs costs.csv) or a recall (--floor {}=0.8)."


def describe_classes(model: Pipeline, task: Task, goal: Goal, target: str) -> dict[str, Any]:
    """Collect what is saved with a model, in types of JSON."""
    ensemble = model["svm"].ensemble_
    called = called_classes(ensemble, ensemble.oob_proba)
    known = called >= 0
    label, called, P = ensemble.label[known], called[known], ensemble.oob_proba[known]
    n_classes = len(task.classes)
    confusion = np.bincount(label * n_classes + called, minlength=n_classes**2)
    confusion = confusion.reshape(n_classes, n_classes)
    found, limits = _figures(confusion, label, P, goal)
    names, usual = task.classes, not goal.wants_rate and goal.costs is None
    remedy = REMEDY if usual else "This follows from the costs or floors: are the values right?"
    findings = check_class_calls(confusion, names, remedy, usual)
    findings += check_class_proba(label, P)
    return {
        **setting_of(model, task, goal, target),
        "goal": {"floors": list(goal.floors.items()), "guarantee": goal.guarantee},
        "figures": sizes_of(model, task) | found,
        "limits": limits,
        "recalls": _recalls(confusion, names),
        "confusion": confusion.tolist(),  # true by called, in the order of the classes
        "findings": [finding._asdict() for finding in findings],
    }


def _figures(
    confusion: Any, label: Any, P: Floats, goal: Goal
) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """Figures of the decisions and probabilities, and limits of some."""
    n, n_right = int(confusion.sum()), int(np.trace(confusion))
    squares, sizes = class_squares(label, P), confusion.sum(axis=1)
    figures: dict[str, Any] = {
        "accuracy": n_right / n,
        "brier": float(squares.mean()),
        "brier_of_base_rates": float(1 - np.sum((sizes / n) ** 2)),
        "log_loss": float(log_loss(label, P, labels=np.arange(P.shape[1]))),
    }
    if isinstance(goal.costs, CostMatrix):
        costs = np.array(goal.costs.matrix)
        constant = sizes @ costs / n
        figures |= {
            "mean_cost": float(np.sum(confusion * costs) / n),
            "mean_cost_constant": float(constant.min()),
            "constant": int(constant.argmin()),
        }
    limits: dict[str, Any] = {
        "accuracy": clopper_pearson(n_right, n),
        "brier": mean_limits(squares),
    }
    return figures, {name: [float(limit) for limit in pair] for name, pair in limits.items()}


def _recalls(confusion: Any, names: list[Any]) -> list[dict[str, Any]]:
    """Recall of every class with its limits, and the class that it is mostly mistaken for."""
    rows = []
    for place, name in enumerate(names):
        n, right = int(confusion[place].sum()), int(confusion[place, place])
        wrong = np.where(np.arange(len(names)) == place, 0, confusion[place])
        lower, upper = clopper_pearson(right, n) if n else (0.0, 1.0)
        row: dict[str, Any] = {"class": name, "n_records": n, "recall": right / n if n else None}
        row |= {"lower": float(lower), "upper": float(upper)}
        row |= {"mistaken_for": names[int(wrong.argmax())] if wrong.any() else None}
        rows.append(row | {"n_mistaken": int(wrong.max())})
    return rows


def classes_in_words(about: dict[str, Any]) -> list[str]:
    """Summarise what `describe_classes` returns in lines of text."""
    found, recalls, classes = about["figures"], about["recalls"], about["classes"]
    n_pairs = len(classes) * (len(classes) - 1) // 2
    sizes = listed({row["class"]: row["n_records"] for row in recalls})
    records = f"{found['n_records']:,} records of {len(classes)} classes, {sizes}"
    told = [
        (f"recall of {row['class']!r}", percent(row["recall"]), _span(row), _mistakes(row))
        for row in recalls
    ]
    lower, upper = about["limits"]["accuracy"]
    limits = f"{100 * lower:.1f} to {100 * upper:.1f} %"
    told.append(("accuracy", percent(found["accuracy"]), limits, "share of right decisions"))
    lower, upper = about["limits"]["brier"]
    base = f"summed over the classes; {found['brier_of_base_rates']:.3f} for their shares"
    told.append(
        ("Brier score", f"{found['brier']:.3f}", f"{max(lower, 0.0):.3f} to {upper:.3f}", base)
    )
    if about["calibration"] is None:
        told.append(("calibration", "none", "", "the probabilities are shares of votes"))
    else:
        how = f"mean of -log of the probability; the calibration is {about['calibration']!r}"
        told.append(("log loss", f"{found['log_loss']:.3f}", "", how))
    width = max(len(name) for name, *_ in told)
    lines = [
        f"  {name.ljust(width)}  {value:>7}  {span:<15}  ({why})" for name, value, span, why in told
    ]
    lines = [*head(found, records, f" x {n_pairs} pairs of classes"), *lines]
    if len(classes) <= TABLE_CLASSES:
        lines += ["", "Records of each class (rows) by decision (columns):"]
        lines += _table(about["confusion"], classes)
    lines += ["", f"Decision: {_rule(about)}."]
    if "mean_cost" in found:
        lines.append(
            f"Mean cost per record: {money(found['mean_cost'])}; "
            f"{money(found['mean_cost_constant'])} if the decision is always "
            f"{classes[found['constant']]!r}, the cheapest for all."
        )
    return [*lines, *tail(about)]


def _span(row: dict[str, Any]) -> str:
    return f"{100 * row['lower']:.1f} to {100 * row['upper']:.1f} %"


def _mistakes(row: dict[str, Any]) -> str:
    records = "1 record" if row["n_records"] == 1 else f"{row['n_records']:,} records"
    if row["mistaken_for"] is None:
        return records
    return f"{records}; {row['n_mistaken']:,} of them called {row['mistaken_for']!r}"


def _table(confusion: list[list[int]], classes: list[Any]) -> list[str]:
    names = [str(label) for label in classes]
    rows = [["", *names]]
    rows += [[name, *map(str, counts)] for name, counts in zip(names, confusion, strict=True)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join([first.ljust(widths[0]), *map(str.rjust, rest, widths[1:])])
        for first, *rest in rows
    ]


def _rule(about: dict[str, Any]) -> str:
    """Say which class is decided."""
    if about["wants_rate"]:
        floors = ", ".join(f"{rate:g} of {label!r}" for label, rate in about["goal"]["floors"])
        how = "probability times a factor" if about["calibration"] else "share of votes, shifted"
        return f"the class of largest {how} for recalls of at least {floors}"
    if about["costs"] is not None:
        return "the class of least expected cost"
    return "the most probable class"
