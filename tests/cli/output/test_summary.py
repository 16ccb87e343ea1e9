"""Figures and words about a fitted model."""

import numpy as np
import pytest

from svmproba.cli.costs import Costs
from svmproba.cli.output.summary import describe, in_words
from svmproba.cli.training import Goal, train
from svmproba.evaluation import mean_cost


def test_figures_are_those_of_the_out_of_bag_decisions(task, priced):
    goal, model = priced
    found = describe(model, task, goal, "default")["figures"]
    proba, positive = model["svm"].oob_proba_[:, 1], task.y == "yes"
    called = proba >= 1 / 6
    assert found["tpr"] == called[positive].mean()
    assert found["tnr"] == (~called[~positive]).mean()
    expected = mean_cost(positive, called, fn_cost=5.0, fp_cost=1.0, pos_label=True)
    assert found["mean_cost"] == pytest.approx(expected)
    assert found["mean_cost_all_negative"] == pytest.approx(5 * positive.mean())
    assert found["mse"] == pytest.approx(np.mean((positive - proba) ** 2))


@pytest.mark.parametrize(
    "goal",
    [
        Goal(tpr=0.9, guarantee="jackknife+", costs=Costs(2.0, 1.0)),
        Goal(tpr=0.9, guarantee="jackknife+", calibration=None),
        Goal(tpr=0.6, calibration=None),
        Goal(tpr=0.8, guarantee="split", confidence=0.8, calibration=None, costs=Costs(2.0, 1.0)),
    ],
)
def test_every_goal_has_a_summary(load_credit, goal):
    task = load_credit(held_out_share=goal.held_out_share)
    model = train(task, goal, n_bootstraps=30, n_jobs=1, seed=3)
    said = "\n".join(
        in_words(describe(model, task, goal, "default"), model["svm"].proba_threshold_)
    )
    assert "true positive rate" in said
    assert "Guaranteed: " in said
    assert "nan" not in said
