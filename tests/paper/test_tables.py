import pytest

from svmproba.paper.data.datasets import PAPER_DATASETS
from svmproba.paper.tables import printed, read_table


@pytest.mark.parametrize("number", range(1, 7))
def test_every_table_has_the_15_data_sets(number):
    rows = read_table(number)
    methods = ["cebb1", "cebb2"] if number in (3, 4, 6) else [None]
    wanted = [(name, method) for name in PAPER_DATASETS for method in methods]
    assert [(row["dataset"], row.get("method")) for row in rows] == wanted


def test_rows_of_the_demo():
    assert printed(2, "wisconsin", "ebb") == 0.018
    assert printed(2, "wisconsin", "ebb_best") == 0.035
    assert printed(5, "wisconsin", "ebb") == 0.996
    assert printed(4, "heart", "tpr_1", method="cebb2") == 0.44


def test_ebb_column_is_column_zero_of_the_cost_sensitive_tables():
    """The paper's EBB area under the curve is printed twice."""
    for name in PAPER_DATASETS:
        assert printed(5, name, "ebb") == printed(6, name, "tpr_0", method="cebb1")


@pytest.mark.parametrize(
    "entry", [(2, "iris", "ebb"), (2, "wisconsin", "tpr_0"), (3, "wisconsin", "tpr_0")]
)
def test_missing_entries_are_named(entry):
    with pytest.raises(ValueError, match=f"table {entry[0]} has no entry dataset='{entry[1]}'"):
        printed(*entry)


def test_missing_table():
    with pytest.raises(ValueError, match="number must be one of"):
        read_table(7)
