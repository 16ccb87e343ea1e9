"""Named tuples that are handed on by their address."""

from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba import njit

from svmproba.solvers.core.compiled import JIT, entry
from svmproba.solvers.core.references import by_reference


class Inner(NamedTuple):
    x: Any
    factor: float


class Outer(NamedTuple):
    inner: Inner
    y: Any
    flag: bool


@njit(**JIT)
def scale(inner, y):
    x = inner.x
    for k in range(x.shape[0]):
        y[k] += inner.factor * x[k]


@njit(**JIT)
def twice(outer):
    scale(outer.inner, outer.y)
    scale(outer.inner, outer.y)
    return outer.flag


@entry
def work(outer):
    t = by_reference(outer)
    twice(by_reference(t))  # a reference to a reference is the same one
    return twice(t), t.y[0], t.inner.factor


@entry
def loop(x, n):
    total = 0.0
    for k in range(n):
        inner = by_reference(Inner(x, 1.0 * k))
        total += inner.factor * inner.x[0]
    return total


@pytest.mark.parametrize("flag", [True, False])
def test_fields_are_read_and_arrays_written(flag):
    x, y = np.array([1.0, 2.0]), np.zeros(2)
    assert work(Outer(Inner(x, 0.5), y, flag)) == (flag, 2.0, 0.5)
    assert y.tolist() == [2.0, 4.0]
    assert x.tolist() == [1.0, 2.0]


def test_a_reference_made_in_a_loop_holds_the_tuple_of_that_turn():
    assert loop(np.array([2.0]), 4) == 2.0 * (0 + 1 + 2 + 3)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_a_field_that_is_not_there_is_an_error():
    wrong = entry(lambda t: by_reference(t).missing)
    with pytest.raises(numba.TypingError, match="missing"):
        wrong(Inner(np.zeros(1), 1.0))
