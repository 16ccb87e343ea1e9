"""The core works without the optional dependencies."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import svmproba

BLOCK = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
"""
OPTIONAL = {"dask", "distributed", "jinja2", "matplotlib", "pandas", "polars", "pyarrow", "onnx"}
OPTIONAL |= {"rich", "torch"}


def run_without(blocked, code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", BLOCK.format(blocked=blocked) + code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(Path(svmproba.__file__).parents[1])},
    )


def test_import_fit_and_save_without_optional_dependencies(tmp_path):
    code = """
import numpy as np
import svmproba
import svmproba.evaluation
import svmproba.paper.data.datasets, svmproba.paper.tables
import svmproba.preparation.folds, svmproba.preparation.performance

rng = np.random.default_rng(0)
X, y = rng.normal(size=(40, 2)), np.repeat([0, 1], 20)
model = svmproba.BootstrapSVC(n_bootstraps=40, Cs=[1.0], random_state=0, device="auto").fit(X, y)
assert svmproba.evaluation.mse(y, model.predict_proba(X)[:, 1]) <= 1
svmproba.save(model, "MODEL")
assert (svmproba.load("MODEL").predict(X) == model.predict(X)).all()
"""
    done = run_without(OPTIONAL, code.replace("MODEL", (tmp_path / "m.svmproba").as_posix()))
    assert done.returncode == 0, done.stderr


def test_help_and_completion_do_not_wait_for_numerics():
    pytest.importorskip("typer")
    numerics = {"numba", "numpy", "pandas", "pyarrow", "scipy", "sklearn"}
    done = run_without(numerics, "from svmproba.cli import make_app\nmake_app()(['--help'])")
    assert done.returncode == 0, done.stderr
    assert "reproduce" in done.stdout


def test_every_public_name_is_found_and_no_other():
    assert {*svmproba.__all__} <= {*dir(svmproba)}
    assert all(getattr(svmproba, name).__name__ for name in svmproba.__all__)
    with pytest.raises(AttributeError, match="no attribute 'SVC'"):
        svmproba.SVC  # noqa: B018


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "from svmproba.evaluation import ReliabilityDisplay\n"
            "ReliabilityDisplay.from_predictions([0, 1], [0.2, 0.7])",
            "pip install 'svmproba[plot]'",
        ),
        (
            "import svmproba\nsvmproba.to_onnx(svmproba.BootstrapSVC())",
            "pip install 'svmproba[persist]'",
        ),
        (
            "from svmproba.paper.data.datasets import load_dataset\nload_dataset('wisconsin')",
            "pip install pandas",
        ),
        (
            "from svmproba import BootstrapSVC\n"
            "BootstrapSVC(device='cuda').fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])",
            "pip install 'svmproba[gpu]'",
        ),
        (
            "from svmproba.evaluation import report_html\nreport_html(None, None, None)",
            "pip install 'svmproba[report]'",
        ),
    ],
)
def test_what_is_missing_is_named(code, message):
    done = run_without(OPTIONAL, code)
    assert done.returncode == 1
    assert "ImportError" in done.stderr
    assert message in done.stderr


def test_modules_of_torch_have_no_doctests_to_collect_without_it():
    """Collecting one imports it. `conftest.py` names them."""
    root = Path(__file__).parents[1]
    named = (root / "conftest.py").read_text(encoding="utf-8")
    folder = root / "src" / "svmproba"
    importing = {
        path.relative_to(root).as_posix()
        for path in folder.rglob("*.py")
        if "\nimport torch\n" in path.read_text(encoding="utf-8")
    }
    others = {path for path in importing if "/solvers/gpu/" not in path}
    assert others
    assert all(path in named for path in others)
