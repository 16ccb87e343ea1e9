import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

from svmproba.evaluation import ReliabilityDisplay, reliability_curve

pytestmark = pytest.mark.usefixtures("closed_figures")


def test_the_curve_is_drawn(data):
    X, y = data
    proba = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    display = ReliabilityDisplay.from_predictions(y, proba, n_bins=6, name="mine")
    curve = reliability_curve(y, proba, n_bins=6)
    points, _, (whiskers,) = display.errorbar_
    np.testing.assert_array_equal(points.get_xydata(), np.c_[curve[0], curve[1]])
    limits = np.array([segment[:, 1] for segment in whiskers.get_segments()])
    np.testing.assert_allclose(limits, np.c_[curve.lower, curve.upper], atol=1e-12)
    assert display.ax_.get_ylabel() == "observed share of yes"
    assert display.histogram_ax_.get_xlabel() == "predicted probability of yes"
    (bars,) = display.histogram_ax_.containers
    assert sum(bar.get_height() for bar in bars) == 150
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["calibrated", "mine"]
    (diagonal,) = (line for line in display.ax_.lines if line.get_label() == "calibrated")
    np.testing.assert_array_equal(diagonal.get_xydata(), [[0, 0], [1, 1]])
    assert display.figure_ is display.ax_.figure


def test_limits_for_all_bins_at_once(data):
    X, y = data
    options = {"n_bins": 4, "strategy": "quantile", "confidence": 0.9, "simultaneous": True}
    model = LogisticRegression().fit(X, y)
    display = ReliabilityDisplay.from_estimator(model, X, y, **options)
    curve = reliability_curve(y, model.predict_proba(X)[:, 1], **options)
    np.testing.assert_array_equal(display.curve.lower, curve.lower)
    np.testing.assert_array_equal(display.curve.upper, curve.upper)
    assert display.name == "LogisticRegression, 90% limits"


def test_bars_of_the_histogram_are_a_twentieth_wide():
    display = ReliabilityDisplay.from_predictions([0, 1, 0, 1], [0.01, 0.06, 0.07, 1.0])
    (bars,) = display.histogram_ax_.containers
    assert bars.datavalues.tolist() == [1, 2, *[0] * 17, 1]
    middles = [bar.get_x() + bar.get_width() / 2 for bar in bars]
    np.testing.assert_allclose(middles, np.arange(20) / 20 + 0.025)


def test_histogram_does_not_cover_the_diagram():
    display = ReliabilityDisplay.from_predictions([0, 1, 1], [0.2, 0.4, 0.9])
    display.figure_.draw_without_rendering()
    below, above = display.histogram_ax_.get_position(), display.ax_.get_position()
    assert below.y1 < above.y0
    assert below.x0 == pytest.approx(above.x0)


def test_without_histogram_and_on_shared_axes():
    figure = Figure()
    ax = figure.subplots()
    first = ReliabilityDisplay.from_predictions([0, 1], [0.2, 0.7], ax=ax, name="first")
    second = ReliabilityDisplay.from_predictions(
        [0, 1], [0.4, 0.9], ax=ax, name="second", histogram=False, color="black"
    )
    assert second.histogram_ax_ is None
    assert first.figure_ is second.figure_ is figure
    assert ax.get_xlabel() == ""  # it stands below the histogram
    assert len(figure.axes) == 2
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["calibrated", "first", "second"]
    alone = ReliabilityDisplay.from_predictions([0, 1], [0.2, 0.7], histogram=False)
    assert alone.ax_.get_xlabel() == "predicted probability of 1"


def test_on_axes_outside_a_grid():
    figure = Figure()
    display = ReliabilityDisplay.from_predictions(
        [0, 1], [0.2, 0.7], ax=figure.add_axes((0.1, 0.4, 0.8, 0.5))
    )
    assert display.histogram_ax_ in display.ax_.child_axes


def test_long_names_stay_inside_the_picture():
    name = "applicant defaulted or was sent to a collection agency in the first year"
    display = ReliabilityDisplay.from_predictions([name, "a"], [0.7, 0.2], pos_label=name)
    display.figure_.draw_without_rendering()
    inside = display.figure_.bbox
    for label in (display.ax_.yaxis.label, display.histogram_ax_.xaxis.label):
        box = label.get_window_extent()
        assert "\n" in label.get_text()
        assert inside.containsx(box.x0)
        assert inside.containsx(box.x1)
        assert inside.containsy(box.y0)
        assert inside.containsy(box.y1)


@pytest.mark.parametrize("pos_label", [None, "no", "yes"])
def test_from_estimator(data, pos_label):
    X, y = data
    model = LogisticRegression().fit(X, y)
    display = ReliabilityDisplay.from_estimator(model, X, y, pos_label=pos_label)
    column = {None: 1, "no": 0, "yes": 1}[pos_label]
    np.testing.assert_array_equal(display.proba, model.predict_proba(X)[:, column])
    assert display.pos_label == (pos_label or "yes")


def test_class_of_interest_of_the_estimator(data, pipeline):
    X, y = data
    display = ReliabilityDisplay.from_estimator(pipeline, X, y)
    assert display.pos_label == "no"
    assert display.name == "BootstrapSVC, 95% limits"
    np.testing.assert_array_equal(display.proba, pipeline.predict_proba(X)[:, 0])


def test_bad_input_is_named(data):
    X, _ = data
    model = LogisticRegression().fit(X, np.arange(150) % 3)
    with pytest.raises(ValueError, match="estimator has 3 classes: pos_label must name one of"):
        ReliabilityDisplay.from_estimator(model, X, np.arange(150) % 3)
    model = LogisticRegression().fit(X, np.arange(150) % 2)
    with pytest.raises(ValueError, match="pos_label='x' is not among"):
        ReliabilityDisplay.from_estimator(model, X, np.arange(150) % 2, pos_label="x")
