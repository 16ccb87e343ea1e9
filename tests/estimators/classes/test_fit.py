"""Fits of more than two classes: pairs, votes, reliability, errors."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.svm import SVC

from svmproba import (
    BootstrapSVC,
    PosteriorProbabilitySVC,
    ProbabilitySVC,
    WeightedProbabilitySVC,
)
from svmproba.bootstrap.classes import members
from svmproba.estimators.ensemble import setting
from svmproba.estimators.shared.progress import listening


def small(**params):
    return BootstrapSVC(**{"Cs": [0.1, 1.0], "n_bootstraps": 25, "random_state": 0} | params)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_members_of_a_pair_are_those_of_its_samples_alone(four_classes, monkeypatch, kernel):
    X, y = four_classes
    model = small(kernel=kernel, gammas=0.3, calibration="platt").fit(X, y)
    for p, (first, second) in enumerate(model.pairs_):
        chosen = np.flatnonzero(np.isin(y, [first, second]))
        bags = model.counts_[:, chosen], 0
        monkeypatch.setattr(setting, "draw_bags", lambda *_, bags=bags, **__: bags)
        alone = small(kernel=kernel, gammas=0.3).fit(X[chosen], y[chosen])
        assert_array_equal(model.intercept_[p], alone.intercept_)
        assert_array_equal(model.duality_gap_[p], alone.duality_gap_)
        assert_allclose(model.oob_scores_[p][:, chosen], alone.oob_scores_, rtol=1e-9, atol=1e-12)
        both = zip(
            model.ensemble_.members.of_pair[p].columns, alone.ensemble_.members.columns, strict=True
        )
        for of_pair, by_itself in both:
            assert_array_equal(of_pair, by_itself)
        assert_allclose(model.score_scales_[p], alone.score_scales_, rtol=1e-12)
        if kernel == "linear":
            assert_array_equal(model.member_coef_[p], alone.member_coef_)


def brute_shares(scores, pairs, n_classes):
    """Vote shares (n_theta, n, n_classes) from scores (n_pairs, n_theta, B, n)."""
    wins = np.zeros((n_classes, *scores.shape[1:]))
    for (first, second), of_pair in zip(pairs, scores, strict=True):
        wins[second] += np.where(of_pair > 0, 1, np.where(of_pair == 0, 0.5, 0))
        wins[first] += np.where(of_pair < 0, 1, np.where(of_pair == 0, 0.5, 0))
    called = wins == wins.max(axis=0)
    return np.moveaxis(called / called.sum(axis=0), 0, -1)


def test_votes_are_the_classes_with_most_pairs(four_classes, model):
    X, y = four_classes
    scores = np.concatenate([part for _, part in model.member_scores(X)], axis=-1)
    calls = brute_shares(scores, model.pairs_, 4)  # (n_theta, B, n, 4)
    assert_allclose(model.vote_shares(X), calls.mean(axis=1), atol=1e-12)
    P = np.tensordot(model.weights_, calls.mean(axis=1), axes=1)
    assert_allclose(model.predict_proba(X), P, atol=1e-11)
    left_out = (model.counts_ == 0)[np.newaxis, :, :, np.newaxis]
    oob = (calls * left_out).sum(axis=1) / left_out.sum(axis=1)
    assert_allclose(model.oob_proba_, np.tensordot(model.weights_, oob, axes=1), atol=1e-11)
    right = calls[..., np.arange(len(y)), y]  # (n_theta, B, n)
    reliability = (right * left_out[..., 0]).sum(axis=2) / left_out[..., 0].sum(axis=2)
    assert_allclose(model.reliability_, reliability.mean(axis=1), atol=1e-12)


def test_shares_sum_to_one_and_labels_are_the_largest(four_classes, model, calibrated):
    X, _ = four_classes
    for one in (model, calibrated):
        P = one.predict_proba(X)
        assert P.shape == (len(X), 4)
        assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
        assert_array_equal(one.predict(X), one.classes_[P.argmax(axis=1)])
        assert_array_equal(one.oob_proba_.shape, P.shape)
    assert_allclose(model.vote_shares(X).sum(axis=2), 1, rtol=1e-12)


@pytest.mark.parametrize("calibration", [None, "platt"])
def test_permuting_labels_permutes_columns(four_classes, calibration):
    X, y = four_classes
    order = np.array([2, 0, 3, 1])
    P = small(calibration=calibration, tol=1e-8).fit(X, y).predict_proba(X)
    Q = small(calibration=calibration, tol=1e-8).fit(X, order[y]).predict_proba(X)
    assert_allclose(Q[:, order], P, atol=1e-5)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_bag_votes_as_libsvm_does(iris, kernel):
    X, y = iris
    model = small(Cs=1.0, n_bootstraps=1, kernel=kernel, gammas=0.5, tol=1e-6, random_state=4)
    with pytest.warns(UserWarning, match="in every bag"):
        model.fit(X, y)
    bag = np.repeat(np.arange(len(X)), model.counts_[0])
    twin = SVC(kernel=kernel, gamma=0.5, C=1.0, tol=1e-8).fit(X[bag], y[bag])
    new = np.random.default_rng(0).normal(size=(2000, X.shape[1]))
    assert_array_equal(model.predict(new), twin.predict(new))


@pytest.mark.parametrize("measure", ["balanced_accuracy", "g_mean", "auc"])
def test_reliability(four_classes, measure):
    X, y = four_classes
    model = small(reliability=measure).fit(X, y)
    scores = np.concatenate([part for _, part in model.member_scores(X)], axis=-1)
    values = []
    for b, out in enumerate(model.counts_ == 0):
        if measure == "auc":
            areas = [
                _area(s[:, b], y, out, pair) for s, pair in zip(scores, model.pairs_, strict=True)
            ]
            values.append(np.mean(areas, axis=0))
            continue
        called = brute_shares(scores[:, :, b], model.pairs_, 4)[:, np.arange(len(y)), y]
        recalls = np.stack([called[:, out & (y == k)].mean(axis=1) for k in range(4)])
        mean = recalls.mean(axis=0) if measure != "g_mean" else np.prod(recalls, axis=0) ** 0.25
        values.append(mean)
    assert_allclose(model.reliability_, np.mean(values, axis=0), rtol=1e-12)


def _area(scores, y, out, pair):
    plus, minus = (scores[:, out & (y == k)] for k in (pair[1], pair[0]))
    differences = plus[:, :, np.newaxis] - minus[:, np.newaxis]
    return ((differences > 0) + 0.5 * (differences == 0)).mean(axis=(1, 2))


def test_jobs_change_nothing(four_classes):
    X, y = four_classes
    one, two = (small(n_jobs=n, calibration="platt").fit(X, y) for n in (1, 2))
    for name in ("member_coef_", "intercept_", "oob_scores_", "oob_proba_", "reliability_"):
        assert_array_equal(getattr(one, name), getattr(two, name))
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_bags_of_all_pairs_are_counted(four_classes, n_jobs):
    heard = []
    with listening(lambda n_done, n_bags: heard.append(n_done)):
        small(n_jobs=n_jobs).fit(*four_classes)
    assert sum(heard) == 6 * 25


def test_sparse_and_precomputed_rows(four_classes):
    X, y = four_classes
    rows, K = sparse.csr_array(X), X @ X.T
    model = small(calibration="platt").fit(rows, y)
    assert_allclose(model.predict_proba(rows), model.predict_proba(X), rtol=1e-9)
    dense = small(tol=1e-9).fit(X, y).predict_proba(X)
    by_kernel = small(kernel="precomputed", tol=1e-9).fit(K, y)
    # Of 25 bags with two C each, few have an interval of optimal intercepts.
    assert_allclose(by_kernel.predict_proba(K), dense, atol=0.05)
    assert_allclose(by_kernel.predict_proba(K).sum(axis=1), 1)


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_a_sample_of_weight_zero_is_absent(four_classes, kernel):
    X, y = four_classes
    weight = np.ones(len(y))
    weight[::7] = 0
    kept = weight > 0
    rows = X @ X.T if kernel == "precomputed" else X
    some = rows[np.ix_(kept, kept)] if kernel == "precomputed" else X[kept]
    model = small(kernel=kernel, calibration="platt").fit(rows, y, weight)
    alone = small(kernel=kernel, calibration="platt").fit(some, y[kept])
    new = some if kernel == "precomputed" else X[kept]
    assert_array_equal(model.predict_proba(rows[kept]), alone.predict_proba(new))
    assert_array_equal(model.oob_proba_[kept], alone.oob_proba_)
    assert np.isnan(model.oob_proba_[~kept]).all()
    assert model.oob_score_ == alone.oob_score_


def test_a_class_of_weight_zero_leaves_two(iris):
    X, y = iris
    two = small().fit(X, y, (y != "virginica").astype(float))
    assert two.classes_.tolist() == ["setosa", "versicolor"]
    assert two.predict_proba(X).shape == (150, 2)


def test_class_weights_are_factors_on_C(four_classes):
    X, y = four_classes
    weights = {0: 2.0, 1: 0.5, 2: 1.0, 3: 4.0}
    model = small(class_weight=[None, weights]).fit(X, y)
    assert_array_equal(model.thetas_["class_weight"], [1, 1, 8, 8])
    by_sample = small().fit(X, y, sample_weight=np.vectorize(weights.get)(y))
    assert_array_equal(model.member_coef_[:, 2:], by_sample.member_coef_)
    balanced = small(class_weight="balanced").fit(X, y)
    factors = len(y) / (4 * np.bincount(y))
    assert_array_equal(balanced.member_coef_, small().fit(X, y, factors[y]).member_coef_)
    assert balanced.thetas_["class_weight"][0] == factors.max() / factors.min()


def test_what_is_told_of_a_model(four_classes, model):
    assert model.member_coef_.shape == (6, 2, 40, 4)
    assert model.intercept_.shape == model.duality_gap_.shape == (6, 2, 40)
    assert model.pairs_.tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    assert (model.duality_gap_ <= model.tol).all()
    y = four_classes[1]
    called = model.oob_proba_.argmax(axis=1)
    assert model.oob_score_ == np.mean(called == y)
    assert_array_equal(model.oob_recalls_, [np.mean(called[y == k] == k) for k in range(4)])
    assert "6 pairs of 4 classes × 40 bags × 2 hyper" in model._repr_html_()
    worst = np.sort(model.oob_recalls_)[:3]
    told = re.findall(r"recall of \d ([\d.]+)%", " ".join(model._summary()))
    assert told == [f"{100 * rate:.1f}" for rate in worst]
    for name in ("oob_tpr_", "threshold_", "proba_threshold_", "oob_median_"):
        with pytest.raises(AttributeError, match=f"{name} is only available with two classes"):
            getattr(model, name)
    assert not hasattr(model, "pos_label_")


def test_a_fit_to_two_classes_after_one_to_three(iris):
    X, y = iris
    model = small().fit(X[50:], y[50:])
    assert model.pos_label_ == "virginica"
    assert not hasattr(model.fit(X, y), "pos_label_")
    assert model.fit(X[50:], y[50:]).oob_tpr_ > 0.8
    assert not hasattr(model, "pairs_")


def test_bad_input_names_the_class(iris):
    X, y = iris
    keep = np.append(np.flatnonzero(y != "virginica"), 149)
    with pytest.raises(ValueError, match="has 1 of class 'virginica'"):
        small().fit(X[keep], y[keep])
    keep = np.append(keep, [147, 148])
    with pytest.warns(UserWarning, match=r"fewer than 5 samples: 'virginica' \(3\)"):
        small().fit(X[keep], y[keep])
    with pytest.raises(ValueError, match="pos_label must be None with 3 classes, got 'setosa'"):
        small(pos_label="setosa").fit(X, y)
    with pytest.raises(ValueError, match="Only binary classification"):
        small(resample="blb").fit(X, y)
    with pytest.raises(
        ValueError, match="needs samples of the classes 'setosa' and 'versicolor' that 5 bags"
    ):
        small(n_bootstraps=2, calibration="platt").fit(X, y)
    groups = np.where(y == "setosa", 0, 1 + np.arange(len(y)) % 30)
    with pytest.raises(ValueError, match="all 50 samples of class 'setosa' are in one"):
        small().fit(X, y, groups=groups)


@pytest.mark.filterwarnings("ignore:Classes with fewer than 5 samples")
def test_a_class_in_no_bag_is_named():
    X = np.random.default_rng(0).normal(size=(80, 2))
    y = np.repeat([f"c{k:02}" for k in range(40)], 2)
    with pytest.raises(ValueError, match=r"lacked a class .* rarest class 'c00' of y has 2 of 80"):
        small().fit(X, y)


@pytest.mark.parametrize(
    "model", [ProbabilitySVC(), PosteriorProbabilitySVC(), WeightedProbabilitySVC()]
)
def test_one_svm_for_each_pair_warns_of_small_classes(iris, model):
    X, y = iris
    few = np.append(np.flatnonzero(y != "virginica"), [148, 149])
    with pytest.warns(UserWarning, match=r"fewer than 5 samples: 'virginica' \(2\)"):
        model.fit(X[few], y[few])


def test_a_device_takes_pairs_of_like_size_at_once(four_classes, monkeypatch):
    pytest.importorskip("torch")
    from svmproba.solvers.gpu import ensemble

    X, y = four_classes
    plain = small(tol=1e-6).fit(X, y)
    solve, together, threads = ensemble.solve_block, [], []

    def note(tasks, counts):
        together.append(len(tasks))
        return solve(tasks, counts)

    monkeypatch.setattr(ensemble, "solve_block", note)
    monkeypatch.setattr(members, "as_done", lambda *a: threads.append(a))
    on_device = small(tol=1e-6, device="torch", n_jobs=2).fit(X, y)
    assert together == [2, 2, 2]  # pairs of about as many samples
    assert_allclose(on_device.predict_proba(X), plain.predict_proba(X), atol=0.05)
    assert (on_device.duality_gap_ <= 1e-6).all()
    together.clear()
    kernel = small(kernel="rbf", device="torch", n_jobs=2).fit(X, y)  # pair by pair
    assert not together + threads
    assert (kernel.duality_gap_ <= 1e-3).all()
