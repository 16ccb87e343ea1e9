"""Factors of kernel matrices, against their definitions."""

import numpy as np
import pytest

from svmproba.solvers.factors import (
    inverse_transposed,
    leaves_little,
    pivoted_cholesky,
    positive_part,
    random_cholesky,
)


def semidefinite(n=30, rank=12, seed=0):
    F = np.random.default_rng(seed).normal(size=(n, rank))
    return F @ F.T


def test_a_semidefinite_matrix_is_the_product_of_its_factor():
    K = semidefinite()
    rows, pivots = pivoted_cholesky(K, 1e-12)
    assert rows.shape == (30, 12)
    np.testing.assert_allclose(rows @ rows.T, K, atol=1e-10)
    np.testing.assert_array_equal(rows[pivots], np.tril(rows[pivots]))
    # The inverse of the pivots' rows turns kernel values at the pivots into rows.
    np.testing.assert_allclose(K[:, pivots] @ inverse_transposed(rows[pivots]), rows, atol=1e-8)


def test_what_is_left_is_seen_to_be_indefinite():
    K = semidefinite()
    assert leaves_little(K, pivoted_cholesky(K, 1e-7)[0])
    K -= 5.0 * np.eye(30)
    assert not leaves_little(K, pivoted_cholesky(K, 1e-7)[0])


def test_the_positive_part_has_the_positive_eigenvalues():
    K = semidefinite() - 5.0 * np.eye(30)
    with pytest.warns(UserWarning, match="kernel='sigmoid' is indefinite"):
        rows, projection = positive_part(K, 1e-12, "sigmoid")
    values, vectors = np.linalg.eigh(K)
    np.testing.assert_allclose(
        rows @ rows.T, (vectors * np.maximum(values, 0)) @ vectors.T, atol=1e-9
    )
    np.testing.assert_allclose(K @ projection, rows, atol=1e-9)


def test_a_random_factor_of_full_rank_leaves_nothing():
    K, rng = semidefinite(), np.random.default_rng(1)
    rows, pivots, exact = random_cholesky(lambda at: K[:, at], K.diagonal(), 30, 1e-10, rng)
    assert exact
    assert len(set(pivots.tolist())) == len(pivots) == 12
    np.testing.assert_allclose(rows @ rows.T, K, atol=1e-8)
    few, pivots, exact = random_cholesky(lambda at: K[:, at], K.diagonal(), 5, 1e-10, rng)
    assert (few.shape, len(pivots), exact) == ((30, 5), 5, False)
    assert (K.diagonal() - np.square(few).sum(axis=1)).min() > -1e-9
