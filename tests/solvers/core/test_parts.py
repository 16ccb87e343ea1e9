"""Functions that are compiled as parts of their callers."""

import gc
import operator
import sys

import numba
import numpy as np
import pytest
from numba import njit, types
from numba.core.typing import Context

from svmproba.solvers.core import compiled, parts


def chain(jit, entry):
    """Return a compiled function, and those that it calls: two steps down, one of them twice."""

    @njit(**jit)
    def lowest(x):
        return x * x

    @njit(**jit)
    def middle(x):
        return lowest(x) + 1.0

    @entry
    def highest(x):
        return middle(x[0]) + lowest(x[1]) + np.sin(x[0])

    return highest, middle, lowest


def library(function):
    (result,) = function.overloads.values()
    return result.library


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))


EXPECTED = 4.0 + 1.0 + 9.0 + np.sin(2.0)


@pytest.mark.skipif(numba.version_info < (0, 63), reason="this Numba lacks one of parts.NAMES")
def test_only_whole_functions_become_machine_code():
    highest, *inner = chain(compiled.JIT, compiled.lean_entry)
    assert highest(np.array([2.0, 3.0])) == EXPECTED
    assert isinstance(library(highest), parts.Whole)
    for function in inner:
        part = library(function)
        assert isinstance(part, parts.Part)
        names = [f.name for f in part._final_module.functions if not f.is_declaration]
        assert names
        assert not any(map(part.get_pointer_to_function, names))


def test_a_part_may_be_in_several_functions_also_in_those_compiled_by_numba_alone():
    highest, middle, _ = chain(compiled.JIT, compiled.lean_entry)
    other, usual = compiled.lean_entry(lambda x: middle(x) - 1.0), njit(lambda x: middle(x) + 2.0)
    for x in (2.0, 5.0):
        assert highest(np.array([x, 3.0])) == x * x + 10.0 + np.sin(x)
        assert other(x) == x * x
        assert usual(x) == x * x + 3.0


@pytest.mark.parametrize("turned", [False, True])
def test_a_call_that_never_happens_hides_no_other(turned):
    """LLVM removes the first call of `lowest`, and leaves out functions that nothing calls."""

    @njit(**compiled.JIT)
    def lowest(x):
        return x * x

    @njit(**compiled.JIT)
    def without(x):
        limit = np.inf
        return lowest(x) if x > limit else x

    @njit(**compiled.JIT)
    def middle(x):
        s = 0.0
        for k in range(int(x)):
            s += lowest(x + k)
        return s

    one, other = (middle, without) if turned else (without, middle)
    assert compiled.lean_entry(lambda x: one(x) + other(x))(2.0) == 2.0 + 4.0 + 9.0


def test_without_a_name_of_numbas_everything_is_compiled_in_its_own_way(monkeypatch):
    monkeypatch.setattr(parts, "NAMES", [*parts.NAMES, "a_name_that_numba_lacks"])
    highest, middle, lowest = chain(compiled.JIT, compiled.lean_entry)
    assert highest(np.array([2.0, 3.0])) == EXPECTED
    for function in (highest, middle, lowest):
        assert not isinstance(library(function), parts.Whole | parts.Part)


def test_without_the_module_everything_is_compiled_in_numbas_own_way(monkeypatch):
    assert compiled._compiler() == {"pipeline_class": parts.Compiler}
    monkeypatch.setitem(sys.modules, "svmproba.solvers.core.parts", None)
    assert compiled._compiler() == {}


def test_types_of_operators_are_looked_up_once():
    context, asked = Context(), []

    class Counting(Context):
        def resolve_function_type(self, func, args, kws):
            asked.append((func, args))
            return super().resolve_function_type(func, args, kws)

    context.refresh()
    context.__class__ = Counting
    finder = parts.remembering(context)
    for x, y in ((types.float64, types.int64), (types.int64, types.float64)) * 3:
        assert finder.resolve_function_type(operator.add, (x, y), {}).return_type == types.float64
    assert len(asked) == 2
    text = (types.unicode_type, types.unicode_type)  # not numbers: Numba is asked every time
    for _ in range(2):
        finder.resolve_function_type(operator.add, text, {})
    assert len(asked) == 4


def test_a_finder_of_types_without_numbas_name_is_left_alone():
    other = object()
    assert parts.remembering(other) is other


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_collected_after_a_compilation_as_before(enabled):
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        assert chain(compiled.JIT, compiled.lean_entry)[0](np.array([2.0, 3.0])) == EXPECTED
        with pytest.raises(numba.TypingError):
            compiled.lean_entry(lambda x: x.missing)(1.0)
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
