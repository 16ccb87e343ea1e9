"""Row blocks: bounded memory and threads for work that goes through a table once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import joblib

from svmproba.solvers.runtime.threads import as_done, blas_threads

BLOCK_BYTES, LEAST_ROWS = 16 * 2**20, 16

Result = TypeVar("Result")


def row_blocks(n_rows: int, width: int, n_least: int = 1) -> list[slice]:
    """Divide a table into blocks of at most about 16 MiB, `width` float64 numbers a row.

    They depend on the shape alone, never on the number of threads.
    """
    size = max(1, min(BLOCK_BYTES // (8 * max(1, width)), max(n_rows // n_least, LEAST_ROWS)))
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def map_blocks(
    function: Callable[[slice], Result], blocks: list[slice], n_jobs: int | None
) -> list[Result]:
    """Apply a function to every block in threads that share the cores with the linear algebra."""
    # The jobs of a cluster are not the cores of this machine.
    n_threads = min(joblib.effective_n_jobs(n_jobs), joblib.cpu_count(), len(blocks))
    if n_threads <= 1:
        return [function(block) for block in blocks]
    per_thread = max(1, joblib.cpu_count() // n_threads)
    with blas_threads(per_thread):
        results = dict(as_done(function, blocks, n_threads))
    return [results[place] for place in range(len(blocks))]
