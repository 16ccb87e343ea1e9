from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from svmproba import RateFeatureSelector
from svmproba.solvers.constrained.floors import sample_floor

from .enumeration import cheapest, noisy

#: Seed, samples, columns, floors.
INSTANCES = [
    (0, 30, 4, (0.8, 0.8)),
    (1, 40, 6, (0.85, 0.75)),
    (2, 30, 8, (0.9, 0.7)),
    (3, 36, 10, (0.8, 0.8)),
    (4, 40, 12, (0.75, 0.8)),
    (5, 24, 12, (0.7, 0.9)),
    (6, 16, 5, (1.0, 1.0)),
]


@cache
def least_cost(seed, n, p, floors):
    return cheapest(*noisy(seed, n, p), floors)


@pytest.mark.parametrize("solver", ["search", "bb"])
@pytest.mark.parametrize(("seed", "n", "p", "floors"), INSTANCES)
def test_least_cost_is_that_of_enumeration(seed, n, p, floors, solver):
    X, positive = noisy(seed, n, p)
    least = least_cost(seed, n, p, floors)
    selector = RateFeatureSelector(*floors, solver=solver, random_state=0)
    if np.isinf(least):
        with pytest.raises(ValueError, match="No linear rule"):
            selector.fit(X, positive)
        return
    selector.fit(X, positive)
    assert selector.cost_ == selector.support_.sum() == least
    assert selector.bound_ <= least
    assert (selector.status_ == "optimal") == (selector.bound_ == least)


@pytest.mark.parametrize("solver", ["highs", "scip"])
@pytest.mark.parametrize(("seed", "n", "p", "floors"), INSTANCES[:4])
def test_other_solvers_agree(seed, n, p, floors, solver):
    if solver == "scip":
        pytest.importorskip("pyscipopt")
    X, positive = noisy(seed, n, p)
    selector = RateFeatureSelector(*floors, solver=solver, random_state=0).fit(X, positive)
    assert selector.cost_ == selector.bound_ == least_cost(seed, n, p, floors)
    assert selector.status_ == "optimal"


@pytest.mark.parametrize("seed", range(4))
def test_costs_and_groups_as_in_enumeration(seed):
    X, positive = noisy(seed, 36, 9)
    groups = [[0, 5], [1, 2, 7], [3], [4], [6], [8]]
    costs = np.random.default_rng(seed).integers(1, 6, len(groups)).astype(float)
    costs[0] += 0.5
    by_column = {columns[0]: cost for columns, cost in zip(groups, costs, strict=True)}
    floors = (0.8, 0.85)
    selector = RateFeatureSelector(
        *floors, costs=by_column, groups_of_columns=groups[:2], random_state=0
    ).fit(X, positive)
    assert selector.cost_ == pytest.approx(cheapest(X, positive, floors, groups, costs))
    assert selector.status_ == "optimal"
    for columns in groups:
        assert len({bool(selector.support_[k]) for k in columns}) == 1
    paid = sum(c for g, c in zip(groups, costs, strict=True) if selector.support_[g[0]])
    assert selector.cost_ == pytest.approx(paid)


@pytest.mark.parametrize("pos_label", ["no", "yes", None])
def test_the_rule_reaches_the_floors(table, pos_label):
    X, y = table
    selector = RateFeatureSelector(0.9, 0.8, pos_label=pos_label, random_state=0).fit(X, y)
    assert selector.pos_label_ == (pos_label or "yes")
    scores = X @ selector.coef_[0] + selector.intercept_[0]
    predicted = selector.classes_[(scores > 0).astype(int)]
    right = predicted == y
    positive = y == selector.pos_label_
    assert selector.rates_ == {
        "tpr": pytest.approx(right[positive].mean()),
        "tnr": pytest.approx(right[~positive].mean()),
    }
    # By margins of at least 1 too, and with the weights of scaled columns within their limit.
    with_margin = right & (np.abs(scores) >= 1 - 1e-5)
    assert with_margin[positive].mean() >= 0.9
    assert with_margin[~positive].mean() >= 0.8
    assert np.abs(selector.coef_[0] * X.std(axis=0)).max() <= 100 * (1 + 1e-9)
    assert not selector.coef_[0, ~selector.support_].any()


def test_units_of_the_columns_do_not_matter(table):
    X, y = table
    one = RateFeatureSelector(0.85, 0.85, random_state=0).fit(X, y)
    other = RateFeatureSelector(0.85, 0.85, random_state=0).fit(1e6 * X[:, ::-1] - 5, y)
    assert other.cost_ == one.cost_


def test_a_costly_column_is_replaced():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    good = y + 0.2 * rng.normal(size=200)
    X = np.column_stack([good, good + 0.01 * rng.normal(size=200), rng.normal(size=200)])
    assert RateFeatureSelector(0.9, 0.9, costs=[5, 1, 1], random_state=0).fit(X, y).support_[1]
    assert RateFeatureSelector(0.9, 0.9, costs={1: 5}, random_state=0).fit(X, y).support_[0]


