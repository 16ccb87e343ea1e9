"""Working sets, smaller than the table."""

import numpy as np
import pytest

from svmproba.solvers.dual import working_sets
from svmproba.solvers.gram import Gram

from ..twins import records

GRID = np.array([0.1, 1.0, 10.0])


def gap_of(kernel, signs, C, alpha, bias):
    beta = signs * alpha
    norm = beta @ kernel @ beta
    primal = 0.5 * norm + C * np.maximum(0.0, 1.0 - signs * (kernel @ beta + bias)).sum()
    return (primal - (alpha.sum() - 0.5 * norm)) / primal


@pytest.fixture
def problem():
    rows, signs = records(60, 4, 1)
    squares = (rows**2).sum(axis=1)
    return np.exp(-0.3 * (squares[:, None] + squares - 2.0 * rows @ rows.T)), signs


@pytest.mark.parametrize("size", [8, 16, 1024])
def test_sets_end_at_solutions(problem, size, monkeypatch):
    monkeypatch.setattr(working_sets, "SET_SIZE", size)
    (kernel, signs), one, stop = problem, np.ones(60), np.zeros(1, np.uint8)
    bias, alphas = np.empty(3), np.empty((3, 60))
    gram = Gram.of_matrix(kernel)
    working_sets.solve_sets(gram, signs, one, one, GRID, 1e-3, stop, bias, alphas)
    for k, C in enumerate(GRID):
        assert 0 <= alphas[k].min() <= alphas[k].max() <= C
        assert signs @ alphas[k] == pytest.approx(0.0, abs=1e-9)
        assert 0 <= gap_of(kernel, signs, C, alphas[k], bias[k]) <= 1e-3
    beta = signs * alphas[1]  # near the solution of another C
    bias = working_sets.polish(gram, signs, one, 2 * one, beta, kernel @ beta, 1e-6, stop)
    assert gap_of(kernel, signs, 2.0, np.abs(beta), bias) <= 1e-6


def test_one_class_stays_where_it_is(problem):
    (kernel, _), one, stop = problem, np.ones(60), np.zeros(1, np.uint8)
    for sign in (1.0, -1.0):
        bias, alphas = np.empty(3), np.empty((3, 60))
        gram = Gram.of_matrix(kernel)
        working_sets.solve_sets(gram, sign * one, one, one, GRID, 1e-3, stop, bias, alphas)
        assert not alphas.any()
        assert bias.tolist() == [sign] * 3


def test_stopped_from_outside(problem):
    (kernel, signs), one, stop = problem, np.ones(60), np.ones(1, np.uint8)
    bias, alphas = np.empty(3), np.empty((3, 60))
    working_sets.solve_sets(Gram.of_matrix(kernel), signs, one, one, GRID, 1e-3, stop, bias, alphas)
    assert not alphas.any()
