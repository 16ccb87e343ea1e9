"""Model files as zip archives, read only if complete and unaltered."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

#: Number of the file format. Older files stay readable, newer ones are refused.
FORMAT = 1
#: Members of the archive besides the arrays: versions and notes, and the tree of the model.
ABOUT, MODEL = "svmproba.json", "model.json"

_START, _MARK = b"PK\x03\x04", b"svmproba sha256 "
_TRAILER = len(_MARK) + 2 * hashlib.sha256().digest_size
_CHUNK = 2**20
_MEMBER = re.compile(r"svmproba\.json|model\.json|(0|[1-9][0-9]{0,8})\.npy")
#: A file may unpack to this many bytes plus this many times its own size. A byte of JSON counts
#: as _GROWTH bytes: an empty list takes two bytes in the file and 130 in memory.
_FREE_BYTES, _GROWTH = 2**26, 64
#: Strings in JSON. The quantifiers are possessive: backtracking would take much memory.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
#: Largest depth of nested JSON.
_DEPTH = 100
#: Kinds of arrays: booleans, numbers, times and text. Objects would have to be pickled.
_KINDS = "biufcmMSU"
#: A member is compressed if a sample of this size shrinks to less than this share.
_SAMPLE_BYTES, _WORTHWHILE = 2**16, 0.85
#: Level 6 takes ten times as long and makes bags 13 % smaller.
_LEVEL = 1
_YEAR_ZERO = (1980, 1, 1, 0, 0, 0)


class ModelFileError(ValueError):
    """A model file that is refused, or a model that cannot be saved: `path` and `reason`."""

    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        super().__init__(os.fspath(path), reason)
        self.path, self.reason = os.fspath(path), reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class Refused(ValueError):
    """Something that a model may not hold, and its place; `refusing` adds the name of the file."""

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(reason, place)
        self.reason, self.place = reason, place

    def __str__(self) -> str:
        return f"{self.place.removeprefix('.') or 'the model'} {self.reason}"


@contextmanager
def refusing(path: Path, what: str) -> Iterator[None]:
    """Turn any error inside into a `ModelFileError`."""
    try:
        yield
    except (ModelFileError, MemoryError):
        raise
    except Refused as error:
        raise ModelFileError(path, f"{error}.") from error
    except Exception as error:
        detail = str(error).partition("\n")[0][:200] or "no details"
        raise ModelFileError(path, f"{what} ({type(error).__name__}: {detail}).") from error


def pack(members: Mapping[str, bytes], *, compress: bool = True) -> bytes:
    """Archive of the members, with a digest of all of it at its end."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name, _YEAR_ZERO)
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            if compress and _is_compressible(content):
                entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compresslevel=_LEVEL)
        archive.comment = _MARK.ljust(_TRAILER)
    body = buffer.getbuffer()[:-_TRAILER]
    weight = sum(_weight(name, len(content)) for name, content in members.items())
    if compress and weight > _FREE_BYTES + _GROWTH * len(body):
        return pack(members, compress=False)  # reading it would fail as a zip bomb
    return bytes(body) + _MARK + hashlib.sha256(body).hexdigest().encode()


def _is_compressible(content: bytes) -> bool:
    """Whether compression helps: it does for text and bags, hardly for floats."""
    middle = len(content) // 2
    sample = content[middle : middle + _SAMPLE_BYTES]
    return len(zlib.compress(sample, 1)) < _WORTHWHILE * len(sample)


def _weight(name: str, size: int) -> int:
    return size * (_GROWTH if name.endswith(".json") else 1)


class Archive:
    """An open model file, its digest, names and sizes checked; members are read on demand."""

    def __init__(self, zipped: zipfile.ZipFile) -> None:
        self._zipped = zipped
        self._entries = {entry.filename: entry for entry in zipped.infolist()}
        self._arrays: dict[int, NDArray[Any]] = {}

    def json(self, name: str) -> Any:
        """Read a JSON document that is not nested too deeply."""
        if name not in self._entries:
            raise Refused("is missing from it", name)
        return json.loads(check_depth(self._zipped.read(name)))

    def array(self, number: object) -> NDArray[Any]:
        """Read an array by its number, once."""
        name = f"{number}.npy" if type(number) is int else ""
        if name not in self._entries:
            raise Refused("is an array that is missing from the file")
        assert isinstance(number, int)
        if number not in self._arrays:
            with self._zipped.open(name) as stream:
                _check_header(stream, self._entries[name].file_size)
                stream.seek(0)
                array = np.lib.format.read_array(stream, allow_pickle=False)
            _check_codes(array)
            self._arrays[number] = array.astype(array.dtype.newbyteorder("="), copy=False)
        return self._arrays[number]

    def check_all_read(self) -> None:
        """Refuse arrays that the model does not use."""
        if len(self._arrays) + 2 < len(self._entries):
            raise Refused("holds arrays that the model does not use", "the file")


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open a model file; refuse other files, incomplete or altered ones, and zip bombs."""
    if path.exists() and not path.is_file():
        raise ModelFileError(path, "this is not a file.")
    with path.open("rb") as file:
        size = _check_ends(path, file)
        with refusing(path, "damaged archive"), zipfile.ZipFile(file) as zipped:
            _check_entries(path, zipped.infolist(), size)
            yield Archive(zipped)


def _check_ends(path: Path, file: BinaryIO) -> int:
    """Check the first bytes and the digest of a file; return its size."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    first = file.read(256)
    file.seek(max(0, size - _TRAILER))
    trailer = file.read()
    if not first.startswith(_START):
        raise ModelFileError(path, f"not a model file: {_guess(first, trailer)}.")
    if not ABOUT.encode().startswith(first[30 : 30 + len(ABOUT)]):
        raise ModelFileError(path, "a zip file, but not one that svmproba.save wrote.")
    if not trailer.startswith(_MARK):
        raise ModelFileError(path, "incomplete or altered: the digest at its end is missing.")
    file.seek(0)
    digest, left = hashlib.sha256(), size - _TRAILER
    while left > 0 and (chunk := file.read(min(left, _CHUNK))):
        digest.update(chunk)
        left -= len(chunk)
    if trailer[len(_MARK) :] != digest.hexdigest().encode():
        raise ModelFileError(path, "altered since it was written: its digest does not match.")
    return size


