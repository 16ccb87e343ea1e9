"""Votes, tallies and profiles on torch, for members that were fitted on a device.

The definitions are those of `votes`, `reliability` and `profile` in
`svmproba.bootstrap.summaries`; only where the numbers are computed differs. Scores are rounded
otherwise than on the CPU, so a vote can differ where a score is 0 but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from svmproba._types import Floats
from svmproba.bootstrap.fitting.members import Members
from svmproba.bootstrap.summaries.reliability import reliability_from_counts
from svmproba.bootstrap.summaries.votes import DECIMALS, HALF
from svmproba.solvers.gpu.kernels import device_map
from svmproba.solvers.kernels import Rows
from svmproba.solvers.methods import Tally
from svmproba.solvers.runtime.devices import memory_budget

#: Float64 numbers that a score needs at most while it is sorted and summarised.
_PER_SCORE = 12


def tally_tensors(
    scores: Tensor, counts: Tensor, *, positive: NDArray[np.bool_], measure: str
) -> tuple[Floats, Floats]:
    """Do what `svmproba.bootstrap.summaries.votes.tally_block` does, where the scores are."""
    plus = torch.as_tensor(positive, device=scores.device)
    out_of_bag = counts == 0
    twice = _twice_votes(scores, 0.0).mul_(out_of_bag[:, None])
    votes = _array(twice.sum(0, dtype=torch.int64)).astype(np.float64)
    n_out, n_plus = out_of_bag.sum(1), (out_of_bag & plus).sum(1)
    if measure == "auc":
        return votes, _array(_auc(scores, out_of_bag & plus, out_of_bag & ~plus).T)
    voted = twice.sum(2, dtype=torch.int64)
    right_plus = twice.mul_(plus).sum(2, dtype=torch.int64)
    parts = map(_array, (n_plus, n_out - n_plus, voted.T, right_plus.T))
    return votes, reliability_from_counts(measure, *parts)


def device_count_votes(
    rows: Floats,
    coef: Floats,
    intercept: Floats,
    counts: NDArray[np.unsignedinteger],
    tally: Tally,
    device: torch.device,
) -> tuple[Floats, Floats]:
    """Do what `svmproba.bootstrap.fitting.members.count_votes` does, on a device."""
    (n_C, n_bags, _), n = coef.shape, len(rows)
    size = max(1, memory_budget(device) // (8 * _PER_SCORE * n_C * n))
    columns = torch.as_tensor(rows, device=device).T
    summed, stacked = np.zeros((n_C, n)), []
    for first in range(0, n_bags, size):
        block = slice(first, first + size)
        w = torch.as_tensor(coef[:, block], device=device).transpose(0, 1)
        bias = torch.as_tensor(intercept[:, block], device=device).T
        votes, reliability = tally(
            (w @ columns).add_(bias[:, :, None]), torch.as_tensor(counts[block], device=device)
        )
        summed += votes
        stacked.append(reliability)
    return summed, np.concatenate(stacked, axis=1)


def _twice_votes(scores: Tensor, threshold: float | Tensor) -> Tensor:
    """Twice the vote of each score: 2 above the threshold, 1 at a tie, 0 below."""
    return (scores > threshold).to(torch.uint8).add_(scores >= threshold)


def _array(tensor: Tensor) -> NDArray[Any]:
    return np.ascontiguousarray(tensor.cpu().numpy())


def _auc(scores: Tensor, plus: Tensor, minus: Tensor) -> Tensor:
    """Area under the curve of the samples out of bag, (n_bags, n_theta)."""
    below = scores.masked_fill(~minus[:, None], torch.inf).sort(2).values
    wins = torch.searchsorted(below, scores)
    wins += torch.searchsorted(below, scores, right=True)
    n_pairs = (plus.sum(1) * minus.sum(1)).to(scores.dtype)
    return wins.mul_(plus[:, None]).sum(2) / (2.0 * n_pairs)[:, None]


def device_scorer(members: Members, device: torch.device) -> Callable[[Rows], Tensor]:
    """Return a function of samples that gives the scores of all members, (n, n_theta, n_bags)."""
    columns = [torch.as_tensor(part, device=device) for part in members.columns]
    maps = [device_map(feature_map, device) for feature_map in members.feature_maps]
    intercept = torch.as_tensor(members.intercept, device=device)

    def scores(X: Rows) -> Tensor:
        parts = [rows(X) @ part for rows, part in zip(maps, columns, strict=True)]
        together = torch.cat(parts, 1) if len(parts) > 1 else parts[0]
        return together.view(-1, *intercept.shape).add_(intercept)

    return scores


def device_blocks(
    members: Members, n: int, per_score: float, device: torch.device
) -> Iterator[slice]:
    """Yield blocks of samples whose rows and scores, `per_score` numbers each, fit into memory."""
    per_sample = per_score * members.intercept.size + 2 * max(len(part) for part in members.columns)
    size = max(1, int(memory_budget(device) // (8 * per_sample)))
    for first in range(0, n, size):
        yield slice(first, min(first + size, n))


def _score_blocks(
    members: Members, X: Rows, device: torch.device
) -> Iterator[tuple[slice, Tensor]]:
    """Scores of all members, (samples, n_theta, n_bags), a block of samples at a time."""
    scores = device_scorer(members, device)
    for block in device_blocks(members, X.shape[0], _PER_SCORE, device):
        yield block, scores(X[block])


def device_vote_shares(
    members: Members, X: Rows, threshold: Floats, device: torch.device
) -> Floats:
    """Do what `svmproba.bootstrap.fitting.members.member_vote_shares` does, on a device."""
    limit = torch.as_tensor(threshold, device=device)
    parts = []
    for _, scores in _score_blocks(members, X, device):
        parts.append(_array(_twice_votes(scores, limit).sum(2)))
    return np.concatenate(parts) / (2 * members.intercept.shape[1])


def device_scores(
    members: Members, X: Rows, left_out: NDArray[np.bool_], device: torch.device
) -> tuple[Floats, Floats, float]:
    """Mean scores and sizes of a few training samples, see `profile.scales_and_thresholds`."""
    means, sizes = [], []
    for block, scores in _score_blocks(members, X, device):
        means.append(_array(scores.mean(2)))
        out = torch.as_tensor(left_out[block], device=device)
        sizes.append(scores.abs_().transpose(1, 2)[out])
    ordered = torch.cat(sizes).sort(0).values
    n = len(ordered)
    if n == 0:
        return np.concatenate(means), np.zeros(ordered.shape[1]), 0.0
    middle = 0.5 * (ordered[(n - 1) // 2] + ordered[n // 2])
    return np.concatenate(means), _array(middle), float(ordered[-1].max())


def device_spreads(
    members: Members,
    mixtures: Sequence[tuple[Floats, Floats]],
    X: Rows,
    counts: NDArray[np.unsignedinteger],
    device: torch.device,
) -> Floats:
    """Do what `svmproba.bootstrap.summaries.spread.out_of_bag_spreads` does, on a device."""
    maps = [device_map(feature_map, device) for feature_map in members.feature_maps]
    columns = [[torch.as_tensor(part, device=device) for part in parts] for parts in mixtures]
    found = np.empty((len(maps), X.shape[0]))
    for block in device_blocks(members, X.shape[0], 1.0, device):
        used = (torch.as_tensor(counts[:, block], device=device) == 0).T.to(torch.float64)
        n = used.sum(1)
        for k, (rows, (slopes, intercept)) in enumerate(zip(maps, columns, strict=True)):
            scores = rows(X[block]) @ slopes + intercept
            mean = (scores * used).sum(1) / n.clamp(min=1)
            squares = scores.sub_(mean[:, None]).square_().mul_(used).sum(1)
            found[k, block] = _array((squares / (n - 1).clamp(min=1)).sqrt_())
    return found


def device_profile(
    members: Members,
    X: Rows,
    rho: Floats,
    counts: NDArray[np.unsignedinteger] | None,
    positive: NDArray[np.bool_],
    thresholds: Floats,
    device: torch.device,
) -> tuple[Floats, Floats, Floats, NDArray[np.int64], Floats]:
    """Fields of a `Profile`, see `svmproba.bootstrap.summaries.profile.profile_records`."""
    weights, at = torch.as_tensor(rho, device=device), torch.as_tensor(thresholds, device=device)
    parts: list[list[NDArray[Any]]] = []
    sums: list[list[NDArray[Any]]] = []
    for block, scores in _score_blocks(members, X, device):
        counted = scores.new_ones((len(scores), scores.shape[2]), dtype=torch.bool)
        if counts is not None:
            counted = torch.as_tensor(np.ascontiguousarray(counts[:, block].T), device=device) == 0
        size = counted.sum(1)
        *by_theta, shares = _summarise_thetas(scores, counted, size, weights, at)
        by_theta.append(_weighted_medians(scores, counted, size, weights))
        parts.append([_array(part) for part in by_theta])
        labels = torch.as_tensor(positive[block], device=device)
        sums.append([_array(part) for part in _class_sums(shares, size, labels)])
    mean, medians, median = (np.concatenate(part) for part in zip(*parts, strict=True))
    hits, squares = (np.sum(part, axis=0) for part in zip(*sums, strict=True))
    return mean.T.copy(), medians.T.copy(), median, hits, squares


def _summarise_thetas(
    scores: Tensor, counted: Tensor, size: Tensor, rho: Tensor, thresholds: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Means and upper medians (samples, n_theta), vote shares (samples, n_thresholds)."""
    absent = ~counted[:, None]
    mean = scores.masked_fill(absent, 0.0).sum(2) / size[:, None]
    # Bags that do not count come last.
    ordered = scores.masked_fill(absent, torch.inf).sort(2).values
    # Python's numbers would make float32 of integers.
    total = size.to(scores.dtype)
    rank = (total - torch.ceil(HALF * total)).to(torch.int64).clamp(0, ordered.shape[2] - 1)
    medians = ordered.gather(2, rank[:, None, None].expand(-1, ordered.shape[1], 1))[:, :, 0]
    medians = medians.masked_fill((size == 0)[:, None], torch.nan)
    at = thresholds.expand(*ordered.shape[:2], -1).contiguous()
    not_above = torch.searchsorted(ordered, at) + torch.searchsorted(ordered, at, right=True)
    above = 1.0 - not_above / (2.0 * total)[:, None, None]
    return mean, medians, torch.einsum("ikc,k->ic", above, rho)


def _weighted_medians(scores: Tensor, counted: Tensor, size: Tensor, rho: Tensor) -> Tensor:
    """Largest values that scores of half the weight reach, (samples,)."""
    n_bags = scores.shape[2]
    flat = scores.masked_fill(~counted[:, None], -torch.inf).flatten(1)
    ordered, place = flat.sort(1, descending=True)
    reached = rho[place // n_bags].div_(size[:, None]).cumsum(1)
    rank = (reached < HALF).sum(1).clamp(max=flat.shape[1] - 1)
    found = ordered.gather(1, rank[:, None])[:, 0]
    return found.masked_fill(size == 0, torch.nan)


def _class_sums(shares: Tensor, size: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]:
    """Count the samples called positive and sum the squared errors, by class and threshold."""
    known = size > 0
    P = shares.masked_fill(~known[:, None], 0.0).round(decimals=DECIMALS)
    of_class = torch.stack([known & ~positive, known & positive]).to(torch.float64)
    hits = (of_class @ (P >= 0.5).to(torch.float64)).round().to(torch.int64)
    return hits, torch.stack([of_class[0] @ P.square(), of_class[1] @ (1.0 - P).square()])
