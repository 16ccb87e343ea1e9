from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC

from svmproba import ProbabilitySVC
from svmproba.estimators.pairs.links import LINKS
from svmproba.links import GaussianLink, PlattLink, couple
from svmproba.solvers import features

X, y = make_classification(150, 5, n_informative=3, flip_y=0.1, random_state=3)
X = scale(X)
IRIS, SPECIES = load_iris(return_X_y=True)
IRIS = scale(IRIS)[:, :2]  # the classes overlap
SHARP = {"tol": 1e-9, "random_state": 0}
VARIANTS = [
    *((name, None) for name in LINKS),
    ("gaussian", {"adjusted": False}),
    ("cosine", {"isotonic": True}),
    ("cpon", {"bayes": True}),
    ("sollich", {"average": "frozen"}),
    ("sollich", {"average": "sampled", "n_draws": 200, "joint": True}),
    ("moderated", {"variance": "margin"}),
]

# Cosine sums start at the least score, and posterior draws are chance.
SYMMETRIC = [(link, params) for link, params in VARIANTS if link != "cosine"]
SYMMETRIC = [pair for pair in SYMMETRIC if "n_draws" not in (pair[1] or {})]


def small(link="platt", link_params=None, **params):
    defaults = {"Cs": [0.1, 1.0], "random_state": 0}
    return ProbabilitySVC(link, link_params=link_params, **(defaults | params))


def libsvm(C, **params):
    return SVC(C=C, **({"kernel": "linear", "tol": 1e-10, "cache_size": 50} | params))


class TestTwins:
    @pytest.mark.parametrize("C", [2**-5, 1.0])
    def test_two_classes_by_hand(self, C):
        splits = list(KFold(5, shuffle=True, random_state=1).split(X))
        held_out = np.empty(len(y))
        for train, test in splits:
            held_out[test] = libsvm(C).fit(X[train], y[train]).decision_function(X[test])
        model = ProbabilitySVC(Cs=C, cv=splits, **SHARP).fit(X, y)
        np.testing.assert_allclose(model.cv_scores_, held_out, atol=1e-4)
        link = PlattLink().fit(held_out, y == 1)
        scores = libsvm(C).fit(X, y).decision_function(X)
        np.testing.assert_allclose(model.member_scores(X), scores, atol=1e-4)
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], link.predict(scores), atol=1e-4)

    @pytest.mark.parametrize(
        ("ours", "theirs"),
        [
            ({"kernel": "rbf", "gammas": 0.3}, {"kernel": "rbf", "gamma": 0.3}),
            ({"kernel": "poly", "coef0": 1.0}, {"kernel": "poly", "coef0": 1.0}),
            ({"class_weight": "balanced"}, {"class_weight": "balanced"}),
            ({"class_weight": {0: 3.0, 1: 0.5}}, {"class_weight": {0: 3.0, 1: 0.5}}),
        ],
    )
    def test_scores_are_libsvms(self, ours, theirs):
        model = ProbabilitySVC(Cs=0.5, **ours, **SHARP).fit(X, y)
        twin = libsvm(0.5, **theirs).fit(X, y)
        np.testing.assert_allclose(model.member_scores(X), twin.decision_function(X), atol=1e-3)
        assert model.duality_gap_.max() <= 1e-9

    def test_sample_weights_are_libsvms(self):
        weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
        model = ProbabilitySVC(Cs=0.5, **SHARP).fit(X, y, sample_weight=weight)
        twin = libsvm(0.5).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(model.member_scores(X), twin.decision_function(X), atol=1e-3)
        assert np.array_equal(np.isnan(model.cv_scores_), weight == 0)

    def test_many_classes_are_libsvms(self):
        model = ProbabilitySVC(Cs=1.0, **SHARP).fit(IRIS, SPECIES)
        twin = libsvm(1.0, decision_function_shape="ovo").fit(IRIS, SPECIES)
        pairwise = model.member_scores(IRIS)
        np.testing.assert_allclose(pairwise, -twin.decision_function(IRIS), atol=1e-3)
        np.testing.assert_allclose(model.coef_, -twin.coef_, atol=1e-3)

    def test_many_classes_by_hand(self):
        splits = list(StratifiedKFold(4).split(IRIS, SPECIES))
        model = ProbabilitySVC("gaussian", Cs=1.0, cv=splits, **SHARP).fit(IRIS, SPECIES)
        pairwise = []
        for i, j in [(0, 1), (0, 2), (1, 2)]:
            here = np.isin(SPECIES, (i, j))
            held_out = np.empty(len(SPECIES))
            for train, test in splits:
                part = train[here[train]]
                svm = libsvm(1.0).fit(IRIS[part], SPECIES[part])
                held_out[test] = svm.decision_function(IRIS[test])
            np.testing.assert_allclose(model.cv_scores_[:, len(pairwise)], held_out, atol=1e-3)
            link = GaussianLink().fit(held_out[here], SPECIES[here] == j)
            svm = libsvm(1.0).fit(IRIS[here], SPECIES[here])
            pairwise.append(1 - link.predict(svm.decision_function(IRIS)))
        expected = couple(np.column_stack(pairwise))
        np.testing.assert_allclose(model.predict_proba(IRIS), expected, atol=2e-3)

    def test_coupling_agrees_with_libsvm(self):
        twin = libsvm(1.0, decision_function_shape="ovo", random_state=0, tol=1e-3)
        if "probability" not in twin.get_params():
            pytest.skip("scikit-learn no longer has SVC(probability=True)")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            twin.set_params(probability=True).fit(IRIS, SPECIES)
            A, B = twin.probA_, twin.probB_
        theirs = twin.predict_proba(IRIS)
        ours = couple(expit(-(A * twin.decision_function(IRIS) + B)))
        np.testing.assert_allclose(ours, theirs, atol=1e-2)

    def test_platt_is_scikit_learns_calibration(self):
        X, y = load_breast_cancer(return_X_y=True)
        X, C = scale(X), 0.25
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        twin = CalibratedClassifierCV(libsvm(C), ensemble=False, method="sigmoid", cv=folds)
        theirs = twin.fit(X, y).predict_proba(X)
        ours = ProbabilitySVC(Cs=C, cv=folds, **SHARP).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(ours, theirs, atol=1e-3)


