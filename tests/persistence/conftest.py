"""Saved models, changes to model files, and sessions of ONNX graphs."""

import hashlib
import io
import json
import zipfile

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from svmproba import BootstrapSVC, save, to_onnx
from svmproba.persistence import _archive


@pytest.fixture(scope="session")
def data():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X[:120, :6]), y[:120]


@pytest.fixture(scope="session")
def model(data):
    return BootstrapSVC(Cs=[0.1, 1.0], n_bootstraps=30, random_state=0, calibration="auto").fit(
        *data
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.svmproba"


@pytest.fixture
def saved(model, path):
    save(model, path, about={"data": "wisconsin"})
    return path


@pytest.fixture(scope="session")
def rewrite():
    """Change the members of a file, as bytes by name."""

    def change_members(path, change):
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        change(members)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_archive, "_FREE_BYTES", 2**60)  # who forges a bomb packs it
            path.write_bytes(_archive.pack(members))

    return change_members


@pytest.fixture(scope="session")
def sealed():
    """Add a digest to the body of a file."""
    return lambda body: body + _archive._MARK + hashlib.sha256(body).hexdigest().encode()


@pytest.fixture(scope="session")
def to_npy():
    def write(array):
        stream = io.BytesIO()
        np.save(stream, array)
        return stream.getvalue()

    return write


@pytest.fixture(scope="session")
def forge(rewrite, to_npy):
    """Change the tree and the arrays of a model file.

    ``change(tree, arrays)`` changes them in place, or gives another tree.
    """

    def change_model(path, change):
        def of_members(members):
            tree = json.loads(members["model.json"])
            names = [name for name in members if name.endswith(".npy")]
            arrays = {int(n.partition(".")[0]): np.load(io.BytesIO(members.pop(n))) for n in names}
            other = change(tree, arrays)
            tree = tree if other is None else other
            members["model.json"] = json.dumps(tree).encode()
            members.update({f"{number}.npy": to_npy(array) for number, array in arrays.items()})

        rewrite(path, of_members)

    return change_model


@pytest.fixture(scope="session")
def session():
    """Load a graph into the runtime."""
    runtime = pytest.importorskip("onnxruntime")

    def load_graph(proto):
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        content = proto.SerializeToString()
        return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    return load_graph


@pytest.fixture(scope="session")
def run(session):
    """Labels and probabilities by the graph of a model."""

    def run_graph(model, records, **options):
        return session(to_onnx(model, **options)).run(["label", "probabilities"], {"X": records})

    return run_graph


@pytest.fixture(scope="session")
def assert_equal(run):
    """Compare the graph of a model with the model."""

    def compare(model, records, **options):
        labels, P = run(model, records, **options)
        np.testing.assert_allclose(P, model.predict_proba(records), rtol=0, atol=1e-12)
        expected = model.predict(records)
        assert labels.shape == expected.shape
        assert labels.tolist() == expected.tolist()

    return compare
