"""Reference solvers and test instances of the one problem (see svmproba.solvers.problem)."""

from __future__ import annotations

from typing import Any, NamedTuple

import clarabel
import numpy as np
from scipy import sparse
from sklearn.svm import SVC

from svmproba.solvers.constrained.feasible_point import class_sets, mass_in_sets


class Instance(NamedTuple):
    rows: np.ndarray
    signs: np.ndarray
    targets: np.ndarray
    bounds: np.ndarray


def rates(scores: Any, signs: Any, weight: Any) -> np.ndarray:
    """Mass with a margin of at least 1 among the positives, the negatives and all."""
    held = signs * scores >= 1.0
    groups = (signs > 0.0, signs < 0.0, signs != 0.0)
    return np.array([weight[held & group].sum() for group in groups])


def needed_mass(
    signs: Any, weight: Any, min_tpr: float = 0.0, min_tnr: float = 0.0, min_accuracy: float = 0.0
) -> np.ndarray:
    """Mass that three floors need among the positives, the negatives and all."""
    return mass_in_sets(class_sets(signs), weight, np.array([min_tpr, min_tnr, min_accuracy]))


class Solution(NamedTuple):
    value: float
    slack: float  # by how much the value may be above the least one
    coef: np.ndarray
    intercept: float
    free: bool  # a multiplier lies strictly between its bounds, so the bias is unique


class Case(NamedTuple):
    """Arguments of fit_ensemble."""

    rows: Any
    signs: np.ndarray
    counts: np.ndarray
    grid: np.ndarray
    weight: np.ndarray | None = None
    targets: np.ndarray | None = None

    def instance(self, k: int, b: int) -> Instance:
        """Return the problem of bag b at the k-th C."""
        rows = self.rows.toarray() if sparse.issparse(self.rows) else self.rows
        weight = np.ones(len(self.signs)) if self.weight is None else self.weight
        targets = np.ones(len(self.signs)) if self.targets is None else self.targets
        return Instance(rows, self.signs, targets, self.grid[k] * self.counts[b] * weight)

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        fixed = (self.rows, self.signs, self.counts, self.grid)
        return fixed, {"weight": self.weight, "targets": self.targets}


def objective(instance: Instance, coef: np.ndarray, intercept: float) -> float:
    """Primal value; a hard margin may be missed by rounding, not more."""
    rows, signs, targets, bounds = instance
    missing = targets - signs * (rows @ coef + intercept)
    hard = np.isinf(bounds)
    if (missing[hard] > 1e-9).any():
        return np.inf
    soft = (bounds > 0) & ~hard
    return float(0.5 * coef @ coef + bounds[soft] @ np.maximum(missing[soft], 0.0))


def clarabel_solution(instance: Instance) -> Solution:
    """Solve with slack variables by an interior-point method; value inf where infeasible."""
    here = instance.bounds > 0
    rows, signs, targets, bounds = (part[here] for part in instance)
    (n, d), soft = rows.shape, np.flatnonzero(np.isfinite(bounds))
    m = len(soft)
    slack = sparse.csc_array((np.ones(m), (soft, np.arange(m))), shape=(n, m))
    margins = np.column_stack([rows, np.ones(n)]) * signs[:, None]
    constraints = sparse.vstack(
        [
            sparse.hstack([sparse.csc_array(-margins), -slack]),
            sparse.hstack([sparse.csc_array((m, d + 1)), -sparse.eye_array(m)]),
        ],
        format="csc",
    )
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.diags_array(np.repeat([1.0, 0.0], [d, m + 1]))),
        np.concatenate([np.zeros(d + 1), bounds[soft]]),
        sparse.csc_matrix(constraints),
        np.concatenate([-targets, np.zeros(m)]),
        [clarabel.NonnegativeConeT(n + m)],
        settings,
    )
    found = solver.solve()
    if found.status == clarabel.SolverStatus.PrimalInfeasible:
        return Solution(np.inf, 0.0, np.full(d, np.nan), np.nan, False)
    assert found.status == clarabel.SolverStatus.Solved, found.status
    point, alpha = np.array(found.x), np.array(found.z)[:n]
    value = 0.5 * (found.obj_val + found.obj_val_dual)
    return Solution(value, 1e-9 * value, point[:d], point[d], _any_between(alpha, bounds))


