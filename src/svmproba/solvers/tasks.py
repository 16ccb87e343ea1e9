"""Pieces of work as joblib tasks: what they share is sent once, what is lost is run again.

Threads share everything. Processes, here or on other machines, get a :class:`Parcel` once each and
a piece with every task. A worker that dies takes its pieces with it and nothing else: they are
given to the others, and a result depends on its piece alone.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from functools import cached_property, partial
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, wrap_non_picklable_objects
from joblib.parallel import get_active_backend

from .threads import as_done

#: Times in a row that workers may die before one more piece is done.
_TRIES = 3

Result = TypeVar("Result")


class Parcel:
    """Something large that all tasks need: pickled once, opened once by every worker process.

    Dask's workers get it before the first task, or with their only one; joblib's own processes
    read a file.
    The bytes are copied when the parcel is opened: arrays that lie where a message put them may be
    read-only or out of line, and compiled code would be compiled anew for them.

    Parameters
    ----------
    content : object
        What the tasks get.
    pack, unpack : callable
        ``unpack(pack(content))`` is the content: what is cheap to make again need not travel.
    """

    def __init__(
        self, content: Any, pack: Callable[[Any], Any], unpack: Callable[[Any], Any]
    ) -> None:
        self.content, self.token = content, uuid4().hex
        self._pack, self._unpack = pack, unpack

    @cached_property
    def payload(self) -> Any:
        """The packed content as an array of bytes."""
        packed = self._pack(self.content), self._pack, self._unpack
        # Functions of scripts and notebooks are wrapped, as joblib does with those of its tasks.
        wrapped = wrap_non_picklable_objects(packed, keep_wrapper=False)
        return np.frombuffer(pickle.dumps(wrapped, 5), np.uint8)

    def __reduce__(self) -> tuple[Any, ...]:
        return _open, (self.token, self.payload)

    def __sizeof__(self) -> int:
        # Asked for by dask, which otherwise takes the parcel for a small thing to send each time.
        return int(self.payload.nbytes)


#: The parcel that this process opened last; joblib's processes unpickle it with every task.
_opened: dict[str, Parcel] = {}


def _open(token: str, payload: Any) -> Parcel:
    parcel = _opened.get(token)
    if parcel is None:
        packed, pack, unpack = pickle.loads(payload)
        parcel = Parcel(unpack(packed), pack, unpack)
        parcel.token = token
        _opened.clear()
        _opened[token] = parcel
    return parcel


def run_tasks(
    task: Callable[[Any, Any], Result],
    parcel: Parcel,
    pieces: Iterable[Any],
    n_jobs: int | None,
) -> Iterator[tuple[int, Result]]:
    """Run ``task(content, piece)`` for all pieces, and again for those that a dead worker lost.

    Parameters
    ----------
    task : callable
        Picklable; it must not depend on anything but its arguments.
    parcel : Parcel
        The content.
    pieces : iterable
        Small: each travels with its task.
    n_jobs : int, optional
        As in joblib; threads unless ``joblib.parallel_config`` says otherwise.

    Yields
    ------
    place : int
        Which piece it was. Pieces come as they are done, in any order.
    result : object
        What the task returned.
    """
    if in_threads():
        yield from as_done(partial(task, parcel.content), pieces, effective_n_jobs(n_jobs))
        return
    missing, in_vain = dict(enumerate(pieces)), 0
    while missing:
        n_missing = len(missing)
        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator_unordered")
        sent = _sent_to_all(parcel, n_jobs, n_missing)
        # In a tuple, or dask would keep each piece with one worker and lose it with that worker.
        calls = [delayed(_run)(task, sent, k, (piece,)) for k, piece in missing.items()]
        try:
            for place, result in parallel(calls):
                del missing[place]
                yield place, result
        except (BrokenExecutor, CancelledError):  # joblib's processes; dask
            in_vain = in_vain + 1 if len(missing) == n_missing else 0
            if in_vain == _TRIES:
                raise


def in_threads() -> bool:
    """Whether joblib, as it is configured here, runs tasks in threads of this process."""
    return getattr(_backend(), "supports_sharedmem", False)


def _backend() -> Any:
    return get_active_backend(prefer="threads")[0]


def _sent_to_all(parcel: Parcel, n_jobs: int | None, n_tasks: int) -> Any:
    """Send the parcel to all of dask's workers: a task goes first to a worker that has its data.

    joblib sends it to one of them, which then gets most of the tasks. With a task for each worker
    the parcel goes along with the task: sending it before costs more. It goes as bytes, for the
    scheduler opens what tasks bring.
    """
    client, n_workers = getattr(_backend(), "client", None), effective_n_jobs(n_jobs)
    if client is None or n_workers == 1:  # joblib needs no worker for one job
        return parcel
    if n_tasks <= n_workers:
        return parcel.token, parcel.payload
    return client.scatter(parcel, broadcast=True, hash=False)


def _run(
    task: Callable[[Any, Any], Result], parcel: Any, place: int, piece: tuple[Any]
) -> tuple[int, Result]:
    if isinstance(parcel, tuple):
        parcel = _open(*parcel)
    elif not isinstance(parcel, Parcel):
        # Where all workers but one are lost meanwhile, joblib runs tasks on dask's promise.
        parcel = parcel.result()
    return place, task(parcel.content, piece[0])