def test_floors_of_zero_need_no_column(table):
    X, y = table
    selector = RateFeatureSelector(0.0, 1.0).fit(X, y)
    assert selector.cost_ == 0
    assert selector.status_ == "optimal"
    assert selector.rates_ == {"tpr": 0.0, "tnr": 1.0}
    with pytest.warns(UserWarning, match="No features were selected"):
        assert selector.transform(X).shape == (120, 0)


def test_confidence_raises_the_floors(table):
    X, y = table
    selector = RateFeatureSelector(0.8, 0.7, confidence=0.9, random_state=0).fit(X, y)
    assert selector.floors_["min_tpr"] > 0.8
    assert selector.rates_["tpr"] >= selector.floors_["min_tpr"]
    assert selector.rates_["tnr"] >= selector.floors_["min_tnr"] > 0.7


def test_a_floor_of_0_is_met_anyway(table):
    """It is not raised, and takes no share of the confidence."""
    X, y = table
    selector = RateFeatureSelector(0.8, 0.0, confidence=0.9, random_state=0).fit(X, y)
    assert selector.floors_["min_tnr"] == 0.0
    assert selector.floors_["min_tpr"] == sample_floor(0.8, int(np.sum(y == np.unique(y)[1])), 0.9)
    assert selector.cost_ == 0


def test_names_in_and_out():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    costs = {"worst perimeter": 3.0}
    selector = RateFeatureSelector(0.9, 0.9, pos_label=0, costs=costs, random_state=0).fit(X, y)
    names = list(selector.get_feature_names_out())
    assert names == list(X.columns[selector.support_])
    assert "worst perimeter" not in names
    out = selector.set_output(transform="pandas").transform(X)
    assert list(out.columns) == names
    pd.testing.assert_frame_equal(out, X[names])


def test_dummies_of_a_category_are_chosen_together():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue", "grey"], 300)
    X = pd.DataFrame({"colour": colour, "noise": rng.normal(size=300)})
    flip = rng.random(300) < 0.1
    y = np.isin(colour, ["red", "blue"]) ^ flip
    encoder = ColumnTransformer([("c", OneHotEncoder(sparse_output=False), ["colour"])],
                                remainder="passthrough").set_output(transform="pandas")  # fmt: skip
    dummies = encoder.fit_transform(X)
    group = [name for name in dummies.columns if name.startswith("c__colour")]
    selector = RateFeatureSelector(0.8, 0.8, groups_of_columns={"colour": group}, random_state=0)
    selector.fit(dummies, y)
    assert list(selector.get_feature_names_out()) == group
    assert selector.cost_ == 1
    assert selector.status_ == "optimal"


def test_in_a_pipeline_and_a_grid(table):
    X, y = table
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(8)])
    selector = RateFeatureSelector(min_tnr=0.9, random_state=0)
    model = make_pipeline(StandardScaler(), selector, LogisticRegression())
    grid = GridSearchCV(model, {"ratefeatureselector__min_tpr": [0.1, 0.9]}, cv=3).fit(frame, y)
    assert grid.best_score_ > 0.88
    assert grid.best_params_["ratefeatureselector__min_tpr"] == 0.9
    columns = ColumnTransformer([("few", selector, ["x0", "x1", "x2"])], remainder="drop")
    chosen = columns.fit(frame, y).get_feature_names_out()
    assert set(chosen) <= {"few__x0", "few__x1", "few__x2"}


