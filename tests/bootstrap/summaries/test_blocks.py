"""Blocks of rows: they cover all rows, fit in memory, and keep their order."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svmproba.bootstrap.summaries import blocks as module
from svmproba.bootstrap.summaries.blocks import map_blocks, row_blocks


@given(
    n_rows=st.integers(0, 5000),
    width=st.one_of(st.integers(0, 10), st.integers(10, 10**7)),
    n_least=st.integers(1, 40),
)
def test_blocks_cover_all_rows_and_fit_in_memory(n_rows, width, n_least):
    blocks = row_blocks(n_rows, width, n_least)
    assert [k for b in blocks for k in range(b.start, min(b.stop, n_rows))] == list(range(n_rows))
    sizes = [min(b.stop, n_rows) - b.start for b in blocks]
    assert all(size == 1 or 8 * size * width <= module.BLOCK_BYTES for size in sizes)
    if n_rows >= n_least * module.LEAST_ROWS:
        assert len(blocks) >= n_least
    if len(blocks) > 1:
        # No smaller than needed: one more row would not fit, or leave too few blocks.
        size = sizes[0]
        too_large = 8 * (size + 1) * max(1, width) > module.BLOCK_BYTES
        assert too_large or size + 1 > max(n_rows // n_least, module.LEAST_ROWS)


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_results_come_in_order(n_jobs, monkeypatch):
    monkeypatch.setattr(module.joblib, "cpu_count", lambda: 4)
    blocks, threads = row_blocks(100, 1, 100)[:], set()

    def work(block):
        threads.add(threading.current_thread())
        return block.start

    assert list(map_blocks(work, blocks, n_jobs)) == [block.start for block in blocks]
    assert (threading.main_thread() in threads) == (n_jobs == 1)
