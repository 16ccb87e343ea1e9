"""Intervals of the probabilities of several classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from svmproba import BootstrapSVC
from svmproba.bootstrap.intervals import simulation_interval


@pytest.mark.parametrize("calibration", [None, "platt", "auto"])
@pytest.mark.filterwarnings("ignore:The sampling variance:UserWarning")
def test_limits_hold_the_probability(four_classes, model, calibration):
    X = four_classes[0][::5]
    one = model.with_calibration(calibration)
    P = one.predict_proba(X)
    for kind in ("simulation", "sampling"):
        limits = one.predict_proba_interval(X, kind=kind)
        assert limits.shape == (len(X), 4, 2)
        assert (limits[..., 0] <= P + 1e-9).all()
        assert (limits[..., 1] >= P - 1e-9).all()
    wide, narrow = (one.predict_proba_interval(X, c, kind="simulation") for c in (0.99, 0.5))
    assert (np.ptp(wide, axis=2) >= np.ptp(narrow, axis=2)).all()


def test_simulation_limits_are_those_of_the_calls_of_every_bag(four_classes, model):
    X = four_classes[0][:10]
    scores = np.concatenate([part for _, part in model.member_scores(X)], axis=-1)
    wins = np.zeros((4, *scores.shape[1:]))
    for (first, second), of_pair in zip(model.pairs_, scores, strict=True):
        wins[second] += of_pair > 0
        wins[first] += of_pair < 0
    called = wins == wins.max(axis=0)
    mixed = np.einsum("t,ktbn->kbn", model.weights_, called / called.sum(axis=0))
    limits = model.predict_proba_interval(X, kind="simulation")
    for k in range(4):
        assert_allclose(limits[:, k], np.column_stack(simulation_interval(mixed[k])), atol=1e-9)


def test_two_classes_only(four_classes, model):
    X, _ = four_classes
    with pytest.raises(ValueError, match="kind='venn_abers' needs two classes"):
        model.predict_proba_interval(X, kind="venn_abers")
    with pytest.raises(ValueError, match="score_interval needs two classes, got 4"):
        model.score_interval(X)


def test_warning_names_the_bags(four_classes):
    X, y = four_classes
    few = BootstrapSVC(1.0, n_bootstraps=20, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="n_bootstraps=20 is small for 178 training samples"):
        few.predict_proba_interval(X[:3])
