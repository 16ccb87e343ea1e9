"""Figures of the demonstration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Floats
from svmproba.evaluation import ReliabilityDisplay, ScoreHistogramDisplay, VoteHistogramDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def score_histograms(y: NDArray[np.int64], scores: Floats, class_names: tuple[str, str]) -> Figure:
    """Draw mean scores by class, and the votes on a sure, a doubtful and a sure record."""
    figure = new_figure(9.5, 6.4)
    above, below = figure.subfigures(2, 1, height_ratios=(1.25, 1), squeeze=False)[:, 0]
    ax = above.subplots()
    ScoreHistogramDisplay.from_predictions(
        y, scores.mean(axis=1), class_names=class_names, ax=ax
    ).ax_.set(ylabel="records", xlabel="mean score of the members, out of fold")
    ax.set_title("All records", loc="left", fontsize=11, weight="bold")
    for ax, record in zip(below.subplots(1, 3), example_records(scores), strict=True):
        VoteHistogramDisplay.from_predictions(scores[record], class_names=class_names, ax=ax)
        title = f"Votes on record {record}, {class_names[y[record]]}"
        ax.set_title(title, loc="left", fontsize=10)
    return figure


def reliability(y: NDArray[np.int64], probas: dict[str, Floats], positive_name: str) -> Figure:
    """Draw the reliability of several out-of-fold probabilities side by side, by title."""
    figure = new_figure(5.2 * len(probas), 5.4)
    axes = figure.subplots(1, len(probas), squeeze=False)[0]
    for ax, (title, proba) in zip(axes, probas.items(), strict=True):
        _plot_reliability(y, proba, positive_name, ax)
        ax.set_title(title, loc="left", weight="bold")
    return figure


def overview(
    y: NDArray[np.int64], scores: Floats, proba: Floats, class_names: tuple[str, str]
) -> Figure:
    """Draw the votes on one doubtful record beside the reliability of all probabilities."""
    figure = new_figure(10.4, 4.8)
    left, right = figure.subplots(1, 2)
    votes = scores[example_records(scores)[1]]
    display = VoteHistogramDisplay.from_predictions(votes, class_names=class_names, ax=left)
    for text in display.texts_:
        text.set_fontsize(13)
    left.set_title(f"One patient, {len(votes)} bootstrap SVMs vote", loc="left", weight="bold")
    _plot_reliability(y, proba, class_names[1], right)
    right.set_title(f"All {len(y)} patients: votes and truth", loc="left", weight="bold")
    return figure


def example_records(scores: Floats) -> tuple[int, int, int]:
    """Choose a surely negative, a doubtful and a surely positive record by their scores."""
    share, mean = np.mean(scores > 0, axis=1), scores.mean(axis=1)
    # The middle one of the records with unanimous votes, or the most extreme record.
    sides = [np.flatnonzero(share == 0), np.flatnonzero(share == 1)]
    negative, positive = (
        int(side[np.argsort(mean[side])[len(side) // 2]]) if len(side) else int(extreme)
        for side, extreme in zip(sides, (mean.argmin(), mean.argmax()), strict=True)
    )
    return negative, int(np.argmin(np.abs(share - 0.5))), positive


def _plot_reliability(y: NDArray[np.int64], proba: Floats, positive_name: str, ax: Axes) -> None:
    labels = np.where(y == 1, positive_name, "")
    # Five bins: only about fifty records of wisconsin lie between the ends.
    ReliabilityDisplay.from_predictions(
        labels, proba, n_bins=5, pos_label=positive_name, name="vote share, 95 % limits", ax=ax
    )


def new_figure(width: float, height: float) -> Figure:
    """Make a figure without a window; sizes are in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'svmproba[plot]'") from error
    return Figure(figsize=(width, height), dpi=150, layout="constrained")
