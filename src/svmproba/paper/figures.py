"""Pictures of the paper's experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from svmproba.evaluation import ReliabilityDisplay, ScoreHistogramDisplay
from svmproba.evaluation._drawing import NEGATIVE_COLOR, POSITIVE_COLOR, edges_through, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]


def plot_votes(scores: Floats, ax: Axes) -> None:
    """Draw the scores that the members give to one record, coloured by vote (Figure 3).

    Parameters
    ----------
    scores : ndarray of shape (n_bootstraps,)
    ax : matplotlib Axes
    """
    from matplotlib.ticker import MaxNLocator

    edges = edges_through(0.0, scores, 30)
    for side, color in ((scores <= 0, NEGATIVE_COLOR), (scores > 0, POSITIVE_COLOR)):
        ax.hist(scores[side], edges, color=color, alpha=0.8, edgecolor="white", lw=0.4)
    ax.axvline(0, color="black", ls="--", lw=1.2)
    ax.set_xlabel("score")
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    tidy(ax)


def score_histograms(y: NDArray[np.int64], scores: Floats, class_names: tuple[str, str]) -> Figure:
    """Draw mean scores by class, and the votes on a sure, a doubtful and another sure record.

    Parameters
    ----------
    y : ndarray of shape (n,)
        1 for the class of interest, 0 for the other.
    scores : ndarray of shape (n, n_bootstraps)
        Scores of the members on records they have not seen.
    class_names : tuple of two str

    Returns
    -------
    matplotlib Figure
    """
    figure = new_figure(9.5, 6.4)
    above, below = figure.subfigures(2, 1, height_ratios=(1.25, 1), squeeze=False)[:, 0]
    ax = above.subplots()
    ScoreHistogramDisplay.from_predictions(
        y, scores.mean(axis=1), class_names=class_names, ax=ax
    ).ax_.set(ylabel="records", xlabel="mean score of the members, out of fold")
    ax.set_title("All records", loc="left", fontsize=11, weight="bold")
    axes = below.subplots(1, 3)
    for ax, record in zip(axes, example_records(scores), strict=True):
        plot_votes(scores[record], ax)
        share = np.mean(scores[record] > 0)
        title = (
            f"Record {record}: {share:.0%} vote {class_names[1]}\n(it is {class_names[y[record]]})"
        )
        ax.set_title(title, loc="left", fontsize=10)
    axes[0].set_ylabel("members")
    return figure


def reliability(y: NDArray[np.int64], probas: dict[str, Floats], positive_name: str) -> Figure:
    """Draw the reliability of several out-of-fold probabilities side by side.

    Parameters
    ----------
    y : ndarray of shape (n,)
    probas : dict of str to ndarray of shape (n,)
        By title.
    positive_name : str
        Name of the class of interest.

    Returns
    -------
    matplotlib Figure
    """
    figure = new_figure(5.2 * len(probas), 5.4)
    axes = figure.subplots(1, len(probas), squeeze=False)[0]
    for ax, (title, proba) in zip(axes, probas.items(), strict=True):
        _plot_reliability(y, proba, positive_name, ax)
        ax.set_title(title, loc="left", weight="bold")
    return figure


def overview(
    y: NDArray[np.int64], scores: Floats, proba: Floats, class_names: tuple[str, str]
) -> Figure:
    """Draw the idea on one doubtful record beside the reliability of all probabilities.

    Parameters
    ----------
    y, scores, class_names
        As in :func:`score_histograms`.
    proba : ndarray of shape (n,)
        Out-of-fold probability of the class of interest.

    Returns
    -------
    matplotlib Figure
    """
    figure = new_figure(10.4, 4.8)
    left, right = figure.subplots(1, 2)
    votes = scores[example_records(scores)[1]]
    plot_votes(votes, left)
    left.margins(y=0.25)
    for x, align, share, name, color in (
        (0.02, "left", np.mean(votes <= 0), class_names[0], NEGATIVE_COLOR),
        (0.98, "right", np.mean(votes > 0), class_names[1], POSITIVE_COLOR),
    ):
        text, place = f"{share:.0%}\n{name}", left.transAxes
        left.text(x, 0.97, text, color=color, ha=align, va="top", transform=place, size=13)
    left.set_ylabel("support vector machines")
    left.set_title(f"One patient, {len(votes)} bootstrap SVMs vote", loc="left", weight="bold")
    _plot_reliability(y, proba, class_names[1], right)
    right.set_title(f"All {len(y)} patients: votes and truth", loc="left", weight="bold")
    return figure


def example_records(scores: Floats) -> tuple[int, int, int]:
    """Pick a surely negative, a doubtful and a surely positive record by their scores.

    Parameters
    ----------
    scores : ndarray of shape (n, n_bootstraps)

    Returns
    -------
    tuple of three int
    """
    share, mean = np.mean(scores > 0, axis=1), scores.mean(axis=1)
    # The middle record of each unanimous side, or the extreme one where nobody is unanimous.
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
    """Make a figure that no window holds.

    Parameters
    ----------
    width, height : float
        In inches.

    Returns
    -------
    matplotlib Figure
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'svmproba[plot]'") from error
    return Figure(figsize=(width, height), dpi=150, layout="constrained")
