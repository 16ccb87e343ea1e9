import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from svmproba import BootstrapSVC
from svmproba.bootstrap.threshold import RateCurve
from svmproba.evaluation import RateDisplay, ScoreHistogramDisplay, class_mse, rate_curve
from svmproba.evaluation._classifiers import rate_curve_on

pytestmark = pytest.mark.usefixtures("closed_figures")

FIELDS = ("tpr", "tnr", "mse_plus", "mse_minus")


def legend(display):
    box = display.ax_.get_legend()
    return box.get_title().get_text(), [text.get_text() for text in box.get_texts()]


@pytest.fixture(scope="module")
def members():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    return y, y - 0.5 + rng.normal(size=(25, 60))


@pytest.mark.parametrize("against", ["threshold", "tpr", "tnr"])
def test_the_curve_is_drawn(members, against):
    display = RateDisplay.from_predictions(*members, against=against)
    curve = rate_curve(*members)
    drawn = [field for field in FIELDS if field != against]
    assert list(display.lines_) == drawn
    for field in drawn:
        expected = np.c_[getattr(curve, against), getattr(curve, field)]
        np.testing.assert_array_equal(display.lines_[field].get_xydata(), expected)
    assert display.threshold_line_ is None
    title, texts = legend(display)
    assert title == ""
    columns = {
        "threshold": ["0", "TNR", "MSE", "1", "TPR", "MSE"],
        "tpr": ["0", "TNR", "MSE", "1", "MSE"],
        "tnr": ["1", "TPR", "MSE", "0", "MSE"],
    }
    assert texts == columns[against]
    names = {"threshold": "threshold of the score", "tpr": "TPR of 1", "tnr": "TNR of 0"}
    assert display.ax_.get_xlabel() == names[against]


def test_rates_have_exact_limits(members):
    y, scores = members
    display = RateDisplay.from_predictions(y, scores, confidence=0.8)
    positive, negative = (band.get_paths()[0].vertices[:, 1] for band in display.ax_.collections)
    for values, rate, n in ((positive, "tpr", sum(y == 1)), (negative, "tnr", sum(y == 0))):
        hits = np.rint(getattr(display.curve, rate) * n).astype(int)
        limits = [binomtest(k, n).proportion_ci(0.8, method="exact") for k in hits]
        assert np.isin(np.round(limits, 9), np.round(values, 9)).all()


def test_scores_without_members_have_no_errors():
    y, scores = [0, 0, 1, 1], [-2.0, 0.3, 0.1, 1.0]
    display = RateDisplay.from_predictions(
        y, scores, threshold=0.2, class_names=("stays", "leaves")
    )
    assert list(display.lines_) == ["tpr", "tnr"]
    title, texts = legend(display)
    assert title == "at threshold 0.2"
    assert texts[::2] == ["stays", "leaves"]


def test_the_axis_spans_the_steps_and_the_threshold():
    """From the second score on: at the first one all records are called alike."""
    y, scores = [0, 0, 1, 1], [-2.0, 0.3, 0.1, 1.0]
    spans = {None: (0.1, 1.0), 0.2: (0.1, 1.0), 9.0: (0.1, 9.0), -9.0: (-9.0, 1.0)}
    for threshold, (low, high) in spans.items():
        margin = 0.05 * (high - low)
        shown = RateDisplay.from_predictions(y, scores, threshold=threshold).ax_.get_xlim()
        assert shown == pytest.approx((low - margin, high + margin))


def test_the_threshold_is_marked(members):
    y, scores = members
    threshold = float(rate_curve(y, scores).threshold[20])
    display = RateDisplay.from_predictions(y, scores, threshold=threshold)
    assert list(display.threshold_line_.get_xdata()) == [threshold, threshold]
    share = (scores > threshold).mean(axis=0) + (scores == threshold).mean(axis=0) / 2
    tpr, tnr = np.mean(share[y == 1] >= 0.5), np.mean(share[y == 0] < 0.5)
    plus, minus = class_mse(y, share)
    assert [display.value_at_threshold(field) for field in FIELDS] == pytest.approx(
        [tpr, tnr, plus, minus]
    )
    expected = ["0", f"TNR {tnr:.3f}", f"MSE {minus:.3f}", "1", f"TPR {tpr:.3f}", f"MSE {plus:.3f}"]
    assert legend(display)[1] == expected
    against = RateDisplay.from_predictions(y, scores, threshold=threshold, against="tpr")
    assert against.threshold_line_.get_xdata()[0] == pytest.approx(tpr)
    assert legend(against)[0] == f"at TPR {tpr:.3g}"


