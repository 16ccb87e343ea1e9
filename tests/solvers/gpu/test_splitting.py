"""Splitting steps on torch's CPU: the system that they share, and where they lead."""

import numpy as np
import pytest
from sklearn.svm import SVC

from ..twins import records

torch = pytest.importorskip("torch", reason="the batched engine needs torch")

from svmproba.solvers.gpu.splitting import make_splitting, split_steps  # noqa: E402


def kernel_of(rows):
    distances = ((rows[:, np.newaxis] - rows) ** 2).sum(axis=2)
    return np.exp(-0.3 * distances)


def test_the_shared_matrix_solves_the_system_with_the_balance():
    rows, signs = records(12, 3, 0)
    kernel, rho = kernel_of(rows), 0.4
    shared = make_splitting(torch.tensor(kernel), torch.tensor(signs), rho)
    ones = np.ones((12, 1))
    system = np.block([[kernel + rho * np.eye(12), ones], [ones.T, np.zeros((1, 1))]])
    given = np.random.default_rng(0).normal(size=12)
    expected = np.linalg.solve(system, np.append(signs + rho * given, 0.0))[:12]
    found = shared.fixed.numpy() + shared.matrix.numpy() @ given
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_many_steps_end_at_the_solution():
    rows, signs = records(40, 3, 1)
    kernel, C = kernel_of(rows), 2.0
    shared = make_splitting(torch.tensor(kernel), torch.tensor(signs), 0.5)
    low, high = (torch.tensor(C * np.clip(signs, *ends))[None] for ends in ((-1, 0), (0, 1)))
    start = torch.zeros(1, 40, dtype=torch.float64)
    found = split_steps(shared, low, high, start, 2000)[0].numpy()
    twin = SVC(C=C, kernel="precomputed", tol=1e-9).fit(kernel, signs)
    expected = np.zeros(40)
    expected[twin.support_] = twin.dual_coef_[0]
    np.testing.assert_allclose(found, expected, atol=1e-6)
