"""Advice where floors clash or columns are badly scaled."""

import numpy as np
import pytest
from scipy import sparse

from svmproba.estimators.input.subgroup_floors import Floor
from svmproba.estimators.shared.floors import clash_message, margin_rates, scale_advice


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_columns_of_very_different_ranges(form):
    table = np.array([[1.0, 0.0, -1e6], [-1.0, 0.0, 1e6]])
    assert "differ by a factor of 1e+06" in scale_advice(form(table))
    assert scale_advice(form(table * [1.01, 1, 1])) == ""
    assert scale_advice(form(np.zeros((2, 2)))) == ""


def test_the_middle_of_a_column_does_not_count():
    table = np.array([[1e9 + 1, 1.0], [1e9 - 1, -1.0]])
    assert scale_advice(table) == ""


def test_rates_by_margins_are_weighted():
    satisfied = np.array([True, False, True, True])
    positive = np.array([True, True, False, False])
    rates = margin_rates(satisfied, positive, np.array([1.0, 3.0, 2.0, 2.0]))
    assert rates == {"tpr": 1 / 4, "tnr": 1.0, "accuracy": 5 / 8}


@pytest.mark.parametrize(("status", "told"), [("infeasible", "no SVM has"), ("", "was found that")])
def test_the_best_floor_beside_the_others(status, told):
    """Of two equal samples with opposite labels, one is on the wrong side."""
    table = np.array([[-1.0], [0.0], [0.0], [1.0]])
    signs = np.array([-1.0, -1.0, 1.0, 1.0])
    floors = [Floor("min_tnr", 1.0, signs < 0), Floor("min_tpr", 0.9, signs > 0)]
    said = clash_message(table, signs, 1.0, np.ones(4), floors, 0, status)
    assert told in said
    assert "min_tnr=1 and min_tpr=0.9" in said
    assert said.endswith(" With min_tnr=1 the best min_tpr that was found is 0.5.")
    assert ("solver=" in said) == (status == "")
