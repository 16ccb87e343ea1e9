"""Threads: every result once, errors and interruptions at once, BLAS given back."""

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from svmproba.solvers.runtime.threads import as_done, blas_threads


def n_blas_threads():
    np.ones((2, 2)) @ np.ones((2, 2))  # loads a BLAS, where this file is run by itself
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_items", [0, 1, 7])
def test_every_item_once(n_threads, n_items):
    results = list(as_done(lambda k: 10 * k, range(n_items), n_threads))
    assert sorted(results) == [(k, 10 * k) for k in range(n_items)]


def test_one_thread_is_the_calling_one():
    assert list(as_done(lambda _: threading.get_ident(), [0], 1)) == [(0, threading.get_ident())]


def test_results_come_as_they_are_done():
    """The first item waits until the result of the second was received."""
    received = threading.Event()
    results = as_done(lambda k: received.wait(60) if k == 0 else k, range(2), 2)
    assert next(results) == (1, 1)
    received.set()
    assert list(results) == [(0, True)]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_error_ends_the_work(n_threads):
    started, may_go_on = [], threading.Event()

    def fail_at_once(k):
        started.append(k)
        if k == 0:
            raise ValueError("no zero")
        may_go_on.wait(60)

    with pytest.raises(ValueError, match="no zero"):
        list(as_done(fail_at_once, range(100), n_threads))
    may_go_on.set()
    time.sleep(0.1)
    assert len(started) <= 3  # those that threads had begun; nothing that was still waiting


def test_who_stops_listening_leaves_nothing_behind():
    started, may_go_on = [], threading.Event()

    def note(k):
        started.append(k)
        return k if k == 0 else may_go_on.wait(60)

    results = as_done(note, range(100), 2)
    assert next(results) == (0, 0)
    results.close()
    may_go_on.set()
    time.sleep(0.1)
    assert len(started) <= 4


def test_linear_algebra_gets_its_threads_back():
    with threadpool_limits(2, user_api="blas"):
        before = n_blas_threads()
        with blas_threads():
            with blas_threads():
                assert n_blas_threads() == {1}
            assert n_blas_threads() == {1}
        assert n_blas_threads() == before


def test_the_least_number_of_threads_counts():
    with threadpool_limits(4, user_api="blas"):
        before = n_blas_threads()
        with blas_threads(3):
            three = n_blas_threads()
            with blas_threads(1), blas_threads(2):
                assert n_blas_threads() == {1}
            assert n_blas_threads() == three
        assert n_blas_threads() == before


def test_limits_that_overlap_in_threads_are_undone():
    """The first to enter is the first to leave: what it found is set by the last."""
    entered, may_leave = threading.Event(), threading.Event()

    def hold():
        with blas_threads(2):
            entered.set()
            may_leave.wait(60)

    with threadpool_limits(4, user_api="blas"):
        before = n_blas_threads()
        other = threading.Thread(target=hold)
        other.start()
        entered.wait(60)
        with blas_threads(1):
            may_leave.set()
            other.join()
            assert n_blas_threads() == {1}
        assert n_blas_threads() == before
