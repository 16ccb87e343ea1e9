import numpy as np
import pytest

from svmproba.evaluation._classifiers import class_names_in


@pytest.mark.parametrize(
    ("positive", "names"),
    [
        ([False, True], ("a", "b")),
        ([True, False], ("b", "a")),
        ([True, True], ("negative", "a")),
        ([False, False], ("a", "positive")),
    ],
)
def test_classes_are_named_by_their_labels(positive, names):
    assert class_names_in(np.array(["a", "b"]), np.array(positive)) == names
