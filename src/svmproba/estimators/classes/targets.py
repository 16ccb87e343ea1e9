"""Recalls that classes are to reach: what may be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray

from svmproba.bootstrap.guarantee import check_guaranteed
from svmproba.estimators.input.parameters import check_confidence, check_number

KINDS = (None, "split", "oob")


class ClassTarget(NamedTuple):
    """The recalls that classes are to reach, see `BootstrapSVC.with_rate`."""

    rates: dict[int, float]  # by the place of the class
    exceed: bool
    guarantee: str | None
    confidence: float


def check_class_target(
    recall: Mapping[Any, float],
    classes: NDArray[Any],
    *,
    exceed: bool,
    guarantee: str | None,
    confidence: float,
    new_samples: bool,
    subsampling: str = "single",
    name: str = "recall",
) -> ClassTarget:
    """Refuse what is out of range or does not go together."""
    labels = classes.tolist()
    if not isinstance(recall, Mapping) or not recall:
        raise ValueError(f"{name} must be a dict of classes and rates, got {recall!r}.")
    unknown = [label for label in recall if label not in labels]
    if unknown:
        raise ValueError(f"{name} must name classes among {labels!r}, got {unknown!r}.")
    for label, rate in recall.items():
        check_number(f"{name} of class {label!r}", rate, 0, 1, "a number in [0, 1]")
        check_guaranteed(f"{name} of class {label!r}", rate, guarantee)
    check_confidence(confidence)
    if guarantee not in KINDS:
        raise ValueError(
            f"guarantee must be one of {', '.join(map(repr, KINDS))} with more than two classes, "
            f"got {guarantee!r}."
        )
    if subsampling != "single":
        raise ValueError(
            f"subsampling must be 'single' with more than two classes, got {subsampling!r}."
        )
    if guarantee == "split" and not new_samples:
        raise ValueError(
            "guarantee='split' needs samples that had no part in the fit: give them as X and y."
        )
    if guarantee == "oob" and new_samples:
        raise ValueError("guarantee='oob' uses the training samples: leave out X and y.")
    if not exceed and len(recall) > 1:
        raise ValueError(
            "exceed=False needs one class: with several, what one gives up may take from another."
        )
    rates = {labels.index(label): float(rate) for label, rate in recall.items()}
    return ClassTarget(rates, exceed, guarantee, confidence)


def refuse_rates_of_two(tpr: object, tnr: object, per_theta: bool, prefix: str = "") -> None:
    """Refuse arguments that need a class of interest among two."""
    for name, value in (("tpr", tpr), ("tnr", tnr)):
        if value is not None:
            raise ValueError(
                f"{prefix}{name} needs two classes: give {prefix}recall={{class: rate}} with more, "
                f"got {prefix}{name}={value!r}."
            )
    if per_theta:
        raise ValueError("per_theta=True needs two classes.")


def rates_of_two(
    tpr: Any,
    tnr: Any,
    recall: Mapping[Any, float] | None,
    classes: NDArray[Any],
    plus: int,
    prefix: str = "",
) -> tuple[Any, Any]:
    """Give the rates of the class of interest and of the other one, from the recall of a class."""
    if recall is None:
        return tpr, tnr
    if tpr is not None or tnr is not None:
        raise ValueError(
            f"{prefix}recall={recall!r} takes the place of {prefix}tpr and {prefix}tnr: leave them "
            f"out."
        )
    options: dict[str, Any] = {"exceed": True, "guarantee": None, "confidence": 0.9}
    name = f"{prefix}recall"
    rates = check_class_target(recall, classes, **options, new_samples=False, name=name).rates
    return rates.get(plus), rates.get(1 - plus)
