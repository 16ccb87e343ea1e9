"""The paper's figures."""

import numpy as np
import pytest

from svmproba.paper import paper_figures


def test_bars_are_the_negative_class():
    figure = paper_figures.instances(np.array([0, 1]), np.array([0.25, 1.0]), "title")
    assert [bar.get_height() for bar in figure.axes[0].patches] == [1, 0, 0.75, 0]


def test_dots_hold_every_record_once():
    rng = np.random.default_rng(0)
    score, y = rng.normal(size=103), rng.integers(0, 2, 103)
    centres, shares = paper_figures.empirical_probability(score, y)
    assert len(centres) == len(shares) == 12
    assert np.all(np.diff(centres) > 0)
    sizes = np.array([9] * 7 + [8] * 5)
    assert np.sum(shares * sizes) == pytest.approx(y.sum())
    assert len(paper_figures.empirical_probability(score[:3], y[:3])[0]) == 1
