"""Rows of tables of every kind."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from svmproba.estimators.input.samples import check_sizes, sparse_fault, take_rows

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


def test_sizes_up_to_the_limit_are_taken():
    for X in (np.array([[1e50, -1e50]]), np.empty((0, 2)), np.float32([[3e38, 0.0]])):
        check_sizes(X, None)
    for sign in (1, -1):
        X = np.array([[0.0, 1e50, 0.0], [0.0, 0.0, sign * 1.1e50]])
        for table in (X, sparse.csr_array(X)):
            with pytest.raises(ValueError, match=r"got 1\.1e\+50 in column 2:"):
                check_sizes(table, None)
            with pytest.raises(ValueError, match="in column 'c':"):
                check_sizes(table, np.array(["a", "b", "c"], object))


WHOLE = np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 3.0]])


def like(**attributes):
    return SimpleNamespace(**{"shape": (2, 4)} | attributes)


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "dia", "lil", "dok"])
@pytest.mark.parametrize("table", [WHOLE, np.zeros((2, 4)), np.ones((2, 4)), np.zeros((2, 0))])
def test_matrices_of_scipy_are_sound(kind, table):
    if kind in ("bsr", "dia") and table.size == 0:
        return
    assert sparse_fault(getattr(sparse, f"{kind}_array")(table)) is None


@pytest.mark.parametrize(
    ("attributes", "fault"),
    [
        ({"indptr": [0, 2, 2]}, "indptr is no array of 3 signed integers"),
        ({"indptr": np.array([0, 2])}, "indptr is no array of 3"),
        ({"indptr": np.array([0, 2, 3], np.uint32)}, "indptr is no array"),
        ({"indptr": np.array([1, 2, 3])}, "does not rise from 0 to at most 3"),
        ({"indptr": np.array([0, 2, 4])}, "does not rise from 0 to at most 3"),
        ({"indptr": np.array([0, 3, 2])}, "does not rise"),
        ({"indices": np.array([0, 2])}, "indices is no array of 3"),
        ({"indices": np.array([0, 2, 4])}, "indices go from 0 to 4, allowed are 0 to 3"),
        ({"indices": np.array([-1, 2, 3])}, "indices go from -1 to 3, allowed are 0 to 3"),
        ({"data": np.ones((3, 1))}, "data have 2 axes"),
    ],
)
def test_faults_of_compressed_rows(attributes, fault):
    sound = {"format": "csr", "data": np.ones(3)}
    sound |= {"indptr": np.array([0, 2, 3]), "indices": np.array([0, 2, 3])}
    assert sparse_fault(like(**sound)) is None
    assert fault in sparse_fault(like(**sound | attributes))
    spare = like(**sound | {"indptr": np.array([0, 1, 2]), "indices": np.array([0, 2, 99])})
    assert sparse_fault(spare) is None  # what no row points to is not read


def test_faults_of_other_formats():
    block = {"format": "bsr", "data": np.ones((1, 2, 2))}
    block |= {"indptr": np.array([0, 1]), "indices": np.array([1])}
    assert sparse_fault(like(**block)) is None
    assert "go from 2 to 2" in sparse_fault(like(**block | {"indices": np.array([2])}))
    assert "do not fill" in sparse_fault(like(**block | {"data": np.ones((1, 2, 3))}))
    assert "do not fill" in sparse_fault(like(**block | {"data": np.ones((1, 3, 2))}))
    assert "data have 1 axes" in sparse_fault(like(**block | {"data": np.ones(1)}))
    column = {"format": "csc", "data": np.ones(1)}
    column |= {"indptr": np.array([0, 0, 0, 0, 1]), "indices": np.array([1])}
    assert sparse_fault(like(**column)) is None
    assert "allowed are 0 to 1" in sparse_fault(like(**column | {"indices": np.array([2])}))
    pair = {"format": "coo", "data": np.ones(1), "row": np.array([1]), "col": np.array([3])}
    assert sparse_fault(like(**pair)) is None
    assert "row go from 2" in sparse_fault(like(**pair | {"row": np.array([2])}))
    assert "col go from 4" in sparse_fault(like(**pair | {"col": np.array([4])}))
    assert "col is no array of 1" in sparse_fault(like(**pair | {"col": np.array([3, 3])}))
    assert "data have 2 axes" in sparse_fault(like(**pair | {"data": np.ones((1, 1))}))
    diagonal = {"format": "dia", "data": np.ones((2, 4)), "offsets": np.array([-1, 3])}
    assert sparse_fault(like(**diagonal)) is None
    for offsets, fault in (
        ([-2, 3], "allowed are -1 to 3"),
        ([-1, 4], "allowed are -1 to 3"),
        ([1, 1], "not distinct"),
    ):
        assert fault in sparse_fault(like(**diagonal | {"offsets": np.array(offsets)}))
    assert "data have 1 axes" in sparse_fault(like(**diagonal | {"data": np.ones(2)}))
    assert "format 'x' is unknown" in sparse_fault(like(format="x"))


def lists(*rows):
    held = np.empty(len(rows), dtype=object)
    held[:] = rows
    return held


def test_faults_of_lists_and_dictionaries():
    whole = {"format": "lil", "rows": lists([0, 3], []), "data": lists([1.0, 2.0], [])}
    assert sparse_fault(like(**whole)) is None
    for changes, fault in (
        ({"rows": lists([0, 4], [])}, "rows go from 0 to 4, allowed are 0 to 3"),
        ({"rows": lists([0, -1], [])}, "rows go from -1 to 0"),
        ({"rows": lists([0], [])}, "differ in length"),
        ({"rows": lists([0, 3])}, "not 2 lists each"),
        ({"data": lists([1.0, 2.0])}, "not 2 lists each"),
        ({"rows": lists((0, 3), [])}, "rows and data are not lists"),
        ({"data": lists((1.0, 2.0), [])}, "rows and data are not lists"),
    ):
        assert fault in sparse_fault(like(**whole | changes))
    for key, fault in (((1, 3), None), ((2, 3), "keys go from 2"), ((1, 4), "keys go from 4")):
        found = sparse_fault(like(format="dok", keys={key: 1.0}.keys))
        assert found is None if fault is None else fault in found
