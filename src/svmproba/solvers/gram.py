"""The kernel matrix of the training samples: whole, or row by row as a fit needs it.

A fit on a kernel works on this matrix K and on signed multipliers: the scores of a member are
``K @ beta + bias``. A fit of many bags computes the whole matrix. A fit of one or a few SVMs needs
the rows of the samples whose multipliers moved only. These are computed in blocks when a step first
needs them, and the least recently used ones make room for others, so that one SVM has no limit of
rows.

Rows of the rbf kernel that steps need are float32: they take half the time and half the memory.
Certificates compute kernel values again, in float64, and forget them at once.
"""

from __future__ import annotations

from collections.abc import Callable
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
CACHE_BYTES = 2**27
#: Columns of a row that are worked on at a time: the sums of a grid of C stay in the first-level
#: cache.
_PART = 512
#: Rows and columns that are computed at a time: they stay in the second-level cache.
_BLOCK = (128, 2048)
#: Kernel values for which threads are started, a tenth of a millisecond; these take half of one.
_WORTH_THREADS = 2**19
#: Largest gamma |x|^2 up to which float32 tells distances well enough for steps.
_NEAR = 1000.0


class Gram:
    """Kernel matrix (n, n) of the training samples.

    Attributes
    ----------
    diagonal : array of shape (n,)
        Kernel values of every sample with itself.
    whole : bool
        Whether all rows are held in float64, in their order.
    table : array of shape (capacity, n)
        The rows that are held.
    slot : int array of shape (n,)
        Where in the table the row of a sample is, -1 where it is not held.
    unit : float
        The power of two next above the diagonal: no entry of the matrix is larger.
    stop : array of shape (1,)
        Not 0: what is still to be computed is left out, because the result is not used.
    """

    def __init__(self, write: partial[None], diagonal: Floats) -> None:
        self._write = write
        self._quick = _quick_sides(self.source)
        self.diagonal = diagonal
        self.shape = (len(diagonal), len(diagonal))
        self.unit = float(2.0 ** np.ceil(np.log2(np.abs(diagonal).max() or 1.0)))
        self.n_threads = 1
        self.stop: Any = np.zeros(1, np.uint8)
        self.whole = False
        self.table = np.empty((0, len(diagonal)), np.float64 if self._quick is None else np.float32)
        self.slot = np.full(len(diagonal), -1)
        self._owner, self._used = np.empty((2, 0), np.intp)
        self._clock, self._n_filled = 0, 0
        self._singles: NDArray[np.float32] | None = None

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
        gram.table, gram.slot, gram.whole = K, np.arange(len(K)), True
        return gram

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what another process computes sooner than it receives it."""
        return {"_write": self._write, "diagonal": self.diagonal}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["_write"], state["diagonal"])  # type: ignore[misc]

    @property
    def source(self) -> tuple[tuple[Rows, Rows], str, int] | None:
        """Sides, kernel and degree of a matrix of samples, None for one at hand."""
        return self._write.args if self._write.func is _write_values else None

    def complete(self) -> None:
        """Compute all rows."""
        if not self.whole:
            self.table, self.slot = np.empty(self.shape), np.arange(len(self.diagonal))
            self._owner, self._used = np.empty((2, 0), np.intp)  # no row makes room for another
            self._fill(self.slot, self.slot)
            self.whole = True

    def singles(self) -> NDArray[np.float32]:
        """All entries divided by the unit, in float32."""
        if self._singles is None:
            self._singles = np.empty(self.shape, np.float32)
            if self.whole:
                np.multiply(self.table, 1.0 / self.unit, out=self._singles, casting="same_kind")
            else:
                self.block(np.arange(len(self.diagonal)), self._singles)
        return self._singles

    def block(self, places: Ints, out: NDArray[np.float32]) -> None:
        """Write the entries of some samples with each other, divided by the unit."""
        if self._quick is None or self.whole:
            slots = self.hold(places)  # before the table is read: the first call makes it
            gather(self.table, slots, places, 1.0 / self.unit, out)
            return
        left, right, m = self._quick[0][places], self._quick[1][places].T, len(places)

        def some_rows(first: int) -> None:
            some = slice(first, min(first + _BLOCK[0], m))
            np.exp(left[some] @ right, out=out[some, :m])

        self._in_threads(some_rows, list(range(0, m, _BLOCK[0])), m * m)

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
        return n if self.whole else min(n, max(1024, CACHE_BYTES // (self.table.itemsize * n)))

    def _make_room(self, wanted: Ints, size: int) -> Ints:
        """Slots for so many rows: free ones, else those of the rows used longest ago."""
        if not len(self.table):
            self.table = np.empty((self.capacity, self.shape[1]), self.table.dtype)
            self._owner = np.full(len(self.table), -1)
            self._used = np.zeros(len(self.table), np.intp)
        first, self._n_filled = self._n_filled, min(self._n_filled + size, len(self.table))
        if first + size <= len(self.table):
            return np.arange(first, first + size)
        age = self._used.copy()
        kept = self.slot[wanted]
        age[kept[kept >= 0]] = self._clock + 1
        free = np.sort(np.argpartition(age, size - 1)[:size])
        owners = self._owner[free]
        self.slot[owners[owners >= 0]] = -1
        return free

    def _fill(self, places: Ints, slots: Ints) -> None:
        """Compute the rows of samples."""
        table, n = self.table, self.shape[1]
        quick = self._quick if table.dtype == np.float32 else None

        def block(corner: tuple[int, int]) -> None:
            some = slice(corner[0], corner[0] + _BLOCK[0])
            part = slice(corner[1], min(corner[1] + _BLOCK[1], n))
            if quick is not None:
                values = quick[0][places[some]] @ quick[1][part].T
                np.exp(values, out=values)
            else:
                values = np.empty((len(places[some]), part.stop - part.start))
                self._write(places[some], part, values)
            table[slots[some], part] = values

        corners = product(range(0, len(places), _BLOCK[0]), range(0, n, _BLOCK[1]))
        self._in_threads(block, list(corners), n * len(places))

    def _in_threads(self, work: Callable[[Any], None], items: list[Any], n_values: int) -> None:
        def work_unless_stopped(item: Any) -> None:
            if not self.stop[0]:
                work(item)

        if self.n_threads == 1 or len(items) == 1 or n_values < _WORTH_THREADS:
            for item in items:
                work_unless_stopped(item)
        else:
            with ThreadPoolExecutor(self.n_threads) as pool:
                list(pool.map(work_unless_stopped, items))

    def scores(self, beta: Floats, out: Floats) -> Floats:
        """Write ``beta @ K`` in float64 to an array, both (k, n), a few rows of K at a time."""
        support, n = np.flatnonzero(beta.any(axis=0)), self.shape[1]
        out[:] = 0.0
        if self.table.dtype == np.float32:
            factors = np.ascontiguousarray(beta[:, support])

            def add(start: int) -> None:
                part = slice(start, min(start + _BLOCK[1], n))
                for first in range(0, len(support), _BLOCK[0]):
                    some = slice(first, first + _BLOCK[0])
                    values = np.empty((len(support[some]), part.stop - start))
                    self._write(support[some], part, values)
                    out[:, part] += factors[:, some] @ values

            self._in_threads(add, list(range(0, n, _BLOCK[1])), n * len(support))
            return out
        step = max(1, self.capacity // 2)
        for first in range(0, len(support), step):
            places = support[first : first + step]
            slots = self.hold(places)
            add_rows(self.table, slots, np.ascontiguousarray(beta[:, places]), out)
        return out


def _quick_sides(source: tuple[tuple[Rows, Rows], str, int] | None) -> Any:
    """Sides in float32 where steps may use them: dense samples and the kernel rbf."""
    if source is None or source[1] != "rbf" or not is_dense(source[0][0]):
        return None
    left, right = source[0]
    if -left[:, -2].min() > _NEAR:  # the column of -gamma |x|^2
        return None
    return left.astype(np.float32), right.astype(np.float32)


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


@lean_entry
def gather(table, slots, places, factor, out):
    """Write the entries ``table[slots[a], places[b]] * factor`` to the corner of an array."""
    for a in range(slots.shape[0]):
        row = table[slots[a]]
        for b in range(places.shape[0]):
            out[a, b] = row[places[b]] * factor


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
