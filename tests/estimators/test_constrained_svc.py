"""`ConstrainedSVC` and `ConstrainedBootstrapSVC` (CEBB2)."""

from __future__ import annotations

import pickle
import warnings
from importlib.util import find_spec
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from svmproba import CEBB2, BootstrapSVC, ConstrainedBootstrapSVC, ConstrainedSVC
from svmproba.bootstrap.fitting import constrained_members
from svmproba.solvers.constrained.floors import sample_floor

SMALL = {"Cs": [0.05, 0.5], "n_bootstraps": 25, "random_state": 0}


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < n // 3).astype(int)
    return rng.normal(size=(n, 3)) + y[:, np.newaxis] * [1.2, 0.5, 0.0], y


@pytest.fixture(scope="module")
def data():
    return table()


@pytest.fixture(scope="module")
def wisconsin():
    X, y = load_breast_cancer(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(569)[:512]
    return scale(X[chosen]), 1 - y[chosen]


def margins(model, X, y):
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    return signs * model.decision_function(X)


def hinge_objective(model, X, y, weight=1.0):
    w = model.coef_[0]
    slack = np.maximum(0.0, 1.0 - margins(model, X, y))
    return 0.5 * w @ w + model.C * np.sum(weight * slack)


# One machine


@pytest.mark.parametrize(("C", "floor", "optimum"), [(2**-5, 0.97, 3.43244), (1.0, 0.97, 30.5267)])
def test_known_optima(wisconsin, C, floor, optimum):
    X, y = wisconsin
    model = ConstrainedSVC(C / 2, min_tpr=floor, solver="bb", random_state=0).fit(X, y)
    assert 2 * model.objective_ == pytest.approx(optimum, rel=1e-5)
    assert model.status_ == "optimal"
    assert model.optimality_gap_ <= 1e-6
    assert model.objective_ == pytest.approx(hinge_objective(model, X, y))


@pytest.mark.parametrize("floors", [{"min_tpr": 0.9}, {"min_tnr": 0.97}, {"min_accuracy": 0.7}])
@pytest.mark.parametrize("pos_label", [0, 1])
def test_floors_hold_by_margins(data, floors, pos_label):
    X, y = data
    model = ConstrainedSVC(0.1, **floors, pos_label=pos_label, effort="fast").fit(X, y)
    held = margins(model, X, y) >= 1
    assert np.array_equal(model.satisfied_, held)
    counted = {
        "min_tpr": held[y == pos_label].mean(),
        "min_tnr": held[y != pos_label].mean(),
        "min_accuracy": held.mean(),
    }
    (name,) = floors
    assert counted[name] >= floors[name]
    assert model.rates_[name.removeprefix("min_")] == pytest.approx(counted[name])
    assert model.bound_ <= model.objective_ == pytest.approx(hinge_objective(model, X, y))


def test_enumeration_of_all_choices():
    X, y = table(15, seed=3)
    C, need = 0.5, 4
    best = min(_hard(X, y, C, set(chosen)) for chosen in combinations(np.flatnonzero(y == 1), need))
    model = ConstrainedSVC(C, min_tpr=need / 5, solver="bb").fit(X, y)
    assert model.status_ == "optimal"
    assert model.objective_ == pytest.approx(best, rel=1e-3)


def _hard(X, y, C, chosen):
    """Objective where the chosen records must have their margin, by libsvm with large prices."""
    weight = np.where(np.isin(np.arange(len(y)), list(chosen)), 1e5, 1.0)
    model = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y, sample_weight=weight)
    slack = np.maximum(0.0, 1.0 - np.where(y == 1, 1, -1) * model.decision_function(X))
    free = [i for i in range(len(y)) if i not in chosen]
    return 0.5 * np.sum(model.coef_**2) + C * slack[free].sum()


