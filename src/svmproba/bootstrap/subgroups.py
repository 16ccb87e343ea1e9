"""A rate for every subgroup of a population, such as women and men, and its price."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmproba._types import Bools, Floats
from svmproba.bootstrap.guarantee import samples_needed
from svmproba.bootstrap.threshold import threshold_for_rate

#: Most subgroups that an error names.
_LISTED = 5


class Subgroups(NamedTuple):
    """Subgroups of n samples."""

    names: NDArray[Any]  # (n_subgroups,)
    masks: Bools  # (n_subgroups, n)
    overlapping: bool  # a sample may be in several, or in none


class SubgroupRates(NamedTuple):
    """Rates of subgroups and their price, arrays of one entry for each.

    Attributes
    ----------
    subgroup : ndarray
        Names.
    threshold : ndarray of float
        Threshold of the scores, or of calibrated probabilities; positive above it.
    n_samples, n_positive : ndarray of int
        Samples of the subgroup, and those of the class of interest among them.
    tpr, fpr : ndarray of float
        Share of the positive, and of the negative samples, that are called positive; NaN for a
        share of none.
    precision : ndarray of float
        Share of positive samples among those that are called positive.
    called : ndarray of float
        Share of all samples of the subgroup that are called positive.
    """

    subgroup: NDArray[Any]
    threshold: Floats
    n_samples: NDArray[np.int64]
    n_positive: NDArray[np.int64]
    tpr: Floats
    fpr: Floats
    precision: Floats
    called: Floats


def rates_of_subgroups(
    levels: Floats, positive: Bools, subgroups: Subgroups, thresholds: ArrayLike
) -> SubgroupRates:
    """Rates of subgroups at their thresholds; samples whose level is NaN do not count."""
    masks = subgroups.masks & ~np.isnan(levels)
    called = masks & (levels > np.asarray(thresholds)[:, np.newaxis])
    n, n_called = masks.sum(axis=1), called.sum(axis=1)
    n_positive, hits = (masks & positive).sum(axis=1), (called & positive).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return SubgroupRates(
            subgroups.names,
            np.array(thresholds, dtype=np.float64),
            n,
            n_positive,
            hits / n_positive,
            (n_called - hits) / (n - n_positive),
            hits / n_called,
            n_called / n,
        )


def subgroup_thresholds(
    levels: Floats,
    positive: Bools,
    subgroups: Subgroups,
    *,
    common: bool,
    sign: int,
    rate: float,
    confidence: float | None,
    groups: NDArray[np.int64] | None,
    subsampling: str,
    **options: Any,
) -> Floats:
    r"""Threshold of every subgroup at which a class has its rate there; a common one is repeated.

    With a confidence each of the K rates is guaranteed with :math:`1-\delta/K` (Bonferroni). The
    common threshold is the one most in favour of the class.
    """
    K, names = len(subgroups.names), subgroups.names.tolist()
    of_each = None if confidence is None else 1 - (1 - confidence) / K
    judged = (positive == (sign > 0)) & ~np.isnan(levels)
    found = [np.flatnonzero(mask & judged) for mask in subgroups.masks]
    if groups is None or confidence is None:
        sizes = [len(places) for places in found]
    else:
        sizes = [len(np.unique(groups[places])) for places in found]
    needed = 1 if of_each is None else samples_needed(rate, of_each, subsampling, groups)
    if min(sizes) < needed:
        unit = f"{'positive' if sign > 0 else 'negative'} samples"
        unit = unit if groups is None or confidence is None else f"groups with {unit}"
        short = [f"{name!r} has {n}" for name, n in zip(names, sizes, strict=True) if n < needed]
        listed = ", ".join(short[:_LISTED])
        if len(short) > _LISTED:
            listed += f" and {len(short) - _LISTED} others have fewer, too"
        sure = "" if confidence is None else f", with confidence {confidence:g} for all of them,"
        raise ValueError(
            f"A rate of {rate:g} in each of {K} subgroups{sure} needs at least {needed} {unit} in "
            f"each, and {listed}: join such subgroups to others, lower the rate or the "
            f"confidence, or give more samples."
        )
    thresholds = np.array(
        [
            threshold_for_rate(
                levels[mask],
                positive[mask],
                sign=sign,
                rate=rate,
                confidence=of_each,
                groups=None if groups is None else groups[mask],
                subsampling=subsampling,
                **options,
            )
            for mask in subgroups.masks
        ]
    )
    return np.full(K, sign * (sign * thresholds).min()) if common else thresholds
