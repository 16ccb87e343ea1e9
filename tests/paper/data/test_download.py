import socket
import time

import numpy as np
import pytest

from svmproba.paper.data.download import DownloadError, fetch

CONTENT = np.random.default_rng(0).bytes(300_000)
QUICK = {"pause": 0.001, "timeout": 0.5}


@pytest.fixture
def url(server):
    server.content["file"] = CONTENT
    return server.url("file")


def test_a_file_that_comes_at_once(server, url):
    assert fetch(url) == CONTENT
    assert server.ranges == [None]


def test_goes_on_where_the_connection_broke(server, url):
    server.behaviour = ["breaks off", "breaks off", "breaks off"]
    assert fetch(url, **QUICK) == CONTENT
    assert server.ranges == [None, "bytes=150000-", "bytes=225000-", "bytes=262500-"]


def test_progress_renews_the_attempts(server, url):
    server.behaviour = ["breaks off"] * 8
    assert fetch(url, attempts=2, **QUICK) == CONTENT


@pytest.mark.parametrize(
    "second", ["ignores range", "changed", "refuses range", "wrong place", "busy", "silent"]
)
def test_whatever_the_second_answer_is_nothing_is_mixed(server, url, second):
    server.behaviour = ["breaks off", second]
    if second == "changed":
        server.content["file"] = CONTENT[::-1]
    assert fetch(url, **QUICK) == server.content["file"]


def test_missing_files_are_not_asked_for_twice(server, url):
    with pytest.raises(DownloadError, match=r"nowhere: the server answered 404"):
        fetch(server.url("nowhere"), **QUICK)
    assert len(server.ranges) == 1


def test_gives_up_on_a_server_that_stays_busy(server, url):
    server.behaviour = ["busy"] * 9
    with pytest.raises(DownloadError, match=r"503.*3 attempts brought nothing new"):
        fetch(url, attempts=3, **QUICK)
    assert len(server.ranges) == 3


def test_gives_up_on_silence(server, url):
    server.behaviour = ["silent"] * 3
    start = time.monotonic()
    with pytest.raises(DownloadError, match=r"no answer within 0\.1 s"):
        fetch(url, attempts=2, timeout=0.1, pause=0.001)
    assert time.monotonic() - start < 5


def test_a_trickle_does_not_last_for_ever(server, url):
    server.behaviour = ["trickles"] * 50
    start = time.monotonic()
    with pytest.raises(DownloadError, match=r"not done after 0\.3 s"):
        fetch(url, limit=0.3, pause=0.001)
    assert time.monotonic() - start < 5


def test_nobody_listens():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/file"
        with pytest.raises(DownloadError, match="the connection failed"):
            fetch(address, attempts=2, pause=0.001)
