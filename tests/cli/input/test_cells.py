"""Cells as numbers and as words."""

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svmproba.cli.input.cells import to_numbers, to_words
from svmproba.cli.input.numerals import NumberFormat

NAN = float("nan")


@pytest.mark.parametrize(
    ("cells", "values", "bad"),
    [
        (pa.array(["1", "-2.5", "1e3", None]), [1, -2.5, 1000, NAN], []),
        (pa.array([" 7", "8 ", "?", "NA", "", "  "]), [7, 8, NAN, NAN, NAN, NAN], []),
        (pa.array(["1", "many", "inf", "1,5"]), [1, NAN, NAN, NAN], [1, 2, 3]),
        (pa.array(["nan", "NaN", "2"]), [NAN, NAN, 2], []),
        (pa.array(["x", "y"]), [NAN, NAN], [0, 1]),
        (pa.array([1, None, 3], pa.int8()), [1, NAN, 3], []),
        (pa.array([1.5, NAN, float("inf")]), [1.5, NAN, NAN], [2]),
        (pa.array([True, None, False]), [1, NAN, 0], []),
        (pa.array([decimal.Decimal("1.25"), None]), [1.25, NAN], []),
        (pa.array([None, None]), [NAN, NAN], []),
        (pa.array(["3", "4", "3"]).dictionary_encode(), [3, 4, 3], []),
        (pa.chunked_array([["1"], ["2", "oh"]]), [1, 2, NAN], [2]),
        (pa.array(["1", "2"], pa.string_view()), [1, 2], []),
    ],
)
def test_numbers(cells, values, bad):
    found = to_numbers(cells)
    np.testing.assert_array_equal(found.values, values)
    assert np.flatnonzero(found.bad).tolist() == bad


def test_decimal_commas():
    found = to_numbers(pa.array(["1,5", "-2", "x,y", "2.5"]), NumberFormat(","))
    np.testing.assert_array_equal(found.values, [1.5, -2, NAN, NAN])
    assert found.bad.tolist() == [False, False, True, True]


def test_numbers_of_other_types_are_those_of_their_text():
    singles = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    decimals = [decimal.Decimal(f"{k}.{k:03}") for k in range(1, 1000)]
    np.testing.assert_array_equal(
        to_numbers(pa.array(singles)).values, singles.astype(str).astype(float)
    )
    np.testing.assert_array_equal(
        to_numbers(pa.array(decimals)).values, [float(x) for x in decimals]
    )
    assert to_numbers(pa.array([2**53 + 1])).values.tolist() == [2.0**53]


def test_true_and_false_as_numbers():
    words = pa.array(["True", "FALSE", "?", "truely"])
    np.testing.assert_array_equal(to_numbers(words).values, [1, 0, NAN, NAN])
    assert to_numbers(words, booleans=False).bad.tolist() == [True, True, False, True]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_text_of_numbers_is_read_as_python_reads_it(numbers):
    found = to_numbers(pa.array([repr(x) for x in numbers] + ["word"]))
    np.testing.assert_array_equal(found.values[:-1], numbers)
    assert found.bad.tolist() == [False] * len(numbers) + [True]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (pa.array([" a ", "b", "?", None, ""]), ["a", "b", None, None, None]),
        (pa.array([1, None, 3]), ["1", None, "3"]),
        (pa.array([1.0, NAN, 3.0]), ["1", None, "3"]),
        (pa.array([1.5, None]), ["1.5", None]),
        (pa.array([True, False, None]), ["True", "False", None]),
        (pa.array(["true", "FALSE", "untrue"]), ["True", "False", "untrue"]),
        (pa.array(["1.0", "01.0", "1.10", "-3.", "1.0.0"]), ["1", "01", "1.10", "-3", "1.0.0"]),
        (pa.array([1.0, 2.5, 1e16, 1e-5, None]), ["1", "2.5", "1e+16", "1e-05", None]),
        (pa.array([2**53 - 1.0, 2.0**53]), ["9007199254740991", "9007199254740992"]),
        (pa.array([decimal.Decimal("2.00"), decimal.Decimal("2.50")]), ["2", "2.50"]),
        (pa.array([datetime.datetime(2024, 2, 29)]), ["2024-02-29"]),
        (
            pa.array(["2024-02-29T00:00:00", "2024-02-29 10:20:30.500"]),
            ["2024-02-29", "2024-02-29 10:20:30.5"],
        ),
        (pa.array([datetime.datetime(2024, 2, 29, 10, 20, 30, 500000)]), ["2024-02-29 10:20:30.5"]),
        (pa.array([datetime.datetime(2024, 2, 29, 10, 20, 30)]), ["2024-02-29 10:20:30"]),
        (pa.array(["x", None, "x"]).dictionary_encode(), ["x", None, "x"]),
        (pa.array([datetime.date(2024, 2, 29)]), ["2024-02-29"]),
        (pa.array([None]), [None]),
    ],
)
def test_words(cells, words):
    assert to_words(cells).to_pylist() == words
