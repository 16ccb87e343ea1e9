"""From a file to records and labels."""

import numpy as np
import pandas as pd


def test_the_table_is_what_pandas_reads(task, credit):
    expected = pd.read_csv(credit)
    assert list(task.X.columns) == ["age", "income", "amount", "home"]
    for name in ("age", "income", "amount"):
        np.testing.assert_array_equal(task.X[name], expected[name].astype(float))
    assert task.X["home"].tolist() == expected["home"].tolist()
    assert task.y.tolist() == expected["default"].tolist()
    assert (task.positive, task.negative) == ("yes", "no")
    assert [column.name for column in task.plan] == expected.columns[:-1].tolist()
