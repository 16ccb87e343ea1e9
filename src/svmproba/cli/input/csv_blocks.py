"""CSV text in blocks of whole records, and the lines on which records begin."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from svmproba.cli.errors import InputError

#: Bytes that are read at a time.
BLOCK_BYTES = 1 << 20
#: No record is longer than this.
LONGEST_RECORD = 16 << 20


def read_block(file: Any) -> bytes:
    """Read ``BLOCK_BYTES`` or less, in small steps: one long read might lose a Ctrl-C."""
    pieces, n_missing = [], BLOCK_BYTES
    while n_missing and (piece := file.read1(n_missing)):
        pieces.append(piece)
        n_missing -= len(piece)
    return b"".join(pieces)


def first_lines(blocks: Iterator[bytes]) -> tuple[bytes, bytes]:
    """Join blocks until a line ends, for the header may be long; gives also what ends lines."""
    first = next(blocks)
    while not (b"\n" in first or b"\r" in first) and len(first) < LONGEST_RECORD:
        more = next(blocks, b"")
        if not more:
            break
        first += more
    return first, b"\n" if b"\n" in first else b"\r"


class Decoded:
    """UTF-8 from text of any encoding; an error names the line of the wrong byte."""

    def __init__(self, name: str, file: Any, encoding: str) -> None:
        self._name, self._file, self._encoding = name, file, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._is_utf8 = codecs.lookup(encoding).name == "utf-8"
        self._n_lines = 0

    def blocks(self, head: bytes) -> Iterator[bytes]:
        """Recode `head`, which was read already, then the rest of the file."""
        raw = head
        while raw:
            yield self._recode(raw)
            raw = self._read()
        yield self._recode(b"")

    def _read(self) -> bytes:
        try:
            return read_block(self._file)
        except (OSError, EOFError) as error:
            where = f"{self._name} cannot be read after line {self._n_lines}"
            raise InputError(f"{where}: {error}") from error

    def _recode(self, raw: bytes) -> bytes:
        try:
            text = self._decoder.decode(raw, final=not raw)
        except UnicodeDecodeError as error:
            line = self._n_lines + 1 + raw[: error.start].count(b"\n")
            remedy = "name its encoding, such as --encoding cp1252 or --encoding latin-1"
            raise InputError(
                f"{self._name}, line {line}: this is not {self._encoding} text; {remedy}"
            ) from None
        self._n_lines += raw.count(b"\n")
        return raw if self._is_utf8 else text.encode()


def whole_records(
    name: str, blocks: Iterator[bytes], separator: str, newline: bytes
) -> Iterator[bytes]:
    """Divide UTF-8 text into blocks of whole records; `name` of the file is for messages."""
    rest, n_lines = b"", 1
    for block in blocks:
        rest += block
        cut = end_of_records(rest, separator, newline)
        if cut:
            yield rest[:cut]
            n_lines += rest.count(newline, 0, cut)
            rest = rest[cut:]
        if len(rest) > LONGEST_RECORD:
            raise InputError(
                f"{name}: the record that begins on line {n_lines} of the data is longer than "
                f"{LONGEST_RECORD >> 20} MiB; is a quotation mark opened and never closed?"
            )
    if rest.strip():
        yield rest


def end_of_records(text: bytes, separator: str, newline: bytes) -> int:
    """Find the place after the last newline that ends a record; 0 where there is none."""
    cut = text.rfind(newline)
    if cut >= 0 and b'"' in text:
        # A quotation mark counts at the start of a cell only, and two of them are one.
        before = re.escape(separator.encode()) + rb"\r\n"
        quoted = re.compile(rb"(?:^|(?<=[" + before + rb']))"[^"]*(?:""[^"]*)*(?:"|\Z)')
        for start, end in reversed([match.span() for match in quoted.finditer(text)]):
            if end <= cut:
                break
            if start < cut:
                cut = text.rfind(newline, 0, start)
    return cut + len(newline) if cut >= 0 else 0


class Lines(NamedTuple):
    """Where the records of a block are in the file."""

    first: int  # line on which the block begins
    block: bytes | None  # None where every record is one line
    separator: str

    def of(self, k: int) -> int:
        """Line on which the k-th record begins, from 0."""
        if self.block is None:
            return self.first + k
        # The csv module of Python tells lines; Arrow's, which reads the records, does not.
        found = records_of(self.block, self.separator)
        return self.first + next((one.before for one in found if one.place == k), 0)


class Record(NamedTuple):
    """A record of a block that is not blank."""

    place: int  # from 0
    before: int  # lines before it
    n_cells: int
    text: str


def records_of(block: bytes, separator: str) -> Iterator[Record]:
    """Read records one after the other; slow."""
    lines = list(io.StringIO(block.decode("utf-8", errors="replace"), newline=""))
    reader, place, before = csv.reader(lines, delimiter=separator), 0, 0
    usual = csv.field_size_limit(LONGEST_RECORD)
    try:
        for cells in reader:
            if cells:
                text = "".join(lines[before : reader.line_num]).rstrip("\r\n")
                yield Record(place, before, len(cells), text)
                place += 1
            before = reader.line_num
    finally:
        csv.field_size_limit(usual)
