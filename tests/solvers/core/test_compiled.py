"""Compiling: what the process around it notices."""

import gc
import importlib.util
import os
import shutil
import signal
import threading

import numpy as np
import pytest
from numba import njit
from numba.core import errors, event

from svmproba.solvers import ensemble
from svmproba.solvers.core import compiled

ONE = np.ones(1)


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
    assert not compile_in("svmproba.solvers.newton.path", lambda x: x + 1.0)
    assert gc.isenabled()
    assert compile_in("svmprobably.another", lambda x: x + 1.0)
    assert gc.isenabled()


def test_garbage_is_collected_again_after_an_error():
    with pytest.raises(errors.TypingError):
        compile_in("svmproba.solvers.newton.path", lambda x: x.nothing)
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    assert not compile_in("svmproba.solvers.newton.path", lambda x: x + 1.0)
    assert not gc.isenabled()


def test_garbage_is_collected_again_after_ctrl_c(monkeypatch):
    """Wherever the signal arrives, here just after the collector was paused."""
    disable = gc.disable

    def interrupted():
        disable()
        raise KeyboardInterrupt

    monkeypatch.setattr(gc, "disable", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compile_in("svmproba.solvers.newton.path", lambda x: x + 1.0)
    assert gc.isenabled()
    monkeypatch.undo()
    assert not compile_in("svmproba.solvers.newton.path", lambda x: x + 1.0)
    assert gc.isenabled()


@pytest.fixture
def heard():
    """Let Ctrl-C be heard: it is ignored where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_garbage_is_collected_while_an_abandoned_thread_compiles(monkeypatch, heard):
    """A fit that hears Ctrl-C leaves its thread behind, which the compiler does not let go."""
    seen, release = [], threading.Event()
    data = {"dispatcher": njit(ensemble.solve_block)}

    def compiling(*args):
        with event.trigger_event("numba:compile", data=data):
            seen.append(gc.isenabled())
            os.kill(os.getpid(), signal.SIGINT)
            release.wait(60)
            with event.trigger_event("numba:compile", data={**data}):
                seen.append(gc.isenabled())

    monkeypatch.setattr(ensemble, "solve_block", compiling)
    with pytest.raises(KeyboardInterrupt):
        ensemble.fit_ensemble(
            np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones((1, 2)), ONE
        )
    assert gc.isenabled()
    release.set()
    for thread in threading.enumerate():
        if thread.name.startswith("ThreadPoolExecutor"):
            thread.join(60)
    assert seen == [False, True]
    assert gc.isenabled()


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Load a module with a compiled function anew, as another process would."""
    monkeypatch.setattr(compiled, "_warned", [])
    path = tmp_path / "twice.py"
    path.write_text(
        "from svmproba.solvers.core.compiled import entry\n\n"
        "@entry\ndef double(x):\n    return 2.0 * x\n\n"
        "@entry\ndef triple(x):\n    return 3.0 * x\n"
    )

    def new():
        spec = importlib.util.spec_from_file_location("twice", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return new


def hits(module):
    return sum(module.double.stats.cache_hits.values())


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_damaged_cache_is_compiled_anew(load, tmp_path, ending, damage):
    assert load().double(1.5) == 3.0
    again = load()
    assert again.double(1.5) == 3.0
    assert hits(again) == 1
    for path in (tmp_path / "__pycache__").glob(f"*.{ending}"):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if damage is None else damage)
    with pytest.warns(RuntimeWarning, match=r"compiled anew.*NUMBA_CACHE_DIR.*delete the folder"):
        assert load().double(1.5) == 3.0
    mended = load()
    assert mended.double(1.5) == 3.0
    assert hits(mended) == 1


def check_one_warning(module):
    with pytest.warns(RuntimeWarning, match="free some space or set .* NUMBA_CACHE_DIR"):
        assert module.double(1.5) == 3.0
    assert module.triple(1.5) == 4.5  # a second warning would be an error


def test_no_cache_on_a_full_disk(load):
    resource = pytest.importorskip("resource")
    module, limits = load(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, limits[1]))
    try:
        check_one_warning(module)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_no_cache_where_its_folder_cannot_be_made(load, tmp_path):
    module = load()
    shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    (tmp_path / "__pycache__").write_text("no folder")
    check_one_warning(module)


def test_a_deleted_cache_folder_is_made_again(load, tmp_path):
    module = load()
    shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    assert module.double(1.5) == 3.0
    again = load()
    assert again.double(1.5) == 3.0
    assert hits(again) == 1
