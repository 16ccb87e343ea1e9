"""Model files as archives: written whole or not at all, read only if complete and unaltered."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

#: Number of the file format. Older files stay readable, newer ones are refused.
FORMAT = 1
ABOUT, SCHEMA = "svmproba.json", "schema.json"

_MARK = b"svmproba sha256 "
_TRAILER = len(_MARK) + 2 * hashlib.sha256().digest_size
_MEMBER = re.compile(r"svmproba\.json|schema\.json|[0-9]+\.(npy|npz)")
#: What a file may unpack to: this much, and this many times its own size on top.
_FREE_BYTES, _GROWTH = 2**26, 64
#: Compressing pays where a sample of this size shrinks to less than this share.
_SAMPLE_BYTES, _WORTHWHILE = 2**16, 0.85
#: Six would take ten times as long to make bags 13 % smaller.
_LEVEL = 1
_YEAR_ZERO = (1980, 1, 1, 0, 0, 0)


class ModelFileError(ValueError):
    """A model file that is refused, or a model that no file can hold.

    Parameters
    ----------
    path : str or Path
        The file.
    reason : str
        Why, in a sentence.
    """

    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        super().__init__(os.fspath(path), reason)
        self.path, self.reason = os.fspath(path), reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@contextmanager
def refusing(path: Path, what: str) -> Iterator[None]:
    """Turn whatever goes wrong inside into a `ModelFileError`."""
    try:
        yield
    except ModelFileError:
        raise
    except Exception as error:
        detail = str(error).partition("\n")[0] or "no details"
        raise ModelFileError(path, f"{what} ({type(error).__name__}: {detail}).") from error


def pack(members: Mapping[str, bytes], *, compress: bool = True) -> bytes:
    """Archive of the members with the digest of everything else at its end.

    Equal members give equal bytes.
    """
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
    if compress and sum(map(len, members.values())) > _FREE_BYTES + _GROWTH * len(body):
        return pack(members, compress=False)  # it would be taken for a bomb
    return bytes(body) + _MARK + hashlib.sha256(body).hexdigest().encode()


def _is_compressible(content: bytes) -> bool:
    """Whether deflating pays: it does for text and bags, hardly for the digits of floats."""
    middle = len(content) // 2
    sample = content[middle : middle + _SAMPLE_BYTES]
    return len(zlib.compress(sample, 1)) < _WORTHWHILE * len(sample)


def read_whole(path: Path) -> bytes:
    """Bytes of a model file, after its digest was found right."""
    if path.exists() and not path.is_file():
        raise ModelFileError(path, "this is not a file.")
    data = path.read_bytes()
    trailer = data[-_TRAILER:]
    if not data.startswith(b"PK\x03\x04"):
        raise ModelFileError(path, f"not a model file: {_guess(data)}.")
    if not trailer.startswith(_MARK):
        raise ModelFileError(path, _without_trailer(data))
    with memoryview(data) as view:
        digest = hashlib.sha256(view[:-_TRAILER]).hexdigest().encode()
    if trailer[len(_MARK) :] != digest:
        raise ModelFileError(path, "altered since it was written: its digest does not match.")
    return data


def _guess(data: bytes) -> str:
    if not data:
        return "it is empty"
    if data.startswith(b"\x80") or (data[:1] in b"(]}c" and data.endswith(b".")):
        return "it looks like a pickle, which could run any code and is never opened"
    if all(byte >= 32 or byte in b"\t\r\n" for byte in data[:256]):
        return "it looks like text"
    return "its first bytes are unknown"


def _without_trailer(data: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
    except Exception:
        return "incomplete: its end is missing."
    if ABOUT in names:
        return "altered since it was written: its digest is missing."
    kind = "a skops file" if SCHEMA in names else "a zip file"
    return f"{kind}, but not one that svmproba.save wrote."


def read_members(path: Path, data: bytes) -> dict[str, bytes]:
    """Members of an archive by name, once their names, sizes and array headers are in order."""
    with refusing(path, "damaged archive"), zipfile.ZipFile(io.BytesIO(data)) as archive:
        return _checked_members(path, archive, len(data), _MEMBER)


def _checked_members(
    path: Path, archive: zipfile.ZipFile, size: int, names: re.Pattern[str]
) -> dict[str, bytes]:
    entries = archive.infolist()
    for entry in entries:
        if not names.fullmatch(entry.filename):
            raise ModelFileError(path, f"holds {entry.filename!r}, which no model file has.")
    if len({entry.filename for entry in entries}) < len(entries):
        raise ModelFileError(path, "holds two members of one name.")
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > _FREE_BYTES + _GROWTH * size:
        raise ModelFileError(
            path, f"claims to unpack to {unpacked:,} bytes from {size:,}, too many to believe."
        )
    members = {}
    for entry in entries:
        if entry.flag_bits & 1 or entry.compress_type not in (
            zipfile.ZIP_STORED,
            zipfile.ZIP_DEFLATED,
        ):
            raise ModelFileError(path, f"{entry.filename} is packed in an unknown way.")
        content = members[entry.filename] = archive.read(entry)
        if entry.filename.endswith(".npy"):
            _check_array(path, entry.filename, content)
    return members


def _check_array(path: Path, name: str, content: bytes) -> None:
    """Refuse arrays of objects, and headers that promise more or less than there is."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise ModelFileError(path, f"{name} is an array of unknown version {version}.")
    if dtype.hasobject:
        raise ModelFileError(path, f"{name} is an array of Python objects.")
    claimed, found = math.prod(shape) * dtype.itemsize, len(content) - stream.tell()
    if claimed != found:
        raise ModelFileError(path, f"{name} claims {claimed:,} bytes and has {found:,}.")


_SPARSE_PART = re.compile(r"(indices|indptr|format|shape|data|_is_array)\.npy")


def check_sparse(path: Path, name: str, content: bytes) -> None:
    """Refuse sparse tables that are not CSR or whose indices lead outside."""
    from scipy import sparse

    with refusing(path, f"{name} is no sparse table"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = _checked_members(path, archive, len(content), _SPARSE_PART)
        if np.load(io.BytesIO(parts["format.npy"])).item() != b"csr":
            raise ModelFileError(path, f"{name} is a sparse table, but not CSR.")
        # Compiled code trusts the indices.
        sparse.load_npz(io.BytesIO(content)).check_format(full_check=True)


def parse_about(path: Path, members: Mapping[str, bytes]) -> dict[str, Any]:
    """Read what the file says of itself; refuse it if a newer version wrote it."""
    if ABOUT not in members or SCHEMA not in members:
        raise ModelFileError(path, f"{ABOUT} or {SCHEMA} is missing from it.")
    with refusing(path, f"its {ABOUT} cannot be read"):
        found = json.loads(members[ABOUT])
        kind, version = found["format"], str(found["svmproba"])
        if type(kind) is not int or kind < 1:
            raise ModelFileError(path, f"has an unknown format {kind!r}.")
    if kind > FORMAT:
        raise ModelFileError(
            path,
            f"written by svmproba {version} in format {kind}; this version reads formats up to "
            f"{FORMAT}. Install a newer one: pip install 'svmproba>={version}'.",
        )
    about: dict[str, Any] = found
    return about
