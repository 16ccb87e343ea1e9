from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.preprocessing import scale

import svmproba
from svmproba import (
    BootstrapSVC,
    PosteriorProbabilitySVC,
    ProbabilitySVC,
    ThresholdBootstrapSVC,
    WeightedProbabilitySVC,
)


@pytest.fixture(scope="module")
def data():
    return make_classification(150, 4, flip_y=0.2, class_sep=0.6, random_state=0)


@pytest.fixture(scope="module")
def model(data):
    X, y = data
    labels = np.where(y == 1, "yes", "no")
    return BootstrapSVC(Cs=[0.1, 1.0], n_bootstraps=50, calibration="platt", random_state=0).fit(
        X, labels
    )


def test_logarithms_of_probabilities(data):
    X, y = data
    votes = BootstrapSVC([1.0], n_bootstraps=20, random_state=0).fit(X, y)
    for model in (votes, ProbabilitySVC(Cs=[1.0]).fit(X, y)):
        proba, logarithms = model.predict_proba(X), model.predict_log_proba(X)
        assert np.array_equal(np.exp(logarithms) > 0.0, proba > 0.0)
        np.testing.assert_allclose(np.exp(logarithms), proba, rtol=1e-12)
    assert (votes.predict_proba(X) == 0.0).any()  # minus infinity, without a warning


def test_decisions_have_the_least_expected_cost(model, data):
    X, _ = data
    rng = np.random.default_rng(0)
    costs = {
        "tp_cost": rng.normal(size=len(X)),
        "tn_cost": -0.3,
        "fn_cost": rng.random(len(X)) * 5,
        "fp_cost": 2.0,
    }
    labels, cost = model.decide(X, return_cost=True, **costs)
    P = model.predict_proba(X)[:, 1]
    table = np.array(
        [
            P * costs["fn_cost"] + (1 - P) * costs["tn_cost"],
            P * costs["tp_cost"] + (1 - P) * costs["fp_cost"],
        ]
    )
    assert cost == pytest.approx(table.min(axis=0))
    assert np.array_equal(labels, np.array(["no", "yes"])[table.argmin(axis=0)])
    assert np.array_equal(model.decide(X, **costs), labels)


def test_equal_costs_are_the_threshold_at_one_half(model, data):
    X, _ = data
    assert np.array_equal(model.decide(X), model.predict(X))
    assert np.array_equal(model.with_rate(tpr=0.99).decide(X), model.predict(X))


def test_a_tie_goes_to_the_class_of_interest(model, data, monkeypatch):
    X, _ = data
    P = np.tile([0.8, 0.2], (len(X), 1))
    monkeypatch.setattr(BootstrapSVC, "predict_proba", lambda self, X, by=None: P)
    tied = model.with_costs(fn_cost=4.0, fp_cost=1.0)
    for labels in (model.decide(X, fn_cost=4.0, fp_cost=1.0), tied.decide(X), tied.predict(X)):
        assert np.all(labels == "yes")


def test_vote_shares_are_warned_of(data):
    X, y = data
    votes = BootstrapSVC(Cs=1.0, n_bootstraps=20, random_state=0).fit(X, y)
    for call in (votes.decide, lambda X: votes.with_costs(fn_cost=2.0, fp_cost=1.0)):
        with pytest.warns(UserWarning, match="calibration='auto'") as caught:
            call(X)
        assert caught[0].filename == __file__


BAD = [
    ({"fp_cost": np.nan}, "fp_cost must be a finite number.*, got nan"),
    ({"fp_cost": "dear"}, "fp_cost must be a finite number.*, got 'dear'"),
    ({"fp_cost": [1.0, 2.0]}, r"fp_cost must be a finite number.*, got shape \(2,\)"),
    ({"fn_cost": np.inf}, "fn_cost must be a finite number.*, got inf"),
    ({"fn_cost": -1.0}, "fn_cost must not be negative, got -1; a gain is a negative cost"),
    ({"fp_cost": -0.5}, "fp_cost must not be negative, got -0.5"),
    ({"fn_cost": 0.0, "fp_cost": 0.0}, r"must cost more than right ones, .*got 0 \+ 0 and 0 \+ 0"),
    ({"tp_cost": 1.5, "tn_cost": 0.5}, r"got 1 \+ 1 and 1.5 \+ 0.5"),
]


