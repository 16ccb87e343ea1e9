"""Displays of one of several classes against the rest."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import recall_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from svmproba import BootstrapSVC
from svmproba.evaluation import (
    CostCurveDisplay,
    RateDisplay,
    ReliabilityDisplay,
    ScoreHistogramDisplay,
    VoteHistogramDisplay,
    cost_scorer,
    mse,
)

CLASSES = np.array(["barolo", "grignolino", "barbera"])


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def wines():
    """Training samples and new ones; three columns, so that the classes overlap."""
    X, y = load_wine(return_X_y=True)
    X, y = X[:, [1, 4, 10]], CLASSES[y]
    return X[::2], y[::2], X[1::2], y[1::2]


@pytest.fixture(scope="module")
def votes(wines):
    svm = BootstrapSVC([0.1, 1.0], n_bootstraps=40, random_state=0)
    return make_pipeline(StandardScaler(), svm).fit(*wines[:2])


@pytest.fixture(scope="module")
def models(votes):
    """Models with every kind of decision, by name."""
    scaler, svm = votes[0], votes[1]
    calibrated = svm.with_calibration("platt")
    costs = np.array([[0, 1, 5], [1, 0, 1], [3, 1, -1]])
    made = {
        "votes": svm,
        "votes, moved": svm.with_rate(recall={"grignolino": 0.7, "barolo": 0.7}),
        "calibrated": calibrated,
        "calibrated, moved": calibrated.with_rate(recall={"grignolino": 0.9}),
        "costs": calibrated.with_costs(cost_matrix=costs),
    }
    return {name: make_pipeline(scaler, model) for name, model in made.items()}


KINDS = ["votes", "votes, moved", "calibrated", "calibrated, moved", "costs"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("label", CLASSES)
def test_score_histograms_call_what_predict_calls(models, wines, kind, label):
    _, _, X, y = wines
    display = ScoreHistogramDisplay.from_estimator(models[kind], X, y, pos_label=label)
    called, positive = models[kind].predict(X) == label, y == label
    tpr, tnr = display.rates
    assert tpr == pytest.approx(np.mean(called[positive]))
    assert tnr == pytest.approx(np.mean(~called[~positive]))
    assert display.class_names == ("other classes", label)
    assert label in display.score_name


def test_other_classifiers_are_read_by_scores_or_probabilities(wines):
    X, y = wines[:2]
    for model in (LinearSVC(random_state=0), LogisticRegression(max_iter=1000)):
        display = ScoreHistogramDisplay.from_estimator(model.fit(X, y), X, y, pos_label="barbera")
        called = model.predict(X)
        assert display.rates[0] == pytest.approx(
            recall_score(y, called, labels=["barbera"], average=None)[0]
        )


def sole_calls(svm, X, place):
    """Share of the bags (n,) in which a class wins more pairs than any other, at the best C."""
    best = int(np.argmax(svm.reliability_))
    scores = np.concatenate([s[:, best] for _, s in svm.member_scores(X)], axis=-1)
    wins = np.zeros((3, *scores.shape[1:]))
    for (first, second), score in zip(svm.pairs_, scores, strict=True):
        moved = score + svm.class_shifts_[second] - svm.class_shifts_[first]
        wins[second] += moved > 0
        wins[first] += moved < 0
    return np.mean(wins[place] > np.delete(wins, place, axis=0).max(axis=0), axis=0)


@pytest.mark.parametrize("kind", ["votes", "votes, moved"])
def test_members_vote_for_a_class_above_its_threshold(models, wines, kind):
    _, _, X, y = wines
    model = models[kind]
    for place, label in enumerate(model.classes_):
        calls = sole_calls(model[-1], model[:-1].transform(X), place)
        display = VoteHistogramDisplay.from_estimator(model, X[:1], pos_label=label)
        assert display.share == pytest.approx(calls[0])
        assert display.class_names == ("other classes", label)
        histogram = ScoreHistogramDisplay.from_estimator(model, X, y, members=True, pos_label=label)
        assert histogram.counted == "votes"
        assert histogram.rates[0] == pytest.approx(calls[y == label].mean())


@pytest.mark.parametrize("kind", KINDS)
def test_rates_of_a_class_against_the_rest(models, wines, kind):
    _, _, X, y = wines
    model, label = models[kind], "grignolino"
    inside = RateDisplay.from_estimator(model, pos_label=label)
    np.testing.assert_array_equal(inside.curve.tpr, model[-1].rate_curve(label).tpr)
    outside = RateDisplay.from_estimator(model, X, y, pos_label=label)
    assert outside.class_names == ("other classes", label)
    assert outside.n_samples == (np.sum(y != label), np.sum(y == label))
    if kind == "costs":
        assert outside.threshold is None
        return
    # Where a class is above its threshold it is called, and for probabilities also the reverse.
    called, positive = model.predict(X) == label, y == label
    place = np.searchsorted(outside.curve.threshold, outside.threshold)
    steps = outside.curve.tpr[max(place - 1, 0) : place + 1]
    tpr = np.mean(called[positive])
    if kind.startswith("votes"):
        assert steps.min() <= tpr
    else:
        assert steps.min() - 1e-12 <= tpr <= steps.max() + 1e-12
    if "moved" in kind:
        assert model[-1].oob_recalls_[list(model.classes_).index(label)] >= 0.7


def test_reliability_and_costs_take_one_column(votes, wines):
    _, _, X, y = wines
    P, label = votes.predict_proba(X), "barbera"
    place = votes.classes_.tolist().index(label)
    display = ReliabilityDisplay.from_estimator(votes, X, y, pos_label=label)
    twin = CalibrationDisplay.from_predictions(y == label, P[:, place], n_bins=10)
    np.testing.assert_allclose(display.curve.observed, twin.prob_true)
    np.testing.assert_allclose(display.curve.mean_predicted, twin.prob_pred)
    cost = CostCurveDisplay.from_estimator(votes, X, y, pos_label=label, fn_cost=3.0)
    own = CostCurveDisplay.from_predictions(y == label, P[:, place], fn_cost=3.0)
    np.testing.assert_array_equal(cost.curve.cost, own.curve.cost)
    assert mse(y, P[:, place], pos_label=label) == mse(y == label, P[:, place])


@pytest.mark.parametrize(
    "draw",
    [
        lambda model, X, y, **more: ReliabilityDisplay.from_estimator(model, X, y, **more),
        lambda model, X, y, **more: ScoreHistogramDisplay.from_estimator(model, X, y, **more),
        lambda model, X, y, **more: VoteHistogramDisplay.from_estimator(model, X[:1], **more),
        lambda model, X, y, **more: RateDisplay.from_estimator(model, X, y, **more),
        lambda model, X, y, **more: CostCurveDisplay.from_estimator(model, X, y, **more),
    ],
)
def test_a_class_must_be_named(votes, wines, draw):
    _, _, X, y = wines
    with pytest.raises(ValueError, match="estimator has 3 classes: pos_label must name one of"):
        draw(votes, X, y)
    with pytest.raises(ValueError, match="pos_label='chianti' is not among"):
        draw(votes, X, y, pos_label="chianti")


def test_two_classes_only(votes, wines):
    with pytest.raises(ValueError, match="cost_scorer needs two classes, the estimator has 3"):
        cost_scorer()(votes, *wines[2:])
    X, y = wines[0], wines[1] == "barolo"
    model = BootstrapSVC(1.0, n_bootstraps=30, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="pos_label must be None or the class of interest True"):
        RateDisplay.from_estimator(model, pos_label=False)
