"""One picture of a comparison: errors side by side, and a reliability diagram of each method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmproba.cli.comparison import LABELS, OF_EBB, MethodResult
from svmproba.evaluation import ReliabilityDisplay
from svmproba.evaluation.displays.drawing import NEGATIVE_COLOR, POSITIVE_COLOR, tidy, wrapped
from svmproba.preparation.performance import ClassSummary


def draw_comparison(
    results: Sequence[MethodResult], y: NDArray[Any], positive: Any, path: Path
) -> None:
    """Draw the results on the labels `y` (n,), each of several classes against the rest."""
    from matplotlib.figure import Figure

    n_rows = math.ceil((len(results) + 1) / 4)
    n_columns = math.ceil((len(results) + 1) / n_rows)
    figure = Figure(figsize=(3.6 * n_columns, 3.5 * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    _draw_errors(axes[0], results)
    for ax, result in zip(axes[1:], results, strict=False):
        truth, proba, label = y, result.proba, positive
        if positive is None:
            truth, proba = np.ravel(np.unique(y) == y[:, np.newaxis]), proba.ravel()
            label = True
        display = ReliabilityDisplay.from_predictions(
            truth, proba, pos_label=label, ax=ax, histogram=False
        )
        if positive is None:
            ax.set(xlabel="predicted probability of a class", ylabel="observed share of the class")
        legend = display.ax_.get_legend()
        if legend is not None:
            legend.remove()
        ax.set_title(wrapped(LABELS[result.method], 36), fontsize="medium")
    for ax in axes[len(results) + 1 :]:
        ax.set_visible(False)
    figure.savefig(path, dpi=130)


def _draw_errors(ax: Any, results: Sequence[MethodResult]) -> None:
    places = np.arange(len(results))[::-1]
    errors, spread, name = _errors([result.summary for result in results])
    ours = [result.method in ("fit", *OF_EBB) for result in results]
    for place, error, se, own in zip(places, errors, spread, ours, strict=True):
        color = POSITIVE_COLOR if own else NEGATIVE_COLOR
        ax.errorbar(error, place, xerr=se, fmt="o", color=color, capsize=3, ms=5.5)
    names = [wrapped(LABELS[result.method], 20) for result in results]
    ax.set_yticks(places, names, fontsize="small")
    ax.set_ylim(-0.6, len(results) - 0.4)
    ax.set_xlabel(f"{name} ± s.e.")
    ax.locator_params(axis="x", nbins=4)
    tidy(ax)


def _errors(summaries: Sequence[Any]) -> tuple[list[float], list[float], str]:
    """Errors of the probabilities, their standard errors, and what they are called."""
    if isinstance(summaries[0], ClassSummary):
        return [s.brier for s in summaries], [s.brier_se for s in summaries], "Brier score"
    return [s.mse for s in summaries], [s.mse_se for s in summaries], "mean squared error"
