r"""Votes for several classes: the class that every bag calls.

A bag gives each pair of classes to the class on whose side its score is, and calls the class with
most pairs; classes with as many share the call equally,

.. math::
    c_b(x,k)=\frac{1\{k\in W_b(x)\}}{|W_b(x)|},\qquad
    W_b(x)=\arg\max_k\#\{l: f^{\theta,b}_{kl}(x)\text{ is on the side of }k\},

where a score of exactly 0 is half won by either class. For two classes these are the votes of
`svmproba.bootstrap.summaries.votes`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Floats
from svmproba.bootstrap.classes.calls_rows import add_scores, count_calls, mix_calls, note_wins
from svmproba.bootstrap.classes.members import ClassMembers
from svmproba.bootstrap.fitting.members import Members
from svmproba.bootstrap.summaries.blocks import BLOCK_BYTES, map_blocks
from svmproba.bootstrap.summaries.votes import DECIMALS
from svmproba.solvers.features import FeatureMap
from svmproba.solvers.kernels import Rows
from svmproba.solvers.runtime.devices import resolve_device

#: Bytes of the wins of a block of samples, one byte for each class, sample and bag: they stay near
#: the processor. Classes up to which twice the wins fit into a byte.
_WINS_BYTES, NARROW = 2**20, 128
#: Parts of the samples at least, so that threads have equal shares.
_N_PARTS = 16


class Calls(NamedTuple):
    """What the bags call some samples."""

    shares: Floats  # (n_theta, n, n_classes), share of the bags that count; NaN if none does
    means: Floats | None  # (n_pairs, n_theta, n), mean scores over these bags
    right: Floats | None  # (n_theta, n_bootstraps, n_classes), calls of the own class out of bag


class Space:
    """Memory for the scores and wins of a block of samples, used again for all blocks."""

    def __init__(self, n: int, n_classes: int, n_bags: int) -> None:
        narrow = np.uint8 if n_classes <= NARROW else np.uint16
        self.products = np.empty((n, n_bags))
        self.wins = np.empty((n_classes, n, n_bags), dtype=narrow)
        self.best, self.part = np.empty(n_bags, dtype=narrow), np.empty(n_bags)


def pair_products(
    members: ClassMembers, rows: list[list[Rows]], pair: int, theta: int, space: Space
) -> Floats:
    """Scores (n, n_bags) of one pair and hyperparameter value, without intercepts."""
    of_pair = members.of_pair[pair]
    n_theta, n_bags = of_pair.intercept.shape
    family, place = divmod(theta, n_theta // len(of_pair.columns))
    table = rows[pair][family]
    columns = of_pair.columns[family][:, place * n_bags : (place + 1) * n_bags]
    if not isinstance(table, np.ndarray):
        return np.ascontiguousarray(table @ columns)
    return np.matmul(table, columns, out=space.products[: table.shape[0]])


def _wins(
    members: ClassMembers,
    rows: list[list[Rows]],
    theta: int,
    shifts: Floats,
    space: Space,
    counted: Floats | None = None,
    sums: Floats | None = None,
) -> Any:
    """Twice the wins of every class; fills the sums (n_pairs, n) of the scores, if given."""
    n = rows[0][0].shape[0]
    wins = space.wins[:, :n]
    wins[...] = 0
    for p, (first, second) in enumerate(members.pairs):
        products = pair_products(members, rows, p, theta, space)
        intercept = members.of_pair[p].intercept[theta]
        if sums is not None:
            add_scores(products, intercept, counted, sums[p])
        shift = shifts[second] - shifts[first]
        note_wins(products, intercept + shift if shift else intercept, wins, first, second)
    return wins


def own_maps(members: Members) -> list[FeatureMap]:
    """Feature maps that make rows of their own; those of other linear ones are the samples."""
    return [m for m in members.feature_maps if m.kernel != "linear" or m.projection is not None]


def block_size(members: ClassMembers, X: Rows) -> int:
    """Count the samples whose wins and rows fit into little memory."""
    n_bags = members.of_pair[0].intercept.shape[1]
    width = X.shape[1] + sum(m.width for of_pair in members.of_pair for m in own_maps(of_pair))
    return max(8, min(_WINS_BYTES // (members.n_classes * n_bags), BLOCK_BYTES // (8 * width)))


def rows_of_pairs(members: ClassMembers, X: Rows) -> list[list[Rows]]:
    """Rows of samples for every pair and family; those of the linear kernel are the samples."""
    X = np.ascontiguousarray(X, dtype=np.float64) if isinstance(X, np.ndarray) else X
    return [list(members.rows(pair, X)) for pair in range(len(members.of_pair))]


def calls_of(
    members: ClassMembers,
    X: Rows,
    shifts: Floats,
    *,
    counts: NDArray[Any] | None = None,
    label: NDArray[np.int64] | None = None,
    in_bag: bool = False,
    n_jobs: int | None = None,
    device: str = "cpu",
) -> Calls:
    """Count what the bags call samples; scores are made block by block and never held.

    With `counts` (n_bootstraps, n_samples) the bags that left a sample out count for it, or those
    that hold it (`in_bag`), else all. Shifts (n_classes,) are added to the scores of each class.
    """
    n, n_classes, n_pairs = X.shape[0], members.n_classes, len(members.of_pair)
    n_theta, n_bags = members.of_pair[0].intercept.shape

    def counted_bags(block: slice) -> Floats:
        if counts is None:
            return np.ones((block.stop - block.start, n_bags))
        used = counts[:, block] if in_bag else counts[:, block] == 0
        return np.ascontiguousarray(used.T, dtype=np.float64)

    on_device = resolve_device(device)
    if on_device is not None:
        from svmproba.bootstrap.classes.calls_on_device import device_calls

        with_means = counts is not None
        return Calls(*device_calls(members, X, shifts, counted_bags, label, on_device, with_means))
    size = min(n, block_size(members, X))
    shares = np.empty((n_theta, n, n_classes))
    means = None if counts is None else np.empty((n_pairs, n_theta, n))

    def part_calls(part: slice) -> Floats:
        space = Space(size, n_classes, n_bags)
        right = np.zeros((n_theta, n_classes, n_bags))
        for start in range(part.start, part.stop, size):
            block = slice(start, min(start + size, part.stop))
            rows = rows_of_pairs(members, X[block])
            counted = counted_bags(block)
            m = len(counted)
            own = np.full(m, -1) if label is None else label[block]
            n_counted = counted.sum(axis=1)
            sums = None if means is None else np.empty((n_pairs, m))
            of_block = np.empty((m, n_classes))
            for theta in range(n_theta):
                wins = _wins(members, rows, theta, shifts, space, counted, sums)
                count_calls(wins, counted, own, space.best, space.part, of_block, right[theta])
                with np.errstate(invalid="ignore", divide="ignore"):
                    shares[theta, block] = of_block / n_counted[:, np.newaxis]
                    if means is not None:
                        means[:, theta, block] = sums / n_counted
        return right

    # Parts are few, because each keeps a count for every bag, and fixed, because counts are summed.
    parts = even_parts(n, size)
    right = map_blocks(part_calls, parts, n_jobs)
    total = None if label is None else np.sum(right, axis=0).transpose(0, 2, 1)
    return Calls(shares, means, total)


def even_parts(n: int, size: int) -> list[slice]:
    """Divide samples into parts of whole blocks, whatever the number of threads."""
    step = size * max(1, -(-n // (size * _N_PARTS)))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def mix_call_shares(shares: Floats, weights: Floats) -> Floats:
    r"""Mixture :math:`\sum_\theta\rho_\theta P(k|x,\theta)`, (n, n_classes); rounded, sum 1."""
    P = np.round(np.tensordot(weights, shares, axes=1), DECIMALS)
    return P / P.sum(axis=1, keepdims=True)


def bag_calls(members: ClassMembers, X: Rows, weights: Floats, shifts: Floats) -> Floats:
    """Mix the calls of each bag over the hyperparameter values, (n, n_classes, n_bags)."""
    n, n_bags = X.shape[0], members.of_pair[0].intercept.shape[1]
    space = Space(n, members.n_classes, n_bags)
    rows, mixed = rows_of_pairs(members, X), np.zeros((n, members.n_classes, n_bags))
    ones = np.ones((n, n_bags))
    for theta in np.flatnonzero(weights):
        wins = _wins(members, rows, int(theta), shifts, space)
        mix_calls(wins, weights[theta], ones, space.best, space.part, mixed)
    return mixed