def libsvm_solution(instance: Instance) -> Solution:
    """Solve by scikit-learn's SVC; bounds must be finite and targets 1.

    Its kernel is held in float32: at a tolerance below 1e-5 it may never end. Optimality
    conditions that hold up to a tolerance bound the error of the value by the sum of the bounds.
    """
    assert (instance.targets == 1.0).all()
    here = instance.bounds > 0
    rows, signs, _, bounds = (part[here] for part in instance)
    model = SVC(kernel="linear", C=1.0, tol=1e-5)
    model.fit(rows, signs, sample_weight=bounds)
    coef, intercept = model.coef_[0], model.intercept_[0]
    free = _any_between(np.abs(model.dual_coef_[0]), bounds[model.support_])
    value = objective(instance, coef, intercept)
    return Solution(value, 1e-5 * bounds.sum(), coef, intercept, free)


def _any_between(alpha: np.ndarray, bounds: np.ndarray) -> bool:
    top = np.where(np.isinf(bounds), np.inf, (1 - 1e-4) * bounds)
    least = 1e-4 * np.minimum(bounds, alpha.max())
    return bool(((alpha > least) & (alpha < top)).any())


def records(n: int, d: int, seed: int = 0, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Normal rows with a linear rule plus noise; both classes are present."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    score = rows @ rng.normal(size=d) / np.sqrt(d) + 0.3
    signs = np.where(score + noise * rng.normal(size=n) > 0, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    return rows, signs


def bags(signs: np.ndarray, n_bags: int, seed: int = 0) -> np.ndarray:
    """Draw counts of bootstrap samples of the records, class by class."""
    rng = np.random.default_rng(seed)
    counts = np.empty((n_bags, len(signs)))
    for sign in (-1.0, 1.0):
        here = signs == sign
        share = np.full(here.sum(), 1 / here.sum())
        counts[:, here] = rng.multinomial(here.sum(), share, size=n_bags)
    return counts


def scores_of(fit: Any, rows: np.ndarray) -> np.ndarray:
    """Scores of all models of an ensemble, shape (n_C, n_bags, n)."""
    return fit.coef @ rows.T + fit.intercept[:, :, None]


INF = np.inf
LINE, TRIO, FLOOR = ([-1], [1]), ([-1], [1], [3]), ([0, 1], [0, -1], [2, 0])
#: Records, labels, targets, bounds, and the optimum w, b, alpha found by hand.
CLOSED_FORMS: dict[str, tuple[Any, ...]] = {
    "two points": (LINE, [-1, 1], [1, 1], [1, 1], [1], 0, [0.5, 0.5]),
    "two points, at their bounds": (LINE, [-1, 1], [1, 1], [0.2, 0.2], [0.4], 0.3, [0.2, 0.2]),
    "two points, one at its bound": (LINE, [-1, 1], [1, 1], [0.2, 9], [0.4], 0.6, [0.2, 0.2]),
    "two points, hard": (([-2], [2]), [-1, 1], [1, 1], [INF, INF], [0.5], 0, [0.125, 0.125]),
    "two points, targets": (([0], [4]), [-1, 1], [1, 3], [INF, INF], [1], -1, [0.25, 0.25]),
    "two points in the plane": (([1, 0], [0, 1]), [1, -1], [1, 1], [INF, 9], [1, -1], 0, [1, 1]),
    "three points": (TRIO, [-1, 1, 1], [1, 1, 1], [9, 9, 9], [1], 0, [0.5, 0.5, 0]),
    "three points, soft": (TRIO, [-1, 1, 1], [1, 1, 1], [0.1] * 3, [0.2], 0.8, [0.1, 0.1, 0]),
    "three points, one absent": (
        (TRIO, [-1, 1, 1], [1, 1, 1], [9, 0, 9], [0.5], -0.5, [0.125, 0, 0.125])
    ),
    "three points, one inside the margin": (
        (([-1], [1], [0]), [-1, 1, 1], [1, 1, 1], [INF, INF, 0.1], [1], 0, [0.55, 0.45, 0.1])
    ),
    "a triangle": ((FLOOR, [-1, -1, 1], [1, 1, 1], [INF, 5, 5], [1, 0], -1, [0.25, 0.25, 0.5])),
    "same place, opposite labels": (([7], [7]), [-1, 1], [1, 1], [3, 3], [0], 0.5, [3, 3]),
    "same place, unequal weights": (([7], [7]), [-1, 1], [1, 1], [1, 3], [0], 1, [1, 1]),
    "constant column": (([-1, 5], [1, 5]), [-1, 1], [1, 1], [1, 1], [1, 0], 0, [0.5, 0.5]),
    "one class": (([3], [4]), [1, 1], [1, 1], [2, 2], [0], 1, [0, 0]),
    "nothing in the bag": (([3], [4]), [1, -1], [1, 1], [0, 0], [0], 0, [0, 0]),
}
TRIVIAL = ("one class", "nothing in the bag")  # optimal value 0


def closed_form(name: str) -> tuple[Instance, np.ndarray, float, np.ndarray]:
    """Return the instance and its optimum."""
    *instance, coef, intercept, alpha = CLOSED_FORMS[name]
    parts = [np.array(part, dtype=float) for part in (*instance, coef, alpha)]
    return Instance(*parts[:4]), parts[4], float(intercept), parts[5]


def _bagged(rows: Any, signs: np.ndarray, seed: int, **rest: Any) -> Case:
    return Case(rows, signs, bags(signs, 6, seed), 2.0 ** np.array([-5.0, -1.0, 1.0, 5.0]), **rest)


def _one_hot(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = np.hstack([np.eye(7)[rng.integers(0, 7, n)] for _ in range(4)])
    return rows, np.where(rows @ rng.normal(size=28) + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def _text(n: int, d: int, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    rows = sparse.random_array((n, d), density=0.02, format="csr", rng=rng)
    signs = np.where(rows @ rng.normal(size=d) > 0, 1.0, -1.0)
    return _bagged(rows, signs, seed)


def _few_positives() -> Case:
    rows, signs = records(100, 4, 4)
    signs = np.where(np.arange(100) < 5, 1.0, -1.0)
    return _bagged(rows, signs, 4)


def _ties() -> Case:
    rows, signs = records(80, 3, 5)
    return _bagged(np.round(rows), signs, 5)


def _weighted(spread: float, seed: int) -> Case:
    rows, signs = records(70, 5, seed)
    rng = np.random.default_rng(seed)
    weight = 10.0 ** rng.uniform(-spread, spread, 70) * (rng.random(70) < 0.9)
    return _bagged(rows, signs, seed, weight=weight)


def _mixed_bounds(n: int, d: int, seed: int) -> Case:
    """Bounds 0, finite and infinite, and random targets; the hard margins can be met."""
    rng = np.random.default_rng(seed)
    rows, signs = records(n, d, seed)
    counts = bags(signs, 6, seed) * rng.uniform(0.5, 2.0, (6, n))
    hard = np.flatnonzero(signs * (rows[:, 0] + rows[:, -1]) > 0.5)
    for count in counts:
        count[rng.choice(hard, max(2, len(hard) // 3), replace=False)] = np.inf
    return Case(rows, signs, counts, np.array([0.02, 1.0, 30.0]), targets=rng.uniform(0.1, 2, n))


def _all_hard(n: int, d: int, seed: int) -> Case:
    rows, signs = records(n, d, seed, noise=0.0)
    counts = np.where(bags(signs, 5, seed) > 0, np.inf, 0.0)
    return Case(rows, signs, counts, np.array([1e-3, 1.0, 1e3]))


#: Data of the twins, by what is particular about them.
CASES = {
    "tall": lambda: _bagged(*records(80, 4, 1), 1),
    "one column": lambda: _bagged(*records(60, 1, 2), 2),
    "separable": lambda: _bagged(*records(60, 3, 3, noise=0.0), 3),
    "few positives": _few_positives,
    "ties": _ties,
    "square": lambda: _bagged(*records(60, 50, 6), 6),
    "wide": lambda: _bagged(*records(40, 120, 7), 7),
    "very wide": lambda: _bagged(*records(40, 450, 8), 8),
    "one-hot": lambda: _bagged(*_one_hot(120, 9), 9),
    "sparse": lambda: _bagged(sparse.csr_array(records(70, 5, 10)[0]), records(70, 5, 10)[1], 10),
    "text": lambda: _text(120, 1500, 19),
    "weights": lambda: _weighted(0.5, 11),
    "unequal weights": lambda: _weighted(2.0, 12),
    "targets": lambda: _bagged(
        *records(70, 4, 13), 13, targets=np.random.default_rng(13).uniform(0.1, 2.0, 70)
    ),
    "mixed bounds": lambda: _mixed_bounds(60, 4, 14),
    "mixed bounds, square": lambda: _mixed_bounds(40, 40, 15),
    "mixed bounds, very wide": lambda: _mixed_bounds(30, 450, 16),
    "all hard": lambda: _all_hard(40, 4, 17),
    "all hard, wide": lambda: _all_hard(30, 60, 18),
}
#: Margins other than 1, infinite bounds, and what is beyond its float32.
LIBSVM_CANNOT = ("targets", "mixed", "all hard", "unequal")
