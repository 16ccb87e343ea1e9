"""Members that are constrained SVMs (CEBB2): one for each bag, grid point and floor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmproba._types import Bools, Floats
from svmproba.bootstrap.fitting.members import Family, Members, Training, count_votes, family_rows
from svmproba.solvers.constrained.bags import fit_constrained
from svmproba.solvers.constrained.local_search import OPTIMAL
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.kernels import Rows
from svmproba.solvers.methods import Tally
from svmproba.solvers.problem import relative_gaps
from svmproba.solvers.runtime.devices import resolve_device


class FloorFit(NamedTuple):
    """Members at one floor; ``training.gap`` is their relative distance from a proven bound."""

    members: Members
    training: Training
    proven: NDArray[np.bool_]  # (n_theta, n_bootstraps), proven to be optimal
    replaced: NDArray[np.bool_]  # no feasible point is known: plain SVMs instead


def fit_constrained_members(
    X: Rows,
    positive: NDArray[np.bool_],
    counts: NDArray[np.unsignedinteger],
    *,
    kernel: dict[str, Any],
    families: Sequence[Family],
    Cs: Floats,
    floors: Floats,
    weight: Floats | None,
    effort: str,
    tol: float,
    tally: Tally,
    n_jobs: int | None,
    report: Callable[[int], None],
    seed: int,
    sets: Bools | None = None,
    device: str = "cpu",
) -> list[FloorFit]:
    """Fit one constrained SVM per bag, family, C and floor; gives one result for each floor.

    As `fit_members`, but weights are multiplicities, and every bag is reported twice. Floors
    (n_floors, n_sets) are those under the shares of the sets (n_sets, n): by default the TPR, the
    TNR, the accuracy. The search runs on the CPU but for large tables without other sets.
    """
    signs = np.where(positive, 1.0, -1.0)
    masses = counts if weight is None else counts * weight
    by_floor: list[list[tuple[Any, ...]]] = [[] for _ in floors]
    needs_plain = not floors.any(axis=1).all() or resolve_device(device) is not None
    feature_maps = []
    for _, feature_map, rows in family_rows(families, X, kernel, factored=True):
        feature_maps.append(feature_map)
        fit_plain = partial(
            fit_ensemble, rows, signs, counts, Cs,
            weight=weight, tol=tol, tally=tally, device=device, n_jobs=n_jobs,
        )  # fmt: skip
        plain = fit_plain(report=report) if needs_plain else None
        found = fit_constrained(
            rows,
            signs,
            masses,
            Cs,
            floors,
            sets=sets,
            plain=plain,
            effort=effort,
            n_jobs=n_jobs,
            seed=seed,
            report=report if needs_plain else lambda n: report(2 * n),
            device=device,
        )
        if plain is None and np.isnan(found.intercept).any():
            plain = fit_plain()
        for k, floor in enumerate(floors):
            replaced = np.isnan(found.intercept[k])
            coef, intercept = found.coef[k], found.intercept[k]
            if plain is not None:
                coef = np.where(replaced[..., np.newaxis], plain.coef, coef)
                intercept = np.where(replaced, plain.intercept, intercept)
            if plain is not None and not floor.any():
                gap, votes = plain.gap, (plain.summed, plain.stacked)
                proven = np.zeros(gap.shape, dtype=bool)
            else:
                gap = relative_gaps(np.where(replaced, np.inf, found.objective[k]), found.bound[k])
                votes = _count_votes(rows, coef, intercept, counts, tally, device)
                proven = (found.status[k] == OPTIMAL) & ~replaced
            by_floor[k].append((coef, intercept, gap, *votes, proven, replaced))
    return [_joined(feature_maps, fits) for fits in by_floor]


def _count_votes(
    rows: Any, coef: Floats, intercept: Floats, counts: Any, tally: Tally, device: str
) -> tuple[Floats, Floats]:
    """Tally the out-of-bag votes where the members were fitted; sparse rows on the CPU."""
    torch_device = resolve_device(device)
    if torch_device is None or not isinstance(rows, np.ndarray):
        return count_votes(rows, coef, intercept, counts, tally)
    from svmproba.bootstrap.fitting.on_device import device_count_votes

    return device_count_votes(rows, coef, intercept, counts, tally, torch_device)


def _joined(feature_maps: list[Any], fits: list[tuple[Any, ...]]) -> FloorFit:
    """Put the grid points of all feature maps together."""
    columns = [np.ascontiguousarray(fit[0].reshape(-1, fit[0].shape[-1]).T) for fit in fits]
    means = [fit[0].mean(axis=1).T.copy() for fit in fits]
    intercept, gap, votes, reliability, proven, replaced = (
        np.concatenate(parts) for parts in zip(*(fit[1:] for fit in fits), strict=True)
    )
    members = Members(feature_maps, columns, intercept, means)
    return FloorFit(members, Training(gap, votes, reliability), proven, replaced)
