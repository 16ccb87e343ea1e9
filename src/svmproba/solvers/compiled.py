"""How functions are compiled: flags, the cache, and what keeps the first fit from waiting long."""

from __future__ import annotations

import gc
from collections.abc import Callable
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
#: Flags of the implementations of a name for compiled code only, see :mod:`~svmproba.solvers.rows`.
OVERLOAD = _LEAN
#: Flags of functions that compiled code calls. No wrappers: half the compile time.
JIT = {**_LEAN, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
#: Flags of functions with one caller: put in their place, they are not compiled on their own. Large
#: ones that call others gain nothing.
ONCE = {**JIT, "inline": "always"}


class _NoCollection(Listener):
    """Pauses the garbage collector while our functions are compiled: a tenth of the time.

    The compiler makes millions of objects that stay until it is done.
    """

    def __init__(self) -> None:
        self.depth, self.paused = 0, False  # the compiler runs in one thread at a time

    def on_start(self, event: Event) -> None:
        function = getattr((event.data or {}).get("dispatcher"), "py_func", None)
        ours = str(getattr(function, "__module__", "")).startswith("svmproba.")
        if self.depth == 0 and ours and gc.isenabled():
            gc.disable()
            self.paused = True
        self.depth += 1

    def on_end(self, event: Event) -> None:
        self.depth -= 1
        if self.depth == 0 and self.paused:
            gc.enable()
            self.paused = False


register("numba:compile", _NoCollection())


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
    return compiled


def lean_entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that Python calls and that makes no arrays."""
    return entry(function, _LEAN)
