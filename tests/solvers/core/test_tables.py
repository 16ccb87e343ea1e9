"""Rows outside compiled code: arrays and CSR matrices give the same."""

import numpy as np
from scipy import sparse

from svmproba.solvers.core.rows import signed_rows
from svmproba.solvers.core.tables import column_sizes, kernel_products, product


def test_product_of_dense_and_sparse_tables():
    left, right = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    for table in (right, sparse.csr_array(right), sparse.csr_matrix(right), right[::-1]):
        out = np.full((2, 4), np.nan)
        assert product(left, table, out) is out
        np.testing.assert_array_equal(out, left @ table)


def test_column_sizes():
    table = np.array([[1.0, 0.0, -3.0], [-2.0, 0.0, 0.0]])
    for rows, terms in ((table, 3), (sparse.csr_array(table), 2)):
        sizes, most = column_sizes(rows)
        np.testing.assert_array_equal(sizes, [2.0, 0.0, 3.0])
        assert most == terms


def test_kernel_products_of_all_storages():
    rng = np.random.default_rng(0)
    signs = np.where(rng.random(30) < 0.5, -1.0, 1.0)
    for density in (1.0, 0.1):  # the latter is stored as CSR, though the rows are an array
        rows = rng.normal(size=(30, 7)) * (rng.random((30, 7)) < density)
        expected = np.outer(signs, signs) * (rows @ rows.T)
        for form in (rows, sparse.csr_array(rows)):
            table, _ = signed_rows(form, signs)
            found = kernel_products(form, table, signs, 2)
            np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)
