"""Reliability diagram."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from svmproba.evaluation._classifiers import column_of, last_step
from svmproba.evaluation.displays import drawing as draw
from svmproba.evaluation.displays.texts import document_display
from svmproba.evaluation.measures.calibration import ReliabilityCurve, Strategy, reliability_curve
from svmproba.evaluation.measures.metrics import Label, positive_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@document_display
@dataclass(eq=False, repr=False)
class ReliabilityDisplay:
    """Reliability diagram with exact limits, and a histogram of the probabilities.

    The diagram shows the observed share of positives in each bin of predicted probability, with its
    Clopper–Pearson limits. The histogram below it shows how many samples have which probability.
    Build the display with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    curve : ReliabilityCurve
        From :func:`svmproba.evaluation.reliability_curve`.
    proba : array-like of shape (n,)
        The predicted probabilities, for the histogram.
    {name}
    pos_label : label, default=None
        Class of interest, for the axis labels.

    Attributes
    ----------
    ax_, histogram_ax_ : matplotlib Axes
        The diagram; the histogram below it, ``None`` without one.
    figure_ : matplotlib Figure
    errorbar_ : matplotlib ErrorbarContainer

    Examples
    --------
    >>> from svmproba.evaluation import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9])
    >>> display.ax_.get_ylabel()
    'observed share of 1'
    """

    curve: ReliabilityCurve
    proba: ArrayLike
    _: KW_ONLY
    name: str | None = None
    pos_label: Label = None

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        histogram: bool = True,
        color: str = draw.NEGATIVE_COLOR,
    ) -> ReliabilityDisplay:
        """Draw the display.

        Parameters
        ----------
        {ax}
        name : str, default=None
            Name in the legend, instead of the stored one.
        histogram : bool, default=True
            Whether to draw the histogram below the diagram.
        {color}
        """
        self.ax_ = ax = draw.axes_or_new(ax)
        self.figure_ = ax.figure
        curve, positive = self.curve, "positives" if self.pos_label is None else self.pos_label
        if not any(line.get_label() == "calibrated" for line in ax.lines):
            ax.plot([0, 1], [0, 1], ":", color=draw.GUIDE_COLOR, lw=1.2, label="calibrated")
        # Rounding may put a limit slightly inside the share; lengths must not be negative.
        lengths = np.maximum([curve.observed - curve.lower, curve.upper - curve.observed], 0.0)
        ax.plot(curve.mean_predicted, curve.observed, color=color, lw=1, alpha=0.35)
        self.errorbar_ = ax.errorbar(
            curve.mean_predicted,
            curve.observed,
            lengths,
            fmt="o",
            ms=5.5,
            elinewidth=1.2,
            capsize=3,
            color=color,
            clip_on=False,
            zorder=3,
            label=name or self.name,
        )
        ax.set(xlim=(0, 1), ylim=(0, 1), ylabel=draw.wrapped(f"observed share of {positive}", 30))
        draw.tidy(ax)
        draw.write_legend(ax, *ax.get_legend_handles_labels())
        self.histogram_ax_ = self._plot_histogram(color) if histogram else None
        if histogram or ax.xaxis.get_tick_params().get("labelbottom", True):
            label = draw.wrapped(f"predicted probability of {positive}")
            (self.histogram_ax_ or ax).set_xlabel(label)
        return self

    def _plot_histogram(self, color: str) -> Axes:
        from matplotlib.ticker import NullFormatter, StrMethodFormatter

        below = draw.axes_below(self.ax_)
        below.hist(self.proba, [k / 20 for k in range(21)], color=color, alpha=0.85, rwidth=0.92)
        # Many vote shares are 0 or 1: on a linear axis the other bars would be invisible.
        below.set_yscale("log")
        below.set_ylim(bottom=0.7)
        below.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        below.yaxis.set_minor_formatter(NullFormatter())
        below.set_ylabel("samples")
        self.ax_.tick_params(labelbottom=False)
        draw.tidy(below)
        return below

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        confidence: float = 0.95,
        pos_label: Label = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> ReliabilityDisplay:
        """Draw the reliability diagram of a fitted classifier.

        Parameters
        ----------
        {estimator/proba, X, y}
        confidence : float, default=0.95
            Confidence of the limits.
        {pos_label}
        name : str, default=None
            Name in the legend, by default the estimator's class and the confidence.
        {**kwargs/predictions}
        """
        column, positive = column_of(estimator, pos_label)
        return cls.from_predictions(
            y,
            estimator.predict_proba(X)[:, column],
            confidence=confidence,
            pos_label=positive,
            name=name or f"{type(last_step(estimator)).__name__}, {confidence:.0%} limits",
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        proba: ArrayLike,
        *,
        n_bins: int = 10,
        strategy: Strategy = "uniform",
        confidence: float = 0.95,
        simultaneous: bool = False,
        pos_label: Label = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ReliabilityDisplay:
        """Draw the reliability diagram of predicted probabilities.

        Parameters
        ----------
        y_true, proba, n_bins, strategy, confidence, simultaneous, pos_label
            As in :func:`svmproba.evaluation.reliability_curve`.
        {name, ax, **kwargs}
        """
        curve = reliability_curve(
            y_true,
            proba,
            n_bins=n_bins,
            strategy=strategy,
            confidence=confidence,
            simultaneous=simultaneous,
            pos_label=pos_label,
        )
        positive = positive_label(y_true, pos_label)
        name = name or f"observed, {confidence:.0%} limits"
        return cls(curve, proba, name=name, pos_label=positive).plot(ax, **kwargs)
