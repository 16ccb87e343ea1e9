"""The paper's figures 1 to 3 and 5 to 10, drawn from our results (4 is a flow chart)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Floats
from svmproba.evaluation import VoteHistogramDisplay
from svmproba.evaluation.displays.drawing import GUIDE_COLOR, NEGATIVE_COLOR, POSITIVE_COLOR, tidy
from svmproba.paper.comparison import ComparedTable
from svmproba.paper.drawing.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Value = TypeVar("Value")
Labels = NDArray[np.int64]
#: Scores, probabilities, labels and folds of the same records.
Scored = tuple[Floats, Floats, Labels, Labels]

#: Records in each dot of an empirical probability, at least.
PER_DOT = 8


def empirical_probability(score: Floats, y: Labels, n_dots: int = 20) -> tuple[Floats, Floats]:
    """Mean score and share of positives in equal groups of neighbouring scores."""
    groups = np.array_split(
        np.argsort(score, kind="stable"), max(1, min(n_dots, len(y) // PER_DOT))
    )
    return (
        np.array([score[group].mean() for group in groups]),
        np.array([y[group].mean() for group in groups]),
    )


def platt_fits(scored: dict[str, Scored]) -> Figure:
    """Draw Platt's sigmoid, one for each fold, against the empirical probabilities (figure 1)."""
    figure = new_figure(5.4 * len(scored), 4.2)
    for ax, (name, (score, proba, y, fold)) in _panels(figure, scored):
        for k in np.unique(fold):
            here = np.flatnonzero(fold == k)
            order = here[np.argsort(score[here])]
            (line,) = ax.plot(score[order], proba[order], color=NEGATIVE_COLOR, lw=1, alpha=0.7)
        line.set_label("Platt's sigmoid, one a fold")
        dots = empirical_probability(score, y)
        ax.plot(*dots, "o", color=POSITIVE_COLOR, ms=5, label="empirical", clip_on=False, zorder=3)
        _probability_axes(ax, score, name)
        ax.legend(loc="lower right", frameon=False)
    return figure


def ebb_fit(name: str, score: Floats, proba: Floats, y: Labels) -> Figure:
    """Draw EBB's probabilities against the empirical probabilities, out of fold (figure 5)."""
    figure = new_figure(6.4, 4.4)
    ax = figure.subplots()
    dots = empirical_probability(score, y)
    ax.plot(*dots, "o-", color=POSITIVE_COLOR, ms=5, lw=1.4, label="empirical", zorder=2)
    (marks,) = ax.plot(score, proba, "^", color=NEGATIVE_COLOR, label="EBB, records not seen")
    marks.set(markersize=5, markerfacecolor="none", alpha=0.7)
    _probability_axes(ax, score, name)
    ax.set_xlabel("mean score of the members")
    ax.legend(loc="lower right", frameon=False)
    return figure


def vote_histograms(scores: dict[str, Floats], title: str) -> Figure:
    """Draw the scores of several ensembles on one record, by title (figures 2 and 3)."""
    figure = new_figure(4.2 * len(scores), 3.6)
    everything = np.concatenate([*scores.values(), [0.0]])
    margin = 0.05 * np.ptp(everything)
    for ax, (name, values) in _panels(figure, scores):
        VoteHistogramDisplay.from_predictions(values, ax=ax, bins=20)
        # One range for all, or the eye would not see the scores draw together.
        ax.set_xlim(everything.min() - margin, everything.max() + margin)
        ax.set_title(name, loc="left", fontsize=11)
    figure.suptitle(title, x=0.01, ha="left", weight="bold")
    return figure


def moved_thresholds(scores: dict[str, Floats], threshold: float) -> Figure:
    """Draw the votes on some records at 0 and at a moved threshold (figure 6)."""
    figure = new_figure(4.8 * len(scores), 6.4)
    axes = figure.subplots(2, len(scores), squeeze=False)
    for column, (name, values) in zip(axes.T, scores.items(), strict=True):
        ends = np.array([min(values.min(), threshold, 0), max(values.max(), threshold, 0)])
        margin = 0.05 * np.ptp(ends)
        for ax, place, method in zip(column, (0.0, threshold), ("EBB", "CEBB1"), strict=True):
            VoteHistogramDisplay.from_predictions(values, threshold=place, ax=ax)
            ax.set_title(f"{name}, {method}: threshold at {place:.2f}", loc="left", fontsize=10)
            ax.set_xlim(ends[0] - margin, ends[1] + margin)
    return figure


