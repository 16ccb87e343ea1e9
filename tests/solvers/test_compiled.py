"""Compiling: what the process around it notices."""

import gc

import pytest
from numba import njit
from numba.core import errors, event

import svmproba.solvers.compiled  # noqa: F401  registers what is tested here


@pytest.fixture(autouse=True)
def collecting():
    assert gc.isenabled()
    yield
    gc.enable()


def compile_in(module, function):
    """Compile a function of that module; returns whether garbage was collected meanwhile."""
    seen = []

    class Look(event.Listener):
        def on_start(self, event):
            seen.append(gc.isenabled())

        def on_end(self, event):
            pass

    function.__module__ = module
    with event.install_listener("numba:compile", Look()):
        njit(function)(1.0)
    return any(seen)


def test_no_garbage_is_collected_while_our_functions_are_compiled():
    assert not compile_in("svmproba.solvers.newton", lambda x: x + 1.0)
    assert gc.isenabled()
    assert compile_in("svmprobably.another", lambda x: x + 1.0)
    assert gc.isenabled()


def test_garbage_is_collected_again_after_an_error():
    with pytest.raises(errors.TypingError):
        compile_in("svmproba.solvers.newton", lambda x: x.nothing)
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    assert not compile_in("svmproba.solvers.newton", lambda x: x + 1.0)
    assert not gc.isenabled()
