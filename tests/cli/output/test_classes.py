"""Figures and words about a fitted model of several classes."""

import numpy as np
import pytest

from svmproba.cli.output.classes import _recalls, classes_in_words

ABOUT = {
    "classes": ["a", "b", "long"],
    "calibration": "beta",
    "costs": None,
    "wants_rate": False,
    "goal": {"floors": [["a", 0.8], ["long", 0.25]]},
    "guarantee": "No guarantee: none was asked for.",
    "findings": [],
    "limits": {"accuracy": [0.9, 0.9995], "brier": [-0.1, 0.2]},
    "confusion": [[900, 0, 100], [0, 1, 0], [12, 3, 185]],
    "figures": {
        **{"n_records": 1201, "n_held_out": 0, "n_bootstraps": 30, "n_theta": 11},
        **{"n_features": 7, "accuracy": 0.9, "brier": 0.1236, "brier_of_base_rates": 0.25},
        "log_loss": 0.5,
    },
}
ABOUT["recalls"] = _recalls(np.array(ABOUT["confusion"]), ABOUT["classes"])


def test_the_summary_word_for_word():
    a, b, long = ABOUT["recalls"]
    limits = f"{100 * a['lower']:.1f} to {100 * a['upper']:.1f} %"
    assert (limits[:3], b["upper"], long["mistaken_for"]) == ("88.", 1.0, "a")
    assert classes_in_words(ABOUT)[:18] == [
        "Fitted on 1,201 records of 3 classes, 'a' (1000), 'b' (1), 'long' (200).",
        "30 bags x 11 hyperparameter values x 3 pairs of classes, 7 features.",
        "",
        "Out of bag (records that the SVMs were not fitted on), with 95 % limits:",
        f"  recall of 'a'      90.0 %  {limits}   (1,000 records; 100 of them called 'long')",
        "  recall of 'b'     100.0 %  2.5 to 100.0 %   (1 record)",
        f"  recall of 'long'   92.5 %  {100 * long['lower']:.1f} to {100 * long['upper']:.1f} %   "
        "(200 records; 12 of them called 'a')",
        "  accuracy           90.0 %  90.0 to 100.0 %  (share of right decisions)",
        "  Brier score         0.124  0.000 to 0.200   (summed over the classes; 0.250 for their "
        "shares)",
        "  log loss            0.500                   (mean of -log of the probability; the "
        "calibration is 'beta')",
        "",
        "Records of each class (rows) by decision (columns):",
        "          a  b  long",
        "  a     900  0   100",
        "  b       0  1     0",
        "  long   12  3   185",
        "",
        "Decision: the most probable class.",
    ]


def test_rules_and_costs_in_words():
    figures = ABOUT["figures"] | {"mean_cost": 0.5, "mean_cost_constant": 2.0, "constant": 2}
    said = "\n".join(classes_in_words({**ABOUT, "costs": {"matrix": []}, "figures": figures}))
    assert "Decision: the class of least expected cost." in said
    assert "Mean cost per record: 0.5; 2 if the decision is always 'long', the cheapest" in said
    said = "\n".join(classes_in_words({**ABOUT, "wants_rate": True}))
    assert "largest probability times a factor for recalls of at least 0.8 of 'a', 0.25" in said
    said = "\n".join(classes_in_words({**ABOUT, "wants_rate": True, "calibration": None}))
    assert "largest share of votes, shifted for recalls of at least 0.8 of 'a'" in said
    assert "calibration          none" in said
    assert "log loss" not in said


@pytest.mark.parametrize(("n_classes", "shown"), [(12, True), (13, False)])
def test_a_table_of_many_classes_is_not_printed(n_classes, shown):
    confusion, names = 9 * np.eye(n_classes, dtype=int), list("abcdefghijklm"[:n_classes])
    about = {**ABOUT, "classes": names, "recalls": _recalls(confusion, names)}
    said = "\n".join(classes_in_words({**about, "confusion": confusion.tolist()}))
    assert ("Records of each class" in said) == shown
    assert f" x {n_classes * (n_classes - 1) // 2} pairs" in said


def test_a_class_without_records_has_no_recall():
    empty, other = _recalls(np.array([[0, 0], [3, 4]]), ["a", "b"])
    assert (empty["recall"], empty["lower"], empty["upper"]) == (None, 0.0, 1.0)
    assert (empty["mistaken_for"], empty["n_mistaken"]) == (None, 0)
    assert (other["recall"], other["mistaken_for"], other["n_mistaken"]) == (4 / 7, "a", 3)
