"""The kernel matrix row by row, and certificates of members on it."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from svmproba.solvers import ensemble
from svmproba.solvers import gram as gram_module
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.features import fit_features
from svmproba.solvers.gram import Gram
from svmproba.solvers.problem import certify_gram

from .twins import Instance, clarabel_solution

SHAPE = {"gamma": 0.4, "degree": 3, "coef0": 0.5}
KERNELS = {
    "rbf": {"gamma": 0.4},
    "poly": SHAPE,
}
#: Relative errors of rows: those of the rbf kernel are float32.
ROUNDING = {"rbf": 2e-6, "poly": 1e-11}


def samples(n=90, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signs = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, signs


@pytest.mark.parametrize("to", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", KERNELS)
def test_rows_are_kernel_values(kernel, to):
    X, _ = samples()
    expected = pairwise_kernels(X, metric=kernel, **KERNELS[kernel])
    gram = Gram.of_samples(to(X), kernel, **SHAPE)
    np.testing.assert_allclose(gram.diagonal, expected.diagonal())
    places = np.array([7, 3, 80])
    np.testing.assert_allclose(_rows(gram, places), expected[places], rtol=ROUNDING[kernel])
    packed = np.zeros((3, 64), np.float32)
    gram.block(places, packed)
    block = expected[np.ix_(places, places)] / gram.unit
    np.testing.assert_allclose(packed[:, :3], block, rtol=2e-6)
    assert not packed[:, 3:].any()
    assert not gram.whole
    gram.complete()
    assert gram.whole
    np.testing.assert_allclose(gram.table, expected, rtol=1e-11)


@pytest.mark.parametrize("to", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_first_call_may_be_any(kernel, to):
    """Before a row is held there is no table, and compiled code reads what it is given."""
    X, signs = samples()
    expected = pairwise_kernels(X, metric=kernel, **KERNELS[kernel])
    singles = Gram.of_samples(to(X), kernel, **SHAPE)
    np.testing.assert_allclose(singles.singles() * singles.unit, expected, rtol=2e-6, atol=1e-30)
    beta = signs[np.newaxis]
    scores = Gram.of_samples(to(X), kernel, **SHAPE).scores(beta, np.empty_like(beta))
    np.testing.assert_allclose(scores, beta @ expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_all_rows_after_some(kernel, monkeypatch):
    X, _ = samples()
    expected = pairwise_kernels(X, metric=kernel, **KERNELS[kernel])
    monkeypatch.setattr(Gram, "capacity", 16)
    gram = Gram.of_samples(X, kernel, **SHAPE)
    gram.hold(np.arange(9))
    gram.complete()
    np.testing.assert_allclose(_rows(gram, np.array([3, 89])), expected[[3, 89]], rtol=1e-11)
    np.testing.assert_allclose(gram.table, expected, rtol=1e-11)


def test_far_samples_have_rows_in_float64():
    """float32 would give the distances 1 and 0 for all of them."""
    X = np.array([[-1e5], [1e5], [1e5 + 1], [1e5 + 2]])
    gram = Gram.of_samples(X, "rbf", gamma=0.4, degree=1, coef0=0.0)
    expected = pairwise_kernels(X, metric="rbf", gamma=0.4)
    np.testing.assert_allclose(_rows(gram, np.arange(4)), expected, atol=1e-5)
    np.testing.assert_allclose(gram.singles(), expected, atol=1e-5)


def _rows(gram, places):
    slots = gram.hold(places)
    return gram.table[slots]


def test_rows_used_longest_ago_make_room(monkeypatch):
    """With room for 16 rows any order of requests gives the right rows."""
    X, _ = samples()
    monkeypatch.setattr(Gram, "capacity", 16)
    gram = Gram.of_samples(X, "rbf", **SHAPE)
    expected = pairwise_kernels(X, metric="rbf", gamma=0.4)
    rng = np.random.default_rng(0)
    for _ in range(40):
        places = rng.choice(len(X), rng.integers(1, 17), replace=False)
        np.testing.assert_allclose(_rows(gram, places), expected[places], rtol=ROUNDING["rbf"])
        held = np.flatnonzero(gram.slot >= 0)
        assert len(held) <= 16
        assert len(np.unique(gram.slot[held])) == len(held)
    recent = np.arange(8)
    gram.hold(recent)
    gram.hold(np.arange(20, 28))
    gram.hold(np.arange(40, 48))
    assert (gram.slot[recent] < 0).all()
    beta = rng.normal(size=(3, len(X)))
    np.testing.assert_allclose(gram.scores(beta, np.empty_like(beta)), beta @ expected, atol=1e-12)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 1100), st.integers(1, 5), st.integers(0, 10**6))
def test_scores_are_products(n, k, seed):
    rng = np.random.default_rng(seed)
    K, beta = rng.normal(size=(n, n)), rng.normal(size=(k, n))
    beta[:, rng.random(n) < 0.5] = 0.0
    found = Gram.of_matrix(K).scores(beta, np.full((k, n), np.nan))
    np.testing.assert_allclose(found, beta @ K, atol=1e-11)


def test_threads_and_pickling_change_nothing():
    X, _ = samples(3000)
    one, two = (Gram.of_samples(X, "rbf", **SHAPE) for _ in range(2))
    two.n_threads = 2
    places = np.arange(0, 3000, 7)
    np.testing.assert_array_equal(_rows(one, places), _rows(two, places))
    assert len(pickle.dumps(two)) < 4 * X.nbytes
    again = pickle.loads(pickle.dumps(two))
    np.testing.assert_array_equal(_rows(one, places), _rows(again, places))


def exact_gap(K, signs, targets, bounds, bias, alpha):
    """Relative gap in rational numbers."""
    arrays = (K, signs, targets, bounds, alpha)
    K, y, t, c, a = ([Fraction(float(x)) for x in np.ravel(v)] for v in arrays)
    n, b = len(y), Fraction(float(bias))
    a = [max(Fraction(0), min(x, most)) for x, most in zip(a, c, strict=True)]
    up, down = (sum(x for x, s in zip(a, y, strict=True) if s == sign) for sign in (1, -1))
    least = min(up, down)
    scale = {1: least / up if up else 1, -1: least / down if down else 1}
    beta = [x * scale[int(s)] * s for x, s in zip(a, y, strict=True)]
    f = [sum(K[i * n + j] * beta[j] for j in range(n)) for i in range(n)]
    norm = sum(x * v for x, v in zip(beta, f, strict=True))
    hinge = sum(
        most * max(Fraction(0), want - s * (v + b))
        for most, want, s, v in zip(c, t, y, f, strict=True)
    )
    primal = norm / 2 + hinge
    dual = sum(x * s * want for x, s, want in zip(beta, y, t, strict=True)) - norm / 2
    return (primal - dual) / primal


@pytest.mark.parametrize("C", [0.1, 1.0, 1000.0])
def test_gap_is_a_bound_in_exact_arithmetic(C):
    X, signs = samples(25)
    K = pairwise_kernels(X, metric="rbf", gamma=0.4)
    K = (K + K.T) / 2
    rng = np.random.default_rng(1)
    for tol in (1e-1, 1e-12):
        targets, base = rng.uniform(0.5, 1.5, 25), rng.integers(0, 3, (1, 25)).astype(float)
        fit = fit_ensemble(Gram.of_matrix(K), signs, base, np.array([C]), targets=targets, tol=tol)
        alphas = np.abs(fit.coef.transpose(1, 0, 2)).copy()
        shared = (Gram.of_matrix(K), signs, targets, base, np.array([C]))
        gap = certify_gram(*shared, fit.intercept.T, alphas.copy(), np.empty_like(alphas))[0, 0]
        exact = exact_gap(K, signs, targets, C * base, fit.intercept[0, 0], alphas)
        assert exact <= Fraction(gap)
        assert gap <= float(exact) + 1e-9
        np.testing.assert_allclose(gap, fit.gap[0, 0], atol=1e-12)


@pytest.mark.parametrize("case", ["rbf", "poly", "sigmoid", "precomputed"])
@pytest.mark.parametrize("few", [True, False])
def test_members_are_those_of_libsvm(case, few):
    """Weights, duplicates, several C, training and new samples; both methods."""
    X, signs = samples(120)
    X[60:80], signs[60:80] = X[:20], signs[:20]
    new, _ = samples(40, seed=5)
    params = {"rbf": {"gamma": 0.4}, "poly": SHAPE, "sigmoid": {"gamma": 1e-6, "coef0": 0.0}}
    params["precomputed"] = {"gamma": 0.4}
    metric = "rbf" if case == "precomputed" else case
    K = pairwise_kernels(X, metric=metric, **params[case])
    K_new = pairwise_kernels(new, X, metric=metric, **params[case])
    table, fresh = (K, K_new) if case == "precomputed" else (X, new)
    shape = {} if case == "precomputed" else params[case]
    feature_map, rows = fit_features(table, case, **shape)
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 4, (3 if few else 40, 120)).astype(float)
    weight, grid = rng.uniform(0.5, 2.0, 120), np.array([0.1, 3.0])
    fit = fit_ensemble(rows, signs, counts, grid, weight=weight, tol=1e-7)
    assert fit.gap.max() <= 1e-7
    for b in range(3):
        for k, C in enumerate(grid):
            price = C * counts[b] * weight
            twin = SVC(C=1.0, kernel="precomputed", tol=1e-7)
            used = price > 0
            twin.fit(K[np.ix_(used, used)], signs[used], sample_weight=price[used])
            scores = feature_map.transform(fresh) @ fit.coef[k, b] + fit.intercept[k, b]
            np.testing.assert_allclose(scores, twin.decision_function(K_new[:, used]), atol=3e-3)


def objective(K, signs, targets, bounds, fit, k=0, b=0):
    """Primal objective of a member, in K."""
    beta, bias = fit.coef[k, b], fit.intercept[k, b]
    scores = K @ beta + bias
    return 0.5 * beta @ K @ beta + bounds @ np.maximum(0.0, targets - signs * scores)


@pytest.mark.parametrize("n_bags", [2, 20], ids=["few", "many"])
@pytest.mark.parametrize("case", KERNELS)
def test_objectives_are_those_of_clarabel(case, n_bags):
    X, signs = samples(40)
    rng = np.random.default_rng(3)
    targets, counts = rng.uniform(0.5, 1.5, 40), rng.integers(0, 3, (n_bags, 40)).astype(float)
    grid = np.array([0.2, 5.0])
    K = pairwise_kernels(X, metric=case, **KERNELS[case])
    gram = Gram.of_samples(X, case, **SHAPE)
    fit = fit_ensemble(gram, signs, counts, grid, targets=targets, tol=1e-8)
    values, vectors = np.linalg.eigh(K)
    rows = vectors * np.sqrt(np.maximum(values, 0.0))
    for k, C in enumerate(grid):
        twin = clarabel_solution(Instance(rows, signs, targets, C * counts[1]))
        found = objective(K, signs, targets, C * counts[1], fit, k, 1)
        np.testing.assert_allclose(found, twin.value, rtol=1e-7)


@settings(deadline=None, max_examples=15)
@given(st.integers(4, 60), st.integers(1, 4), st.integers(0, 10**6), st.booleans())
def test_duplicates_are_weights_and_order_does_not_matter(n, d, seed, many):
    rng = np.random.default_rng(seed)
    X, signs = rng.normal(size=(n, d)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    weight, order = rng.integers(1, 4, n), rng.permutation(n)
    copies = np.repeat(np.arange(n), weight)
    scores = []
    for places, bounds in ((np.arange(n), weight), (copies, None), (order, weight[order])):
        gram = Gram.of_samples(X[places], "rbf", **SHAPE)
        counts = np.ones((20 if many else 1, len(places)))
        bounds = None if bounds is None else bounds.astype(float)
        fit = fit_ensemble(gram, signs[places], counts, np.ones(1), weight=bounds, tol=1e-9)
        assert fit.gap.max() <= 1e-9
        scores.append(pairwise_kernels(X, X[places], metric="rbf", gamma=0.4) @ fit.coef[0, 0])
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-3)
    np.testing.assert_allclose(scores[2], scores[0], atol=1e-3)


def test_rows_computed_when_needed_give_the_members_of_the_whole_matrix(monkeypatch):
    """With room for few rows, with many samples: the gap is the same bound."""
    X, signs = samples(1500)
    monkeypatch.setattr(gram_module, "CACHE_BYTES", 8 * 1500 * 1100)
    lazy, whole = (Gram.of_samples(X, "rbf", **SHAPE) for _ in range(2))
    whole.complete()
    grid, counts = np.array([0.1, 1.0, 10.0]), np.ones((2, 1500))
    first, second = (fit_ensemble(rows, signs, counts, grid, tol=1e-6) for rows in (lazy, whole))
    assert not lazy.whole
    assert max(first.gap.max(), second.gap.max()) <= 1e-6
    values = [
        K.scores(fit.coef[:, 0].copy(), np.empty((3, 1500)))
        for K, fit in ((whole, first), (whole, second))
    ]
    np.testing.assert_allclose(*values, atol=0.02)


def test_one_class_in_a_bag_and_samples_all_alike():
    K = np.ones((6, 6))
    signs = np.array([1.0, 1, 1, -1, -1, -1])
    counts = np.array([[1.0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 1, 1]])
    for many in (1, 10):
        fit = fit_ensemble(Gram.of_matrix(K), signs, np.tile(counts, (many, 1)), np.array([1.0]))
        assert fit.gap.max() <= 1e-3
        assert (fit.intercept[0, :2] * [1, -1] >= 1 - 1e-3).all()


@pytest.mark.parametrize("scale", [2.0**-200, 2.0**200])
def test_the_scale_of_a_kernel_matrix_changes_nothing(scale):
    """(K s, C / s) has the multipliers of (K, C) divided by s, also where float32 has no K s."""
    X, signs = samples(60)
    K = Gram.of_samples(X, "rbf", **SHAPE)
    K.complete()
    counts, grid = np.random.default_rng(2).integers(0, 3, (20, 60)), np.array([0.5, 4.0])
    fit = fit_ensemble(Gram.of_matrix(K.table), signs, counts, grid)
    other = fit_ensemble(Gram.of_matrix(K.table * scale), signs, counts, grid / scale)
    np.testing.assert_array_equal(other.coef * scale, fit.coef)
    np.testing.assert_array_equal(other.intercept, fit.intercept)


def test_kept_scores_are_those_of_the_members(monkeypatch):
    X, signs = samples(70)
    gram = Gram.of_samples(X, "rbf", **SHAPE)
    counts, grid = np.random.default_rng(2).integers(0, 3, (30, 70)), np.array([0.5, 4.0])
    fixed = (gram, signs, counts, grid)
    fit = fit_ensemble(*fixed, keep_scores=True, n_jobs=1)
    expected = fit.coef @ gram.table + fit.intercept[..., np.newaxis]
    np.testing.assert_allclose(fit.scores, expected, atol=1e-11)
    others = fit_ensemble(*fixed, keep_scores=True, n_jobs=2)
    np.testing.assert_array_equal(others.scores, fit.scores)
    assert fit_ensemble(*fixed).scores is None
    monkeypatch.setattr(ensemble, "_KEPT_BYTES", 8 * 70 * 60 - 1)
    assert fit_ensemble(*fixed, keep_scores=True).scores is None
