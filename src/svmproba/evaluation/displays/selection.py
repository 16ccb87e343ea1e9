"""How often columns are chosen on bags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from svmproba.evaluation.displays.drawing import (
    GUIDE_COLOR,
    POSITIVE_COLOR,
    axes_or_new,
    shortened,
    tidy,
)
from svmproba.evaluation.displays.texts import document_display

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@document_display
@dataclass(eq=False, repr=False)
class SelectionDisplay:
    """Bars of the shares of bags in which columns were chosen, with their limits.

    Build the display with :meth:`from_estimator` or :meth:`from_frequencies`.

    Parameters
    ----------
    frequency : ndarray of shape (n_columns,)
        Shares.
    limits : ndarray of shape (2, n_columns), default=None
        Lower and upper limits of the shares.
    names : sequence of str, default=None
        Names of the columns, by default x0, x1, ...
    chosen : ndarray of bool of shape (n_columns,), default=None
        Columns that were chosen on all samples; their bars are coloured.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer

    Examples
    --------
    >>> from svmproba.evaluation import SelectionDisplay
    >>> display = SelectionDisplay.from_frequencies([0.2, 1.0], names=["age", "income"])
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['income', 'age']
    """

    frequency: ArrayLike
    _: KW_ONLY
    limits: ArrayLike | None = None
    names: Sequence[str] | None = None
    chosen: ArrayLike | None = None

    def plot(self, ax: Axes | None = None, *, max_columns: int = 20) -> SelectionDisplay:
        """Draw the display.

        Parameters
        ----------
        {ax}
        max_columns : int, default=20
            Columns that are drawn, those that were chosen most often.
        """
        self.ax_ = ax = axes_or_new(ax)
        self.figure_ = ax.figure
        share = np.asarray(self.frequency, dtype=np.float64)
        top = np.argsort(-share, kind="stable")[:max_columns]
        names = [f"x{k}" for k in range(len(share))] if self.names is None else self.names
        chosen = np.zeros(len(share), bool) if self.chosen is None else np.asarray(self.chosen)
        colors = np.where(chosen[top], POSITIVE_COLOR, GUIDE_COLOR)
        lengths = None
        if self.limits is not None:
            lower, upper = np.asarray(self.limits, dtype=np.float64)[:, top]
            lengths = np.stack([share[top] - lower, upper - share[top]])
        places = np.arange(len(top))
        style: dict[str, Any] = {"ecolor": "black", "capsize": 2, "alpha": 0.85}
        self.bars_ = ax.barh(places, share[top], color=list(colors), xerr=lengths, **style)
        ax.set_yticks(places, [shortened(names[k], 30) for k in top])
        ax.invert_yaxis()
        ax.set(xlabel="share of bags in which the column is chosen", xlim=(0, 1))
        tidy(ax)
        return self

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Axes | None = None, **kwargs: Any
    ) -> SelectionDisplay:
        """Draw the shares of a fitted selector.

        Parameters
        ----------
        estimator : fitted RateFeatureSelector or SelectedBootstrapSVC
            With ``n_bootstraps`` above 0; or a pipeline that has it as a step.
        {ax, **kwargs}
        """
        steps = [step for _, step in getattr(estimator, "steps", [("", estimator)])]
        found = [step for step in steps if hasattr(step, "selection_frequency_")]
        if not found:
            raise ValueError(
                "estimator must have selection_frequency_: a fitted RateFeatureSelector with "
                "n_bootstraps above 0, or a SelectedBootstrapSVC."
            )
        return cls.from_frequencies(
            found[-1].selection_frequency_,
            limits=found[-1].selection_limits_,
            names=getattr(found[-1], "feature_names_in_", None),
            chosen=getattr(found[-1], "support_", None),
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_frequencies(
        cls,
        frequency: ArrayLike,
        *,
        limits: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        chosen: ArrayLike | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> SelectionDisplay:
        """Draw shares.

        Parameters
        ----------
        frequency, limits, names, chosen
            As in :class:`SelectionDisplay`.
        {ax, **kwargs}
        """
        share = np.asarray(frequency, dtype=np.float64)
        if share.ndim != 1 or not ((share >= 0) & (share <= 1)).all():
            raise ValueError(f"frequency must be 1-D with values in [0, 1], got {frequency!r}")
        if names is not None and len(names) != len(share):
            raise ValueError(f"names must hold {len(share)} names, got {len(names)}")
        return cls(share, limits=limits, names=names, chosen=chosen).plot(ax, **kwargs)
