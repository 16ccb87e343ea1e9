"""What the scores of all members say of each sample: means, medians, votes at many thresholds.

Everything that is done after the fit (another threshold, a calibrated probability, a guarantee)
reads these few numbers per sample instead of the scores of all members.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Bools, Floats, Ints
from svmproba.bootstrap.fitting.members import Members, scores_of, scores_width
from svmproba.bootstrap.summaries.blocks import map_blocks, row_blocks
from svmproba.bootstrap.summaries.profile_rows import profile_rows
from svmproba.bootstrap.summaries.votes import DECIMALS
from svmproba.solvers.kernels import Rows
from svmproba.solvers.runtime.devices import resolve_device

#: Samples from which scales and thresholds are read; all of them up to this number.
N_PILOTS = 200
MAX_THRESHOLDS = 100
#: Scores that vary by less than this share of their size are constant: ten times the tolerance.
CONSTANT = 0.01
N_CELLS = 4096
#: Blocks of samples at least; values among which a median is sought first.
N_BLOCKS, N_SAMPLED = 16, 1000


class Profile(NamedTuple):
    """Scores of some samples, summarised over the bags that count for each of them.

    The upper weighted median is the largest value that scores of weight at least one half reach:
    the mixture of votes calls the sample positive exactly at the thresholds below it.
    """

    mean: Floats  # (n_theta, n_samples)
    medians: Floats  # (n_theta, n_samples), upper medians
    median: Floats  # (n_samples,), upper weighted median of all scores
    hits: NDArray[np.int64]  # (2, n_thresholds), negative and positive samples called positive
    squares: Floats  # (2, n_thresholds), summed squared errors of the vote share by class


def _cells(thresholds: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Equal cells over the thresholds: a score finds its place from its cell in a step or two."""
    inner = thresholds[1:-1]
    if len(inner) < 2:
        return np.zeros(1, dtype=np.int64), np.zeros(2)
    width = (inner[-1] - inner[0]) / N_CELLS
    first = np.searchsorted(thresholds, inner[0] + width * np.arange(N_CELLS + 1))
    # One threshold of slack: the rounding of a score's cell must not skip one.
    return np.maximum(first - 1, 0), np.array([inner[0], 1 / width])


def profile_records(
    members: Members,
    X: Rows,
    rho: Floats,
    *,
    counts: NDArray[np.unsignedinteger] | None = None,
    positive: Bools | None = None,
    thresholds: Floats | None = None,
    n_jobs: int | None = None,
    device: str = "cpu",
    kept: list[Floats] | None = None,
) -> Profile:
    """Summarise the scores of samples; NaN for a sample for which no bag counts.

    With `counts` (n_bootstraps, n_samples) the bags that left a sample out count for it, else all.
    """
    thresholds = np.empty(0) if thresholds is None else thresholds
    labels = np.zeros(X.shape[0], dtype=bool) if positive is None else positive
    torch_device = resolve_device(device)
    if torch_device is not None:
        from svmproba.bootstrap.fitting.on_device import device_profile

        return Profile(*device_profile(members, X, rho, counts, labels, thresholds, torch_device))
    width = X.shape[1] + scores_width(members) + len(thresholds)
    return profile_scores(
        lambda block: scores_of(members, X, kept, block),
        row_blocks(X.shape[0], width, N_BLOCKS),
        rho,
        members.intercept.shape[1],
        counts=counts,
        positive=labels,
        thresholds=thresholds,
        n_jobs=n_jobs,
    )


def profile_scores(
    make_scores: Callable[[slice], Floats],
    blocks: list[slice],
    rho: Floats,
    n_bags: int,
    *,
    counts: NDArray[np.unsignedinteger] | None = None,
    positive: Bools | None = None,
    thresholds: Floats | None = None,
    n_jobs: int | None = None,
) -> Profile:
    """Summarise scores (n, n_theta, n_bags) that are made block by block of samples."""
    thresholds = np.empty(0) if thresholds is None else thresholds
    cells, n_theta = _cells(thresholds), len(rho)
    labels = np.zeros(blocks[-1].stop, dtype=bool) if positive is None else positive

    def block_profile(block: slice) -> tuple[Any, ...]:
        scores = make_scores(block)
        n = len(scores)
        counted = np.ones((n, n_bags), dtype=bool)
        if counts is not None:
            counted = np.ascontiguousarray((counts[:, block] == 0).T)
        mean, medians = np.full((n, n_theta), np.nan), np.full((n, n_theta), np.nan)
        median, shares = np.full(n, np.nan), np.zeros((n, len(thresholds)))
        work = np.empty((7, n_theta * n_bags)), np.empty(n_bags, np.int64)
        profile_rows(scores, counted, rho, thresholds, *cells, *work, mean, medians, median, shares)
        shares[np.isnan(median)] = np.nan
        return mean, medians, median, *_class_sums(shares, labels[block])

    parts = zip(*map_blocks(block_profile, blocks, n_jobs), strict=True)
    mean, medians, median, hits, squares = parts
    return Profile(
        np.concatenate(mean).T.copy(),
        np.concatenate(medians).T.copy(),
        np.concatenate(median),
        np.sum(hits, axis=0),
        np.sum(squares, axis=0),
    )


