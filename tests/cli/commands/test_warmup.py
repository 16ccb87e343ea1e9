"""``svmproba warmup``; what it compiles is tested in ``preparation``."""

import json
from pathlib import Path

import pytest

from svmproba.preparation import warmup


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        (Path("cache"), "3 functions compiled, 4 loaded, in 1.2 s; they are kept in cache"),
        (None, "3 functions compiled, 4 loaded, in 1.2 s"),
    ],
)
def test_what_was_done_is_said(folder, said, invoke, monkeypatch):
    def compile_all(parts, report):
        report("linear", 1.24)
        return warmup.Warmup(folder, 3, 4, 1.24)

    monkeypatch.setattr(warmup, "warmup", compile_all)
    done = invoke("warmup", "linear")
    assert done.exit_code == 0, done.output
    assert said in (done.stdout + done.stderr).splitlines()
    result = json.loads(invoke("warmup", "linear", "--json").stdout)
    assert (result["folder"], result["compiled"]) == (folder and str(folder), 3)
