"""Methods of ``svmproba compare`` equal scikit-learn's cross-validation of the estimators."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from svmproba import BootstrapSVC, PosteriorProbabilitySVC, ProbabilitySVC
from svmproba.cli.comparison import compare_methods, families_of, to_text
from svmproba.preparation.preprocessing import make_preprocessor

BAGS = {"n_bootstraps": 40, "random_state": 3}
TWINS = {
    "ebb": BootstrapSVC(**BAGS),
    "ebb_calibrated": BootstrapSVC(**BAGS, calibration="auto"),
    "ebb_best": BootstrapSVC(**BAGS, epsilon=0.0),
    "platt": ProbabilitySVC("platt", cv=10, random_state=3),
    "sollich": ProbabilitySVC("sollich", cv=10, random_state=3),
    "tao": PosteriorProbabilitySVC(10**0.5, cv=10, random_state=3),
    "linear_svc": CalibratedClassifierCV(LinearSVC(random_state=3)),
}


@pytest.mark.parametrize("method", TWINS)
def test_equals_cross_val_predict(task, method):
    said = []
    (result,) = compare_methods(
        task, [method], n_folds=3, n_bootstraps=40, n_jobs=1, seed=3, report=said.append
    )
    y = (task.y == "yes").astype(int)
    model = make_pipeline(make_preprocessor(task.X), TWINS[method])
    folds = StratifiedKFold(3, shuffle=True, random_state=3)
    proba = cross_val_predict(model, task.X, y, cv=folds, method="predict_proba")[:, 1]
    np.testing.assert_allclose(result.proba, proba, atol=1e-12)
    assert result.summary.mse == pytest.approx(brier_score_loss(y, proba))
    assert result.log_loss == pytest.approx(log_loss(y, proba))
    assert result.seconds > 0
    assert said == [f"{method}, fold {k}" for k in (1, 2, 3)]
    assert result.to_dict()["name"] in to_text([result])


def test_methods_that_share_a_fit():
    assert families_of(["ebb", "ebb_best", "tao"]) == [("ebb", "ebb_best"), ("tao",)]
    assert families_of(["platt"]) == [("platt",)]
