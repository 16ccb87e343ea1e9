"""The paper's preprocessing, fitted on the training part alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from svmproba._words import CategoryWords

if TYPE_CHECKING:
    import pandas as pd


def make_preprocessor(X: pd.DataFrame, *, any_types: bool = False) -> ColumnTransformer:
    """Build the paper's preprocessing for a table, of which names and types of columns are used.

    Numbers: median, then mean 0 and variance 1. Categories and text: mode, then a column for each
    known one. Dates are dropped. With `any_types` categories are compared as words.
    """
    numbers = list(X.select_dtypes("number").columns)
    categories = list(X.select_dtypes(exclude=["number", "datetime", "datetimetz"]).columns)
    number = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )
    category = make_pipeline(
        *([CategoryWords()] if any_types else []),
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    return ColumnTransformer(
        [("numbers", number, numbers), ("categories", category, categories)], remainder="drop"
    )
