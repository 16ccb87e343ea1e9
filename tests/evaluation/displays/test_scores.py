import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.backend_bases import MouseEvent
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from svmproba.evaluation import ScoreHistogramDisplay, rates_at
from svmproba.evaluation._classifiers import levels_of
from svmproba.evaluation.displays.scores import best_theta_scores

pytestmark = pytest.mark.usefixtures("closed_figures")


def heights(ax):
    return [[patch.get_height() for patch in container] for container in ax.containers]


def legend(display):
    box = display.ax_.get_legend()
    return box.get_title().get_text(), [text.get_text() for text in box.get_texts()]


def rates_of_predict(model, X, y, positive, negative):
    called = model.predict(X)
    return np.mean(called[y == positive] == positive), np.mean(called[y == negative] == negative)


def test_best_theta_scores_have_the_votes_of_that_theta(data, ensemble):
    scores = best_theta_scores(ensemble, data[0])
    assert scores.shape == (40, 150)
    best = ensemble.reliability_.argmax()
    np.testing.assert_allclose((scores > 0).mean(axis=0), ensemble.vote_shares(data[0])[best])


def test_rates_of_an_ensemble_are_those_of_predict(new_data, ensemble):
    """At its own threshold, and at the thresholds that other rates would give it."""
    X, y = new_data
    for model in (ensemble, *(ensemble.with_rate(tpr=rate) for rate in (0.8, 0.9, 0.99))):
        display = ScoreHistogramDisplay.from_estimator(model, X, y)
        assert display.threshold == model.threshold_
        assert display.threshold_line_.get_xdata()[0] == model.threshold_
        assert display.rates == pytest.approx(rates_of_predict(model, X, y, "yes", "no"))
        moved = ScoreHistogramDisplay.from_estimator(ensemble, X, y).move_threshold(
            model.threshold_
        )
        assert moved.rates == display.rates


def test_levels_decide_the_class_at_every_threshold(new_data, ensemble):
    """The median is above a threshold exactly where at least half the votes are."""
    X, _ = new_data
    levels = levels_of(ensemble, X).values
    scores = np.concatenate([block for _, block in ensemble.member_scores(X)], axis=-1)
    for threshold in np.quantile(levels, [0.1, 0.5, 0.9]) + 1e-9:
        share = ensemble.weights_ @ (scores > threshold).mean(axis=1)
        np.testing.assert_array_equal(levels > threshold, np.round(share, 12) >= 0.5)


def test_thresholds_of_their_own_are_drawn_at_zero(new_data, ensemble):
    X, y = new_data
    model = ensemble.with_rate(tpr=0.95, per_theta=True)
    display = ScoreHistogramDisplay.from_estimator(model, X, y)
    assert display.threshold == 0
    assert display.rates == pytest.approx(rates_of_predict(model, X, y, "yes", "no"))
    members = ScoreHistogramDisplay.from_estimator(model, X, y, members=True)
    assert members.threshold == model.threshold_[ensemble.reliability_.argmax()]


def test_calibrated_probabilities_are_drawn_with_their_threshold(new_data, calibrated):
    X, y = new_data
    model = calibrated.with_rate(tpr=0.95)
    display = ScoreHistogramDisplay.from_estimator(model, X, y)
    assert display.threshold == model.proba_threshold_ < 0.5
    assert display.ax_.get_xlabel() == "probability of yes"
    np.testing.assert_array_equal(display.positive, model.predict_proba(X)[y == "yes", 1])
    assert display.rates == pytest.approx(rates_of_predict(model, X, y, "yes", "no"))
    turned = ScoreHistogramDisplay.from_estimator(model, X, y, pos_label="no")
    assert turned.ax_.get_xlabel() == "probability of no"
    assert turned.threshold == pytest.approx(1 - model.proba_threshold_)
    assert turned.rates == pytest.approx(display.rates[::-1])


def test_scores_of_the_members(data, ensemble):
    X, y = data
    display = ScoreHistogramDisplay.from_estimator(ensemble, X, y, members=True)
    scores = best_theta_scores(ensemble, X)
    np.testing.assert_array_equal(display.positive, scores[:, y == "yes"].ravel())
    np.testing.assert_array_equal(display.negative, scores[:, y == "no"].ravel())
    no, yes = heights(display.ax_)
    assert (sum(no), sum(yes)) == (display.negative.size, display.positive.size)
    assert display.ax_.get_ylabel() == "votes"
    assert legend(display)[1][1] == f"yes\nTPR {np.mean(display.positive >= 0):.3f}"


def test_an_ensemble_in_a_pipeline(data, pipeline):
    X, y = data
    inside = ScoreHistogramDisplay.from_estimator(pipeline, X, y)
    alone = ScoreHistogramDisplay.from_estimator(pipeline[-1], StandardScaler().fit_transform(X), y)
    np.testing.assert_array_equal(inside.positive, alone.positive)
    assert inside.class_names == ("yes", "no")
    assert inside.rates == pytest.approx(rates_of_predict(pipeline, X, y, "no", "yes"))


