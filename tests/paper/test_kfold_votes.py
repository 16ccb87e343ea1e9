from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from svmproba import BootstrapSVC
from svmproba.paper.kfold_votes import kfold_scores


@pytest.fixture(scope="module")
def wisconsin():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    return X[:500], y[:500], X[500:]


def test_leave_one_out_by_libsvm():
    """With as many folds as records each SVM lacks one record, whatever the folds."""
    X, y = make_classification(30, 3, n_informative=2, n_redundant=0, random_state=0)
    new = X[:4] + 0.1
    found = np.sort(kfold_scores(X, y, new, n_folds=30, C=0.5, tol=1e-7), axis=1)
    twins = []
    for i in range(30):
        model = SVC(kernel="linear", C=0.5, tol=1e-6)
        twins.append(model.fit(np.delete(X, i, axis=0), np.delete(y, i)).decision_function(new))
    assert found == pytest.approx(np.sort(np.array(twins).T, axis=1), abs=1e-3)


def test_scores_draw_together_as_folds_grow_but_those_of_bags_do_not(wisconsin):
    X, y, new = wisconsin
    spread = [kfold_scores(X, y, new, n_folds=k, C=1.0).std(axis=1).mean() for k in (5, 20, 100)]
    assert spread[0] > 1.5 * spread[1] > 2.25 * spread[2]
    bags = [
        BootstrapSVC(1.0, n_bootstraps=B, random_state=0).fit(X, y).member_scores(new)
        for B in (20, 100)
    ]
    of_bags = [np.mean([f.std(axis=1).mean() for _, f in blocks]) for blocks in bags]
    assert of_bags[1] > 0.8 * of_bags[0] > 2 * spread[1]


def test_nearly_all_votes_are_unanimous(wisconsin):
    X, y, new = wisconsin
    scores = kfold_scores(X, y, new, n_folds=20, C=0.5, random_state=3)
    assert scores.shape == (len(new), 20)
    shares = (scores > 0).mean(axis=1)
    assert np.mean((shares == 0) | (shares == 1)) > 0.95


@pytest.mark.parametrize("n_folds", [1, 501])
def test_impossible_numbers_of_folds(wisconsin, n_folds):
    with pytest.raises(ValueError, match=f"n_folds must be from 2 to the 500 .* got {n_folds}"):
        kfold_scores(*wisconsin, n_folds=n_folds)
