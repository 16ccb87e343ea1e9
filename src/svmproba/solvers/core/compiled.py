"""How functions are compiled and cached.

Private names of Numba are used in this module and in :mod:`~svmproba.solvers.core.parts` alone;
:mod:`~svmproba.solvers.core.references` keeps to Numba's interface for extensions. Each private
name saves time, and each has a fallback for a version of Numba that lacks it:

================================  ===================================  ============================
name                              what it saves                        without it
================================  ===================================  ============================
flag ``_nrt``                     12 to 20 % of a fit                  references to arrays are
                                                                       counted
flags ``no_cpython_wrapper`` and  half of the compilation              functions that only compiled
``no_cfunc_wrapper``                                                   code calls get wrappers
``_cache`` of a function          an exception where the cache is      the exception
                                  full or damaged
``_source_stamp`` of a cache      stale code after a change in         Numba looks at the function's
                                  another file                         own file alone
``disable_compile``               9 of 29 s of the compilation of      shared functions are compiled
                                  constrained SVMs, see `call_with`    once for each caller
libraries of code, in `parts`     7 to 24 % of the compilation         every function is optimised
                                                                       once for each caller
finder of types, in `parts`       17 % of the compilation of           operators are looked up at
                                  exact paths                          every place
pause of `gc`, in `parts`         a tenth of the compilation           garbage is looked for
================================  ===================================  ============================
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, wraps
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

import numba.core.options
from numba import config, njit, typeof, types
from numba.extending import overload

_SOLVERS = Path(__file__).parents[1]
_LOCK = Lock()
_warned: list[str] = []
#: What chooses the bodies of generic functions, by their names.
_BODIES: dict[str, Callable[..., Any]] = {}
_entries: list[Any] = []


def _known(**flags: Any) -> dict[str, Any]:
    """Return the flags that this version of Numba has."""
    options = getattr(numba.core.options, "DefaultOptions", None)
    return {name: value for name, value in flags.items() if hasattr(options, name)}


def _compiler() -> dict[str, Any]:
    """Return the compiler of :mod:`~svmproba.solvers.core.parts`, where this Numba allows it."""
    try:
        from svmproba.solvers.core.parts import Compiler
    except (ImportError, AttributeError):
        return {}
    return {"pipeline_class": Compiler}


_FLAGS = {
    **_compiler(),
    "nogil": True,
    "error_model": "numpy",
    # Sums may be reordered, so that they vectorise; infinite bounds keep their meaning.
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
}
#: Flags of functions that make no arrays. Numba otherwise counts a reference to the array behind
#: every view of a row, in a locked instruction.
_LEAN = {**_FLAGS, **_known(_nrt=False)}
#: Flags of functions that only compiled code calls.
JIT = {**_LEAN, **_known(no_cpython_wrapper=True, no_cfunc_wrapper=True)}


class _OptionalCache:
    """Numba's cache of a function. Where it fails, the function is compiled without it."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, *args: Any) -> Any:
        try:
            return self._cache.load_overload(*args)
        except Exception as error:  # unpickling a damaged file may raise anything
            _warn_of_cache(str(self._cache.cache_path), repr(error))
            with suppress(Exception):
                self._cache.flush()  # the next process writes it anew
            return None

    def save_overload(self, *args: Any) -> None:
        try:
            self._cache.save_overload(*args)
        except Exception as error:
            _warn_of_cache(str(self._cache.cache_path), repr(error))


class _NoCache:
    """Stands for the cache where no folder can be written. Says so when a function is compiled."""

    cache_path = None

    def load_overload(self, *args: Any) -> None:
        """Find nothing."""

    def save_overload(self, *args: Any) -> None:
        _warn(
            "Compiled functions could not be kept: neither the folder of the package nor the "
            "user's cache folder can be written. They are compiled anew, which takes some seconds "
            "in each process. Set the environment variable NUMBA_CACHE_DIR to a folder that can "
            "be written, and run `svmproba warmup` once."
        )

    def flush(self) -> None:
        """Delete nothing."""


def _warn_of_cache(folder: str, error: str) -> None:
    _warn(
        f"Compiled functions could not be kept in {folder} or read from there ({error}). They "
        f"are compiled anew, which takes some seconds in each process. If the folder is full "
        f"or cannot be written, free some space or set the environment variable "
        f"NUMBA_CACHE_DIR to another folder; if a file in it is damaged, delete the folder."
    )


def _warn(text: str) -> None:
    """Warn once in a process."""
    if not _warned:
        _warned.append(text)
        warnings.warn(text, RuntimeWarning, stacklevel=3)


@lru_cache
def _digest(folder: Path) -> str:
    """Return a digest of the sources that compiled functions of a folder may call."""
    digest = sha256()
    for source in sorted({*_SOLVERS.rglob("*.py"), *folder.glob("*.py")}):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _guard_cache(compiled: Any, folder: Path) -> None:
    """Let the cache of a function follow changes in the files of its callees, and never fail."""
    cache = getattr(compiled, "_cache", None)
    if cache is None:
        return
    cache_file: Any = getattr(cache, "_cache_file", None)
    if hasattr(cache_file, "_source_stamp"):
        cache_file._source_stamp = _digest(folder)
    compiled._cache = _OptionalCache(cache)


def entry(function: Callable[..., Any], flags: dict[str, Any] = _FLAGS) -> Callable[..., Any]:
    """Compile a function that Python calls, once per machine where a cache can be written."""
    try:
        compiled = njit(**flags, cache=True)(function)
        _guard_cache(compiled, Path(function.__code__.co_filename).parent)
    except RuntimeError:  # neither beside the package nor in the user's cache folder
        compiled = njit(**flags)(function)
        if hasattr(compiled, "_cache"):
            compiled._cache = _NoCache()
    _entries.append(compiled)
    return compiled


def compiled_functions() -> list[Any]:
    """Return the functions that Python calls, compiled or not yet; their ``stats`` say which."""
    return [function for function in _entries if hasattr(function, "stats")]


def lean_entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that Python calls and that makes no arrays."""
    return entry(function, _LEAN)


def generic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a name that has a body for each kind of arguments; see `body_of`.

    Compiled code calls the body itself. Where nothing is compiled (``NUMBA_DISABLE_JIT=1``), it is
    chosen at every call.
    """
    if not config.DISABLE_JIT:
        return function

    @wraps(function)
    def call(*args: Any) -> Any:
        return _BODIES[function.__qualname__](*map(typeof, args))(*args)

    return call


def body_of(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Decorate what chooses the body of a generic function by the types of the arguments."""

    def register(choose: Any) -> Any:
        _BODIES[function.__qualname__] = choose
        return overload(function, jit_options=JIT)(choose)

    return register


def call_with(function: Any, argument: Any, kinds: tuple[Any, ...], *args: Any) -> Any:
    """Call ``function(args[0], argument, *args[1:])``, where both functions are compiled.

    Numba compiles a function once more into each of its callers, and into theirs. A function that
    is an argument of known type is called by its address instead. Both are compiled for the types
    of the first call and for no others; ``kinds`` are the types of the arguments of ``argument``.
    """
    with _LOCK:
        if hasattr(function, "disable_compile") and not function.signatures:
            if not argument.signatures:
                argument.compile(kinds)
            inner = next(iter(argument.overloads.values())).signature
            first, *others = map(typeof, args)
            address = types.FunctionType(inner.return_type(*inner.args))
            function.compile((first, address, *others))
            function.disable_compile()
    return function(args[0], argument, *args[1:])
