"""How the scores of the two classes lie about the threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmproba.evaluation._classifiers import (
    class_names_in,
    column_of,
    is_ensemble,
    last_step,
    levels_of,
    own_label,
    rows_for_last_step,
)
from svmproba.evaluation._drawing import (
    NEGATIVE_COLOR,
    POSITIVE_COLOR,
    edges_through,
    follow_mouse,
    number,
    own_axes,
    shortened,
    tidy,
    wrapped,
    write_legend,
)
from svmproba.evaluation._metrics import Label, is_positive

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def best_theta_scores(ensemble: Any, X: Any) -> NDArray[np.float64]:
    """Scores of the members at the most reliable hyperparameter value, the first of equals.

    Scores of different values of C lie on different scales; these lie on one.

    Parameters
    ----------
    ensemble : fitted bootstrap ensemble
    X : table of shape (n, n_features)

    Returns
    -------
    ndarray of shape (n_bootstraps, n)
    """
    best = int(np.argmax(ensemble.reliability_))
    blocks = [scores[best].copy() for _, scores in ensemble.member_scores(X)]
    return np.concatenate(blocks, axis=-1)


def member_votes(estimator: Any, X: Any, pos_label: Label) -> tuple[NDArray[np.float64], float]:
    """Scores of the members at the most reliable hyperparameter value, and their threshold.

    Parameters
    ----------
    estimator : fitted bootstrap ensemble, or a pipeline that ends with one
    X : table of shape (n, n_features)
    pos_label : label
        Class of interest.

    Returns
    -------
    scores : ndarray of shape (n_bootstraps, n)
    threshold : float
    """
    model = last_step(estimator)
    if not is_ensemble(model):
        raise ValueError(f"scores of members need a bootstrap ensemble, got {model!r}")
    scores = best_theta_scores(model, rows_for_last_step(estimator, X))
    thresholds = np.broadcast_to(model.threshold_, model.reliability_.shape)
    threshold = float(thresholds[np.argmax(model.reliability_)])
    return (scores, threshold) if pos_label == own_label(estimator) else (-scores, -threshold)


class ScoreHistogramDisplay:
    """Histograms of scores, one for each true class, and a threshold that can be moved.

    The legend tells which share of either class is on its side of the threshold: TPR and TNR. Move
    the threshold with :meth:`move_threshold` or, where the window takes events, with the mouse.
    Build the display with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    negative, positive : ndarray
        Scores of the records of each class.
    threshold : float, default=0
        Scores at or above it are called positive.
    class_names : tuple of two str
        Names of the negative and the positive class.
    score_name : str, default="score"
        Label of the axis.
    counted : str, default="records"
        What has a score.

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

    def __init__(
        self,
        negative: NDArray[np.float64],
        positive: NDArray[np.float64],
        *,
        threshold: float = 0.0,
        class_names: tuple[str, str] = ("negative", "positive"),
        score_name: str = "score",
        counted: str = "records",
    ) -> None:
        self.negative = negative
        self.positive = positive
        self.threshold = threshold
        self.class_names = class_names
        self.score_name = score_name
        self.counted = counted

    @property
    def rates(self) -> tuple[float, float]:
        """TPR and TNR at the threshold; NaN for a class without records."""
        right = self.positive >= self.threshold, self.negative < self.threshold
        tpr, tnr = (float(side.mean()) if side.size else float("nan") for side in right)
        return tpr, tnr

    def plot(self, ax: Axes | None = None, *, bins: int = 40) -> ScoreHistogramDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        bins : int, default=40
            Bins over the range of all scores; the threshold is an edge.

        Returns
        -------
        ScoreHistogramDisplay
        """
        self.ax_ = ax = own_axes() if ax is None else ax
        self.figure_ = ax.figure
        self._bars: list[Any] = []
        edges = edges_through(self.threshold, np.concatenate([self.negative, self.positive]), bins)
        for scores, color in ((self.negative, NEGATIVE_COLOR), (self.positive, POSITIVE_COLOR)):
            bars = ax.hist(scores, edges, color=color, alpha=0.6, edgecolor=color, lw=0.6)[2]
            self._bars.append(bars)
        self.threshold_line_ = ax.axvline(self.threshold, ymax=0.78, color="black", ls="--", lw=1.2)
        ax.set(xlabel=wrapped(self.score_name), ylabel=self.counted)
        # Room above the bars for the legend.
        ax.margins(y=0.32)
        tidy(ax)
        self._write_legend()
        follow_mouse(ax, self.move_threshold)
        return self

    def move_threshold(self, threshold: float) -> ScoreHistogramDisplay:
        """Move the threshold of a drawn display, and the rates with it.

        Parameters
        ----------
        threshold : float
            The new threshold, on the axis of the scores.

        Returns
        -------
        ScoreHistogramDisplay
        """
        self.threshold = threshold
        self.threshold_line_.set_xdata([threshold, threshold])
        self._write_legend()
        self.figure_.canvas.draw_idle()
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
            told = f"{rate_name} {rate:.3f}" if scores.size else f"no {self.counted}"
            if scores.size and self.counted == "records":
                told += f", {rate * scores.size:.0f} of {scores.size}"
            labels.append(f"{shortened(name)}\n{told}")
        title = f"threshold at {number(self.threshold)}"
        write_legend(self.ax_, self._bars, labels, title=title, loc="upper center", ncols=2)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        members: bool = False,
        pos_label: Label = None,
        class_names: tuple[str, str] | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ScoreHistogramDisplay:
        r"""Draw what decides the class of each record, at the estimator's threshold.

        For the vote shares of a bootstrap ensemble that is the median of all scores of the
        record, weighted by :math:`\rho_\theta`: at every threshold the rates are those that
        ``predict`` has with that threshold. For calibrated probabilities it is the probability, for
        another classifier its ``decision_function`` or, without one, its probability.

        Parameters
        ----------
        estimator : fitted two-class classifier
            Or a pipeline that ends with one.
        X : table of shape (n, n_features)
        y : array-like of shape (n,)
        members : bool, default=False
            Of a bootstrap ensemble, draw instead the scores of all members at the most reliable
            hyperparameter value: votes are counted then, not records.
        pos_label : label, default=None
            Class of interest, by default the estimator's ``pos_label`` or larger class.
        class_names : tuple of two str, default=None
            Names of the negative and the positive class, by default the labels.
        ax : matplotlib Axes, default=None
        **kwargs
            Passed to :meth:`plot`.

        Returns
        -------
        ScoreHistogramDisplay
        """
        _, positive = column_of(estimator, pos_label)
        if members:
            scores, threshold = member_votes(estimator, X, positive)
            name = "score of a member"
        else:
            scores, threshold, name = levels_of(estimator, X, positive)
        return cls.from_predictions(
            y,
            scores,
            threshold=threshold,
            pos_label=positive,
            class_names=class_names,
            score_name=name,
            ax=ax,
            **kwargs,
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
        """Draw scores that are at hand.

        Parameters
        ----------
        y_true : array-like of shape (n,)
        scores : array-like of shape (n,) or (..., n)
            One score for each record, or one for each member and record.
        threshold : float, default=0
            Scores at or above it are called positive.
        pos_label : label, default=None
            Class of interest, by default the larger label.
        class_names : tuple of two str, default=None
            Names of the negative and the positive class, by default the labels.
        score_name : str, default="score"
            Label of the axis.
        ax : matplotlib Axes, default=None
        **kwargs
            Passed to :meth:`plot`.

        Returns
        -------
        ScoreHistogramDisplay
        """
        positive, values = is_positive(y_true, pos_label), np.asarray(scores, dtype=np.float64)
        if values.ndim < 1 or values.shape[-1] != len(positive):
            raise ValueError(
                f"scores must hold {len(positive)} records along their last axis, "
                f"got shape {values.shape}"
            )
        names = class_names or class_names_in(np.asarray(y_true), positive)
        return cls(
            values[..., ~positive].ravel(),
            values[..., positive].ravel(),
            threshold=threshold,
            class_names=names,
            score_name=score_name,
            counted="records" if values.ndim == 1 else "votes",
        ).plot(ax, **kwargs)
