"""Reading tables: what is read is what Python's csv module reads; what cannot be read is named."""

import csv
import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv

from svmproba.cli.errors import InputError
from svmproba.cli.input import csv_blocks, tables
from svmproba.cli.input.tables import Reading, open_table, read_whole


@pytest.fixture
def read(tmp_path):
    """Read bytes as a file, as a list of rows of text."""

    def run(content, name="data.csv", **reading):
        (tmp_path / name).write_bytes(content)
        with open_table(str(tmp_path / name), Reading(**reading)) as file:
            table = read_whole(file).table
        return file.columns, [list(row.values()) for row in table.to_pylist()]

    return run


PLAIN = (["a", "b"], [["1", "x"], ["2", "y"]])


@pytest.mark.parametrize(
    ("content", "reading"),
    [
        (b"a,b\n1,x\n2,y\n", {}),
        (b"a,b\n1,x\n2,y", {}),
        (b"a,b\r\n1,x\r\n2,y\r\n", {}),
        (b"a,b\r1,x\r2,y\r", {}),
        (b" a , b \n1,x\n2,y\n", {}),
        (b"a;b\n1;x\n2;y\n", {}),
        (b"a\tb\n1\tx\n2\ty\n", {}),
        (b"a|b\n1|x\n2|y\n", {}),
        (b"a b\n1 x\n2 y\n", {}),
        (b"a~b\n1~x\n2~y\n", {"separator": "~"}),
        (b"\n\na,b\n\n1,x\n\n\n2,y\n\n", {}),
        (b'"a","b"\n"1","x"\n2,"y"\n', {}),
        (b"\xef\xbb\xbfa,b\n1,x\n2,y\n", {}),
        (b"\xef\xbb\xbfa,b\n1,x\n2,y\n", {"encoding": "utf-8"}),
        ("a,b\n1,x\n2,y\n".encode("utf-16"), {}),
        (b"sep=;\na;b\n1;x\n2;y\n", {}),
        (b"sep=,\r\na,b\r\n1,x\r\n2,y\r\n", {}),
        (b"SEP=~\ra~b\r1~x\r2~y\r", {}),
        (b"\xef\xbb\xbfsep=\t\na\tb\n1\tx\n2\ty\n", {}),
        (b'"sep=;"\na,b\n1,x\n2,y\n', {"separator": ","}),
        ("sep=;\na;b\n1;x\n2;y\n".encode("utf-16"), {}),
    ],
)
def test_the_same_table_in_many_dresses(read, content, reading):
    assert read(content, **reading) == PLAIN


def test_letters_beyond_ascii(read):
    for encoding in ("latin-1", "cp1252", "utf-8"):
        content = "straße,ö\n1,é\n".encode(encoding)
        assert read(content, encoding=encoding) == (["straße", "ö"], [["1", "é"]])


def test_compressed(read):
    assert read(gzip.compress(b"a,b\n1,x\n2,y\n"), "data.csv.gz") == PLAIN


def test_without_names(read):
    columns, rows = read(b"1,x\n2,y\n", header=False)
    assert columns == ["column1", "column2"]
    assert rows == PLAIN[1]


def test_the_line_of_excel_counts_as_a_line(tmp_path, read):
    assert read(b"sep=;\n1;x\n2;y\n", header=False)[1] == PLAIN[1]
    (tmp_path / "t.csv").write_text("sep=;\na;b\n1;x\n2;y\n")
    with open_table(str(tmp_path / "t.csv")) as file:
        assert read_whole(file).place(2) == "row 2 (line 4)"


def test_empty_cells_are_null_and_other_words_stay(read):
    assert read(b"a,b\n,NA\n?,None\n")[1] == [[None, "NA"], ["?", "None"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"a,b\n", "has no records, only names of columns"),
        (b"a,b\n\n\n", "has no records, only names of columns"),
        (b"a,b,a\n1,2,3\n", "more than one column is called 'a'"),
        (b"a,b\n1,2\n3\n", r"row 2 \(line 3\): it has 1 cells where the header has 2: '3'"),
        (b"a,b\n1,2\n3,4,5\n", r"row 2 \(line 3\): it has 3 cells where the header has 2"),
        (b'a,b\n1,"x\ny"\n\n3\n', r"row 2 \(line 5\): it has 1 cells"),
        (b"1,2\n3,4\n", "the first line holds numbers .* --no-header"),
        (b"a,b\n1,\xe9\n", "line 2: this is not utf-8 text; .* --encoding cp1252"),
        (b"\x7fELF\x02\0\0\0", "is not text"),
        (b"PK\x03\x04abc", "Excel workbook: save the sheet as CSV"),
        (b"\x1f\x8b\x08abc", "its name must end with .gz"),
    ],
)
def test_what_cannot_be_read(read, content, message):
    with pytest.raises(InputError, match=message):
        read(content)


def test_a_cut_archive_is_named(read):
    content = gzip.compress(b"a,b\n" + b"1,2\n" * 5)
    with pytest.raises(InputError, match=r"data\.csv\.gz cannot be read"):
        read(content[:-12], "data.csv.gz")


