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