def errors_by_target(table: ComparedTable, title: str) -> Figure:
    """Draw table 3 or 4: the error of a class against the requested rate (figures 7 and 8)."""
    names = list(dict.fromkeys(row.dataset for row in table.rows))
    n_columns = min(5, len(names))
    n_lines = -(-len(names) // n_columns)
    figure = new_figure(2.5 * max(n_columns, 2) + 1.5, 2.3 * n_lines + 0.9)
    axes = figure.subplots(n_lines, n_columns, squeeze=False, sharex=True, sharey=True)
    targets = [float(column.removeprefix("tpr_")) for column in table.columns]
    for ax, name in zip(axes.flat, names, strict=False):
        for row in (row for row in table.rows if row.dataset == name):
            color = NEGATIVE_COLOR if row.method == "cebb1" else POSITIVE_COLOR
            label, entries = row.method.upper(), [row.entries.get(key) for key in table.columns]
            for which, style in (("ours", "o-"), ("paper", "s:")):
                values = [np.nan if entry is None else getattr(entry, which) for entry in entries]
                (line,) = ax.plot(targets, values, style, color=color, ms=4, lw=1.2, clip_on=False)
                line.set(label=f"{label}, {which}", mfc=color if which == "ours" else "none")
        ax.set_title(name, loc="left", fontsize=9.5)
        ax.set(ylim=(0, 1), xticks=[0, 0.5, 1])
        tidy(ax)
    for ax in axes.flat[len(names) :]:
        ax.set_axis_off()
    for ax in axes[:, 0]:
        ax.set_ylabel("MSE")
    for k in range(n_columns):
        shown = [ax for line, ax in enumerate(axes[:, k]) if line * n_columns + k < len(names)]
        shown[-1].set_xlabel("requested TPR")
        shown[-1].tick_params(labelbottom=True)
    entries_of = (ax.get_legend_handles_labels() for ax in axes.flat)
    keys = {text: key for keys, texts in entries_of for key, text in zip(keys, texts, strict=True)}
    figure.legend(keys.values(), keys, loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(title, x=0.01, ha="left", weight="bold")
    return figure


def instances(y: Labels, proba: Floats, title: str) -> Figure:
    """Draw the actual and the predicted probability of the negative class (figures 9 and 10)."""
    figure = new_figure(7.6, 3.6)
    ax, place = figure.subplots(), np.arange(len(y))
    ax.bar(place - 0.2, 1 - y, 0.38, color="black", label="actual")
    ax.bar(place + 0.2, 1 - proba, 0.38, color="white", edgecolor="black", label="predicted")
    # A bar of height zero is still an answer.
    ax.axhline(0, color="black", lw=1)
    ax.axhline(0.5, color=GUIDE_COLOR, ls=":", lw=1.2)
    ax.set_xticks(place, [f"i{k + 1}" for k in place])
    ax.set(ylim=(0, 1), ylabel="P(y = −1 | x)")
    ax.set_title(title, loc="left", weight="bold")
    tidy(ax)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return figure


def _panels(figure: Figure, contents: dict[str, Value]) -> list[tuple[Axes, tuple[str, Value]]]:
    axes = figure.subplots(1, len(contents), squeeze=False)[0]
    return list(zip(axes, contents.items(), strict=True))


def _probability_axes(ax: Axes, score: Floats, name: str) -> None:
    low, high = np.quantile(score, [0.002, 0.998])
    ax.set(xlim=(low, high), ylim=(0, 1), xlabel="score", ylabel="P(y = +1 | x)")
    ax.set_title(name, loc="left", weight="bold")
    tidy(ax)
