"""Archives: written whole or not at all; refused if incomplete, altered, foreign or too large."""

import io
import json
import os
import pickle
import re
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from svmproba import ModelFileError, load, read_about, save
from svmproba.persistence import _archive

GOLDEN = Path(__file__).parents[1] / "files" / "format_1.svmproba"


@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_a_mishap_leaves_the_old_file(step, model, path, monkeypatch):
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space left"):
        save(model, path)
    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.skipif(os.name != "posix", reason="rights and links of POSIX")
def test_rights_and_links(model, tmp_path):
    link, target = tmp_path / "link.svmproba", tmp_path / "target.svmproba"
    link.symlink_to(target)
    before = os.umask(0o027)
    try:
        save(model, link)
    finally:
        os.umask(before)
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    load(link)


def refused(path, message):
    for read in (load, read_about):
        with pytest.raises(ModelFileError, match=message) as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert isinstance(caught.value, ValueError)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_missing(tmp_path):
    for read in (load, read_about):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "nowhere.svmproba")
    refused(tmp_path, "not a file")


def test_every_flipped_byte_is_noticed(path):
    content, rng = GOLDEN.read_bytes(), np.random.default_rng(0)
    ends = [*range(40), *range(-120, 0)]
    for place in [*ends, *rng.integers(len(content), size=100)]:
        altered = bytearray(content)
        altered[place] ^= rng.integers(1, 256)
        path.write_bytes(altered)
        with pytest.raises(ModelFileError, match=r"altered|incomplete|not a model file|not one"):
            load(path)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9, 0.999])
def test_truncated(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    refused(saved, "incomplete|altered|not a model file")


def test_something_added_at_the_end(saved):
    saved.write_bytes(saved.read_bytes() + b"more")
    refused(saved, "incomplete|altered")


class Bomb:
    """What a pickle could do: it touches a file as soon as it is read."""

    def __init__(self, canary):
        self.canary = str(canary)

    def __reduce__(self):
        return os.system, (f"touch {self.canary}",)


def test_foreign(path, tmp_path):
    canary = tmp_path / "canary"
    for content, message in [
        (b"", "empty"),
        (b"age,income\n1,2\n", "looks like text"),
        (pickle.dumps(Bomb(canary)), "looks like a pickle"),
        (pickle.dumps(Bomb(canary), protocol=0), "looks like a pickle|looks like text"),
        (bytes(range(256)), "unknown"),
    ]:
        path.write_bytes(content)
        refused(path, message)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hello.txt", "hello")
    refused(path, "zip file, but not one")
    assert not canary.exists()


def test_newer_format(rewrite, saved):
    def newer(members):
        about = json.loads(members["svmproba.json"])
        members["svmproba.json"] = json.dumps(about | {"format": 2, "svmproba": "7.1"}).encode()

    rewrite(saved, newer)
    refused(saved, re.escape("pip install 'svmproba>=7.1'"))


GOOD = {"format": 1, "class": "BootstrapSVC", "svmproba": "1.0", "scikit-learn": "1.8"}


@pytest.mark.parametrize(
    ("about", "message"),
    [
        (b"", "svmproba.json cannot be read"),
        (b"\xff", "svmproba.json cannot be read"),
        (b"[]", "svmproba.json is not a JSON object"),
        (b"{}", "unknown format 'None'"),
        ({"format": True}, "unknown format"),
        ({"format": 0}, "unknown format"),
        ({"class": None}, "no valid 'class'"),
        ({"svmproba": "1'; rm -rf /; '"}, "no valid 'svmproba'"),
        ({"scikit-learn": 1.8}, "no valid 'scikit-learn'"),
        (b'{"format": 1, "svmproba": "1.0", "scikit-learn": "1.8"}', "no valid 'class'"),
        (b'{"format": NaN}', "unknown format 'nan'"),
    ],
)
def test_bad_about(rewrite, saved, about, message):
    text = about if isinstance(about, bytes) else json.dumps(GOOD | about).encode()
    rewrite(saved, lambda members: members.update({"svmproba.json": text}))
    refused(saved, message)


@pytest.mark.parametrize("name", ["../evil.npy", "/etc/passwd", "a/1.npy", "evil.py", "1.npy/"])
def test_path_traversal(rewrite, saved, name):
    rewrite(saved, lambda members: members.update({name: b"evil"}))
    refused(saved, "which no model file has")


def test_two_members_of_one_name(saved, sealed):
    with zipfile.ZipFile(saved, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("0.npy", b"")
    saved.write_bytes(sealed(saved.read_bytes()[: -_archive._TRAILER]))
    refused(saved, "two members of one name")


def npy_header(shape, descr):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": descr, "fortran_order": False, "shape": shape}
    )
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy_header((10**12,), "<f8"), "claims 8,000,000,000,000 bytes and has 0"),
        (npy_header((2,), "<f8") + bytes(24), "claims 16 bytes and has 24"),
        (npy_header((-1, -2), "<f8") + bytes(16), "claims 16 bytes and has 16"),
        (npy_header((3,), "|b1") + b"\0\1\2", "booleans that are neither"),
        (npy_header((1,), "<U1") + b"\xff" * 4, "invalid characters"),
        (npy_header((10**6,), "<U0"), "not of numbers, booleans"),
        (npy_header((1,), [("a", "<f8"), ("b", "|b1")]) + bytes(9), "not of numbers, booleans"),
        (npy_header((1,), "|V8") + bytes(8), "not of numbers, booleans"),
        (b"\x93NUMPY\x03\x00" + bytes(20), "unknown version"),
        (b"", "does not make a model"),
    ],
)
def test_arrays_that_lie(rewrite, saved, content, message):
    rewrite(saved, lambda members: members.update({"0.npy": content}))
    with pytest.raises(ModelFileError, match=message):
        load(saved)


