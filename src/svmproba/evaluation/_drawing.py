"""What the displays share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from svmproba.evaluation.metrics import Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEGATIVE_COLOR, POSITIVE_COLOR, GUIDE_COLOR = "#3b6fb6", "#d1495b", "#6b6b6b"


def own_axes() -> Axes:
    """Return axes of a new figure, with an error that helps where matplotlib is missing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'svmproba[plot]'") from error
    return plt.subplots(layout="constrained")[1]


def axes_below(ax: Axes) -> Axes:
    """Give the lower part of the axes' place to new axes with the same x."""
    place = ax.get_subplotspec()
    if place is None:
        return ax.inset_axes((0, -0.36, 1, 0.26), sharex=ax)
    grid = place.subgridspec(2, 1, height_ratios=(3.4, 1))
    ax.set_subplotspec(grid[0])
    return ax.figure.add_subplot(grid[1], sharex=ax)


def tidy(ax: Axes) -> None:
    """Take away the frame where there is no scale."""
    ax.spines[["top", "right"]].set_visible(False)


def column_of(estimator: Any, pos_label: Label) -> tuple[int, Label]:
    """Column of ``predict_proba`` that belongs to the class of interest, and that class."""
    classes = np.asarray(estimator.classes_).tolist()
    if len(classes) != 2:
        raise ValueError(f"estimator must separate two classes, it has {len(classes)}: {classes}")
    wanted = pos_label
    if wanted is None:
        wanted = getattr(last_step(estimator), "pos_label_", classes[1])
    if wanted not in classes:
        raise ValueError(f"pos_label={wanted!r} is not among the estimator's classes {classes}")
    return classes.index(wanted), wanted


def last_step(estimator: Any) -> Any:
    """Return the estimator itself, or the one at the end of a pipeline."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def edges_through(cut: float, values: NDArray[np.float64], n_bins: int) -> list[float]:
    """Return edges of equal bins, about ``n_bins`` over the values, one edge being the cut."""
    low, high = min(values.min(), cut), max(values.max(), cut)
    width = (high - low) / n_bins or 1.0
    # One bin more at either end: rounding must not push a value out.
    first, last = np.floor((low - cut) / width) - 1, np.ceil((high - cut) / width) + 1
    return (cut + width * np.arange(first, last + 1)).tolist()
