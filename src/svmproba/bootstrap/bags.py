"""Bootstrap bags as counts: how often each record was drawn into each bag."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def draw_bags(
    n_bootstraps: int,
    positive: NDArray[np.bool_],
    rng: np.random.Generator,
    *,
    max_redraws: int = 100,
) -> tuple[NDArray[np.uint8], int]:
    r"""Draw bootstrap bags in which both classes are present.

    Bag :math:`b` is :math:`N_b\sim\mathrm{Mult}(n;\frac1n,\dots,\frac1n)` given that it holds
    both classes: a bag without one of them is drawn again.

    Parameters
    ----------
    n_bootstraps : int
        Number of bags :math:`B`.
    positive : ndarray of bool, shape (n_samples,)
        Which records belong to the class of interest; both classes must occur.
    rng : numpy.random.Generator
        Source of randomness.
    max_redraws : int, default=100
        How often one bag may be drawn again.

    Returns
    -------
    counts : ndarray of uint8, shape (n_bootstraps, n_samples)
        ``counts[b, i]`` is how often record i was drawn into bag b; 0 means out of bag.
    n_redraws : int
        Number of bags that were thrown away for want of a class.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.bootstrap.bags import draw_bags
    >>> y_is_plus = np.array([True, True, False, False, False])
    >>> counts, n_redraws = draw_bags(3, y_is_plus, np.random.default_rng(0))
    >>> counts.shape, counts.sum(axis=1)
    ((3, 5), array([5, 5, 5], dtype=uint64))
    """
    n = len(positive)
    plus, minus = np.flatnonzero(positive), np.flatnonzero(~positive)
    counts = np.empty((n_bootstraps, n), dtype=np.uint8)
    n_redraws = 0
    for b in range(n_bootstraps):
        for _ in range(max_redraws + 1):
            bag = np.bincount(rng.integers(n, size=n, dtype=np.uint32), minlength=n)
            if bag[plus].any() and bag[minus].any():
                break
            n_redraws += 1
        else:
            raise ValueError(
                f"Bag {b} lacked a class {max_redraws + 1} times in a row: y has {len(plus)} "
                f"positive and {len(minus)} negative records, too few of one class to resample."
            )
        # A count above 255 has a probability below 1/255!, so one byte is enough.
        counts[b] = bag
    return counts, n_redraws
