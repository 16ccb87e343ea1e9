"""Rates and errors of both classes against the threshold."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from svmproba.bootstrap.intervals import clopper_pearson
from svmproba.bootstrap.threshold import RateCurve
from svmproba.evaluation._classifiers import (
    class_names_in,
    class_names_of,
    column_of,
    has_several,
    is_calibrated,
    is_ensemble,
    last_step,
    rate_curve_on,
    rows_for_last_step,
    single_threshold,
)
from svmproba.evaluation._one_class import class_curve_on, class_threshold
from svmproba.evaluation.displays import drawing as draw
from svmproba.evaluation.displays.texts import document_display
from svmproba.evaluation.measures.metrics import Label, is_positive
from svmproba.evaluation.measures.rates import rate_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


class _Series(NamedTuple):
    """A field of the curve: its name, its class and its line style."""

    field: str
    name: str
    of_positive: bool
    style: str


SERIES = (
    _Series("tpr", "TPR", True, "-"),
    _Series("tnr", "TNR", False, "-"),
    _Series("mse_plus", "MSE", True, "--"),
    _Series("mse_minus", "MSE", False, "--"),
)


@document_display
@dataclass(eq=False, repr=False)
class RateDisplay:
    """Rates and mean squared errors of both classes against the threshold, or against a rate.

    Each class has a colour. Full lines are rates, dashed lines are errors of the probability within
    the class (the paper's figures 7 and 8). The legend states the values at the current threshold.
    Build the display with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    curve : RateCurve
        From ``estimator.rate_curve()`` or :func:`svmproba.evaluation.rate_curve`.
    threshold : float, default=None
        Current threshold, marked if given.
    {class_names/stored}
    n_samples : tuple of two int, default=None
        Number of negative and positive samples of the curve. If given, the rates have
        Clopper–Pearson limits at each threshold.
    confidence : float, default=0.95
        Confidence of these limits.
    threshold_name : str, default="threshold of the score"
        Label of the axis of the thresholds.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict of str to matplotlib Line2D
        By field of the curve.
    threshold_line_ : matplotlib Line2D
        ``None`` without a threshold.

    Examples
    --------
    >>> from svmproba.evaluation import RateDisplay
    >>> y, scores = [0, 0, 1, 1], [-2.0, 0.3, 0.1, 1.0]
    >>> display = RateDisplay.from_predictions(y, scores, threshold=0.0)
    >>> sorted(display.lines_)
    ['tnr', 'tpr']
    """

    curve: RateCurve
    _: KW_ONLY
    threshold: float | None = None
    class_names: tuple[str, str] = ("negative", "positive")
    n_samples: tuple[int, int] | None = None
    confidence: float = 0.95
    threshold_name: str = "threshold of the score"

    def plot(
        self,
        ax: Axes | None = None,
        *,
        against: Literal["threshold", "tpr", "tnr"] = "threshold",
    ) -> RateDisplay:
        """Draw the display.

        Parameters
        ----------
        {ax}
        against : {"threshold", "tpr", "tnr"}, default="threshold"
            Quantity on the horizontal axis: the threshold, or the rate of one class.
        """
        if against not in ("threshold", "tpr", "tnr"):
            raise ValueError(f"against must be 'threshold', 'tpr' or 'tnr', got {against!r}")
        self.ax_ = ax = draw.axes_or_new(ax)
        self.figure_ = ax.figure
        x = getattr(self.curve, against)
        self.lines_: dict[str, Line2D] = {}
        for series in SERIES:
            values = getattr(self.curve, series.field)
            if series.field == against or np.isnan(values).all():
                continue
            color = draw.POSITIVE_COLOR if series.of_positive else draw.NEGATIVE_COLOR
            (self.lines_[series.field],) = ax.plot(x, values, color=color, ls=series.style, lw=1.6)
            if series.name != "MSE" and self.n_samples is not None:
                n = self.n_samples[series.of_positive]
                hits, trials = np.rint(values * n), np.full(len(values), n)
                lower, upper = clopper_pearson(hits, trials, confidence=self.confidence)
                ax.fill_between(x, lower, upper, color=color, alpha=0.15, lw=0)
        self.threshold_line_ = (
            None if self.threshold is None else self._mark_threshold(self.threshold, against)
        )
        # Room above the curves for the legend.
        ax.set(ylim=(-0.02, 1.42), yticks=np.linspace(0, 1, 6), ylabel="rate, MSE")
        ax.set_xlim(self._range_of_interest() if against == "threshold" else (-0.02, 1.02))
        ax.set_xlabel(draw.wrapped(self._axis_name(against)))
        draw.tidy(ax)
        self._write_legend(against)
        return self

    def value_at_threshold(self, field: str) -> float:
        """Value of a field of the curve at the current threshold, by interpolation."""
        if self.threshold is None:
            return float("nan")
        return float(np.interp(self.threshold, self.curve.threshold, getattr(self.curve, field)))

    def _write_legend(self, against: str) -> None:
        """One column for each class: its name, its rate and its error at the threshold."""
        from matplotlib.lines import Line2D

        columns = []
        for of_positive in (False, True):
            handles: list[Any] = [Line2D([], [], ls="")]
            labels = [draw.shortened(self.class_names[of_positive])]
            for series in SERIES:
                if series.of_positive == of_positive and series.field in self.lines_:
                    value = f" {self.value_at_threshold(series.field):.3f}"
                    handles.append(self.lines_[series.field])
                    labels.append(series.name + ("" if self.threshold is None else value))
            columns.append((handles, labels))
        # matplotlib fills the first column with one entry more where their number is odd.
        columns.sort(key=lambda column: -len(column[1]))
        title = None
        if self.threshold is not None:
            place = self.threshold if against == "threshold" else self.value_at_threshold(against)
            name = against if against == "threshold" else against.upper()
            title = f"at {name} {draw.number(place)}"
        joined = [a + b for a, b in zip(*columns, strict=True)]
        draw.write_legend(self.ax_, *joined, title=title, loc="upper center", ncols=2)

    def _axis_name(self, against: str) -> str:
        if against == "threshold":
            return self.threshold_name
        series = next(series for series in SERIES if series.field == against)
        return f"{series.name} of {self.class_names[series.of_positive]}"

    def _range_of_interest(self) -> tuple[float, float]:
        """Thresholds at which not almost all samples (99 %) are called alike, with a margin."""
        thresholds, tpr, tnr = self.curve.threshold, self.curve.tpr, self.curve.tnr
        mixed = thresholds[~((tpr > 0.99) & (tnr < 0.01)) & ~((tpr < 0.01) & (tnr > 0.99))]
        shown = mixed if len(mixed) else thresholds
        ends = [shown[0], shown[-1], shown[0] if self.threshold is None else self.threshold]
        margin = 0.05 * (max(ends) - min(ends)) or 0.5
        return min(ends) - margin, max(ends) + margin

    def _mark_threshold(self, threshold: float, against: str) -> Line2D:
        place = threshold if against == "threshold" else self.value_at_threshold(against)
        for field, line in self.lines_.items():
            value = self.value_at_threshold(field)
            self.ax_.plot([place], [value], "o", color=line.get_color(), ms=4.5, zorder=3)
        return self.ax_.plot([place, place], [0, 1], color="black", ls=":", lw=1.2)[0]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        pos_label: Label = None,
        class_names: tuple[str, str] | None = None,
        confidence: float = 0.95,
        **kwargs: Any,
    ) -> RateDisplay:
        """Draw the rates of a fitted bootstrap ensemble, out of bag or on new samples.

        Parameters
        ----------
        estimator : fitted bootstrap ensemble
            Or a pipeline that ends with one. Its own threshold is marked.
        X : table of shape (n, n_features), default=None
            Samples that it has not seen. By default the curve is that of the out-of-bag samples,
            without limits.
        y : array-like of shape (n,), default=None
            Their labels.
        pos_label : label, default=None
            Of more than two classes, the one that is shown against the rest.
        {class_names}
        confidence : float, default=0.95
            Confidence of the limits of the rates on new samples.
        {**kwargs}
        """
        model = last_step(estimator)
        if not is_ensemble(model):
            raise ValueError(
                f"estimator must be a bootstrap ensemble, got {model!r}; from_predictions draws "
                "the scores of any classifier"
            )
        if (X is None) != (y is None):
            raise ValueError("X and y must be given together, or neither")
        several = has_several(estimator)
        column, label = column_of(estimator, pos_label if several else None)
        if not several and pos_label not in (None, label):
            raise ValueError(
                f"pos_label must be None or the class of interest {label} of the estimator with "
                f"two classes, got {pos_label!r}"
            )
        threshold = class_threshold(model, column) if several else single_threshold(model)
        where = "probability" if is_calibrated(model) else "scores"
        if several and is_calibrated(model):
            where = f"probability of {label} by the sum of it and the largest other"
        n_samples, measured = None, "out of bag"
        if y is not None:
            positive, measured = is_positive(y, label), "new samples"
            n_samples = (int(np.sum(~positive)), int(np.sum(positive)))
        curve = _curve_of(estimator, X, y, label, threshold)
        return cls(
            curve,
            threshold=threshold,
            class_names=class_names or class_names_of(estimator, label),
            n_samples=n_samples,
            confidence=confidence,
            threshold_name=f"threshold of the {where}, {measured}",
        ).plot(**kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        scores: ArrayLike,
        *,
        threshold: float | None = None,
        pos_label: Label = None,
        class_names: tuple[str, str] | None = None,
        confidence: float = 0.95,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> RateDisplay:
        """Draw the rates by scores.

        Parameters
        ----------
        {y_true}
        scores : array-like of shape (n,) or (..., n)
            One score for each sample, or one for each member and sample. Errors are drawn if there
            are members: the probability is the share of their votes.
        threshold : float, default=None
            Current threshold.
        {pos_label/labels, class_names}
        confidence : float, default=0.95
            Confidence of the limits of the rates.
        {ax, **kwargs}
        """
        positive = is_positive(y_true, pos_label)
        return cls(
            rate_curve(y_true, scores, pos_label=pos_label),
            threshold=threshold,
            class_names=class_names or class_names_in(y_true, positive),
            n_samples=(int(np.sum(~positive)), int(np.sum(positive))),
            confidence=confidence,
        ).plot(ax, **kwargs)


def _curve_of(
    estimator: Any, X: Any, y: ArrayLike | None, label: Label, threshold: float | None
) -> RateCurve:
    """Rates out of bag, or on new samples, with those of the threshold among them."""
    model = last_step(estimator)
    if has_several(estimator):
        if y is None:
            return model.rate_curve(label)
        place = model.classes_.tolist().index(label)
        return class_curve_on(model, rows_for_last_step(estimator, X), y, place)
    curve = model.rate_curve()
    if y is not None:
        own = np.array([] if threshold is None else [threshold])
        # A probability at the threshold is above the next smaller number.
        own = np.nextafter(own, -np.inf) if is_calibrated(model) else own
        thresholds = np.union1d(curve.threshold, own)
        return rate_curve_on(estimator, X, is_positive(y, label), thresholds)
    if threshold is not None and np.isfinite(model.oob_tpr_):
        return _with_threshold(curve, threshold, model.oob_tpr_, model.oob_tnr_)
    return curve


def _with_threshold(curve: RateCurve, threshold: float, tpr: float, tnr: float) -> RateCurve:
    """Insert the exact rates of a threshold into a curve; errors are interpolated."""
    if threshold in curve.threshold:
        return curve
    place = np.searchsorted(curve.threshold, threshold)
    errors = [np.interp(threshold, curve.threshold, e) for e in (curve.mse_plus, curve.mse_minus)]
    new = (threshold, tpr, tnr, *errors)
    return RateCurve(*(np.insert(v, place, x) for v, x in zip(curve, new, strict=True)))
