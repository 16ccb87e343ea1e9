"""How the scores of the two classes lie about the cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmproba.evaluation._drawing import (
    NEGATIVE_COLOR,
    POSITIVE_COLOR,
    column_of,
    edges_through,
    last_step,
    own_axes,
    tidy,
)
from svmproba.evaluation.metrics import Label, is_positive

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
    blocks = [scores[best].copy() for _, scores in ensemble.score_samples_array(X)]
    return np.concatenate(blocks, axis=-1)


class ScoreHistogramDisplay:
    """Histograms of scores, one for each true class, and the cut between the classes.

    Build it with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    negative, positive : ndarray
        Scores of the records of each class.
    cut : float, default=0
        Scores above it vote for the positive class.
    class_names : tuple of two str
        Names of the negative and the positive class.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    cut_line_ : matplotlib Line2D

    Examples
    --------
    >>> from svmproba.evaluation import ScoreHistogramDisplay
    >>> display = ScoreHistogramDisplay.from_predictions([0, 0, 1, 1], [-2.0, 0.3, 0.5, 1.0])
    >>> display.ax_.get_xlabel()
    'score'
    """

    def __init__(
        self,
        negative: NDArray[np.float64],
        positive: NDArray[np.float64],
        *,
        cut: float = 0.0,
        class_names: tuple[str, str] = ("negative", "positive"),
    ) -> None:
        self.negative = negative
        self.positive = positive
        self.cut = cut
        self.class_names = class_names

    def plot(self, ax: Axes | None = None, *, bins: int = 40) -> ScoreHistogramDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; ``None`` makes a figure.
        bins : int, default=40
            Bins over the range of all scores; the cut is always an edge.

        Returns
        -------
        ScoreHistogramDisplay
        """
        self.ax_ = ax = own_axes() if ax is None else ax
        self.figure_ = ax.figure
        edges = edges_through(self.cut, np.concatenate([self.negative, self.positive]), bins)
        for scores, color, name in (
            (self.negative, NEGATIVE_COLOR, self.class_names[0]),
            (self.positive, POSITIVE_COLOR, self.class_names[1]),
        ):
            ax.hist(scores, edges, color=color, alpha=0.6, edgecolor=color, lw=0.6, label=name)
        self.cut_line_ = ax.axvline(self.cut, color="black", ls="--", lw=1.2, label="cut")
        ax.set(xlabel="score", ylabel="frequency")
        tidy(ax)
        ax.legend(frameon=False)
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        members: bool = False,
        pos_label: Label = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ScoreHistogramDisplay:
        """Draw the scores that a fitted classifier gives.

        Parameters
        ----------
        estimator : fitted two-class classifier
            A bootstrap ensemble of this package, any classifier with ``decision_function``, or a
            pipeline that ends with one.
        X : table of shape (n, n_features)
        y : array-like of shape (n,)
        members : bool, default=False
            Of a bootstrap ensemble, whether to draw the scores of all members at the most
            reliable hyperparameter value, or for each record their mean.
        pos_label : label, default=None
            Class of interest, by default the estimator's ``pos_label`` or larger class.
        ax : matplotlib Axes, default=None
        **kwargs
            Passed to :meth:`plot`.

        Returns
        -------
        ScoreHistogramDisplay
        """
        _, positive = column_of(estimator, pos_label)
        model = last_step(estimator)
        if hasattr(model, "score_samples_array"):
            rows = X if model is estimator else estimator[:-1].transform(X)
            scores = best_theta_scores(model, rows)
            scores = scores if members else scores.mean(axis=0)
        else:
            if members:
                raise ValueError(f"members=True needs a bootstrap ensemble, got {model!r}")
            scores = estimator.decision_function(X)
        if positive != getattr(model, "pos_label_", estimator.classes_[1]):
            scores = -scores
        return cls.from_predictions(y, scores, pos_label=positive, ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        scores: ArrayLike,
        *,
        cut: float = 0.0,
        pos_label: Label = None,
        class_names: tuple[str, str] | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ScoreHistogramDisplay:
        """Draw scores that are at hand.

        Parameters
        ----------
        y_true : array-like of shape (n,)
        scores : array-like of shape (n,) or (..., n)
            One score for each record, or one for each member and record.
        cut : float, default=0
            Scores above it vote for the positive class.
        pos_label : label, default=None
            Class of interest, by default the larger label.
        class_names : tuple of two str, default=None
            Names of the negative and the positive class, by default the labels.
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
        labels = np.asarray(y_true)
        names = class_names or (
            str(labels[~positive][0]) if not positive.all() else "negative",
            str(labels[positive][0]) if positive.any() else "positive",
        )
        return cls(
            values[..., ~positive].ravel(),
            values[..., positive].ravel(),
            cut=cut,
            class_names=names,
        ).plot(ax, **kwargs)
