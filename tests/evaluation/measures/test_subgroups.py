from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from svmproba.bootstrap.intervals import clopper_pearson
from svmproba.bootstrap.subgroups import Subgroups
from svmproba.evaluation import rates_by_subgroup
from svmproba.evaluation.measures.subgroups import called_with_floor

RNG = np.random.default_rng(0)
Y = np.array(["healthy", "ill"])[(RNG.random(400) < 0.4).astype(int)]
PREDICTED = np.where(RNG.random(400) < 0.8, Y, "ill")
SEX, OLD = np.array(["f", "m"])[RNG.integers(0, 2, 400)], RNG.random(400) < 0.3


@pytest.mark.parametrize("pos_label", [None, "healthy"])
def test_rates_by_counting(pos_label):
    wanted = pos_label or "ill"
    by = pd.DataFrame({"sex": SEX, "old": OLD})
    table = rates_by_subgroup(Y, PREDICTED, by, pos_label=pos_label, confidence=0.9)
    assert table.subgroup.tolist() == ["sex=f", "sex=m", "old"]
    for k, mask in enumerate((SEX == "f", SEX == "m", OLD)):
        plus, called = Y[mask] == wanted, PREDICTED[mask] == wanted
        hits, false = np.sum(plus & called), np.sum(~plus & called)
        assert (table.n_samples[k], table.n_positive[k]) == (mask.sum(), plus.sum())
        assert table.tpr[k] == hits / plus.sum()
        assert table.fpr[k] == false / np.sum(~plus)
        assert table.precision[k] == hits / called.sum()
        assert table.called[k] == called.mean()
        of_tpr = clopper_pearson(hits, plus.sum(), confidence=0.9)
        of_fpr = clopper_pearson(false, np.sum(~plus), confidence=0.9)
        assert (table.tpr_lower[k], table.tpr_upper[k]) == of_tpr
        assert (table.fpr_lower[k], table.fpr_upper[k]) == of_fpr


def test_subgroups_of_one_class():
    table = rates_by_subgroup([1, 1, 0, 0], [1, 0, 1, 0], ["a", "a", "b", "b"])
    np.testing.assert_array_equal(table.tpr, [0.5, np.nan])
    np.testing.assert_array_equal(table.fpr, [np.nan, 0.5])
    assert np.isnan(table.fpr_lower[0])
    assert np.isnan(table.tpr_upper[1])


@pytest.mark.parametrize("label", [0, -1, 1])
def test_one_class_at_hand(label):
    table = rates_by_subgroup([label] * 4, [label, label, label, 1], list("aabb"))
    assert table.called.tolist() == ([1.0, 1.0] if label == 1 else [0.0, 0.5])
    told = table.tpr if label == 1 else table.fpr
    np.testing.assert_array_equal(told, table.called)


def test_labels_of_another_type_are_refused():
    with pytest.raises(ValueError, match=r"y_pred must hold labels of y_true, \{0, 1\}, got \['0'"):
        rates_by_subgroup([0, 1, 0, 0], list("0001"), list("aabb"))


def test_wrong_shapes():
    with pytest.raises(ValueError, match="y_pred must hold one label for each of the 400"):
        rates_by_subgroup(Y, PREDICTED[1:], SEX)
    with pytest.raises(ValueError, match="by must hold one label for each of the 400"):
        rates_by_subgroup(Y, PREDICTED, SEX[1:])


@pytest.mark.parametrize("sign", [1, -1])
def test_a_common_floor_is_reached_by_the_highest_threshold(sign):
    positive = Y == "ill"
    levels = RNG.normal(size=400) + positive
    masks = np.array([SEX == "f", SEX == "m", OLD])
    called = called_with_floor(levels, positive, Subgroups(np.arange(3), masks, True), sign, 0.8)
    of_class = positive == (sign > 0)
    right = called == (sign > 0)
    rates = [right[mask & of_class].mean() for mask in masks]
    assert min(rates) >= 0.8
    assert any(r < 0.8 + 1 / np.sum(m & of_class) for r, m in zip(rates, masks, strict=True))
