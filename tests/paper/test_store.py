import sqlite3
import threading

import numpy as np
import pytest

from svmproba.paper.store import Cell, Result, Store

CELL = Cell("fair", "german", "ebb", 0, 3, 10, 0, 500, "{}")
RESULT = Result(
    np.array([5, 2, 90_000]),
    np.array([1, 0, 1]),
    {"ebb": np.array([0.1, 1 / 3, np.nan]), "score": np.array([-1e300, 0.0, np.inf])},
    1.25,
    "one\ntwo",
)


def test_what_goes_in_comes_out(tmp_path):
    with Store(tmp_path / "new" / "deep" / "r.sqlite") as store:
        assert CELL not in store
        store.add(CELL, RESULT)
    with Store(tmp_path / "new" / "deep" / "r.sqlite") as store:
        assert (CELL in store, len(store)) == (True, 1)
        found = store.get(CELL)
        with pytest.raises(KeyError):
            store.get(CELL._replace(fold=4))
    np.testing.assert_array_equal(found.record, RESULT.record)
    np.testing.assert_array_equal(found.y, RESULT.y)
    assert set(found.outputs) == {"ebb", "score"}
    for name, values in RESULT.outputs.items():
        np.testing.assert_array_equal(found.outputs[name], values)
    assert (found.seconds, found.warnings) == (1.25, "one\ntwo")


@pytest.mark.parametrize("field", Cell._fields)
def test_every_field_tells_cells_apart(tmp_path, field):
    old = getattr(CELL, field)
    other = CELL._replace(**{field: old + 1 if isinstance(old, int) else old + "x"})
    with Store(tmp_path / "r.sqlite") as store:
        store.add(CELL, RESULT)
        assert other not in store
        store.add(other, RESULT._replace(seconds=2.0))
        assert (store.get(CELL).seconds, store.get(other).seconds) == (1.25, 2.0)


def test_the_first_result_stays(tmp_path):
    with Store(tmp_path / "r.sqlite") as store:
        store.add(CELL, RESULT)
        store.add(CELL, RESULT._replace(seconds=9.0))
        assert (len(store), store.get(CELL).seconds) == (1, 1.25)


def test_a_result_is_written_whole_or_not_at_all(tmp_path):
    broken = RESULT._replace(outputs={"good": np.zeros(3), "bad": np.array(["no number"])})
    with Store(tmp_path / "r.sqlite") as store:
        with pytest.raises(ValueError, match="could not convert"):
            store.add(CELL, broken)
        assert CELL not in store
        store.add(CELL, RESULT)
        assert set(store.get(CELL).outputs) == {"ebb", "score"}


def test_bags_used(tmp_path):
    with Store(tmp_path / "r.sqlite") as store:
        for bags in (500, 20):
            store.add(CELL._replace(bags=bags), RESULT)
        store.add(CELL._replace(bags=7, recipe="other"), RESULT)
        assert store.bags_used(CELL) == [20, 500]


def test_two_writers(tmp_path):
    def write(start):
        with Store(tmp_path / "r.sqlite") as store:
            for fold in range(start, start + 20):
                store.add(CELL._replace(fold=fold), RESULT)

    threads = [threading.Thread(target=write, args=(start,)) for start in (0, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Store(tmp_path / "r.sqlite") as store:
        assert len(store) == 30


def test_files_that_are_something_else(tmp_path):
    text, foreign, future = (tmp_path / name for name in ("text", "foreign", "future"))
    text.write_text("no database, but long enough to have a header of a hundred bytes\n" * 9)
    connection = sqlite3.connect(foreign)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()
    Store(future).__exit__(None, None, None)
    connection = sqlite3.connect(future)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    for path in (text, foreign, future):
        before = path.read_bytes()
        with pytest.raises(ValueError, match=f"{path.name} (is not a file of|cannot be used)"):
            Store(path)
        assert path.read_bytes() == before
