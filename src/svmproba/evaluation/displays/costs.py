"""Mean cost against the threshold of the probability."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from svmproba.evaluation._classifiers import column_of, last_step
from svmproba.evaluation.displays import drawing as draw
from svmproba.evaluation.displays.texts import document_display
from svmproba.evaluation.measures.costs import (
    COSTS,
    CostCurve,
    cheapest_calls,
    cost_curve,
    mean_cost,
    optimal_threshold,
)
from svmproba.evaluation.measures.metrics import Label, is_positive, positive_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


@document_display
@dataclass(eq=False, repr=False)
class CostCurveDisplay:
    """Mean cost against the threshold of the probability.

    Two thresholds are marked. The optimal threshold by the costs is known beforehand and right for
    calibrated probabilities. The cheapest threshold is the best one for these very samples; its
    cost is too low an estimate for new samples. If costs differ between samples, no single
    threshold is optimal: the display then shows the mean cost of deciding each sample by its own
    costs. Build it with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    curve : CostCurve
        From :func:`svmproba.evaluation.cost_curve`.
    optimal_threshold : float, default=None
        From :func:`svmproba.evaluation.optimal_threshold`, for costs that all samples share.
    cost_by_sample : float, default=None
        Mean cost of deciding each sample by its own costs.
    {name}
    pos_label : label, default=None
        Class of interest, for the axis label.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D
        The curve.
    cheapest_, optimal_ : matplotlib Line2D
        The marks of the cheapest threshold and of the decision by costs; the second is ``None``
        without such a decision.

    Examples
    --------
    >>> from svmproba.evaluation import CostCurveDisplay
    >>> y, proba = [0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9]
    >>> display = CostCurveDisplay.from_predictions(y, proba, fn_cost=3)
    >>> display.optimal_threshold, display.cheapest
    (0.25, (0.25, 0.25))
    """

    curve: CostCurve
    _: KW_ONLY
    optimal_threshold: float | None = None
    cost_by_sample: float | None = None
    name: str | None = None
    pos_label: Label = None

    @property
    def cheapest(self) -> tuple[float, float]:
        """Cheapest threshold for these samples, the middle of its step, and its cost."""
        best = int(np.argmin(self.curve.cost))
        low, high = np.concatenate([[0.0], self.curve.threshold])[best : best + 2]
        # Beyond probabilities of 1 nobody is called; that step has no middle within [0, 1].
        middle = (low + min(high, 1.0)) / 2 if low < 1.0 else np.nextafter(1.0, 2.0)
        return float(middle), float(self.curve.cost[best])

    def cost_at(self, threshold: float) -> float:
        """Mean cost if samples at or above the threshold are called positive."""
        return float(self.curve.cost[np.searchsorted(self.curve.threshold, threshold)])

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, color: str = draw.NEGATIVE_COLOR
    ) -> CostCurveDisplay:
        """Draw the display.

        Parameters
        ----------
        {ax}
        name : str, default=None
            Name in the legend, instead of the stored one.
        {color}
        """
        self.ax_ = ax = draw.axes_or_new(ax)
        self.figure_ = ax.figure
        positive = "the positive class" if self.pos_label is None else self.pos_label
        # A cost holds up to its threshold, from the one before it, exclusive.
        thresholds = np.concatenate([[0.0], np.minimum(self.curve.threshold, 1.0)])
        costs = np.concatenate([self.curve.cost[:1], self.curve.cost])
        label = name or self.name or "mean cost"
        (self.line_,) = ax.plot(
            thresholds, costs, color=color, lw=1.5, drawstyle="steps-pre", label=label
        )
        threshold, cost = self.cheapest
        label = f"cheapest threshold {threshold:.2f}: {draw.number(cost)}"
        (self.cheapest_,) = ax.plot(
            [threshold], [cost], "o", color=color, ms=6, label=label, zorder=3
        )
        self.optimal_ = self._mark_optimum(color)
        self._draw_baseline(self.curve.cost[0], ":", "all called positive")
        self._draw_baseline(self.curve.cost[-1], "-.", "none called positive")
        ax.set(xlim=(0, 1), xlabel=draw.wrapped(f"threshold of the probability of {positive}"))
        ax.set_ylabel("mean cost per sample")
        draw.tidy(ax)
        handles, labels = ax.get_legend_handles_labels()
        # What all displays on these axes share comes last.
        order = sorted(range(len(labels)), key=lambda k: labels[k].startswith(("all ", "none ")))
        draw.write_legend(ax, [handles[k] for k in order], [labels[k] for k in order])
        return self

    def _mark_optimum(self, color: str) -> Line2D | None:
        if self.optimal_threshold is not None:
            threshold, cost = self.optimal_threshold, self.cost_at(self.optimal_threshold)
            label = f"optimal threshold by the costs {threshold:.2f}: {draw.number(cost)}"
            return self.ax_.plot(
                [threshold], [cost], "D", color=color, mfc="white", ms=7, label=label, zorder=3
            )[0]
        if self.cost_by_sample is not None:
            label = f"each sample by its own costs: {draw.number(self.cost_by_sample)}"
            return self.ax_.axhline(self.cost_by_sample, color=color, ls="--", lw=1.2, label=label)
        return None

    def _draw_baseline(self, cost: float, style: str, label: str) -> None:
        """Draw the cost of one call for all samples, once on shared axes."""
        label = f"{label}: {draw.number(cost)}"
        if not any(line.get_label() == label for line in self.ax_.lines):
            self.ax_.axhline(cost, color=draw.GUIDE_COLOR, ls=style, lw=1, label=label, zorder=1)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        pos_label: Label = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> CostCurveDisplay:
        """Draw the costs of a fitted classifier.

        Parameters
        ----------
        {estimator/proba, X, y, pos_label}
        name : str, default=None
            Name in the legend, by default the estimator's class.
        **kwargs : dict
            Passed to :meth:`from_predictions`, such as the costs.
        """
        column, positive = column_of(estimator, pos_label)
        name = name or type(last_step(estimator)).__name__
        proba = estimator.predict_proba(X)[:, column]
        return cls.from_predictions(y, proba, pos_label=positive, name=name, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        proba: ArrayLike,
        *,
        tp_cost: ArrayLike = 0.0,
        tn_cost: ArrayLike = 0.0,
        fn_cost: ArrayLike = 1.0,
        fp_cost: ArrayLike = 1.0,
        pos_label: Label = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> CostCurveDisplay:
        """Draw the costs of predicted probabilities.

        Parameters
        ----------
        y_true, proba, tp_cost, tn_cost, fn_cost, fp_cost, pos_label
            As in :func:`svmproba.evaluation.cost_curve`.
        {name, ax, **kwargs}
        """
        given = (tp_cost, tn_cost, fn_cost, fp_cost)
        costs: Any = dict(zip(COSTS, given, strict=True))
        curve = cost_curve(y_true, proba, pos_label=pos_label, **costs)
        rule: dict[str, float] = {}
        if all(np.ndim(cost) == 0 for cost in given):
            rule["optimal_threshold"] = optimal_threshold(**costs)
        else:
            positive = is_positive(y_true, pos_label)
            called = cheapest_calls(np.asarray(proba, dtype=np.float64), costs)
            rule["cost_by_sample"] = mean_cost(positive, called, pos_label=True, **costs)
        label = positive_label(y_true, pos_label)
        return cls(curve, name=name, pos_label=label, **rule).plot(ax, **kwargs)