class TestWisconsin:
    """Brier scores that explain the paper's column: they follow C, the order does not."""

    X, y = load_breast_cancer(return_X_y=True)

    def out_of_fold(self, model):
        P = np.empty(len(self.y))
        aucs = []
        for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(self.X, self.y):
            pipe = make_pipeline(StandardScaler(), clone(model)).fit(self.X[train], self.y[train])
            P[test] = pipe.predict_proba(self.X[test])[:, 1]
            aucs.append(roc_auc_score(self.y[test], P[test]))
        return np.mean((P - self.y) ** 2), np.mean(aucs)

    @pytest.mark.parametrize(("C", "mse"), [(2**-5, 0.224), (0.25, 0.073), (1.0, 0.021)])
    def test_sollich_at_fixed_C(self, C, mse):
        found, auc = self.out_of_fold(ProbabilitySVC("sollich", Cs=C, random_state=0))
        assert found == pytest.approx(mse, abs=0.003)
        assert auc == pytest.approx(0.996, abs=0.003)

    def test_sollich_with_C_by_accuracy_and_by_log_loss(self):
        by_accuracy, auc = self.out_of_fold(ProbabilitySVC("sollich", random_state=0))
        # Accuracy is flat: other inner folds choose another C and gave .113, the paper has .094.
        assert by_accuracy == pytest.approx(0.113, abs=0.05)
        assert auc == pytest.approx(0.995, abs=0.003)
        model = ProbabilitySVC("sollich", C_selection="log_loss", random_state=0)
        assert self.out_of_fold(model)[0] < 0.03

    def test_wahba_and_platt(self):
        # .030 and .023 where C was chosen by accuracy in other folds.
        wahba = self.out_of_fold(ProbabilitySVC("wahba", random_state=0))[0]
        platt = self.out_of_fold(ProbabilitySVC("platt", random_state=0))[0]
        assert wahba == pytest.approx(0.030, abs=0.006)
        assert platt == pytest.approx(0.023, abs=0.004)


