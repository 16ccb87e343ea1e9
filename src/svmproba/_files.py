"""Files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":
    import fcntl

#: Seconds after which a temporary file is a leftover, where files have no locks.
_LEFT_AFTER = 24 * 3600.0


@contextmanager
def whole_file(path: Path, *, overwrite: bool = True) -> Iterator[Path]:
    """Give a temporary name that replaces a file when the context ends without error.

    Leftovers of killed processes are removed. A link keeps its target; devices and folders are
    refused. Without `overwrite` an existing file is a FileExistsError at the end.
    """
    path = Path(os.path.realpath(path))
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    _remove_leftovers(path)
    temporary, lock = _begin(path)
    try:
        if os.name == "posix" and path.exists():  # who may read the old one may read the new one
            with contextlib.suppress(OSError):
                os.chmod(temporary, stat.S_IMODE(path.stat().st_mode))
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if overwrite:
            os.replace(temporary, path)
        else:
            _put_where_nothing_is(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # the new name, too, must survive a power cut
        finally:
            os.close(folder)


def write_whole(path: Path, content: bytes, *, overwrite: bool = True) -> None:
    """Write a file completely or, after any error, leave it as it was; see `whole_file`."""
    with whole_file(path, overwrite=overwrite) as temporary:
        temporary.write_bytes(content)


def _around_token(path: Path) -> tuple[str, str]:
    """Begin and end of the names of temporary files."""
    return f".{path.stem[:50]}.svmproba-", path.suffix[-50:]


def _begin(path: Path) -> tuple[Path, int | None]:
    """Create the temporary file and lock it until this process ends or closes it."""
    begin, end = _around_token(path)
    while True:
        temporary = path.with_name(f"{begin}{secrets.token_hex(6)}{end}")
        # Not `tempfile`, whose files only the user may read: this one has the usual rights.
        lock = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        if sys.platform == "win32":
            os.close(lock)
            return temporary, None
        with contextlib.suppress(OSError):  # file systems without locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(temporary):
            return temporary, lock
        os.close(lock)  # another process took it for a leftover before it was locked


def _remove_leftovers(path: Path) -> None:
    """Remove the temporary files that no process has locked."""
    begin, end = _around_token(path)
    with contextlib.suppress(OSError):  # a folder that may not be listed
        for name in os.listdir(path.parent):
            if name.startswith(begin) and name.endswith(end):
                with contextlib.suppress(OSError):  # in use, or gone
                    _remove_unless_locked(path.with_name(name))


def _remove_unless_locked(leftover: Path) -> None:
    if sys.platform == "win32":  # no locks; a file that is open cannot be removed
        if time.time() - leftover.stat().st_mtime > _LEFT_AFTER:
            leftover.unlink()
        return
    lock = os.open(leftover, os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        leftover.unlink()
    finally:
        os.close(lock)


def _put_where_nothing_is(temporary: Path, path: Path) -> None:
    """Rename a file, unless the new name exists."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise FileExistsError(errno.EEXIST, "it exists already", str(path)) from None
    except OSError:  # file systems without hard links
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        os.replace(temporary, path)
