r"""The rate under control (CEBB1): the threshold that gives a class the rate that is asked for.

A sample has one *level*: the number that decides its class, positive above the threshold. For vote
shares the level is the upper weighted median of its scores, because
:math:`P_t(+|x)\ge\frac12` exactly for the thresholds :math:`t` below that median; for calibrated
probabilities it is the probability itself. The rate of a class is then the share of its samples
on the right side of the threshold, and the threshold that reaches a rate is one of their levels: no
search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Bools, Floats
from svmproba.bootstrap.guarantee import guaranteed_level, samples_of
from svmproba.bootstrap.summaries.profile import MAX_THRESHOLDS, Profile

#: Distance of a threshold from the score it is set for, as a share of the largest: the sample keeps
#: its side where its score is computed among other samples and rounded otherwise.
CLEARANCE = 1e-11


class RateCurve(NamedTuple):
    """Rates and errors at increasing thresholds; a sample is called positive above one."""

    threshold: Floats
    tpr: Floats
    tnr: Floats
    mse_plus: Floats  # mean squared error of the probability within the class
    mse_minus: Floats


def level_for_rate(levels: Floats, rate: float) -> float:
    r"""Level :math:`m_{[\lceil\tau n\rceil]}` of the n in decreasing order."""
    k = int(np.ceil(rate * len(levels) - 1e-9))
    if k <= 0:
        return float("inf")
    return float(np.partition(levels, len(levels) - k)[len(levels) - k])


def rates_at_threshold(levels: Floats, positive: Bools, threshold: float) -> tuple[float, float]:
    """Share of positives above it, and of negatives not above it; levels of NaN do not count."""
    known = ~np.isnan(levels)
    above, below = levels[known & positive] > threshold, levels[known & ~positive] <= threshold
    return (
        float(above.mean()) if above.size else float("nan"),
        float(below.mean()) if below.size else float("nan"),
    )


def rate_curve(thresholds: Floats, profile: Profile, positive: Bools) -> RateCurve:
    """Rates and errors of the vote shares at the thresholds that a profile was made with."""
    known = ~np.isnan(profile.median)
    n_plus = np.count_nonzero(known & positive)
    n_minus = np.count_nonzero(known & ~positive)
    with np.errstate(invalid="ignore"):
        return RateCurve(
            thresholds,
            profile.hits[1] / n_plus,
            1 - profile.hits[0] / n_minus,
            profile.squares[1] / n_plus,
            profile.squares[0] / n_minus,
        )


def threshold_for_rate(
    levels: Floats,
    positive: Bools,
    *,
    sign: int,
    rate: float,
    neutral: float,
    exceed: bool,
    confidence: float | None = None,
    clearance: float = 0.0,
    groups: NDArray[np.int64] | None = None,
    subsampling: str = "single",
    name: str = "",
) -> float:
    """Threshold of the levels that gives a class its rate; a sample is called positive above it.

    `sign` is 1 for the class of interest, else -1. With `exceed` the threshold only moves in favour
    of the class, away from `neutral`. It keeps a distance of `clearance`, times the largest level,
    from the sample that sets it.
    """
    judged = (positive == (sign > 0)) & ~np.isnan(levels)
    of_class = levels[judged]
    name = name or ("positive" if sign > 0 else "negative")
    if len(of_class) == 0:
        raise ValueError(f"A rate of {rate:g} needs {samples_of(name)}, and none can be judged.")
    if confidence is None:
        level = level_for_rate(sign * of_class, rate)
    else:
        level = guaranteed_level(
            sign * of_class,
            rate,
            confidence,
            name,
            groups=None if groups is None else groups[judged],
            subsampling=subsampling,
        )
    # The next number on the far side keeps the sample of that level on the side of its class.
    threshold = float(
        np.nextafter(sign * (level - clearance * np.abs(of_class).max()), -sign * np.inf)
    )
    return sign * min(sign * threshold, sign * neutral) if exceed else threshold


def calibrated_curve(P: Floats, positive: Bools, own: float = 0.5) -> RateCurve:
    """Rates just below 201 probabilities at most, evenly spaced by rank, and `own`."""
    known = ~np.isnan(P)
    P, positive = P[known], positive[known]
    spaced = np.quantile(P, np.linspace(0, 1, MAX_THRESHOLDS), method="lower") if len(P) else P
    thresholds = np.unique(np.nextafter(np.append(spaced, own), -np.inf))
    rates = np.array(
        [rates_at_threshold(P, positive, threshold) for threshold in thresholds]
    ).reshape(-1, 2)
    errors = [
        np.full(len(thresholds), np.mean((of_class - P[positive == of_class]) ** 2))
        if (positive == of_class).any()
        else np.full(len(thresholds), np.nan)
        for of_class in (True, False)
    ]
    return RateCurve(thresholds, rates[:, 0], rates[:, 1], *errors)
