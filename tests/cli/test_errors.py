"""How commands end."""

import contextlib
import errno
import io
import json
import os
import re
import signal
import sys
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from typer.testing import CliRunner

from svmproba import cli
from svmproba._files import whole_file
from svmproba.cli import errors
from svmproba.cli.errors import (
    BAD_INPUT,
    BROKEN_PIPE,
    FAILED,
    INTERRUPTED,
    OK,
    InputError,
    Outcome,
    conduct,
    handled_signals,
    in_options,
    to_json,
)


def failing(error):
    def work(messages):
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (InputError("no such column"), BAD_INPUT, "error: no such column"),
        (ValueError("too bad"), FAILED, "error: too bad"),
        (RuntimeError(), FAILED, "error: RuntimeError"),
        (MemoryError(), FAILED, "error: not enough memory"),
        (PermissionError(13, "Permission denied", "x.csv"), FAILED, "error: x.csv: Permission"),
        (ModuleNotFoundError("no", name="pyarrow"), FAILED, "needs pyarrow, .* 'svmproba.cli.'"),
        (KeyboardInterrupt(), INTERRUPTED, "stopped"),
    ],
)
def test_errors_are_one_line_and_a_code(capsys, error, code, message):
    assert conduct(failing(error)) == code
    said = capsys.readouterr()
    assert re.search(message, said.err)
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_control_characters_are_shown(capsys):
    def work(messages):
        messages.tell("a\x1b[2Jb\n\tc")
        messages.note("d\x9b1me")
        messages.warn("f\u202eg\r")
        raise InputError("column 'x\x07'")

    conduct(work)
    said = capsys.readouterr()
    assert said.out == "a\\x1b[2Jb\n\tc\n"
    assert said.err == "d\\x9b1me\nwarning: f\\u202eg\\r\nerror: column 'x\\x07'\n"


def test_debug_lets_errors_through():
    with pytest.raises(RuntimeError, match="why"):
        conduct(failing(RuntimeError("why")), debug=True)


def test_json_of_an_outcome_and_of_an_error(capsys):
    def work(messages):
        messages.tell("for people")
        messages.warn("look out")
        return Outcome({"rows": np.int64(3), "auc": np.nan, "cells": (1, 2)})

    assert conduct(work, as_json=True) == OK
    said = capsys.readouterr()
    assert json.loads(said.out) == {
        "rows": 3,
        "auc": None,
        "cells": [1, 2],
        "warnings": ["look out"],
    }
    assert said.err == "for people\nwarning: look out\n"
    assert conduct(failing(InputError("bad")), as_json=True) == BAD_INPUT
    assert json.loads(capsys.readouterr().out) == {"error": "bad", "warnings": []}


def test_warnings_of_libraries_are_said_once_and_without_code(capsys):
    def work(messages):
        for n in (1, 2):
            warnings.warn(f"{n} models did not converge", ConvergenceWarning, stacklevel=1)
        warnings.warn("old", FutureWarning, stacklevel=1)
        return Outcome({})

    assert conduct(work) == OK
    assert capsys.readouterr().err == "warning: 1 models did not converge\n"


def test_a_swallowed_ctrl_c_is_heard_at_the_next_check():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with handled_signals() as check:
        check()
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            check()
    assert before == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))


def test_a_process_that_is_asked_to_end_cleans_up(tmp_path):
    def work(messages):
        with whole_file(tmp_path / "a.csv"):
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(SystemExit) as end:
        conduct(work)
    assert end.value.code == 128 + signal.SIGTERM
    assert os.listdir(tmp_path) == []


def test_completion():
    words = {"_SVMPROBA_COMPLETE": "complete_bash", "COMP_WORDS": "svmproba pr", "COMP_CWORD": "1"}
    done = CliRunner().invoke(cli.make_app(), [], prog_name="svmproba", env=words)
    assert done.stdout.split() == ["predict"]


def test_infinities_have_no_place_in_json():
    assert to_json([float("inf"), np.float32(0.5), "é"]) == '[null, 0.5, "é"]'


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("--bootstraps", 8), "--bootstraps 8 is small"),
        (("--bootstraps", 40, "--costs", "fn=5,fp=1", "--calibration", "none"), "--calibration"),
        (("--bootstraps", 3), "error: --calibration auto needs .* with --bootstraps 3"),
    ],
)
def test_messages_speak_of_options(invoke, credit, tmp_path, command, option):
    fixed = ["--target", "default", "--out", tmp_path / "m.svmproba", "--seed", 1]
    done = invoke("fit", credit, *fixed, *command)
    assert re.search(option, done.stderr)
    told = [line for line in done.stderr.splitlines() if re.match("warning|error", line)]
    assert not re.search(r"\w=|[a-z]_\b", "\n".join(told)), told


def test_an_interval_speaks_of_options(invoke, model, new_customers):
    done = invoke("predict", model, new_customers, "--interval", "sampling")
    assert "--bootstraps 40 is small" in done.stderr


def test_parameters_become_options():
    said = in_options("n_bootstraps=20 is small. Fit with calibration='auto'; tol=0.001.")
    assert said == "--bootstraps 20 is small. Fit with --calibration auto; 0.001."
    said = in_options("Set class_weight='auto' and reliability='balanced_accuracy', or tol=0.1.")
    assert said == "Set --class-weight auto, or 0.1."


def test_a_broken_pipe_on_windows(monkeypatch):
    gone = OSError(errno.EINVAL, "Invalid argument")
    assert conduct(failing(gone)) == FAILED
    monkeypatch.setattr(errors.sys, "platform", "win32")
    monkeypatch.setattr(errors, "silence_standard_output", lambda: None)
    assert conduct(failing(gone)) == BROKEN_PIPE
    assert conduct(failing(OSError(errno.EINVAL, "Invalid argument", "a.csv"))) == FAILED


@pytest.mark.parametrize(("encoding", "text"), [("utf-8", '"Ω"'), ("cp1252", r'"\u03a9"')])
def test_json_is_ascii_where_output_is_not_utf8(encoding, text, monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding))
    assert to_json("Ω") == text