def _class_sums(shares: Floats, positive: Bools) -> tuple[NDArray[np.int64], Floats]:
    """Count the samples called positive and sum the squared errors, by class and threshold."""
    P = np.round(shares, DECIMALS)
    known = np.asarray(~np.isnan(P).any(axis=1))
    of_class = np.stack([known & ~positive, known & positive]).astype(np.float64)
    P = np.where(known[:, np.newaxis], P, 0.0)
    hits = np.rint(of_class @ (P >= 0.5)).astype(np.int64)
    return hits, np.stack([of_class[0] @ P**2, of_class[1] @ (1 - P) ** 2])


def scales_and_thresholds(
    members: Members,
    X: Rows,
    counts: NDArray[np.unsignedinteger],
    n_jobs: int | None = None,
    device: str = "cpu",
    kept: list[Floats] | None = None,
) -> tuple[Floats, Floats]:
    """Median size of the scores out of bag (n_theta,), and thresholds worth looking at, increasing.

    Both are read from at most 200 training samples, evenly spaced among all.
    """
    n = X.shape[0]
    pilots = np.unique(np.linspace(0, n - 1, min(n, N_PILOTS)).astype(np.intp))
    left_out = (counts[:, pilots] == 0).T
    torch_device = resolve_device(device)
    if torch_device is not None:
        from svmproba.bootstrap.fitting.on_device import device_scores

        mean, middle, largest = device_scores(members, X[pilots], left_out, torch_device)
    else:
        mean, middle, largest = _pilot_scores(members, X, kept, pilots, left_out, n_jobs)
    typical = np.median(mean, axis=1)
    scales, end = np.where(middle > 0, middle, 1.0), max(largest, np.abs(typical).max())
    return scales, thresholds_among(typical, end)


def thresholds_among(typical: Floats, end: float) -> Floats:
    """Give zero, typical scores evenly spaced by rank, and both ends, increasing."""
    spaced = np.quantile(typical, np.linspace(0, 1, MAX_THRESHOLDS), method="lower")
    return np.unique(np.concatenate([spaced, [-end, 0.0, end]]))


def scales_of_varying(scales: Floats, mean: Floats) -> Floats:
    """Scales, infinite where all samples have about the same mean out-of-bag score.

    What is left of such scores shows which bags left a sample out, and with them its label.
    """
    known = mean[:, ~np.isnan(mean).any(axis=0)]
    if not known.size:
        return scales
    return np.where(known.std(axis=1) > CONSTANT * scales, scales, np.inf)


def _pilot_scores(
    members: Members,
    X: Rows,
    kept: list[Floats] | None,
    pilots: Ints,
    left_out: Bools,
    n_jobs: int | None,
) -> tuple[Floats, Floats, float]:
    """Mean scores (n, n_theta), median size of those out of bag (n_theta,), and the largest."""

    def block_scores(block: slice) -> tuple[Floats, Floats]:
        scores = scores_of(members, X, kept, pilots[block])
        return scores.mean(axis=2), np.abs(np.swapaxes(scores, 1, 2)[left_out[block]])

    blocks = row_blocks(len(pilots), X.shape[1] + 2 * scores_width(members), N_BLOCKS // 4)
    means, sizes = zip(*map_blocks(block_scores, blocks, n_jobs), strict=True)
    by_theta = [np.concatenate(part) for part in zip(*(block.T for block in sizes), strict=True)]
    middle = np.array([_median(part) if len(part) else 0.0 for part in by_theta])
    return np.concatenate(means), middle, max(float(part.max(initial=0.0)) for part in by_theta)


def _median(values: Floats) -> float:
    """`numpy.median`, sought first near that of a sample: a quarter of the time."""
    n, low = len(values), (len(values) - 1) // 2
    sample = np.sort(values[:: n // N_SAMPLED + 1])
    ends = sample[[int(0.45 * len(sample)), int(0.55 * len(sample))]]
    near = values[(values >= ends[0]) & (values <= ends[1])]
    place = low - np.count_nonzero(values < ends[0])
    if place < 0 or place + 1 >= len(near):
        return float(np.median(values))
    near.partition((place, place + 1))
    return float(near[place] if n % 2 else (near[place] + near[place + 1]) / 2)
