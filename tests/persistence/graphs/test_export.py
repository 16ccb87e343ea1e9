"""ONNX graphs give what the models give."""

import os
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    PowerTransformer,
    scale,
)

from svmproba import (
    BootstrapSVC,
    ConstrainedBootstrapSVC,
    ConstrainedSVC,
    ProbabilitySVC,
    ThresholdBootstrapSVC,
    to_onnx,
)

onnx = pytest.importorskip("onnx")
X, y = load_breast_cancer(return_X_y=True)
X = scale(X[:, ::3])
WORDS = np.where(y == 1, "benign", "malignant")
SMALL = {"Cs": [0.01, 0.1, 1.0], "n_bootstraps": 40, "random_state": 0}
RNG = np.random.default_rng(0)
#: New records: no threshold was read from them.
NEW = np.repeat(X, 5, axis=0) + 0.5 * RNG.normal(size=(5 * len(X), X.shape[1]))
CALIBRATIONS = ("auto", "platt", "isotonic", "beta", "venn_abers", "stack")


@pytest.fixture(scope="module")
def ensemble():
    return BootstrapSVC(**SMALL).fit(X[::2], y[::2])


@pytest.fixture(scope="module")
def by_calibration(ensemble):
    return {None: ensemble} | {name: ensemble.with_calibration(name) for name in CALIBRATIONS}


@pytest.mark.parametrize("name", [None, *CALIBRATIONS])
def test_calibrations(name, by_calibration, assert_equal):
    assert_equal(by_calibration[name], NEW)


@pytest.mark.parametrize("name", [None, *CALIBRATIONS])
@pytest.mark.parametrize("wish", [{"tpr": 0.99}, {"tnr": 0.99}, {"tpr": 0.6, "exceed": False}])
def test_thresholds(name, wish, by_calibration, assert_equal):
    assert_equal(by_calibration[name].with_rate(**wish), NEW)


COSTS = [{"fn_cost": 500, "fp_cost": 60}, {"fn_cost": 1, "fp_cost": 3, "tp_cost": -1}]


@pytest.mark.filterwarnings("ignore:Expected costs from vote shares")
@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", [None, *CALIBRATIONS])
def test_costs(name, costs, by_calibration, run, assert_equal):
    priced = by_calibration[name].with_costs(**costs)
    assert priced.predict(NEW).tolist() != by_calibration[name].predict(NEW).tolist()
    assert_equal(priced, NEW)
    rounded = NEW.astype(np.float32)
    labels, _ = run(priced, rounded, input_type="float32")
    assert labels.tolist() == priced.predict(rounded).tolist()


@pytest.mark.filterwarnings("ignore:Expected costs from vote shares")
def test_probabilities_at_the_threshold_of_costs(assert_equal):
    """Vote shares and steps of a link are fractions, as thresholds are: ties are common."""
    votes = BootstrapSVC(1.0, n_bootstraps=40, random_state=0).fit(X[::9], y[::9])
    steps = ProbabilitySVC("isotonic", Cs=[1.0]).fit(X[::9], y[::9])
    for model in (votes, steps):
        P = model.predict_proba(NEW)[:, 1]
        shares, counts = np.unique(P[(P > 0) & (P < 1)], return_counts=True)
        for share in shares[counts > 1]:
            part = Fraction(share).limit_denominator(1000)
            priced = model.with_costs(
                fn_cost=part.denominator - part.numerator, fp_cost=part.numerator
            )
            assert priced.proba_threshold_ == share
            assert_equal(priced, NEW)


def test_threshold_of_each_theta(ensemble, assert_equal):
    moved = ensemble.with_rate(tnr=0.99, per_theta=True)
    assert len(set(moved.threshold_)) == 3
    assert_equal(moved, NEW)


@pytest.mark.parametrize(
    ("model", "labels"),
    [
        (BootstrapSVC(pos_label="benign", **SMALL), WORDS),
        (BootstrapSVC(pos_label="malignant", **SMALL), WORDS),
        (BootstrapSVC(**SMALL), WORDS.astype(object)),
        (BootstrapSVC(pos_label=0, **SMALL), y),
        (BootstrapSVC(**SMALL), y.astype(np.int8) - 1),
        (BootstrapSVC(**SMALL), y > 0),
        (BootstrapSVC(**SMALL), y + 0.5),
    ],
)
def test_labels(model, labels, assert_equal):
    if labels.dtype == np.float64:
        labels = labels - 0.5
    assert_equal(model.fit(X, labels), NEW)


@pytest.mark.parametrize(
    "model",
    [
        ThresholdBootstrapSVC(0.95, **SMALL),
        ThresholdBootstrapSVC(0.7, guarantee="split", confidence=0.7, calibration="auto", **SMALL),
        ConstrainedBootstrapSVC(0.9, effort="fast", Cs=[0.1], n_bootstraps=40, random_state=0),
        BootstrapSVC(epsilon=0.0, calibration="stack", **SMALL),
        BootstrapSVC(epsilon=0.0, **SMALL),
        *(ProbabilitySVC(link, Cs=[1.0], pos_label=0) for link in ("platt", "wahba", "beta")),
        *(ProbabilitySVC(link, Cs=[1.0]) for link in ("isotonic", "venn_abers")),
        ProbabilitySVC("venn_abers", Cs=[1.0], link_params={"loss": "log"}),
    ],
    ids=repr,
)
def test_models(model, assert_equal):
    assert_equal(model.fit(X[::3], y[::3]), NEW)


