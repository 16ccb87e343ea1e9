r"""Lower bounds that hold whatever rounding did to a solution.

For any multipliers :math:`0\le\alpha_i\le c_i` with :math:`\sum_i\alpha_iy_i=0` the value of the
problem (:mod:`~svmproba.solvers.problem`) is at least :math:`D(\alpha)`. If only hard margins have
multipliers, every solution has

.. math:: \|w\|\ge\frac{\sum_i\alpha_it_i}{\|\sum_i\alpha_iy_ix_i\|},

which is unbounded where the hard margins cannot all hold (Farkas). Both are computed here from the
multipliers alone, clipped and balanced first, and lowered by what the sums may lose to rounding.
A search may take any value for true while it looks for a good point; a proof rests on these.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from svmproba.solvers.core.compiled import JIT
from svmproba.solvers.core.rows import row_add
from svmproba.solvers.problem import class_scales

#: Hard margins that need scores beyond this cannot hold: they would be rounding.
_BEYOND = 1e10
_EPS = float(np.finfo(np.float64).eps)


@njit(**JIT)
def _sums(t, goal, hard):
    """Return the sum of the multipliers times their targets, and the length of the combined rows.

    The first is rounded down, the second up. With ``hard``, of the hard margins only.
    """
    n, table, d, alpha = goal.shape[0], t.space.table, t.space.d, t.alpha
    combined, target, norm = t.space.vectors[0], t.target, t.length
    up, down, linear, spread, length = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(combined.shape[0]):
        combined[k] = 0.0
    for i in range(n):
        x = min(alpha[i], goal[i]) if 0.0 < alpha[i] < np.inf else 0.0
        x = x if goal[i] == np.inf or not hard else 0.0
        if table[i, d] > 0.0:
            up += x
        else:
            down += x
    up, down = class_scales(up, down)
    for i in range(n):
        x = min(alpha[i], goal[i]) if 0.0 < alpha[i] < np.inf else 0.0
        x = x if goal[i] == np.inf or not hard else 0.0
        if x > 0.0:
            x *= up if table[i, d] > 0.0 else down
            linear += x * target[i]
            spread += x * norm[i]
            row_add(table, i, x, combined)
    for k in range(d):
        length += combined[k] * combined[k]
    noise = 4.0 * _EPS * (n + 4.0)
    return linear * (1.0 - noise), np.sqrt(length) + noise * spread


@njit(**JIT)
def lower_bound(t, goal, solved):
    """Return what the multipliers of slot 0 prove about the value under the bounds ``goal``.

    Infinite where they prove that the hard margins cannot all hold; this is looked at unless the
    problem was ``solved``.
    """
    norm = t.length
    linear, length = _sums(t, goal, np.bool_(False))
    share = min(1.0, linear / max(length * length, 1e-300))  # the best multiple of them
    bound = share * (linear - 0.5 * share * length * length)
    if not solved:
        linear, length = _sums(t, goal, np.bool_(True))
        longest = 0.0
        for i in range(goal.shape[0]):
            longest = max(longest, norm[i])
        if linear * longest > _BEYOND * length:
            return np.inf
        if length > 0.0:
            bound = max(bound, 0.5 * (linear / length) ** 2)
    return max(bound, 0.0)
