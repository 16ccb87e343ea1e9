"""The mutation run (tools/mutate.py): its mutants are programs, and its list is up to date."""

from __future__ import annotations

import ast
import importlib.util
import signal
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "tools" / "mutate.py"


@pytest.fixture(scope="module")
def mutate():
    spec = importlib.util.spec_from_file_location("mutate", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutate"] = module
    yield spec.loader.exec_module(module) or module
    del sys.modules["mutate"]


def test_allowed_mutants_are_still_there(mutate):
    allowed = mutate.read_allowed()
    mutants = {file: mutate.mutants_of(file) for file in {one.file for one in allowed}}
    for one in allowed:
        assert any(one.covers(mutant) for mutant in mutants[one.file]), one


def test_one_change_of_a_line_can_be_allowed_alone(mutate):
    file, line = "bootstrap/summaries/profile.py", "if place < 0 or place + 1 >= len(near):"
    of_line, one = mutate.Allowed(file, line), mutate.Allowed(file, line, text="(place <= 0)")
    mutants = [mutant for mutant in mutate.mutants_of(file) if of_line.covers(mutant)]
    assert len(mutants) > 4
    assert [mutant.text for mutant in mutants if one.covers(mutant)] == ["(place <= 0)"]


def test_processes_are_started_last(mutate):
    *_, tests = mutate.stages_of("cli/output/picture.py")
    starts = ["subprocess" in (mutate.ROOT / test).read_text("utf-8") for test in tests]
    assert sorted(starts) == starts
    assert set(starts) == {False, True}


def test_what_names_the_module_comes_after_its_own_tests(mutate):
    own, named, others = mutate.stages_of("links/_stack.py")
    assert own == ["tests/links/test_stack.py", "src/svmproba/links/_stack.py"]
    assert "tests/links/test_super_learner.py" in named
    assert "tests/links/test_beta.py" in others


def test_what_is_compiled_anew(mutate):
    assert mutate.dependents_of("selection/_lines.py") == {"selection/_lines.py"}
    of_paths = mutate.dependents_of("solvers/newton/directions.py")
    assert {"solvers/newton/lagrangian.py", "solvers/newton/path.py"} < of_paths
    assert "solvers/dual/smo.py" not in of_paths
    assert "solvers/newton/path.py" in mutate.dependents_of("solvers/core/parts.py")


def test_a_module_of_a_folder_is_tried_with_all_tests_of_its_room(mutate):
    assert mutate.room_of("_files.py") == ""
    assert mutate.room_of("links/_beta.py") == "links"
    assert mutate.room_of("solvers/newton/path.py") == "solvers"
    own, *others = mutate.stages_of("solvers/newton/path.py")
    assert own[0] == "tests/solvers/newton/test_path.py"
    tests = {test for stage in others for test in stage}
    assert {"tests/solvers/test_ensemble.py", "tests/solvers/dual/test_smo.py"} < tests
    drawn = mutate.draw(30, ["solvers/newton", "links"], seed=1)
    assert {mutant.file.split("/")[0] for mutant in drawn} == {"solvers", "links"}
    assert all(mutant.file.startswith(("solvers/newton/", "links/")) for mutant in drawn)


def test_all_places_of_tests_exist(mutate):
    for file in mutate.TESTS:
        assert (mutate.ROOT / mutate.PACKAGE / file).exists()
        assert all((mutate.ROOT / place).exists() for place in mutate.TESTS[file])
    for room in (path.name for path in (mutate.ROOT / mutate.PACKAGE).iterdir() if path.is_dir()):
        if room != "__pycache__":
            assert sum(map(len, mutate.stages_of(f"{room}/__init__.py"))) > 2
    assert all((mutate.ROOT / test).exists() for test in mutate.UNCOMPILED.values())


@pytest.mark.parametrize(
    "file", ["bootstrap/fitting/bags.py", "links/_super_learner.py", "solvers/newton/path.py"]
)
def test_every_mutant_is_another_program(mutate, file):
    source = (mutate.ROOT / mutate.PACKAGE / file).read_bytes()
    before = ast.dump(ast.parse(source))
    mutants = mutate.mutants_of(file)
    assert len(mutants) > 10
    for mutant in mutants:
        assert ast.dump(ast.parse(mutant.apply(source))) != before, mutant


def test_looks_of_figures_are_left_alone(mutate):
    source = "def f(ax):\n    ax.plot(1, lw=2)\n    ax.margins(y=3)\n    ax.grid(4)\n"
    nodes = list(mutate.visit(ast.parse(source)))
    numbers = [node.value for node in nodes if isinstance(node, ast.Constant)]
    assert numbers == [1, 4]
    deleted = [ast.unparse(node) for node in nodes if isinstance(node, ast.Expr)]
    assert deleted == ["ax.plot(1, lw=2)", "ax.grid(4)"]


def test_functions_are_changed_and_variables_are_not(mutate):
    nodes = mutate.visit(ast.parse("def f(floor):\n    return min(floor, np.floor(x.max()))\n"))
    changed = [text for node in nodes for kind, text in mutate.changes(node) if kind == "function"]
    assert changed == ["max", "np.ceil", "x.min"]


def test_tolerances_are_left_alone(mutate):
    values = [0.0, 1e-9, -1e-6, 1e-5, 0.5, 1e5, 1e30]
    assert [x for x in values if mutate.is_magnitude(x)] == [1e-9, -1e-6, 1e30]
    assert list(mutate.changes(ast.Constant(1e-9))) == []
    assert list(mutate.changes(ast.Constant(0.5))) == [("number", "1.0")]
    assert list(mutate.changes(ast.parse("x < -1e-9", mode="eval").body)) == []
    assert list(mutate.changes(ast.parse("x < 0.5", mode="eval").body)) == [
        ("comparison", "(x <= 0.5)")
    ]


def test_the_draw_is_spread_and_does_not_depend_on_the_list(mutate, monkeypatch):
    drawn = mutate.draw(20, ["links"], seed=5)
    assert len({mutant.file for mutant in drawn}) > 10
    assert mutate.draw(20, ["links"], seed=5) == drawn
    other = mutate.Allowed(drawn[3].file, _line(mutate, drawn[3]), drawn[3].kind)
    monkeypatch.setattr(mutate, "read_allowed", lambda: [other])
    assert set(drawn) - set(mutate.draw(20, ["links"], seed=5)) == {
        mutant for mutant in drawn if other.covers(mutant)
    }


def _line(mutate, mutant):
    lines = (mutate.ROOT / mutate.PACKAGE / mutant.file).read_text("utf-8").splitlines()
    return lines[mutant.line - 1].strip()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # the threads of BLAS
@pytest.mark.parametrize(
    ("test", "outcome"),
    [
        ("assert True", "passed"),
        ("assert 0", "failed"),
        ("while True: pass", "timeout"),
        ("import signal as s; assert s.getsignal(s.SIGINT) is s.default_int_handler", "passed"),
    ],
)
def test_what_kills_a_mutant(mutate, tmp_path, monkeypatch, test, outcome):
    """In a small repository of its own."""
    package = tmp_path / "small" / mutate.PACKAGE / "room"
    package.mkdir(parents=True)
    (package / "one.py").write_text("def half(x):\n    return x / 2\n")
    tests = tmp_path / "small" / "tests" / "room"
    tests.mkdir(parents=True)
    (tests / "test_one.py").write_text(f"def test_half():\n    {test}\n")
    monkeypatch.setattr(mutate, "ROOT", tmp_path / "small")
    (tmp_path / "work").mkdir()
    workshop = mutate.Workshop(tmp_path / "work", limit=3.0 if outcome == "timeout" else 60.0)
    mutant = mutate.mutants_of("room/one.py")[0]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in the background
    try:
        assert workshop.try_out(mutant) == outcome
    finally:
        signal.signal(signal.SIGINT, before)
    mutated = tmp_path / "work" / "repository" / mutate.PACKAGE / "room" / "one.py"
    assert mutated.read_text() == (package / "one.py").read_text()
    workshop.log.write_text("1 passed\n")
    assert workshop.killer() == ""
    workshop.log.write_text(
        "SKIPPED x\nFAILED tests/room/test_one.py::test_half - assert 0\n1 failed"
    )
    assert workshop.killer() == "tests/room/test_one.py::test_half"
