"""Checks of samples: sparse matrices that are sound, values that the solvers can square."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import validate_data

from svmproba.solvers.kernels import Rows

#: Largest size of a value. Solvers form squares of values times bounds of the multipliers, summed
#: over the samples: with values up to 1e50, C up to 1e50 and weights up to 1e40 none overflows.
LARGEST = 1e50


def check_records(estimator: Any, X: Any, *y: Any, dtype: Any = np.float64, **options: Any) -> Any:
    """Do what scikit-learn's ``validate_data`` does, with checks of our own before and after."""
    check_sparse(X)
    checked = validate_data(estimator, X, *y, accept_sparse="csr", dtype=dtype, **options)
    check_sizes(checked[0] if y else checked, getattr(estimator, "feature_names_in_", None))
    return checked


def take_rows(table: Any, places: NDArray[np.intp]) -> Any:
    """Take some rows of an array, a sparse matrix, a list or a table of pandas, polars, pyarrow."""
    if hasattr(table, "iloc"):
        return table.iloc[places]
    if isinstance(table, list | tuple):
        return [table[place] for place in places]
    if sparse.issparse(table):
        return table.tocsr()[places]
    return table.take(places) if type(table).__module__ == "pyarrow.lib" else table[places]


def check_sizes(X: Rows, names: NDArray[Any] | None) -> None:
    """Refuse values too large to be squared and summed; names the column."""
    # Plain floats: a float32 cannot be compared with the limit.
    if X.shape[0] == 0 or max(float(X.max()), -float(X.min())) <= LARGEST:
        return
    sizes = abs(X).max(axis=0)
    sizes = sizes.toarray().ravel() if sparse.issparse(sizes) else sizes
    j = int(np.argmax(sizes))
    column = f"{j}" if names is None else repr(names[j])
    raise ValueError(
        f"X must hold no value above {LARGEST:g} in size, got {sizes[j]:.4g} in column {column}: "
        f"scale the column, or replace such values if they stand for missing ones."
    )


def check_sparse(X: Any) -> None:
    """Refuse a sparse matrix whose index arrays are broken: compiled code trusts them."""
    if not sparse.issparse(X):
        return
    try:
        fault = sparse_fault(X)
    except Exception as error:  # attributes may be anything
        fault = f"{type(error).__name__}: {error}"
    if fault:
        raise ValueError(
            f"X must be a sound sparse matrix, got one of format {X.format!r} whose {fault}."
        )


def sparse_fault(X: Any) -> str | None:
    """Say what is wrong with the arrays of a sparse matrix, or of what has the same attributes."""
    n, d = X.shape
    if X.format in ("csr", "csc", "bsr"):
        if X.data.ndim != (3 if X.format == "bsr" else 1):
            return f"data have {X.data.ndim} axes"
        height, width = X.data.shape[1:] if X.format == "bsr" else (1, 1)
        if n % height or d % width:
            return f"blocks of shape {(height, width)} do not fill the shape {(n, d)}"
        pointers, columns = (d, n) if X.format == "csc" else (n // height, d // width)
        return _pointer_fault(X.indptr, pointers, len(X.data)) or _index_fault(
            "indices", X.indices, columns, len(X.data), X.indptr[-1]
        )
    if X.format == "coo":
        if X.data.ndim != 1:
            return f"data have {X.data.ndim} axes"
        size = len(X.data)
        return _index_fault("row", X.row, n, size, size) or _index_fault(
            "col", X.col, d, size, size
        )
    if X.format == "dia":
        if X.data.ndim != 2:
            return f"data have {X.data.ndim} axes"
        size = len(X.data)
        if len(np.unique(X.offsets)) != size:
            return "offsets are not distinct or not as many as the diagonals"
        return _index_fault("offsets", X.offsets, d, size, size, -n + 1)
    if X.format == "lil":
        if X.rows.shape != (n,) or X.data.shape != (n,):
            return f"rows and data are not {n} lists each"
        if not all(type(row) is list for both in (X.rows, X.data) for row in both):
            return "rows and data are not lists"
        if [len(row) for row in X.rows] != [len(row) for row in X.data]:
            return "rows and data differ in length"
        places = [place for row in X.rows for place in row]
        size = len(places)
        return _index_fault("rows", np.array(places or [0]), max(d, 1), max(size, 1), size)
    if X.format == "dok":
        keys = np.array(list(X.keys()) or np.zeros((0, 2), np.intp)).reshape(-1, 2)
        size = len(keys)
        return _index_fault("keys", keys[:, 0], n, size, size) or _index_fault(
            "keys", keys[:, 1], d, size, size
        )
    return f"format {X.format!r} is unknown"


def _pointer_fault(pointer: Any, rows: int, size: int) -> str | None:
    if not _are_integers(pointer) or len(pointer) != rows + 1:
        return f"indptr is no array of {rows + 1} signed integers"
    if pointer[0] != 0 or pointer[-1] > size or (pointer[1:] < pointer[:-1]).any():
        return f"indptr does not rise from 0 to at most {size}"
    return None


def _index_fault(
    name: str, index: Any, above: int, size: int, used: int, least: int = 0
) -> str | None:
    if not _are_integers(index) or len(index) != size:
        return f"{name} is no array of {size} signed integers"
    index = index[:used]
    if len(index) and not (index.min() >= least and index.max() < above):
        return f"{name} go from {index.min()} to {index.max()}, allowed are {least} to {above - 1}"
    return None


def _are_integers(index: Any) -> bool:
    return isinstance(index, np.ndarray) and index.ndim == 1 and index.dtype.kind == "i"