def _guess(first: bytes, last: bytes) -> str:
    if not first:
        return "it is empty"
    if first.startswith(b"\x80") or (first[:1] in b"(]}c" and last.endswith(b".")):
        return "it looks like a pickle, which could run any code and is never opened"
    if all(byte >= 32 or byte in b"\t\r\n" for byte in first):
        return "it looks like text"
    return "its first bytes are unknown"


def _check_entries(path: Path, entries: list[zipfile.ZipInfo], size: int) -> None:
    """Refuse members of other names or compression, and members that are too large."""
    for entry in entries:
        if not _MEMBER.fullmatch(entry.filename):
            raise ModelFileError(path, f"holds {entry.filename[:80]!r}, which no model file has.")
        known = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if entry.flag_bits & 1 or not known:
            raise ModelFileError(path, f"{entry.filename} is packed in an unknown way.")
    if len({entry.filename for entry in entries}) < len(entries):
        raise ModelFileError(path, "holds two members of one name.")
    weight = sum(_weight(entry.filename, entry.file_size) for entry in entries)
    if weight > _FREE_BYTES + _GROWTH * size:
        raise ModelFileError(
            path, f"would take {weight:,} bytes of memory, too many for a file of {size:,} bytes."
        )


def _check_header(stream: Any, size: int) -> None:
    """Refuse arrays of objects, and headers whose size is not that of the data."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise Refused(f"is an array of unknown version {version}")
    check_dtype(dtype)
    claimed, found = math.prod(shape) * dtype.itemsize, size - stream.tell()
    if claimed != found or min(shape, default=0) < 0:
        raise Refused(f"is an array that claims {claimed:,} bytes and has {found:,}")


def check_dtype(dtype: np.dtype[Any]) -> None:
    """Refuse types of arrays that no file may hold."""
    fields = {dtype[name].kind for name in dtype.names or ()}
    if not dtype.itemsize or (
        dtype.kind not in _KINDS and (not fields or not fields <= {"f", "U"})
    ):
        raise Refused(f"is an array of {dtype.name}, not of numbers, booleans, times or text")


def _check_codes(array: NDArray[Any]) -> None:
    """Refuse bytes that are no boolean or no character: numpy does not check them."""
    for name in array.dtype.names or ():
        _check_codes(np.ascontiguousarray(array[name]))
    flat = array.ravel(order="K")
    if array.dtype.kind == "b" and flat.view(np.uint8).max(initial=0) > 1:
        raise Refused("is an array of booleans that are neither true nor false")
    if array.dtype.kind == "U":
        codes = flat.view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if codes.max(initial=0) > sys.maxunicode:
            raise Refused("is an array of text with invalid characters")


def check_depth(text: bytes) -> bytes:
    """Refuse JSON that is nested too deeply, before it is read."""
    bare = np.frombuffer(_STRING.sub(b"", text), np.uint8)
    opens = np.isin(bare, np.frombuffer(b"[{", np.uint8)).astype(np.int8)
    closes = np.isin(bare, np.frombuffer(b"]}", np.uint8)).astype(np.int8)
    if np.cumsum(opens - closes, dtype=np.int64).max(initial=0) > _DEPTH:
        raise Refused(f"is nested more than {_DEPTH} deep", "JSON")
    return text


def parse_about(path: Path, archive: Archive) -> dict[str, Any]:
    """Read versions and notes; refuse a file of a newer format."""
    with refusing(path, f"its {ABOUT} cannot be read"):
        found = archive.json(ABOUT)
        if not isinstance(found, dict):
            raise ModelFileError(path, f"its {ABOUT} is not a JSON object.")
        kind = found.get("format")
        if type(kind) is not int or kind < 1:
            raise ModelFileError(path, f"has an unknown format {str(kind)[:20]!r}.")
        for key in ("svmproba", "class", "scikit-learn"):
            if not isinstance(found.get(key), str) or not re.fullmatch(r"[\w.+-]+", found[key]):
                raise ModelFileError(path, f"its {ABOUT} has no valid {key!r}.")
    if kind > FORMAT:
        version = found["svmproba"]
        raise ModelFileError(
            path,
            f"written by svmproba {version} in format {kind}; this version reads formats up to "
            f"{FORMAT}. Install a newer one: pip install 'svmproba>={version}'.",
        )
    about: dict[str, Any] = found
    return about