@pytest.mark.parametrize(("costs", "message"), BAD)
def test_bad_costs_are_named(model, data, costs, message):
    given = {"fn_cost": 1.0, "fp_cost": 1.0} | costs
    for call in (lambda: model.decide(data[0], **costs), lambda: model.with_costs(**given)):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "fn_cost must be a finite number or 150 of them, got nan"),
        (-2.0, "fn_cost must not be negative, got -2"),
    ],
)
def test_bad_costs_of_one_record_are_named(model, data, value, message):
    costs = np.ones(150)
    costs[7] = value
    with pytest.raises(ValueError, match=message):
        model.decide(data[0], fn_cost=costs)
    with pytest.raises(ValueError, match=r"got 1 \+ 1 and 5 \+ 0 in place 7"):
        model.decide(data[0], tp_cost=np.where(np.isclose(costs, 1), 0, 5))
    with pytest.raises(ValueError, match=r"fn_cost must be a finite number, got shape \(150,\)"):
        model.with_costs(fn_cost=np.ones(150), fp_cost=1.0)


def test_a_record_whose_probability_does_not_matter(model, data):
    """An offer to a customer of no value costs the same, whoever leaves."""
    X, _ = data
    value = np.where(np.arange(150) % 2 == 0, 0.0, 90.0)
    labels = model.decide(X, fn_cost=value, tp_cost=20 + 0.6 * value, fp_cost=20.0)
    assert np.all(labels[::2] == "no")
    assert np.all(model.decide(X, fn_cost=value, fp_cost=value)[::2] == "yes")  # a tie


# Costs that belong to the model

