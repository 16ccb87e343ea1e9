"""What the displays share."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from svmproba._types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

NEGATIVE_COLOR, POSITIVE_COLOR, GUIDE_COLOR = "#3b6fb6", "#d1495b", "#6b6b6b"


def axes_or_new(ax: Axes | None) -> Axes:
    """Return the given axes, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("displays need matplotlib: pip install 'svmproba[plot]'") from error
    return plt.subplots(layout="constrained")[1]


def axes_below(ax: Axes) -> Axes:
    """Give the lower part of the space of these axes to new axes with the same x."""
    place = ax.get_subplotspec()
    if place is None:
        return ax.inset_axes((0, -0.36, 1, 0.26), sharex=ax)
    grid = place.subgridspec(2, 1, height_ratios=(3.4, 1))
    ax.set_subplotspec(grid[0])
    return ax.figure.add_subplot(grid[1], sharex=ax)


def tidy(ax: Axes) -> None:
    """Hide the upper and the right side of the frame."""
    ax.spines[["top", "right"]].set_visible(False)


def write_legend(ax: Axes, handles: Sequence[Any], labels: Sequence[str], **kwargs: Any) -> None:
    """Write a small legend that stays legible over bars and lines."""
    style: dict[str, Any] = {"fontsize": "small", "title_fontsize": "small", "framealpha": 0.75}
    style |= {"handlelength": 1.6, "columnspacing": 1.2, "borderaxespad": 0.2}
    ax.legend(handles, labels, **style, **kwargs).get_frame().set_linewidth(0)


def shortened(name: object, width: int = 20) -> str:
    """Cut off the end of a name that is too long for a legend."""
    text = str(name)
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def wrapped(text: str, width: int = 36) -> str:
    """Break an axis label that is too long into lines, two at most."""
    return "\n".join(textwrap.wrap(text, width, max_lines=2, placeholder=" …"))


def number(value: float) -> str:
    """Write a number with three digits and the minus sign of the axes."""
    return f"{value:.3g}".replace("-", "−")


def edges_through(threshold: float, values: Floats, n_bins: int) -> list[float]:
    """Edges of about ``n_bins`` equal bins over the values, one of them at the threshold."""
    low, high = min(values.min(), threshold), max(values.max(), threshold)
    width = (high - low) / n_bins or 1.0
    # One more bin at either end, so that rounding leaves no value outside.
    first, last = np.floor((low - threshold) / width) - 1, np.ceil((high - threshold) / width) + 1
    return (threshold + width * np.arange(first, last + 1)).tolist()


def move_line(line: Line2D, x: float) -> None:
    """Move a vertical line and have the figure drawn again."""
    line.set_xdata([x, x])
    line.figure.canvas.draw_idle()


def follow_mouse(ax: Axes, move_threshold: Callable[[float], Any]) -> None:
    """Move the threshold to where the left button is pressed or dragged."""

    def on_mouse(event: Any) -> None:
        # The toolbar locks the canvas while it pans or zooms.
        if event.inaxes is ax and event.button == 1 and not event.canvas.widgetlock.locked():
            move_threshold(float(event.xdata))

    for kind in ("button_press_event", "motion_notify_event"):
        ax.figure.canvas.mpl_connect(kind, on_mouse)
