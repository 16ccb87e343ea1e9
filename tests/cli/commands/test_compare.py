"""``svmproba compare``."""

import contextlib
import json
import os
import re

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss

from svmproba import BootstrapSVC
from svmproba.cli.contest import LABELS, families_of, run_contest, to_text
from svmproba.cli.errors import Voice
from svmproba.cli.input.tables import open_table
from svmproba.cli.task import load_task
from svmproba.paper.protocol import out_of_fold


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

    monkeypatch.setattr("svmproba.cli.commands.compare.tell_progress", note)
    assert compare("--methods", "ebb,ebb_best,platt").exit_code == 0
    assert told == [[6, "fits", 6]]


def test_json_of_some_methods(compare):
    found = json.loads(compare("--methods", "linear_svc,ebb", "--json").stdout)
    assert [row["method"] for row in found["methods"]] == ["ebb", "linear_svc"]
    assert all(0 < row["mse"] < 0.25 for row in found["methods"])
    assert found["rows"] == 240


def test_figures_are_those_of_the_papers_protocol(credit):
    with open_table(str(credit)) as table:
        task = load_task(table, "default", Voice(), positive="yes")
    (standing,) = run_contest(task, ["ebb"], n_folds=4, n_bootstraps=20, n_jobs=1, seed=0)
    y = (task.y == "yes").astype(int)
    twin = BootstrapSVC(n_bootstraps=20, random_state=0)
    values, _ = out_of_fold(twin, task.X, y, n_folds=4, random_state=0)
    np.testing.assert_allclose(standing.proba, values["proba"], atol=1e-12)
    assert standing.summary.mse == pytest.approx(brier_score_loss(y, values["proba"]))
    assert standing.log_loss == pytest.approx(log_loss(y, values["proba"]))
    assert "EBB, vote shares" in to_text([standing])


def test_methods_that_share_a_fit():
    assert families_of(["ebb", "ebb_best", "tao"]) == [("ebb", "ebb_best"), ("tao",)]
    assert families_of(["platt"]) == [("platt",)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "svm"], "--methods must be of ebb, ebb_calibrated, .*; got svm"),
        (["--folds", "200"], "--folds 200 needs 400 records of either class"),
        (["--folds", "1"], "Invalid value for '--folds'"),
        (["--out", "picture.txt"], r"--out must end with \.png or \.pdf or \.svg"),
    ],
)
def test_wrong_use(compare, arguments, message):
    done = compare(*arguments)
    assert done.exit_code == 2
    assert re.search(message, done.stderr)
