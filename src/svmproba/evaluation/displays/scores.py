"""Histograms of the scores of both classes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from svmproba._types import Floats
from svmproba.evaluation._classifiers import (
    class_names_in,
    column_of,
    has_several,
    is_ensemble,
    last_step,
    levels_of,
    own_label,
    rows_for_last_step,
)
from svmproba.evaluation._one_class import class_votes
from svmproba.evaluation.displays import drawing as draw
from svmproba.evaluation.displays.texts import document_display
from svmproba.evaluation.measures.metrics import Label, check_scores, is_positive

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def best_theta_scores(ensemble: Any, X: Any) -> Floats:
    """Scores (n_bootstraps, n) of the members at the most reliable hyperparameter value."""
    best = int(np.argmax(ensemble.reliability_))
    blocks = [scores[best].copy() for _, scores in ensemble.member_scores(X)]
    return np.concatenate(blocks, axis=-1)


def member_votes(estimator: Any, X: Any, pos_label: Label) -> tuple[Floats, float]:
    """Scores as `best_theta_scores` gives them, and their threshold, for the class of interest."""
    model = last_step(estimator)
    if not is_ensemble(model):
        raise ValueError(f"scores of members need a bootstrap ensemble, got {model!r}")
    if has_several(estimator):
        place = column_of(estimator, pos_label)[0]
        return class_votes(model, rows_for_last_step(estimator, X), place)
    scores = best_theta_scores(model, rows_for_last_step(estimator, X))
    thresholds = np.broadcast_to(model.threshold_, model.reliability_.shape)
    threshold = float(thresholds[np.argmax(model.reliability_)])
    return (scores, threshold) if pos_label == own_label(estimator) else (-scores, -threshold)


@document_display
@dataclass(eq=False, repr=False)
class ScoreHistogramDisplay:
    """Histograms of scores, one for each true class, and a threshold that can be moved.

    The legend states TPR and TNR at the threshold. Move the threshold with :meth:`move_threshold`
    or, in an interactive window, with the mouse. Build the display with :meth:`from_estimator` or
    :meth:`from_predictions`.

    Parameters
    ----------
    negative, positive : ndarray
        Scores of the samples of each class.
    threshold : float, default=0
        Scores at or above it are called positive.
    {class_names/stored}
    score_name : str, default="score"
        Label of the axis.
    counted : str, default="samples"
        What the histograms count: ``"samples"`` or ``"votes"``.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    threshold_line_ : matplotlib Line2D

    Examples
    --------
    >>> from svmproba.evaluation import ScoreHistogramDisplay
    >>> display = ScoreHistogramDisplay.from_predictions([0, 0, 1, 1], [-2.0, 0.3, 0.5, 1.0])
    >>> display.rates
    (1.0, 0.5)
    >>> display.move_threshold(0.4).rates
    (1.0, 1.0)
    """

    negative: Floats
    positive: Floats
    _: KW_ONLY
    threshold: float = 0.0
    class_names: tuple[str, str] = ("negative", "positive")
    score_name: str = "score"
    counted: str = "samples"

    @property
    def rates(self) -> tuple[float, float]:
        """TPR and TNR at the threshold; NaN for a class without samples."""
        right = self.positive >= self.threshold, self.negative < self.threshold
        tpr, tnr = (float(side.mean()) if side.size else float("nan") for side in right)
        return tpr, tnr

    def plot(self, ax: Axes | None = None, *, bins: int = 40) -> ScoreHistogramDisplay:
        """Draw the display.

        Parameters
        ----------
        {ax}
        bins : int, default=40
            Number of bins over the range of all scores; the threshold is an edge.
        """
        self.ax_ = ax = draw.axes_or_new(ax)
        self.figure_ = ax.figure
        self._bars: list[Any] = []
        both, colors = (self.negative, self.positive), (draw.NEGATIVE_COLOR, draw.POSITIVE_COLOR)
        edges = draw.edges_through(self.threshold, np.concatenate(both), bins)
        for scores, color in zip(both, colors, strict=True):
            bars = ax.hist(scores, edges, color=color, alpha=0.6, edgecolor=color, lw=0.6)[2]
            self._bars.append(bars)
        self.threshold_line_ = ax.axvline(self.threshold, ymax=0.78, color="black", ls="--", lw=1.2)
        ax.set(xlabel=draw.wrapped(self.score_name), ylabel=self.counted)
        # Room above the bars for the legend.
        ax.margins(y=0.32)
        draw.tidy(ax)
        self._write_legend()
        draw.follow_mouse(ax, self.move_threshold)
        return self

    def move_threshold(self, threshold: float) -> ScoreHistogramDisplay:
        """Move the threshold of a drawn display; the rates follow."""
        self.threshold = threshold
        self._write_legend()
        draw.move_line(self.threshold_line_, threshold)
        return self

    def _write_legend(self) -> None:
        labels = []
        for name, rate_name, rate, scores in zip(
            self.class_names,
            ("TNR", "TPR"),
            self.rates[::-1],
            (self.negative, self.positive),
            strict=True,
        ):
            text = f"{rate_name} {rate:.3f}" if scores.size else f"no {self.counted}"
            if scores.size and self.counted == "samples":
                text += f", {rate * scores.size:.0f} of {scores.size}"
            labels.append(f"{draw.shortened(name)}\n{text}")
        title = f"at threshold {draw.number(self.threshold)}"
        draw.write_legend(self.ax_, self._bars, labels, title=title, loc="upper center", ncols=2)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        members: bool = False,
        pos_label: Label = None,
        **kwargs: Any,
    ) -> ScoreHistogramDisplay:
        r"""Draw the number that decides the class of each sample, and the estimator's threshold.

        For the vote shares of a bootstrap ensemble this number is the median of all scores of the
        sample, weighted by :math:`\rho_\theta`: at every threshold, the rates are those of
        ``predict`` with that threshold. For calibrated probabilities it is the probability, for
        another classifier its ``decision_function`` or, without one, its probability.

        Parameters
        ----------
        {estimator, X, y}
        members : bool, default=False
            Whether to draw the scores of all members of a bootstrap ensemble instead, at the most
            reliable hyperparameter value. The histograms then count votes, not samples. Of more
            than two classes, the score is the threshold below which a bag calls the class alone.
        {pos_label, **kwargs/predictions}
        """
        _, positive = column_of(estimator, pos_label)
        if members:
            scores, threshold = member_votes(estimator, X, positive)
            name = "score of a member"
        else:
            scores, threshold, name = levels_of(estimator, X, positive)
        return cls.from_predictions(
            y, scores, threshold=threshold, pos_label=positive, score_name=name, **kwargs
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        scores: ArrayLike,
        *,
        threshold: float = 0.0,
        pos_label: Label = None,
        class_names: tuple[str, str] | None = None,
        score_name: str = "score",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ScoreHistogramDisplay:
        """Draw histograms of scores.

        Parameters
        ----------
        {y_true, scores}
        threshold : float, default=0
            Scores at or above it are called positive.
        {pos_label/labels, class_names}
        score_name : str, default="score"
            Label of the axis.
        {ax, **kwargs}
        """
        positive = is_positive(y_true, pos_label)
        values = check_scores(positive, scores)
        return cls(
            values[..., ~positive].ravel(),
            values[..., positive].ravel(),
            threshold=threshold,
            class_names=class_names or class_names_in(y_true, positive),
            score_name=score_name,
            counted="samples" if values.ndim == 1 else "votes",
        ).plot(ax, **kwargs)