def test_without_floors_or_with_slack_ones_it_is_the_svm(wisconsin):
    X, y = wisconsin
    twin = SVC(kernel="linear", C=0.5, tol=1e-8).fit(X, y)
    for floors in ({}, {"min_tpr": 0.5}):
        model = ConstrainedSVC(0.5, **floors).fit(X, y)
        assert model.status_ == "optimal"
        assert model.n_solves_ <= 1
        assert model.coef_ == pytest.approx(twin.coef_, abs=2e-3)


def test_objective_rises_with_the_floor_and_stays_below_the_constant_classifier(data):
    X, y = data
    values = [
        ConstrainedSVC(0.3, min_tpr=floor, random_state=0).fit(X, y).objective_
        for floor in (0.0, 0.5, 0.8, 0.95, 1.0)
    ]
    assert np.all(np.diff(values) >= -1e-6 * values[-1])
    assert values[-1] <= 2 * 0.3 * (y == 0).sum() * (1 + 1e-6)


def test_weights_are_multiplicities(data):
    X, y = data
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    weighted = ConstrainedSVC(0.2, min_tpr=0.9, solver="bb").fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    repeated = ConstrainedSVC(0.2, min_tpr=0.9, solver="bb").fit(X[rows], y[rows])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-5)
    assert not weighted.satisfied_[weight == 0].any()


def test_clashing_floors_name_the_best_second_rate(data):
    X, y = data
    with pytest.raises(
        ValueError, match=r"SVM.* has min_tpr=0.95 and min_tnr=0.99.* With min_tpr=0.95 .*is 0"
    ):
        ConstrainedSVC(1.0, min_tpr=0.95, min_tnr=0.99, effort="fast").fit(X[:, 2:], y)


def test_a_wrong_optimum_is_not_proven():
    """Seen as "optimal" with an objective of 2.044."""
    X, y = [[0], [0], [-1], [0], [-2], [-1]], [1, 1, 1, 0, 0, 0]
    model = ConstrainedSVC(C=0.011, min_accuracy=0.5, solver="bb", random_state=0).fit(X, y)
    assert model.status_ == "optimal"
    assert model.objective_ == pytest.approx(0.066, abs=1e-5)


def test_floors_that_can_be_had_do_not_clash():
    X, y = [[-0.1], [-0.55], [-1.2], [0.65], [-1.03]], [1, 1, 0, 0, 0]
    model = ConstrainedSVC(C=1.45, min_accuracy=0.7, random_state=0).fit(X, y)
    assert model.rates_["accuracy"] >= 0.7


@pytest.mark.parametrize("size", [1e-9, 1e-12, 1e-39])
def test_floors_hold_whatever_the_unit_of_the_weights(data, size):
    X, y = data
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    one, other = (
        ConstrainedSVC(0.1 / s, min_tpr=0.9, effort="fast", random_state=0).fit(
            X, y, sample_weight=s * weight
        )
        for s in (1.0, size)
    )
    assert other.rates_["tpr"] >= 0.9
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-6)


def test_badly_scaled_columns_are_solved_or_named():
    """No outcome is an internal error, a missed floor or a claim without its gap."""
    outcomes = set()
    for seed in range(24):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
        X[y == 1] += 1.0
        X *= 10.0 ** rng.uniform(-8, 8, 3)
        floors = ({"min_tpr": 0.8}, {"min_accuracy": 0.7}, {"min_tpr": 0.7, "min_tnr": 0.7})
        model = ConstrainedSVC(1.0, **floors[seed % 3], effort="fast", random_state=0)
        far = np.ptp(np.log10(np.abs(X - X.mean(0)).max(0))) >= 6
        refusal = ""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                model.fit(X, y)
            except ValueError as error:
                refusal = str(error)
        if refusal:
            assert ("scale X first" in refusal) == far
            assert "No SVM was found" in refusal
            outcomes.add("refused")
            continue
        rates = {f"min_{name}": rate for name, rate in model.rates_.items()}
        assert all(rates[name] >= floor for name, floor in floors[seed % 3].items())
        assert 0 <= model.optimality_gap_ <= 1
        assert (model.status_ == "optimal") == (model.optimality_gap_ <= 1e-6)
        told = any("scale X first" in str(w.message) for w in caught)
        assert told == (far and model.status_ != "optimal")
        outcomes.add("told" if told else model.status_)
    assert {"told", "feasible"} <= outcomes