@pytest.mark.parametrize(("link", "link_params"), VARIANTS)
class TestEveryLink:
    def test_probabilities(self, link, link_params):
        model = small(link, link_params).fit(X, y)
        P = model.predict_proba(X)
        assert P.shape == (len(y), 2)
        assert np.all((P >= 0) & (P <= 1))
        np.testing.assert_allclose(P.sum(axis=1), 1)
        np.testing.assert_array_equal(model.predict(X), (P[:, 1] >= 0.5).astype(int))
        np.testing.assert_array_equal(model.decision_function(X) > 0, P[:, 1] >= 0.5)
        assert roc_auc_score(y, P[:, 1]) > 0.8
        again = small(link, link_params).fit(X, y).predict_proba(X)
        np.testing.assert_array_equal(again, P)
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.predict_proba(X), P)

    def test_many_classes(self, link, link_params):
        model = small(link, link_params).fit(IRIS, SPECIES)
        P = model.predict_proba(IRIS)
        assert P.shape == (150, 3)
        np.testing.assert_allclose(P.sum(axis=1), 1)
        np.testing.assert_array_equal(model.predict(IRIS), P.argmax(axis=1))
        assert model.score(IRIS, SPECIES) > 0.7
        assert model.decision_function(IRIS).shape == (150, 3)
        assert len(model.link_) == 3

    @pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
    def test_kernels(self, link, link_params, kernel):
        train, new = (X, X[:20]) if kernel == "rbf" else (X @ X.T, X[:20] @ X.T)
        P = small(link, link_params, Cs=1.0, kernel=kernel).fit(train, y).predict_proba(new)
        assert np.all((P >= 0) & (P <= 1))
        assert np.ptp(P[:, 1]) > 0.1

    def test_sparse_is_dense(self, link, link_params):
        table = sparse.csr_array(X)
        dense = small(link, link_params, tol=1e-9).fit(X, y).predict_proba(X)
        found = small(link, link_params, tol=1e-9).fit(table, y).predict_proba(table)
        # Posterior draws take another way after the least rounding.
        atol = 0.1 if link_params and "n_draws" in link_params else 1e-3
        np.testing.assert_allclose(found, dense, atol=atol)


@pytest.mark.parametrize(("link", "link_params"), SYMMETRIC)
def test_exchanged_labels_exchange_the_probabilities(link, link_params):
    splits = list(StratifiedKFold(5).split(X, y))
    model = small(link, link_params, cv=splits, tol=1e-9)
    P = model.fit(X, y).predict_proba(X)
    flipped = clone(model).fit(X, 1 - y).predict_proba(X)
    np.testing.assert_allclose(flipped[:, ::-1], P, atol=1e-3)


class TestChoice:
    def test_results_and_choice(self):
        model = ProbabilitySVC(kernel="rbf", gammas=[0.1, 1.0], random_state=0).fit(X, y)
        results = model.cv_results_
        assert {len(values) for values in results.values()} == {22}
        np.testing.assert_array_equal(results["gamma"], np.repeat([0.1, 1.0], 11))
        assert model.best_index_ == np.argmax(results["accuracy"])
        assert results["C"][model.best_index_] == model.C_
        assert results["gamma"][model.best_index_] == model.gamma_
        accuracy = np.mean((model.cv_scores_ >= 0) == (y == 1))
        assert accuracy == results["accuracy"][model.best_index_]
        P = model.link_.predict(model.cv_scores_)
        assert results["brier"][model.best_index_] == pytest.approx(np.mean((P - y) ** 2))
        log_loss = -np.mean(np.log(np.where(y == 1, P, 1 - P)))
        assert results["log_loss"][model.best_index_] == pytest.approx(log_loss)

    @pytest.mark.parametrize("C_selection", ["log_loss", "brier"])
    def test_losses_choose(self, C_selection):
        model = ProbabilitySVC("sollich", C_selection=C_selection, random_state=0).fit(X, y)
        assert model.best_index_ == np.argmin(model.cv_results_[C_selection])
        assert model.link_.C == model.C_
        by_accuracy = ProbabilitySVC("sollich", random_state=0).fit(X, y)
        loss = by_accuracy.cv_results_[C_selection]
        assert loss[model.best_index_] <= loss[by_accuracy.best_index_]

    def test_many_classes_choose_by_the_votes(self):
        model = ProbabilitySVC(random_state=0).fit(IRIS, SPECIES)
        second = model.cv_scores_ > 0
        winners = np.where(second, [1, 2, 2], [0, 0, 1])
        votes = (winners[:, :, None] == np.arange(3)).sum(axis=1)
        clear = votes.max(axis=1) == 2  # in a circle the sizes of the scores decide
        assert clear.mean() > 0.9
        right = votes.argmax(axis=1) == SPECIES
        least, most = right[clear].sum(), right[clear].sum() + (~clear).sum()
        assert least <= round(model.cv_results_["accuracy"].max() * len(SPECIES)) <= most


