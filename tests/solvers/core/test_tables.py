"""Rows outside compiled code: arrays and CSR matrices give the same."""

import numpy as np
from scipy import sparse

from svmproba.solvers.core.tables import column_sizes, product, row_products


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


def test_products_of_all_rows():
    rows = np.random.default_rng(0).normal(size=(30, 7))
    rows[rows < 0.5] = 0.0
    expected = [[sum(x * y for x, y in zip(a, b, strict=True)) for b in rows] for a in rows]
    for form in (rows, sparse.csr_array(rows)):
        np.testing.assert_allclose(row_products(form, 2), expected, atol=1e-13)
