"""What a release needs: one version, one owner, packages and workflows as they should be."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import svmproba

ROOT = Path(__file__).resolve().parents[1]
FORGE = ROOT / ".github"
WORKFLOWS = sorted((FORGE / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

needs_forge = pytest.mark.skipif(not FORGE.is_dir(), reason="an sdist has no workflows")


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_one_version():
    found = tool("release_notes").versions()
    assert set(found.values()) == {svmproba.__version__}
    assert tool("check_dist").version() == svmproba.__version__


def test_notes_of_a_release():
    notes = tool("release_notes").notes
    changelog = (
        "# Changelog\n\n## 1.1.0 - 2027-01-31\n\n### Added\n\n- x\n\n## 1.0.0 - 2026-12-24\n- y"
    )
    assert notes(changelog, "1.1.0") == "### Added\n\n- x"
    assert notes(changelog.split("\n## 1.0.0")[0], "1.1.0") == "### Added\n\n- x"
    for wrong in ("1.0.0", "1.2.0"):
        with pytest.raises(SystemExit, match="must begin with '## 1"):
            notes(changelog, wrong)
    with pytest.raises(SystemExit, match="it has '## Unreleased'"):
        notes("## Unreleased\n\n- x", "1.0")
    with pytest.raises(SystemExit, match=r"it has '## 1\.0'"):
        notes("## 1.0\n\nno date", "1.0")


def test_the_owner_is_named_in_one_file():
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    (owner,) = set(re.findall(r"github\.com/([^/]+)/svmproba", "\n".join(PROJECT["urls"].values())))
    listed = subprocess.run([git, "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    naming = [
        name
        for name in listed.stdout.splitlines()
        if (ROOT / name).is_file() and f"{owner}/svmproba".encode() in (ROOT / name).read_bytes()
    ]
    assert naming == ["pyproject.toml"]


def test_extras():
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    named = set(re.findall(r"\w+", everything)) - {"svmproba"}
    # Torch has to fit the GPU; the others are for developers.
    assert named == set(extras) - {"all", "gpu", "test", "docs", "bench", "release"}


def test_the_least_versions_that_are_tested_are_those_declared():
    """Of what users install: the tools of the tests may be newer."""
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    needed = PROJECT["dependencies"] + [
        line for name in re.findall(r"\w+", everything)[1:] for line in extras[name]
    ]
    declared = dict(re.fullmatch(r"([\w-]+)(?:\[.+\])?>=(.+)", line).groups() for line in needed)
    listed = (ROOT / "constraints" / "oldest.txt").read_text(encoding="utf-8")
    tested = dict(re.findall(r"^([\w-]+)==(.+)$", listed, re.MULTILINE))

    def numbers(version):
        return [int(part) for part in (version + ".0.0").split(".")[:3]]

    assert {name: numbers(tested[name]) for name in declared} == {
        name: numbers(version) for name, version in declared.items()
    }


def test_the_conda_recipe_needs_what_the_package_needs():
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = recipe.split("  run:\n")[1].split("\n\n")[0]
    needed = [re.sub(r" (?=>)", "", line.strip(" -")) for line in run.splitlines()][1:]
    assert needed == PROJECT["dependencies"]
    python = re.findall(r'python_min: "(.+)"', recipe)
    assert [f">={version}" for version in python] == [PROJECT["requires-python"]]


def test_files_that_a_wheel_lacks_or_has_without_need(tmp_path):
    wrong_members = tool("check_dist").wrong_members
    wheel = tmp_path / "svmproba.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tests/test_x.py", "")
        archive.write(ROOT / "src" / "svmproba" / "py.typed", "svmproba/py.typed")
    wrong = wrong_members(wheel)
    assert "tests/test_x.py does not belong there" in wrong
    assert "svmproba/evaluation/report/templates/report.html is missing" in wrong
    assert not any("py.typed" in line for line in wrong)


@needs_forge
@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_tokens_read_only(workflow):
    text = workflow.read_text(encoding="utf-8")
    for action in re.findall(r"uses: (?!\./)(.+)", text):
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action
    assert "\npermissions:\n  contents: read\n" in text
    assert text.count("persist-credentials: false") == text.count("uses: actions/checkout@")
    assert "secrets." not in text
    assert "pull_request_target" not in text


@needs_forge
def test_workflows_run_commands_that_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for workflow in WORKFLOWS:
        text = workflow.read_text(encoding="utf-8")
        assert set(re.findall(r"run: make ([a-z-]+)", text)) <= targets
        for script in re.findall(r"python (\S+\.py)", text):
            assert (ROOT / script).is_file()


@needs_forge
@pytest.mark.parametrize(
    "command", [["zizmor", "--offline", "--no-progress"], ["actionlint"]], ids=lambda c: c[0]
)
def test_linters_find_nothing(command):
    beside = str(Path(sys.executable).parent)  # in the environment of the tests
    program = shutil.which(command[0], path=beside) or shutil.which(command[0])
    if program is None:
        pytest.skip(f"no {command[0]}")
    inputs = [FORGE] if command[0] == "zizmor" else WORKFLOWS
    done = subprocess.run([program, *command[1:], *inputs], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
