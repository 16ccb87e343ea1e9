import numpy as np
import pytest
from matplotlib.backend_bases import MouseEvent
from sklearn.svm import SVC

from svmproba.evaluation import VoteHistogramDisplay
from svmproba.evaluation.displays.scores import best_theta_scores

pytestmark = pytest.mark.usefixtures("closed_figures")


def counts(display):
    return [sum(bar.get_height() for bar in bars) for bars in display.ax_.containers]


def texts(display):
    return [text.get_text() for text in display.texts_]


def test_votes_are_counted_and_coloured():
    display = VoteHistogramDisplay.from_predictions(
        [-2.0, -1.0, -0.5, 1.0], class_names=("stays", "leaves")
    )
    assert counts(display) == [3, 1]
    assert texts(display) == ["75.0%\nstays", "25.0%\nleaves"]
    colors = [bars[0].get_facecolor() for bars in display.ax_.containers]
    assert colors[0] != colors[1]


def test_moving_the_threshold_moves_the_votes():
    display = VoteHistogramDisplay.from_predictions([-2.0, -1.0, -0.5, 1.0])
    assert display.move_threshold(-0.75) is display
    assert counts(display) == [2, 2]
    assert texts(display) == ["50.0%\nnegative", "50.0%\npositive"]
    assert list(display.threshold_line_.get_xdata()) == [-0.75, -0.75]
    assert len(display.ax_.containers) == 2
    display.move_threshold(-1.0)  # a score at the threshold votes for both sides
    assert display.share == 0.625


def test_the_mouse_moves_the_threshold():
    display = VoteHistogramDisplay.from_predictions([-2.0, -1.0, -0.5, 1.0])
    canvas, ax = display.figure_.canvas, display.ax_
    canvas.draw()
    x, y = *ax.transData.transform((-0.75, 0))[:1], *ax.transAxes.transform((0, 0.5))[1:]
    canvas.callbacks.process(
        "button_press_event", MouseEvent("button_press_event", canvas, x, y, button=1)
    )
    assert display.threshold == pytest.approx(-0.75)
    assert counts(display) == [2, 2]


def test_share_is_the_probability_of_the_best_theta(new_data, ensemble):
    X, _ = new_data
    best = ensemble.reliability_.argmax()
    for model in (ensemble, ensemble.with_rate(tpr=0.95)):
        shares = model.vote_shares(X)[best]
        for record in (0, int(np.argmin(abs(shares - 0.5)))):
            display = VoteHistogramDisplay.from_estimator(model, X[[record]])
            assert display.share == pytest.approx(shares[record])
            assert display.threshold == model.threshold_
            assert display.class_names == ("no", "yes")
    turned = VoteHistogramDisplay.from_estimator(ensemble, X[[3]], pos_label="no")
    assert turned.share == pytest.approx(1 - ensemble.vote_shares(X)[best, 3])
    assert turned.class_names == ("yes", "no")


def test_votes_of_a_pipeline(data, pipeline):
    X, _ = data
    display = VoteHistogramDisplay.from_estimator(pipeline, X[[5]])
    scores = best_theta_scores(pipeline[-1], pipeline[0].transform(X))
    np.testing.assert_allclose(display.scores, scores[:, 5])
    assert display.class_names == ("yes", "no")


def test_bad_input_is_named(data, ensemble):
    X, y = data
    with pytest.raises(ValueError, match="X must hold one sample, got 2"):
        VoteHistogramDisplay.from_estimator(ensemble, X[:2])
    with pytest.raises(ValueError, match="need a bootstrap ensemble"):
        VoteHistogramDisplay.from_estimator(SVC().fit(X, y), X[:1])
    with pytest.raises(ValueError, match=r"one sample, got shape \(2, 1\)"):
        VoteHistogramDisplay.from_predictions([[1.0], [2.0]])
    with pytest.raises(ValueError, match=r"one sample, got shape \(0,\)"):
        VoteHistogramDisplay.from_predictions([])
