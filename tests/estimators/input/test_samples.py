"""Rows of tables of every kind."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from svmproba.estimators.input.samples import take_rows

TABLE = np.arange(12.0).reshape(4, 3)
PLACES = np.array([3, 1])


@pytest.mark.parametrize("kind", ["csr_array", "coo_matrix", "bsr_array"])
def test_rows_of_sparse_tables(kind):
    taken = take_rows(getattr(sparse, kind)(TABLE), PLACES)
    np.testing.assert_array_equal(taken.toarray(), TABLE[PLACES])


def test_rows_of_tables():
    np.testing.assert_array_equal(take_rows(TABLE, PLACES), TABLE[PLACES])
    frame = pd.DataFrame(TABLE, index=[5, 6, 7, 8])
    pd.testing.assert_frame_equal(take_rows(frame, PLACES), frame.loc[[8, 6]])
    assert take_rows(["a", "b", "c", "d"], PLACES) == ["d", "b"]


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_rows_of_tables_of_other_libraries(library):
    table = pytest.importorskip(library).table if library == "pyarrow" else None
    make = table or pytest.importorskip(library).DataFrame
    taken = take_rows(make({"a": TABLE[:, 0], "b": TABLE[:, 1]}), PLACES)
    np.testing.assert_array_equal(np.column_stack([taken["a"], taken["b"]]), TABLE[PLACES, :2])
