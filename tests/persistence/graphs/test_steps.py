"""Preparation steps in ONNX graphs give what scikit-learn gives."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
    scale,
)

from svmproba import (
    BootstrapSVC,
    RateFeatureSelector,
    SelectedBootstrapSVC,
    load,
    save,
    to_onnx,
)
from svmproba._words import CategoryWords
from svmproba.preparation.preprocessing import make_preprocessor

onnx = pytest.importorskip("onnx")
X, y = load_breast_cancer(return_X_y=True)
X = scale(X[:, ::3])
SMALL = {"Cs": [0.01, 0.1, 1.0], "n_bootstraps": 40, "random_state": 0}
RNG = np.random.default_rng(0)
#: New records: no threshold was read from them.
NEW = np.repeat(X, 5, axis=0) + 0.5 * RNG.normal(size=(5 * len(X), X.shape[1]))
HOLES = np.where(RNG.random(X.shape) < 0.1, np.nan, X)


@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler()],
        [StandardScaler(with_mean=False), StandardScaler(with_std=False)],
        [MinMaxScaler(clip=True), MaxAbsScaler()],
        [RobustScaler(with_centering=False), RobustScaler()],
        [VarianceThreshold(), SelectKBest(k=4), FunctionTransformer(), "passthrough"],
        [StandardScaler(), RateFeatureSelector(0.95, 0.95, random_state=0)],
        [make_pipeline(SimpleImputer(strategy="median"), StandardScaler())],
        [
            make_column_transformer(
                (StandardScaler(), [3, 0]), ("drop", [1]), remainder="passthrough"
            )
        ],
        [make_column_transformer((MinMaxScaler(), slice(0, 2)), (RobustScaler(), [2, 3]))],
    ],
)
def test_preparation(steps, assert_equal):
    has_imputer = "SimpleImputer" in repr(steps)
    rows, new = (HOLES, np.where(NEW > 2, np.nan, NEW)) if has_imputer else (X, NEW)
    assert_equal(make_pipeline(*steps, BootstrapSVC(**SMALL)).fit(rows, y), new)


@pytest.mark.parametrize("calibration", [None, "platt"])
def test_selection_inside_the_bags(calibration, assert_equal):
    model = SelectedBootstrapSVC(
        RateFeatureSelector(0.9, 0.9), calibration=calibration, **{**SMALL, "n_bootstraps": 20}
    )
    assert_equal(model.fit(X[:100], y[:100]), NEW)


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
def test_tables_with_text(calibration, session, run):
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


def test_text_without_a_column_transformer(session, run):
    table = mixed_table(200)[["town", "sex"]]
    fill, encode = SimpleImputer(strategy="most_frequent"), OneHotEncoder(sparse_output=False)
    model = make_pipeline(fill, encode, BootstrapSVC(**SMALL)).fit(table, table["sex"] == "m")
    proto = to_onnx(model)
    _, P = session(proto).run(None, as_inputs(table, proto))
    np.testing.assert_allclose(P, model.predict_proba(table), rtol=0, atol=1e-12)


def test_categories_written_as_words(session, path):
    table = mixed_table(200)[["town", "sex"]]
    fill, encode = SimpleImputer(strategy="most_frequent"), OneHotEncoder(sparse_output=False)
    model = make_pipeline(CategoryWords(), fill, encode, BootstrapSVC(**SMALL))
    proto = to_onnx(model.fit(table, table["sex"] == "m"))
    _, P = session(proto).run(None, as_inputs(table, proto))
    np.testing.assert_allclose(P, model.predict_proba(table), rtol=0, atol=1e-12)
    save(model, path)
    np.testing.assert_array_equal(load(path).predict_proba(table), model.predict_proba(table))


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


def test_numbers_as_categories(assert_equal):
    rows = np.column_stack([RNG.integers(0, 3, 200), RNG.integers(0, 2, 200)]).astype(float)
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    model = make_pipeline(encode, BootstrapSVC(**SMALL)).fit(rows, rows[:, 0] > RNG.random(200))
    assert_equal(model, np.vstack([rows, [[7.0, 0.0]]]))


def test_a_missing_number_as_a_category(assert_equal):
    codes = np.where(RNG.random(len(X)) < 0.2, np.nan, np.round(X[:, 0]).clip(-1, 1))
    table = np.column_stack([X[:, 1:3], codes])
    steps = make_column_transformer((StandardScaler(), [0, 1]), (OneHotEncoder(), [2]))
    model = make_pipeline(steps, BootstrapSVC(calibration="platt", **SMALL)).fit(table, y)
    other = table.copy()
    other[:, 2] = np.where(np.isnan(codes), 0.0, np.nan)
    assert not np.allclose(model.predict_proba(table), model.predict_proba(other))
    for rows in (table, other):
        assert_equal(model, rows)


@pytest.mark.skipif(not hasattr(MaxAbsScaler(), "clip"), reason="clip came with scikit-learn 1.9")
def test_values_beyond_the_largest_are_clipped(assert_equal):
    model = make_pipeline(MaxAbsScaler(clip=True), BootstrapSVC(calibration="platt", **SMALL))
    assert_equal(model.fit(X, y), 3.0 * NEW)


def test_weights_of_transformers_are_refused():
    steps = ColumnTransformer([("a", StandardScaler(), [0, 1])], transformer_weights={"a": 5.0})
    model = make_pipeline(steps, BootstrapSVC(**SMALL)).fit(X, y)
    with pytest.raises(ValueError, match="transformer_weights cannot be exported"):
        to_onnx(model)


def test_labels_of_64_bits_are_refused():
    model = BootstrapSVC(**SMALL).fit(X, y.astype(np.uint64) + np.uint64(2**63))
    with pytest.raises(ValueError, match="the label 9223372036854775809 has more than 63 bits"):
        to_onnx(model)


@pytest.mark.parametrize("name", ["", "/constant_0"])
def test_names_that_onnx_cannot_take(name):
    table = mixed_table(60)[["town"]].fillna("none").rename(columns={"town": name})
    steps = make_column_transformer((OneHotEncoder(sparse_output=False), [name]))
    model = make_pipeline(steps, BootstrapSVC(**SMALL)).fit(table, np.arange(60) % 2)
    with pytest.raises(ValueError, match="has a name that ONNX cannot take"):
        to_onnx(model)
