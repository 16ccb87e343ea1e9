import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svmproba.evaluation import (
    CostCurveDisplay,
    RateDisplay,
    ReliabilityDisplay,
    ScoreHistogramDisplay,
    VoteHistogramDisplay,
)
from svmproba.evaluation._drawing import edges_through, number, shortened, wrapped


@pytest.mark.parametrize(
    ("display", "given"),
    [
        (CostCurveDisplay, ([0, 1], [0.2, 0.7])),
        (RateDisplay, ([0, 1], [0.2, 0.7])),
        (ReliabilityDisplay, ([0, 1], [0.2, 0.7])),
        (ScoreHistogramDisplay, ([0, 1], [0.2, 0.7])),
        (VoteHistogramDisplay, ([0.2, 0.7],)),
    ],
)
def test_missing_matplotlib_is_named(monkeypatch, display, given):
    for name in ("matplotlib", "matplotlib.pyplot", "matplotlib.ticker", "matplotlib.lines"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'svmproba\[plot\]'"):
        display.from_predictions(*given)


@settings(deadline=None, max_examples=60)
@given(
    st.floats(-5, 5),
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20),
    st.integers(1, 50),
)
def test_edges_hold_all_values_and_the_threshold(threshold, values, n_bins):
    edges = np.array(edges_through(threshold, np.array(values), n_bins))
    assert np.isclose(edges, threshold, rtol=0, atol=1e-9).any()
    assert edges[0] <= min(values)
    assert edges[-1] >= max(values)
    assert len(edges) <= n_bins + 5


@pytest.mark.usefixtures("closed_figures")
@pytest.mark.parametrize(
    ("display", "given"),
    [(ScoreHistogramDisplay, ([0, 1], [0.2, 0.7])), (VoteHistogramDisplay, ([0.2, 0.7],))],
)
def test_a_moved_threshold_is_drawn_again(monkeypatch, display, given):
    drawn = display.from_predictions(*given)
    calls = []
    monkeypatch.setattr(drawn.figure_.canvas, "draw_idle", lambda: calls.append(drawn.threshold))
    drawn.move_threshold(0.4)
    assert calls == [0.4]


def test_long_names_are_cut_off_and_wrapped():
    assert shortened("bad") == "bad"
    assert shortened("applicant defaulted or was sent", 20) == "applicant defaulted…"
    assert len(shortened("x" * 50, 20)) == 20
    lines = wrapped("predicted probability of " + "a very long name " * 9).split("\n")
    assert len(lines) == 2
    assert max(map(len, lines)) <= 36
    assert lines[1].endswith("…")
    assert number(-0.12345) == "−0.123"
