from svmproba.evaluation.report._formats import FORMATS


def test_small_amounts_have_cents():
    money = FORMATS["money"]
    assert [money(x) for x in (9.99, -9.5, 10.0, 10.6, -11.2)] == [
        "9.99",
        "-9.50",
        "10",
        "11",
        "-11",
    ]
    assert money(None) == "–"


def test_limits_of_a_share():
    limits = FORMATS["limits"]
    assert limits([0.085, 0.5]) == "9 to 50\u00a0%"
    assert limits([0.0, 1.0]) == "0 to 100\u00a0%"
    assert {limits(pair) for pair in ([None, None], [0.1, None], [None, 0.1])} == {"no such record"}


def test_every_format():
    written = {
        "percent": [((0.1238,), "12.4\u00a0%"), ((0.5, 0), "50\u00a0%"), ((0.999,), "99.9\u00a0%")],
        "count": [((1234567,), "1\u202f234\u202f567"), ((12,), "12")],
        "money": [((12345.6,), "12\u202f346")],
        "signed": [((-1.234,), "−1.23"), ((0.5,), "+0.50")],
        "points": [((0.1238,), "12.4 percentage points")],
        "span": [(([0.1, 0.25],), "10.0 to 25.0 percentage points")],
        "tick": [((-0.123,), "−0.12")],
        "shortened": [(("x" * 30, 5), "xxxx…")],
        "fixed": [((0.12345,), "0.123")],
        "plain": [((0.1,), "0.1"), ((2.0,), "2")],
        "significant": [((0.123456,), "0.1235"), ((float("inf"),), "–"), ((float("nan"),), "–")],
        "limits": [(([0.005, 0.995],), "1 to 100\u00a0%")],
    }
    assert set(written) == set(FORMATS)
    for name, examples in written.items():
        for arguments, text in examples:
            assert FORMATS[name](*arguments) == text, name
        if name != "shortened":
            assert FORMATS[name](None) == "–"
