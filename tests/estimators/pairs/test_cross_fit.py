from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.model_selection import LeaveOneOut
from sklearn.preprocessing import scale

from svmproba import ProbabilitySVC

X, y = make_classification(150, 5, n_informative=3, flip_y=0.1, random_state=3)
X = scale(X)
IRIS, SPECIES = load_iris(return_X_y=True)
IRIS = scale(IRIS)[:, :2]  # the classes overlap


def small(**params):
    defaults = {"Cs": [0.1, 1.0], "random_state": 0}
    return ProbabilitySVC(**(defaults | params))


def test_a_fold_that_leaves_one_class_has_libsvms_scores():
    splits = [(np.flatnonzero(y == 0), np.flatnonzero(y == 1))]
    splits.append(splits[0][::-1])
    with pytest.warns(UserWarning, match=r"order the classes 0 and 1 the wrong way .*0\.00"):
        model = small(cv=splits).fit(X, y)
    np.testing.assert_array_equal(model.cv_scores_, np.where(y == 1, -1, 1))


def test_a_fold_that_leaves_no_class_of_a_pair_scores_zero():
    first = np.flatnonzero(SPECIES == 0)
    others = np.flatnonzero(SPECIES != 0)
    with pytest.warns(UserWarning, match="the wrong way"):
        model = small(cv=[(first, others), (others, first)]).fit(IRIS, SPECIES)
    scores = model.cv_scores_
    np.testing.assert_array_equal(scores[others], np.tile([-1, -1, 0], (100, 1)))
    np.testing.assert_array_equal(scores[first, :2], np.ones((50, 2)))
    assert len(np.unique(scores[first, 2])) > 10


def test_folds_hold_both_classes():
    rare = np.arange(150) < 5
    model = ProbabilitySVC(Cs=1.0, random_state=0).fit(X + rare[:, None], rare)
    assert np.isfinite(model.cv_scores_).all()
    assert len(np.unique(model.cv_scores_[rare])) == 5


def test_leave_one_out():
    model = small(cv=LeaveOneOut()).fit(X[:30], y[:30])
    assert np.isfinite(model.cv_scores_).all()


def test_unconverged_svms_are_warned_of(monkeypatch):
    import svmproba.estimators.pairs.cross_fit as module

    fit = module.fit_ensemble
    monkeypatch.setattr(
        module, "fit_ensemble", lambda *a, **k: fit(*a, **k)._replace(gap=np.full((2, 6), 0.1))
    )
    with pytest.warns(UserWarning, match="did not reach a relative duality gap"):
        small().fit(X, y)
