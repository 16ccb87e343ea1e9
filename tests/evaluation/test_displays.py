import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from svmproba import BootstrapSVC
from svmproba.evaluation import ReliabilityDisplay, ScoreHistogramDisplay, reliability_curve
from svmproba.evaluation._score_display import best_theta_scores

pytestmark = pytest.mark.usefixtures("closed_figures")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    return X, np.where(X[:, 0] + rng.normal(size=150) > 0, "yes", "no")


@pytest.fixture(scope="module")
def ensemble(data):
    return BootstrapSVC([0.1, 1.0], n_bootstraps=40, random_state=0).fit(*data)


def heights(ax):
    return [[patch.get_height() for patch in container] for container in ax.containers]


def test_reliability_draws_the_curve(data):
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
    assert sum(heights(display.histogram_ax_)[0]) == 150
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["reliable", "mine"]
    assert display.figure_ is display.ax_.figure


def test_reliability_histogram_does_not_cover_the_diagram():
    display = ReliabilityDisplay.from_predictions([0, 1, 1], [0.2, 0.4, 0.9])
    display.figure_.draw_without_rendering()
    below, above = display.histogram_ax_.get_position(), display.ax_.get_position()
    assert below.y1 < above.y0
    assert below.x0 == pytest.approx(above.x0)


def test_reliability_without_histogram_and_on_shared_axes():
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
    assert texts == ["reliable", "first", "second"]
    alone = ReliabilityDisplay.from_predictions([0, 1], [0.2, 0.7], histogram=False)
    assert alone.ax_.get_xlabel() == "predicted probability of 1"


def test_reliability_on_axes_outside_a_grid():
    figure = Figure()
    display = ReliabilityDisplay.from_predictions(
        [0, 1], [0.2, 0.7], ax=figure.add_axes((0.1, 0.4, 0.8, 0.5))
    )
    assert display.histogram_ax_ in display.ax_.child_axes


@pytest.mark.parametrize("pos_label", [None, "no", "yes"])
def test_reliability_from_estimator(data, pos_label):
    X, y = data
    model = LogisticRegression().fit(X, y)
    display = ReliabilityDisplay.from_estimator(model, X, y, pos_label=pos_label)
    column = {None: 1, "no": 0, "yes": 1}[pos_label]
    np.testing.assert_array_equal(display.proba, model.predict_proba(X)[:, column])
    assert display.pos_label == (pos_label or "yes")
    assert display.name == "LogisticRegression"


def test_class_of_interest_of_the_estimator(data):
    X, y = data
    svc = BootstrapSVC([1.0], n_bootstraps=40, pos_label="no", random_state=0)
    model = make_pipeline(StandardScaler(), svc).fit(X, y)
    display = ReliabilityDisplay.from_estimator(model, X, y)
    assert display.pos_label == "no"
    np.testing.assert_array_equal(display.proba, model.predict_proba(X)[:, 0])


def test_best_theta_scores_have_the_votes_of_that_theta(data, ensemble):
    scores = best_theta_scores(ensemble, data[0])
    assert scores.shape == (40, 150)
    best = ensemble.reliability_.argmax()
    np.testing.assert_allclose((scores > 0).mean(axis=0), ensemble.vote_shares(data[0])[best])


@pytest.mark.parametrize("members", [False, True])
def test_scores_of_an_ensemble(data, ensemble, members):
    X, y = data
    display = ScoreHistogramDisplay.from_estimator(ensemble, X, y, members=members)
    scores = best_theta_scores(ensemble, X)
    scores = scores if members else scores.mean(axis=0)
    np.testing.assert_array_equal(display.positive, scores[..., y == "yes"].ravel())
    np.testing.assert_array_equal(display.negative, scores[..., y == "no"].ravel())
    no, yes = heights(display.ax_)
    assert (sum(no), sum(yes)) == (display.negative.size, display.positive.size)


def test_scores_of_an_ensemble_in_a_pipeline(data):
    X, y = data
    svc = BootstrapSVC([1.0], n_bootstraps=40, random_state=0)
    model = make_pipeline(StandardScaler(), svc).fit(X, y)
    inside = ScoreHistogramDisplay.from_estimator(model, X, y)
    alone = ScoreHistogramDisplay.from_estimator(model[-1], model[0].transform(X), y)
    np.testing.assert_array_equal(inside.positive, alone.positive)


def test_scores_of_any_classifier(data):
    X, y = data
    model = SVC(kernel="linear").fit(X, y)
    display = ScoreHistogramDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(display.positive, model.decision_function(X)[y == "yes"])
    flipped = ScoreHistogramDisplay.from_estimator(model, X, y, pos_label="no")
    np.testing.assert_array_equal(flipped.positive, -display.negative)
    assert flipped.class_names == ("yes", "no")
    with pytest.raises(ValueError, match="members=True needs a bootstrap ensemble"):
        ScoreHistogramDisplay.from_estimator(model, X, y, members=True)


def test_cut_is_an_edge_between_bars():
    scores = np.array([-1.0, 0.29, 0.31, 2.0])
    display = ScoreHistogramDisplay.from_predictions([0, 0, 1, 1], scores, cut=0.3, bins=7)
    edges = [patch.get_x() for patch in display.ax_.containers[0]]
    assert min(abs(np.array(edges) - 0.3)) < 1e-12
    assert display.cut_line_.get_xdata()[0] == 0.3
    assert heights(display.ax_)[0] != heights(display.ax_)[1]


def test_constant_scores_can_be_drawn():
    display = ScoreHistogramDisplay.from_predictions([0, 1], [0.0, 0.0])
    assert [sum(h) for h in heights(display.ax_)] == [1, 1]


def test_given_axes_are_used():
    figure, ax = plt.subplots()
    display = ScoreHistogramDisplay.from_predictions([0, 1], [-1.0, 1.0], ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure


def test_bad_input_is_named(data):
    X, _ = data
    with pytest.raises(ValueError, match="scores must hold 2 records"):
        ScoreHistogramDisplay.from_predictions([0, 1], [1.0, 2.0, 3.0])
    model = LogisticRegression().fit(X, np.arange(150) % 3)
    with pytest.raises(ValueError, match="must separate two classes, it has 3"):
        ReliabilityDisplay.from_estimator(model, X, np.arange(150) % 3)
    model = LogisticRegression().fit(X, np.arange(150) % 2)
    with pytest.raises(ValueError, match="pos_label='x' is not among"):
        ReliabilityDisplay.from_estimator(model, X, np.arange(150) % 2, pos_label="x")
