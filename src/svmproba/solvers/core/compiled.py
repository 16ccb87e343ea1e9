"""How functions are compiled: flags, the cache, and what keeps the first fit from waiting long."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.event import Event, Listener, register
from numba.core.options import DefaultOptions

_FLAGS = {
    "nogil": True,
    "error_model": "numpy",
    # Sums may be reordered, so that they vectorise; infinities keep their meaning (bounds!).
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
}
#: Flags of functions that make no arrays. Without this, every view of a row counts a reference to
#: its array, in a locked instruction: a fifth of the time of the Newton steps.
_LEAN = {**_FLAGS, **({"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {})}
#: Flags of the implementations of a name for compiled code only, see
#: :mod:`~svmproba.solvers.core.rows`.
OVERLOAD = _LEAN
#: Flags of functions that compiled code calls. No wrappers: half the compile time.
JIT = {**_LEAN, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
#: Flags of functions with one caller: put in their place, they are not compiled on their own. Large
#: ones that call others gain nothing.
ONCE = {**JIT, "inline": "always"}


_warned: list[str] = []


class _NoCollection(Listener):
    """Pauses the garbage collector while our functions are compiled: a tenth of the time.

    The compiler makes millions of objects that stay until it is done.
    """

    running: Any = None  #: data of the event that paused it

    def on_start(self, event: Event) -> None:
        function = getattr((event.data or {}).get("dispatcher"), "py_func", None)
        ours = str(getattr(function, "__module__", "")).startswith("svmproba.")
        if self.running is None and ours and gc.isenabled():
            # In this order, Ctrl-C between the lines leaves nothing paused.
            self.running = event.data
            gc.disable()

    def on_end(self, event: Event) -> None:
        if self.running is not None and event.data is self.running:
            gc.enable()
            self.running = None


_no_collection = _NoCollection()
register("numba:compile", _no_collection)


def collect_again() -> None:
    """Collect garbage again, though a thread that nobody waits for still compiles."""
    if _no_collection.running is not None:
        gc.enable()


class _OptionalCache:
    """Numba's cache of a function; where it fails, the function is compiled without it."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, *args: Any) -> Any:
        try:
            return self._cache.load_overload(*args)
        except Exception as error:  # a damaged file: unpickling it may raise anything
            _warn_of_cache(str(self._cache.cache_path), repr(error))
            with suppress(Exception):
                self._cache.flush()  # so that the next process finds a sound one
            return None

    def save_overload(self, *args: Any) -> None:
        try:
            self._cache.save_overload(*args)
        except Exception as error:
            _warn_of_cache(str(self._cache.cache_path), repr(error))


def _warn_of_cache(folder: str, error: str) -> None:
    """Warn once in a process."""
    if not _warned:
        _warned.append(folder)
        warnings.warn(
            f"Compiled functions could not be kept in {folder} or read from there ({error}). They "
            f"are compiled anew, which takes some seconds in each process. If the folder is full "
            f"or cannot be written, free some space or set the environment variable "
            f"NUMBA_CACHE_DIR to another folder; if a file in it is damaged, delete the folder.",
            RuntimeWarning,
            stacklevel=2,
        )


@lru_cache
def _digest(folder: Path) -> str:
    """Return a digest of a folder: compiled code is stale when any part of it changed."""
    digest = sha256()
    for source in sorted(folder.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def entry(function: Callable[..., Any], flags: dict[str, Any] = _FLAGS) -> Callable[..., Any]:
    """Compile a function that Python calls, once per machine where a cache can be written."""
    try:
        compiled = njit(**flags, cache=True)(function)
    except RuntimeError:  # neither beside the package nor in the user's cache folder
        return njit(**flags)(function)
    # Numba watches the file of the function alone, not those of the functions it calls.
    cache_file: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(cache_file, "_source_stamp"):
        cache_file._source_stamp = _digest(Path(function.__code__.co_filename).parent)
    if hasattr(compiled, "_cache"):
        compiled._cache = _OptionalCache(compiled._cache)
    return compiled


def lean_entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that Python calls and that makes no arrays."""
    return entry(function, _LEAN)
