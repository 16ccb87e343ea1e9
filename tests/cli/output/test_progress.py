"""The time left is told from the second block on: compilation comes before the first."""

import sys

import pytest

from svmproba._pace import Pace
from svmproba.cli.output.progress import tell_progress


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
    with tell_progress("fit", 500, "bags") as advance:
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
    monkeypatch.setattr(
        "rich.progress.Progress.update", lambda bar, task, **said: told.append(said)
    )
    told = []
    with tell_progress("fit", 500, "bags") as advance:
        for seconds, bags in FIT:
            clock.now += seconds
            advance(bags)
    assert [one["left"] for one in told[:4]] == ["", "", "about 5.2 s left", "about 4.5 s left"]
    assert [one["completed"] for one in told] == list(range(50, 501, 50))
    assert told[-1]["left"] == ""


def test_blocks_that_end_together_tell_no_pace(clock):
    """Two jobs wait for the same compilation, and report at the same time."""
    pace = Pace(100)
    clock.now += 15
    pace.note(10)
    clock.now += 0.01
    pace.note(10)
    assert pace.left() is None
    clock.now += 2.0
    pace.note(20)
    assert pace.left() == pytest.approx(60 * 2.01 / 30)


def test_nothing_is_guessed_where_nothing_is_known(clock):
    unknown, over = Pace(None), Pace(10)
    for pace in (unknown, over):
        pace.note(5)
        clock.now += 9
        pace.note(5)
        assert pace.left() is None
