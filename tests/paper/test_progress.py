import io

import pytest

from svmproba.paper.progress import in_words, name_of, tell_progress
from svmproba.paper.reproduce import Event
from svmproba.paper.store import Cell

CELL = Cell("fair", "german", "ebb", 0, 3, 10, 0, 500, "{}")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(59.7, "1 min 0 s"), (9.96, "10.0 s"), (10, "10 s"), (12.2, "12 s"), (3599.6, "1 h 0 min")],
)
def test_durations(seconds, words):
    assert in_words(seconds) == words


def test_names():
    assert name_of(CELL) == "german, ebb, fold 4 of 10"
    assert name_of(CELL._replace(n_folds=1, repeat=2)) == "german, ebb, hold-out, repeat 3"


def test_lines_in_a_file():
    file = io.StringIO()
    with tell_progress(0, 20, file) as teller:
        teller.begin(CELL)
        teller.report(Event(1, 20, CELL, 2.0, 3700.0, None))
        teller.report(Event(20, 20, CELL, 2.0, 0.0, RuntimeError("no luck")))
    assert file.getvalue().splitlines() == [
        "[ 1/20] german, ebb, fold 4 of 10: 2.0 s, about 1 h 1 min left",
        "[20/20] german, ebb, fold 4 of 10 failed: RuntimeError: no luck: 2.0 s",
    ]


def test_a_live_bar_on_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    terminal = Terminal()
    with tell_progress(5, 20, terminal) as teller:
        teller.begin(CELL)
        teller.report(Event(6, 20, CELL, 2.0, 75.0, RuntimeError("no luck")))
    said = terminal.getvalue()
    for text in ("6/20", "about 1 min 15 s left", "german, ebb, fold 4 of 10", "no luck"):
        assert text in said
