from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from svmproba import PosteriorProbabilitySVC
from svmproba.links import couple


def table(n=80, d=3, seed=0):
    return make_classification(
        n, d, n_informative=2, n_redundant=0, flip_y=0.2, class_sep=0.6, random_state=seed
    )


def small(**params):
    return PosteriorProbabilitySVC(**({"radius": 0.8, "Cs": 1.0, "random_state": 0} | params))


@pytest.fixture(scope="module")
def data():
    return table()


@pytest.fixture(scope="module")
def new():
    return np.random.default_rng(1).normal(size=(50, 3))


READOUTS = ["window", "score"]
NEAR = [{"radius": 0.8}, {"neighbors": 7}]


# Soft labels and reductions


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_radius_zero_without_duplicates_is_the_svm(data, new, C):
    X, y = data
    model = small(radius=0.0, Cs=C, tol=1e-7).fit(X, y)
    twin = SVC(kernel="linear", C=C, tol=1e-6).fit(X, y)
    assert np.array_equal(model.soft_labels_[0], np.where(y == 1, 1.0, -1.0))
    assert model.member_scores(new) == pytest.approx(twin.decision_function(new), abs=2e-3)
    assert np.array_equal(model.predict_proba(new)[:, 1], twin.predict(new))


def test_one_neighbour_is_the_svm_too(data, new):
    X, y = data
    model, twin = small(neighbors=1).fit(X, y), small(radius=0.0).fit(X, y)
    assert np.array_equal(model.predict_proba(new), twin.predict_proba(new))


def test_equal_samples_with_opposite_labels_are_dropped(data, new):
    X, y = data
    rows, labels = np.vstack([X, X[:10]]), np.concatenate([y, 1 - y[:10]])
    model = small(radius=0.0, readout="score", tol=1e-7).fit(rows, labels)
    assert np.all(model.soft_labels_[0, :10] == 0)
    assert np.all(model.soft_labels_[0, 80:] == 0)
    rest = small(radius=0.0, readout="score", tol=1e-7).fit(X[10:], y[10:])
    assert model.predict_proba(new) == pytest.approx(rest.predict_proba(new), abs=1e-3)
    # In the window all of them are counted: two neighbours and the sample itself.
    window = small(radius=0.0).fit(rows, labels).predict_proba(X[:10])[:, 1]
    assert set(window.round(6)) <= {0.333333, 0.666667}


def test_a_large_radius_gives_the_constant_classifier(data, new):
    X, y = data
    y = np.where(np.arange(80) < 20, 1, y)
    rate = y.mean()
    model = small(radius=1e3, readout="score").fit(X, y)
    assert np.all(model.coef_ == 0)
    assert model.intercept_ == pytest.approx([2 * rate - 1])
    assert model.predict_proba(new)[:, 1] == pytest.approx(np.full(50, rate))
    window = small(radius=1e3).fit(X, y).predict_proba(new)[:, 1]
    assert window == pytest.approx(np.full(50, (y.sum() + 1) / 81))


def test_all_soft_labels_zero():
    X, y = np.zeros((10, 2)), np.arange(10) % 2
    for readout in READOUTS:
        P = small(readout=readout).fit(X, y).predict_proba(np.ones((3, 2)))
        np.testing.assert_allclose(P, 0.5)


@pytest.mark.parametrize("near", NEAR)
@pytest.mark.parametrize("readout", READOUTS)
def test_swapped_labels_swap_the_probabilities(data, new, near, readout):
    X, y = data
    P = small(readout=readout, tol=1e-6, **near).fit(X, y).predict_proba(new)
    swapped = small(readout=readout, tol=1e-6, **near).fit(X, 1 - y).predict_proba(new)
    assert swapped == pytest.approx(1 - P, abs=1e-3 if readout == "score" else 1e-12)
    named = small(readout=readout, tol=1e-6, pos_label=0, **near).fit(X, y)
    assert named.pos_label_ == 0
    assert named.predict_proba(new) == pytest.approx(P, abs=1e-3 if readout == "score" else 1e-12)


# Read-offs


