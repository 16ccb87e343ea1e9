from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.datasets import load_iris, make_classification
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from svmproba import BootstrapSVC, WeightedProbabilitySVC
from svmproba.links import couple


def table(n=100, d=3, seed=0):
    return make_classification(
        n, d, n_informative=2, n_redundant=0, flip_y=0.2, class_sep=0.6, random_state=seed
    )


def small(**params):
    return WeightedProbabilitySVC(**({"Cs": 1.0, "random_state": 0} | params))


@pytest.fixture(scope="module")
def data():
    return table()


@pytest.fixture(scope="module")
def new():
    return np.random.default_rng(1).normal(size=(60, 3))


# The method


def test_members_and_probabilities_by_libsvm(data, new):
    X, y = data
    model = small(tol=1e-7).fit(X, y)
    assert model.weights_ == pytest.approx(np.arange(1, 10) / 10)
    assert model.coef_.shape == (1, 9, 3)
    assert model.duality_gap_.max() <= 1e-7
    scores = []
    for weight in model.weights_:
        price = {1: 2 * (1 - weight), 0: 2 * weight}
        twin = SVC(kernel="linear", C=1.0, tol=1e-6, class_weight=price).fit(X, y)
        scores.append(twin.decision_function(new))
    np.testing.assert_allclose(model.member_scores(new).T, scores, atol=3e-3)
    for p, f in zip(model.predict_proba(new)[:, 1], np.array(scores).T, strict=True):
        if np.abs(f).min() > 0.01:  # no sign hangs on the solver
            plus = max([0.0, *model.weights_[f > 0]])
            minus = min([1.0, *model.weights_[f < 0]])
            assert p == pytest.approx((plus + minus) / 2)


def test_the_threshold_is_the_plain_svm(data, new):
    """One half is among the weights, so that no probability is one half where signs change once."""
    X, y = data
    model = small(tol=1e-6).fit(X, y)
    signs = np.sign(model.member_scores(new))
    once = np.all(np.diff(signs, axis=1) <= 0, axis=1)
    assert once.mean() > 0.8
    plain = SVC(kernel="linear", C=1.0).fit(X, y)
    sure = once & (np.abs(plain.decision_function(new)) > 0.01)
    assert np.array_equal(model.predict(new)[sure], plain.predict(new)[sure])


def test_readouts_agree_where_signs_change_once(data, new):
    X, y = data
    model, other = small().fit(X, y), small(readout="count").fit(X, y)
    once = np.all(np.diff(np.sign(model.member_scores(new)), axis=1) <= 0, axis=1)
    same = model.predict_proba(new) == other.predict_proba(new)
    assert same[once].all()


def test_given_weights(data, new):
    model = small(weights=[0.9, 0.1, 0.5, 0.5]).fit(*data)
    assert model.weights_.tolist() == [0.1, 0.5, 0.9]
    halves = {0.05, 0.3, 0.7, 0.95, 0.5}  # the last one where the signs are not in order
    assert set(model.predict_proba(new)[:, 1]) <= halves


def test_swapped_labels_swap_the_probabilities(data, new):
    X, y = data
    cv = list(StratifiedKFold(4).split(X, y))
    P = small(Cs=[0.1, 1.0], cv=cv, tol=1e-7).fit(X, y).predict_proba(new)
    swapped = small(Cs=[0.1, 1.0], cv=cv, tol=1e-7).fit(X, 1 - y).predict_proba(new)
    assert np.mean(np.abs(swapped - (1 - P)) < 1e-9) > 0.98  # signs near 0 depend on the solver
    named = small(Cs=[0.1, 1.0], cv=cv, tol=1e-7, pos_label=0).fit(X, y)
    assert np.mean(np.abs(named.predict_proba(new) - P) < 1e-9) > 0.98
    assert named.pos_label_ == 0


def test_held_out_measures_by_loop(data):
    X, y = data
    cv, Cs = list(StratifiedKFold(4).split(X, y)), [0.01, 0.1, 1.0]
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    params = {"weights": [0.2, 0.5, 0.8], "tol": 1e-7}
    model = small(Cs=Cs, cv=cv, **params).fit(X, y, weight)
    P = np.empty((3, len(y)))
    for c, C in enumerate(Cs):
        for train, test in cv:
            part = small(Cs=C, **params).fit(X[train], y[train], weight[train])
            P[c, test] = part.predict_proba(X[test])[:, 1]
    of_label = np.where(y == 1, P, 1 - P)
    expected = {
        "log_loss": np.average(-np.log(of_label), axis=1, weights=weight),
        "brier": np.average((1 - of_label) ** 2, axis=1, weights=weight),
        "accuracy": np.average((P >= 0.5) == (y == 1), axis=1, weights=weight),
    }
    for name, values in expected.items():
        assert model.cv_results_[name] == pytest.approx(values), name
        chosen = small(Cs=Cs, cv=cv, C_selection=name, **params).fit(X, y, weight)
        assert chosen.best_index_ == (values.argmax() if name == "accuracy" else values.argmin())
        assert chosen.cv_results_["C"][chosen.best_index_] == chosen.C_


