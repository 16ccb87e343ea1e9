"""One picture of a comparison: errors side by side, and a reliability diagram of each method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmproba.cli.comparison import LABELS, MethodResult
from svmproba.evaluation import ReliabilityDisplay
from svmproba.evaluation._drawing import NEGATIVE_COLOR, POSITIVE_COLOR, tidy, wrapped


def draw_comparison(
    results: Sequence[MethodResult], y: NDArray[Any], positive: Any, path: Path
) -> None:
    """Draw the results on the labels `y` of shape (n,) and write the picture."""
    from matplotlib.figure import Figure

    n_rows = math.ceil((len(results) + 1) / 4)
    n_columns = math.ceil((len(results) + 1) / n_rows)
    figure = Figure(figsize=(3.6 * n_columns, 3.5 * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    _draw_errors(axes[0], results)
    for ax, result in zip(axes[1:], results, strict=False):
        display = ReliabilityDisplay.from_predictions(
            y, result.proba, pos_label=positive, ax=ax, histogram=False
        )
        legend = display.ax_.get_legend()
        if legend is not None:
            legend.remove()
        ax.set_title(wrapped(LABELS[result.method], 36), fontsize="medium")
    for ax in axes[len(results) + 1 :]:
        ax.set_visible(False)
    figure.savefig(path, dpi=130)


def _draw_errors(ax: Any, results: Sequence[MethodResult]) -> None:
    places = np.arange(len(results))[::-1]
    errors = np.array([result.summary.mse for result in results])
    spread = np.array([result.summary.mse_se for result in results])
    ours = ["ebb" in result.method for result in results]
    for place, error, se, own in zip(places, errors, spread, ours, strict=True):
        color = POSITIVE_COLOR if own else NEGATIVE_COLOR
        ax.errorbar(error, place, xerr=se, fmt="o", color=color, capsize=3, ms=5.5)
    names = [wrapped(LABELS[result.method], 20) for result in results]
    ax.set_yticks(places, names, fontsize="small")
    ax.set_ylim(-0.6, len(results) - 0.4)
    ax.set_xlabel("mean squared error ± s.e.")
    ax.locator_params(axis="x", nbins=4)
    tidy(ax)
