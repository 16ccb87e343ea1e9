"""Files are written whole or not at all."""

import csv
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from svmproba.cli.errors import InputError
from svmproba.cli.output import files
from svmproba.cli.output.files import check_target, table_writer

BATCH = pa.record_batch({"id": ['a"b', "c,d", None, "e\nf"], "p": [0.5, 0.25, 1.0, 0.0]})
PLAIN = pa.record_batch({"id": ["x", "y"], "p": [0.5, None]})


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_nothing_stays_of_a_file_that_was_not_finished(tmp_path, error, name):
    (tmp_path / name).write_text("old")

    def begin():
        with table_writer(str(tmp_path / name), BATCH.schema) as write:
            write(BATCH)
            raise error

    with pytest.raises(error):
        begin()
    assert os.listdir(tmp_path) == [name]
    assert (tmp_path / name).read_text() == "old"


def test_csv_is_what_python_reads(tmp_path):
    path = tmp_path / "a.csv"
    with table_writer(str(path), BATCH.schema) as write:
        write(PLAIN)
        write(BATCH)
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["id", "p"]
    assert [row[0] for row in rows[1:]] == ["x", "y", 'a"b', "c,d", "", "e\nf"]
    assert [float(row[1] or "nan") for row in rows[1:] if row[1]] == [0.5, 0.5, 0.25, 1.0, 0.0]
    assert path.read_text().startswith("id,p\nx,0.5\ny,\n")


def test_parquet_in_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "ROWS_OF_A_GROUP", 6)
    path = tmp_path / "a.parquet"
    with table_writer(str(path), BATCH.schema) as write:
        for _ in range(4):
            write(BATCH)
    file = pq.ParquetFile(path)
    assert file.metadata.num_rows == 16
    assert file.metadata.num_row_groups == 3
    assert file.read() == pa.Table.from_batches([BATCH] * 4)


def test_an_empty_table(tmp_path):
    for name in ("a.csv", "a.parquet"):
        with table_writer(str(tmp_path / name), BATCH.schema):
            pass
    assert (tmp_path / "a.csv").read_text() == "id,p\n"
    assert pq.read_table(tmp_path / "a.parquet").num_rows == 0


def test_places_that_cannot_be_written_to(tmp_path):
    with pytest.raises(InputError, match=r"must end with \.csv or \.parquet, got '.*a\.txt'"):
        check_target(tmp_path / "a.txt", (".csv", ".parquet"))
    with pytest.raises(InputError, match=r"there is no folder '.*nowhere'"):
        check_target(tmp_path / "nowhere" / "a.csv", (".csv",))
    (tmp_path / "b.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        check_target(tmp_path / "b.csv", (".csv",))
