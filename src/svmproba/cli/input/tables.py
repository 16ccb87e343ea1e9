"""Tables from CSV and Parquet files or standard input, in chunks: memory stays bounded."""

from __future__ import annotations

import gzip
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

from svmproba.cli.errors import InputError
from svmproba.cli.input.csv_blocks import (
    Decoded,
    Lines,
    first_lines,
    read_block,
    records_of,
    whole_records,
)
from svmproba.cli.input.csv_text import (
    check_looks_like_text,
    check_names,
    encoding_of,
    guess_separator,
    separator_line,
    split_header,
)
from svmproba.cli.output.files import STANDARD

#: Records of Parquet that are read at a time.
CHUNK_ROWS = 1 << 15


@dataclass(frozen=True)
class Reading:
    """How a table is read; None: guessed, or found for each column (signs of numbers)."""

    separator: str | None = None
    encoding: str | None = None
    header: bool = True  # without one the names are column1, column2, …
    decimal: str | None = None
    thousands: str | None = None


class Chunk(NamedTuple):
    """A record batch, the number of its first record, from 1, and its lines in a text file."""

    first_row: int
    batch: Any
    lines: Lines | None = None

    def place(self, row: int) -> str:
        """Name a record by its number and, where there is one, its line."""
        if self.lines is None:
            return f"row {row}"
        return f"row {row} (line {self.lines.of(row - self.first_row)})"


class TableFile:
    """A table that can be read once, from start to end."""

    name: str
    columns: list[str]
    reading: Reading = Reading()
    size: int | None = None  # bytes or records of the whole
    position: int = 0  # of those, read

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[Chunk]:
        """Read some columns, by default all."""
        raise NotImplementedError

    def type_of(self, column: str) -> Any:
        """Arrow's type of a column."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the file."""
        raise NotImplementedError

    def __enter__(self) -> TableFile:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def open_table(source: str, reading: Reading | None = None) -> TableFile:
    """Open CSV, ``.csv.gz`` or Parquet, or ``-``, CSV on standard input; read the names."""
    reading = reading or Reading()
    if source == STANDARD:
        if sys.stdin is None:
            raise InputError("standard input is closed")
        return CsvTable("standard input", sys.stdin.buffer, reading)
    path = Path(source)
    try:
        file: IO[bytes] = path.open("rb")
        start = file.read(4)
        file.seek(0)
    except FileNotFoundError:
        raise InputError(f"there is no file {source!r}") from None
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}") from error
    if start == b"PAR1" or path.suffix.lower() in (".parquet", ".pq"):
        file.close()
        return ParquetTable(path, reading)
    return CsvTable(source, file, reading, path)