def test_same_seed_same_selection(table):
    X, y = table
    one, other = (
        RateFeatureSelector(0.9, 0.9, n_bootstraps=8, n_jobs=n_jobs, random_state=3).fit(X, y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.selection_frequency_, other.selection_frequency_)


def test_frequencies_tell_signal_from_noise(table):
    X, y = table
    selector = RateFeatureSelector(0.9, 0.9, n_bootstraps=40, random_state=0).fit(X, y)
    frequency, (lower, upper) = selector.selection_frequency_, selector.selection_limits_
    assert selector.n_bags_ == 40
    assert frequency[:2].min() > 0.9
    assert frequency[2:].max() < 0.5
    assert ((lower <= frequency) & (frequency <= upper)).all()
    np.testing.assert_allclose(frequency * 40, np.rint(frequency * 40), atol=1e-9)
    assert not hasattr(RateFeatureSelector().fit(X, y), "selection_frequency_")


def test_bags_without_a_selection_are_told():
    # 20 samples of noise are separated by their own columns, not when some are drawn more often
    # together with their opposites.
    X = np.repeat([[0.0], [1.0], [2.0], [3.0]], 5, axis=0)
    y = np.array([0, 0, 0, 0, 1] * 2 + [1, 1, 1, 1, 0] * 2)
    with pytest.warns(UserWarning, match=r"In \d+ of 30 bags no rule was found"):
        selector = RateFeatureSelector(0.8, 0.8, n_bootstraps=30, random_state=0).fit(X, y)
    assert 0 < selector.n_bags_ < 30
    assert selector.selection_frequency_.tolist() == [1.0]


def refused(message, X, y, *floors, **parameters):
    with pytest.raises(ValueError, match=message):
        RateFeatureSelector(*floors, random_state=0, **parameters).fit(X, y)


def test_floors_out_of_reach_are_refused_with_the_best():
    X = np.arange(10.0)[:, None]
    y = np.array([0, 0, 0, 0, 1, 0, 1, 1, 1, 1])
    told = (
        r"No linear rule has a TPR of 1 and a TNR of 1 .* a TNR of 0.8 at this TPR, or a TPR of 0.8"
    )
    refused(told, X, y, 1.0, 1.0)
    refused(r"TPR of 1 and a TNR of 1 .* TNR of 0 at this TPR", np.ones((4, 2)), [0, 1, 0, 1], 1, 1)
    rng = np.random.default_rng(0)
    refused("No linear rule was found", rng.normal(size=(200, 12)), np.arange(200) % 2, 0.95, 0.95)
    same_means = np.array([0.0, 0.0, 0.0, 0.0, -1.0, -2.0, 0.0, -1.0])[:, np.newaxis]
    refused("No linear rule has", same_means, [1, 1, 0, 1, 1, 1, 1, 0], 0.6, 0.6)


@pytest.mark.parametrize(
    ("message", "parameters"),
    [
        ("costs must be None, a dict or one number for each of the 8 columns", {"costs": [1, 2]}),
        ("costs must be None, a dict or one number .*, got 3", {"costs": 3}),
        ("costs must be positive finite numbers, got -1", {"costs": [1] * 7 + [-1]}),
        ("costs must be positive finite numbers, got 0", {"costs": {3: 0}}),
        ("costs must be positive finite numbers, got nan", {"costs": {3: float("nan")}}),
        ("costs must be positive finite numbers, got 'x'", {"costs": {3: "x"}}),
        ("costs names the column 'age', which is not there: X has no", {"costs": {"age": 1}}),
        ("costs must name columns or give positions from 0 to 7, got 8", {"costs": {8: 1}}),
        ("equal for the columns of a group", {"costs": range(1, 9), "groups_of_columns": [[0, 1]]}),
        ("column 1 twice", {"groups_of_columns": [[0, 1], [1, 2]]}),
        ("no empty group", {"groups_of_columns": [[]]}),
        ("list of lists", {"groups_of_columns": [0, 1]}),
        ("list of lists", {"groups_of_columns": ["ab"]}),
        ("positions from 0 to 7, got -1", {"groups_of_columns": [[0, -1]]}),
        (r"min_tpr must be a number in \[0, 1\], got 1.5", {"min_tpr": 1.5}),
        (r"min_tnr must be a number in \[0, 1\], got None", {"min_tnr": None}),
        ("solver must be one of", {"solver": "cplex"}),
        ("max_weight must be", {"max_weight": 0}),
        ("time_limit must be", {"time_limit": -1}),
        ("confidence must be", {"confidence": 1}),
        ("n_bootstraps must be an integer >= 0", {"n_bootstraps": -1}),
        ("pos_label must be", {"pos_label": "maybe"}),
    ],
)
def test_bad_parameters_are_named(table, message, parameters):
    refused(message, *table, **parameters)


def test_unknown_names_are_told_with_the_known(table):
    X, y = table
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    refused("groups_of_columns names the column 'd', .* X has a, b, c", frame, y,
            groups_of_columns=[["a", "d"]])  # fmt: skip


def test_bad_tables(table):
    X, y = table
    hole = X.copy()
    hole[3, 2] = np.nan
    refused("contains NaN", hole, y)
    refused("one class only", X, np.zeros(120))
    refused("3 classes", X, np.arange(120) % 3)
    refused("no value above", 1e60 * X, y)
    refused("minimum of 2 is required", X[:1], y[:1])


def test_two_samples_and_constant_columns():
    X = np.array([[1.0, 5.0, 7.0], [1.0, 6.0, 7.0]])
    selector = RateFeatureSelector(1.0, 1.0).fit(X, [0, 1])
    assert selector.support_.tolist() == [False, True, False]
    assert selector.status_ == "optimal"
    # A constant whose mean is rounded.
    X = np.column_stack([np.full(60, 0.1), np.arange(60) % 2 + 0.0])
    selector = RateFeatureSelector(0.9, 0.9, costs=[1, 9]).fit(X, np.arange(60) % 2)
    assert selector.support_.tolist() == [False, True]


def test_weights_are_limited():
    """One column tells the classes apart by less than its weight may resolve."""
    X = np.r_[np.zeros(50), np.full(50, 1e-3), -10.0, 10.0][:, None]
    y = np.r_[np.zeros(50), np.ones(50), 0, 1]
    refused("No linear rule has", X, y, 0.9, 0.9)
    selector = RateFeatureSelector(0.9, 0.9, max_weight=1e4).fit(X, y)
    assert selector.rates_ == {"tpr": 1.0, "tnr": 1.0}
