import numpy as np
import pytest

from svmproba.evaluation._classifiers import class_names_in


@pytest.mark.parametrize(
    ("positive", "names"),
    [
        ([False, True], ("a", "b")),
        ([True, False], ("b", "a")),
        ([True, True], ("negative", "a")),
        ([False, False], ("other classes", "positive")),
    ],
)
def test_classes_are_named_by_their_labels(positive, names):
    assert class_names_in(np.array(["a", "b"]), np.array(positive)) == names


def test_several_other_classes_have_one_name():
    labels = np.array(["a", "b", "c"])
    assert class_names_in(labels, labels == "b") == ("other classes", "b")