def test_no_file_and_a_folder(tmp_path):
    with pytest.raises(InputError, match=r"there is no file 'nowhere\.csv'"):
        open_table("nowhere.csv")
    with pytest.raises(InputError, match="cannot be read"):
        open_table(str(tmp_path))


def test_a_quotation_mark_that_is_never_closed(read, monkeypatch):
    monkeypatch.setattr(csv_blocks, "LONGEST_RECORD", 50)
    with pytest.raises(InputError, match=r"line 2 of the data .* quotation mark opened and never"):
        read(b'a,b\n1,2\n3,"' + b"x,y\n" * 40)


CELLS = st.text(st.sampled_from("ab\",; \n\t'é"), max_size=6)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=30))
def test_cells_and_lines_are_those_of_pythons_csv(rows, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "twin.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow(["a", "b"])
        writer.writerows(rows)
    with open_table(str(path), Reading(separator=",")) as file:
        whole = read_whole(file)
    assert [[cell or "" for cell in row.values()] for row in whole.table.to_pylist()] == rows
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        next(reader)
        line = reader.line_num + 1
        for row, _ in enumerate(reader, 1):
            assert whole.place(row) == f"row {row} (line {line})"
            line = reader.line_num + 1


def test_a_stray_quotation_mark_within_a_cell(read):
    assert read(b'a,b\n5" disk,x\n7,y\n')[1] == [['5" disk', "x"], ["7", "y"]]


def test_chunks_continue_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_blocks, "BLOCK_BYTES", 64)
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + "".join(f'{k},"x{k}"\n' for k in range(300)))
    with open_table(str(path)) as file:
        chunks = list(file.chunks(["a"]))
    assert len(chunks) > 20
    row = 1
    for chunk in chunks:
        assert chunk.first_row == row
        assert chunk.batch.column("a").to_pylist() == [
            str(k) for k in range(row - 1, row - 1 + len(chunk.batch))
        ]
        row += len(chunk.batch)
    assert row == 301
    assert chunks[-1].place(300) == "row 300 (line 301)"


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"a": [1, None], "b": ["x", "y"]}), path)
    return path


def test_parquet(parquet, monkeypatch):
    monkeypatch.setattr(tables, "CHUNK_ROWS", 1)
    file = open_table(str(parquet))
    assert file.columns == ["a", "b"]
    assert file.type_of("a") == pa.int64()
    chunks = list(file.chunks(["b"]))
    assert [chunk.batch.to_pylist() for chunk in chunks] == [[{"b": "x"}], [{"b": "y"}]]
    assert chunks[1].place(2) == "row 2"


def test_parquet_by_its_content(parquet):
    other = parquet.with_suffix(".dat")
    parquet.rename(other)
    assert open_table(str(other)).columns == ["a", "b"]


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.95])
def test_a_parquet_file_cut_short(parquet, share):
    content = parquet.read_bytes()
    parquet.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match=r"is not a complete Parquet file; was it truncated\?"):
        open_table(str(parquet))


def test_a_parquet_file_with_a_damaged_middle(tmp_path):
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"a": list(range(5000))}), path, compression="zstd")
    content = bytearray(path.read_bytes())
    content[20:400] = bytes(380)
    path.write_bytes(content)
    with open_table(str(path)) as file, pytest.raises(InputError, match="read after row 0"):
        read_whole(file)


def test_reading_leaves_the_options_of_the_process_alone(read, monkeypatch):
    """Arrow's signal handlers would lose a Ctrl-C that comes while they are removed."""

    def fail(*arguments):
        raise AssertionError("signal handlers of Arrow")

    monkeypatch.setattr(pa, "enable_signal_handlers", fail)
    monkeypatch.setattr("pyarrow._csv.SignalStopHandler", fail)
    with pytest.raises(AssertionError, match="signal handlers"):
        arrow_csv.read_csv(pa.py_buffer(b"a,b\n1,x\n"))  # this one would use them
    limit = csv.field_size_limit()
    assert read(b"a,b\n1,x\n2,y\n") == PLAIN
    with pytest.raises(InputError, match=r"row 2 \(line 4\)"):
        read(b'a,b\n1,"x\nz"\n2\n')
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    ("text", "shown"), [("abcd", "abcd"), ("abcde", "abcde"), ("abcdef", "abcd…")]
)
def test_long_texts_are_shortened_to_a_width(text, shown):
    assert tables.shorten(text, 5) == shown


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("cut off\nat byte 7\nby the reader"), "cut off"),
        (OSError("cut off"), "cut off"),
        (OSError(), "OSError"),
    ],
)
def test_only_the_first_line_of_an_error_is_said(error, said):
    assert tables.first_line(error) == said


def test_a_header_longer_than_a_block(tmp_path):
    names = [f"gene_with_a_long_identifier_{k:06d}" for k in range(32_000)]
    path = tmp_path / "wide.csv"
    path.write_text(",".join([*names, "t"]) + "\n" + ",".join(["1"] * 32_000 + ["yes"]) + "\n")
    assert path.stat().st_size > 2**20
    with open_table(path, Reading()) as table:
        assert table.columns[-1] == "t"
        (chunk,) = table.chunks(["t"])
    assert chunk.batch.column("t").to_pylist() == ["yes"]
