"""Pieces of work as joblib tasks: what they share is sent once, what is lost is run again.

Threads share everything. Processes, here or on other computers, get a :class:`Parcel` once each and
a piece with every task. Pieces of a worker that dies are given to the others; a result depends on
its piece alone.

Undocumented names of joblib are used in this module alone: ``get_active_backend``, to run threads
without joblib, and the attributes of its dask backend, because tasks sent by dask's own calls take
half the time. Where one is missing, tasks go through ``joblib.Parallel``, with the same results.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from functools import cached_property, partial
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel, wrap_non_picklable_objects

from svmproba.solvers.runtime.threads import as_done

#: Times in a row that workers may die before one more piece is done.
_TRIES = 3

Result = TypeVar("Result")


class Parcel:
    """Something large that all tasks need: pickled once, opened once by every worker process.

    Dask's workers get it before the first task, or with their only one; joblib's own processes
    read a file. The bytes are copied when the parcel is opened: arrays in a message may be
    read-only or not aligned, and compiled code would be compiled anew for them.
    ``unpack(pack(content))`` is the content: what is cheap to compute again need not be sent.
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
        # Functions of scripts and notebooks are wrapped, as joblib does for its tasks.
        wrapped = wrap_non_picklable_objects(packed, keep_wrapper=False)
        return np.frombuffer(pickle.dumps(wrapped, 5), np.uint8)

    def __reduce__(self) -> tuple[Any, ...]:
        return _open, (self.token, self.payload)

    def __sizeof__(self) -> int:
        # Read by dask, which otherwise takes the parcel for small and sends it each time.
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

    The task must be picklable and depend on its arguments alone. Pieces are small: each is sent
    with its task. ``n_jobs`` is joblib's; threads unless ``joblib.parallel_config`` says otherwise.
    Yields the place of each piece and its result, as they are done, in any order.
    """
    backend, n_workers = _backend(), effective_n_jobs(n_jobs)
    if in_threads():
        yield from as_done(partial(task, parcel.content), pieces, n_workers)
        return
    send = partial(_by_joblib, n_jobs)
    if _is_dask(backend) and n_workers > 1:
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
    """Return what joblib would run tasks by, None if it does not say."""
    active = getattr(parallel, "get_active_backend", None)
    return None if active is None else active(prefer="threads")[0]


def _is_dask(backend: Any) -> bool:
    """Whether it is joblib's dask backend, with the attributes that `_by_dask` reads."""
    names = ("client", "submit_kwargs", "retrieval_context")
    return all(hasattr(backend, name) for name in names)


def _by_joblib(
    n_jobs: int | None,
    task: Callable[[Any, Any], Result],
    parcel: Parcel,
    pieces: list[tuple[int, Any]],
) -> Iterator[tuple[int, Result]]:
    """Yield places and results from joblib's workers, or from this process if there is one job."""
    calls = (delayed(_run)(task, parcel, place, piece) for place, piece in pieces)
    at_once = getattr(_backend(), "supports_return_generator", True)
    kind = "generator_unordered" if at_once else "list"  # multiprocessing
    return iter(Parallel(n_jobs=n_jobs, prefer="threads", return_as=kind)(calls))


def _by_dask(
    backend: Any,
    n_workers: int,
    task: Callable[[Any, Any], Result],
    parcel: Parcel,
    pieces: list[tuple[int, Any]],
) -> Iterator[tuple[int, Result]]:
    """Yield places and results from dask's workers.

    All workers get the parcel first, because dask sends a task to a worker that has its data. With
    one task for each worker the parcel is sent with the task, which costs less, and as bytes,
    because the scheduler opens what tasks bring.
    """
    from dask.distributed import as_completed

    client = backend.client
    if len(pieces) <= n_workers:
        sent: Any = parcel.token, parcel.payload
    else:
        sent = client.scatter(parcel, broadcast=True, hash=False)
    options = {"pure": False, **backend.submit_kwargs}
    futures = [client.submit(_run, task, sent, place, piece, **options) for place, piece in pieces]
    with backend.retrieval_context():  # a task that waits for others gives up its slot
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
