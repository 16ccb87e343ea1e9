"""Imports between the rooms go one way, as the table in CONTRIBUTING.md says."""

import ast
import re
from pathlib import Path

import pytest

import svmproba
from svmproba import estimators, persistence, selection

PACKAGE = Path(svmproba.__file__).parent
CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"
ROW = re.compile(r"^\| `(\w+)/` \| .* \| (.*) \|$", re.MULTILINE)
TABLE = dict(ROW.findall(CONTRIBUTING.read_text(encoding="utf-8")))
ROOMS = [path.parent.name for path in PACKAGE.glob("*/__init__.py")]
#: Modules beside the rooms, which all may import.
OPEN = {path.stem for path in PACKAGE.glob("_[a-z]*.py")}


def room_of(name):
    """Room of a dotted name: ``svmproba.links._platt`` and ``svmproba.EBB``."""
    first = name.split(".")[1]
    for home in (estimators, persistence, selection):
        if hasattr(home, first) and first in svmproba.__all__:
            return home.__name__.split(".")[1]
    return first


def imports(source):
    """Dotted names of this package that a source imports, at any depth."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "svmproba")


def rooms_imported_by(path):
    names = list(imports(path.read_text(encoding="utf-8")))
    assert "svmproba" not in names, f"{path} imports all rooms: name the one it needs"
    return {room_of(name) for name in names} - {"__version__"}


def test_the_sources_are_read_at_any_depth():
    source = "import svmproba.links\ndef f():\n    if x:\n        from svmproba.cli import main\n"
    assert list(imports(source)) == ["svmproba.links", "svmproba.cli.main"]
    assert room_of("svmproba.EBB") == "estimators"
    assert room_of("svmproba.save") == "persistence"
    assert room_of("svmproba.RateFeatureSelector") == "selection"
    assert room_of("svmproba.evaluation.mse") == "evaluation"


def test_the_table_has_every_room():
    assert sorted(TABLE) == sorted(ROOMS)


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "cli"])
def test_a_room_imports_what_the_table_allows(room):
    allowed = {room, *OPEN, *re.findall(r"`(\w+)`", TABLE[room])}
    order = list(TABLE)
    assert all(order.index(other) < order.index(room) for other in allowed & {*ROOMS} - {room})
    for path in (PACKAGE / room).rglob("*.py"):
        assert rooms_imported_by(path) <= allowed, path


def test_only_reproduce_imports_the_paper():
    importing = {
        path.relative_to(PACKAGE / "cli").as_posix()
        for path in (PACKAGE / "cli").rglob("*.py")
        if "paper" in rooms_imported_by(path)
    }
    assert importing == {"commands/reproduce.py"}


@pytest.mark.parametrize("name", sorted(OPEN))
def test_what_is_open_to_all_imports_nothing_of_ours(name):
    assert rooms_imported_by(PACKAGE / f"{name}.py") == set()
