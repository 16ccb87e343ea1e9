"""Contributions through pipelines: every encoded column finds its column of the table."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from svmproba import BootstrapSVC
from svmproba.evaluation import explain
from svmproba.evaluation.explanations import original_columns

rng = np.random.default_rng(0)
n = 90
X = pd.DataFrame(
    {
        "age": rng.normal(40, 10, n),
        "job": rng.choice(["cook", "clerk", "judge"], n),
        "job_years": rng.normal(5, 2, n),  # as if it were a dummy of job
        "rare": rng.choice(["a", "b", "c", "d"], n, p=[0.5, 0.4, 0.05, 0.05]),
        "empty": np.full(n, np.nan),
    }
)
y = X["age"] + 10 * (X["job"] == "cook") + rng.normal(0, 5, n) > 44


def model(*steps):
    return make_pipeline(*steps, BootstrapSVC([0.1], n_bootstraps=20, random_state=0))


NUMBERS = make_pipeline(SimpleImputer(), StandardScaler())


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
@pytest.mark.parametrize(
    ("encoder", "widths"),
    [
        (OneHotEncoder(), {"job": 3, "rare": 4}),
        (OneHotEncoder(drop="first"), {"job": 2, "rare": 3}),
        (OneHotEncoder(min_frequency=0.1, sparse_output=False), {"job": 3, "rare": 3}),
    ],
)
def test_dummies_are_added_to_their_column(encoder, widths):
    encode = make_column_transformer(
        (encoder, ["job", "rare"]), (NUMBERS, ["age", "job_years", "empty"])
    )
    fitted = model(encode).fit(X, y)
    expected = [name for name in ("job", "rare") for _ in range(widths[name])]
    assert original_columns(fitted) == [*expected, "age", "job_years"]
    found = explain(fitted, X)
    assert found.names == ["job", "rare", "age", "job_years"]
    rows = encode.transform(X)
    single = fitted[-1].contributions(rows).values
    np.testing.assert_allclose(
        found.values[:, 0], single[:, : widths["job"]].sum(axis=1), atol=1e-12
    )
    mean = fitted[-1].contributions(rows).base
    scores = np.asarray(rows @ fitted[-1].mean_coef_) + fitted[-1].mean_intercept_
    np.testing.assert_allclose(found.values.sum(axis=1), scores - mean, atol=1e-9)
    # The column decides, not the other columns of the record.
    assert len(np.unique(found.values[:, 0].round(12))) == 3


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([StandardScaler()], ["age", "job_years"]),
        ([StandardScaler(), SelectKBest(k=1)], ["age"]),
        ([StandardScaler(), PCA(2)], ["pca0", "pca1"]),
        ([FeatureUnion([("a", StandardScaler()), ("b", StandardScaler())])], 4),
        ([FunctionTransformer(np.asarray)], ["column 1", "column 2"]),
        ([make_column_transformer((StandardScaler(), slice(0, 1)), remainder="passthrough")],
         ["age", "job_years"]),
        ([make_column_transformer((StandardScaler(), [True, False]))], ["age"]),
        ([make_column_transformer(("drop", ["age"]), ("passthrough", ["job_years"]))],
         ["job_years"]),
    ],
)  # fmt: skip
def test_steps(steps, expected):
    names = original_columns(model(*steps).fit(X[["age", "job_years"]], y))
    if expected == 4:  # without knowing, no columns are joined
        assert len(set(names)) == 4
    else:
        assert names == expected


def test_arrays_and_bare_ensembles():
    rows = X[["age", "job_years"]].to_numpy()
    bare = BootstrapSVC([0.1], n_bootstraps=20, random_state=0).fit(rows, y)
    assert explain(bare, rows[:2]).names == ["x0", "x1"]
    piped = model(StandardScaler()).fit(rows, y)
    assert explain(piped, rows[:2]).names == ["x0", "x1"]
    background = rows[:5]
    centred = explain(piped, background, background=background).values.mean(axis=0)
    np.testing.assert_allclose(centred, 0, atol=1e-12)


def test_a_transformer_without_columns_is_not_fitted():
    columns = make_column_transformer((NUMBERS, ["age"]), (OneHotEncoder(), []))
    assert original_columns(model(columns).fit(X[["age", "job_years"]], y)) == ["age"]


def test_other_models_are_refused():
    with pytest.raises(TypeError, match=r"model must be a BootstrapSVC.*got LogisticRegression"):
        explain(LogisticRegression(), X)
