"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a name beside a file that takes its place when the context ends well.

    Parameters
    ----------
    path : Path
        A link goes on pointing at the file.

    Yields
    ------
    Path
        In the same folder, with the same ending; gone when something goes wrong, Ctrl-C included.
    """
    path = Path(os.path.realpath(path))
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(6)}{path.suffix}")
    # Not `tempfile`, whose files nobody else may read: this one has the user's usual rights.
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # the new name, too, must survive a power cut
        finally:
            os.close(folder)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or, after any mishap, as it was before.

    Parameters
    ----------
    path : Path
    content : bytes
    """
    with whole_file(path) as temporary:
        temporary.write_bytes(content)
