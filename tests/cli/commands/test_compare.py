"""``svmproba compare``."""

import contextlib
import json
import os
import re

import pytest

from svmproba.cli.comparison import LABELS


@pytest.fixture
def compare(invoke, credit):
    def run(*arguments):
        few = ["--target", "default", "--positive", "yes", "--bootstraps", 20, "--folds", 3]
        return invoke("compare", credit, *few, "--jobs", 1, *arguments)

    return run


def test_all_methods_one_table_one_picture(compare, tmp_path):
    done = compare("--out", tmp_path / "picture.png")
    assert done.exit_code == 0, done.output
    for label in LABELS.values():
        assert label in done.stdout
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert os.listdir(tmp_path) == ["picture.png"]


def test_progress_counts_the_fits(compare, monkeypatch):
    """Methods of one family share a fit."""
    told = []

    @contextlib.contextmanager
    def note(what, total, unit, check):
        told.append([total, unit, 0])

        def advance(n, said):
            told[-1][2] += n

        yield advance

    monkeypatch.setattr("svmproba.cli.commands.compare.show_progress", note)
    assert compare("--methods", "ebb,ebb_best,platt").exit_code == 0
    assert told == [[6, "fits", 6]]


def test_json_of_some_methods(compare):
    found = json.loads(compare("--methods", "linear_svc,ebb", "--json").stdout)
    assert [row["method"] for row in found["methods"]] == ["ebb", "linear_svc"]
    assert all(0 < row["mse"] < 0.25 for row in found["methods"])
    assert found["rows"] == 240


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "svm"], "--methods must be of fit, ebb, .*; got svm"),
        (["--folds", "200"], "--folds 200 needs 400 records of every class"),
        (["--folds", "1"], "--folds must be at least 2; got 1"),
        (["--out", "picture.txt"], r"--out must end with \.png or \.pdf or \.svg"),
    ],
)
def test_wrong_use(compare, arguments, message):
    done = compare(*arguments)
    assert done.exit_code == 2
    assert re.search(message, done.stderr)