@pytest.mark.parametrize("rule", ["exact", "hoeffding"])
@pytest.mark.parametrize("name", ["min_tpr", "min_tnr", "min_accuracy"])
def test_no_confidence_in_a_rate_of_1(data, name, rule):
    model = ConstrainedSVC(**{name: 1}, confidence=0.9, confidence_rule=rule)
    with pytest.raises(ValueError, match=f"{name}=1 cannot be combined with confidence=0.9: no"):
        model.fit(*data)
    with pytest.raises(ValueError, match=r"rate must be in \[0, 1\), got 1"):
        sample_floor(1.0, 200, 0.9, rule)


def test_confidence_raises_the_floor(data):
    X, y = data
    model = ConstrainedSVC(0.1, min_tpr=0.6, confidence=0.9, effort="fast").fit(X, y)
    assert model.floors_ == {"min_tpr": sample_floor(0.6, 20, 0.9)}
    assert model.rates_["tpr"] >= model.floors_["min_tpr"] > 0.6
    with pytest.raises(ValueError, match="needs at least 230 records"):
        ConstrainedSVC(min_tpr=0.99, confidence=0.9).fit(X, y)


def test_kernels(data):
    X, y = data
    K = rbf_kernel(X, gamma=0.5)
    one = ConstrainedSVC(1.0, min_tpr=0.9, kernel="rbf", gamma=0.5, random_state=0).fit(X, y)
    two = ConstrainedSVC(1.0, min_tpr=0.9, kernel="precomputed", random_state=0).fit(K, y)
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-3)
    assert one.decision_function(X) == pytest.approx(two.decision_function(K), abs=0.05)
    assert not hasattr(one, "coef_")


def test_scip_agrees(data):
    pytest.importorskip("pyscipopt")
    X, y = data
    ours = ConstrainedSVC(0.2, min_tpr=0.9, solver="bb").fit(X, y)
    theirs = ConstrainedSVC(0.2, min_tpr=0.9, solver="scip", effort="fast").fit(X, y)
    assert ours.status_ == theirs.status_ == "optimal"
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=1e-4)


@pytest.mark.parametrize("solver", ["gurobi", "cplex"])
def test_a_missing_solver_is_named(data, solver):
    package = {"gurobi": "gurobipy", "cplex": "cplex"}[solver]
    if find_spec(package) is not None:
        pytest.skip(f"{package} is installed")
    with pytest.raises(ImportError, match=f'pip install "{package}"'):
        ConstrainedSVC(min_tpr=0.9, solver=solver).fit(*data)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0}, "C must be positive, got 0"),
        ({"min_tpr": 1.2}, "min_tpr must be None or a number"),
        ({"solver": "highs"}, "solver must be one of 'search', 'bb'"),
        ({"effort": "lazy"}, "effort must be one of"),
        ({"bound": "none"}, "bound must be one of"),
        ({"solver": "bb", "bound": "none"}, "bound must be one of"),  # though not used
        ({"confidence": 2}, "confidence must be a number"),
        ({"time_limit": -1}, "time_limit must be"),
    ],
)
def test_bad_parameters(data, params, message):
    with pytest.raises(ValueError, match=message):
        ConstrainedSVC(**params).fit(*data)


# The ensemble


def test_without_a_floor_it_is_ebb_to_the_last_vote(data):
    X, y = data
    plain = BootstrapSVC(**SMALL).fit(X, y)
    model = ConstrainedBootstrapSVC(**SMALL).fit(X, y)
    assert CEBB2 is ConstrainedBootstrapSVC
    assert np.array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert np.array_equal(model.oob_proba_, plain.oob_proba_)
    assert np.array_equal(model.weights_, plain.weights_)


