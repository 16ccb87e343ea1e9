"""The command line, mostly in this process; what kills or lacks things in another one."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import svmproba
from svmproba import cli
from svmproba.cli.commands.reproduce import name_of
from svmproba.paper import reproduce
from svmproba.paper.comparison import METHODS_OF_TABLE
from svmproba.paper.methods import FAMILIES
from svmproba.paper.store import Cell

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(svmproba.__file__).parents[1])}


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Run ``svmproba reproduce`` with few bags; the folder is ``tmp_path``."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "dumb")

    def run(*arguments):
        few = ["--bootstraps", "20", "--folds", "3", "--jobs", "1", "--out", str(tmp_path)]
        return CliRunner().invoke(cli.make_app(), ["reproduce", *few, *map(str, arguments)])

    return run


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_end_to_end(command, tmp_path, data_dir):
    done = command("wisconsin", "banknote", "--data-dir", data_dir, "--effort", "fast")
    assert done.exit_code == 0, done.output
    n_cells = 2 * len(FAMILIES) * 3
    assert f"[{n_cells}/{n_cells}]" in done.stderr
    for number in METHODS_OF_TABLE:
        assert f"Table {number}. " in done.stdout
    row = next(line for line in done.stdout.splitlines() if line.startswith("banknote   .0"))
    assert "(.011)" in row
    assert "banknote: 4 attributes, not 5" in done.stdout
    tables = [f"table{number}.{kind}" for number in range(1, 7) for kind in ("csv", "md")]
    figures = [f"figure{number}.png" for number in (1, 2, 3, 5, 7, 8)]
    assert files(tmp_path / "fair") == sorted(tables + figures)
    assert "figure 6 is left out: it needs the data set churn" in done.stderr
    again = command("banknote", "wisconsin", "--data-dir", data_dir, "--table", "2")
    assert again.exit_code == 0
    assert "42 of 42 cells are in" in again.stderr
    assert "[" not in again.stderr
    assert "Table 3" not in again.stdout


def test_protocol_of_the_paper(command, tmp_path):
    done = command("wisconsin", "--methods", "ebb,platt", "--protocol", "paper", "--table", "2")
    assert done.exit_code == 0, done.output
    assert re.findall(r"wisconsin, (\w+), ([\w-]+)", done.stderr) == [
        ("ebb", "hold-out"),
        *[("platt", "fold")] * 3,
    ]
    assert files(tmp_path / "paper") == ["table2.csv", "table2.md"]


def test_names_of_cells():
    cell = Cell("fair", "german", "ebb", 0, 3, 10, 0, 500, "{}")
    assert name_of(cell) == "german, ebb, fold 4 of 10"
    assert name_of(cell._replace(n_folds=1, repeat=2)) == "german, ebb, hold-out, repeat 3"


def test_table_one_computes_nothing(command):
    done = command("wisconsin", "--table", "1")
    assert done.exit_code == 0
    assert re.search(r"wisconsin\s+569\s+30\s+212", done.stdout)
    assert "0 cells" in done.stderr


def test_json(command):
    found = json.loads(command("wisconsin", "--table", "1", "--json").stdout)
    (table,) = found["tables"]
    rows = {row["column"]: row["ours"] for row in table["rows"]}
    assert (table["number"], rows["records"], rows["positives"]) == (1, 569, 212)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["iris"], "DATASETS must be one of absenteeism, .*; got 'iris'"),
        (["--methods", "svm"], "--methods must be of ebb, .*; got svm"),
        (["--protocol", "kind"], "--protocol must be one of fair, paper; got 'kind'"),
        (["--effort", "none"], "--effort must be one of thorough, default, fast; got 'none'"),
        (["--device", "gpu"], "--device: .*'cuda:<number>' or 'auto', got 'gpu'"),
        (["--jobs", "0"], "--jobs must not be 0"),
        (["--table", "7"], "--table must be from 1 to 6; got 7"),
        (["--bootstraps", "0"], "--bootstraps must be at least 1; got 0"),
        (["--folds", "1"], "--folds must be at least 2; got 1"),
        (["--repeats", "0"], "--repeats must be at least 1; got 0"),
        (["--seed", "-1"], "--seed must be at least 0; got -1"),
    ],
)
def test_wrong_use(command, arguments, message):
    done = command(*arguments)
    assert done.exit_code == 2
    assert re.search(message, " ".join(done.stderr.replace("│", " ").split()))
    assert "Traceback" not in done.output


def test_a_data_set_that_cannot_be_found(command, tmp_path, monkeypatch):
    monkeypatch.delenv("SVMPROBA_DATA", raising=False)
    done = command("heart", "wisconsin", "--table", "1")
    assert done.exit_code == 1
    assert "heart is left out: heart.csv.gz is in none of" in done.stderr
    assert "wisconsin" in done.stdout
    alone = command("heart")
    assert alone.exit_code == 1
    assert "none of the data sets could be loaded" in alone.stderr


def test_cells_that_fail_do_not_stop_the_others(command, monkeypatch):
    def sometimes(job, *arguments, compute=reproduce.compute):
        if job.cell.fold == 1:
            raise RuntimeError("no luck")
        return compute(job, *arguments)

    monkeypatch.setattr(reproduce, "compute", sometimes)
    done = command("wisconsin", "--methods", "platt", "--table", "2")
    assert done.exit_code == 1
    assert "wisconsin, platt, fold 2 of 3 failed: RuntimeError: no luck" in done.stderr
    assert "1 cells failed" in done.stderr
    assert "wisconsin, platt: 2 of 3 parts" in done.stdout


def test_errors_have_no_traceback_unless_asked_for(command, tmp_path):
    (tmp_path / "results.sqlite").write_text("this is not a file of results, " * 20)
    done = command("wisconsin", "--methods", "platt")
    assert done.exit_code == 1
    assert re.search(r"^error: .*results\.sqlite cannot be used", done.stderr, re.MULTILINE)
    assert isinstance(done.exception, SystemExit)
    assert isinstance(command("wisconsin", "--debug").exception, ValueError)


def test_version_and_help():
    app = cli.make_app()
    assert CliRunner().invoke(app, ["--version"]).stdout == f"{svmproba.__version__}\n"
    said = CliRunner().invoke(app, ["reproduce", "--help"], env={"COLUMNS": "200"}).stdout
    for option in ("table", "methods", "bootstraps", "folds", "repeats", "jobs", "device", "out"):
        assert f"--{option}" in said
    assert CliRunner().invoke(app, []).exit_code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process")
def test_interrupted_from_the_keyboard(tmp_path):
    running = subprocess.Popen(
        [
            *(sys.executable, "-m", "svmproba.cli", "reproduce", "wisconsin", "--methods", "ebb"),
            *("--bootstraps", "400", "--jobs", "1", "--out", str(tmp_path)),
        ],
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    first = running.stderr.readline()
    running.send_signal(signal.SIGINT)
    rest = running.communicate(timeout=60)[1]
    assert first.startswith("reproduce: [ 1/10] wisconsin, ebb, fold 1 of 10")
    assert running.returncode == cli.INTERRUPTED
    kept = re.search(r"stopped: (\d+) of 10 cells are kept in .*results\.sqlite", rest)
    assert 1 <= int(kept[1]) < 10
    assert "Traceback" not in rest


def test_without_typer():
    code = "import sys; sys.modules['typer'] = None; from svmproba.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, timeout=60
    )
    assert done.returncode == 1
    assert "pip install 'svmproba[cli]'" in done.stderr
    assert "Traceback" not in done.stderr
