"""Columns of decisions, from probabilities made by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from svmproba.cli.decisions import Decisions

COSTS = {"fn": 5.0, "fp": 1.0, "tp": -1.0, "tn": 0.5}


def fake(labels, P, **more):
    """Stands for a fitted ensemble."""
    limits = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    return SimpleNamespace(
        classes_=np.array(labels),
        predict_proba=lambda rows: np.array(P),
        predict_proba_interval=lambda rows, confidence, kind: limits if kind == "given" else None,
        **more,
    )


@pytest.mark.parametrize(("positive", "place"), [(7, 1), (3, 0)])
def test_a_probability_at_the_threshold_is_positive(positive, place):
    proba = np.array([0.25, np.nextafter(0.25, 0), 0.5])
    P = np.column_stack([1 - proba, proba] if place else [proba, 1 - proba])
    svm = fake([3, 7], P, proba_threshold_=0.25)
    decisions = Decisions(svm, {"positive": positive, "costs": COSTS}, "given", 0.9)
    names = [name for name, _ in decisions.fields]
    assert names == ["probability", "low", "high", "decision", "expected_cost"]
    shown, low, high, decision, cost = decisions.decide(None).columns
    assert shown.tolist() == proba.tolist()
    assert (low.tolist(), high.tolist()) == ([0.1, 0.3, 0.5], [0.2, 0.4, 0.6])
    assert decision.to_pylist() == [positive, 10 - positive, positive]
    assert cost == pytest.approx([0.25 * -1 + 0.75, 0.25 * 5 + 0.75 * 0.5, 0.5 * -1 + 0.5])


def test_without_limits_and_costs():
    svm = fake(["no", "yes"], [[0.4, 0.6]], proba_threshold_=0.5)
    decisions = Decisions(svm, {"positive": "yes", "costs": None}, None, 0.9)
    assert [name for name, _ in decisions.fields] == ["probability", "decision"]
    proba, decision = decisions.decide(None).columns
    assert (proba.tolist(), decision.to_pylist()) == ([0.6], ["yes"])