X, y = load_breast_cancer(return_X_y=True)
X = scale(X[:, ::4])
SMALL = {"Cs": [0.1, 1.0], "random_state": 0}
MODELS = {
    "votes": BootstrapSVC(n_bootstraps=30, pos_label=0, **SMALL),
    "calibrated": BootstrapSVC(n_bootstraps=30, calibration="isotonic", pos_label=0, **SMALL),
    "rate": ThresholdBootstrapSVC(0.99, n_bootstraps=30, pos_label=0, **SMALL),
    "jackknife+": ThresholdBootstrapSVC(
        0.9, guarantee="jackknife+", n_bootstraps=30, pos_label=0, **SMALL
    ),
    "platt": ProbabilitySVC(pos_label=0, **SMALL),
    "isotonic": ProbabilitySVC("isotonic", **SMALL),
    "neighbours": PosteriorProbabilitySVC(neighbors=10, **SMALL),
    "weights": WeightedProbabilitySVC(pos_label=0, **SMALL),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    return clone(MODELS[request.param]).fit(X[::2], y[::2])


@pytest.mark.filterwarnings("ignore:Expected costs from vote shares")
@pytest.mark.parametrize("costs", [(9.0, 1.0, 0.0, 0.0), (1.0, 9.0, -2.0, 0.5)])
def test_predict_takes_the_cheaper_label(fitted, costs, tmp_path):
    named = dict(zip(("fn_cost", "fp_cost", "tp_cost", "tn_cost"), costs, strict=True))
    priced = fitted.with_costs(**named)
    P = priced.predict_proba(X)[:, 1 - (priced.pos_label_ == 0)]
    fn, fp, tp, tn = costs
    assert priced.proba_threshold_ == (fp - tn) / (fp - tn + fn - tp)
    labels, cost = priced.decide(X, return_cost=True)
    expected = np.array([P * fn + (1 - P) * tn, P * tp + (1 - P) * fp])
    np.testing.assert_allclose(cost, expected.min(axis=0), rtol=1e-12)
    assert labels.tolist() == priced.predict(X).tolist()
    assert (
        labels.tolist()
        == np.where(priced.proba_threshold_ <= P, priced.pos_label_, 1 - priced.pos_label_).tolist()
    )
    assert 0 < np.sum(labels == 0) < len(X)
    assert priced.costs_ == named
    svmproba.save(priced, tmp_path / "m.svmproba")
    loaded = svmproba.load(tmp_path / "m.svmproba")
    assert loaded.costs_ == named
    assert loaded.predict(X).tolist() == labels.tolist()
    assert loaded.decide(X).tolist() == labels.tolist()


def test_costs_of_vote_shares_are_warned_of():
    model = BootstrapSVC(1.0, n_bootstraps=20, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="Expected costs from vote shares"):
        model.decide(X, fn_cost=5.0)
    with pytest.warns(UserWarning, match="Expected costs from vote shares"):
        model.with_costs(fn_cost=5.0, fp_cost=1.0)
    model.with_calibration("platt").decide(X, fn_cost=5.0)


@pytest.mark.filterwarnings("ignore:Expected costs from vote shares")
def test_the_model_itself_and_a_new_fit_have_no_costs(fitted):
    before = fitted.predict(X)
    priced = fitted.with_costs(fn_cost=99.0, fp_cost=1.0)
    assert priced.predict(X).tolist() != before.tolist()
    assert fitted.costs_ is None
    assert fitted.predict(X).tolist() == before.tolist()
    again = priced.fit(X[::2], y[::2])
    assert again.costs_ is None
    assert again.predict(X).tolist() == before.tolist()


@pytest.mark.filterwarnings("ignore:Expected costs from vote shares")
def test_out_of_bag_rates_are_those_of_the_costs(fitted):
    if not hasattr(fitted, "oob_tpr_"):
        pytest.skip("no out-of-bag figures")
    priced = fitted.with_costs(fn_cost=4.0, fp_cost=1.0)
    P, sick = priced.oob_proba_[:, 0], y[::2] == 0
    assert priced.oob_tpr_ == np.mean(P[sick] >= 0.2)
    assert priced.oob_tnr_ == np.mean(P[~sick] < 0.2)
    assert priced.oob_score_ == np.mean((P >= 0.2) == sick)
    assert priced.guarantee_.startswith("No guarantee")


def test_the_last_rule_decides(model, data):
    X, _ = data
    costs = {"fn_cost": 7.0, "fp_cost": 1.0}
    priced, wary = model.with_costs(**costs), model.with_rate(tpr=0.95)
    assert wary.with_costs(**costs).predict(X).tolist() == priced.predict(X).tolist()
    assert wary.with_costs(**costs).guarantee_ == priced.guarantee_
    back = priced.with_rate(tpr=0.95)
    assert (back.costs_, back.proba_threshold_, back.guarantee_) == (
        None,
        wary.proba_threshold_,
        wary.guarantee_,
    )
    other = priced.with_calibration("platt")
    assert (other.costs_, other.proba_threshold_) == (None, 0.5)


@pytest.mark.filterwarnings("ignore:Expected costs from vote shares")
@pytest.mark.parametrize("wish", [{"tpr": 0.97}, {"tnr": 0.9, "guarantee": "jackknife+"}])
@pytest.mark.parametrize("calibration", [None, "platt"])
def test_a_rate_has_no_part_in_decisions_by_cost(model, data, wish, calibration):
    X, _ = data
    free = model.with_calibration(calibration)
    wary, costs = free.with_rate(**wish), {"fn_cost": 3.0, "fp_cost": 1.0}
    assert wary.decide(X, **costs).tolist() == free.decide(X, **costs).tolist()
    assert wary.decide(X, **costs).tolist() == wary.with_costs(**costs).predict(X).tolist()


def test_costs_of_a_record_go_with_those_of_the_model(model, data):
    X, _ = data
    amount = np.linspace(1, 20, len(X))
    priced = model.with_costs(fn_cost=5.0, fp_cost=3.0, tp_cost=-1.0)
    expected = model.decide(X, fn_cost=amount, fp_cost=3.0, tp_cost=-1.0)
    assert priced.decide(X, fn_cost=amount).tolist() == expected.tolist()


def test_more_classes_have_no_false_alarms():
    rows, species = load_iris(return_X_y=True)
    model = ProbabilitySVC(Cs=1.0).fit(rows, species)
    with pytest.raises(ValueError, match="need two classes, got 3"):
        model.with_costs(fn_cost=1.0, fp_cost=1.0)
