import numpy as np
import pandas as pd

from svmproba.preparation.preprocessing import make_preprocessor

TRAIN = pd.DataFrame(
    {
        "size": [1.0, 3.0, np.nan, 100.0],
        "flat": [5, 5, 5, 5],
        "color": ["red", np.nan, "red", "blue"],
        "code": pd.Categorical(["1", "2", None, "2"]),
        "day": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04"]),
    }
)


def test_training_part():
    rows = make_preprocessor(TRAIN).fit_transform(TRAIN)
    filled = np.array([1.0, 3.0, 3.0, 100.0])  # median of 1, 3 and 100
    expected = np.column_stack(
        [
            (filled - filled.mean()) / filled.std(),
            np.zeros(4),
            [0, 0, 0, 1],  # color blue; the mode is red
            [1, 1, 1, 0],  # color red
            [1, 0, 0, 0],  # code 1; the mode is 2
            [0, 1, 1, 1],
        ]
    )
    assert rows.dtype == np.float64
    np.testing.assert_allclose(rows, expected, atol=1e-12)


def test_test_part_uses_what_training_taught():
    preprocessor = make_preprocessor(TRAIN).fit(TRAIN)
    test = pd.DataFrame(
        {
            "size": [np.nan, 1.0],
            "flat": [5, 9],
            "color": ["green", np.nan],
            "code": pd.Categorical(["3", "1"]),
            "day": pd.to_datetime(["2021-01-01", "2021-01-02"]),
        }
    )
    rows = preprocessor.transform(test)
    seen = preprocessor.transform(TRAIN)
    assert rows[0, 0] == seen[1, 0]  # missing becomes the training median
    assert rows[1, 0] == seen[0, 0]
    np.testing.assert_array_equal(rows[0, 2:], 0)  # categories never seen
    np.testing.assert_array_equal(rows[1, 2:], [0, 1, 1, 0])


def test_column_missing_throughout_stays_zero():
    X = pd.DataFrame({"a": [np.nan, np.nan, np.nan], "b": [1.0, 2.0, 3.0]})
    rows = make_preprocessor(X).fit_transform(X)
    assert rows.shape == (3, 2)
    np.testing.assert_array_equal(rows[:, 0], 0)


def test_only_numbers_or_only_categories():
    assert make_preprocessor(TRAIN[["size"]]).fit_transform(TRAIN[["size"]]).shape == (4, 1)
    assert make_preprocessor(TRAIN[["color"]]).fit_transform(TRAIN[["color"]]).shape == (4, 2)


def test_many_categories_are_dense():
    X = pd.DataFrame({"letter": list("abcdefghijklmnop")})
    np.testing.assert_array_equal(make_preprocessor(X).fit_transform(X), np.eye(16))
