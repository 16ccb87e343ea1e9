"""Figures of the demonstration."""

import numpy as np

from svmproba.evaluation import reliability_curve
from svmproba.paper.drawing.figures import example_records, overview, reliability, score_histograms


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


def titles(figure):
    return [ax.get_title(loc="left") for ax in figure.axes if ax.get_title(loc="left")]


def test_scores_of_all_records_and_the_votes_on_three():
    y = np.arange(8) % 2
    scores = np.where(y[:, np.newaxis] == 1, 1.0, -1.0) * np.arange(1.0, 5.0)
    scores[3] = [-1.0, -2.0, 1.0, 2.0]
    figure = score_histograms(y, scores, ("well", "ill"))
    negative, _, positive = example_records(scores)
    assert titles(figure) == [
        "All records",
        f"Votes on record {negative}, well",
        "Votes on record 3, ill",
        f"Votes on record {positive}, ill",
    ]
    every, *votes = figure.axes
    assert (every.get_xlabel(), every.get_ylabel()) == (
        "mean score of the members, out of fold",
        "records",
    )
    drawn = [sum(bar.get_height() for bar in bars) for bars in every.containers]
    assert drawn == [4, 4]
    shares = [[text.get_text().split("\n")[0] for text in ax.texts] for ax in votes]
    assert shares == [["100.0%", "0.0%"], ["50.0%", "50.0%"], ["0.0%", "100.0%"]]


def test_reliability_of_several_probabilities():
    y, proba = (np.arange(40) % 5 > 3).astype(int), np.linspace(0, 1, 40)
    figure = reliability(y, {"one": proba, "other": proba**2}, "ill")
    assert titles(figure) == ["one", "other"]
    curve = reliability_curve(y, proba, n_bins=5)
    drawn = figure.axes[0].lines[1].get_xydata()
    np.testing.assert_allclose(drawn, np.c_[curve.mean_predicted, curve.observed])
    assert figure.axes[0].get_ylabel() == "observed share of ill"
    assert titles(overview(y, np.ones((40, 7)), proba, ("well", "ill"))) == [
        "One patient, 7 bootstrap SVMs vote",
        "All 40 patients: votes and truth",
    ]
