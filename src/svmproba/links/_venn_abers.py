"""Venn–Abers: isotonic regression with the new sample added, once with each label."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from svmproba._types import Bools, Floats
from svmproba.links._isotonic import Counts, pool_ties
from svmproba.links._link import Link


class VennAbersLink(Link):
    r"""Pair of probabilities, one for each label of the new sample.

    :math:`p_0(s)` is the isotonic fit at :math:`s` after adding the pair :math:`(s,0)` to the
    calibration samples, :math:`p_1(s)` after adding :math:`(s,1)`, and :math:`p_0\le p_1`. If
    calibration samples and new sample are exchangeable, the value that belongs to the true label
    is calibrated exactly [1]_; with out-of-bag scores that holds only approximately. The pair is
    not a confidence interval. All pairs are found in one pass over the sorted samples [2]_.

    Parameters
    ----------
    loss : {"brier", "log"}, default="brier"
        Loss for which the single value of `predict` has the smallest worst-case regret:
        :math:`p_1-\frac{p_1^2-p_0^2}2` for the squared one, :math:`\frac{p_1}{1-p_0+p_1}` for the
        logarithmic one.

    Attributes
    ----------
    scores_ : ndarray, shape (n_distinct,)
        Distinct calibration scores, increasing.
    p0_, p1_ : ndarray, shape (n_distinct + 1,)
        ``p0_[j]`` holds from the j-th distinct score up to the next one, ``p1_[j]`` above it and
        up to the next one; the first values hold below all scores, the last ones above all.

    References
    ----------
    .. [1] V. Vovk and I. Petej, "Venn-Abers predictors", UAI 2014.
    .. [2] V. Vovk, I. Petej and V. Fedorova, "Large-scale probabilistic predictors with and
       without guarantees of validity", NeurIPS 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from svmproba.links import VennAbersLink
    >>> scores = np.array([0.1, 0.2, 0.35, 0.4, 0.6, 0.8])
    >>> positive = np.array([False, False, True, False, True, True])
    >>> link = VennAbersLink().fit(scores, positive)
    >>> p0, p1 = link.interval(np.array([0.3, 0.5]))
    >>> p0.round(3), p1.round(3), link.predict(np.array([0.3, 0.5])).round(4)
    (array([0.   , 0.333]), array([0.667, 1.   ]), array([0.4444, 0.5556]))
    """

    def __init__(self, loss: str = "brier") -> None:
        if loss not in ("brier", "log"):
            raise ValueError(f"loss must be 'brier' or 'log', got {loss!r}")
        self.loss = loss

    def _fit(self, s: Floats, plus: Bools) -> None:
        self.scores_, n_samples, n_positive = pool_ties(s, plus)
        # A positive above all others stays alone at 1. With exchanged labels and reversed order
        # p1 becomes 1 - p0.
        self.p1_ = np.append(_with_a_positive(n_samples, n_positive), 1.0)
        n_negative = (n_samples - n_positive)[::-1]
        self.p0_ = np.append(0.0, 1 - _with_a_positive(n_samples[::-1], n_negative)[::-1])

    def interval(self, scores: ArrayLike) -> tuple[Floats, Floats]:
        """Pairs ``p0, p1``, each of shape (n,), for scores (n,)."""
        s = np.asarray(scores, dtype=np.float64)
        # An added positive is pooled with the next score, an added negative with the one before:
        # ties go right for p0 and left for p1.
        p0 = self.p0_[np.searchsorted(self.scores_, s, side="right")]
        return p0, self.p1_[np.searchsorted(self.scores_, s, side="left")]

    def _predict(self, s: Floats) -> Floats:
        p0, p1 = self.interval(s)
        return p1 - (p1**2 - p0**2) / 2 if self.loss == "brier" else p1 / (1 - p0 + p1)


def _with_a_positive(n_samples: Counts, n_positive: Counts) -> Floats:
    r"""Isotonic fit at each group of samples after one positive sample joined that group.

    With :math:`W_k,S_k` the numbers of samples and positives of the first :math:`k` groups, the
    value at group :math:`j` is

    .. math:: \max_{a<j}\,\min_{b\ge j}\,\frac{S_b-S_a+1}{W_b-W_a+1},

    the slope of the line that touches the points :math:`(W_a,S_a)` on the left and the points
    :math:`(W_b+1,S_b+1)` on the right from below. Both points of contact move to the right with
    :math:`j`, so that one pass along two convex hulls gives all slopes. Integers make it exact.
    """
    W = [0, *np.cumsum(n_samples).tolist()]
    S = [0, *np.cumsum(n_positive).tolist()]
    after = _hull_after(W, S)
    hull: list[int] = []  # of the points on the left
    left, b = 0, 0  # contact points: index in the hull, and number of the group
    values = np.empty(len(n_samples))
    for j in range(1, len(W)):
        new = j - 1
        while len(hull) > 1 and _above(W, S, hull[-2], hull[-1], new):
            hull.pop()
        hull.append(new)
        left, b = min(left, len(hull) - 1), max(b, j)
        while True:
            a = hull[left]
            rise, run = S[b] - S[a] + 1, W[b] - W[a] + 1
            nxt = after[b]
            if nxt and (S[nxt] - S[b]) * run <= rise * (W[nxt] - W[b]):
                b = nxt
            elif left + 1 < len(hull) and (
                (S[hull[left + 1]] - S[a]) * run <= rise * (W[hull[left + 1]] - W[a])
            ):
                left += 1
            else:
                break
        values[j - 1] = rise / run
    return values


def _above(W: list[int], S: list[int], i: int, j: int, k: int) -> bool:
    """Whether point j lies on or above the line from i to k."""
    return (S[j] - S[i]) * (W[k] - W[i]) >= (S[k] - S[i]) * (W[j] - W[i])


def _hull_after(W: list[int], S: list[int]) -> list[int]:
    """Next corner of the lower hull of the points j, j + 1, ..., from each j; 0 from the last."""
    after = [0] * len(W)
    for j in range(len(W) - 2, -1, -1):
        k = j + 1
        while after[k] and _above(W, S, j, k, after[k]):
            k = after[k]
        after[j] = k
    return after
