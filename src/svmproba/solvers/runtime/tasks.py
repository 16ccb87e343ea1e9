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

from svmproba.solvers.runtime.threads import as_done

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
    backend, n_workers = _backend(), effective_n_jobs(n_jobs)
    if in_threads():
        yield from as_done(partial(task, parcel.content), pieces, n_workers)
        return
    send = partial(_by_joblib, n_jobs)
    if hasattr(backend, "client") and n_workers > 1:
        send = partial(_by_dask, backend, n_workers)
    missing, in_vain = dict(enumerate(pieces)), 0
    while missing:
        n_missing = len(missing)
        try:
            for place, result in send(task, parcel, list(missing.items())):
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


def _by_joblib(
    n_jobs: int | None,
    task: Callable[[Any, Any], Result],
    parcel: Parcel,
    pieces: list[tuple[int, Any]],
) -> Iterator[tuple[int, Result]]:
    """Yield places and results from joblib's workers, or from this process if there is one job."""
    calls = (delayed(_run)(task, parcel, place, piece) for place, piece in pieces)
    return Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator_unordered")(calls)


def _by_dask(
    backend: Any,
    n_workers: int,
    task: Callable[[Any, Any], Result],
    parcel: Parcel,
    pieces: list[tuple[int, Any]],
) -> Iterator[tuple[int, Result]]:
    """Yield places and results from dask's workers. joblib's way there takes twice the time.

    All workers get the parcel first, because a task goes to one that has its data. With a task for
    each worker the parcel goes along with the task, which costs less than sending it before. It
    goes as bytes, for the scheduler opens what tasks bring.
    """
    from dask.distributed import as_completed

    client = backend.client
    if len(pieces) <= n_workers:
        sent: Any = parcel.token, parcel.payload
    else:
        sent = client.scatter(parcel, broadcast=True, hash=False)
    options = {"pure": False, **backend.submit_kwargs}
    futures = [client.submit(_run, task, sent, place, piece, **options) for place, piece in pieces]
    with backend.retrieval_context():  # a task that waits for others leaves them its place
        for _, result in as_completed(futures, with_results=True):
            if isinstance(result, CancelledError):
                raise result
            yield result


def _run(
    task: Callable[[Any, Any], Result], parcel: Any, place: int, piece: Any
) -> tuple[int, Result]:
    """Run a task in a worker."""
    if not isinstance(parcel, Parcel):
        parcel = _open(*parcel)
    return place, task(parcel.content, piece)
