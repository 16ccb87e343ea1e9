"""Compiling: caches that fail or are stale, and Numba without its private names."""

import importlib.util
import shutil
import subprocess
import sys
from types import SimpleNamespace

import numba
import pytest
from numba import njit, types

from svmproba.solvers.core import compiled


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Load a module with a compiled function anew, as another process would."""
    monkeypatch.setattr(compiled, "_warned", [])
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")  # beside the module
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


def test_a_change_in_another_file_makes_the_cache_stale(load, monkeypatch, tmp_path):
    """Files of the function's folder and of all solvers, in whatever folder."""
    solvers = tmp_path / "solvers"
    (solvers / "core").mkdir(parents=True)
    monkeypatch.setattr(compiled, "_SOLVERS", solvers)
    assert load().double(1.5) == 3.0
    for path in (solvers / "core" / "rows.py", tmp_path / "other.py"):
        compiled._digest.cache_clear()
        again = load()
        assert again.double(1.5) == 3.0
        assert hits(again) == 1
        path.write_text("changed = True")
        compiled._digest.cache_clear()
        changed = load()
        assert changed.double(1.5) == 3.0
        assert hits(changed) == 0


@pytest.mark.parametrize(
    "function",
    [
        SimpleNamespace(),
        SimpleNamespace(_cache=SimpleNamespace()),
        SimpleNamespace(_cache=SimpleNamespace(_cache_file=SimpleNamespace())),
    ],
)
def test_a_cache_without_the_private_names_is_left_alone(function, tmp_path):
    compiled._guard_cache(function, tmp_path)
    if hasattr(function, "_cache"):
        assert not hasattr(getattr(function._cache, "_cache_file", None), "_source_stamp")


WITHOUT_FLAGS = """
import numba, numba.core.options
del numba.core.options.DefaultOptions
import numpy as np
from svmproba.solvers.core import compiled
from svmproba.solvers.problem import certify

assert compiled.JIT == compiled._FLAGS
gap, scores = certify(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2),
    np.ones((1, 2)), np.ones(1), np.ones((1, 1, 1)), np.zeros((1, 1)), np.full((1, 1, 2), 0.5))
assert gap.max() < 1e-12 and scores.tolist() == [[[-1.0, 1.0]]]
"""


def test_flags_that_numba_does_not_know_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    subprocess.run([sys.executable, "-c", WITHOUT_FLAGS], check=True)


def apply_twice(x, function, y):
    return function(function(x)) + y


class Dispatcher:
    """A compiled function without `disable_compile`."""

    def __init__(self, function):
        self._function, self.signatures = njit(function), []

    def __call__(self, *args):
        return self._function(*args)


@pytest.mark.parametrize("make", [njit, Dispatcher])
def test_a_function_is_called_by_another(make):
    function, argument = make(apply_twice), njit(lambda x: 3.0 * x)
    for x in (1.0, 2.0):
        assert compiled.call_with(function, argument, (types.float64,), x, 0.5) == 9.0 * x + 0.5
    assert len(argument.signatures) == 1


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_where_no_folder_can_be_written_one_warning_names_the_remedy(load, monkeypatch):
    def refuse(cache=False, **flags):
        if cache:  # as Numba does
            raise RuntimeError("cannot cache function 'double': no locator available")
        return njit(**flags)

    monkeypatch.setattr(compiled, "njit", refuse)
    module = load()
    with pytest.warns(RuntimeWarning, match=r"neither the folder .* NUMBA_CACHE_DIR .* warmup"):
        assert module.double(1.5) == 3.0
    assert module.double(2) == 4.0  # another type; a second warning would be an error
    assert module.triple(1.5) == 4.5
    assert module.double.stats.cache_path is None
    assert compiled.compiled_functions()[-2:] == [module.double, module.triple]
