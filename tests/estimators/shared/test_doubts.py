"""What is said of fits whose results are doubtful."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from svmproba.estimators.shared.doubts import _doubts_of, warn_of_gaps


def test_gaps_above_the_tolerance_are_counted():
    warn_of_gaps(np.array([[0.1, 0.05]]), tol=0.1)
    with pytest.warns(ConvergenceWarning, match=r"2 of 4 SVMs .* tol=0.1; the largest is 0.35\."):
        warn_of_gaps(np.array([[0.1, 0.2], [0.35, 0.0]]), tol=0.1)
    with pytest.warns(ConvergenceWarning, match=r"1 of 2 SVMs .* the largest is nan"):
        warn_of_gaps(np.array([0.1, np.nan]), tol=0.1)


def ensemble(**changes):
    fitted = {
        "counts": np.array([[0, 1, 1], [2, 0, 1], [1, 1, 0]]),
        "reliability": np.array([0.8, 0.9]),
        "vote_proba": np.array([0.2, np.nan, 0.8]),
        "is_calibrated": False,
        "score_scales": np.array([1.0, np.inf]),
    }
    return SimpleNamespace(**fitted | changes)


def test_a_sound_fit_has_no_doubts():
    assert _doubts_of(ensemble(), "accuracy") == []
    assert _doubts_of(ensemble(is_calibrated=True), "accuracy") == []
    # Calibrated probabilities may lie close together.
    alike = np.full(3, 0.5)
    assert _doubts_of(ensemble(is_calibrated=True, vote_proba=alike), "accuracy") == []
    assert _doubts_of(ensemble(vote_proba=np.array([0.5, 0.51])), "accuracy") == []
    assert _doubts_of(ensemble(vote_proba=np.full(3, np.nan)), "accuracy") == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"counts": np.array([[1, 1, 1], [2, 0, 1]])}, "2 samples are in every bag"),
        ({"counts": np.array([[1, 1, 1], [2, 0, 1]])}, "n_bootstraps=2 is small"),
        ({"reliability": np.array([0.8, np.nan])}, "'tpr' is defined in none of the 3 bags"),
        ({"vote_proba": np.array([0.5, 0.509])}, "are alike (0.5 to 0.509)"),
        ({"is_calibrated": True, "score_scales": np.full(2, np.inf)}, "the same score"),
    ],
)
def test_doubts(changes, said):
    (found,) = _doubts_of(ensemble(**changes), "tpr")
    assert said in found
