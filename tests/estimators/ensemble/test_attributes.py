"""Attributes of a fitted ensemble belong to its arrays."""

import numpy as np
import pytest

from svmproba import BootstrapSVC
from svmproba.estimators.ensemble.attributes import Fitted, FittedAttributes

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


def test_copies_share_the_arrays(model):
    other = model.with_rate(tpr=0.99, exceed=False).with_calibration("platt")
    for name in ("intercept_", "counts_", "oob_scores_", "weights_"):
        assert getattr(other, name) is getattr(model, name)
    assert model.calibrator_ is None
    assert model.threshold_ == 0
