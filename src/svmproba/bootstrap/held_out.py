"""Samples that are held out of a fit, to prove a guarantee on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def draw_held_out(
    y: NDArray[Any],
    share: float,
    rng: np.random.Generator,
    present: NDArray[np.intp] | None = None,
) -> NDArray[np.intp]:
    """Draw the same share of either class; at least two samples of it stay.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels.
    share : float
        Share to hold out, from 0 to 1.
    rng : Generator
    present : ndarray of int, default=None
        Places to draw from; None: all.

    Returns
    -------
    ndarray of int
        Places, in order.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.bootstrap.held_out import draw_held_out
    >>> y = np.repeat([0, 1], [20, 10])
    >>> np.bincount(y[draw_held_out(y, 0.3, np.random.default_rng(0))])
    array([6, 3])
    """
    present = np.arange(len(y)) if present is None else present
    chosen = []
    for label in np.unique(y):
        places = rng.permutation(present[y[present] == label])
        n_held = min(round(share * len(places)), len(places) - 2)
        chosen.append(places[: max(0, n_held)])
    return np.sort(np.concatenate(chosen))
