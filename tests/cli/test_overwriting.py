"""No command replaces what it reads, nor a file that exists, unless --force says so."""

import os
import shutil

import pandas as pd
import pytest

import svmproba
from svmproba.cli.errors import explain

COMPARE = ["compare", "credit.csv", "--target", "default", "--methods", "linear_svc", "--folds", 2]


@pytest.fixture
def place(tmp_path, monkeypatch, model, new_customers, credit):
    """Folder with a model, tables of both kinds, and other names for them."""
    monkeypatch.chdir(tmp_path)
    for source, name in ((model, "m.svmproba"), (new_customers, "new.csv"), (credit, "credit.csv")):
        shutil.copy(source, tmp_path / name)
    pd.read_csv("new.csv").to_parquet("new.parquet")
    os.link("new.csv", "hard.csv")
    os.symlink("new.csv", "soft.csv")
    os.symlink(tmp_path, tmp_path / "folder")
    return tmp_path


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize(
    ("data", "out"),
    [
        ("new.csv", "new.csv"),
        ("new.parquet", "new.parquet"),
        ("new.csv", "./folder/new.csv"),
        ("new.csv", "hard.csv"),
        ("new.csv", "soft.csv"),
        ("soft.csv", "new.csv"),
        ("soft.csv", "hard.csv"),
        ("new.csv", "m.svmproba"),
    ],
)
def test_an_input_is_never_replaced(place, invoke, data, out, force):
    before = content(place)
    done = invoke("predict", "m.svmproba", data, "--out", out, *force)
    assert done.exit_code == 2
    assert "are the same file" in done.stderr
    assert "--out" in done.stderr
    assert content(place) == before


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_nor_by_fit_report_and_compare(place, invoke, fit, force):
    os.link("credit.csv", "credit.txt")
    os.link("credit.csv", "credit.html")
    os.link("credit.csv", "credit.png")
    before = content(place)
    done = [
        fit("credit.csv", "credit.txt", *force),
        invoke("report", "m.svmproba", "credit.csv", "--out", "credit.html", *force),
        invoke("compare", "credit.csv", "--target", "default", "--out", "credit.png", *force),
    ]
    for command in done:
        assert command.exit_code == 2
        assert "'credit.csv' are the same file" in command.stderr
    assert content(place) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "credit.csv", "--target", "default", "--bootstraps", 20, "--out", "old.svmproba"],
        ["predict", "m.svmproba", "new.csv", "--out", "old.csv"],
        ["predict", "m.svmproba", "new.csv", "--out", "old.parquet"],
        ["report", "m.svmproba", "credit.csv", "--out", "old.html"],
        ["report", "m.svmproba", "credit.csv"],
        [*COMPARE, "--out", "old.png"],
    ],
    ids=lambda arguments: f"{arguments[0]}-{arguments[-1]}",
)
def test_a_file_that_exists_is_replaced_if_forced(place, invoke, arguments):
    name = arguments[-1] if "--out" in arguments else "report.html"
    (place / name).write_text("old")
    before = content(place)
    refused = invoke(*arguments)
    assert refused.exit_code == 2
    assert f"--out: {name} exists already; give another name, or --force" in refused.stderr
    assert content(place) == before
    forced = invoke(*arguments, "--force")
    assert forced.exit_code == 0, forced.output
    assert (place / name).read_bytes() != b"old"
    assert content(place).keys() == before.keys()


def test_a_file_that_appears_meanwhile(place, invoke, monkeypatch):
    def score(self, chunk):
        (place / "scored.csv").write_text("of someone else")
        return before(self, chunk)

    from svmproba.cli.scoring import Scorer

    before = Scorer.score
    monkeypatch.setattr(Scorer, "score", score)
    done = invoke("predict", "m.svmproba", "new.csv", "--out", "scored.csv")
    assert done.exit_code == 2
    assert "scored.csv was created by another program while this command ran" in done.stderr
    assert (place / "scored.csv").read_text() == "of someone else"
    assert not [name for name in os.listdir(place) if name.startswith(".")]


def test_saving_from_python(model, tmp_path):
    loaded = svmproba.load(model)
    svmproba.save(loaded, tmp_path / "m.svmproba", overwrite=False)
    with pytest.raises(FileExistsError) as caught:
        svmproba.save(loaded, tmp_path / "m.svmproba", overwrite=False)
    assert "--force" in explain(caught.value)[0]
