"""What each column adds to the score: of one sample, and of many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from svmproba._types import Floats
from svmproba.bootstrap.contributions import Contributions
from svmproba.evaluation._classifiers import column_of, own_label
from svmproba.evaluation.displays import drawing as draw
from svmproba.evaluation.displays.texts import document_display
from svmproba.evaluation.explanations._explain import explain
from svmproba.evaluation.measures.metrics import Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCORE = "mean score of the members"


@document_display
@dataclass(eq=False, repr=False)
class ContributionDisplay:
    """Waterfall from the mean score of the background to the score of one sample.

    Build the display with :meth:`from_estimator` or :meth:`from_contributions`.

    Parameters
    ----------
    values : ndarray of shape (n_columns,)
        Contributions of the columns.
    base : float, default=0
        Score from which they lead to the score of the sample.
    limits : ndarray of shape (2, n_columns), default=None
        Lower and upper limits of the contributions.
    names : sequence of str, default=None
        Names of the columns, by default x0, x1, ...

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer
        From top to bottom; the last may stand for all other columns.

    Examples
    --------
    >>> from svmproba.evaluation import ContributionDisplay
    >>> display = ContributionDisplay.from_contributions([0.5, -2.0], names=["age", "income"])
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['income', 'age']
    """

    values: ArrayLike
    _: KW_ONLY
    base: float = 0.0
    limits: ArrayLike | None = None
    names: Sequence[str] | None = None

    def plot(self, ax: Axes | None = None, *, max_columns: int = 10) -> ContributionDisplay:
        """Draw the display.

        Parameters
        ----------
        {ax}
        max_columns : int, default=10
            Columns with a bar of their own, those of largest contribution; the others share one.
        """
        self.ax_ = ax = draw.axes_or_new(ax)
        self.figure_ = ax.figure
        values = np.asarray(self.values, dtype=np.float64)
        names = _names(self.names, len(values))
        order = np.argsort(-np.abs(values), kind="stable")
        top, rest = order[:max_columns], order[max_columns:]
        bars, labels = values[top], [draw.shortened(names[k], 30) for k in top]
        if len(rest):
            bars = np.append(bars, values[rest].sum())
            labels.append(f"{len(rest)} other columns")
        starts = self.base + np.append(0.0, np.cumsum(bars)[:-1])
        places = np.arange(len(bars))
        self.bars_ = ax.barh(places, bars, left=starts, color=_colors(bars), alpha=0.85)
        if self.limits is not None:
            lower, upper = np.asarray(self.limits, dtype=np.float64)[:, top]
            left = starts[: len(top)]
            ax.hlines(places[: len(top)], left + lower, left + upper, color="black", lw=1)
        for place, (start, bar) in enumerate(zip(starts, bars, strict=True)):
            ax.plot([start + bar] * 2, [place - 0.4, place + 1.4], color=draw.GUIDE_COLOR, lw=0.6)
        ax.axvline(self.base, color=draw.GUIDE_COLOR, ls=":", lw=1)
        ax.set_yticks(places, labels)
        ax.set_ylim(len(bars) - 0.4, -0.6)
        total = self.base + values.sum()
        ax.set(xlabel=f"{SCORE}: {draw.number(self.base)} to {draw.number(total)}")
        draw.tidy(ax)
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        background: Any = None,
        pos_label: Label = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ContributionDisplay:
        """Draw the contributions to the score of one sample.

        Parameters
        ----------
        {estimator/linear, X/one, background, pos_label/explained, ax, **kwargs}
        """
        found = _of_class(explain(estimator, X, background=background), estimator, pos_label)
        if len(found.values) != 1:
            raise ValueError(f"X must hold one sample, got {len(found.values)}")
        return cls.from_contributions(
            found.values[0],
            base=found.base,
            limits=[found.lower[0], found.upper[0]],
            names=found.names,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_contributions(
        cls,
        values: ArrayLike,
        *,
        base: float = 0.0,
        limits: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ContributionDisplay:
        """Draw given contributions.

        Parameters
        ----------
        values, base, limits, names
            As in :class:`ContributionDisplay`.
        {ax, **kwargs}
        """
        given = _checked("values", values, 1)
        _names(names, len(given))
        return cls(given, base=base, limits=limits, names=names).plot(ax, **kwargs)


@document_display
@dataclass(eq=False, repr=False)
class ContributionSummaryDisplay:
    """Contributions to the scores of many samples: a dot for each, a line for each column.

    Columns are sorted by their mean absolute contribution, which is written beside them. Build the
    display with :meth:`from_estimator` or :meth:`from_contributions`.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_columns)
        Contributions of the columns.
    names : sequence of str, default=None
        Names of the columns, by default x0, x1, ...

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    dots_ : list of matplotlib PathCollection
        From top to bottom.

    Examples
    --------
    >>> from svmproba.evaluation import ContributionSummaryDisplay
    >>> display = ContributionSummaryDisplay.from_contributions([[0.5, 1.0], [-0.1, -1.0]])
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['x1 (1)', 'x0 (0.3)']
    """

    values: ArrayLike
    _: KW_ONLY
    names: Sequence[str] | None = None

    def plot(
        self, ax: Axes | None = None, *, max_columns: int = 15, max_samples: int = 1000
    ) -> ContributionSummaryDisplay:
        """Draw the display.

        Parameters
        ----------
        {ax}
        max_columns : int, default=15
            Columns that are drawn, those of largest mean absolute contribution.
        max_samples : int, default=1000
            Samples that are drawn, evenly spaced in the table. All count in the means.
        """
        self.ax_ = ax = draw.axes_or_new(ax)
        self.figure_ = ax.figure
        values = np.asarray(self.values, dtype=np.float64)
        names, size = _names(self.names, values.shape[1]), np.abs(values).mean(axis=0)
        top = np.argsort(-size, kind="stable")[:max_columns]
        n_drawn = min(max_samples, len(values))
        drawn = values[np.linspace(0, len(values) - 1, n_drawn).astype(np.intp)]
        jitter = 0.3 * np.random.default_rng(0).uniform(-1, 1, n_drawn)
        style: dict[str, Any] = {"s": 9, "alpha": 0.5, "lw": 0}
        self.dots_ = [
            ax.scatter(drawn[:, k], place + jitter, color=_colors(drawn[:, k]), **style)
            for place, k in enumerate(top)
        ]
        ax.axvline(0, color=draw.GUIDE_COLOR, lw=1)
        labels = [f"{draw.shortened(names[k], 30)} ({draw.number(size[k])})" for k in top]
        ax.set_yticks(np.arange(len(top)), labels)
        ax.set_ylim(len(top) - 0.4, -0.6)
        ax.set(xlabel=f"contribution to the {SCORE} (mean size)")
        draw.tidy(ax)
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        background: Any = None,
        pos_label: Label = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ContributionSummaryDisplay:
        """Draw the contributions to the scores of some samples.

        Parameters
        ----------
        {estimator/linear, X/several, background, pos_label/explained, ax, **kwargs}
        """
        found = _of_class(explain(estimator, X, background=background), estimator, pos_label)
        return cls.from_contributions(found.values, names=found.names, ax=ax, **kwargs)

    @classmethod
    def from_contributions(
        cls,
        values: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ContributionSummaryDisplay:
        """Draw given contributions.

        Parameters
        ----------
        values, names
            As in :class:`ContributionSummaryDisplay`.
        {ax, **kwargs}
        """
        given = _checked("values", values, 2)
        _names(names, given.shape[1])
        return cls(given, names=names).plot(ax, **kwargs)


def _of_class(found: Contributions, estimator: Any, pos_label: Label) -> Contributions:
    """Contributions to the score of one class."""
    classes = np.asarray(estimator.classes_).tolist()
    if len(classes) == 2:
        if column_of(estimator, pos_label)[1] == own_label(estimator):
            return found
        return Contributions(-found.values, -found.upper, -found.lower, -found.base, found.names)
    if pos_label not in classes:
        raise ValueError(f"pos_label must be one of the classes {classes}, got {pos_label!r}")
    k = classes.index(pos_label)
    values, lower, upper = (part[..., k] for part in found[:3])
    return Contributions(values, lower, upper, found.base[k], found.names)


def _colors(values: Floats) -> list[str]:
    return [draw.POSITIVE_COLOR if value > 0 else draw.NEGATIVE_COLOR for value in values]


def _names(names: Sequence[str] | None, n: int) -> Sequence[str]:
    if names is not None and len(names) != n:
        raise ValueError(f"names must hold {n} names, got {len(names)}")
    return [f"x{k}" for k in range(n)] if names is None else names


def _checked(name: str, values: ArrayLike, n_axes: int) -> Floats:
    given = np.asarray(values, dtype=np.float64)
    if given.ndim != n_axes or given.size == 0 or not np.isfinite(given).all():
        raise ValueError(
            f"{name} must be a finite array of {n_axes} axes with one entry or more, got shape "
            f"{given.shape}"
        )
    return given
