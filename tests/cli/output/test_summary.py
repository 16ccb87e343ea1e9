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


ABOUT = {
    "positive": "yes",
    "negative": "no",
    "calibration": "beta",
    "costs": {"fn": 5.0, "fp": 1.0},
    "wants_rate": False,
    "guarantee": "No guarantee: none was asked for.",
    "findings": [{"name": "size", "text": "there are " + "very " * 20 + "few records"}],
    "limits": {"tpr": [0.5, 0.75], "auc": [-0.1, 0.9], "mse": [0.1, 0.1235]},
    "figures": {
        **{"n_records": 1234, "n_positive": 1000, "n_held_out": 0, "n_bootstraps": 30},
        **{"n_theta": 11, "n_features": 7, "tpr": 0.625, "tnr": float("nan"), "accuracy": 0.5},
        **{"auc": 0.75, "mse": 0.12, "miscalibration": 0.012, "mse_of_base_rate": 0.25},
        **{"mean_cost": 0.123456, "mean_cost_all_positive": 12345.6},
        **{"mean_cost_all_negative": float("nan")},
    },
}


def test_the_summary_word_for_word():
    lines = in_words(ABOUT, 1 / 6)
    assert lines[:16] == [
        "Fitted on 1,234 records, 1,000 of them 'yes'.",
        "30 bags x 11 hyperparameter values, 7 features.",
        "",
        "Out of bag (records that the SVMs were not fitted on), with 95 % limits:",
        "  recall of 'yes'      62.5 %  50.0 to 75.0 %  (true positive rate)",
        "  recall of 'no'      unknown                  (true negative rate)",
        "  accuracy             50.0 %                  (share of right decisions)",
        "  ROC AUC               0.750  0.000 to 0.900  (area under the ROC curve; 0.5 is chance)",
        "  mean squared error    0.120  0.100 to 0.123  (of the probability; 0.250 for the base "
        "rate)",
        "  miscalibration        0.012                  (part of that error; the calibration is "
        "'beta')",
        "",
        "Decision: 'yes' from probability 0.167 on, the least expected cost.",
        "Mean cost per record: 0.1235; 1.235e+04 if the decision is always 'yes', unknown if it "
        "never is.",
        "",
        "Before you trust these figures:",
        lines[15],
    ]
    first, second = lines[15].split("\n")
    assert (first[:12], second[:2]) == ("- there are ", "  ")
    assert len(first) <= 90 < len(first) + len(second.split()[0]) + 1
    assert lines[16:18] == ["", "Guaranteed: nothing: none was asked for."]
    assert all(len(line) <= 90 for line in lines[18].split("\n"))


def test_what_is_not_known_is_left_out():
    figures = {k: v for k, v in ABOUT["figures"].items() if "mean_cost" not in k and k != "auc"}
    about = {**ABOUT, "figures": {**figures, "n_held_out": 1100}, "findings": []}
    said = "\n".join(in_words(about, 0.5))
    assert "'yes'; 1,100 more were held out." in said
    for word in ("AUC", "squared", "cost per record", "Before you trust"):
        assert word not in said
    shares = "\n".join(in_words({**ABOUT, "calibration": None}, 0.5))
    assert "  calibration            none                  (the probability is a share of" in shares
    assert "miscalibration" not in shares


def test_costs_of_all_four_outcomes(task):
    goal = Goal(costs=Costs(fn=5.0, fp=1.0, tp=-2.0, tn=0.5))
    model = train(task, goal, n_bootstraps=30, n_jobs=1, seed=3)
    found = describe(model, task, goal, "default")["figures"]
    positive = task.y == "yes"
    called = model["svm"].oob_proba_[:, 1] >= model["svm"].proba_threshold_
    by_name = goal.costs.arguments()
    for name, decision in (
        ("mean_cost", called),
        ("mean_cost_all_positive", np.ones(len(called), bool)),
        ("mean_cost_all_negative", np.zeros(len(called), bool)),
    ):
        assert found[name] == pytest.approx(
            mean_cost(positive, decision, **by_name, pos_label=True)
        )
