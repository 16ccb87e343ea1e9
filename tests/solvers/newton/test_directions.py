"""The compiled linear algebra of the Newton directions against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from svmproba.solvers.core.rows import aligned, gram_add, rows_add, signed_rows
from svmproba.solvers.newton.directions import (
    apply_updates,
    backward_solve,
    factor,
    forward_solve,
    update_factor,
)

SIGMA = 3.0


@njit
def gram_of(table, index, weight, count, gram):
    gram_add(table, index, weight, count, gram)


@njit
def sum_of(table, index, x, count, total):
    rows_add(table, index, x, count, total)


@pytest.mark.parametrize("count", range(10))
@pytest.mark.parametrize("density", [0.1, 1.0])
def test_rows_add(count, density):
    rng = np.random.default_rng(count)
    rows = rng.normal(size=(9, 5)) * (rng.random((9, 5)) <= density)
    signs = np.repeat([-1.0, 1.0], [4, 5])
    table, width = signed_rows(rows, signs)
    assert isinstance(table, np.ndarray) == (density == 1.0)  # four at a time, or sparse
    index, x = rng.integers(0, 9, 10).astype(np.uint32), rng.normal(size=10)
    total = rng.normal(size=width)
    expected = total.copy()
    expected[:6] += (x * signs[index])[:count] @ np.column_stack([rows, np.ones(9)])[index[:count]]
    sum_of(table, index, x, count, total)
    np.testing.assert_allclose(total, expected, atol=1e-12)


@njit
def changed_solution(table, index, weight, changed, square, size, updates, x, y):
    """Factor the matrix, change it by some rows, solve; returns the number of updates."""
    factor(square, size)
    n = np.int64(0)
    if changed > 0:
        n = update_factor(table, SIGMA, index, weight, changed, square, updates, n, y)
    forward_solve(square, size, x)
    apply_updates(updates, max(n, 0), x, y)
    backward_solve(square, size, x)
    return n


def random_table(n, width, seed=0):
    table = aligned(n, width)
    table[:] = np.random.default_rng(seed).standard_normal((n, width))
    return table


def solve(matrix, x, table, index, weight, limit=8):
    """Solution of the changed system, and how many changes were noted."""
    square, solution = aligned(*matrix.shape), aligned(len(x))
    square[:] = np.triu(matrix)  # what is below the diagonal must not matter
    solution[:] = x
    updates, y = aligned(limit + 1, table.shape[1]), aligned(len(table))
    size, changed = np.int64(len(matrix)), np.int64(len(index))
    n = changed_solution(table, index, weight, changed, square, size, updates, solution, y)
    return solution, n


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("width", [8, 24])
def test_gram_of_any_number_of_rows(width, count):
    table, gram = random_table(20, width), aligned(width, width)
    index, weight = np.arange(20)[::-1].copy(), np.random.default_rng(1).uniform(-1, 2, 20)
    gram_of(table, index, weight, np.int64(count), gram)
    rows = table[index[:count]]
    np.testing.assert_allclose(np.triu(gram), np.triu((rows.T * weight[:count]) @ rows), atol=1e-12)


@pytest.mark.parametrize("size", [4, 8, 12, 40, 100])
def test_factor_and_solve(size):
    table, x = random_table(2 * size, size), np.arange(1.0, size + 1)
    matrix = table.T @ table + np.eye(size)
    solution, _ = solve(matrix, x, table, np.empty(0, np.int64), np.empty(0))
    np.testing.assert_allclose(solution, np.linalg.solve(matrix, x), rtol=1e-10)


def test_rows_that_enter_and_leave_change_the_solution():
    table, x = random_table(40, 16), np.arange(1.0, 17.0)
    matrix = SIGMA * table[:30].T @ table[:30] + np.eye(16)
    index, weight = np.array([3, 35, 7, 31, 12, 36]), np.array([-1.0, 1.0, -1.0, 2.0, -1.0, 0.5])
    solution, n = solve(matrix, x, table, index, weight)
    matrix += SIGMA * (table[index].T * weight) @ table[index]
    assert n == 6
    np.testing.assert_allclose(solution, np.linalg.solve(matrix, x), rtol=1e-10)


def test_updates_are_refused_when_too_many_or_nearly_singular():
    table, x = random_table(40, 16), np.ones(16)
    matrix = SIGMA * table[:16].T @ table[:16] + 1e-9 * np.eye(16)
    one = np.array([5])
    assert solve(matrix, x, table, one, np.array([1.0]))[1] == 1
    assert solve(matrix, x, table, one, np.array([-1.0]))[1] == -1
    assert solve(matrix, x, table, np.arange(20, 29), np.ones(9), limit=8)[1] == -1
