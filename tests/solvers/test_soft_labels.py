from __future__ import annotations

import clarabel
import numpy as np
import pytest
from scipy import sparse

from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.soft_labels import fit_soft_paths


def problem(n=40, d=3, seed=0):
    """Rows and soft labels of either sign, some of them 0."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    soft = np.clip(rows[:, 0] + 0.7 * rng.normal(size=n), -1, 1).round(1)
    return rows, soft


def primal(rows, soft, C, w, b):
    """Value with slacks: soft f >= soft^2 - slack."""
    slack = np.maximum(0, soft**2 - soft * (rows @ w + b))
    return 0.5 * w @ w + C * slack.sum()


def clarabel_dual(rows, soft, C):
    """Maximum of sum alpha soft^2 - |sum alpha soft x|^2 / 2, and the w it belongs to."""
    n = len(soft)
    signed = rows * soft[:, None]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = 1e-11
    constraints = sparse.csc_matrix(np.vstack([soft, -np.eye(n), np.eye(n)]))
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(signed @ signed.T)),
        -(soft**2),
        constraints,
        np.concatenate([[0], np.zeros(n), np.full(n, C)]),
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)],
        settings,
    )
    found = solver.solve()
    assert found.status == clarabel.SolverStatus.Solved
    return -found.obj_val, signed.T @ np.array(found.x)


@pytest.mark.parametrize("seed", range(4))
def test_dual_by_an_interior_point_method(seed):
    rows, soft = problem(seed=seed)
    grid = np.array([0.1, 1.0, 10.0])
    coef, intercept, gap = fit_soft_paths(rows, soft[None], grid, tol=1e-7)
    assert gap.max() <= 1e-7
    for k, C in enumerate(grid):
        value, w = clarabel_dual(rows, soft, C)
        assert primal(rows, soft, C, coef[k, 0], intercept[k, 0]) == pytest.approx(value, rel=1e-6)
        assert coef[k, 0] == pytest.approx(w, abs=1e-3)


def test_several_vectors_of_labels_are_fitted_as_each_alone():
    rows, first = problem()
    soft = np.array([first, problem(seed=1)[1], np.sign(first)])
    grid = np.array([0.5, 5.0])
    together = fit_soft_paths(rows, soft, grid, tol=1e-6, n_jobs=2)
    for k, labels in enumerate(soft):
        alone = fit_soft_paths(rows, labels[None], grid, tol=1e-6)
        for a, b in zip(together, alone, strict=True):
            assert np.array_equal(a[:, k], b[:, 0])


def test_parts_of_the_same_labels_are_one_call():
    """Then margins are shared and parts are bags."""
    rows, soft = problem(n=60)
    used = np.arange(60) % 4 != np.arange(4)[:, None]
    grid = np.array([0.5, 5.0])
    labels = np.vstack([used * soft, soft])
    coef, intercept, gap = fit_soft_paths(rows, labels, grid, tol=1e-7)
    assert gap.max() <= 1e-7
    for k, part in enumerate(labels):
        value = [primal(rows, part, C, coef[c, k], intercept[c, k]) for c, C in enumerate(grid)]
        assert value == pytest.approx([clarabel_dual(rows, part, C)[0] for C in grid], rel=1e-6)


def test_hard_labels_are_the_svm():
    rows, soft = problem()
    hard = np.where(soft > 0, 1.0, -1.0)
    grid = np.array([0.1, 1.0])
    fit = fit_ensemble(rows, hard, np.ones((1, len(hard))), grid, tol=1e-6)
    coef, intercept, _ = fit_soft_paths(rows, hard[None], grid, tol=1e-6)
    assert np.array_equal(coef, fit.coef)
    assert np.array_equal(intercept, fit.intercept)


@pytest.mark.parametrize("labels", [np.full(40, 0.3), -np.linspace(0, 0.6, 40), np.zeros(40)])
def test_labels_of_one_sign_give_a_constant(labels):
    coef, intercept, gap = fit_soft_paths(problem()[0], labels[None], np.array([1.0]), tol=1e-3)
    assert np.all(coef == 0)
    assert intercept.item() == labels[np.abs(labels).argmax()]
    assert gap.item() == 0
