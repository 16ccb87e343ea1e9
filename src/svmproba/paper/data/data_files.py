"""Finding the files of the paper's data sets: a folder, the user's cache, or a download."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import sys
import zlib
from pathlib import Path

from svmproba._files import write_whole
from svmproba.paper.data.download import DownloadError, fetch
from svmproba.paper.data.sources import SOURCES, Source, content_of


def cache_folder() -> Path:
    """Folder of downloaded files: ``svmproba`` in the user's cache; it need not exist."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "svmproba"


def content_digest(path: Path) -> str:
    """SHA-256 of a file's content, after decompression if its name ends with ``.gz``."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        # A damaged archive has the digest of its own bytes, which is that of no content.
        with contextlib.suppress(gzip.BadGzipFile, EOFError, zlib.error):
            content = gzip.decompress(content)
    return hashlib.sha256(content).hexdigest()


def find_file(
    file: str,
    sha256: str,
    data_dir: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
) -> Path:
    """Find a file and verify it by the digest of its content, or fetch it into the user's cache.

    `data_dir` comes first, then the folder of the environment variable ``SVMPROBA_DATA``, then the
    cache.
    """
    named = [Path(folder) for folder in (data_dir, os.environ.get("SVMPROBA_DATA")) if folder]
    for folder in named:
        path = folder / file
        if path.is_file():
            _check(path, sha256)
            return path
    cached = cache_folder() / file
    # A damaged file in the cache is fetched again.
    if cached.is_file() and content_digest(cached) == sha256:
        return cached
    advice = (
        f"{file} is in none of {', '.join(map(str, [*named, cached.parent]))}; set the environment "
        "variable SVMPROBA_DATA (or data_dir) to the folder that holds it"
    )
    if not download:
        raise FileNotFoundError(advice)
    if file not in SOURCES:
        raise FileNotFoundError(
            f"{advice}. There is no download for it: see svmproba.paper.data.sources for its origin"
        )
    try:
        content = _fetch_first(SOURCES[file], sha256)
    except DownloadError as error:
        raise FileNotFoundError(f"{advice}. Fetching it failed: {error}") from error
    cached.parent.mkdir(parents=True, exist_ok=True)
    write_whole(cached, gzip.compress(content, mtime=0) if cached.suffix == ".gz" else content)
    return cached


def _check(path: Path, sha256: str) -> None:
    digest = content_digest(path)
    if digest != sha256:
        raise ValueError(
            f"{path} is not the file that was used here: its sha256 is {digest}, "
            f"expected {sha256}. A checkout that rewrites line ends changes it."
        )


def _fetch_first(sources: tuple[Source, ...], sha256: str) -> bytes:
    """Content from the first source that serves the right one."""
    reasons = []
    for source in sources:
        try:
            content = content_of(source, [fetch(url) for url in source.urls])
        except DownloadError as error:
            reasons.append(str(error))
            continue
        except (ValueError, LookupError) as error:
            reasons.append(f"{source.urls[0]}: what it serves cannot be read ({error})")
            continue
        digest = hashlib.sha256(content).hexdigest()
        if digest == sha256:
            return content
        reasons.append(
            f"{source.urls[0]}: the content has sha256 {digest}, not {sha256}: it was not kept"
        )
    raise DownloadError("; ".join(reasons))
