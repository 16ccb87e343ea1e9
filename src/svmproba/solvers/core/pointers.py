"""Call one compiled function from another by its address."""

from __future__ import annotations

from threading import Lock
from typing import Any

from numba import typeof, types

_LOCK = Lock()


def call_with(function: Any, argument: Any, examples: tuple[Any, ...], *args: Any) -> Any:
    """Call ``function(args[0], argument, *args[1:])``, where both functions are compiled.

    Numba compiles a function once more into each that calls it, and into all that call these. A
    function that is an argument of known type is called by its address instead.

    Parameters
    ----------
    function, argument : compiled functions
        Both are compiled for the types of the first call, and for no others.
    examples : tuple
        Arguments of ``argument``, of the types it is called with.
    *args
        Arguments of ``function``, the other function left out.
    """
    with _LOCK:
        if not function.signatures:
            if not argument.signatures:
                argument.compile(tuple(typeof(x) for x in examples))
            inner = next(iter(argument.overloads.values())).signature
            kinds = [typeof(x) for x in args]
            kinds.insert(1, types.FunctionType(inner.return_type(*inner.args)))
            function.compile(tuple(kinds))
            function.disable_compile()
    return function(args[0], argument, *args[1:])
