"""Our estimators, scorers and displays inside skore's EstimatorReport."""

import pytest
from sklearn.base import clone

from svmproba.evaluation import RateDisplay, ReliabilityDisplay, ScoreHistogramDisplay, cost_scorer

skore = pytest.importorskip("skore", reason="no skore to work with")
pytestmark = pytest.mark.usefixtures("closed_figures")

POSITIVE = {"ensemble": "yes", "calibrated": "yes", "pipeline": "no"}


@pytest.fixture(params=list(POSITIVE))
def report(request, data, new_data):
    """Report of a model that skore fits itself."""
    (X, y), (X_new, y_new) = data, new_data
    return skore.EstimatorReport(
        clone(request.getfixturevalue(request.param)),
        X_train=X,
        y_train=y,
        X_test=X_new,
        y_test=y_new,
        pos_label=POSITIVE[request.param],
    )


def test_metrics_and_pictures(report):
    frame = report.metrics.summarize().frame()
    assert {"accuracy", "recall", "roc_auc", "brier_score", "log_loss"} <= set(frame.index)
    assert report.metrics.accuracy() == report.estimator_.score(report.X_test, report.y_test)
    for name in ("roc", "precision_recall", "confusion_matrix"):
        getattr(report.metrics, name)().plot()
    assert report.inspection.permutation_importance(n_repeats=2, seed=0).frame().size
    assert report._repr_html_()


@pytest.mark.parametrize("display", [ReliabilityDisplay, ScoreHistogramDisplay, RateDisplay])
def test_displays_draw_the_estimator_of_a_report(report, display):
    drawn = display.from_estimator(report.estimator_, report.X_test, report.y_test)
    assert drawn.figure_ is drawn.ax_.figure


def test_costs_are_a_metric(calibrated, new_data):
    X, y = new_data
    report = skore.EstimatorReport(calibrated, X_test=X, y_test=y, pos_label="yes")
    scorer = cost_scorer(fn_cost=3.0)
    report.metrics.add(scorer, name="cost")
    told = report.metrics.summarize(metric="cost").frame()
    assert told.to_numpy().ravel()[-1] == pytest.approx(scorer(calibrated, X, y))
