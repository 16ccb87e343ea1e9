"""From a rate wanted of the population to a floor under the rate of a sample."""

from __future__ import annotations

import math

from scipy.special import bdtrc

RULES = ("exact", "hoeffding")


def sample_floor(rate: float, n: int, confidence: float, rule: str = "exact") -> float:
    r"""Sample rate that speaks for a population rate, by a test of :math:`H_0: p\le p_0`.

    With :math:`\alpha=1-\text{confidence}`, the exact rule takes the smallest
    :math:`\lambda=k/n` with :math:`P(\mathrm{Bin}(n,p_0)\ge k)\le\alpha`, Hoeffding's rule
    :math:`\lambda=p_0+\sqrt{-\ln\alpha/(2n)}`.

    Both presume a classifier that was fixed before the n records were seen. A constrained SVM is
    chosen so that these very records reach the floor, so the confidence is nominal: only fresh
    records, or the guarantees of :mod:`svmproba.bootstrap.guarantee`, hold.

    Parameters
    ----------
    rate : float
        Wanted rate :math:`p_0` of the population, in [0, 1).
    n : int
        Number of records of the class.
    confidence : float
        In (0, 1).
    rule : {"exact", "hoeffding"}, default="exact"
        The test.

    Returns
    -------
    float
        The floor, at most 1.

    Raises
    ------
    ValueError
        Where no sample rate of n records would do; says how many records would. None would do
        for a rate of 1.

    Examples
    --------
    >>> from svmproba.solvers.constrained.floors import sample_floor
    >>> [sample_floor(rate, 200, 0.95) for rate in (0.7, 0.8, 0.9)]
    [0.76, 0.85, 0.94]
    >>> round(sample_floor(0.8, 200, 0.95, rule="hoeffding"), 3)
    0.887
    """
    if not 0 <= rate < 1:
        raise ValueError(
            f"rate must be in [0, 1), got {rate:g}: no sample supports a population rate of 1."
        )
    alpha = 1 - confidence
    if rule == "hoeffding":
        floor = rate + math.sqrt(-math.log(alpha) / (2 * n))
        if floor <= 1:
            return floor
        needed = math.ceil(-math.log(alpha) / (2 * (1 - rate) ** 2))
    else:
        # bdtrc(k - 1, n, p) is P(Bin(n, p) >= k).
        for k in range(math.ceil(rate * n), n + 1):
            if k > 0 and bdtrc(k - 1, n, rate) <= alpha * (1 + 1e-12):
                return k / n
        needed = math.ceil(math.log(alpha) / math.log(rate))
    raise ValueError(
        f"A rate of {rate:g} with confidence {confidence:g} needs at least {needed} records of the "
        f"class by the rule {rule!r}, got {n}."
    )
