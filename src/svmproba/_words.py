"""Categories as words: the same cell is the same word, whatever type the table gives it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

#: Cells that count as missing, after spaces around them are taken away.
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "?", "#N/A")
#: Different spellings of one integer, truth value or time: patterns, and what is written instead.
SAME_WORDS = (
    (r"^([-+]?\d+)\.0*$", r"\1"),
    (r"^(?i:true)$", "True"),
    (r"^(?i:false)$", "False"),
    (r"^(\d{4}-\d{2}-\d{2})[ T]00:00:00(?:\.0*)?$", r"\1"),
    (r"^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2}(?:\.\d*[1-9])?)(?:\.?0*)$", r"\1 \2"),
)
#: How NumPy and pandas write missing cells of other types than numbers.
_NO_WORDS = {*MISSING, "<NA>", "NaT"}


class CategoryWords(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Write the cells of categories as words, NaN where they are missing.

    The command line compares categories as words. With this step before its encoder, a saved model
    finds them in tables of other types, too: the truth value `True`, the integer 1 and the number
    1.0 are the words ``True``, ``1`` and ``1``.

    Examples
    --------
    >>> import pandas as pd
    >>> from svmproba._words import CategoryWords
    >>> table = pd.DataFrame({"paid": [True, False], "code": [1.0, None]})
    >>> CategoryWords().fit_transform(table).tolist()
    [['True', '1'], ['False', nan]]
    """

    def fit(self, X: Any, y: object = None) -> CategoryWords:
        """Keep the names of the columns."""
        validate_data(self, X, skip_check_array=True)
        return self

    def transform(self, X: Any) -> NDArray[np.object_]:
        """Write each column of a table as words."""
        check_is_fitted(self, "n_features_in_")
        validate_data(self, X, reset=False, skip_check_array=True)
        names = getattr(X, "columns", None)
        n = self.n_features_in_
        columns = [X[:, k] for k in range(n)] if names is None else [X[name] for name in names]
        return np.stack([_words(np.asarray(column)) for column in columns], axis=1)


def _words(cells: NDArray[Any]) -> NDArray[np.object_]:
    """Words of a column; each different cell is written once."""
    keys = [(type(cell), cell) for cell in cells]  # True and 1 are equal
    written = {key: _word(key[1]) for key in set(keys)}
    return np.array([written[key] for key in keys], dtype=object)


def _word(cell: object) -> object:
    word = str(cell).strip()
    if word in _NO_WORDS:
        return np.nan
    for pattern, spelling in SAME_WORDS:
        word = re.sub(pattern, spelling, word)
    return word
