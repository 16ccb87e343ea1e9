import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from svmproba.evaluation import (
    CostCurveDisplay,
    RateDisplay,
    ReliabilityDisplay,
    ScoreHistogramDisplay,
    VoteHistogramDisplay,
)
from svmproba.evaluation.displays.drawing import edges_through, number, shortened, wrapped

PAIR = ([0, 1], [0.2, 0.7])
DISPLAYS = [
    (CostCurveDisplay, PAIR),
    (RateDisplay, PAIR),
    (ReliabilityDisplay, PAIR),
    (ScoreHistogramDisplay, PAIR),
    (VoteHistogramDisplay, ([0.2, 0.7],)),
]


@pytest.mark.parametrize(("display", "given"), DISPLAYS)
def test_missing_matplotlib_is_named(monkeypatch, display, given):
    for name in ("matplotlib", "matplotlib.pyplot", "matplotlib.ticker", "matplotlib.lines"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'svmproba\[plot\]'"):
        display.from_predictions(*given)


@pytest.mark.usefixtures("closed_figures")
@pytest.mark.parametrize(("display", "given"), DISPLAYS)
def test_axes_are_named_and_have_two_sides(display, given):
    drawn = display.from_predictions(*given)
    for ax in drawn.figure_.axes:
        assert ax.get_ylabel()
        assert [name for name, side in ax.spines.items() if side.get_visible()] == [
            "left",
            "bottom",
        ]
    assert drawn.figure_.axes[-1].get_xlabel()


@settings(deadline=None, max_examples=60)
@given(
    st.floats(-5, 5),
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20),
    st.integers(1, 50),
)
@example(-1.1, [0.9, 1.2], 28)  # where rounding, without a bin more, leaves the highest value out
@example(5.0, [0.4, 1.0], 14)  # and here the lowest one
def test_edges_hold_all_values_and_the_threshold(threshold, values, n_bins):
    edges = np.array(edges_through(threshold, np.array(values), n_bins))
    assert np.isclose(edges, threshold, rtol=0, atol=1e-9).any()
    assert edges[0] <= min(values)
    assert edges[-1] >= max(values)
    assert len(edges) <= n_bins + 5
    spread = max(*values, threshold) - min(*values, threshold)
    if spread > 1e-6:
        np.testing.assert_allclose(np.diff(edges), spread / n_bins)
        assert edges[2] > min(*values, threshold) - 1e-9 * spread
        assert edges[-3] < max(*values, threshold) + 1e-9 * spread


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
