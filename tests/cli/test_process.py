"""The command as a process of its own: pipes, signals, exit codes, what is not installed."""

import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import svmproba

no_sigint = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process")

ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(svmproba.__file__).parents[1]),
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
COMMAND = [sys.executable, "-m", "svmproba.cli"]


def start(*arguments, **more):
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)], env=ENVIRONMENT, stderr=subprocess.PIPE, **more
    )


def wait_for(condition):
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < 120
        time.sleep(0.05)


def test_through_pipes(model, new_customers):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with start("predict", model, "-", "--keep", "customer", **pipes) as running:
        out, said = running.communicate(new_customers.read_bytes(), timeout=240)
    assert running.returncode == 0, said
    scored = pd.read_csv(io.BytesIO(out))
    assert scored["customer"].tolist() == pd.read_csv(new_customers)["customer"].tolist()


@no_sigint
def test_stopped_while_it_waits_for_a_pipe(model, new_customers, tmp_path):
    header, _, rows = new_customers.read_bytes().partition(b"\n")
    out = ["--out", tmp_path / "s.csv"]
    with start("predict", model, "-", *out, stdin=subprocess.PIPE) as running:
        running.stdin.write(header + b"\n" + rows * 1000)
        running.stdin.flush()
        wait_for(lambda: os.listdir(tmp_path))
        running.send_signal(signal.SIGINT)
        running.wait(120)
        said = running.stderr.read()
    assert running.returncode == 130
    assert b"Traceback" not in said
    assert os.listdir(tmp_path) == []


@no_sigint
def test_stopped_while_it_fits(credit, tmp_path):
    long = ["--bootstraps", "20000", "--jobs", "1", "--out", tmp_path / "m.svmproba"]
    with start("fit", credit, "--target", "default", *long) as running:
        wait_for(lambda: b"warning" in running.stderr.readline())
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        rest = running.stderr.read()
        running.wait(120)
    assert running.returncode == 130
    assert rest.endswith(b"stopped\n")
    assert b"Traceback" not in rest
    assert os.listdir(tmp_path) == []


def test_a_reader_that_goes_away(model, new_customers, tmp_path):
    header, _, rows = new_customers.read_bytes().partition(b"\n")
    (tmp_path / "long.csv").write_bytes(header + b"\n" + rows * 2000)
    with start("predict", model, tmp_path / "long.csv", stdout=subprocess.PIPE) as running:
        assert running.stdout.readline().startswith(b"probability")
        running.stdout.close()
        said = running.stderr.read()
        assert running.wait(120) == 141
    assert said == b""


def test_json_in_an_old_encoding(model, new_customers, tmp_path):
    """As in a pipe on Windows: what the encoding lacks is escaped, and JSON is ASCII."""
    table = tmp_path / "Ωmega.csv"
    table.write_bytes(new_customers.read_bytes())
    said = {}
    for how in ([], ["--json"]):
        out = tmp_path / f"out{len(how)}.csv"
        done = subprocess.run(
            [*COMMAND, "predict", model, table, "--out", out, *how],
            env={**ENVIRONMENT, "PYTHONIOENCODING": "cp1252"},
            capture_output=True,
            timeout=240,
        )
        assert done.returncode == 0, done.stderr
        said[len(how)] = done.stdout
    assert said[1].isascii()
    assert json.loads(said[1])


def test_what_is_not_installed_is_named(credit, tmp_path):
    arguments = ["fit", str(credit), "--target", "default", "--out", str(tmp_path / "m.svmproba")]
    code = (
        f"import sys; sys.modules['pyarrow'] = None; sys.argv[1:] = {arguments!r}\n"
        "from svmproba.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 1
    assert done.stderr == (
        "error: this needs pyarrow, which is missing: pip install 'svmproba[cli]'\n"
    )


def kill_while_it_writes(model, rows, folder):
    """Leave the hidden file of a command that was killed."""
    with start("predict", model, "-", "--out", folder / "s.csv", stdin=subprocess.PIPE) as running:
        running.stdin.write(rows)
        running.stdin.flush()
        wait_for(lambda: os.listdir(folder))
        running.kill()
        running.wait(120)


def test_what_a_killed_command_left_is_removed_by_the_next(model, new_customers, tmp_path):
    header, _, rows = new_customers.read_bytes().partition(b"\n")
    long = header + b"\n" + rows * 1000
    for _ in range(2):
        kill_while_it_writes(model, long, tmp_path)
        (left,) = os.listdir(tmp_path)
        assert left.startswith(".s.")
    (tmp_path / ".s.notes.csv").write_text("not ours")
    with start("predict", model, new_customers, "--out", tmp_path / "s.csv") as running:
        assert running.wait(120) == 0
    assert sorted(os.listdir(tmp_path)) == [".s.notes.csv", "s.csv"]


def test_the_file_of_a_command_that_still_runs_stays(model, new_customers, tmp_path):
    header, _, rows = new_customers.read_bytes().partition(b"\n")
    out = ["--out", tmp_path / "s.csv", "--force"]
    with start("predict", model, "-", *out, stdin=subprocess.PIPE) as slow:
        slow.stdin.write(header + b"\n" + rows * 1000)
        slow.stdin.flush()
        wait_for(lambda: os.listdir(tmp_path))
        (left,) = os.listdir(tmp_path)
        with start("predict", model, new_customers, *out) as quick:
            assert quick.wait(120) == 0
        assert sorted(os.listdir(tmp_path)) == [left, "s.csv"]
        assert len(pd.read_csv(tmp_path / "s.csv")) == 60
        slow.stdin.close()
        assert slow.wait(120) == 0, slow.stderr.read()
    assert os.listdir(tmp_path) == ["s.csv"]
    assert len(pd.read_csv(tmp_path / "s.csv")) == 60_000


def test_standard_input_and_output_that_are_one_file(model, new_customers, tmp_path):
    data = tmp_path / "new.csv"
    data.write_bytes(new_customers.read_bytes())
    with data.open("rb") as file, data.open("ab") as end:
        for arguments, more in (
            (["-", "--out", data, "--force"], {"stdin": file}),
            ([data], {"stdout": end}),
        ):
            with start("predict", model, *arguments, **more) as running:
                assert b"are the same file" in running.stderr.read()
                assert running.wait(120) == 2
    assert data.read_bytes() == new_customers.read_bytes()


@no_sigint
@pytest.mark.parametrize(
    ("redirection", "code", "said"),
    [
        ("> /dev/full", 1, "No space left on device"),
        (">&-", 0, "rows written to standard output"),
        ("2>&- > {out}", 0, ""),
        ("< /dev/null", 0, "rows written"),
    ],
)
def test_streams_that_are_closed_or_full(model, new_customers, tmp_path, redirection, code, said):
    if "/dev/full" in redirection and not os.path.exists("/dev/full"):
        pytest.skip("no full device")
    out = tmp_path / "out.csv"
    command = shlex.join([*COMMAND, "predict", str(model), str(new_customers)])
    done = subprocess.run(
        f"{command} {redirection.format(out=shlex.quote(str(out)))}",
        shell=True, env=ENVIRONMENT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    if "out" in redirection:
        assert len(pd.read_csv(out)) == len(pd.read_csv(new_customers))


@no_sigint
def test_standard_input_that_is_closed(model):
    command = shlex.join([*COMMAND, "predict", str(model), "-"])
    done = subprocess.run(
        f"{command} <&-", shell=True, env=ENVIRONMENT, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        2, "error: standard input is closed",
    )  # fmt: skip
