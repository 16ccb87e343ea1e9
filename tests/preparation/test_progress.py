"""The time left is told from the second block on: compilation comes before the first."""

import sys

import pytest

from svmproba.preparation.progress import duration, show_progress


class Clock:
    """Time that passes only when a test says so."""

    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    fake = Clock()
    monkeypatch.setattr("time.monotonic", fake)
    return fake


#: Seconds and bags of a fit of 22 seconds, 15 of which are compilation.
FIT = [(15.2, 50), *[(0.75, 50)] * 9]


def test_the_time_of_compilation_is_not_taken_for_a_pace(clock, capsys):
    with show_progress("fit", 500, "bags") as advance:
        for seconds, bags in FIT:
            clock.now += seconds
            advance(bags)
    assert capsys.readouterr().err.splitlines() == [
        "fit: 50 of 500 bags",
        "fit: 400 of 500 bags, about 1.5 s left",
    ]


def test_the_live_bar_tells_the_same(clock, capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    told = []
    monkeypatch.setattr(
        "rich.progress.Progress.update", lambda bar, task, **said: told.append(said)
    )
    with show_progress("fit", None, "bags") as advance:
        for seconds, bags in FIT:
            clock.now += seconds
            advance(bags, total=500)
    assert {one["total"] for one in told} == {500}
    assert [one["left"] for one in told[:4]] == ["", "", "about 5.2 s left", "about 4.5 s left"]
    assert [one["completed"] for one in told] == list(range(50, 501, 50))
    assert told[-1]["left"] == ""


def test_the_number_of_units_may_be_told_with_the_first(clock, capsys):
    with show_progress("fit", None, "bags") as advance:
        for seconds, bags in FIT:
            clock.now += seconds
            advance(bags, total=500)
    assert capsys.readouterr().err.splitlines() == [
        "fit: 50 of 500 bags",
        "fit: 400 of 500 bags, about 1.5 s left",
    ]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(59.7, "1 min 0 s"), (9.96, "10.0 s"), (10, "10 s"), (12.2, "12 s"), (3599.6, "1 h 0 min")],
)
def test_durations(seconds, words):
    assert duration(seconds) == words


def test_lines_say_what_they_are_told_to(capsys):
    with show_progress("cells", 20, done=4, seconds_between=0) as advance:
        advance(0, "the first begins")  # shown by a bar alone
        advance(1, "[ 5/20] the first", 3700.0)
        advance(15, "[20/20] the last", 0.0)
    assert capsys.readouterr().err.splitlines() == [
        "cells: [ 5/20] the first, about 1 h 1 min left",
        "cells: [20/20] the last",
    ]


def test_a_bar_shows_brackets_and_lets_other_lines_pass(capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    with show_progress("cells", 20, done=5) as advance:
        advance(0, "german, ebb")
        print("german, tao failed", file=sys.stderr)
        advance(1, "[ 6/20] [bold] german, ebb", 75.0)
    said = capsys.readouterr().err
    for text in ("german, tao failed\n", "[ 6/20] [bold] german, ebb", "about 1 min 15 s left"):
        assert text in said


def test_without_rich_a_terminal_gets_lines(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("svmproba.preparation.progress.find_spec", lambda name: None)
    with show_progress("demo", 10, "folds", seconds_between=0) as advance:
        advance(1)
    assert capsys.readouterr().err == "demo: 1 of 10 folds\n"


def test_every_step_is_checked():
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), show_progress("fit", 10, "bags", stop) as advance:
        advance(1)
