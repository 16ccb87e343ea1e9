"""The kernel matrix of the training samples: whole, or row by row as a fit needs it.

A fit on a kernel works on this matrix K and on signed multipliers: the scores of a member are
``K @ beta + bias``. A fit of many bags computes the whole matrix. A fit of one or a few SVMs needs
the rows of their support vectors only. These are computed in blocks when a working set first needs
them, and the least recently used ones make room for others, so that one SVM has no limit of rows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from svmproba._types import Floats, Ints, Rows
from svmproba.solvers.core.compiled import JIT, lean_entry
from svmproba.solvers.core.tables import is_dense
from svmproba.solvers.kernels import apply_kernel, kernel_diagonal, kernel_sides

#: Memory for rows that were computed one block at a time.
CACHE_BYTES = 2**31
#: Columns of a row that are worked on at a time: the sums of a grid of C stay in the first-level
#: cache.
_PART = 512
#: Rows and columns that are computed at a time.
_BLOCK = (128, 1024)


class Gram:
    """Kernel matrix (n, n) of the training samples.

    Attributes
    ----------
    diagonal : array of shape (n,)
        Kernel values of every sample with itself.
    table : array of shape (capacity, n)
        The rows that are held.
    slot : int array of shape (n,)
        Where in the table the row of a sample is, -1 where it is not held.
    unit : float
        The power of two next above the diagonal: no entry of the matrix is larger.
    """

    def __init__(self, write: partial[None], diagonal: Floats) -> None:
        self._write = write
        self.diagonal = diagonal
        self.shape = (len(diagonal), len(diagonal))
        self.unit = float(2.0 ** np.ceil(np.log2(np.abs(diagonal).max() or 1.0)))
        self.n_threads = 1
        self._forget()

    @classmethod
    def of_samples(cls, X: Rows, kernel: str, *, gamma: float, degree: int, coef0: float) -> Gram:
        """Kernel matrix of samples, not yet computed."""
        centre = X.mean(axis=0) if kernel == "rbf" and is_dense(X) else None
        sides = kernel_sides(X, kernel, gamma, coef0, centre)
        diagonal = kernel_diagonal(X, kernel, gamma=gamma, degree=degree, coef0=coef0)
        return cls(partial(_write_values, sides, kernel, degree), diagonal)

    @classmethod
    def of_matrix(cls, K: Floats) -> Gram:
        """Kernel matrix that is at hand."""
        gram = cls(partial(_copy_values, K), K.diagonal().copy())
        gram.table, gram.slot = K, np.arange(len(K))
        return gram

    def _forget(self) -> None:
        n = len(self.diagonal)
        self.table, self.slot = np.empty((0, n)), np.full(n, -1)
        self._owner, self._used, self._clock = np.empty(0, np.intp), np.empty(0, np.intp), 0
        self._singles: NDArray[np.float32] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what another process computes sooner than it receives it."""
        return {"_write": self._write, "diagonal": self.diagonal}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["_write"], state["diagonal"])  # type: ignore[misc]

    @property
    def whole(self) -> bool:
        """Whether all rows are held, in their order."""
        return len(self.table) == len(self.diagonal) and bool((self.slot >= 0).all())

    @property
    def source(self) -> tuple[tuple[Rows, Rows], str, int] | None:
        """Sides, kernel and degree of a matrix of samples, None for one at hand."""
        return self._write.args if self._write.func is _write_values else None

    def complete(self) -> None:
        """Compute all rows."""
        if not self.whole:
            n = len(self.diagonal)
            self.table, self.slot = np.empty((n, n)), np.arange(n)
            self._fill(self.slot, self.slot)

    def singles(self) -> NDArray[np.float32]:
        """All entries divided by the unit, in float32."""
        if self._singles is None:
            self.complete()
            self._singles = np.empty(self.shape, np.float32)
            np.multiply(self.table, 1.0 / self.unit, out=self._singles, casting="same_kind")
        return self._singles

    def hold(self, places: Ints) -> Ints:
        """Compute the rows of samples that are not held; gives the slots of all of them.

        Room for them must be there, see `capacity`.
        """
        missing = places[self.slot[places] < 0]
        if len(missing):
            free = self._make_room(places, len(missing))
            self._fill(missing, free)
            self.slot[missing], self._owner[free] = free, missing
        slots = self.slot[places]
        if len(self._used):
            self._clock += 1
            self._used[slots] = self._clock
        return slots

    @property
    def capacity(self) -> int:
        """Number of rows that can be held at a time."""
        n = len(self.diagonal)
        return n if self.whole else min(n, max(1024, CACHE_BYTES // (8 * n)))

    def _make_room(self, wanted: Ints, size: int) -> Ints:
        """Slots for so many rows: free ones, else those of the rows used longest ago."""
        if not len(self.table):
            self.table = np.empty((self.capacity, self.shape[1]))
            self._owner = np.full(len(self.table), -1)
            self._used = np.zeros(len(self.table), np.intp)
        age = self._used.copy()
        kept = self.slot[wanted]
        age[kept[kept >= 0]] = self._clock + 1
        free = np.sort(np.argpartition(age, size - 1)[:size])
        owners = self._owner[free]
        self.slot[owners[owners >= 0]] = -1
        return free

    def _fill(self, places: Ints, slots: Ints) -> None:
        """Compute the rows of samples in blocks that stay in the second-level cache."""
        table, n = self.table, self.shape[1]

        def block(corner: tuple[int, int]) -> None:
            some = slice(corner[0], corner[0] + _BLOCK[0])
            part = slice(corner[1], min(corner[1] + _BLOCK[1], n))
            values = np.empty((len(places[some]), part.stop - part.start))
            self._write(places[some], part, values)
            table[slots[some], part] = values

        corners = list(product(range(0, len(places), _BLOCK[0]), range(0, n, _BLOCK[1])))
        if self.n_threads == 1 or len(corners) == 1:
            for corner in corners:
                block(corner)
        else:
            with ThreadPoolExecutor(self.n_threads) as pool:
                list(pool.map(block, corners))

    def scores(self, beta: Floats, out: Floats) -> Floats:
        """Write ``beta @ K`` to an array, both (k, n), a few rows of K at a time."""
        support = np.flatnonzero(beta.any(axis=0))
        out[:] = 0.0
        step = max(1, self.capacity // 2)
        for first in range(0, len(support), step):
            places = support[first : first + step]
            add_rows(self.table, self.hold(places), np.ascontiguousarray(beta[:, places]), out)
        return out


def _write_values(
    sides: tuple[Rows, Rows], kernel: str, degree: int, places: Ints, part: slice, out: Floats
) -> None:
    left, right = sides[0][places], sides[1][part].T
    if is_dense(left):
        np.matmul(left, right, out=out)
    else:
        out[:] = (left @ right).toarray()
    apply_kernel(out, kernel, degree)


def _copy_values(K: Floats, places: Ints, part: slice, out: Floats) -> None:
    out[:] = K[places, part]


@njit(**JIT)
def _add_part(table, slots, factors, out, first, last):
    """Add four rows at a time to all sums: these stay in the cache, and each row is read once."""
    n_rows = slots.shape[0]
    whole = n_rows - n_rows % 4
    for s in range(0, whole, 4):
        row_a, row_b = table[slots[s], first:last], table[slots[s + 1], first:last]
        row_c, row_d = table[slots[s + 2], first:last], table[slots[s + 3], first:last]
        for k in range(out.shape[0]):
            weight, total = factors[k], out[k, first:last]
            a, b, c, d = weight[s], weight[s + 1], weight[s + 2], weight[s + 3]
            if a != 0.0 or b != 0.0 or c != 0.0 or d != 0.0:
                for j in range(last - first):
                    total[j] += a * row_a[j] + b * row_b[j] + c * row_c[j] + d * row_d[j]
    for s in range(whole, n_rows):
        row_a = table[slots[s], first:last]
        for k in range(out.shape[0]):
            a, total = factors[k, s], out[k, first:last]
            for j in range(last - first):
                total[j] += a * row_a[j]


@lean_entry
def add_rows(table, slots, factors, out):
    """Add rows of a table (·, n), times their factors (k, len(slots)), to sums (k, n)."""
    n = out.shape[1]
    for first in range(0, n, _PART):
        _add_part(table, slots, factors, out, first, min(first + _PART, n))
