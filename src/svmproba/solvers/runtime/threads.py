"""Threads of this process: results as they come, and a limit on the threads of BLAS."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

#: Seconds after which a waiting thread wakes up: Windows does not interrupt an endless wait.
_WAKE_UP = 1.0

Item = TypeVar("Item")
Result = TypeVar("Result")


def as_done(
    function: Callable[[Item], Result], items: Iterable[Item], n_threads: int
) -> Iterator[tuple[int, Result]]:
    """Call a function for all items in threads; with one thread, in the calling one.

    joblib looks for results every hundredth of a second, which is as long as a small fit or a
    prediction takes. The function must release Python's lock, or threads gain nothing. Yields the
    place of each item and its result, as they are done, in any order.

    Examples
    --------
    >>> sorted(as_done(abs, [-3, -1, -2], 2))
    [(0, 3), (1, 1), (2, 2)]
    """
    if n_threads == 1:
        for place, item in enumerate(items):
            yield place, function(item)
        return
    pool, done = ThreadPoolExecutor(n_threads), SimpleQueue[Future[Result]]()
    try:
        places = {pool.submit(function, item): place for place, item in enumerate(items)}
        for future in places:
            future.add_done_callback(done.put)
        while places:
            try:
                future = done.get(timeout=_WAKE_UP)
            except Empty:
                continue
            yield places.pop(future), future.result()
    finally:
        # After an error or Ctrl-C the results of what still runs are not used.
        pool.shutdown(wait=False, cancel_futures=True)


def interruptible(function: Callable[..., Result], *args: Any) -> Result:
    """Call a function in a thread, so that Ctrl-C is noticed: compiled code ignores signals.

    After Ctrl-C the function still runs; the caller tells it to stop.
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*args)
    pool = ThreadPoolExecutor(1)
    try:
        return pool.submit(function, *args).result()
    finally:
        pool.shutdown(wait=False)


@lru_cache(1)
def _libraries(n_modules: int) -> Any:
    """Search all loaded libraries, some milliseconds; again if a module was imported since."""
    return ThreadpoolController()


_lock = threading.Lock()
_limits: list[int] = []
_before: list[Any] = []


@contextmanager
def blas_threads(n: int = 1) -> Iterator[None]:
    """Limit the BLAS threads of this process while any of its threads is in this context.

    The smallest limit counts. The last thread to leave restores what was before.
    """
    with _lock:
        if not _limits or n < min(_limits):
            limiter = _libraries(len(sys.modules)).limit(limits=n)
            if not _limits:
                _before.append(limiter)
        _limits.append(n)
    try:
        yield
    finally:
        with _lock:
            _limits.remove(n)
            if not _limits:
                _before.pop().restore_original_limits()
            elif n < min(_limits):
                _libraries(len(sys.modules)).limit(limits=min(_limits))
