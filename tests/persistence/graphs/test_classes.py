"""ONNX graphs of more than two classes give what the models give."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from svmproba import (
    BootstrapSVC,
    ConstrainedBootstrapSVC,
    ProbabilitySVC,
    ThresholdBootstrapSVC,
    to_onnx,
)
from svmproba.links import couple
from svmproba.persistence.graphs.builder import Graph
from svmproba.persistence.graphs.classes import couple_graph

onnx = pytest.importorskip("onnx")
X, y = load_wine(return_X_y=True)
X = scale(X)[:, [0, 2, 6, 9]]
#: A fourth class, cut out of the first.
y = np.array(["barolo", "grignolino", "barbera", "nebbiolo"])[
    np.where((y == 0) & (X[:, 1] > 0), 3, y)
]
RNG = np.random.default_rng(0)
NEW = np.repeat(X, 5, axis=0) + 0.5 * RNG.normal(size=(5 * len(X), X.shape[1]))
SMALL = {"Cs": [0.01, 0.1, 1.0], "n_bootstraps": 40, "random_state": 0}
CALIBRATIONS = ("auto", "platt", "isotonic", "beta", "venn_abers", "stack")


@pytest.fixture(scope="module")
def ensemble():
    return BootstrapSVC(**SMALL).fit(X, y)


@pytest.fixture(scope="module")
def by_calibration(ensemble):
    return {None: ensemble} | {name: ensemble.with_calibration(name) for name in CALIBRATIONS}


@pytest.mark.parametrize("name", [None, *CALIBRATIONS])
def test_calibrations_recalls_and_costs(name, by_calibration, assert_equal):
    model = by_calibration[name]
    assert_equal(model, NEW)
    moved = model.with_rate(recall={"grignolino": 0.95})
    assert np.any(moved.predict(NEW) != model.predict(NEW))
    assert_equal(moved, NEW)


@pytest.mark.filterwarnings("ignore:Expected costs from vote shares")
@pytest.mark.parametrize("name", [None, "platt"])
def test_costs(name, by_calibration, run):
    model = by_calibration[name].with_costs(cost_matrix=RNG.normal(size=(4, 4)))
    labels, P = run(model, NEW)
    np.testing.assert_allclose(P, model.predict_proba(NEW), rtol=0, atol=1e-12)
    # Decisions that cost the same up to rounding may differ.
    costs = np.sort(P @ model.costs_, axis=1)
    sure = costs[:, 1] - costs[:, 0] > 1e-9
    assert sure.mean() > 0.99
    assert np.array_equal(labels[sure], model.predict(NEW)[sure])


@pytest.mark.parametrize("kind", ["none", "temperature", "vector"])
def test_scalings(kind, by_calibration, assert_equal):
    model = by_calibration["platt"].with_calibration("platt")
    scaling = model.calibrator_.scaling
    scaling.kind_ = kind
    scaling.slope_, scaling.offset_ = np.full(4, 1.7), np.zeros(4)
    if kind == "vector":
        scaling.slope_, scaling.offset_ = np.array([0.5, 1.0, 2.0, 1.1]), np.arange(4) / 4
    assert_equal(model, NEW)


@pytest.mark.parametrize(
    "model",
    [
        BootstrapSVC(**SMALL, kernel=["linear", "rbf"], calibration="auto"),
        BootstrapSVC(**SMALL, kernel="poly", class_weight="balanced"),
        ThresholdBootstrapSVC(target_recall={"barolo": 0.9, "barbera": 0.8}, **SMALL),
        ConstrainedBootstrapSVC(
            min_recall={"barolo": 0.9}, Cs=[1.0], n_bootstraps=10, random_state=0
        ),
        ProbabilitySVC(Cs=[0.1, 1.0], random_state=0),
        ProbabilitySVC("isotonic", Cs=[1.0], kernel="rbf", random_state=0),
        ProbabilitySVC("beta", Cs=[1.0], random_state=0),
        make_pipeline(StandardScaler(), BootstrapSVC(**SMALL, calibration="platt")),
    ],
)
@pytest.mark.filterwarnings("ignore:.* in every bag:UserWarning")
def test_models(model, assert_equal):
    assert_equal(model.fit(X, y), NEW)


def test_costs_of_one_svm_for_each_pair(assert_equal):
    model = ProbabilitySVC(Cs=[1.0], random_state=0).fit(X, y)
    assert_equal(model.with_costs(cost_matrix=10 * (1 - np.eye(4)) + np.diag(range(4))), NEW)


@pytest.mark.parametrize("calibration", [None, "platt"])
def test_kernel_values_and_absent_samples(calibration, assert_equal):
    K, weight = rbf_kernel(X, gamma=0.2), np.ones(len(X))
    weight[::7] = 0
    model = BootstrapSVC(**SMALL, kernel="precomputed", calibration=calibration)
    assert_equal(model.fit(K, y, sample_weight=weight), rbf_kernel(NEW, X, gamma=0.2))


def test_ten_classes(assert_equal):
    digits, label = load_digits(return_X_y=True)
    model = BootstrapSVC([0.1], n_bootstraps=20, calibration="platt", random_state=0)
    model.fit(digits[:500] / 16, label[:500])
    assert_equal(model, digits / 16)
    assert_equal(model.with_calibration(None), digits / 16)


def test_ties_are_shared(run):
    """Three classes on a circle: each wins one of the two pairs in many bags."""
    angle = RNG.uniform(size=90) * 2 * np.pi
    rows = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.3 * RNG.normal(size=(90, 2))
    label = np.arange(90) % 3
    model = BootstrapSVC([0.1], n_bootstraps=45, random_state=0).fit(rows, label)
    shares = model.vote_shares(rows)[0] * 45
    assert np.any(np.abs(shares - np.round(shares)) > 0.1)
    _, P = run(model, rows)
    np.testing.assert_allclose(P, model.predict_proba(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_classes", [3, 4, 7])
def test_coupling(n_classes):
    """Random, consistent and extreme probabilities of pairs."""
    runtime = pytest.importorskip("onnxruntime")
    helper, n_pairs = onnx.helper, n_classes * (n_classes - 1) // 2
    i, j = np.triu_indices(n_classes, 1)
    worth = RNG.dirichlet(np.ones(n_classes), 200)
    pairs = np.concatenate(
        [
            RNG.uniform(size=(200, n_pairs)),
            worth[:, j] / (worth[:, i] + worth[:, j]),
            RNG.integers(2, size=(200, n_pairs)),
        ]
    )
    graph, double = Graph(), onnx.TensorProto.DOUBLE
    graph.add("Identity", couple_graph(graph, "r", n_classes), name="P")
    ends = [helper.make_tensor_value_info(name, double, ["n", None]) for name in ("r", "P")]
    parts = helper.make_graph(graph.nodes, "g", ends[:1], ends[1:], graph.constants)
    proto = helper.make_model(parts, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    session = runtime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (P,) = session.run(None, {"r": pairs})
    np.testing.assert_allclose(P, couple(1 - pairs), rtol=0, atol=1e-9)
    np.testing.assert_allclose(P[200:400], worth, rtol=0, atol=1e-6)


def test_refusals():
    with pytest.raises(ValueError, match="CosineLink cannot"):
        to_onnx(ProbabilitySVC("cosine", Cs=[1.0]).fit(X, y))