class TestEdges:
    def test_two_samples(self):
        model = small().fit([[0.0], [1.0]], ["a", "b"])
        np.testing.assert_array_equal(model.cv_scores_, [1, -1])
        np.testing.assert_allclose(model.predict_proba([[0.5]]).sum(), 1)

    @pytest.mark.parametrize("link", LINKS)
    def test_a_class_of_one_sample(self, link):
        labels = np.where(np.arange(150) == 3, "rare", np.where(y == 1, "b", "a"))
        with pytest.warns(UserWarning, match=r"fewer than 5 samples: 'rare' \(1\)"):
            P = small(link).fit(X, labels).predict_proba(X)
        assert P.shape == (150, 3)
        assert np.isfinite(P).all()

    @pytest.mark.parametrize("link", LINKS)
    def test_constant_columns(self, link):
        P = small(link).fit(np.ones((40, 3)), np.arange(40) < 15).predict_proba(np.ones((2, 3)))
        assert np.isfinite(P).all()
        assert P[0, 0] == P[1, 0]

    def test_class_of_interest(self):
        model = small(pos_label=0).fit(X, y)
        other = small().fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-3)
        np.testing.assert_allclose(model.member_scores(X), -other.member_scores(X), atol=1e-2)
        np.testing.assert_allclose(
            model.decision_function(X), other.decision_function(X), atol=1e-2
        )
        costly_miss = model.decide(X, fn_cost=50.0)
        assert np.mean(costly_miss == 0) > np.mean(model.predict(X) == 0)

    def test_half_is_the_class_of_interest(self):
        for pos_label in (0, 1):
            model = small("wahba", pos_label=pos_label).fit(np.zeros((4, 1)), [0, 0, 1, 1])
            model.intercept_[:] = 0.0
            assert model.predict_proba(np.zeros((1, 1)))[0, 0] == 0.5
            assert model.predict(np.zeros((1, 1)))[0] == pos_label
            assert (model.decision_function(np.zeros((1, 1)))[0] > 0) == pos_label

    @pytest.mark.parametrize("kernel", ["rbf", "poly"])
    def test_many_samples_are_exact(self, kernel, monkeypatch):
        """The limit is that of kernel matrices: one SVM computes the rows that it needs."""
        monkeypatch.setattr(features, "_EXACT_LIMIT", 100)
        model = small(kernel=kernel, gammas=0.2, coef0=1.0, Cs=1.0, tol=1e-6).fit(X, y)
        twin = libsvm(1.0, kernel=kernel, gamma=0.2, coef0=1.0).fit(X, y)
        np.testing.assert_allclose(
            model.member_scores(X).ravel(), twin.decision_function(X), atol=2e-3
        )
        assert model.exact_
        assert not small(kernel=kernel, n_components=5).fit(X, y).exact_

    def test_weight_zero_is_absence(self):
        weight = np.ones(len(y))
        weight[::3] = 0
        splits = list(KFold(5).split(X))
        here = np.flatnonzero(weight)
        place = np.cumsum(weight).astype(int) - 1
        kept = [tuple(place[part[weight[part] > 0]] for part in split) for split in splits]
        for params, train, new in (({}, X, X), ({"kernel": "precomputed"}, X @ X.T, X @ X.T)):
            rows = train[here] if not params else train[np.ix_(here, here)]
            weighted = small(cv=splits, **params).fit(train, y, sample_weight=weight)
            absent = small(cv=kept, **params).fit(rows, y[here])
            np.testing.assert_allclose(
                weighted.predict_proba(new),
                absent.predict_proba(new if not params else new[:, here]),
                atol=1e-12,
            )

    def test_progress_is_printed(self, capsys):
        small(verbose=1).fit(X, y)
        assert "ProbabilitySVC: 6 of 6" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"link": "probit"}, "link must be one of 'platt', .* got 'probit'"),
            ({"C_selection": "auc"}, "C_selection must be one of 'accuracy', .* got 'auc'"),
            ({"cv": ShuffleSplit(3)}, "cv must hold out every sample exactly once"),
            ({"link_params": {"a": 1}}, r"link_params of link='platt' must be among \[\], got"),
            (
                {"link": "sollich", "link_params": {"C": 1.0}},
                r"link_params of link='sollich' must be among \['average', .* got \['C'\]",
            ),
            ({"link": "sollich", "link_params": {"average": "x"}}, "average must be one of map"),
        ],
    )
    def test_bad_parameters(self, params, message):
        with pytest.raises(ValueError, match=message):
            small(**params).fit(X, y)

    @pytest.mark.parametrize(
        ("samples", "labels", "message"),
        [
            (np.where(X > 2, np.nan, X), y, "contains NaN"),
            (X, np.zeros(150), "two classes or more, got one class"),
            (X, X[:, 0], "Unknown label type"),
            (X, y[:-1], "inconsistent numbers of samples"),
        ],
    )
    def test_bad_data(self, samples, labels, message):
        with pytest.raises(ValueError, match=message):
            small().fit(samples, labels)
