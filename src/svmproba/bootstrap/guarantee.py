"""Guarantees on the rate of a class: how far a threshold may go, and what may be said of it then.

Three rules, from the one that proves most to the one that uses all samples for the fit:

* *split*: the order statistic of `guaranteed_level` on samples that the model has not seen. Exact:
  the guarantee on this very model fails with probability at most ``1 - confidence``.
* *oob*: the same on out-of-bag levels. No theorem: each level comes from a third of the bags, and
  bags overlap. Approximate.
* *jackknife+*: `jackknife_plus`, a theorem on the average over training sets, no confidence.

Measured on Gaussian classes (``tests/theory/test_guarantee.py``) for a rate of 0.9 with confidence
0.9, that is 10 % allowed: with 100 positive samples *split* fails in 6.1 % of 10 000 training sets,
as the order statistic says (5.8 %); *oob* fails in 3.3 to 7.3 % of 1000 of them, between 5 and 100
columns; *jackknife+* misses 9.5 to 9.8 % of the class on average, and more than 10 % in two of
five.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from svmproba._types import Floats
from svmproba.bootstrap.groups import averaged_level, one_of_each
from svmproba.bootstrap.summaries.blocks import row_blocks

KINDS = (None, "split", "oob", "jackknife+")

#: How groups of samples decide on a threshold, by the name of the subsampling.
HOW_OF_GROUPS = {
    "single": ", by one sample drawn from each",
    "repeated": ", by the averaged p-values of all draws of one sample from each",
}

# 1 - 0.9 is not 0.1: an equality that holds on paper must not be lost to rounding.
_ROUNDING = 1 + 1e-12


def order_statistic(n: int, rate: float, confidence: float) -> int:
    r"""Which smallest level of n samples may be the threshold, so that the rate is guaranteed.

    .. math::
        k=\max\{k: P(\mathrm{Bin}(n,\,1-\tau)\le k-1)\le\delta\},\qquad 0\text{ if there is none.}

    A threshold at the k-th smallest level of n independent samples of a class keeps a share of at
    least the rate :math:`\tau` of that class, except with probability :math:`\delta`, one less the
    confidence, over those samples (Tong, Feng and Li, "Neyman-Pearson classification algorithms and
    NP receiver operating characteristics", Science Advances 4(2), 2018).
    """
    check_share("rate", rate)
    check_share("confidence", confidence)
    delta = (1 - confidence) * _ROUNDING
    return bisect_right(range(n), delta, key=lambda j: float(bdtr(j, n, 1 - rate)))


def samples_needed(
    rate: float, confidence: float, subsampling: str = "single", groups: object = None
) -> int:
    r"""Fewest samples of a class that a guarantee needs, :math:`\lceil\ln\delta/\ln\tau\rceil`.

    With groups, groups that have one; repeated subsampling halves :math:`\delta`.
    """
    check_share("rate", rate)
    check_share("confidence", confidence)
    delta = (1 - confidence) * _ROUNDING
    if groups is not None and subsampling == "repeated":
        delta /= 2
    return max(1, math.ceil(math.log(delta) / math.log(rate)))


def samples_of(name: str) -> str:
    """Name the samples of a class: "positive", or "of class 'a'"."""
    return f"samples {name}" if name.startswith("of ") else f"{name} samples"


def guaranteed_level(
    levels: Floats,
    rate: float,
    confidence: float,
    name: str = "positive",
    *,
    groups: NDArray[np.int64] | None = None,
    subsampling: str = "single",
) -> float:
    """Threshold at which a class keeps its rate with confidence: the level of `order_statistic`.

    Levels order the samples (NaN: left out) and are negated for the negative class. It is exact for
    independent samples, or independent groups, that had no part in the fit.
    """
    known = ~np.isnan(levels)
    levels, unit = levels[known], samples_of(name)
    if groups is not None:
        groups, unit = groups[known], f"groups with {samples_of(name)}"
        if subsampling == "repeated" and len(levels):
            delta = (1 - confidence) * _ROUNDING
            level = averaged_level(levels, groups, rate, delta)
            if level is not None:
                return level
        judges = one_of_each(groups)
        levels = levels[judges]
    k = order_statistic(len(levels), rate, confidence)
    needed = samples_needed(rate, confidence, subsampling, groups)
    if len(levels) < needed:
        raise ValueError(
            f"A rate of {rate:g} with confidence {confidence:g} needs at least {needed} {unit}, "
            f"got {len(levels)}."
        )
    return float(np.partition(levels, k - 1)[k - 1])


def bag_scores(scores: Floats, spread: Floats) -> Floats:
    r"""Score of each bag, :math:`v_b(x)=\frac1{|\Theta|}\sum_\theta f_{\theta,b}(x)/\sigma_\theta`.

    Without reliability weights, which come from all samples: `jackknife_plus` does not allow that.
    """
    return (1 / (spread * len(spread))) @ scores


def jackknife_plus(
    own: Floats, out_of_bag: NDArray[np.bool_], bag_scores_new: Floats, rate: float
) -> NDArray[np.bool_]:
    r"""Jackknife+-after-bootstrap: which new samples belong to the class, no sample held out.

    With :math:`s_{-i}` the mean score over the bags without sample i, of the n training samples of
    the class, and :math:`\tau=1-\alpha` the rate, a sample x is refused if

    .. math:: \#\{i: s_{-i}(x)<s_{-i}(x_i)\}\ge\tau\,(n+1).

    A new sample of the class is refused with probability at most :math:`2\alpha`, and in practice
    about :math:`\alpha`, on average over training sets (Kim, Xu and Barber, "Predictive inference
    is free with the jackknife+-after-bootstrap", NeurIPS 33, 2020). It asks that the samples of the
    class are exchangeable, that a score :math:`v_b` depends on bag b alone, that bags are drawn
    with equal probabilities, and that the number of bags is itself random. A fixed number of bags,
    scales that all bags share and bags drawn again for want of a class are small breaches of that.

    `own` (n,) holds :math:`s_{-i}(x_i)`, `out_of_bag` (n, n_bootstraps) which bags left out which
    of these samples, `bag_scores_new` (n_new, n_bootstraps) the scores :math:`v_b(x)`; all negated
    for the negative class.
    """
    check_share("rate", rate)
    refused_from = math.ceil(rate * (len(own) + 1) - 1e-9)
    if refused_from > len(own):
        raise ValueError(
            f"A rate of {rate:g} by guarantee='jackknife+' needs at least "
            f"{math.ceil(rate / (1 - rate) - 1e-9)} training samples of the class, got {len(own)}."
        )
    return _count_above(own, out_of_bag, bag_scores_new) < refused_from


def jackknife_threshold(own: Floats, positive: NDArray[np.bool_], sign: int, rate: float) -> float:
    """Threshold of scores above which `jackknife_plus` would call training samples positive.

    Infinite where the class (of interest: `sign` 1) has too few samples; NaN is not counted.
    """
    of_class = np.sort(sign * own[(positive == (sign > 0)) & ~np.isnan(own)])
    refused_from = math.ceil(rate * (len(of_class) + 1) - 1e-9)
    if refused_from > len(of_class):
        return -sign * np.inf
    level = float(of_class[-refused_from])
    return float(np.nextafter(level, -np.inf)) if sign > 0 else -level


def _count_above(
    own: Floats, out_of_bag: NDArray[np.bool_], bag_scores_new: Floats
) -> NDArray[np.int64]:
    """Count, for each new sample, the training samples that score above it without themselves."""
    n_new, n_bootstraps = bag_scores_new.shape
    # A copy of a training sample ties with it, whatever the order of summation was.
    slack = 1e-10 * np.maximum(bag_scores_new.max(axis=1), -bag_scores_new.min(axis=1))
    above = np.zeros(n_new, dtype=np.int64)
    for mine in row_blocks(len(own), n_bootstraps):
        shares = out_of_bag[mine] / np.maximum(1, out_of_bag[mine].sum(axis=1, keepdims=True))
        for new in row_blocks(n_new, len(shares)):
            means = bag_scores_new[new] @ shares.T
            means += slack[new, np.newaxis]
            above[new] += np.count_nonzero(means < own[mine], axis=1)
    return above


def state_guarantee(
    kind: str | None,
    rate_name: str,
    rate: float,
    confidence: float,
    n: int,
    label: Any = None,
    *,
    subsampling: str | None = None,
    subgroups: Mapping[Any, int] | None = None,
) -> str:
    """Say in one sentence what n samples, or groups with `subsampling`, of a class guarantee.

    `subgroups` holds how many of them every subgroup has.
    """
    if kind != "cross-fit":  # which `RateGuarantee` has
        check_kind(kind)
    side = {"tpr": "the positive class", "tnr": "the negative class"}[rate_name]
    of_class = f"of {side}" if label is None else f"of class {label!r}"
    share, missed, sure = f"{100 * rate:.6g} %", 100 * (1 - rate), f"{100 * confidence:.6g} %"
    number, each, listed = f"{n} ", "", ""
    if subgroups is not None:
        number, each = "", f" in each of {len(subgroups)} subgroups at the same time"
        if subsampling is not None and kind is not None:
            each = f",{each}"
        listed = f" ({', '.join(f'{count} of {name!r}' for name, count in subgroups.items())})"
    if kind is None:
        return (
            f"No guarantee: at the threshold at least {share} of the {number}samples {of_class} at "
            f"hand are recognised{each}{listed}; the rate among future samples may be higher or "
            f"lower."
        )
    drawn, future, how = "samples", f"of future samples {of_class}", ""
    wish = f"at least {share} of all future samples {of_class} will be recognised as such"
    held, trained = "samples of that class", "training samples of that class"
    if subsampling is not None:
        drawn, future = "groups", f"of random samples {of_class} of random future groups"
        wish = (
            f"a random sample {of_class} of a random future group will be recognised as such with "
            f"probability at least {share}, whatever the size of the group"
        )
        held, trained = "groups with such samples", "training groups with such samples"
        how = HOW_OF_GROUPS[subsampling]
    same = f"provided that these and future {drawn} are drawn independently from the same"
    same += " population"
    if kind == "jackknife+":
        return (
            f"On average over training sets, and so not for this model in particular, at most "
            f"{min(100, 2 * missed):.6g} % {future} will be missed, in practice about "
            f"{missed:.6g} %; this rests on the {number}{trained}{how}, {same}."
        )
    if kind in ("oob", "cross-fit"):
        judges = "the members that were" if kind == "oob" else "classifiers that were"
        return (
            f"Approximately, with confidence {sure}, {wish}{each}; this is estimated from "
            f"the {number}{trained}{listed}{how} by {judges} not trained on them, "
            f"{same}, and not proven."
        )
    return (
        f"With confidence {sure}, {wish}{each}; this is proven from {number}{held} that were "
        f"held out{listed}{how}, {same}."
    )


def in_records(sentence: str) -> str:
    """Put a sentence into the words of the command line; labels, in quotes, stay as they are."""
    words = {"sample": "record", "samples": "records"}
    pattern = r"""('[^']*'|"[^"]*")|\b(samples?)\b"""
    return re.sub(pattern, lambda m: m[1] or words[m[2]], sentence)


def check_kind(kind: str | None) -> None:
    """Refuse a rule that does not exist."""
    if kind not in KINDS:
        names = ", ".join(map(repr, KINDS))
        raise ValueError(f"guarantee must be one of {names}; got {kind!r}")


def check_guaranteed(name: str, rate: float, kind: str | None) -> None:
    """Refuse a rate that no number of samples can guarantee."""
    if kind is not None and not 0 < rate < 1:
        raise ValueError(
            f"{name} must be above 0 and below 1 with guarantee={kind!r}, got {rate!r}: samples "
            f"cannot show that there are no exceptions."
        )


def check_share(name: str, value: float) -> None:
    """Refuse a rate or a confidence that no finite number of samples can give."""
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie between 0 and 1, both excluded; got {value!r}")
