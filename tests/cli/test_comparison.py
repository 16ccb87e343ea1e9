"""Methods of ``svmproba compare`` equal scikit-learn's cross-validation of the estimators."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from svmproba import BootstrapSVC, PosteriorProbabilitySVC, ProbabilitySVC
from svmproba.cli.comparison import (
    MethodResult,
    check_methods,
    compare_methods,
    families_of,
    to_text,
)
from svmproba.cli.errors import InputError
from svmproba.preparation.performance import Summary
from svmproba.preparation.preprocessing import make_preprocessor

BAGS = {"n_bootstraps": 40, "random_state": 3}
TWINS = {
    "fit": BootstrapSVC(**BAGS, calibration="auto", kernel="auto"),
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


def result(method, *figures, loss, seconds):
    return MethodResult(method, np.empty(0), Summary(*figures), loss, seconds)


def test_a_star_marks_the_best_of_each_column():
    nan = float("nan")
    results = [
        result("ebb", 0.1, 0.01, 0.3, 0, 0.02, 0, 0.9, 0, loss=0.5, seconds=2.04),
        result("platt", 0.2, 0.02, nan, 0, 0.01, 0, 0.8, 0, loss=0.4, seconds=1.96),
        result("tao", 0.30004, 0.1, 0.2, 0, nan, 0, nan, 0, loss=0.6, seconds=12.0),
    ]
    cells = [line.split() for line in to_text(results).splitlines()]
    assert " ".join(cells[0]) == "method MSE ± s.e. MSE+ MSE- AUC log loss seconds"
    assert cells[2][-7:] == ["0.1000*", "0.0100", "0.3000", "0.0200", "0.9000*", "0.5000", "2.0*"]
    assert cells[3][-7:] == ["0.2000", "0.0200", "nan", "0.0100*", "0.8000", "0.4000*", "2.0*"]
    assert cells[4][-7:] == ["0.3000", "0.1000", "0.2000*", "nan", "nan", "0.6000", "12.0"]


def test_columns_of_the_table_end_below_each_other():
    one = result("ebb", 0.1, 0.01, 0.3, 0, 0.02, 0, 0.9, 0, loss=0.5, seconds=2.0)
    head, rule, *rows = to_text([one, one._replace(method="platt", seconds=200.0)]).splitlines()
    assert rule == "-" * max(map(len, [head, *rows]))
    for name, cell in (("MSE", "0.1000*"), ("± s.e.", "0.0100"), ("AUC", "0.9000*")):
        ends = {head.index(name) + len(name), *(row.index(cell) + len(cell) for row in rows)}
        assert len(ends) == 1
    assert head.startswith("method  ")
    assert to_text([one]).count("*") == 0  # a method alone is not the best


def test_methods_are_those_of_the_table():
    assert check_methods(["tao", "ebb", "fit"]) == ("fit", "ebb", "tao")
    assert set(check_methods([])) == set(TWINS)
    with pytest.raises(InputError, match=r"--methods must be of fit, ebb, .*; got x, y"):
        check_methods(["ebb", "x", "y"])


def test_folds_need_two_records_of_either_class(task):
    few = replace(task, y=np.where(np.arange(len(task.y)) < 16, "yes", "no"))
    with pytest.raises(InputError, match="--folds 9 needs 18 records of every class, 'yes' has 16"):
        compare_methods(few, [], n_folds=9)
    assert compare_methods(few, [], n_folds=8) == []