def test_array_of_pickled_objects(rewrite, saved, tmp_path):
    canary = tmp_path / "canary"
    stream = io.BytesIO()
    np.save(stream, np.array([Bomb(canary)], dtype=object), allow_pickle=True)
    rewrite(saved, lambda members: members.update({"0.npy": stream.getvalue()}))
    with pytest.raises(ModelFileError, match="is an array of object"):
        load(saved)
    assert not canary.exists()


def test_the_canary_sings(tmp_path):
    canary = tmp_path / "canary"
    pickle.loads(pickle.dumps(Bomb(canary)))
    assert canary.exists()


def test_arrays_of_the_other_byte_order(forge, saved, model, data):
    def swap(tree, arrays):
        for number, array in arrays.items():
            arrays[number] = array.astype(array.dtype.newbyteorder(">"))

    forge(saved, swap)
    np.testing.assert_array_equal(load(saved).predict_proba(data[0]), model.predict_proba(data[0]))


def test_unused_and_missing_arrays(rewrite, saved, to_npy):
    rewrite(saved, lambda members: members.update({"999.npy": to_npy(np.zeros(3))}))
    with pytest.raises(ModelFileError, match="arrays that the model does not use"):
        load(saved)
    rewrite(saved, lambda members: (members.pop("999.npy"), members.pop("0.npy")))
    with pytest.raises(ModelFileError, match="missing from the file"):
        load(saved)


def test_zip_bomb(rewrite, saved, monkeypatch, to_npy):
    rewrite(saved, lambda members: members.update({"999.npy": to_npy(np.zeros(2**19))}))
    assert read_about(saved)
    monkeypatch.setattr(_archive, "_FREE_BYTES", 2**20)
    monkeypatch.setattr(_archive, "_GROWTH", 8)
    refused(saved, "too many for a file of")


def test_honest_zeros_are_no_bomb(monkeypatch):
    members = {"0.npy": npy_header((2**19,), "<f8") + bytes(2**22)}
    assert len(_archive.pack(members)) < 2**17
    monkeypatch.setattr(_archive, "_FREE_BYTES", 2**20)
    assert len(_archive.pack(members)) > 2**22


def test_large_json_is_weighed_before_it_is_read(rewrite, saved):
    """Two million bytes of it would take 130 MB as Python's lists."""
    rewrite(saved, lambda members: members.update({"model.json": b"[" + b"[]," * 700_000 + b"0]"}))
    assert saved.stat().st_size < 2**16
    refused(saved, "would take 13[0-9],[0-9,]* bytes of memory")


@pytest.mark.parametrize("name", ["svmproba.json", "model.json"])
@pytest.mark.parametrize(("opening", "closing"), ["[]", ('{"":', "}")])
def test_nested_json_is_refused_before_it_is_read(name, opening, closing, rewrite, saved):
    for depth, message in [(99, r"^(?!.*deep)"), (100, "more than 100 deep")]:
        text = '["\\"' + 200 * "[" + '",' + depth * opening + "0" + depth * closing + "]"
        rewrite(saved, lambda members, text=text: members.update({name: text.encode()}))
        with pytest.raises(ModelFileError, match=message):
            load(saved)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
@pytest.mark.parametrize(
    "first", [b"a,b\n", b"PK\x03\x04", b"PK\x03\x04" + bytes(26) + b"svmproba.json"]
)
def test_a_large_file_that_is_no_model_is_not_read(first, path):
    with path.open("wb") as file:
        file.write(first)
        file.truncate(2**33)  # sparse: it takes no room on the disk
    code = f"""
import resource, svmproba
from svmproba.persistence import load
resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))
try:
    load({str(path)!r})
except svmproba.ModelFileError as error:
    print(error.reason)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert re.search("not a model file|not one that svmproba.save|digest at its end", done.stdout)


def test_class_must_be_the_one_announced(rewrite, saved):
    def rename(members):
        about = json.loads(members["svmproba.json"])
        members["svmproba.json"] = json.dumps(about | {"class": "Pipeline"}).encode()

    rewrite(saved, rename)
    with pytest.raises(ModelFileError, match="holds a BootstrapSVC, not a Pipeline"):
        load(saved)