def test_wide_tables_are_mapped_back(assert_equal):
    rows = RNG.normal(size=(40, 60))
    model = BootstrapSVC(**SMALL).fit(rows, rows[:, 0] > 0)
    assert model.ensemble_.members.feature_maps[0].projection is not None
    assert_equal(model, RNG.normal(size=(300, 60)))


def test_ties_count_half(run, assert_equal):
    model = BootstrapSVC(1.0, n_bootstraps=40, random_state=0).fit(X, y)
    model.intercept_[:] = 0.0  # shared with the members
    _, P = run(model, np.zeros((2, X.shape[1])))
    assert (P == 0.5).all()
    assert_equal(model, np.vstack([np.zeros(X.shape[1]), NEW]))


def test_float32_input_is_converted_first(ensemble, run):
    """Exactly the float64 model at the rounded numbers: no vote flips."""
    rounded = NEW.astype(np.float32)
    labels, P = run(ensemble, rounded, input_type="float32")
    np.testing.assert_array_equal(P, ensemble.predict_proba(rounded.astype(np.float64)))
    assert labels.tolist() == ensemble.predict(rounded).tolist()


def test_file_and_header(ensemble, tmp_path):
    path = tmp_path / "model.onnx"
    proto = to_onnx(ensemble, path)
    assert onnx.load(path) == proto
    assert proto.producer_name == "svmproba"
    assert proto.doc_string == ensemble.guarantee_
    assert [value.name for value in proto.graph.output] == ["label", "probabilities"]
    assert os.listdir(tmp_path) == ["model.onnx"]


@pytest.mark.parametrize("calibration", [None, "auto"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid", ["linear", "rbf"]])
@pytest.mark.filterwarnings("ignore:kernel='sigmoid' is indefinite")
def test_kernels(kernel, calibration, run):
    """Of exact members, of landmarks, and of one SVM."""
    for n_components in (None, 20):
        model = BootstrapSVC(
            kernel=kernel, calibration=calibration, n_components=n_components, **SMALL
        ).fit(X, y)
        labels, P = run(model, NEW)
        # Landmarks' inverse factors and steep links enlarge rounding, to 5e-7 with poly.
        np.testing.assert_allclose(P, model.predict_proba(NEW), rtol=0, atol=1e-6)
        assert labels.tolist() == model.predict(NEW).tolist()
    if isinstance(kernel, str):
        model = ProbabilitySVC(Cs=1.0, kernel=kernel).fit(X, y)
        # The runtime's Sigmoid is right to 2e-8 where it is far from one half.
        P = model.predict_proba(NEW)
        np.testing.assert_allclose(run(model, NEW)[1], P, rtol=0, atol=5e-8)


def test_precomputed_kernel(run):
    K, new = rbf_kernel(X, gamma=0.1), rbf_kernel(NEW, X, gamma=0.1)
    model = BootstrapSVC(kernel="precomputed", **SMALL).fit(K, y)
    np.testing.assert_allclose(run(model, new)[1], model.predict_proba(new), atol=1e-9)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ThresholdBootstrapSVC(0.9, guarantee="jackknife+", **SMALL), "jackknife"),
        (ConstrainedSVC(effort="fast"), "ConstrainedSVC cannot"),
        (LogisticRegression(), "LogisticRegression cannot"),
        (ProbabilitySVC("cosine", Cs=[1.0]), "CosineLink cannot"),
        (make_pipeline(PowerTransformer(), BootstrapSVC(**SMALL)), "PowerTransformer cannot"),
        (make_pipeline(FunctionTransformer(np.abs), BootstrapSVC(**SMALL)), "with a function"),
        (
            make_pipeline(SimpleImputer(missing_values=0.0), BootstrapSVC(**SMALL)),
            "missing_values=nan",
        ),
    ],
)
def test_refusals(model, message):
    with pytest.raises(ValueError, match=message):
        to_onnx(model.fit(X, y))


def test_other_types(ensemble):
    with pytest.raises(ValueError, match="input_type must be"):
        to_onnx(ensemble, input_type="float16")


@pytest.mark.slow
@pytest.mark.parametrize("calibration", [None, "auto", "venn_abers"])
def test_a_hundred_thousand_records(calibration, session, run):
    model = BootstrapSVC(calibration=calibration, random_state=0).fit(X, y)
    graph = session(to_onnx(model.with_rate(tpr=0.99)))
    wary, rng = model.with_rate(tpr=0.99), np.random.default_rng(1)
    for _ in range(50):
        new = X[rng.integers(len(X), size=2000)] + 0.3 * rng.normal(size=(2000, X.shape[1]))
        labels, P = graph.run(None, {"X": new})
        np.testing.assert_allclose(P, wary.predict_proba(new), rtol=0, atol=1e-6)
        np.testing.assert_array_equal(labels, wary.predict(new))
