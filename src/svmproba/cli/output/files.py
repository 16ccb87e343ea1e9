"""Output files: checks before the work, and tables written chunk by chunk."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from svmproba._files import whole_file
from svmproba.cli.errors import InputError

#: Name of standard input and output.
STANDARD = "-"
#: Endings of files that are not models.
NO_MODELS = (
    *(".csv", ".gz", ".parquet", ".pq", ".html", ".htm", ".onnx", ".pkl", ".joblib"),
    *(".png", ".pdf", ".svg"),
)
#: Records of one row group of Parquet.
ROWS_OF_A_GROUP = 1 << 18


def check_target(
    path: str | Path,
    suffixes: tuple[str, ...],
    *,
    inputs: Sequence[str] = (),
    force: bool = False,
    option: str = "--out",
) -> None:
    """Refuse a file that cannot or must not be written, before the long work begins.

    Suffixes are the endings allowed. Inputs are never replaced, other files with `force` alone.
    """
    for source in inputs:
        if _is_same_file(str(path), source):
            raise InputError(
                f"{option}: {str(path)!r} and the input {source!r} are the same file; give another"
            )
    if str(path) == STANDARD:
        return
    path = Path(path)
    if suffixes and path.suffix.lower() not in suffixes:
        raise InputError(f"{option} must end with {' or '.join(suffixes)}, got {str(path)!r}")
    if path.is_dir():
        raise InputError(f"{option}: {path} is a folder")
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"{option}: there is no folder {str(folder)!r}")
    if os.path.exists(path) and not path.is_file():
        raise InputError(f"{option}: {path} is a device or a pipe, not a file")
    if os.path.exists(path) and not force:
        raise InputError(
            f"{option}: {path} exists already; give another name, or --force to replace it"
        )
    if not os.access(folder, os.W_OK):
        raise InputError(f"{option}: the folder {str(folder)!r} is not writable")


def check_model_target(path: Path, *, inputs: Sequence[str], force: bool) -> None:
    """Refuse a file that cannot hold a model; see `check_target`."""
    if path.suffix.lower() in NO_MODELS:
        raise InputError(
            f"--out: a model cannot be a {path.suffix} file; give another ending, got {str(path)!r}"
        )
    check_target(path, (), inputs=inputs, force=force)


def _is_same_file(out: str, source: str) -> bool:
    """Whether both are one regular file, by whatever names."""
    try:
        a = os.fstat(sys.stdout.fileno()) if out == STANDARD else os.stat(out)
        b = os.fstat(sys.stdin.fileno()) if source == STANDARD else os.stat(source)
    except (AttributeError, OSError, ValueError):  # one of them is not there, or no file
        return False
    return stat.S_ISREG(a.st_mode) and os.path.samestat(a, b)


@contextlib.contextmanager
def table_writer(
    out: str, schema: Any, *, overwrite: bool = True
) -> Iterator[Callable[[Any], None]]:
    """Write record batches to Parquet, CSV or ``-``, CSV, by the callable ``write(batch)``."""
    if out == STANDARD:
        # What was written to standard output stays there, whatever happens.
        with _csv_writer(sys.stdout.buffer, schema) as write:
            yield write
        return
    with whole_file(Path(out), overwrite=overwrite) as place:
        if Path(out).suffix.lower() == ".parquet":
            with _parquet_writer(place, schema) as write:
                yield write
        else:
            with place.open("wb") as file, _csv_writer(file, schema) as write:
                yield write


@contextlib.contextmanager
def _parquet_writer(place: Path, schema: Any) -> Iterator[Callable[[Any], None]]:
    """Write Parquet in row groups of ``ROWS_OF_A_GROUP``."""
    import pyarrow as pa
    from pyarrow import parquet

    waiting: list[Any] = []
    with parquet.ParquetWriter(place, schema, compression="zstd") as writer:

        def write(batch: Any) -> None:
            waiting.append(batch)
            if sum(map(len, waiting)) >= ROWS_OF_A_GROUP:
                flush()

        def flush() -> None:
            writer.write_table(pa.Table.from_batches(waiting, schema))
            waiting.clear()

        yield write
        flush()


@contextlib.contextmanager
def _csv_writer(file: Any, schema: Any) -> Iterator[Callable[[Any], None]]:
    """Write CSV; every batch is flushed, so that the reader of a pipe need not wait."""
    import pyarrow as pa

    header = io.StringIO()
    csv.writer(header, lineterminator="\n").writerow(schema.names)
    file.write(header.getvalue().encode())

    def write(batch: Any) -> None:
        file.write(memoryview(_csv_rows(pa, batch)))
        file.flush()

    yield write
    file.flush()


def _csv_rows(pa: Any, batch: Any) -> Any:
    """Rows of CSV, with quotation marks only where some cell of the batch needs them."""
    from pyarrow import csv as arrow_csv

    for style in ("none", "needed"):
        buffer = pa.BufferOutputStream()
        options = arrow_csv.WriteOptions(include_header=False, quoting_style=style)
        try:
            arrow_csv.write_csv(batch, buffer, options)
        except pa.ArrowInvalid:
            continue
        return buffer.getvalue()
    raise ValueError(f"columns of type {batch.schema.types} cannot be written as CSV")
