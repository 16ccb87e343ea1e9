from svmproba.evaluation._report_formats import FORMATS


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
