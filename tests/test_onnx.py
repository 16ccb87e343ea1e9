"""ONNX graphs give what the models give."""

import os
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
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
from svmproba.links import IsotonicLink, VennAbersLink
from svmproba.persistence._onnx_graph import Graph
from svmproba.persistence._onnx_links import link_graph
from svmproba.preparation.preprocessing import make_preprocessor

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

X, y = load_breast_cancer(return_X_y=True)
X = scale(X[:, ::3])
WORDS = np.where(y == 1, "benign", "malignant")
SMALL = {"Cs": [0.01, 0.1, 1.0], "n_bootstraps": 40, "random_state": 0}
RNG = np.random.default_rng(0)
#: New records: no threshold was read from them.
NEW = np.repeat(X, 5, axis=0) + 0.5 * RNG.normal(size=(5 * len(X), X.shape[1]))
CALIBRATIONS = ("auto", "platt", "isotonic", "beta", "venn_abers", "stack")


def session(proto):
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    content = proto.SerializeToString()
    return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def run(model, records, **options):
    return session(to_onnx(model, **options)).run(["label", "probabilities"], {"X": records})


def assert_equal(model, records, **options):
    labels, P = run(model, records, **options)
    np.testing.assert_allclose(P, model.predict_proba(records), rtol=0, atol=1e-12)
    expected = model.predict(records)
    assert labels.shape == expected.shape
    assert labels.tolist() == expected.tolist()


@pytest.fixture(scope="module")
def ensemble():
    return BootstrapSVC(**SMALL).fit(X[::2], y[::2])


@pytest.fixture(scope="module")
def by_calibration(ensemble):
    return {None: ensemble} | {name: ensemble.with_calibration(name) for name in CALIBRATIONS}


@pytest.mark.parametrize("name", [None, *CALIBRATIONS])
def test_calibrations(name, by_calibration):
    assert_equal(by_calibration[name], NEW)


@pytest.mark.parametrize("name", [None, *CALIBRATIONS])
@pytest.mark.parametrize("wish", [{"tpr": 0.99}, {"tnr": 0.99}, {"tpr": 0.6, "exceed": False}])
def test_thresholds(name, wish, by_calibration):
    assert_equal(by_calibration[name].with_rate(**wish), NEW)


COSTS = [{"fn_cost": 500, "fp_cost": 60}, {"fn_cost": 1, "fp_cost": 3, "tp_cost": -1}]


@pytest.mark.filterwarnings("ignore:Expected costs from vote shares")
@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("name", [None, *CALIBRATIONS])
def test_costs(name, costs, by_calibration):
    priced = by_calibration[name].with_costs(**costs)
    assert priced.predict(NEW).tolist() != by_calibration[name].predict(NEW).tolist()
    assert_equal(priced, NEW)
    rounded = NEW.astype(np.float32)
    labels, _ = run(priced, rounded, input_type="float32")
    assert labels.tolist() == priced.predict(rounded).tolist()


@pytest.mark.filterwarnings("ignore:Expected costs from vote shares")
def test_probabilities_at_the_threshold_of_costs():
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


def test_threshold_of_each_theta(ensemble):
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
def test_labels(model, labels):
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
def test_models(model):
    assert_equal(model.fit(X[::3], y[::3]), NEW)


def test_wide_tables_are_mapped_back():
    rows = RNG.normal(size=(40, 60))
    model = BootstrapSVC(**SMALL).fit(rows, rows[:, 0] > 0)
    assert model.ensemble_.members.feature_maps[0].projection is not None
    assert_equal(model, RNG.normal(size=(300, 60)))


def test_ties_count_half():
    model = BootstrapSVC(1.0, n_bootstraps=40, random_state=0).fit(X, y)
    model.intercept_[:] = 0.0  # shared with the members
    _, P = run(model, np.zeros((2, X.shape[1])))
    assert (P == 0.5).all()
    assert_equal(model, np.vstack([np.zeros(X.shape[1]), NEW]))


def test_float32_input_is_converted_first(ensemble):
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


HOLES = np.where(RNG.random(X.shape) < 0.1, np.nan, X)


@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler()],
        [StandardScaler(with_mean=False), StandardScaler(with_std=False)],
        [MinMaxScaler(clip=True), MaxAbsScaler()],
        [RobustScaler(with_centering=False), RobustScaler()],
        [VarianceThreshold(), SelectKBest(k=4), FunctionTransformer(), "passthrough"],
        [make_pipeline(SimpleImputer(strategy="median"), StandardScaler())],
        [
            make_column_transformer(
                (StandardScaler(), [3, 0]), ("drop", [1]), remainder="passthrough"
            )
        ],
        [make_column_transformer((MinMaxScaler(), slice(0, 2)), (RobustScaler(), [2, 3]))],
    ],
)
def test_preparation(steps):
    has_imputer = "SimpleImputer" in repr(steps)
    rows, new = (HOLES, np.where(NEW > 2, np.nan, NEW)) if has_imputer else (X, NEW)
    assert_equal(make_pipeline(*steps, BootstrapSVC(**SMALL)).fit(rows, y), new)


def mixed_table(n):
    rng = np.random.default_rng(n)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(40, 10, n)),
            "town": pd.Series(rng.choice(["A", "Ä b", "C"], n), dtype=object).mask(
                rng.random(n) < 0.1
            ),
            "rooms": rng.integers(1, 5, n).astype(float),
            "sex": rng.choice(["f", "m"], n),
        }
    )


