"""Constrained SVMs for all bags, all C and a grid of floors at once.

One compiled call follows one bag through the grid of C; each problem starts from its neighbours'
choices (see :mod:`~svmproba.solvers.constrained.local_search`). Bags are independent, so the result
does not depend on the number of jobs. On a device, the weights of large tables are found for a
block of bags at once (:mod:`~svmproba.solvers.gpu.penalties`), and made strictly feasible here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from svmproba._types import Bools, Floats
from svmproba.solvers.constrained.feasible_point import (
    class_sets,
    confirm,
    mass_in_sets,
    polish,
)
from svmproba.solvers.constrained.local_search import FEASIBLE, IMPOSSIBLE, NONE_FOUND, OPTIMAL
from svmproba.solvers.constrained.penalties import is_large, penalty_path, point_value
from svmproba.solvers.constrained.single import (
    PROVEN,
    Point,
    feasible_weights,
    look_up,
    prepare,
    run_search,
)
from svmproba.solvers.ensemble import Ensemble, fit_ensemble
from svmproba.solvers.newton.lagrangian import DIRECT_WIDTH
from svmproba.solvers.runtime.devices import resolve_device
from svmproba.solvers.runtime.tasks import Parcel, run_tasks
from svmproba.solvers.runtime.threads import blas_threads, interruptible

#: Points of a bag, (n_C, n_floors, d + 1), and lower bounds, (n_C, n_floors), from a device.
_Found = tuple[Floats, Floats]


class ConstrainedEnsemble(NamedTuple):
    """The fitted models, and how good each one is known to be."""

    coef: Floats  # (n_floors, n_C, n_bags, d)
    intercept: Floats  # (n_floors, n_C, n_bags)
    objective: Floats  # (n_floors, n_C, n_bags)
    bound: Floats  # (n_floors, n_C, n_bags), proven lower bounds
    status: Any  # (n_floors, n_C, n_bags), OPTIMAL, FEASIBLE, IMPOSSIBLE or NONE_FOUND


def fit_constrained(
    rows: Any,
    signs: Floats,
    counts: Any,
    grid: Floats,
    floors: Floats,
    *,
    sets: Bools | None = None,
    plain: Ensemble | None = None,
    effort: str = "default",
    n_jobs: int | None = None,
    seed: int = 0,
    report: Callable[[int], None] | None = None,
    device: str = "cpu",
) -> ConstrainedEnsemble:
    """Solve the constrained SVM of every bag for every C and all floors.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d)
    signs : array of shape (n,)
        Labels in {-1.0, +1.0}.
    counts : array of shape (n_bags, n)
        How often each record is in each bag.
    grid : array of shape (n_C,)
        Increasing values of C, on the scale of ``||w||^2 / 2``.
    floors : array of shape (n_floors, n_sets)
        Floors under the true positive rate, the true negative rate and the accuracy, or under the
        shares of other sets of records, 0 for none; best in increasing order. Where all are 0 the
        models are the plain ones.
    sets : boolean array of shape (n_sets, n), optional
        Records of each floor; by default the positives, the negatives, all. Floors of other sets
        are left to the CPU.
    plain : Ensemble, optional
        Plain SVMs of the same bags and grid; fitted here if they are asked for.
    effort : {"fast", "default", "thorough"}, default="default"
        Convex solutions to spend on one problem; without effect on large tables (see
        :mod:`~svmproba.solvers.constrained.penalties`).
    n_jobs : int, optional
        As in joblib; threads unless ``joblib.parallel_config`` says otherwise.
    seed : int, default=0
    report : callable, optional
        Called with the number of bags just finished.
    device : str, default="cpu"
        See :func:`~svmproba.solvers.runtime.devices.resolve_device`. Another device than ``"cpu"``
        takes large tables of fewer than 400 columns; the others are left to the search on the CPU,
        which finds better points.

    Returns
    -------
    ConstrainedEnsemble
        Models without a feasible point are NaN.
    """
    solves = look_up(effort).in_bag
    grid, floors = np.array(grid, np.float64), np.array(floors, np.float64)
    free, n_here = ~floors.any(axis=1), np.count_nonzero(counts, axis=1)
    torch_device = resolve_device(device)
    wide = rows.shape[1] + 1 > DIRECT_WIDTH
    if sets is not None or wide or not is_large(int(n_here.min()), rows.shape[1]):
        torch_device = None
    if plain is None and (free.any() or torch_device is not None):
        plain = fit_ensemble(rows, signs, counts, grid, n_jobs=n_jobs, device=device)
    sets = class_sets(signs) if sets is None else sets
    shape = (len(floors), len(grid), counts.shape[0])
    coef, intercept = np.empty((*shape, rows.shape[1])), np.empty(shape)
    values, bound, status = np.empty(shape), np.empty(shape), np.empty(shape, np.int64)
    parcel = Parcel((rows, signs, sets, grid, floors, solves, seed), tuple, tuple)
    stop = np.zeros(1, np.uint8)
    task = partial(_run_bag, stop=stop)
    try:
        for first, pieces in _batches(rows, signs, sets, counts, grid, floors, plain, torch_device):
            for place, result in run_tasks(task, parcel, pieces, n_jobs):
                b = first + place
                coef[:, :, b], intercept[:, :, b] = result[0], result[1]
                values[:, :, b], bound[:, :, b], status[:, :, b] = result[2:]
                if report is not None:
                    report(1)
    except BaseException:
        stop[0] = 1  # bags that still run in threads leave at their next break
        raise
    if plain is not None:
        coef[free], intercept[free] = plain.coef, plain.intercept
    return ConstrainedEnsemble(coef, intercept, values, bound, status)


def _batches(
    rows: Any,
    signs: Floats,
    sets: Bools,
    counts: Any,
    grid: Floats,
    floors: Floats,
    plain: Ensemble | None,
    device: Any,
) -> Iterator[tuple[int, list[tuple[Any, _Found | None]]]]:
    """Yield the first place of some bags, and their counts with what a device found for them."""
    if device is None or plain is None:
        yield 0, [(counted, None) for counted in counts]
        return
    from svmproba.solvers.gpu.penalties import find_points

    weights = (np.array(counted, np.float64) for counted in counts)
    needs = np.array([[mass_in_sets(sets, c, floor) for floor in floors] for c in weights])
    for part, point, bound in find_points(rows, signs, counts, grid, needs, plain, device):
        yield part.start, list(zip(counts[part], zip(point, bound, strict=True), strict=True))


def _run_bag(
    content: tuple[Any, ...], piece: tuple[Any, _Found | None], stop: Any
) -> tuple[Any, ...]:
    with blas_threads():  # bags run side by side
        return interruptible(_fit_bag, content, piece, stop)


def _fit_bag(
    content: tuple[Any, ...], piece: tuple[Any, _Found | None], stop: Any
) -> tuple[Floats, Floats, Floats, Floats, Any]:
    """Models of one bag: weights, bias, objective, bound, status, each (n_floors, n_C, ...)."""
    (rows, signs, sets, grid, floors, solves, seed), (counts, known) = content, piece
    weight = np.array(counts, np.float64)
    n_floors, n_grid, d = len(floors), len(grid), rows.shape[1]
    shape = (n_floors, n_grid)
    mass = [weight[signs > 0.0].sum(), weight[signs < 0.0].sum()]
    if min(mass) == 0.0:  # one class: its constant classifier costs nothing
        sign = 1.0 if mass[0] > 0.0 else -1.0
        zero = np.zeros(shape)
        return np.zeros((*shape, d)), np.full(shape, sign), zero, zero, np.full(shape, OPTIMAL)
    needs = np.array([mass_in_sets(sets, weight, floor) for floor in floors])
    here = np.flatnonzero(weight > 0.0)
    if known is not None or is_large(len(here), d):
        part = (rows[here], signs[here], weight[here], sets[:, here])
        return _large_bag(*part, grid, needs, known, stop)
    bag, inside = prepare(rows, signs, weight, n_floors, stop, sets), sets[:, here]
    found, values, _, _ = run_search(bag, grid, needs, solves, seed, np.zeros(0, np.bool_))
    fixed, bound = (rows[bag.here], signs[bag.here], weight[bag.here]), values[..., 1].T.copy()
    points: dict[tuple[int, int], Point | None] = {}
    for k, need in enumerate(needs):
        for j in range(n_grid):
            weights = found[j, k, :d] if values[j, k, 0] < np.inf else np.zeros(d)
            points[j, k] = polish(*fixed, grid[j], need, weights, inside)
        reached = [p for j in range(n_grid) if (p := points[j, k]) is not None]
        others = [point[0] for point in reached]
        if not others and not stop[0] and bound[k].max() < np.inf:
            weights, below = feasible_weights(bag, grid[-1], need, solves)
            others = [] if weights is None else [weights]
            bound[k] = np.inf if below == np.inf else bound[k]
        for j in range(n_grid if len(reached) < n_grid else 0):  # whose weights serve, serve all
            again = [polish(*fixed, grid[j], need, w, inside) for w in others]
            points[j, k] = min([points[j, k], *again], key=point_value)
    return _arrays(points, bound, d)


def _arrays(
    points: dict[tuple[int, int], Point | None], bound: Floats, d: int
) -> tuple[Floats, Floats, Floats, Floats, Any]:
    """Weights, bias, objective, bound and status from points by C and floor."""
    coef, intercept = np.full((*bound.shape, d), np.nan), np.full(bound.shape, np.nan)
    values = np.full(bound.shape, np.inf)
    for (j, k), point in points.items():
        if point is not None:
            coef[k, j], intercept[k, j], values[k, j] = point
    codes = np.where(bound >= values * (1.0 - PROVEN), OPTIMAL, FEASIBLE)
    codes[values == np.inf] = NONE_FOUND
    codes[(values == np.inf) & (bound == np.inf)] = IMPOSSIBLE
    return coef, intercept, values, np.minimum(bound, values), codes


def _large_bag(
    rows: Any, signs: Floats, weight: Floats, sets: Bools, grid: Floats, needs: Floats,
    known: _Found | None, stop: Any,
) -> tuple[Floats, Floats, Floats, Floats, Any]:  # fmt: skip
    """Models of a large bag, as in `_fit_bag`."""
    points: dict[tuple[int, int], Any] = {}
    lower = np.zeros((len(grid), len(needs)))
    if known is not None:
        points, lower = _polish_all(rows, signs, weight, grid, needs, known[0]), known[1]
    if known is None or None in points.values():  # a device's hard margins are large bounds
        others, below = penalty_path(rows, signs, weight, grid, needs, stop, sets)
        points = {k: min(points.get(k), point, key=point_value) for k, point in others.items()}
        lower = np.maximum(lower, below)
    return _arrays(points, lower.T, rows.shape[1])


def _polish_all(
    rows: Any, signs: Floats, weight: Floats, grid: Floats, needs: Floats, point: Floats
) -> dict[tuple[int, int], Any]:
    """Make points strictly feasible; as `penalty_path` returns them."""
    n_grid, n_floors, width = point.shape
    flat = point.reshape(-1, width)
    raw = np.ascontiguousarray((rows @ flat[:, :-1].T).T)
    all_C, all_needs = np.repeat(grid, n_floors), np.tile(needs, (n_grid, 1))
    found = confirm(raw, signs, weight, all_C, all_needs, flat[:, :-1], flat[:, -1])
    points: dict[tuple[int, int], Any] = {}
    for i, best in enumerate(zip(*found, strict=True)):
        points[divmod(i, n_floors)] = best
        if best[2] == np.inf:  # larger weights are needed, or there is no such point
            again = polish(rows, signs, weight, all_C[i], all_needs[i], flat[i, :-1])
            points[divmod(i, n_floors)] = again
    return points
