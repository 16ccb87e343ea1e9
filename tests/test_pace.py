"""The time left is estimated after the first report: compilation comes before it."""

import pytest

from svmproba._pace import Pace


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