def test_out_of_bag_curve_of_an_ensemble(ensemble):
    model = ensemble.with_rate(tpr=0.9)
    display = RateDisplay.from_estimator(model)
    assert display.value_at_threshold("tpr") == pytest.approx(model.oob_tpr_)
    assert display.value_at_threshold("tnr") == pytest.approx(model.oob_tnr_)
    assert display.threshold_line_.get_xdata()[0] == model.threshold_
    assert np.isin(model.rate_curve().threshold, display.curve.threshold).all()
    assert display.n_samples is None
    assert len(display.ax_.collections) == 0
    assert display.class_names == ("no", "yes")
    assert display.ax_.get_xlabel() == "threshold of the scores, out of bag"


def test_new_records_are_measured_as_the_estimator_predicts_them(new_data, ensemble):
    X, y = new_data
    for model in (ensemble, ensemble.with_rate(tpr=0.95), ensemble.with_rate(tnr=0.9)):
        display = RateDisplay.from_estimator(model, X, y)
        called = model.predict(X) == "yes"
        plus, minus = class_mse(y, model.predict_proba(X)[:, 1])
        assert [display.value_at_threshold(field) for field in FIELDS] == pytest.approx(
            [called[y == "yes"].mean(), 1 - called[y == "no"].mean(), plus, minus]
        )
        assert display.n_samples == (sum(y == "no"), sum(y == "yes"))
        assert len(display.ax_.collections) == 2


def test_calibrated_probabilities_stay(new_data, calibrated):
    X, y = new_data
    model = calibrated.with_rate(tpr=0.95)
    display = RateDisplay.from_estimator(model, X, y)
    assert display.threshold == model.proba_threshold_
    called, proba = model.predict(X) == "yes", model.predict_proba(X)[:, 1]
    assert display.value_at_threshold("tpr") == pytest.approx(called[y == "yes"].mean())
    assert display.value_at_threshold("tnr") == pytest.approx(1 - called[y == "no"].mean())
    plus, minus = class_mse(y, proba)
    assert (display.curve.mse_plus == plus).all()
    assert (display.curve.mse_minus == minus).all()
    label = display.ax_.get_xlabel().replace("\n", " ")
    assert label == "threshold of the probability, new samples"


def test_probabilities_at_a_threshold_are_not_above_it(new_data, calibrated):
    X, y = new_data
    proba = calibrated.predict_proba(X)[:, 1]
    thresholds = np.unique(proba)
    curve = rate_curve_on(calibrated, X, y == "yes", thresholds)
    np.testing.assert_allclose(
        curve.tpr, [np.mean(proba[y == "yes"] > threshold) for threshold in thresholds]
    )
    np.testing.assert_allclose(
        curve.tnr, [np.mean(proba[y == "no"] <= threshold) for threshold in thresholds]
    )


def test_class_of_interest_of_the_estimator(new_data, pipeline):
    X, y = new_data
    display = RateDisplay.from_estimator(pipeline, X, y)
    assert display.class_names == ("yes", "no")
    assert display.value_at_threshold("tpr") == pytest.approx(
        np.mean(pipeline.predict(X[y == "no"]) == "no")
    )


def test_thresholds_of_their_own_are_not_marked(ensemble):
    display = RateDisplay.from_estimator(ensemble.with_rate(tpr=0.9, per_theta=True))
    assert display.threshold is None
    assert display.threshold_line_ is None


