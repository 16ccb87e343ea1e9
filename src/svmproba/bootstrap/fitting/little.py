r"""The bag of little bootstraps: bags of a large table, each drawn from a small part of it.

The table of n samples gives s disjoint random subsets of :math:`m=n^\gamma` samples. A bag of
subset j is a vector of counts :math:`N\sim\mathrm{Mult}(n;\frac1m,\dots,\frac1m)` over its m
samples: n draws, as in a bag of the whole table, so that :math:`\frac12\|w\|^2+C\sum_iN_i\xi_i`
weighs slack against width as it does there and C means the same. Only m samples are visited.

A subset is right about how much a score moves from bag to bag, and much less right about the score
itself: its members all lie around what m samples say. Votes pooled over the subsets would be those
of bags of m samples. So the members are moved to a common centre, the mean over all subsets,

.. math::
    w_{jr}\ \longrightarrow\ \bar w+\sqrt{\tfrac{R}{R-1}}\,(w_{jr}-\bar w_j),

with :math:`\bar w_j` the mean of the R members of subset j and :math:`\bar w` the mean of these
means. The root makes up for the centre that R members share with their own mean.

References
----------
.. [1] A. Kleiner, A. Talwalkar, P. Sarkar and M. I. Jordan, "A scalable bootstrap for massive
   data", Journal of the Royal Statistical Society B 76, 2014.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from svmproba._types import Bools, Floats
from svmproba.bootstrap.fitting.members import Family, Members, Training, count_votes, family_rows
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.features import FeatureMap
from svmproba.solvers.kernels import Rows
from svmproba.solvers.methods import Tally

#: Bags and samples of one subset at the least.
LEAST_BAGS, LEAST_SIZE = 10, 200
#: Samples held out at the most, and bytes of all subsets together.
MOST_HELD_OUT, TABLE_BYTES = 50_000, 2**30
#: Samples from which landmarks of a kernel are chosen.
LANDMARK_ROWS = 20_000


class Split(NamedTuple):
    """How a table is taken apart: samples held out, then subsets of one size."""

    n_records: int
    n_held_out: int
    n_subsets: int
    subset_size: int

    @property
    def n_drawn(self) -> int:
        """Samples that are read at all."""
        return self.n_held_out + self.n_subsets * self.subset_size

    def bags_of_subsets(self, n_bootstraps: int) -> list[int]:
        """Bags of each subset, as even as can be."""
        share, rest = divmod(n_bootstraps, self.n_subsets)
        return [share + (j < rest) for j in range(self.n_subsets)]


def split_records(n: int, n_bootstraps: int, exponent: float, row_bytes: int) -> Split:
    """Choose the size and the number of the subsets: as many as bags, samples and memory allow."""
    n_held_out = min(n // 5, MOST_HELD_OUT)
    rest = n - n_held_out
    size = min(max(LEAST_SIZE, round(n**exponent)), rest)
    most = (n_bootstraps // LEAST_BAGS, rest // size, TABLE_BYTES // (size * max(1, row_bytes)))
    return Split(n, n_held_out, max(1, min(most)), size)


def draw_weights(
    n_bags: int, n: int, positive: Bools, rng: np.random.Generator, *, max_redraws: int = 100
) -> tuple[Floats, int]:
    """Draw bags of n draws from a subset, each with both classes; and count those drawn again."""
    size, n_redraws = len(positive), 0
    counts = np.empty((n_bags, size))
    for b in range(n_bags):
        for _ in range(max_redraws + 1):
            counts[b] = rng.multinomial(n, np.full(size, 1 / size))
            present = counts[b] > 0
            if present[positive].any() and present[~positive].any():
                break
            n_redraws += 1
        else:
            raise ValueError(
                f"A bag lacked a class {max_redraws + 1} times in a row: a subset of {size} has "
                f"{np.count_nonzero(positive)} positive samples, too few of one class to resample."
            )
    return counts, n_redraws


def recentre(values: Floats, bags_of_subsets: list[int]) -> Floats:
    """Move the members (n_C, n_bags, ...) of every subset to the centre of all subsets."""
    ends = np.cumsum(bags_of_subsets)[:-1]
    parts = np.split(values, ends, axis=1)
    means = [part.mean(axis=1, keepdims=True) for part in parts]
    centre = np.mean(means, axis=0)
    moved = [
        centre + np.sqrt(part.shape[1] / max(1, part.shape[1] - 1)) * (part - mean)
        for part, mean in zip(parts, means, strict=True)
    ]
    return np.concatenate(moved, axis=1)


def fit_little_members(
    X: Rows,
    positive: Bools,
    split: Split,
    n_bootstraps: int,
    *,
    kernel: dict[str, Any],
    families: Sequence[Family],
    Cs: Floats,
    weight: Floats | None,
    tol: float,
    tally: Tally,
    n_jobs: int | None,
    report: Callable[[int], None],
    device: str = "cpu",
) -> tuple[Members, Training, int]:
    """Fit one SVM per bag, family and C on the subsets, and measure them on the samples held out.

    X holds the samples held out, then the subsets. Gaps are those before members were moved.
    """
    n_held = split.n_held_out
    held, unseen = X[:n_held], np.zeros((n_bootstraps, n_held), np.uint8)
    bags = split.bags_of_subsets(n_bootstraps)
    feature_maps, columns, means, fits, n_redraws = [], [], [], [], 0
    # As many samples as there are columns, and one: no direction of a linear kernel is lost.
    pilots = slice(n_held, n_held + max(LANDMARK_ROWS, X.shape[1] + 1))
    for family, feature_map, _ in family_rows(families, X[pilots], kernel, factored=True):
        coef, intercept, gap, redrawn = _fit_subsets(
            feature_map,
            (X, positive, family.weight(weight, positive)),
            split,
            bags,
            Cs,
            kernel["rng"],
            {"tol": tol, "n_jobs": n_jobs, "report": report, "device": device},
        )
        n_redraws += redrawn
        coef, intercept = recentre(coef, bags), recentre(intercept, bags)
        counted = count_votes(feature_map.transform(held), coef, intercept, unseen, tally)
        feature_maps.append(feature_map)
        columns.append(np.ascontiguousarray(coef.reshape(-1, coef.shape[2]).T))
        means.append(coef.mean(axis=1).T.copy())
        fits.append((intercept, gap, *counted))
    intercept, gap, votes, reliability = (
        np.concatenate(parts) for parts in zip(*fits, strict=True)
    )
    members = Members(feature_maps, columns, intercept, means)
    return members, Training(gap, votes, reliability), n_redraws


def _fit_subsets(
    feature_map: FeatureMap,
    samples: tuple[Rows, Bools, Floats | None],
    split: Split,
    bags: list[int],
    Cs: Floats,
    rng: np.random.Generator,
    options: dict[str, Any],
) -> tuple[Floats, Floats, Floats, int]:
    """Coefficients, intercepts and gaps of the members of all subsets, and bags drawn again."""
    (X, positive, weight), fits, n_redraws = samples, [], 0
    copies = split.n_records / split.subset_size
    for j, n_bags in enumerate(bags):
        first = split.n_held_out + j * split.subset_size
        part = slice(first, first + split.subset_size)
        of_class = positive[part]
        if of_class.all() or not of_class.any():
            name = "negative" if of_class.all() else "positive"
            raise ValueError(
                f"Subset {j + 1} of {split.n_subsets} has no {name} sample among its "
                f"{split.subset_size}: raise subset_exponent, or use resample='bootstrap'."
            )
        counts, redrawn = draw_weights(n_bags, split.n_records, of_class, rng)
        n_redraws += redrawn
        # Counts around 1 beside a factor: the engine learns from one path of the whole subset.
        factor = np.full(len(of_class), copies) if weight is None else copies * weight[part]
        fit = fit_ensemble(
            feature_map.transform(X[part]),
            np.where(of_class, 1.0, -1.0),
            counts / copies,
            Cs,
            weight=factor,
            **options,
        )
        fits.append((fit.coef, fit.intercept, fit.gap))
    coef, intercept, gap = (np.concatenate(p, axis=1) for p in zip(*fits, strict=True))
    return coef, intercept, gap, n_redraws
