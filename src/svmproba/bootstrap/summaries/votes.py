"""Votes of the members: shares, their mixture, and the tally of out-of-bag votes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Floats
from svmproba.bootstrap.summaries.reliability import reliability_of_bags
from svmproba.solvers.core.compiled import entry

DECIMALS = 12
#: A weight of one half, as `mix_shares` rounds it.
HALF = 0.5 - 0.5 * 10.0**-DECIMALS
#: Flags of the compiled count. Sums of floats keep their order, or a tie might not be one.
_FLAGS = {"nogil": True, "error_model": "numpy"}


def twice_votes(scores: Floats, threshold: float | Floats = 0.0) -> NDArray[np.uint8]:
    """Twice the vote of each score: 2 above the threshold, 1 at a tie, 0 below."""
    twice = (scores > threshold).view(np.uint8)
    twice += (scores >= threshold).view(np.uint8)
    return twice


def vote_shares(
    scores: Floats, threshold: float | Floats = 0.0, left_out: NDArray[np.bool_] | None = None
) -> Floats:
    r"""Share of the bags whose score is above the threshold, ties counted half.

    .. math::
        P(+|x,\theta)=\frac1B\sum_b\Big[1\{f_{\theta,b}(x)>t\}+\tfrac12 1\{f_{\theta,b}(x)=t\}\Big]

    The bags are the last axis of the scores; `left_out` (n_samples, n_bootstraps) says which
    count.
    """
    twice, n_bags = twice_votes(scores, threshold), scores.shape[-1]
    n_counted: Any = n_bags
    if left_out is not None:
        twice *= left_out.view(np.uint8)[:, np.newaxis]
        n_counted = np.count_nonzero(left_out, axis=1)[:, np.newaxis]
    # The narrower the sums, the more of them fit into a register.
    votes = np.add.reduce(twice, axis=-1, dtype=np.min_scalar_type(2 * n_bags))
    with np.errstate(invalid="ignore"):
        shares: Floats = votes / (2 * n_counted)
    return shares


@partial(entry, flags=_FLAGS)
def _count_votes(
    products: Floats, intercept: Floats, thresholds: Floats, twice: NDArray[np.int64]
) -> None:
    """Fill twice (n, n_theta): two for every score above the threshold, one for every tie."""
    n, n_theta, n_bags = products.shape
    # Two samples at once: every intercept is read from memory for both.
    for i in range(0, n, 2):
        j = min(i + 1, n - 1)
        for k in range(n_theta):
            votes_i, votes_j = 0, 0
            for b in range(n_bags):
                score_i = products[i, k, b] + intercept[k, b]
                score_j = products[j, k, b] + intercept[k, b]
                votes_i += score_i > thresholds[k]
                votes_i += score_i >= thresholds[k]
                votes_j += score_j > thresholds[k]
                votes_j += score_j >= thresholds[k]
            twice[i, k] = votes_i
            twice[j, k] = votes_j


def product_vote_shares(products: Floats, intercept: Floats, thresholds: Floats) -> Floats:
    """`vote_shares` of products (n_samples, n_theta, n_bootstraps) + intercept, in one pass."""
    twice = np.empty(products.shape[:2], dtype=np.int64)
    _count_votes(products, intercept, thresholds, twice)
    return twice / (2 * products.shape[2])


def mix_shares(shares: Floats, weights: Floats) -> Floats:
    r"""Mixture over the hyperparameter values, :math:`P(+|x)=\sum_\theta\rho_\theta P(+|x,\theta)`.

    Rounded to 12 decimals: the decision at one half does not depend on rounding errors.
    """
    return np.round(weights @ shares, DECIMALS)


def tally_block(
    scores: Any,
    counts: Any,
    *,
    positive: NDArray[np.bool_],
    measure: str,
) -> tuple[Floats, Floats]:
    """Count the out-of-bag votes of a block of bags and measure its members.

    Scores are (n_bags, n_theta, n_samples). Gives twice the votes (n_theta, n_samples), summed over
    the bags, whole numbers, and the reliabilities (n_theta, n_bags).
    """
    if not isinstance(scores, np.ndarray):
        from svmproba.bootstrap.fitting.on_device import tally_tensors

        return tally_tensors(scores, counts, positive=positive, measure=measure)
    out_of_bag = counts == 0
    twice = twice_votes(scores)
    twice *= out_of_bag.view(np.uint8)[:, np.newaxis, :]
    reliability = reliability_of_bags(measure, scores, twice, out_of_bag, positive)
    votes = twice.sum(axis=0, dtype=np.min_scalar_type(2 * len(twice)))  # see `vote_shares`
    return votes.astype(np.float64), reliability


def out_of_bag_shares(twice_votes: Floats, counts: NDArray[np.unsignedinteger]) -> Floats:
    """Out-of-bag vote shares (n_theta, n_samples) from twice the votes; NaN if in every bag."""
    n_left_out = len(counts) - np.count_nonzero(counts, axis=0)
    shares = np.full(twice_votes.shape, np.nan)
    np.divide(twice_votes, 2 * n_left_out, out=shares, where=n_left_out > 0)
    return shares


def two_columns(P: Floats, plus: int) -> Floats:
    """Probabilities of both classes, shape (n_samples, 2), from P of the class in column `plus`."""
    both = np.empty((len(P), 2))
    both[:, plus] = P
    both[:, 1 - plus] = 1 - P
    return both
