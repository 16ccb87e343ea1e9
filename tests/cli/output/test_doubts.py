"""Limits of the figures of a fit, by other programs."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import binomtest, ttest_1samp

from svmproba.cli.output.doubts import findings_of, limits_of
from svmproba.cli.output.summary import figures
from svmproba.cli.training import Goal, train


def test_limits_are_those_of_scipy(task, priced):
    goal, model = priced
    limits = limits_of(model, task, figures(model, task, goal))
    proba, positive = model["svm"].oob_proba_[:, 1], task.y == "yes"
    right = (proba >= model["svm"].proba_threshold_) == positive
    for name, cases in (("tpr", right[positive]), ("tnr", right[~positive]), ("accuracy", right)):
        twin = binomtest(int(cases.sum()), len(cases)).proportion_ci(0.95, "exact")
        assert limits[name] == pytest.approx([twin.low, twin.high]), name
    twin = ttest_1samp((positive - proba) ** 2, 0.0).confidence_interval(0.95)
    assert limits["mse"] == pytest.approx([twin.low, twin.high])
    assert limits["auc"][0] < figures(model, task, goal)["auc"] < limits["auc"][1]


def test_a_column_that_is_the_label_is_found(task):
    X = task.X.assign(told=np.where(task.y == task.positive, 1.0, 0.0))
    known = dataclasses.replace(task, X=X)
    goal = Goal()
    model = train(known, goal, n_bootstraps=30, n_jobs=1, seed=3)
    found = findings_of(model, known, goal, figures(model, known, goal))
    assert any("told" in finding["text"] for finding in found)


@pytest.mark.filterwarnings("ignore:The members give all samples the same score")
def test_labels_that_the_columns_do_not_tell(task):
    y = np.random.default_rng(0).permutation(task.y)
    noise = dataclasses.replace(task, y=y)
    goal = Goal()
    model = train(noise, goal, n_bootstraps=30, n_jobs=1, seed=3)
    found = findings_of(model, noise, goal, figures(model, noise, goal))
    assert any("than the base rate" in finding["text"] for finding in found)


def test_what_was_asked_for_is_named(task):
    """A recall of 1 is reached by deciding positive for everybody."""
    goal = Goal(tpr=1.0)
    model = train(task, goal, n_bootstraps=30, n_jobs=1, seed=3)
    found = {**figures(model, task, goal), "tpr": 1.0, "tnr": 0.0}
    for asked, remedy in (
        (goal, "This follows from --tpr or --tnr: is the value right?"),
        (Goal(), "Give costs (--costs fn=500,fp=20)"),
    ):
        texts = [finding["text"] for finding in findings_of(model, task, asked, found)]
        assert sum(remedy in text for text in texts) == 1
