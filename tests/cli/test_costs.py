"""Costs from the command line."""

import pytest

from svmproba.cli.costs import Costs, parse_costs, rule_in_words
from svmproba.cli.errors import InputError


def test_costs_from_text():
    assert parse_costs(" fn = 5 , fp=1,tp=-2") == Costs(5.0, 1.0, -2.0, 0.0)
    assert parse_costs(None) is None
    for text in ("fn=1", "fn=1,fp=x", "fn=1,fp=2,zz=3", "", "fn=0,fp=0", "fn=1,fp=inf"):
        with pytest.raises(InputError, match="--costs"):
            parse_costs(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fn=-5,fp=60", "--costs: fn must not be negative, got -5"),
        ("fn=5,fp=-1", "--costs: fp must not be negative, got -1"),
        ("fn=1,fp=1,tp=2", "fn \\+ fp > tp \\+ tn, got 1 \\+ 1 and 2 \\+ 0"),
        ("fn=nan,fp=1", "--costs must be like"),
    ],
)
def test_costs_that_decide_nothing_are_refused(text, message):
    with pytest.raises(InputError, match=message) as caught:
        parse_costs(text)
    assert "_cost" not in str(caught.value)


def test_the_rule_in_words():
    about = {"positive": "yes", "costs": None, "wants_rate": False}
    usual, costs = "the usual threshold", {"fn": 5.0}
    assert rule_in_words(about, 0.5) == f"'yes' from probability 0.5 on, {usual}"
    said = rule_in_words({**about, "costs": costs}, 1 / 6)
    assert said == "'yes' from probability 0.167 on, the least expected cost"
    said = rule_in_words({**about, "costs": costs, "wants_rate": True}, 0.25)
    assert said == "'yes' from probability 0.25 on, the threshold that reaches the rate"
