"""Spread of the scores over the bags: how far the bags disagree on a sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Bools, Floats
from svmproba.bootstrap.fitting.members import Members, transformed
from svmproba.bootstrap.summaries.blocks import map_blocks, row_blocks
from svmproba.solvers.kernels import Rows
from svmproba.solvers.runtime.devices import resolve_device

#: With fewer bags the spread out of bag is rough, and some samples have one such bag or none.
LEAST_BAGS = 30
#: A score is at most so many times its spread: smaller spreads are rounding of the solvers.
LARGEST_RATIO, LEAST_SPREAD = 100.0, 1e-12


class Mixture(NamedTuple):
    r"""Mixture :math:`g_b(x)=\sum_\theta a_\theta f_{\theta,b}(x)` over one family, for every bag.

    Scores are linear in the rows of the feature map: `columns` are (n_rows_of_the_map, n_bags),
    `intercept` is (n_bags,), and a mixture costs as much as one hyperparameter value.
    """

    columns: Floats
    intercept: Floats


def family_mixtures(members: Members, factors: Floats) -> list[Mixture]:
    """Mixtures of the families with factors (n_theta,), in the order of the feature maps."""
    n_families = len(members.columns)
    parts = (np.split(part, n_families) for part in (factors, members.intercept))
    return [
        Mixture(np.einsum("c,dcb->db", a, columns.reshape(len(columns), len(a), -1)), a @ b)
        for columns, a, b in zip(members.columns, *parts, strict=True)
    ]


def mixture_scores(mixtures: list[Mixture], rows: Iterable[Rows]) -> Iterator[Floats]:
    """Yield the scores (n, n_bags) of each mixture; `rows` are those of each feature map."""
    for mixture, table in zip(mixtures, rows, strict=True):
        yield table @ mixture.columns + mixture.intercept


def deviations(mixed: Iterable[Floats], counted: Bools | None = None) -> Floats:
    """Compute standard deviations (n_families, n) over the bags counted; overwrites the scores."""
    parts = []
    for scores in mixed:
        used = np.ones_like(scores) if counted is None else counted.astype(scores.dtype)
        n = np.maximum(used.sum(axis=1), 1)
        mean = np.einsum("ib,ib->i", scores, used) / n
        scores -= mean[:, np.newaxis]
        squares = np.einsum("ib,ib,ib->i", scores, scores, used)
        parts.append(np.sqrt(squares / np.maximum(n - 1, 1)))
    return np.array(parts)


def is_read(n_used: int, n_bags: int) -> bool:
    """Whether links may read spreads: not of one value alone, since probabilities rise with it."""
    return n_used > 1 and n_bags >= LEAST_BAGS


def out_of_bag_spreads(
    members: Members,
    weights: Floats,
    scales: Floats,
    X: Rows,
    counts: NDArray[np.unsignedinteger],
    n_jobs: int | None,
    kept: list[Floats] | None = None,
    device: str = "cpu",
) -> Floats:
    """Compute standard deviations (n_families, n) out of bag; (0, n) where links read none."""
    if not is_read(int(np.count_nonzero(weights)), len(counts)):
        return np.empty((0, X.shape[0]))
    factors = weights / scales
    mixtures = family_mixtures(members, factors) if kept is None else []
    on_device = resolve_device(device)
    if on_device is not None and kept is None:
        from svmproba.bootstrap.fitting.on_device import device_spreads

        return device_spreads(members, mixtures, X, counts, on_device)

    def mixed(block: slice) -> Iterator[Floats]:
        if kept is None:
            yield from mixture_scores(mixtures, transformed(members, X[block]))
        else:
            for a, scores in zip(np.split(factors, len(kept)), kept, strict=True):
                yield np.einsum("c,cbi->ib", a, scores[:, :, block])

    def block_spreads(block: slice) -> Floats:
        return deviations(mixed(block), (counts[:, block] == 0).T)

    blocks = row_blocks(X.shape[0], X.shape[1] + 3 * len(counts))
    return np.concatenate(map_blocks(block_spreads, blocks, n_jobs), axis=1)


def score_ratios(weighted: Floats, spreads: Floats) -> Floats:
    """Mixture of each family in units of its spread, (n_families, n); none without spreads."""
    if not len(spreads):
        return spreads
    mixtures = weighted.reshape(len(spreads), -1, spreads.shape[1]).sum(axis=1)
    ratios = mixtures / np.maximum(spreads, LEAST_SPREAD)
    return np.clip(ratios, -LARGEST_RATIO, LARGEST_RATIO)
