"""Limits of parameters: the last value that is taken and the first that is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from svmproba.estimators.input.parameters import (
    PAPER_CS,
    as_generator,
    check_confidence,
    check_Cs,
    check_gammas,
    check_integer,
    check_kernels,
    check_number,
    check_option,
)


def is_taken(check, *arguments):
    try:
        check(*arguments)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("value", "taken"),
    [(3, True), (2, False), (np.int8(3), True), (3.0, False), (True, False), ("3", False)],
)
def test_integers_from_a_minimum(value, taken):
    assert is_taken(check_integer, "n", value, 3) == taken
    assert not is_taken(check_integer, "n", True, 0)


@pytest.mark.parametrize(
    ("value", "taken"),
    [
        *((0.25, True), (0.75, True), (Fraction(1, 2), True), (np.float32(0.5), True)),
        *((0.2499, False), (0.7501, False), (np.nan, False), ("0.5", False), (None, False)),
    ],
)
def test_numbers_of_an_interval(value, taken):
    assert is_taken(check_number, "x", value, 0.25, 0.75, "a number") == taken
    assert not is_taken(check_number, "x", True, 0, 1, "a number")


def test_confidence_is_inside_the_unit_interval():
    limits = (0.0, 1e-300, 0.5, np.nextafter(1, 0), 1.0, 2.0)
    assert [is_taken(check_confidence, x) for x in limits] == [0, 1, 1, 1, 0, 0]


def test_options():
    assert is_taken(check_option, "mode", "a", ("a", "b"))
    with pytest.raises(ValueError, match=r"^mode must be one of 'a', 'b', got 'c'\.$"):
        check_option("mode", "c", ("a", "b"))
    assert not is_taken(check_option, "mode", 1, ("a", "b"))
    assert not is_taken(check_option, "mode", ["a"], (["a"],))


def test_values_of_C():
    assert check_Cs(None).tolist() == [2.0**k for k in range(-5, 6)]
    check_Cs(None)[0] = 7.0
    assert PAPER_CS[0] == 1 / 32  # a copy is given
    assert check_Cs(3).tolist() == [3.0]
    assert check_Cs((2, 1, 2.0)).tolist() == [1.0, 2.0]
    assert check_Cs([1e-50, 1e50]).tolist() == [1e-50, 1e50]
    for refused in (0.99e-50, 1.01e50):
        with pytest.raises(ValueError, match=r"Cs must lie between 1e-50 and 1e\+50, got"):
            check_Cs([1.0, refused])
    for refused in ([], [[1.0]], [1.0, 0.0], [1.0, -1.0], [np.nan], np.inf, "x"):
        with pytest.raises(ValueError, match="Cs must be a positive finite number"):
            check_Cs(refused)


def test_kernels():
    assert check_kernels("auto") == ["linear", "rbf"]
    assert check_kernels("rbf") == ["rbf"]
    assert check_kernels(("rbf", "linear", "rbf")) == ["rbf", "linear"]
    assert check_kernels(["precomputed"]) == ["precomputed"]
    assert check_kernels(7) == [7]
    for refused in ([], ["precomputed", "rbf"], ("rbf", "precomputed")):
        with pytest.raises(ValueError, match="non-empty list of names, 'precomputed' only by"):
            check_kernels(refused)


def test_values_of_gamma():
    X = np.array([[0.0, 2.0], [4.0, 2.0]])
    for kernel in ("linear", "precomputed"):
        assert np.isnan(check_gammas("nonsense", kernel, X)).tolist() == [True]
    assert check_gammas([2.0, "auto", 2], "rbf", X).tolist() == [0.5, 2.0]
    assert check_gammas("scale", "rbf", X).tolist() == [1 / (2 * X.var())]
    weighted = check_gammas("scale", "rbf", X, np.array([3.0, 1.0]))
    assert weighted == pytest.approx(1 / (2 * np.repeat(X, [3, 1], axis=0).var()))


def test_generators_follow_the_seed():
    first, again, other = (as_generator(seed).random(4).tolist() for seed in (1, 1, 2))
    assert first == again != other
    state = np.random.RandomState(1)
    assert as_generator(state).random(4).tolist() == first
    assert as_generator(state).random(4).tolist() != first  # the state went on