def test_every_member_keeps_the_floor_in_its_bag(data):
    X, y = data
    model = ConstrainedBootstrapSVC(0.9, **SMALL, effort="fast").fit(X, y)
    assert not model.replaced_.any()
    for k, row in enumerate(model.member_coef_):
        for b, w in enumerate(row):
            count = model.counts_[b] * (y == 1)
            held = X @ w + model.intercept_[k, b] >= 1
            assert (count * held).sum() >= np.ceil(0.9 * count.sum() - 1e-9)
    assert np.all((model.duality_gap_ >= 0) & (model.duality_gap_ < 1))
    scores = model.member_coef_ @ X.T + model.intercept_[:, :, np.newaxis]
    expected = model.weights_ @ (scores > 0).mean(axis=1)
    assert model.predict_proba(X)[:, 1] == pytest.approx(expected)
    left_out = model.counts_ == 0
    shares = ((scores > 0) * left_out).sum(axis=1) / left_out.sum(axis=0)
    assert model.oob_proba_[:, 1] == pytest.approx(model.weights_ @ shares)


def test_floors_at_once_equal_their_order(data):
    X, y = data
    floors = [{"min_tpr": 0.0}, {"min_tpr": 0.8}, {"min_tpr": 1.0}]
    model = ConstrainedBootstrapSVC(**SMALL)
    frame = pd.DataFrame(X, columns=list("abc"))
    found = model.fit_floors(frame, y, floors)
    assert not hasattr(model, "intercept_")
    assert [m.min_tpr for m in found] == [0.0, 0.8, 1.0]
    assert found[2].feature_names_in_.tolist() == list("abc")
    rising = [m.oob_proba_[y == 1, 1].mean() for m in found]
    assert rising[0] < rising[2]
    assert found[2].proven_.all()  # one convex problem each
    again = ConstrainedBootstrapSVC(1.0, **SMALL).fit(X, y)
    assert again.member_coef_ == pytest.approx(found[2].member_coef_, abs=1e-3)
    for wrong in ([], [{}], [{"tpr": 0.5}]):
        with pytest.raises(ValueError, match="floors must"):
            model.fit_floors(X, y, wrong)


def test_jobs_change_nothing_and_models_pickle(data):
    X, y = data
    one = ConstrainedBootstrapSVC(0.9, **SMALL, effort="fast").fit(X, y)
    two = clone(one).set_params(n_jobs=2).fit(X, y)
    assert np.array_equal(one.intercept_, two.intercept_)
    same = pickle.loads(pickle.dumps(one))
    assert np.array_equal(same.predict_proba(X), one.predict_proba(X))


def test_everything_else_works_as_in_ebb(data):
    X, y = data
    model = ConstrainedBootstrapSVC(0.9, **SMALL, effort="fast", calibration="platt").fit(X, y)
    assert model.with_rate(tpr=0.97).oob_tpr_ >= 0.97
    assert model.with_calibration(None).rate_curve().tpr[0] == 1
    assert model.predict_proba_interval(X[:3], kind="simulation").shape == (3, 2)
    assert set(model.decide(X, fn_cost=5.0)) <= {0, 1}
    assert f"{model.proven_.mean():.0%} proven optimal" in model.summary_
    middle = np.median(model.duality_gap_[~model.replaced_])
    assert f"median gap to the proven bound {middle:.2%}, 0 replaced" in model.summary_
    assert model.summary_ in model._repr_html_()


def test_clashing_floors_are_replaced_and_told(data):
    X, y = data
    model = ConstrainedBootstrapSVC(1.0, min_tnr=1.0, **SMALL, effort="fast")
    asked = r"no known feasible point with min_tpr=1 and min_tnr=1: .* They are \(C=.*, bag \d+\)"
    with pytest.warns(UserWarning, match=asked) as caught:
        model.fit(X, y)
    (theta, bag), told = np.argwhere(model.replaced_)[0], str(caught[0].message)
    assert f"(C={model.thetas_['C'][theta]:g}, bag {bag})" in told
    assert not np.isnan(model.duality_gap_).any()
    assert np.array_equal(np.isinf(model.duality_gap_), model.replaced_)
    assert not model.proven_[model.replaced_].any()
    assert "inf" not in model._summary()[0]
    plain = BootstrapSVC(**SMALL).fit(X, y)
    assert np.array_equal(model.intercept_[model.replaced_], plain.intercept_[model.replaced_])


