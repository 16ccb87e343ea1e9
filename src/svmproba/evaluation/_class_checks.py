"""Warnings to read before figures of more than two classes are relied on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Floats
from svmproba.evaluation._checks import FEW_RECORDS, HARDLY_ANY, Finding
from svmproba.evaluation.measures.limits import mean_limits


def class_squares(label: NDArray[Any], P: Floats) -> Floats:
    r"""Brier score of each sample, :math:`\sum_k(1[y=k]-P_k)^2`; labels are places of classes."""
    return np.sum((np.eye(P.shape[1])[label] - P) ** 2, axis=1)


def check_class_calls(
    confusion: NDArray[Any], names: Sequence[Any], remedy: str, usual: bool
) -> list[Finding]:
    """Warn of small classes, of classes that are hardly ever called, and of a low accuracy.

    `remedy` has a place for the name of a class; accuracy counts where the decision is `usual`.
    """
    found, sizes, n = [], confusion.sum(axis=1), int(confusion.sum())
    few = [f"{names[k]!r} ({sizes[k]})" for k in np.flatnonzero(sizes < FEW_RECORDS).tolist()]
    if few:
        text = (
            f"Classes with few records: {', '.join(few)}. Their recalls are uncertain: read the "
            f"limits."
        )
        found.append(Finding("few records", text))
    rare = np.flatnonzero(confusion.sum(axis=0) <= HARDLY_ANY * sizes).tolist()
    if rare:
        called = ", ".join(f"{names[k]!r} ({confusion[:, k].sum()} of {n})" for k in rare)
        text = f"The model hardly ever decides for {called}. {remedy.format(names[rare[0]])}"
        found.append(Finding("class not called", text))
    right, largest = int(np.trace(confusion)), int(sizes.argmax())
    if usual and right < sizes[largest]:
        text = (
            f"The accuracy is {100 * right / n:.1f} %; always predicting {names[largest]!r} has an "
            f"accuracy of {100 * sizes[largest] / n:.1f} %."
        )
        found.append(Finding("worse than the largest class", text))
    return found


def check_class_proba(label: NDArray[Any], P: Floats) -> list[Finding]:
    """Warn unless the Brier score is below that of the shares of the classes, at 95 %."""
    shares = np.bincount(label, minlength=P.shape[1]) / len(label)
    own, base = class_squares(label, P), class_squares(label, np.tile(shares, (len(label), 1)))
    if mean_limits(base - own, 0.9)[0] > 0:
        return []
    which = "no better" if own.mean() >= base.mean() else "not significantly better"
    text = (
        f"The probabilities are {which} than the shares of the classes: their Brier score is "
        f"{own.mean():.3f}, and {base.mean():.3f} with these shares for every record."
    )
    return [Finding(f"{which} than the base rate", text)]
