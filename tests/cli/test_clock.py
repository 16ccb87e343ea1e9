"""What progress says of the units that are done."""

from svmproba.cli.progress import _Clock


def test_units_are_counted():
    clock = _Clock(2000, "bags")
    for n in (3, 1004):
        clock.advance(n)
    assert clock.said() == "1,007 of 2,000 bags"
    unknown = _Clock(None, "rows")
    unknown.advance(5)
    assert unknown.said() == "5 rows"


def test_nothing_is_said_of_the_time_before_the_start_or_without_an_end():
    assert _Clock(10, "bags").left() == ""
    finished, endless = _Clock(10, "bags"), _Clock(None, "rows")
    finished.advance(10)
    endless.advance(10)
    assert finished.left() == endless.left() == ""