def test_window_by_loop(data, new):
    X, y = data
    model = small().fit(X, y)
    f = new @ model.coef_[0] + model.intercept_[0]
    for x, score, p in zip(new, f, model.predict_proba(new)[:, 1], strict=True):
        near = ((X - x) ** 2).sum(axis=1) <= 0.8**2 + 1e-12
        assert p == pytest.approx((y[near].sum() + (score > 0)) / (near.sum() + 1), abs=1e-12)


def test_nearest_neighbours_by_loop(data, new):
    X, y = data
    model = small(neighbors=7).fit(X, y)
    for i, x in enumerate(X):
        seven = np.argsort(((X - x) ** 2).sum(axis=1), kind="stable")[:7]
        assert model.soft_labels_[0, i] == pytest.approx(2 * y[seven].mean() - 1)
    f = new @ model.coef_[0] + model.intercept_[0]
    for x, score, p in zip(new, f, model.predict_proba(new)[:, 1], strict=True):
        six = np.argsort(((X - x) ** 2).sum(axis=1))[:6]
        assert p == pytest.approx((y[six].sum() + (score > 0)) / 7, abs=1e-12)


def test_score_is_clipped(data, new):
    model = small(readout="score").fit(*data)
    f = 5 * new @ model.coef_[0] + model.intercept_[0]
    P = model.predict_proba(5 * new)[:, 1]
    np.testing.assert_allclose(P, np.clip((f + 1) / 2, 0, 1), atol=1e-12)
    assert P.min() == 0
    assert P.max() == 1


def test_window_by_hand():
    X = np.array([[-3.0], [-2.0], [-1.0], [1.0], [2.0], [3.0]])
    y = np.array([0, 0, 0, 1, 1, 1])
    new = np.array([[-0.6], [-0.4], [0.4]])
    # Near the first are -3, -2, -1 and 1; near the others -2, -1, 1 and 2.
    P = small(radius=2.5, Cs=10.0).fit(X, y).predict_proba(new)[:, 1]
    np.testing.assert_allclose(P, [1 / 5, 2 / 5, 3 / 5])
    # Three others and the sample itself; 0.9 has 1, 2 and -1.
    P = small(neighbors=4, Cs=10.0).fit(X, y).predict_proba(np.array([[-0.9], [0.9]]))[:, 1]
    np.testing.assert_allclose(P, [1 / 4, 3 / 4])


def test_a_tie_is_next_to_one_half():
    X = np.array([[-1.0], [1.0], [-4.0], [4.0]])
    y = np.array([0, 1, 0, 1])
    model = small(neighbors=2, Cs=10.0).fit(X, y)
    new = np.array([[-3.0], [3.0]])
    model._kinds = model._kinds[:, ::-1]  # now neighbours contradict the SVM
    P = model.predict_proba(new)
    np.testing.assert_allclose(P, 0.5, atol=1e-15)
    assert model.predict(new).tolist() == P.argmax(axis=1).tolist() == [0, 1]


# The choice of C


@pytest.mark.parametrize("near", [*NEAR, {"radius": 0.0}])
def test_cross_validation_counts_neighbours_within_the_training_part(data, near):
    X, y = data
    splits = list(StratifiedKFold(4).split(X, y))
    Cs = [0.1, 1.0, 10.0]  # below, the bias of hard labels is not unique
    near = {**near, "tol": 1e-6}
    model = small(Cs=Cs, cv=splits, **near).fit(X, y)
    accuracy = []
    for C in Cs:
        right = 0
        for train, test in splits:
            f = small(Cs=C, **near).fit(X[train], y[train]).member_scores(X[test])
            right += ((f > 0) == (y[test] == 1)).sum()
        accuracy.append(right / len(y))
    assert model.cv_results_["accuracy"] == pytest.approx(accuracy)
    assert model.best_index_ == np.argmax(accuracy)
    assert model.cv_results_["C"][model.best_index_] == model.C_
    chosen = small(Cs=model.C_, **near).fit(X, y)
    assert model.coef_ == pytest.approx(chosen.coef_, abs=1e-3)


def test_gamma_is_chosen_with_C(data):
    model = small(kernel="rbf", gammas=[1e-6, 0.3], Cs=[0.1, 10.0]).fit(*data)
    assert model.cv_results_["gamma"].tolist() == [1e-6, 1e-6, 0.3, 0.3]
    assert model.gamma_ == 0.3
    assert model.cv_results_["accuracy"].argmax() == model.best_index_


