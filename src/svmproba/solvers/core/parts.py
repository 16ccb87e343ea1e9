"""Compile a function with all that it calls as one piece of code.

Numba optimises every function and makes machine code of it, with all that it calls, and then does
the same for its callers: a function four calls down is compiled five times, and what is kept in
the cache holds but one of them. Here functions that only compiled code calls stay in LLVM's
language until a function that Python calls is compiled. This saves 7 to 18 % of the compilation of
Newton steps and 24 % of that of constrained SVMs (docs/developers/solver.md).

All of this is private to Numba. Where a version lacks one of the names, `Compiler` does what
Numba's own does.
"""

from __future__ import annotations

import gc
import operator
from functools import lru_cache
from typing import Any

from llvmlite.binding import parse_assembly
from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

#: What the libraries of this module use of Numba's.
NAMES = [
    "_codegen", "_ensure_finalized", "_final_module", "_finalize_dynamic_globals", "_finalized",
    "_get_module_for_linking", "_linking_libraries", "_raise_if_finalized", "_reload_init",
    "enable_object_caching", "finalize", "get_pointer_to_function",
]  # fmt: skip


#: Functions of so many blocks are called. Copied into all their callers, they double the code.
_LARGE = 16
#: Operators whose types are looked up once, and the types of their arguments.
_OPERATORS = frozenset(x for x in vars(operator).values() if callable(x))
_PLAIN = (types.Number, types.Boolean, types.Literal, types.Array)


class Whole(JITCodeLibrary):
    """The code of a function that Python calls, with all its parts."""

    def finalize(self) -> None:
        """Make machine code."""
        parts, self._linking_libraries = _callees(self)
        for part in parts:
            self._reload_init.update(part._reload_init)
        _link(self._final_module, parts)
        super().finalize()


class Part(JITCodeLibrary):
    """The code of a function that only compiled code calls. There is no machine code of it."""

    _complete: Any = None

    def finalize(self) -> None:
        """Make the code ready for its callers."""
        self._raise_if_finalized()
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0, as for names that are not defined."""
        self._ensure_finalized()
        return 0

    def _get_module_for_linking(self) -> Any:
        """Return the code with all its parts, for a caller that Numba's own compiler compiles."""
        self._ensure_finalized()
        if self._complete is None:
            parts, others = _callees(self)
            self._complete = parse_assembly("")
            _link(self._complete, [self, *parts])
            for other in others:
                self._complete.link_in(other._get_module_for_linking(), preserve=True)
        return self._complete

    @property
    def codegen(self) -> Any:
        """Numba's maker of machine code, where this function's Python objects have no place."""
        return _WithoutObjects(self._codegen)


class _WithoutObjects:
    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: our compiled code uses no Python objects."""


def _link(module: Any, parts: list[Any]) -> None:
    """Copy parts into a module, where their functions become those that other code may have too.

    They are external until then: others are left out where nothing calls them so far. Internal ones
    must not be used: other code with the same function may call them, with other arguments.
    """
    for part in parts:
        module.link_in(part._final_module, preserve=True)
    names = {x.name for part in parts for x in part._final_module.functions if not x.is_declaration}
    for function in module.functions:
        if function.name in names:
            function.linkage = "linkonce_odr"
            if sum(1 for _ in function.blocks) >= _LARGE:
                function.add_function_attribute("noinline")


def _callees(library: Any) -> tuple[list[Any], list[Any]]:
    """List the parts that a library calls, directly or not, and the other libraries."""
    parts: dict[Any, None] = {}
    others: dict[Any, None] = {}
    left = list(library._linking_libraries)
    while left:
        callee = left.pop()
        if not isinstance(callee, Part):
            others[callee] = None
        elif callee not in parts:
            parts[callee] = None
            left.extend(callee._linking_libraries)
    return list(parts), list(others)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    """Numba's step to LLVM's language, into one of the libraries above."""

    _name = "lowering_into_parts"

    def run_pass(self, state: Any) -> bool:
        kind = Part if state.flags.no_cpython_wrapper and state.flags.no_cfunc_wrapper else Whole
        library = kind(state.targetctx.codegen(), state.func_id.func_qualname)
        if all(hasattr(library, name) for name in NAMES):
            library.enable_object_caching()
            state.library = library
        return bool(super().run_pass(state))


@lru_cache
def remembering(context: Any) -> Any:
    """Return Numba's finder of types, which looks up the type of an operator once.

    Numba asks every implementation of an operator that is registered, several times for each place
    where it stands in a function.
    """
    if not hasattr(context, "resolve_function_type") or not hasattr(context, "__dict__"):
        return context
    known: dict[Any, Any] = {}

    class Remembering(type(context)):  # type: ignore[misc]
        def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
            plain = getattr(func, "typing_key", func) in _OPERATORS and not kws
            if not plain or not all(isinstance(x, _PLAIN) for x in args):
                return context.resolve_function_type(func, args, kws)
            found = known.get((func, args))
            if found is None:
                found = known[func, args] = context.resolve_function_type(func, args, kws)
            return found

    finder = object.__new__(Remembering)
    finder.__dict__ = context.__dict__  # all else is Numba's
    return finder


class Compiler(CompilerBase):
    """Numba's compiler with the step and the finder above."""

    def __init__(self, typingctx: Any, *args: Any) -> None:
        super().__init__(remembering(typingctx), *args)

    def compile_extra(self, func: Any) -> Any:
        """Compile, without looking for garbage meanwhile: that takes a tenth of the time."""
        paused = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if paused:
                gc.enable()

    def define_pipelines(self) -> list[Any]:
        """Return the steps."""
        steps = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps.passes[:] = [
            (_Lowering if step is NativeLowering else step, name) for step, name in steps.passes
        ]
        steps.finalize()
        return [steps]
