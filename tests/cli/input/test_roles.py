"""Names of columns on the command line."""

import pytest

from svmproba.cli.errors import InputError
from svmproba.cli.input.roles import ColumnChoices, check_column, split_names


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
