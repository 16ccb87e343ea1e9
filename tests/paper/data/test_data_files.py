import gzip
import hashlib
import os

import pytest

from svmproba._files import write_whole
from svmproba.paper.data import data_files
from svmproba.paper.data.data_files import cache_folder, content_digest, find_file
from svmproba.paper.data.datasets import load_dataset
from svmproba.paper.data.sources import (
    SOURCES,
    Source,
)

CONTENT = b"a,b\n1,2\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and no folder named in the environment."""
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SVMPROBA_DATA", raising=False)
    return cache_folder()


@pytest.fixture
def published(server, cache, monkeypatch):
    """Publish ``t.csv`` at two addresses of the server."""
    server.content.update(first=CONTENT, second=CONTENT)
    sources = tuple(Source((server.url(path),)) for path in ("first", "second"))
    monkeypatch.setitem(SOURCES, "t.csv", sources)
    monkeypatch.setitem(SOURCES, "t.csv.gz", sources)
    quick = data_files.fetch
    monkeypatch.setattr(
        data_files, "fetch", lambda url: quick(url, pause=0.001, timeout=0.5, attempts=2)
    )
    return server


def test_order_of_the_places(cache, tmp_path, monkeypatch):
    places = [tmp_path / "named", tmp_path / "environment", cache]
    monkeypatch.setenv("SVMPROBA_DATA", str(places[1]))
    for place in reversed(places):
        place.mkdir(parents=True)
        write_whole(place / "t.csv", CONTENT)
        assert find_file("t.csv", SHA256, places[0], download=False) == place / "t.csv"


@pytest.mark.parametrize("file", ["t.csv", "t.csv.gz"])
def test_download_goes_to_the_cache_and_is_not_repeated(published, cache, file):
    path = find_file(file, SHA256)
    assert path == cache / file
    assert content_digest(path) == SHA256
    assert find_file(file, SHA256) == path
    assert len(published.ranges) == 1
    assert os.listdir(cache) == [file]


def test_a_damaged_cache_is_fetched_again(published, cache):
    cache.mkdir(parents=True)
    for damaged in (b"half", gzip.compress(CONTENT)[:-5]):
        write_whole(cache / "t.csv.gz", damaged)
        assert content_digest(find_file("t.csv.gz", SHA256)) == SHA256


def test_wrong_content_is_not_kept_and_the_next_source_is_tried(published, cache):
    published.content["first"] = b"something else"
    assert find_file("t.csv", SHA256).read_bytes() == CONTENT
    published.content["second"] = b"<html>gone</html>"
    (cache / "t.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"first: the content has sha256.*second: the con"):
        find_file("t.csv", SHA256)
    assert os.listdir(cache) == []


def test_a_server_that_breaks_off_leaves_nothing_behind(published, cache):
    published.behaviour = ["breaks off", "busy", "busy", "busy", "busy"]
    with pytest.raises(FileNotFoundError, match=r"Fetching it failed.*2 attempts"):
        find_file("t.csv", SHA256)
    assert not cache.exists()


def test_no_download_when_not_wanted_or_not_published(published, cache):
    with pytest.raises(FileNotFoundError, match=r"t\.csv is in none of .*SVMPROBA_DATA"):
        find_file("t.csv", SHA256, download=False)
    with pytest.raises(FileNotFoundError, match="no download for it"):
        find_file("heart.csv.gz", SHA256)
    assert published.ranges == []


def test_archives(published, cache, zipped, monkeypatch):
    published.content["zip"] = zipped(inner=CONTENT)
    for member, good in (("inner", True), ("outer", False)):
        source = Source((published.url("zip"),), member)
        monkeypatch.setitem(SOURCES, "t.csv", (source,))
        if good:
            assert find_file("t.csv", SHA256).read_bytes() == CONTENT
            (cache / "t.csv").unlink()
        else:
            with pytest.raises(FileNotFoundError, match="no readable member 'outer'"):
                find_file("t.csv", SHA256)
    published.content["zip"] = b"not an archive"
    with pytest.raises(FileNotFoundError, match="cannot be read"):
        find_file("t.csv", SHA256)


def test_a_data_set_from_a_server(server, cache, zipped, data_dir, monkeypatch):
    server.content["z"] = zipped(file=(data_dir / "churn.csv").read_bytes())
    server.behaviour = ["breaks off"]
    monkeypatch.setitem(SOURCES, "churn.csv", (Source((server.url("z"),), "file"),))
    X, y = load_dataset("churn")
    assert (X.shape, y.sum()) == ((3150, 13), 495)
    assert os.listdir(cache) == ["churn.csv"]


@pytest.mark.parametrize(
    ("platform", "variable", "tail"),
    [("win32", "LOCALAPPDATA", "svmproba"), ("darwin", "HOME", "Library/Caches/svmproba")],
)
def test_cache_of_other_systems(tmp_path, monkeypatch, platform, variable, tail):
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setenv(variable, str(tmp_path))
    assert cache_folder() == tmp_path / tail
