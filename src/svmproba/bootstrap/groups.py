r"""Samples that belong together, such as visits of one patient: what a group proves of new ones.

Exchangeable are the groups, not their samples. The rate is that of a random sample of the class
from a random new group that has one: every group counts once, whatever its size.

* *single* subsampling: one sample of the class is drawn from each group. These are independent, and
  the order statistic of `guaranteed_level` is exact for them [1]_, [2]_.
* *repeated* subsampling: the p-values of all possible draws are averaged. Twice an average of
  p-values is one, whatever their dependence [1]_. The threshold does not depend on a draw, but
  is more conservative.

References
----------
.. [1] R. Dunn, L. Wasserman and A. Ramdas, "Distribution-free prediction sets for two-layer
   hierarchical models", JASA 118, 2023.
.. [2] Y. Lee, R. F. Barber and R. Willett, "Distribution-free inference with hierarchical data",
   arXiv 2306.06342, 2023.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from svmproba._types import Floats

SUBSAMPLINGS = ("single", "repeated")


def one_of_each(groups: NDArray[np.int64]) -> NDArray[np.intp]:
    """Places, increasing, of one random sample of each group; the seed is fixed."""
    order = np.random.default_rng(0).permutation(len(groups))
    return np.sort(order[np.unique(groups[order], return_index=True)[1]])


def averaged_level(
    levels: Floats, groups: NDArray[np.int64], rate: float, delta: float
) -> float | None:
    r"""Largest level whose averaged p-value allows it as a threshold; None if there is none.

    A threshold t is too high where more than :math:`1-\tau` of the class lie below it. With
    :math:`N_t` the number of levels below t in a draw of one sample from each of the n groups,

    .. math:: p(t)=2\,E\big[P(\mathrm{Bin}(n,\,1-\tau)\le N_t)\big]

    is a p-value of that statement, and the threshold is the largest level with
    :math:`p(t)\le\delta`. The mean is over all draws: :math:`N_t` is a sum of independent trials,
    one for each group, which succeed with the share of its levels below t.
    """
    _, places, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    n, weights = len(sizes), 1 / sizes[places]
    rejected = bdtrc(np.arange(n), n, 1 - rate)  # P(Bin > j), 0 for j = n
    rejected = rejected[rejected > 1e-16]
    candidates = np.unique(levels)

    def p_value(level: float) -> float:
        below = np.bincount(places, weights * (levels < level), minlength=n)
        known = np.zeros(len(rejected))  # P(N = j)
        known[0] = 1.0
        for share in np.minimum(below[below > 0], 1.0):
            known[1:] += share * (known[:-1] - known[1:])
            known[0] *= 1 - share
        return 2 * float(1 - known @ rejected)

    k = bisect_left(candidates, True, key=lambda level: p_value(level) > delta)
    return float(candidates[k - 1]) if k else None