def test_scores_of_any_classifier(data):
    X, y = data
    model = SVC(kernel="linear").fit(X, y)
    display = ScoreHistogramDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(display.positive, model.decision_function(X)[y == "yes"])
    assert display.rates == pytest.approx(rates_of_predict(model, X, y, "yes", "no"))
    flipped = ScoreHistogramDisplay.from_estimator(model, X, y, pos_label="no")
    np.testing.assert_array_equal(flipped.positive, -display.negative)
    assert flipped.class_names == ("yes", "no")
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)).fit(X, y)
    display = ScoreHistogramDisplay.from_estimator(forest, X, y)
    assert display.threshold == 0.5
    np.testing.assert_array_equal(display.positive, forest.predict_proba(X)[y == "yes", 1])
    with pytest.raises(ValueError, match="scores of members need a bootstrap ensemble"):
        ScoreHistogramDisplay.from_estimator(model, X, y, members=True)


def test_moving_the_threshold_moves_line_and_rates():
    y, scores = [0, 0, 0, 1, 1], np.array([-2.0, -1.0, 0.5, 0.2, 1.0])
    display = ScoreHistogramDisplay.from_predictions(y, scores)
    assert legend(display) == ("at threshold 0", ["0\nTNR 0.667, 2 of 3", "1\nTPR 1.000, 2 of 2"])
    before = heights(display.ax_)
    assert display.move_threshold(-1.5) is display
    assert list(display.threshold_line_.get_xdata()) == [-1.5, -1.5]
    assert legend(display) == (
        "at threshold −1.5",
        ["0\nTNR 0.333, 1 of 3", "1\nTPR 1.000, 2 of 2"],
    )
    assert heights(display.ax_) == before
    for threshold in (-3.0, 0.2, 0.75, 2.0):
        found = rates_at(y, scores, threshold)
        assert display.move_threshold(threshold).rates == (found.tpr, found.tnr)


def test_the_mouse_moves_the_threshold():
    display = ScoreHistogramDisplay.from_predictions([0, 0, 1, 1], [-2.0, -1.0, 1.0, 2.0])
    canvas, ax = display.figure_.canvas, display.ax_
    canvas.draw()

    def press(kind, x, button=1, at=0.5):
        place = *ax.transData.transform((x, 0))[:1], *ax.transAxes.transform((0, at))[1:]
        canvas.callbacks.process(kind, MouseEvent(kind, canvas, *place, button=button))

    press("button_press_event", -1.5)
    assert display.threshold == pytest.approx(-1.5)
    press("motion_notify_event", 0.5)
    assert display.threshold == pytest.approx(0.5)
    press("button_release_event", 0.5)
    press("motion_notify_event", 1.5, button=None)  # the mouse only passes
    press("button_press_event", 1.5, button=3)
    press("button_press_event", 1.5, at=-0.2)  # outside the axes
    assert display.threshold == pytest.approx(0.5)
    canvas.widgetlock(display)  # the toolbar is zooming
    press("button_press_event", 1.5)
    assert display.threshold == pytest.approx(0.5)


def test_threshold_is_an_edge_between_bars():
    scores = np.array([-1.0, 0.29, 0.31, 2.0])
    display = ScoreHistogramDisplay.from_predictions([0, 0, 1, 1], scores, threshold=0.3, bins=7)
    edges = [patch.get_x() for patch in display.ax_.containers[0]]
    assert min(abs(np.array(edges) - 0.3)) < 1e-12
    assert display.threshold_line_.get_xdata()[0] == 0.3
    assert heights(display.ax_)[0] != heights(display.ax_)[1]


def test_constant_scores_can_be_drawn():
    display = ScoreHistogramDisplay.from_predictions([0, 1], [0.0, 0.0])
    assert [sum(h) for h in heights(display.ax_)] == [1, 1]


def test_one_class_can_be_drawn():
    display = ScoreHistogramDisplay.from_predictions([1, 1], [-1.0, 2.0])
    assert legend(display)[1] == ["negative\nno samples", "1\nTPR 0.500, 1 of 2"]
    assert np.isnan(display.rates[1])


def test_given_axes_are_used():
    figure, ax = plt.subplots()
    display = ScoreHistogramDisplay.from_predictions([0, 1], [-1.0, 1.0], ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure


def test_bars_leave_room_for_the_legend():
    rng = np.random.default_rng(0)
    names = ("a name that is far too long for any legend", "another such name, hardly shorter")
    display = ScoreHistogramDisplay.from_predictions(
        rng.integers(0, 2, 400), rng.normal(size=400), class_names=names
    )
    display.figure_.draw_without_rendering()
    ax = display.ax_
    top = ax.transData.transform((0, max(max(h) for h in heights(ax))))[1]
    box = ax.get_legend().get_window_extent()
    assert box.y0 > top
    assert ax.get_window_extent().x0 < box.x0 < box.x1 < ax.get_window_extent().x1


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="scores must hold 2 samples"):
        ScoreHistogramDisplay.from_predictions([0, 1], [1.0, 2.0, 3.0])
