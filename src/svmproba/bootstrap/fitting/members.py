"""The members of a bootstrap ensemble: one SVM per bag and grid point, held as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Floats
from svmproba.bootstrap.summaries.blocks import row_blocks
from svmproba.bootstrap.summaries.votes import product_vote_shares, vote_shares
from svmproba.solvers.ensemble import Part, fit_ensembles
from svmproba.solvers.features import FeatureMap, dense_if_wide, fit_features
from svmproba.solvers.gram import Gram
from svmproba.solvers.kernels import Rows
from svmproba.solvers.methods import Tally
from svmproba.solvers.runtime.devices import exact_rows
from svmproba.solvers.runtime.memory import available_memory

#: What a feature map computes with, beside its parameters.
_MAP_ARRAYS = ("basis", "pivots", "projection")
#: Up to so many samples the compiled count is not worth its loading, 0.2 s once per process.
FEW_RECORDS = 16


class Family(NamedTuple):
    """Hyperparameter values that differ in C only."""

    kernel: str
    gamma: float  # NaN for a kernel without it
    #: On C, of the other class and that of interest; of all classes where there are more than two.
    factors: tuple[float, ...] = (1.0, 1.0)

    def weight(self, weight: Floats | None, positive: NDArray[np.bool_]) -> Floats | None:
        """Factor on C for each sample; None where all are one."""
        if self.factors == (1.0, 1.0):
            return weight
        factor = np.where(positive, self.factors[1], self.factors[0])
        return factor if weight is None else weight * factor


class Members(NamedTuple):
    """Score functions of all members; hyperparameter values are ordered by family, then by C."""

    feature_maps: list[FeatureMap]  # one for each family; those of one kernel and gamma share it
    columns: list[Floats]  # (n_rows_of_the_map, n_C * n_bootstraps) each, one column per member
    intercept: Floats  # (n_theta, n_bootstraps)
    mean_columns: list[Floats]  # (n_rows_of_the_map, n_C) each, means over the bags


class Training(NamedTuple):
    """What is known of the members from their training."""

    gap: Floats  # (n_theta, n_bootstraps), relative duality gaps
    twice_votes: Floats  # (n_theta, n_samples), out of bag
    reliability: Floats  # (n_theta, n_bootstraps)
    scores: list[Floats] | None = None  # (n_C, n_bootstraps, n_samples), by family; None: not kept


def fit_members(
    X: Rows,
    positive: NDArray[np.bool_],
    counts: NDArray[np.unsignedinteger],
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
) -> tuple[Members, Training]:
    """Fit one SVM per bag, family and C.

    `kernel` holds the arguments of `fit_features` other than kernel and gamma. Families of one
    kernel and gamma stand one after the other. ``tally(scores, counts)`` measures a block of bags,
    see `svmproba.bootstrap.summaries.votes.tally_block`; ``report(n)`` is called when n more bags
    of a family are done.
    """
    part = TrainingPart(X, positive, counts, kernel, families, weight, tally)
    how: dict[str, Any] = {"Cs": Cs, "tol": tol, "n_jobs": n_jobs}
    return fit_together([part], **how, report=report, device=device)[0]


class TrainingPart(NamedTuple):
    """What the members of one of several ensembles are fitted to, see `fit_members`."""

    X: Rows
    positive: NDArray[np.bool_]
    counts: NDArray[np.unsignedinteger]
    kernel: dict[str, Any]
    families: Sequence[Family]
    weight: Floats | None
    tally: Tally


def fit_together(
    parts: Sequence[TrainingPart],
    *,
    Cs: Floats,
    tol: float,
    n_jobs: int | None,
    report: Callable[[int], None],
    device: str = "cpu",
) -> list[tuple[Members, Training]]:
    """Do what `fit_members` does for several ensembles; a device solves them together."""
    limit = {"exact_limit": exact_rows(device)}
    rows_of_parts = [family_rows(part.families, part.X, part.kernel | limit) for part in parts]
    maps: list[list[FeatureMap]] = [[] for _ in parts]
    fits: list[list[tuple[Any, ...]]] = [[] for _ in parts]
    for of_family in zip(*rows_of_parts, strict=True):
        sets = []
        for k, (part, (family, feature_map, rows)) in enumerate(zip(parts, of_family, strict=True)):
            if isinstance(rows, Gram):
                _check_memory(rows.shape[0], len(part.families) * len(Cs) * len(part.counts))
            signs = np.where(part.positive, 1.0, -1.0)
            weight = family.weight(part.weight, part.positive)
            sets.append(Part(rows, signs, part.counts, weight, part.tally))
            maps[k].append(feature_map)
        how: dict[str, Any] = {"n_jobs": n_jobs, "report": report, "device": device}
        found = fit_ensembles(sets, Cs, tol=tol, keep_scores=True, **how)
        for k, fit in enumerate(found):
            columns = np.ascontiguousarray(fit.coef.reshape(-1, fit.coef.shape[2]).T)
            fits[k].append((columns, fit.coef.mean(axis=1).T.copy(), *fit[1:]))
    return [_assembled(*of_part) for of_part in zip(maps, fits, strict=True)]


def _assembled(maps: list[FeatureMap], fits: list[tuple[Any, ...]]) -> tuple[Members, Training]:
    """Join the families: columns, means and the fields of `Ensemble` after the coefficients."""
    columns, means, *arrays, scores = (list(part) for part in zip(*fits, strict=True))
    intercept, gap, votes, reliability = (np.concatenate(part) for part in arrays)
    kept = None if any(part is None for part in scores) else scores
    members = Members(maps, columns, intercept, means)
    return members, Training(gap, votes, reliability, kept)


def _check_memory(n: int, n_members: int) -> None:
    """Refuse an exact kernel if the matrix, in two precisions, and the coefficients do not fit."""
    needed, free = 12 * n * n + 16 * n * n_members, available_memory()
    if free is not None and needed > free:
        raise MemoryError(
            f"{n_members} SVMs with an exact kernel on {n} samples need {needed / 1e9:.1f} GB of "
            f"memory, and {free / 1e9:.1f} GB are free. Set n_components='auto', or take fewer "
            f"bags or values of C."
        )


def family_rows(
    families: Sequence[Family], X: Rows, kernel: dict[str, Any], factored: bool = False
) -> Iterator[tuple[Family, FeatureMap, Any]]:
    """Yield each family, its feature map and training rows, which neighbours may share."""
    kernel = {**kernel, "factored": factored}
    before: tuple[str, float] | None = None
    for family in families:
        if before is None or family.kernel != before[0] or _differ(family.gamma, before[1]):
            before = family[:2]
            samples = dense_if_wide(X) if factored and family.kernel == "linear" else X
            feature_map, rows = fit_features(samples, family.kernel, gamma=family.gamma, **kernel)
        yield family, feature_map, rows


def _differ(gamma: float, other: float) -> bool:
    return gamma != other and not (np.isnan(gamma) and np.isnan(other))


def count_votes(
    rows: Rows, coef: Floats, intercept: Floats, counts: NDArray[np.unsignedinteger], tally: Tally
) -> tuple[Floats, Floats]:
    """Tally the out-of-bag votes of members by their scores on rows, a few bags at a time.

    Coefficients are (n_C, n_bootstraps, d), the bags (n_bootstraps, n_samples). Gives twice the
    votes (n_C, n_samples), summed over the bags, and the reliabilities (n_C, n_bootstraps).
    """
    n_C, n_bags, _ = coef.shape
    summed, stacked = np.zeros((n_C, rows.shape[0])), []
    for block in row_blocks(n_bags, 2 * n_C * rows.shape[0]):
        w = np.moveaxis(coef[:, block], 1, 0)
        scores = np.stack([np.asarray(rows @ part.T).T for part in w])
        scores += intercept[:, block].T[:, :, np.newaxis]
        votes, reliability = tally(scores, counts[block])
        summed += votes
        stacked.append(reliability)
    return summed, np.concatenate(stacked, axis=1)


def transformed(members: Members, X: Rows) -> Iterator[Rows]:
    """Yield the rows of samples for each family; a map that neighbours share works once."""
    before = None
    for feature_map in members.feature_maps:
        if before is None or not same_map(feature_map, before):
            before, rows = feature_map, feature_map.transform(X)
        yield rows


def same_map(one: FeatureMap, other: FeatureMap) -> bool:
    """Whether two maps are known to be the same; a model file keeps their arrays, not the map."""
    same = one.kernel == other.kernel and not _differ(one.gamma, other.gamma)
    return same and all(getattr(one, name) is getattr(other, name) for name in _MAP_ARRAYS)


def _products(members: Members, X: Rows) -> Iterator[Floats]:
    """Yield scores without intercepts, (n_samples, n_C, n_bootstraps) for each feature map."""
    n_bags = members.intercept.shape[1]
    for rows, columns in zip(transformed(members, X), members.columns, strict=True):
        products = rows @ columns
        yield products.reshape(-1, columns.shape[1] // n_bags, n_bags)


def member_scores(members: Members, X: Rows) -> Floats:
    r"""Scores :math:`f_{\theta,b}(x)` of all members, shape (n_samples, n_theta, n_bootstraps)."""
    parts = list(_products(members, X))
    scores = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    scores += members.intercept
    return scores


def scores_of(members: Members, X: Rows, kept: list[Floats] | None, places: Any) -> Floats:
    """Give `member_scores` of some samples, taken from those that were kept if there are any."""
    if kept is None:
        return member_scores(members, X[places])
    parts = [np.moveaxis(part[:, :, places], 2, 0) for part in kept]
    return np.ascontiguousarray(parts[0]) if len(parts) == 1 else np.concatenate(parts, axis=1)


def member_vote_shares(members: Members, X: Rows, threshold: Floats) -> Floats:
    """Vote shares (n_samples, n_theta) of all members at thresholds (n_theta, 1) or (1, 1)."""
    if X.shape[0] <= FEW_RECORDS:
        return vote_shares(member_scores(members, X), threshold)
    n_theta, n_bags = members.intercept.shape
    per_map = (len(members.columns), -1)
    intercepts = members.intercept.reshape(*per_map, n_bags)
    thresholds = (np.ravel(threshold) + np.zeros(n_theta)).reshape(per_map)
    parts = map(product_vote_shares, _products(members, X), intercepts, thresholds)
    return np.concatenate(list(parts), axis=1)


def mean_scores(members: Members, rows: Iterable[Rows]) -> Floats:
    r"""Mean score :math:`\frac1B\sum_bf_{\theta,b}(x)`, (n_samples, n_theta); costs one member.

    `rows` are those of each family, see `transformed`.
    """
    parts = [table @ columns for table, columns in zip(rows, members.mean_columns, strict=True)]
    return np.concatenate(parts, axis=1) + members.intercept.mean(axis=1)


def scores_width(members: Members) -> int:
    """Return how many float64 numbers `member_scores` holds at once per sample."""
    return 2 * members.intercept.size + max(len(columns) for columns in members.columns)


def score_blocks(members: Members, X: Rows) -> list[slice]:
    """Blocks of samples whose scores fit in memory."""
    return row_blocks(X.shape[0], X.shape[1] + scores_width(members))


def input_coef(members: Members) -> Floats:
    """Coefficients of the input columns, shape (n_theta, n_bootstraps, n_features); linear only."""
    parts = zip(members.feature_maps, members.columns, strict=True)
    coef = np.concatenate([feature_map.input_coef(columns.T) for feature_map, columns in parts])
    return coef.reshape(*members.intercept.shape, -1)