def test_one_value_needs_no_folds(data):
    model = small().fit(*data)
    assert model.C_ == 1.0
    assert np.isnan(model.cv_results_["accuracy"]).all()


# Many classes


def test_many_classes_window_by_loop():
    X, y = load_iris(return_X_y=True)
    labels = np.array(["a", "b", "c"])[y]
    model = small(radius=0.7).fit(X, labels)
    assert model.member_scores(X).shape == (150, 3)
    assert np.isnan(model.soft_labels_[0, y == 2]).all()
    new = X[::7] + 0.05
    scores = model.member_scores(new)
    P = model.predict_proba(new)
    for x, f, p in zip(new, scores, P, strict=True):
        near = ((X - x) ** 2).sum(axis=1) <= 0.49 + 1e-12
        winners = [
            int(second if score > 0 else first)
            for score, (first, second) in zip(f, ((0, 1), (0, 2), (1, 2)), strict=True)
        ]
        counts = [np.sum(y[near] == c) for c in range(3)]
        assert len(set(winners)) == 2  # no circle
        counts[max(set(winners), key=winners.count)] += 1
        assert p == pytest.approx(np.array(counts) / sum(counts))
    assert np.array_equal(model.predict(new), model.classes_[P.argmax(axis=1)])


def test_many_classes_score_is_coupled():
    X, y = load_iris(return_X_y=True)
    model = small(readout="score").fit(X, y)
    r = np.clip((model.member_scores(X) + 1) / 2, 0, 1)
    assert model.predict_proba(X) == pytest.approx(couple(1 - r))
    pair = small(readout="score").fit(X[y != 1], y[y != 1])
    assert model.member_scores(X)[:, 1] == pytest.approx(pair.member_scores(X), abs=1e-9)


# Kinds of input


@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("near", NEAR)
def test_sparse_and_precomputed_samples(data, new, near, readout):
    X, y = data
    P = small(readout=readout, tol=1e-6, **near).fit(X, y).predict_proba(new)
    as_sparse = small(readout=readout, tol=1e-6, **near).fit(sparse.csr_array(X), y)
    assert as_sparse.predict_proba(sparse.csr_array(new)) == pytest.approx(P, abs=2e-3)
    gram = small(readout=readout, tol=1e-6, kernel="precomputed", **near).fit(X @ X.T, y)
    assert gram.predict_proba(new @ X.T) == pytest.approx(P, abs=2e-3)


def test_order_of_samples_does_not_matter(data, new):
    X, y = data
    P = small(tol=1e-6).fit(X, y).predict_proba(new)
    order = np.random.default_rng(0).permutation(80)
    assert small(tol=1e-6).fit(X[order], y[order]).predict_proba(new) == pytest.approx(P)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"radius": -1.0}, "radius must be a finite number >= 0, got -1.0"),
        ({"radius": np.inf}, "radius must be a finite number >= 0, got inf"),
        ({"readout": "both"}, "readout must be one of 'window', 'score', got 'both'"),
        ({"neighbors": 0}, "neighbors must be an integer >= 1, got 0"),
    ],
)
def test_bad_parameters(data, params, message):
    with pytest.raises(ValueError, match=message):
        small(**params).fit(*data)


# The paper's table


def test_wisconsin():
    """Brier scores over ten folds; ours and the paper's differ by the folds, of s.e. about .006."""
    X, y = load_breast_cancer(return_X_y=True)
    found, areas = [], []
    for square in (0, 10, 20, 30):
        P = np.empty(len(y))
        for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y):
            scaler = StandardScaler().fit(X[train])
            model = small(radius=np.sqrt(square), Cs=[2**-4, 1.0])
            model.fit(scaler.transform(X[train]), y[train])
            P[test] = model.predict_proba(scaler.transform(X[test]))[:, 1]
        found.append(np.mean((P - y) ** 2))
        areas.append(roc_auc_score(y, P))
    assert found == pytest.approx([0.028, 0.033, 0.052, 0.066], abs=0.01)
    assert areas == pytest.approx([0.965, 0.979, 0.973, 0.979], abs=0.015)
