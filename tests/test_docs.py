"""The guide: blocks and examples run, links lead somewhere, nothing is left out."""

import importlib
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
BUILT = {"_build", "auto_examples", "generated"}
PAGES = sorted(page for page in DOCS.rglob("*.md") if not BUILT & set(page.relative_to(DOCS).parts))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
#: Packages that a block may do without: then its page is skipped from there on.
OPTIONAL = {"dask", "distributed", "jinja2", "mapie", "mlflow", "onnx", "onnxruntime", "pyscipopt"}
OPTIONAL |= {"skops", "torch"}
#: A block, and the output that the page shows right after it.
PYTHON = re.compile(r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?", re.DOTALL)
NUMBER = re.compile(r"\d+(?:\.\d+)?")
SHELL = re.compile(r"```shell\n(.*?)```", re.DOTALL)
TOCTREE = re.compile(r"```\{toctree\}\n(.*?)```", re.DOTALL)
#: Links to files; those of a README to actions/ and security/ lead to pages of the code forge.
LINK = re.compile(r"\]\((?!https?:|(?:\.\./){2}(?:actions|security)/)([^)#\s]*)(?:#([^)]+))?\)")


def code_of(page):
    """Blocks of a page with what they print, or the whole of an example."""
    text = page.read_text(encoding="utf-8")
    return PYTHON.findall(text) if page.suffix == ".md" else [(text, "")]


def assert_printed(shown, printed):
    """The words are the same, and the numbers nearly: they vary a little among machines."""
    assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", shown).split(), printed
    found, expected = ([float(x) for x in NUMBER.findall(text)] for text in (printed, shown))
    assert found == pytest.approx(expected, rel=0.01, abs=0.002), printed


def require_data(code, monkeypatch):
    """Skip where a data set that the code loads is neither in a folder nor in the cache."""
    from svmproba.paper.data.datasets import load_dataset

    beside = ROOT.parent / "shared" / "data"
    if "SVMPROBA_DATA" not in os.environ and beside.is_dir():
        monkeypatch.setenv("SVMPROBA_DATA", str(beside))
    for name in re.findall(r'load_dataset\("([^"]+)"', code):
        try:
            load_dataset(name, download=False)
        except FileNotFoundError as error:
            pytest.skip(str(error))


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
@pytest.mark.usefixtures("closed_figures")
@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES, *EXAMPLES], ids=lambda x: x.name)
def test_code_runs(page, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for block, shown in code_of(page):
        require_data(block, monkeypatch)
        try:
            exec(compile(block, str(page), "exec"), names)
        except ImportError as error:
            package = (error.name or "").partition(".")[0]
            if package not in OPTIONAL and "pip install" not in str(error):
                raise
            pytest.skip(f"{page.name} needs what is not installed: {error}")
        printed = capsys.readouterr().out
        if shown:
            assert_printed(shown, printed)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize("page", [DOCS / "cli.md", ROOT / "README.md"], ids=lambda page: page.name)
def test_shell_blocks_run_as_they_stand(page, tmp_path):
    """In order, in one empty folder; only installations are left out."""
    for package in ("jinja2", "matplotlib", "pandas", "pyarrow", "rich", "typer"):
        pytest.importorskip(package)
    blocks = SHELL.findall(page.read_text(encoding="utf-8"))
    lines = [line for block in blocks for line in block.splitlines()]
    script = [line for line in lines if not line.startswith("pip install")]
    assert any(line.startswith("svmproba") for line in script)
    command = (
        f'python() {{ "{sys.executable}" "$@"; }}; svmproba() {{ python -m svmproba.cli "$@"; }}'
    )
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join([command, *script])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        timeout=600,
    )
    # The end of a pipe hides the exit code of its beginning.
    assert "error:" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr
    written = {name for line in script for name in re.findall(r"(?:--out|>) (\S+)", line)}
    assert {path.name for path in tmp_path.iterdir()} >= written


def test_the_tables_of_the_guide_are_those_it_shows(tmp_path):
    from svmproba.cli.commands.example import HEADER, customers

    rows = customers()
    shown = [",".join(HEADER), *(",".join(map(str, next(rows))) for _ in range(2))]
    assert "\n".join(shown) in (DOCS / "cli.md").read_text(encoding="utf-8")


def anchors(page):
    """Anchors of the headings of a page, as code forges make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", [*PAGES, *ROOT.glob("*.md")], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        path = page.parent / target if target else page
        assert path.exists(), target
        if anchor:
            assert anchor in anchors(path), f"{target}#{anchor}"


def test_every_page_is_in_the_contents():
    found, queue = set(), [DOCS / "index.md"]
    while queue:
        page = queue.pop()
        if page in found:
            continue
        found.add(page)
        for entries in TOCTREE.findall(page.read_text(encoding="utf-8")):
            lines = entries.splitlines()
            for entry in (line for line in lines if line and not line.startswith(":")):
                if entry == "auto_examples/index":
                    continue
                folder = DOCS if entry.startswith("/") else page.parent
                listed = list(folder.glob(entry.lstrip("/") + ".md"))
                assert listed, f"{entry} is listed and does not exist"
                queue += listed
    assert found == set(PAGES)


@pytest.mark.parametrize("module", ["svmproba", "svmproba.evaluation", "svmproba.links"])
def test_every_public_name_is_in_the_reference(module):
    words = set(re.findall(r"[\w.]+", (DOCS / "api.md").read_text(encoding="utf-8")))
    assert set(importlib.import_module(module).__all__) <= words


def test_every_name_in_the_reference_exists():
    module, n_names = "svmproba", 0
    for line in (DOCS / "api.md").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   \w[\w.]*", line):
            pkgutil.resolve_name(f"{module}.{line.strip()}")
            n_names += 1
    assert n_names > 50


@pytest.mark.slow
def test_the_guide_builds_without_warnings(tmp_path):
    for package in ("sphinx", "myst_parser", "numpydoc", "pydata_sphinx_theme", "sphinx_gallery"):
        pytest.importorskip(package)
    # Neither data nor a cache: as on a fresh clone.
    environment = {k: v for k, v in os.environ.items() if k != "SVMPROBA_DATA"}
    environment |= {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", DOCS, tmp_path / "html"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "html" / "index.html").is_file()
