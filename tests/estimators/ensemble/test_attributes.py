"""Attributes of a fitted ensemble belong to its arrays."""

from types import SimpleNamespace

import numpy as np
import pytest

from svmproba import BootstrapSVC
from svmproba.estimators.ensemble.attributes import Fitted, FittedAttributes, n_landmarks

FITTED = {
    name: value for name, value in vars(FittedAttributes).items() if isinstance(value, Fitted)
}
NAMES = [name for name, value in FITTED.items() if value._n_classes != "more than two"]
OF_SEVERAL = [name for name, value in FITTED.items() if value._n_classes != "two"]


@pytest.fixture(scope="module")
def model():
    X = np.random.default_rng(0).normal(size=(40, 2))
    return BootstrapSVC(1.0, n_bootstraps=20, random_state=0).fit(X, X[:, 0] > 0)


@pytest.mark.parametrize("name", [*NAMES, "member_coef_", "oob_proba_"])
def test_attributes_appear_with_the_fit(name, model):
    assert hasattr(model, name)
    assert not hasattr(BootstrapSVC(), name)
    with pytest.raises(AttributeError):
        setattr(model, name, 0.0)


@pytest.mark.parametrize("name", [*OF_SEVERAL, "member_coef_", "oob_proba_", "oob_score_"])
def test_attributes_of_several_classes(name):
    X = np.random.default_rng(0).normal(size=(40, 2))
    several = BootstrapSVC(1.0, n_bootstraps=20, random_state=0).fit(X, np.arange(40) % 3)
    assert hasattr(several, name)


def test_landmarks_are_the_most_of_any_kernel():
    """Those of exact kernels do not count."""

    def feature_map(n_pivots, exact):
        return SimpleNamespace(pivots=np.arange(n_pivots), exact=exact)

    def ensemble(*maps):
        return SimpleNamespace(members=SimpleNamespace(feature_maps=maps))

    assert n_landmarks(ensemble(feature_map(9, True), feature_map(0, True))) == 0
    assert n_landmarks(ensemble(feature_map(9, True), feature_map(3, False))) == 3
    assert n_landmarks(ensemble(feature_map(5, False), feature_map(3, False))) == 5


def test_copies_share_the_arrays(model):
    other = model.with_rate(tpr=0.99, exceed=False).with_calibration("platt")
    for name in ("intercept_", "counts_", "oob_scores_", "weights_"):
        assert getattr(other, name) is getattr(model, name)
    assert model.calibrator_ is None
    assert model.threshold_ == 0
