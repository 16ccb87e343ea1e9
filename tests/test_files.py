"""Files are written whole or not at all."""

import os
import time

import pytest

from svmproba import _files
from svmproba._files import whole_file, write_whole
from svmproba.cli.output.files import check_target


def test_a_file_that_takes_its_place_at_the_end(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with whole_file(path) as place:
        assert place.parent == tmp_path
        assert place.suffix == ".txt"
        place.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]
    assert path.stat().st_mode & 0o444 == 0o444


@pytest.mark.parametrize("links", [True, False])
def test_whole_files_that_must_be_new(tmp_path, monkeypatch, links):
    def no_links(*names):
        raise PermissionError("no hard links")

    if not links:
        monkeypatch.setattr(os, "link", no_links)
    with whole_file(tmp_path / "a.txt", overwrite=False) as place:
        place.write_text("first")
    with (
        pytest.raises(FileExistsError),
        whole_file(tmp_path / "a.txt", overwrite=False) as place,
    ):
        place.write_text("second")
    assert (tmp_path / "a.txt").read_text() == "first"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders here")
def test_devices_and_pipes_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", "/dev/null"):
        with pytest.raises(ValueError, match="a device or a pipe"):
            check_target(path, (), force=True)
    with pytest.raises(OSError, match="not a regular file"), whole_file(tmp_path / "pipe.csv"):
        raise AssertionError("not reached")


def test_a_link_that_leads_nowhere_is_followed(tmp_path):
    os.symlink("real.csv", tmp_path / "link.csv")
    check_target(tmp_path / "link.csv", (".csv",))
    with whole_file(tmp_path / "link.csv", overwrite=False) as place:
        place.write_text("x")
    assert (tmp_path / "real.csv").read_text() == "x"


def test_an_interrupted_write_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupted(handle):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "t.csv", b"a,b\n")
    assert os.listdir(tmp_path) == []


def test_leftovers_where_files_have_no_locks(tmp_path, monkeypatch):
    """As on Windows: only those that are a day old belong to nobody."""
    monkeypatch.setattr(_files.sys, "platform", "win32")
    for name, age in (("old", 25 * 3600), ("young", 60)):
        leftover = tmp_path / f".a.svmproba-{name}.txt"
        leftover.write_text("")
        os.utime(leftover, (time.time() - age,) * 2)
    write_whole(tmp_path / "a.txt", b"")
    assert sorted(os.listdir(tmp_path)) == [".a.svmproba-young.txt", "a.txt"]


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
def test_a_file_that_is_replaced_keeps_its_rights(tmp_path):
    """Models and scored tables hold data of persons."""
    path = tmp_path / "private.csv"
    write_whole(path, b"old")
    path.chmod(0o600)
    write_whole(path, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o600)


def test_a_long_ending(tmp_path):
    path = tmp_path / ("x." + "b" * 250)
    write_whole(path, b"x")
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
