from __future__ import annotations

import numpy as np
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from svmproba.estimators.pairs.links import class_scores


def test_class_scores_are_libsvms():
    X, y = load_iris(return_X_y=True)
    twin = SVC(kernel="linear", decision_function_shape="ovo").fit(X, y)
    pairwise = -twin.decision_function(X)
    twin.decision_function_shape = "ovr"
    np.testing.assert_allclose(class_scores(pairwise, 3), twin.decision_function(X), rtol=1e-9)


def test_class_scores_by_hand():
    found = class_scores(np.array([[-1.0, -2.0, 1.0]]), 3)
    np.testing.assert_allclose(found, [[2 + 3 / 12, -2 / 9, 1 - 1 / 6]])


def test_a_score_of_zero_is_a_vote_for_the_first_class():
    scores = class_scores(np.zeros((1, 3)), 3)
    assert scores.tolist() == [[2.0, 1.0, 0.0]]
