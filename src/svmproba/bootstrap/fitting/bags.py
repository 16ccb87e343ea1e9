"""Bootstrap bags as counts: how often each sample was drawn into each bag."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def draw_bags(
    n_bootstraps: int,
    positive: NDArray[np.bool_],
    rng: np.random.Generator,
    groups: NDArray[np.int64] | None = None,
    *,
    max_redraws: int = 100,
) -> tuple[NDArray[np.uint8], int]:
    r"""Draw bags :math:`N_b\sim\mathrm{Mult}(n;\frac1n,\dots,\frac1n)` that hold both classes.

    Gives the counts (n_bootstraps, n_samples), how often each sample was drawn into each bag, and
    how many bags were drawn again because they lacked a class, `max_redraws` times at most for one.
    With groups, numbered from 0, bags are drawn from the n groups, each with all of its samples.
    """
    plus, minus = np.flatnonzero(positive), np.flatnonzero(~positive)
    counts = _draw(n_bootstraps, len(positive), rng, groups)
    n_redraws = 0
    for b in np.flatnonzero(~(counts[:, plus].any(axis=1) & counts[:, minus].any(axis=1))):
        for _ in range(max_redraws):
            n_redraws += 1
            counts[b] = _draw(1, len(positive), rng, groups)
            if counts[b, plus].any() and counts[b, minus].any():
                break
        else:
            raise ValueError(
                f"Bag {b} lacked a class {max_redraws + 1} times in a row: y has {len(plus)} "
                f"positive and {len(minus)} negative samples, too few of one class to resample."
            )
    return counts, n_redraws


def draw_held_out(y: NDArray[Any], share: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """Places, increasing, of the same share of every class, of which two samples are left."""
    chosen = []
    for label in np.unique(y):
        places = rng.permutation(np.flatnonzero(y == label))
        chosen.append(places[: max(0, min(round(share * len(places)), len(places) - 2))])
    return np.sort(np.concatenate(chosen))


def draw_held_out_groups(
    groups: NDArray[np.int64], of_class: NDArray[np.bool_], share: float, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Places of all samples of a share of the groups that have a class, and of the others."""
    has_class = np.bincount(groups, of_class) > 0
    return np.flatnonzero(np.isin(groups, draw_held_out(has_class, share, rng)))


def _draw(
    n_bags: int, n: int, rng: np.random.Generator, groups: NDArray[np.int64] | None
) -> NDArray[np.uint8]:
    """Draw some bags, whatever their classes."""
    if groups is not None:
        return _draw(n_bags, int(groups.max()) + 1, rng, None)[:, groups]
    # A count above 255 has a probability below 1/255!, so one byte is enough.
    counts = np.empty((n_bags, n), dtype=np.uint8)
    at_once = max(1, 2**20 // n)
    for first in range(0, n_bags, at_once):
        size = min(at_once, n_bags - first)
        drawn = rng.integers(n, size=(size, n)) + n * np.arange(size)[:, np.newaxis]
        counts[first : first + size] = np.bincount(drawn.ravel(), minlength=size * n).reshape(-1, n)
    return counts
