"""Install the built packages in empty environments and try them; ``make dist`` runs this.

    python tools/check_dist.py dist

The wheel must hold the files of src/ and its own facts, nothing else. The wheel and the sdist are
each installed alone, without extras; the wheel then once more with those of the command line.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: What the library must do with its required dependencies alone. Warnings are errors.
LIBRARY = """
import importlib.metadata, pathlib, sys, tempfile
import numpy as np
import svmproba

assert importlib.metadata.version("svmproba") == svmproba.__version__ == sys.argv[1]
assert "site-packages" in svmproba.__file__, svmproba.__file__
rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
y = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0, "yes", "no")
model = svmproba.BootstrapSVC(calibration="auto", n_bootstraps=50, random_state=0).fit(X, y)
assert model.score(X, y) > 0.8 and model.duality_gap_.max() <= 1e-3
path = pathlib.Path(tempfile.mkdtemp()) / "model.svmproba"
svmproba.save(model, path)
assert (svmproba.load(path).predict_proba(X) == model.predict_proba(X)).all()
svmproba.ProbabilitySVC().fit(X, y).predict_proba(X)
"""
#: The example of the README, and a graph in ONNX.
COMMANDS = (
    "example",
    "fit credit.csv --target default --positive yes --bootstraps 50 --out credit.svmproba",
    "predict credit.svmproba new.csv --out scored.csv",
    "report credit.svmproba later.csv --out report.html",
)
GRAPH = """
import numpy as np, onnxruntime
from svmproba import BootstrapSVC, to_onnx
X = np.random.default_rng(0).normal(size=(60, 2))
model = BootstrapSVC(n_bootstraps=20, random_state=0).fit(X, X[:, 0] > 0)
to_onnx(model, "model.onnx")
session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
_, proba = session.run(["label", "probabilities"], {"X": X})
assert np.abs(proba - model.predict_proba(X)).max() < 1e-6
"""


def version() -> str:
    """Version of the sources."""
    text = (ROOT / "src" / "svmproba" / "__init__.py").read_text(encoding="utf-8")
    return re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)[0]


def wrong_members(wheel: Path) -> list[str]:
    """Files that the wheel lacks or has without need."""
    source = ROOT / "src"
    expected = {
        path.relative_to(source).as_posix()
        for path in (source / "svmproba").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    facts = f"svmproba-{version()}.dist-info/"
    own = ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    expected |= {facts + name for name in own}
    with zipfile.ZipFile(wheel) as archive:
        found = set(archive.namelist())
    missing = [f"{name} is missing" for name in sorted(expected - found)]
    return missing + [f"{name} does not belong there" for name in sorted(found - expected)]


def python_of(folder: Path) -> Path:
    """Interpreter of an environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def call(folder: Path, *arguments: str | Path) -> None:
    """Run the interpreter of an environment in its folder; nothing of this checkout is seen."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SVMPROBA"))}
    subprocess.run([python_of(folder), *arguments], cwd=folder, env=environment, check=True)


def new_environment(folder: Path, package: str) -> Path:
    """Create an environment and install a package with its dependencies."""
    print(f"installing {package}", flush=True)
    venv.create(folder, with_pip=True)
    call(folder, "-m", "pip", "install", "-q", package)
    return folder


def main() -> None:
    """Check the packages of a folder."""
    dist = Path(sys.argv[1]).resolve()
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    for package in (wheel, sdist):
        if version() not in package.name:
            raise SystemExit(f"{package.name} is not of version {version()}")
    if wrong := wrong_members(wheel):
        raise SystemExit(f"{wheel.name}: " + "; ".join(wrong))
    with tempfile.TemporaryDirectory() as temporary:
        for package in (wheel, sdist):
            folder = new_environment(Path(temporary) / package.name, str(package))
            call(folder, "-W", "error", "-c", LIBRARY, version())
        folder = new_environment(Path(temporary) / "cli", f"{wheel}[cli,report,persist]")
        for command in COMMANDS:
            call(folder, "-m", "svmproba.cli", *command.split())
        call(folder, "-W", "error", "-c", GRAPH)
    print(f"{wheel.name} and {sdist.name}: as they should be")


if __name__ == "__main__":
    main()