def test_gamma_is_chosen_with_C():
    X = np.random.default_rng(0).normal(size=(120, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = small(kernel="rbf", gammas=[0.5, 1e-6], Cs=[0.1, 10.0]).fit(X, y)
    assert model.cv_results_["gamma"].tolist() == [1e-6, 1e-6, 0.5, 0.5]
    assert model.gamma_ == 0.5
    alone = small(kernel="rbf", gammas=0.5, Cs=model.C_).fit(X, y)
    assert np.array_equal(model.predict_proba(X), alone.predict_proba(X))


# What it guarantees


def draw(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    truth = expit(1.5 * X[:, 0] - X[:, 1] + 0.3)
    return X, (rng.random(n) < truth).astype(int), truth


def test_consistent_where_vote_shares_are_not():
    """With ten times the samples the squared distance from the truth falls to less than half."""
    new, _, truth = draw(1000, 99)
    errors = {"weighted": [], "votes": []}
    models = {
        "weighted": small(kernel="rbf", gammas=0.3, Cs=[0.5, 4.0], cv=3, weights=EVEN),
        "votes": BootstrapSVC([0.5, 4.0], n_bootstraps=40, random_state=0),
    }
    for n in (200, 2000):
        for name, model in models.items():
            P = [model.fit(*draw(n, seed)[:2]).predict_proba(new)[:, 1] for seed in range(3)]
            errors[name].append(np.mean((np.array(P) - truth) ** 2))
    assert errors["weighted"][1] < 0.5 * errors["weighted"][0]
    assert errors["votes"][1] > errors["votes"][0]
    assert errors["weighted"][1] < 0.05 * errors["votes"][1]


EVEN = np.arange(1, 20) / 20


def test_a_linear_kernel_leaves_a_small_error():
    """As the docstring says, even where the log odds are linear."""
    new, _, truth = draw(1000, 99)
    X, y, _ = draw(8000, 0)
    P = small(Cs=0.1, weights=EVEN).fit(X, y).predict_proba(new)[:, 1]
    assert 0.001 < np.mean((P - truth) ** 2) < 0.01


# Many classes


def test_many_classes_are_coupled():
    X, y = load_iris(return_X_y=True)
    model = small(weights=EVEN).fit(X, y)
    assert model.member_scores(X).shape == (150, 3, 19)
    r = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        pair = (y == a) | (y == b)
        r.append(small(weights=EVEN).fit(X[pair], y[pair]).predict_proba(X)[:, 0])
    P = model.predict_proba(X)
    np.testing.assert_allclose(P, couple(np.array(r).T))
    assert model.score(X, y) > 0.93


# Kinds of input


def test_sample_weight_is_repetition_and_zero_is_absence(data, new):
    X, y = data
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    model = small(weights=EVEN, tol=1e-7).fit(X, y, weight)
    repeated = small(weights=EVEN, tol=1e-7).fit(X.repeat(weight, 0), y.repeat(weight))
    assert model.coef_ == pytest.approx(repeated.coef_, abs=1e-3)
    gram = small(weights=EVEN, tol=1e-7, kernel="precomputed").fit(X @ X.T, y, weight)
    assert gram.member_scores(new @ X.T) == pytest.approx(model.member_scores(new), abs=2e-3)


def test_sparse_samples(data, new):
    X, y = data
    model, as_sparse = small(tol=1e-6).fit(X, y), small(tol=1e-6).fit(sparse.csr_array(X), y)
    scores = as_sparse.member_scores(sparse.csr_array(new))
    assert scores == pytest.approx(model.member_scores(new), abs=3e-3)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"weights": []}, r"weights must be .* non-empty list of numbers in \(0, 1\), got \[\]"),
        ({"weights": [0.5, 1.0]}, r"weights must be .* got \[0.5, 1.0\]"),
        ({"weights": "many"}, "weights must be .* got 'many'"),
        ({"weights": [np.nan]}, "weights must be"),
        ({"readout": "mean"}, "readout must be one of 'bracket', 'count', got 'mean'"),
        ({"C_selection": "auc"}, "C_selection must be one of 'log_loss', .* got 'auc'"),
    ],
)
def test_bad_parameters(data, params, message):
    with pytest.raises(ValueError, match=message):
        small(**params).fit(*data)
