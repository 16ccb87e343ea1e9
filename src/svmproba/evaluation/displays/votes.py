"""Votes of the members of an ensemble on one sample."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from svmproba.bootstrap.summaries.votes import vote_shares
from svmproba.evaluation._classifiers import class_names_of, column_of
from svmproba.evaluation.displays import drawing as draw
from svmproba.evaluation.displays.scores import member_votes
from svmproba.evaluation.displays.texts import document_display
from svmproba.evaluation.measures.metrics import Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@document_display
@dataclass(eq=False, repr=False)
class VoteHistogramDisplay:
    """Histogram of the members' scores of one sample, coloured by vote.

    The share of the scores above the threshold is the probability of the class of interest at one
    hyperparameter value (the paper's figures 3 and 6). Move the threshold with
    :meth:`move_threshold` or, in an interactive window, with the mouse. Build the display with
    :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    scores : ndarray of shape (n_bootstraps,)
        Scores of the sample.
    threshold : float, default=0
        Scores above it vote for the positive class; a score equal to it counts half.
    {class_names/stored}

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    threshold_line_ : matplotlib Line2D
    texts_ : list of two matplotlib Text
        The share of either class.

    Examples
    --------
    >>> from svmproba.evaluation import VoteHistogramDisplay
    >>> display = VoteHistogramDisplay.from_predictions([-0.4, -0.1, 0.2, -0.3])
    >>> display.share
    0.25
    >>> display.move_threshold(-0.2).share
    0.5
    """

    scores: ArrayLike
    _: KW_ONLY
    threshold: float = 0.0
    class_names: tuple[str, str] = ("negative", "positive")

    @property
    def share(self) -> float:
        """Share of the votes for the positive class at the threshold."""
        return float(vote_shares(np.asarray(self.scores, dtype=np.float64), self.threshold))

    def plot(self, ax: Axes | None = None, *, bins: int = 30) -> VoteHistogramDisplay:
        """Draw the display.

        Parameters
        ----------
        {ax}
        bins : int, default=30
            Number of bins over the range of the scores; the threshold is an edge.
        """
        self.ax_ = ax = draw.axes_or_new(ax)
        from matplotlib.ticker import MaxNLocator

        self.figure_, self._bins = ax.figure, bins
        self._bars: list[Any] = []
        self.threshold_line_ = ax.axvline(self.threshold, color="black", ls="--", lw=1.2)
        sides = (0.02, "left", draw.NEGATIVE_COLOR), (0.98, "right", draw.POSITIVE_COLOR)
        self.texts_ = [
            ax.text(x, 0.98, "", color=color, ha=align, va="top", transform=ax.transAxes)
            for x, align, color in sides
        ]
        for text in self.texts_:
            # The line of the threshold may lie behind a long name.
            text.set_bbox({"facecolor": "white", "alpha": 0.75, "lw": 0, "pad": 1})
        self._draw_votes()
        ax.set(xlabel="score of a member", ylabel="members")
        # Room above the bars for the shares.
        ax.margins(y=0.35)
        ax.xaxis.set_major_locator(MaxNLocator(6))
        ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        draw.tidy(ax)
        draw.follow_mouse(ax, self.move_threshold)
        return self

    def move_threshold(self, threshold: float) -> VoteHistogramDisplay:
        """Move the threshold of a drawn display; colours and shares follow."""
        self.threshold = threshold
        self._draw_votes()
        draw.move_line(self.threshold_line_, threshold)
        return self

    def _draw_votes(self) -> None:
        for bars in self._bars:
            bars.remove()
        scores = np.asarray(self.scores, dtype=np.float64)
        edges = draw.edges_through(self.threshold, scores, self._bins)
        sides = (
            (scores < self.threshold, draw.NEGATIVE_COLOR),
            (scores >= self.threshold, draw.POSITIVE_COLOR),
        )
        self._bars = [
            self.ax_.hist(scores[side], edges, color=color, alpha=0.8, edgecolor="white", lw=0.4)[2]
            for side, color in sides
        ]
        shares = 1 - self.share, self.share
        for text, share, name in zip(self.texts_, shares, self.class_names, strict=True):
            text.set_text(f"{share:.1%}\n{draw.shortened(name)}")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        pos_label: Label = None,
        class_names: tuple[str, str] | None = None,
        **kwargs: Any,
    ) -> VoteHistogramDisplay:
        """Draw the votes on one sample, at the most reliable hyperparameter value.

        Of more than two classes, the score of a bag is the threshold below which it calls the class
        `pos_label`, and no other class with as many pairs.

        Parameters
        ----------
        {estimator/ensemble, X/one, pos_label, class_names, **kwargs/predictions}
        """
        _, positive = column_of(estimator, pos_label)
        scores, threshold = member_votes(estimator, X, positive)
        if scores.shape[1] != 1:
            raise ValueError(f"X must hold one sample, got {scores.shape[1]}")
        names = class_names or class_names_of(estimator, positive)
        return cls.from_predictions(scores[:, 0], threshold=threshold, class_names=names, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        scores: ArrayLike,
        *,
        threshold: float = 0.0,
        class_names: tuple[str, str] = ("negative", "positive"),
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> VoteHistogramDisplay:
        """Draw the votes by scores.

        Parameters
        ----------
        scores, threshold, class_names
            As in :class:`VoteHistogramDisplay`.
        {ax, **kwargs}
        """
        values = np.asarray(scores, dtype=np.float64)
        if values.ndim != 1 or values.size == 0:
            raise ValueError(f"scores must hold the scores of one sample, got shape {values.shape}")
        return cls(values, threshold=threshold, class_names=class_names).plot(ax, **kwargs)
