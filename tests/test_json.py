"""Values as JSON can hold them."""

import json

import numpy as np

from svmproba._json import plain


def test_arrays_scalars_and_numbers_that_json_lacks():
    found = {"a": np.array([1.5, np.nan]), 2: (np.float32(0.5), np.int64(3)), "b": [float("-inf")]}
    assert plain(found) == {"a": [1.5, None], "2": [0.5, 3], "b": [None]}
    assert json.loads(json.dumps(plain(found), allow_nan=False)) == plain(found)
    assert plain(np.bool_(True)) is True
    assert plain("text") == "text"
