"""Checks of the options that commands share."""

import pytest

from svmproba.cli import options
from svmproba.cli.errors import InputError
from svmproba.cli.input.tables import Reading


def test_readings():
    assert options.reading_of(None, None, False, None, None) == Reading()
    given = options.reading_of("tab", "cp1252", True, ",", "space")
    assert given == Reading("\t", "cp1252", False, ",", " ")
    # One sign tells the other.
    assert options.reading_of(None, None, False, None, ".").decimal == ","
    assert options.reading_of(None, None, False, None, ",").decimal == "."
    assert options.reading_of(None, None, False, None, "'").decimal is None


@pytest.mark.parametrize(
    ("decimal", "thousands", "message"),
    [
        ("x", None, "--decimal must be . or ,; got 'x'"),
        (None, "x", "--thousands must be . , ' or space; got 'x'"),
        (",", ",", "--decimal and --thousands must differ; got ',' for both"),
    ],
)
def test_signs_that_cannot_be(decimal, thousands, message):
    with pytest.raises(InputError) as caught:
        options.reading_of(None, None, False, decimal, thousands)
    assert str(caught.value) == message


def test_limits_of_numbers_and_choices():
    assert options.fit_setting(1, -1, 0) == {"n_bootstraps": 1, "n_jobs": -1, "seed": 0}
    for arguments, message in (
        ((0, -1, 0), "--bootstraps must be at least 1; got 0"),
        ((1, 0, 0), "--jobs must not be 0"),
        ((1, 1, -1), "--seed must be at least 0; got -1"),
    ):
        with pytest.raises(InputError, match=message):
            options.fit_setting(*arguments)
    assert options.choice("--kernel", "rbf", ("linear", "rbf")) == "rbf"
    with pytest.raises(InputError, match="--kernel must be one of linear, rbf; got 'cubic'"):
        options.choice("--kernel", "cubic", ("linear", "rbf"))


def test_lists():
    assert list(options.listed(" a, ,b,")) == ["a", "b"]
    assert list(options.listed(None)) == []
    assert options.choices_of(["a", "a"], None, ["b"]).drop == ("a",)
