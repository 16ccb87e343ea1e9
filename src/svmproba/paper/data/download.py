"""Fetching a file over HTTP in spite of broken, silent and slow connections.

Not by pooch: it starts a broken download again from the first byte, has no limit on the whole
time, and verifies the file that is served, while ours are recoded first.
"""

from __future__ import annotations

import time
from http.client import HTTPException, HTTPResponse
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

CHUNK = 1 << 16
#: Answers that another attempt may change.
PASSING = (408, 429, 500, 502, 503, 504)


class DownloadError(OSError):
    """A file could not be fetched."""


def fetch(
    url: str,
    *,
    timeout: float = 30.0,
    limit: float = 900.0,
    attempts: int = 3,
    pause: float = 0.5,
) -> bytes:
    """Fetch a file, continuing where a connection broke. Nothing is written to the disk.

    A connection is broken after `timeout` seconds without data, `limit` seconds are for all
    together; so many attempts without new data end it, with pauses that double.
    """
    deadline = time.monotonic() + limit
    got, mark, failed = bytearray(), None, 0
    while True:
        before = len(got)
        try:
            with _ask(url, before, mark, timeout) as answer:
                if answer.status != 206:
                    got.clear()  # the server sends the file from its start
                mark = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
                total = _total(answer, len(got))
                _receive(answer, got, deadline)
            if total is None or len(got) == total:
                return bytes(got)
            reason = f"the connection closed after {len(got)} of {total} bytes"
        except HTTPError as error:
            reason = f"the server answered {error.code} {error.reason}"
            error.close()
            if error.code == 416:
                got.clear()  # what we have is not a part of the file any more
            elif error.code not in PASSING:
                raise DownloadError(f"{url}: {reason}") from error
        except TimeoutError:
            reason = f"no answer within {timeout:g} s"
        except (URLError, HTTPException, ConnectionError) as error:
            reason = f"the connection failed ({getattr(error, 'reason', error)!s})"
        failed = 0 if len(got) > before else failed + 1
        wait = pause * 2 ** max(failed - 1, 0)
        if failed >= attempts or time.monotonic() + wait > deadline:
            raise DownloadError(f"{url}: {reason}; {_tried(failed, attempts, limit)}")
        time.sleep(wait)


def _tried(failed: int, attempts: int, limit: float) -> str:
    if failed >= attempts:
        return f"{attempts} attempts brought nothing new"
    return f"it is not done after {limit:g} s"


def _ask(url: str, have: int, mark: str | None, timeout: float) -> HTTPResponse:
    headers = {"User-Agent": "svmproba", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        if mark is not None and not mark.startswith("W/"):
            # A file that has changed since is sent whole, so that no two are mixed.
            headers["If-Range"] = mark
    answer: HTTPResponse = urlopen(Request(url, headers=headers), timeout=timeout)
    first = answer.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0]
    if answer.status == 206 and first != str(have):
        answer.close()
        raise HTTPException(f"asked for bytes from {have} on, got them from {first or '?'} on")
    return answer


def _total(answer: HTTPResponse, have: int) -> int | None:
    """Bytes of the whole file, where the server says how many are to come."""
    coming = answer.headers.get("Content-Length")
    return None if coming is None else have + int(coming)


def _receive(answer: HTTPResponse, got: bytearray, deadline: float) -> None:
    # read1 gives what has come; read would wait for a full chunk from a server that trickles.
    while chunk := answer.read1(CHUNK):
        got += chunk
        if time.monotonic() > deadline:
            raise TimeoutError