class CsvTable(TableFile):
    """Records of CSV text."""

    def __init__(
        self, name: str, file: IO[bytes], reading: Reading, path: Path | None = None
    ) -> None:
        self.name, self.reading, self._path, self._file = name, reading, path, file
        compressed = path is not None and path.suffix == ".gz"
        content: Any = gzip.GzipFile(fileobj=file) if compressed else file
        if path is not None:
            self.size = path.stat().st_size
        try:
            self._begin(content, reading)
        except BaseException:
            self.close()
            raise

    def _begin(self, content: Any, reading: Reading) -> None:
        """Read the header."""
        try:
            head = read_block(content)
        except (OSError, EOFError) as error:
            raise InputError(f"{self.name} cannot be read: {error}") from error
        check_looks_like_text(self.name, head, reading.encoding)
        decoded = Decoded(self.name, content, encoding_of(head, reading.encoding))
        self._blocks = decoded.blocks(head)
        first, self._newline = first_lines(self._blocks)
        text = first.decode(errors="ignore")
        said, text, n_skipped = separator_line(text)
        self.separator = reading.separator or said or guess_separator(text)
        header = split_header(self.name, text, self.separator, reading.header)
        self.columns = header.columns
        begin = n_skipped + header.n_bytes
        self._first_line = 1 + first.count(self._newline, 0, begin)
        self._blocks = chain([first[begin:]], self._blocks)

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[Chunk]:
        """Read some columns, by default all, as strings; see `TableFile`."""
        wanted = list(self.columns if columns is None else columns)
        row, line = 1, self._first_line
        records = whole_records(self.name, self._blocks, self.separator, self._newline)
        for block in records:
            n_lines = block.count(self._newline) + (not block.endswith(self._newline))
            batch = self._parse(block, wanted, row, line)
            if self._path is not None:
                self.position = self._file.tell()
            if batch is not None:
                simple = batch.num_rows == n_lines
                yield Chunk(row, batch, Lines(line, None if simple else block, self.separator))
                row += batch.num_rows
            line += n_lines

    def close(self) -> None:
        """Close the file, but for standard input; see `TableFile`."""
        if self._path is not None:
            self._file.close()

    def _parse(self, block: bytes, wanted: list[str], row: int, line: int) -> Any:
        """Divide records into cells; None where there are blank lines only."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        if not block.strip(b"\r\n"):
            return None
        # Arrow's own memory, and no function of ours: a thread of Arrow may let go of what it was
        # given when Python has already ended, which ends the process with an abort.
        content = pa.allocate_buffer(len(block))
        memoryview(content).cast("B")[:] = block
        size = max(len(block), 1 << 10)
        read = arrow_csv.ReadOptions(column_names=self.columns, use_threads=False, block_size=size)
        parse = arrow_csv.ParseOptions(delimiter=self.separator, newlines_in_values=True)
        convert = arrow_csv.ConvertOptions(
            column_types={name: pa.string() for name in self.columns},
            include_columns=wanted,
            # Only what cannot be anything else: a column may be passed on as it is.
            null_values=[""],
            strings_can_be_null=True,
            check_utf8=False,  # the decoder did
        )
        try:
            # Not `read_csv`: its signal handlers would lose a Ctrl-C that comes while it ends.
            with arrow_csv.open_csv(pa.BufferReader(content), read, parse, convert) as reader:
                table = reader.read_all()
        except pa.ArrowInvalid as error:
            expected, records = len(self.columns), records_of(block, self.separator)
            bad = next((one for one in records if one.n_cells != expected), None)
            if bad is None:
                raise InputError(f"{self.name}, after row {row - 1}: {error}") from error
            where = f"row {row + bad.place} (line {line + bad.before})"
            has = f"{bad.n_cells} cells where the header has {expected}"
            said = shorten(bad.text)
            raise InputError(f"{self.name}, {where}: it has {has}: {said!r}") from error
        return table.combine_chunks().to_batches()[0] if table.num_rows else None

    def type_of(self, column: str) -> Any:
        """Text; see `TableFile`."""
        import pyarrow as pa

        return pa.string()


class ParquetTable(TableFile):
    """Records of a Parquet file."""

    def __init__(self, path: Path, reading: Reading) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        self.name, self.reading = str(path), reading
        try:
            self._file = parquet.ParquetFile(path)
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(
                f"{path} is not a complete Parquet file; was it truncated? ({first_line(error)})"
            ) from error
        self.columns = [str(name) for name in self._file.schema_arrow.names]
        check_names(self.name, self.columns)
        self.size = self._file.metadata.num_rows

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[Chunk]:
        """Read some columns, by default all, with the file's types; see `TableFile`."""
        import pyarrow as pa

        wanted = None if columns is None else list(columns)
        try:
            for batch in self._file.iter_batches(CHUNK_ROWS, columns=wanted):
                first, self.position = self.position + 1, self.position + batch.num_rows
                yield Chunk(first, without_views(batch))
        except (pa.ArrowInvalid, OSError) as error:
            after = f"{self.name} cannot be read after row {self.position}"
            raise InputError(f"{after}: {first_line(error)}") from error

    def close(self) -> None:
        """Close the file; see `TableFile`."""
        self._file.close()

    def type_of(self, column: str) -> Any:
        """Type that the file gives; see `TableFile`."""
        import pyarrow as pa

        kind = self._file.schema_arrow.field(column).type
        return pa.string() if pa.types.is_string_view(kind) else kind


def without_views(batch: Any) -> Any:
    """Strings instead of views of strings, with which parts of Arrow can do nothing yet."""
    import pyarrow as pa

    for k, field in enumerate(batch.schema):
        if pa.types.is_string_view(field.type):
            batch = batch.set_column(k, field.name, batch.column(k).cast(pa.string()))
    return batch


class WholeTable(NamedTuple):
    """All records of a table, and how to name one."""

    table: Any
    chunks: list[Chunk]

    def place(self, row: int) -> str:
        """Name a record; see `Chunk.place`."""
        rows = [chunk.first_row for chunk in self.chunks]
        return self.chunks[bisect_right(rows, row) - 1].place(row)


def read_whole(file: TableFile, columns: Sequence[str] | None = None) -> WholeTable:
    """Read a table that fits into memory; a table without records is refused."""
    import pyarrow as pa

    chunks = list(file.chunks(columns))
    if not sum(chunk.batch.num_rows for chunk in chunks):
        raise InputError(f"{file.name} has no records, only names of columns")
    return WholeTable(pa.Table.from_batches([chunk.batch for chunk in chunks]), chunks)


def shorten(text: str, width: int = 60) -> str:
    """Shorten a text that is too long for a message."""
    return text if len(text) <= width else text[: width - 1] + "…"


def first_line(error: Exception) -> str:
    """First line of an error's message."""
    return (str(error).splitlines() or [type(error).__name__])[0]
