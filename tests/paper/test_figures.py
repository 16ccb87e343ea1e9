"""Figures of the demonstration."""

import numpy as np

from svmproba.paper.figures import example_records, overview


def test_example_records():
    scores = np.array([[-3, -2], [-1, -2], [-1, 1], [1, 2], [-0.1, -0.2]])
    assert example_records(scores) == (1, 2, 3)
    assert example_records(np.array([[-1, 1], [-2, 3]])) == (0, 0, 1)


def test_the_overview_shows_the_most_divided_votes():
    y = np.arange(8) % 2
    scores = np.where(y[:, np.newaxis] == 1, 1.0, -1.0) * np.ones(4)
    scores[3] = [-1.0, -2.0, 1.0, 2.0]
    left = overview(y, scores, (scores > 0).mean(axis=1), ("well", "ill")).axes[0]
    assert {text.get_text() for text in left.texts} == {"50.0%\nwell", "50.0%\nill"}
