"""The same cell is the same word, whatever type the table gives it."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from svmproba._words import CategoryWords
from svmproba.cli.input.cells import to_words

NAN, NA = float("nan"), pd.NA
COLUMNS = {
    "truth": (np.array([True, False]), ["True", "False"]),
    "text of truth": (["true", "FALSE", "TRUE"], ["True", "False", "True"]),
    "integers": (np.array([1, -20, 0]), ["1", "-20", "0"]),
    "whole numbers": (np.array([1.0, -20.0, NAN]), ["1", "-20", None]),
    "numbers": (np.array([1.5, 1e-9]), ["1.5", "1e-09"]),
    "narrow numbers": (np.array([0.1, 2.0], dtype=np.float32), ["0.1", "2"]),
    "text of numbers": (["1.0", "1.50", " 1"], ["1", "1.50", "1"]),
    "text": (["a ", "a", None, "", "NA", "?"], ["a", "a", None, None, None, None]),
    "nullable integers": (pd.array([1, None], "Int64"), ["1", None]),
    "nullable truth": (pd.array([True, None], "boolean"), ["True", None]),
    "nullable text": (pd.array(["x", None], "string"), ["x", None]),
    "categories": (pd.Categorical(["b", None, "a"]), ["b", None, "a"]),
    "days": (pd.to_datetime(["2024-03-01", None]), ["2024-03-01", None]),
    "moments": (pd.to_datetime(["2024-03-01 12:30:00.250"]), ["2024-03-01 12:30:00.25"]),
    "dates": ([datetime.date(2024, 3, 1)], ["2024-03-01"]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_words(name):
    cells, words = COLUMNS[name]
    table = pd.DataFrame({"a": cells})
    found = CategoryWords().fit_transform(table)
    assert found.shape == (len(words), 1)
    assert found.dtype == object
    assert [None if word != word else word for word in found[:, 0]] == words


@pytest.mark.parametrize("name", COLUMNS)
def test_the_command_line_writes_the_same_words(name):
    pa = pytest.importorskip("pyarrow")
    cells, words = COLUMNS[name]
    column = pa.Table.from_pandas(pd.DataFrame({"a": cells})).column("a")
    assert to_words(column).to_pylist() == words


def test_equal_cells_of_several_types_in_one_column():
    cells = np.array([True, 1, 1.0, "1", "True", 0, False], dtype=object)
    found = CategoryWords().fit_transform(cells[:, None])[:, 0]
    assert found.tolist() == ["True", "1", "1", "1", "True", "0", "False"]


def test_tables_of_every_kind():
    table = pd.DataFrame({"b": [True, False], "a": ["x", "y"]})
    expected = [["True", "x"], ["False", "y"]]
    assert CategoryWords().fit_transform(table).tolist() == expected
    assert CategoryWords().fit_transform(table.to_numpy()).tolist() == expected
    assert CategoryWords().fit_transform(pl.from_pandas(table)).tolist() == expected


def test_as_a_step():
    model = make_pipeline(CategoryWords(), OneHotEncoder(sparse_output=False))
    rows = model.fit_transform(pd.DataFrame({"code": [1, 2, 1], "paid": ["yes", "no", "no"]}))
    again = model.transform(pd.DataFrame({"code": [1.0, 2.0, 1.0], "paid": ["yes", "no", "no"]}))
    np.testing.assert_array_equal(rows, again)
    names = ["code_1", "code_2", "paid_no", "paid_yes"]
    assert model.get_feature_names_out().tolist() == names


def test_other_columns_are_refused():
    step = CategoryWords().fit(pd.DataFrame({"a": ["x"], "b": ["y"]}))
    with pytest.raises(ValueError, match="feature names"):
        step.transform(pd.DataFrame({"b": ["x"], "a": ["y"]}))
    step = CategoryWords().fit(np.array([["x", "y"]]))
    with pytest.raises(ValueError, match="expecting 2 features"):
        step.transform(np.array([["x", "y", "z"]]))
    with pytest.raises(NotFittedError):
        CategoryWords().transform(np.array([["x"]]))