def as_inputs(table, proto):
    """Columns as the graph takes them: missing texts are empty."""
    feed = {}
    for value in proto.graph.input:
        column = table[value.name].to_numpy()[:, np.newaxis]
        is_text = value.type.tensor_type.elem_type == onnx.TensorProto.STRING
        texts = np.where(pd.isna(column), "", column).astype(str).astype(object)
        feed[value.name] = texts if is_text else column.astype(np.float64)
    return feed


@pytest.mark.parametrize("calibration", [None, "auto"])
def test_tables_with_text(calibration):
    table = mixed_table(300)
    labels = np.where(table["age"].fillna(40) + 5 * (table["sex"] == "m") > 41, "yes", "no")
    model = make_pipeline(make_preprocessor(table), BootstrapSVC(calibration=calibration, **SMALL))
    model.fit(table, labels)
    proto = to_onnx(model)
    assert [value.name for value in proto.graph.input] == ["age", "town", "rooms", "sex"]
    new = mixed_table(500)
    new.loc[3, "town"] = "never seen"
    found, P = session(proto).run(None, as_inputs(new, proto))
    np.testing.assert_allclose(P, model.predict_proba(new), rtol=0, atol=1e-12)
    assert found.tolist() == model.predict(new).tolist()


def test_text_without_a_column_transformer():
    table = mixed_table(200)[["town", "sex"]]
    fill, encode = SimpleImputer(strategy="most_frequent"), OneHotEncoder(sparse_output=False)
    model = make_pipeline(fill, encode, BootstrapSVC(**SMALL)).fit(table, table["sex"] == "m")
    proto = to_onnx(model)
    _, P = session(proto).run(None, as_inputs(table, proto))
    np.testing.assert_allclose(P, model.predict_proba(table), rtol=0, atol=1e-12)


def test_columns_with_names_of_outputs():
    table = mixed_table(200).rename(columns={"sex": "label"})
    model = make_pipeline(make_preprocessor(table), BootstrapSVC(**SMALL))
    with pytest.raises(ValueError, match="column 'label'"):
        to_onnx(model.fit(table, table["label"] == "m"))


def test_missing_as_a_category():
    table = mixed_table(200)[["town"]]
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    model = make_pipeline(encode, BootstrapSVC(**SMALL)).fit(table, np.arange(200) % 2)
    with pytest.raises(ValueError, match="text and missing values"):
        to_onnx(model)


def test_numbers_as_categories():
    rows = np.column_stack([RNG.integers(0, 3, 200), RNG.integers(0, 2, 200)]).astype(float)
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    model = make_pipeline(encode, BootstrapSVC(**SMALL)).fit(rows, rows[:, 0] > RNG.random(200))
    assert_equal(model, np.vstack([rows, [[7.0, 0.0]]]))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (BootstrapSVC(kernel="rbf", **SMALL), "kernel='linear'"),
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


def test_more_classes_and_other_types(ensemble):
    rows, species = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="only two classes"):
        to_onnx(ProbabilitySVC(Cs=[1.0]).fit(rows, species))
    with pytest.raises(ValueError, match="input_type must be"):
        to_onnx(ensemble, input_type="float16")


@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_links_at_their_knots(n):
    """Steps and corners are where a link is easily off by one."""
    scores = np.sort(RNG.normal(size=n))
    positive = RNG.random(n) < 0.5
    positive[0], positive[-1] = False, n > 1
    ends = np.concatenate([scores, np.nextafter(scores, 9), np.nextafter(scores, -9), [-99, 99]])
    for link in (IsotonicLink(), VennAbersLink(), VennAbersLink("log")):
        if n == 1:
            link.scores_, link.values_ = scores, np.array([0.3])
            link.p0_, link.p1_ = np.array([0.2, 0.3]), np.array([0.6, 0.6])
        else:
            link.fit(scores, positive)
        graph = Graph()
        graph.add("Identity", link_graph(graph, link, "s"), name="P")
        helper, kind = onnx.helper, onnx.TensorProto.DOUBLE
        values = [helper.make_tensor_value_info(name, kind, ["n", 1]) for name in ("s", "P")]
        parts = helper.make_graph(graph.nodes, "g", values[:1], values[1:], graph.constants)
        opset = [helper.make_opsetid("", 19)]
        proto = helper.make_model(parts, opset_imports=opset, ir_version=9)
        (P,) = session(proto).run(None, {"s": ends[:, np.newaxis]})
        np.testing.assert_allclose(P[:, 0], link.predict(ends), rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("calibration", [None, "auto", "venn_abers"])
def test_a_hundred_thousand_records(calibration):
    model = BootstrapSVC(calibration=calibration, random_state=0).fit(X, y)
    graph = session(to_onnx(model.with_rate(tpr=0.99)))
    wary, rng = model.with_rate(tpr=0.99), np.random.default_rng(1)
    for _ in range(50):
        new = X[rng.integers(len(X), size=2000)] + 0.3 * rng.normal(size=(2000, X.shape[1]))
        labels, P = graph.run(None, {"X": new})
        np.testing.assert_allclose(P, wary.predict_proba(new), rtol=0, atol=1e-6)
        np.testing.assert_array_equal(labels, wary.predict(new))
