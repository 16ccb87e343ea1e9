"""The table that a model reads."""

import pyarrow as pa
import pytest

from svmproba.cli.errors import InputError
from svmproba.cli.input.frames import frame_of
from svmproba.cli.input.roles import CATEGORICAL, NUMERIC, Column


def test_missing_words_are_nan(task):
    (home,) = [column for column in task.plan if column.name == "home"]
    frame = frame_of(pa.table({"home": ["own", None, "?"]}), [home])
    assert frame["home"].isna().tolist() == [False, True, True]
    assert frame["home"].dtype == object


def test_cells_are_noted_and_large_numbers_refused():
    columns = [Column("n", NUMERIC, ""), Column("c", CATEGORICAL, "")]
    table = pa.table({"n": ["1", "many", "3"], "c": ["u", "v", None]})
    noted = []
    frame = frame_of(
        table,
        columns,
        note_bad=lambda column, bad: noted.append((column.name, bad.tolist())),
        note_words=lambda name, words: noted.append((name, words.to_pylist())),
    )
    assert noted == [("n", [False, True, False]), ("c", ["u", "v", None])]
    assert frame["n"].isna().tolist() == [False, True, False]
    with pytest.raises(InputError, match="row 1, column 'n': -1e\\+101 is too large"):
        frame_of(pa.table({"n": ["1", "-1e101"]}), columns[:1], "row {}".format)
    frame = frame_of(pa.table({"n": ["1e100", "-1e100", ""]}), columns[:1])
    assert frame["n"][:2].tolist() == [1e100, -1e100]
