"""Names of columns on the command line."""

from types import SimpleNamespace

import pytest

from svmproba.cli.errors import InputError
from svmproba.cli.input.numerals import NumberFormat
from svmproba.cli.input.roles import (
    NUMERIC,
    Column,
    ColumnChoices,
    check_column,
    check_needed,
    columns_of,
    split_names,
)
from svmproba.cli.input.tables import Reading


def test_choices_that_cannot_be():
    with pytest.raises(
        InputError, match=r"--drop: x\.csv has no column 'agee', did you mean 'Age'"
    ):
        ColumnChoices(drop=("agee",)).of_columns(["Age", "y"], "x.csv")
    with pytest.raises(InputError, match="'a' is named more than once"):
        ColumnChoices(drop=("a",), numeric=("a",)).of_columns(["a"], "x.csv")
    with pytest.raises(InputError, match=r"no column 'zzz'\. It has 'a', 'b'"):
        check_column("zzz", ["a", "b"], "x.csv", "--target")


def test_names_with_commas_are_not_split():
    given, columns = ["a, b", "income, net"], ["a", "b", "income, net"]
    assert split_names(given, columns) == ("a", "b", "income, net")


def test_long_lists_of_columns_are_shortened():
    names = [f"c{k}" for k in range(30)]
    for n, end in ((20, "'c18', 'c19'"), (21, "'c18', 'c19', …")):
        with pytest.raises(InputError) as caught:
            check_column("zzz", names[:n], "x.csv", "--target")
        assert str(caught.value).endswith(end)


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (1, "lacks a column that the model needs: 'c0'; it has 'a0', 'a1'"),
        (10, "lacks 10 columns that the model needs: 'c0', .*, 'c9'; it has 'a0'"),
        (12, "lacks 12 columns that the model needs: 'c0', .*, 'c9' and 2 more; it has 'a0'"),
    ],
)
def test_columns_that_a_model_needs(n, said):
    table = SimpleNamespace(name="x.csv", columns=[f"a{k}" for k in range(30)])
    with pytest.raises(InputError, match=said) as caught:
        check_needed(["a3", *(f"c{k}" for k in range(n))], table)
    assert str(caught.value).endswith("'a19'")
    check_needed(["a3", "a29"], table)


def test_the_user_says_how_numbers_of_a_new_table_are_written():
    saved = [
        Column("n", NUMERIC, "numbers", format=NumberFormat(",", ".", "€")).to_dict(),
        Column("gone", "dropped", "constant").to_dict(),
    ]
    for reading, expected in (
        (Reading(), (",", ".", "€")),
        (Reading(decimal="."), (".", "", "€")),
        (Reading(decimal=".", thousands=","), (".", ",", "€")),
        (Reading(thousands="'"), (",", "'", "€")),
    ):
        (column,) = columns_of({"columns": saved}, reading)
        assert (column.name, tuple(column.format)) == ("n", expected)