def test_axis_shows_thresholds_at_exactly_one_percent():
    """Left out is what calls over 99 % of one class rightly, and under 1 % of the other."""
    tpr = np.array([1.0, 1.0, 0.99, 0.5, 0.01, 0.005, 0.0])
    tnr = np.array([0.0, 0.005, 0.005, 0.5, 0.999, 0.999, 1.0])
    unknown = np.full(7, np.nan)
    curve = RateCurve(np.arange(7.0), tpr, tnr, unknown, unknown)
    assert RateDisplay(curve).plot().ax_.get_xlim() == pytest.approx((2 - 0.1, 4 + 0.1))
    mirrored = RateCurve(np.arange(7.0), tnr[::-1], tpr[::-1], unknown, unknown)
    assert RateDisplay(mirrored).plot().ax_.get_xlim() == pytest.approx((2 - 0.1, 4 + 0.1))


def test_axis_shows_the_thresholds_that_matter():
    """One record in 150 lies far away: the axis follows the threshold, not that record."""
    rng = np.random.default_rng(0)
    y, scores = np.repeat([0, 1], 150), np.r_[rng.normal(-1, 1, 150), rng.normal(1, 1, 150)]
    scores[7], scores[200] = 500.0, -500.0
    low, high = RateDisplay.from_predictions(y, scores).ax_.get_xlim()
    assert -5 < low < -2
    assert 2 < high < 5
    assert RateDisplay.from_predictions(y, scores, threshold=9.0).ax_.get_xlim()[1] > 9


def test_bad_input_is_named(data, ensemble):
    X, y = data
    with pytest.raises(ValueError, match="against must be 'threshold', 'tpr' or 'tnr'"):
        RateDisplay.from_predictions([0, 1], [0.0, 1.0], against="fpr")
    with pytest.raises(ValueError, match="estimator must be a bootstrap ensemble"):
        RateDisplay.from_estimator(SVC().fit(X, y))
    with pytest.raises(ValueError, match="X and y must be given together"):
        RateDisplay.from_estimator(ensemble, X)


@pytest.mark.parametrize("wish", [{"guarantee": "jackknife+"}, {"common_threshold": False}])
def test_models_without_a_single_threshold(wish):
    X, y = make_classification(300, 5, random_state=0)
    by = {"by": X[:150, 0] > 0} if "common_threshold" in wish else {}
    model = BootstrapSVC([0.1, 1.0], n_bootstraps=40, random_state=0).fit(X[:150], y[:150])
    moved = model.with_rate(tpr=0.8, exceed=False, **by, **wish)
    assert RateDisplay.from_estimator(moved, X[150:], y[150:]).threshold is None
    with pytest.raises(ValueError, match="There is no single threshold"):
        ScoreHistogramDisplay.from_estimator(moved, X[150:], y[150:])


def test_a_probability_at_the_threshold_is_called():
    X, y = make_classification(300, 5, random_state=0, flip_y=0.2)
    X, new, y, y_new = X[:150], X[150:], y[:150], y[150:]
    model = BootstrapSVC([0.1, 1.0], n_bootstraps=40, calibration="isotonic", random_state=0)
    model.fit(X, y)
    sure = model.with_rate(tpr=0.8, guarantee="split", confidence=0.8, X=new, y=y_new)
    display = RateDisplay.from_estimator(sure, new, y_new)
    called = sure.predict(new) == 1
    assert display.value_at_threshold("tpr") == pytest.approx(called[y_new == 1].mean())
    assert display.value_at_threshold("tnr") == pytest.approx(1 - called[y_new == 0].mean())


def test_rates_of_a_class_are_those_at_its_threshold():
    X, y = make_classification(
        300, 6, n_informative=4, n_classes=4, n_clusters_per_class=1, class_sep=0.7, random_state=0
    )
    model = BootstrapSVC([0.1, 1.0], n_bootstraps=40, calibration="platt", random_state=0)
    model = model.fit(X[:240], y[:240]).with_rate(recall={3: 0.95})
    new, label = X[240:], y[240:] == 3
    display = RateDisplay.from_estimator(model, new, y[240:], pos_label=3)
    called = model.predict(new) == 3
    assert display.value_at_threshold("tpr") == pytest.approx(called[label].mean())
    assert display.value_at_threshold("tnr") == pytest.approx(1 - called[~label].mean())
    of_training = RateDisplay.from_estimator(model, pos_label=3)
    assert of_training.value_at_threshold("tpr") == pytest.approx(model.oob_recalls_[3])
