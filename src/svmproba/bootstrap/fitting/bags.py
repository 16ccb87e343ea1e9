"""Bootstrap bags as counts: how often each sample was drawn into each bag."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def draw_bags(
    n_bootstraps: int,
    label: NDArray[Any],
    rng: np.random.Generator,
    groups: NDArray[np.int64] | None = None,
    *,
    classes: Sequence[Any] | None = None,
    max_redraws: int = 100,
) -> tuple[NDArray[np.uint8], int]:
    r"""Draw bags :math:`N_b\sim\mathrm{Mult}(n;\frac1n,\dots,\frac1n)` that hold every class.

    Gives the counts (n_bootstraps, n_samples), and how many bags were drawn again for want of a
    class. Labels are bools, or places among `classes`, which an error names. Bags draw whole
    groups.
    """
    n = len(label)
    of_classes = [np.flatnonzero(label == value) for value in np.unique(label)]
    counts = _draw(n_bootstraps, n, rng, groups)
    n_redraws = 0
    for b in np.flatnonzero(~np.all([counts[:, own].any(axis=1) for own in of_classes], axis=0)):
        for _ in range(max_redraws):
            n_redraws += 1
            counts[b] = _draw(1, n, rng, groups)
            if all(counts[b, own].any() for own in of_classes):
                break
        else:
            rarest = of_classes[int(np.argmin([len(own) for own in of_classes]))]
            name = "" if classes is None else f" {classes[label[rarest[0]]]!r}"
            raise ValueError(
                f"Bag {b} lacked a class {max_redraws + 1} times in a row: the rarest class{name} "
                f"of y has {len(rarest)} of {n} samples, too few to resample."
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