def test_kernel_members(data):
    X, y = data
    model = ConstrainedBootstrapSVC(0.9, **SMALL, kernel="rbf", gammas=[0.2, 1.0], effort="fast")
    assert model.fit(X, y).thetas_.shape == (4,)
    assert (
        model.oob_tpr_ > BootstrapSVC(**SMALL, kernel="rbf", gammas=[0.2, 1.0]).fit(X, y).oob_tpr_
    )


@pytest.mark.parametrize("rule", ["exact", "hoeffding"])
def test_floors_share_the_confidence(data, rule):
    """Two floors at 90 %: each may fail with 5 %."""
    X, y = data
    model = ConstrainedSVC(
        0.1, min_tpr=0.5, min_tnr=0.4, confidence=0.9, confidence_rule=rule, effort="fast"
    ).fit(X, y)
    assert model.floors_ == {
        "min_tpr": pytest.approx(sample_floor(0.5, 20, 0.95, rule)),
        "min_tnr": pytest.approx(sample_floor(0.4, 40, 0.95, rule)),
    }
    assert model.floors_["min_tpr"] > sample_floor(0.5, 20, 0.9, rule)
    alone = model.set_params(min_tnr=0.0).fit(X, y)
    assert alone.floors_ == {"min_tpr": sample_floor(0.5, 20, 0.9, rule), "min_tnr": 0.0}


def test_doubtful_bags_are_warned_of_as_without_floors(data):
    few = {"Cs": [1.0], "n_bootstraps": 3, "random_state": 0}
    messages = []
    for model in (BootstrapSVC(**few), ConstrainedBootstrapSVC(0.8, effort="fast", **few)):
        with pytest.warns(UserWarning, match="samples are in every bag") as seen:
            model.fit(*data)
        messages.append([str(warning.message) for warning in seen])
    assert messages[0] == messages[1]


@pytest.mark.parametrize("floor", [None, 0.5])
def test_open_gaps_are_those_of_svms_without_floors(floor, data, monkeypatch):
    real = constrained_members.fit_ensemble

    def sloppy(*args, **kwargs):
        fit = real(*args, **kwargs)
        return fit._replace(gap=np.full_like(fit.gap, 0.5))

    monkeypatch.setattr(constrained_members, "fit_ensemble", sloppy)
    options = {"Cs": [1.0], "n_bootstraps": 20, "random_state": 0, "effort": "fast"}
    model = ConstrainedBootstrapSVC(floor, **options)
    if floor is None:
        with pytest.warns(ConvergenceWarning, match="20 of 20 SVMs did not reach"):
            model.fit(*data)
    else:
        model.fit(*data)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ConstrainedSVC(min_tpr=0.8, random_state=0),
        lambda: ConstrainedBootstrapSVC(0.8, Cs=1.0, n_bootstraps=3, random_state=0),
    ],
)
@pytest.mark.filterwarnings("ignore:.* samples are in every bag", "ignore:The vote shares of all")
def test_wide_sparse_rows_are_solved_as_dense_ones(make):
    """As many columns as samples are left, for the search as for penalties."""
    X = sparse.random(60, 7000, 0.01, random_state=0, format="csr")
    y = (np.asarray(X[:, :300].sum(axis=1)).ravel() > 0.8).astype(int)
    models = [make().fit(table, y) for table in (X, X.toarray())]
    for name in ("status_", "objective_"):
        if hasattr(models[0], name):
            found, expected = (getattr(model, name) for model in models)
            assert found == (expected if name == "status_" else pytest.approx(expected))
    P = [model.predict(X) for model in models]
    assert P[0].tolist() == P[1].tolist()
    maps = [vars(m).get("_feature_map") or m.ensemble_.members.feature_maps[0] for m in models]
    assert maps[0].width == maps[1].width == 60
