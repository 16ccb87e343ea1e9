import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from svmproba.evaluation import CostCurveDisplay, cost_curve, mean_cost, optimal_threshold

pytestmark = pytest.mark.usefixtures("closed_figures")


def texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


@pytest.fixture
def predicted():
    rng = np.random.default_rng(0)
    p = np.round(rng.random(100), 2)
    return (rng.random(100) < p).astype(int), p


def test_the_curve_is_drawn(predicted):
    y, p = predicted
    display = CostCurveDisplay.from_predictions(y, p, fn_cost=4, tp_cost=0.5)
    curve = cost_curve(y, p, fn_cost=4, tp_cost=0.5)
    x, drawn = display.line_.get_data()
    np.testing.assert_array_equal(drawn[1:], curve.cost)
    np.testing.assert_array_equal(x[1:-1], curve.threshold[:-1])
    assert (x[0], x[-1]) == (0, 1)
    assert display.line_.get_drawstyle() == "steps-pre"
    assert display.ax_.get_xlabel() == "threshold of the probability of 1"
    for threshold in (0.0, 0.123, 0.5, 1.0):
        expected = mean_cost(y, (p >= threshold).astype(int), fn_cost=4, tp_cost=0.5)
        assert display.cost_at(threshold) == pytest.approx(expected)


@pytest.mark.parametrize("y", [[0, 0, 1], [1, 1, 0], [0, 1, 0]])
@pytest.mark.parametrize("costs", [{"fp_cost": 5}, {"fn_cost": 5}])
def test_the_cheapest_threshold_costs_what_it_says(y, costs):
    display = CostCurveDisplay.from_predictions(y, [1.0, 1.0, 0.0], **costs)
    threshold, cost = display.cheapest
    assert display.cost_at(threshold) == cost == display.curve.cost.min()


def test_thresholds_are_marked(predicted):
    y, p = predicted
    display = CostCurveDisplay.from_predictions(y, p, fn_cost=4)
    threshold, cost = display.cheapest
    assert cost == display.curve.cost.min() == pytest.approx(display.cost_at(threshold))
    assert display.cheapest_.get_xydata().tolist() == [[threshold, cost]]
    assert display.optimal_threshold == optimal_threshold(fn_cost=4) == 0.2
    assert display.optimal_.get_xydata().tolist() == [[0.2, display.cost_at(0.2)]]
    assert texts(display) == [
        "mean cost",
        f"cheapest threshold {threshold:.2f}: {cost:.3g}",
        f"optimal threshold by the costs 0.20: {display.cost_at(0.2):.3g}",
        f"all called positive: {np.mean(y == 0):.3g}",
        f"none called positive: {4 * np.mean(y == 1):.3g}",
    ]


def test_cheapest_threshold_at_the_ends():
    every = CostCurveDisplay.from_predictions([1, 1, 0], [0.2, 0.6, 0.4], fn_cost=9)
    assert every.cheapest == (0.1, pytest.approx(1 / 3))
    nobody = CostCurveDisplay.from_predictions([1, 0, 0], [0.2, 0.6, 0.4], fp_cost=9)
    assert nobody.cheapest == (0.8, pytest.approx(1 / 3))


def test_costs_that_differ_between_records(predicted):
    y, p = predicted
    fn_cost = np.random.default_rng(1).exponential(5, size=100)
    display = CostCurveDisplay.from_predictions(y, p, fn_cost=fn_cost)
    assert display.optimal_threshold is None
    called = (p * fn_cost >= 1 - p).astype(int)
    expected = mean_cost(y, called, fn_cost=fn_cost)
    assert display.cost_by_sample == pytest.approx(expected)
    assert display.optimal_.get_ydata()[0] == pytest.approx(expected)
    assert f"each sample by its own costs: {expected:.3g}" in texts(display)


def test_displays_share_axes(data):
    X, y = data
    model = LogisticRegression().fit(X, y)
    first = CostCurveDisplay.from_estimator(model, X, y, fn_cost=2, pos_label="no")
    second = CostCurveDisplay.from_estimator(
        model, X, y, fn_cost=2, pos_label="no", name="again", ax=first.ax_, color="black"
    )
    np.testing.assert_array_equal(first.curve.cost, second.curve.cost)
    proba = model.predict_proba(X)[:, 0]
    np.testing.assert_allclose(first.curve, cost_curve(y, proba, fn_cost=2, pos_label="no"))
    written = texts(second)
    assert (written[0], written[3]) == ("LogisticRegression", "again")
    assert [text.split(":")[0] for text in written[-2:]] == [
        "all called positive",
        "none called positive",
    ]
    assert len(written) == 8


def test_rule_beyond_all_probabilities_is_told_too():
    display = CostCurveDisplay.from_predictions([0, 1], [0.3, 0.6], fp_cost=0, tn_cost=1, fn_cost=3)
    assert display.optimal_threshold < 0
    assert display.cost_at(display.optimal_threshold) == display.curve.cost[0]


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="wrong calls must cost more"):
        CostCurveDisplay.from_predictions([0, 1], [0.3, 0.6], fp_cost=0, fn_cost=0)
    with pytest.raises(ValueError, match="fp_cost must be a finite number or 2"):
        CostCurveDisplay.from_predictions([0, 1], [0.3, 0.6], fp_cost=[1, 2, 3])


def test_baselines_are_drawn_once_on_shared_axes(predicted):
    y, p = predicted
    first = CostCurveDisplay.from_predictions(y, p, fn_cost=4, name="one")
    before = [line.get_label() for line in first.ax_.lines]
    CostCurveDisplay.from_predictions(y, p**2, fn_cost=4, name="two", ax=first.ax_)
    after = [line.get_label() for line in first.ax_.lines]
    repeated = [label for label in after if after.count(label) > 1 and not label.startswith("_")]
    assert repeated == []
    assert len(set(after) & set(before)) >= 2
