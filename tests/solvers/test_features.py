from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from svmproba.solvers import features
from svmproba.solvers.features import fit_features as fit_any_features
from svmproba.solvers.kernels import as_rows, kernel_diagonal, kernel_matrix, resolve_gamma

# Rows whose products are kernel values; the kernel matrix itself is tested with `Gram`.
fit_features = partial(fit_any_features, factored=True)

# Kernels that are positive semidefinite on any records, with parameters far from the defaults.
DEFINITE = {
    "rbf": {"gamma": 0.3},
    "poly": {"gamma": 0.7, "degree": 3, "coef0": 0.5},
    "poly-even": {"gamma": 0.2, "degree": 2, "coef0": 0.0},
}
SIGMOID = {"gamma": 0.1, "coef0": 0.2}
TIGHT = 1e-13


def named(case):
    return case.split("-")[0], DEFINITE[case]


def records(n=80, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.linspace(0.5, 2.0, d)
    X[rng.random((n, d)) < 0.4] = 0.0
    y = np.where(X @ np.linspace(1, -1, d) + 0.7 * rng.normal(size=n) > 0, 1, -1)
    return X, y


def reference(X, Y, kernel, **params):
    if kernel == "rbf":
        params = {"gamma": params["gamma"]}
    return pairwise_kernels(X, Y, metric=kernel, **params)


def svc(kernel="linear", **params):
    return SVC(kernel=kernel, C=2.0, tol=1e-9, **params)


@pytest.mark.parametrize("to", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("case", [*DEFINITE, "sigmoid"])
def test_kernel_values_are_those_of_scikit_learn(case, to):
    kernel, params = ("sigmoid", SIGMOID) if case == "sigmoid" else named(case)
    X, Y = records(30)[0], records(20, seed=1)[0]
    expected = reference(X, Y, kernel, **params)
    A, B = as_rows(to(X)), as_rows(to(Y))
    for left, right in [(A, B), (X, B), (A, Y)]:
        np.testing.assert_allclose(
            kernel_matrix(left, right, kernel, **params), expected, rtol=1e-12, atol=1e-14
        )
    if kernel != "sigmoid":
        params = {"degree": 3, "coef0": 0.0, **params}
        diagonal = kernel_diagonal(A, kernel, **params)
        np.testing.assert_allclose(diagonal, reference(X, X, kernel, **params).diagonal())


def test_rbf_keeps_its_digits_far_from_the_origin():
    X = np.round(1024 * records()[0]) / 1024  # can be shifted without rounding
    far = X + 2.0**30
    np.testing.assert_allclose(
        kernel_matrix(far, far, "rbf", gamma=0.3), kernel_matrix(X, X, "rbf", gamma=0.3), rtol=1e-12
    )


def test_rbf_of_equal_rows_is_never_above_one():
    X = np.repeat(1e3 * np.random.default_rng(0).normal(size=(50, 7)), 2, axis=0)
    arguments = -0.3 * np.square(X[:, None] - X).sum(axis=2)
    K = kernel_matrix(X, X, "rbf", gamma=0.3)
    assert K.max() <= 1.0
    np.testing.assert_allclose(K, np.exp(arguments), rtol=0, atol=1e-7)


def test_gamma_is_that_of_scikit_learn():
    X, y = records()
    for gamma in ("scale", "auto"):
        expected = SVC(gamma=gamma).fit(X, y)._gamma
        assert resolve_gamma(gamma, X) == pytest.approx(expected, rel=1e-14)
        assert resolve_gamma(gamma, as_rows(sparse.csc_array(X))) == pytest.approx(expected)
    for constant in (0.0, 0.1):
        X = np.full((7, 3), constant)
        assert resolve_gamma("scale", X) == 1.0
        assert resolve_gamma("scale", as_rows(sparse.csr_array(X))) == 1.0


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("case", DEFINITE)
def test_rows_reproduce_the_kernel_matrix(case, repeated):
    kernel, params = named(case)
    X = records()[0]
    X = np.repeat(X[:25], 3, axis=0) if repeated else X
    feature_map, rows = fit_features(X, kernel, tol=TIGHT, **params)
    K = reference(X, X, kernel, **params)
    scale = np.sqrt(np.outer(K.diagonal(), K.diagonal()))
    assert np.all(np.abs(rows @ rows.T - K) <= 1e-11 * scale)
    assert rows.flags.c_contiguous
    assert feature_map.exact
    assert rows.shape[1] <= (25 if repeated else 80)
    np.testing.assert_array_equal(feature_map.basis, X[feature_map.pivots])
    np.testing.assert_allclose(feature_map.transform(X), rows, atol=1e-8 * np.abs(rows).max())


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    X=arrays(
        float,
        array_shapes(min_dims=2, max_dims=2, max_side=12),
        elements=st.floats(-50, 50, allow_subnormal=False),
    ),
    case=st.sampled_from(list(DEFINITE)),
    limit=st.sampled_from([0, 100]),
)
def test_what_the_rows_leave_is_small_and_never_negative(X, case, limit):
    kernel, params = named(case)
    _, rows = fit_features(X, kernel, exact_limit=limit, rng=0, **params)
    K = kernel_matrix(X, X, kernel, **params)
    unit = np.where(K.diagonal() > 0, np.sqrt(K.diagonal()), 1.0)
    rest = (K - rows @ rows.T) / np.outer(unit, unit)
    assert np.linalg.eigvalsh(rest)[0] >= -1e-9
    assert rest.diagonal().max() <= 1.01e-7


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    X=arrays(
        float, array_shapes(min_dims=2, max_dims=2, max_side=10), elements=st.floats(-1e3, 1e3)
    )
)
def test_any_gram_matrix_is_accepted_and_reproduced(X):
    K = X @ X.T
    feature_map, rows = fit_features(K, "precomputed")
    np.testing.assert_allclose(rows @ rows.T, K, atol=2e-6 * max(K.max(), 1e-300))
    assert feature_map.transform(K).shape == rows.shape


@pytest.mark.parametrize("to", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("case", DEFINITE)
def test_linear_svm_on_rows_is_the_kernel_svm(case, to):
    kernel, params = named(case)
    X, y = records()
    new = to(records(40, seed=1)[0])
    expected = svc(kernel, **params).fit(X, y)
    feature_map, rows = fit_features(to(X), kernel, tol=TIGHT, **params)
    found = svc().fit(rows, y)
    for table, table_rows in [(X, rows), (new.toarray() if sparse.issparse(new) else new, None)]:
        table_rows = feature_map.transform(new) if table_rows is None else table_rows
        np.testing.assert_allclose(
            found.decision_function(table_rows), expected.decision_function(table), atol=1e-6
        )


def test_default_tolerance_moves_scores_less_than_that_of_libsvm():
    X, y = records(400, 3)
    new = records(100, 3, seed=1)[0]
    expected = SVC(kernel="rbf", C=32.0, tol=1e-6).fit(X, y)
    feature_map, rows = fit_features(X, "rbf")
    assert rows.shape[1] < 300
    found = SVC(kernel="linear", C=32.0, tol=1e-6).fit(rows, y)
    scores = expected.decision_function(new)
    ours = np.abs(found.decision_function(feature_map.transform(new)) - scores).max()
    default = SVC(kernel="rbf", C=32.0).fit(X, y).decision_function(new)
    assert ours < 0.3 * np.abs(default - scores).max()


def test_dropped_tail_costs_no_more_than_guaranteed():
    X, y = records(200, 3)
    K = kernel_matrix(X, X, "rbf", gamma=0.3)
    _, rows = fit_features(X, "rbf", gamma=0.3, tol=1e-2)
    rest = np.linalg.eigvalsh(K - rows @ rows.T)[-1]

    def optimal_value(K):
        model = svc("precomputed").fit(K, y)
        alpha = model.dual_coef_[0]
        return np.abs(alpha).sum() - 0.5 * alpha @ K[np.ix_(model.support_, model.support_)] @ alpha

    share = 1.0 - optimal_value(K) / optimal_value(rows @ rows.T)
    assert 1e-4 < share < 2.0 * rest


def test_short_records_survive_beside_a_long_one():
    X = records()[0]
    X[0] *= 1e4
    params = {"gamma": 1.0, "degree": 3, "coef0": 1.0}
    _, rows = fit_features(X, "poly", **params)
    K = reference(X[1:], X[1:], "poly", **params)
    scale = np.sqrt(np.outer(K.diagonal(), K.diagonal()))
    assert np.all(np.abs(rows[1:] @ rows[1:].T - K) <= 1e-5 * scale)


# ------------------------------------------------------------------ linear kernel


def test_linear_rows_are_the_records_themselves():
    X = records()[0]
    feature_map, rows = fit_features(X)
    assert rows is X
    assert feature_map.transform(X) is X
    W = np.ones((2, 3, X.shape[1]))
    assert feature_map.input_coef(W) is W
    single = feature_map.transform(np.asfortranarray(X, dtype=np.float32))
    assert single.dtype == np.float64
    assert single.flags.c_contiguous


@pytest.mark.parametrize("deficient", [False, True])
def test_rotation_is_the_same_linear_svm(deficient):
    X, y = records(30, 200)
    if deficient:
        X[20:] = X[10:20]
        X[:, :50] = 1.0
    new = records(10, 200, seed=1)[0]
    feature_map, rows = fit_features(X)
    assert rows.shape == (30, 30)
    assert rows.flags.c_contiguous
    np.testing.assert_allclose(rows @ rows.T, X @ X.T, atol=1e-10)
    np.testing.assert_allclose(feature_map.transform(X), rows, atol=1e-11)

    expected, found = svc().fit(X, y), svc().fit(rows, y)
    scores = expected.decision_function(new)
    np.testing.assert_allclose(
        found.decision_function(feature_map.transform(new)), scores, atol=1e-7
    )
    np.testing.assert_allclose(
        feature_map.transform(sparse.csr_array(new)), feature_map.transform(new), atol=1e-12
    )
    np.testing.assert_allclose(feature_map.input_coef(found.coef_), expected.coef_, atol=1e-7)


@pytest.mark.parametrize("form", ["csr_array", "csr_matrix", "csc_array", "coo_array"])
def test_sparse_linear_rows_stay_sparse(form):
    X = sparse.random_array((200, 50_000), density=1e-3, rng=0)
    given_X = getattr(sparse, form)(X)
    feature_map, rows = fit_features(given_X)
    assert isinstance(rows, sparse.csr_array)
    assert rows.indices.dtype == rows.indptr.dtype == np.int32
    assert rows.has_canonical_format
    assert abs(rows - X).max() == 0.0
    assert sparse.issparse(feature_map.transform(given_X[:3] if form != "coo_array" else X))
    assert feature_map.input_coef(np.ones((4, 50_000))).shape == (4, 50_000)


def test_unsorted_sparse_input_is_not_changed():
    X = sparse.csr_array((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 0]), np.array([0, 3])), (1, 3))
    _, rows = fit_features(X)
    np.testing.assert_array_equal(rows.indices, [0, 2])
    np.testing.assert_array_equal(rows.data, [5.0, 1.0])
    np.testing.assert_array_equal(X.indices, [2, 0, 0])


# ------------------------------------------------------------------ Nyström


@pytest.mark.parametrize("case", DEFINITE)
def test_nystrom_error_falls_with_the_rank_down_to_exact(case):
    kernel, params = named(case)
    X = records(300, 4)[0]
    K = kernel_matrix(X, X, kernel, **params)
    errors = []
    for rank in (5, 20, 60, 300):
        feature_map, rows = fit_features(
            X, kernel, exact_limit=0, n_components=rank, tol=1e-10, rng=0, **params
        )
        assert rows.shape[1] == len(feature_map.pivots) <= rank
        assert len(np.unique(feature_map.pivots)) == len(feature_map.pivots)
        np.testing.assert_allclose(feature_map.transform(X), rows, atol=1e-8 * np.abs(rows).max())
        rest = K - rows @ rows.T
        assert np.linalg.eigvalsh(rest)[0] > -1e-10 * np.trace(K)
        errors.append(np.trace(rest) / np.trace(K))
    assert feature_map.exact
    assert errors[3] <= 1e-10
    assert np.all(np.diff(np.maximum(errors, 1e-10)) <= 0.0)  # the rest is rounding
    assert errors[2] < 0.5 * errors[0]


def test_nystrom_landmarks_beat_evenly_drawn_ones():
    X = records(500, 6)[0]
    K = kernel_matrix(X, X, "rbf", gamma=0.1)
    options = {"exact_limit": 499, "n_components": 150, "rng": 3}
    errors = []
    for table, kernel in [(X, "rbf"), (K, "precomputed")]:
        feature_map, rows = fit_features(table, kernel, gamma=0.1, **options)
        assert not feature_map.exact
        errors.append(np.trace(K - rows @ rows.T))
    assert errors[0] < 0.6 * errors[1]


def test_nystrom_draws_follow_the_seed():
    X = records(200)[0]
    same = [fit_features(X, "rbf", exact_limit=0, n_components=30, rng=s)[1] for s in (1, 1, 2)]
    np.testing.assert_array_equal(same[0], same[1])
    assert not np.array_equal(same[0], same[2])


@pytest.mark.parametrize("noise", [0.0, 1e6])
def test_nystrom_draws_no_landmark_twice(noise):
    # Far from the origin sparse records, which cannot be shifted, have kernel values that are off
    # by far more than the tolerance, so that residuals are mere rounding errors.
    X = sparse.csr_array(np.repeat(records(300)[0], 2, axis=0) + noise)
    feature_map, _ = fit_features(X, "rbf", gamma=0.3, tol=0.0, exact_limit=0, rng=0)
    assert len(np.unique(feature_map.pivots)) == len(feature_map.pivots)


def test_near_duplicates_do_not_hurt_nystrom():
    X = np.repeat(records(40)[0], 10, axis=0)
    X += 1e-9 * np.random.default_rng(0).normal(size=X.shape)
    feature_map, rows = fit_features(X, "rbf", gamma=0.3, exact_limit=0, n_components=200, rng=0)
    assert feature_map.exact
    assert rows.shape[1] <= 40
    np.testing.assert_allclose(rows @ rows.T, kernel_matrix(X, X, "rbf", gamma=0.3), atol=2e-6)


@pytest.mark.parametrize("limit", [0, 4000])
@pytest.mark.parametrize("case", DEFINITE)
def test_sparse_records_have_the_rows_of_dense_ones(case, limit):
    kernel, params = named(case)
    X, new = records(120)[0], records(20, seed=1)[0]
    options = {"exact_limit": limit, "n_components": 40, "rng": 0, **params}
    _, dense = fit_features(X, kernel, **options)
    sparse_map, rows = fit_features(sparse.csr_matrix(X), kernel, **options)
    assert sparse.issparse(sparse_map.basis)
    np.testing.assert_allclose(
        rows @ rows.T, dense @ dense.T, rtol=1e-5, atol=2e-6 * np.abs(dense).max() ** 2
    )
    np.testing.assert_allclose(
        sparse_map.transform(sparse.csc_array(new)), sparse_map.transform(new), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("case", DEFINITE)
def test_block_size_does_not_change_rows(case, monkeypatch):
    kernel, params = named(case)
    X, new = records()[0], records(50, seed=1)[0]
    feature_map, _ = fit_features(X, kernel, **params)
    expected = feature_map.transform(new)
    for block_bytes in (1, 8 * 80 * 7):
        monkeypatch.setattr(features, "BLOCK_BYTES", block_bytes)
        np.testing.assert_allclose(feature_map.transform(new), expected, rtol=1e-9, atol=1e-10)


# ------------------------------------------------------------------ precomputed


@pytest.mark.parametrize("limit", [0, 4000])
def test_precomputed_kernel_is_the_kernel(limit):
    X, y = records()
    new = records(30, seed=1)[0]
    K, K_new = kernel_matrix(X, X, "rbf", gamma=0.3), kernel_matrix(new, X, "rbf", gamma=0.3)
    before = K.copy()
    feature_map, rows = fit_features(K, "precomputed", tol=TIGHT, exact_limit=limit, rng=0)
    np.testing.assert_array_equal(K, before)
    expected = svc("rbf", gamma=0.3).fit(X, y).decision_function(new)
    found = svc().fit(rows, y).decision_function(feature_map.transform(K_new))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_precomputed_transform_reads_the_pivots_only():
    X = np.repeat(records(20)[0], 3, axis=0)
    K = kernel_matrix(X, X, "rbf", gamma=0.3)
    feature_map, rows = fit_features(K, "precomputed", exact_limit=40, n_components=50, rng=0)
    K_new = K.copy()
    K_new[:, np.setdiff1d(np.arange(60), feature_map.pivots)] = np.nan
    np.testing.assert_allclose(feature_map.transform(K_new), rows, atol=1e-9)
    with pytest.raises(ValueError, match=r"60 columns, got shape \(60, 20\)"):
        feature_map.transform(K[:, :20])
    with pytest.raises(ValueError, match="dense"):
        feature_map.transform(sparse.csr_array(K))


def test_precomputed_kernel_in_single_precision_is_no_error():
    X = records(200)[0]
    K = kernel_matrix(X, X, "rbf", gamma=0.05)
    _, rows = fit_features(K.astype(np.float32), "precomputed")
    np.testing.assert_allclose(rows @ rows.T, K, atol=1e-5)


ROOTS = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # eigenvalues -1, 1, 3


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.ones((3, 2)), r"square, got shape \(3, 2\)"),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), r"symmetric.*differ by 0\.1"),
        (ROOTS, r"semidefinite, got smallest eigenvalue -1, largest 3"),
        (np.array([[0.0, 1.0], [1.0, 0.0]]), r"smallest eigenvalue -1, largest 1"),
        (-np.eye(3), r"smallest eigenvalue -1"),
        (np.eye(50) - 0.03, r"smallest eigenvalue -0\.5"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "finite"),
        (sparse.eye_array(3), "dense"),
    ],
)
@pytest.mark.parametrize("limit", [0, 4000])
def test_bad_precomputed_kernel_is_refused(K, message, limit):
    with pytest.raises(ValueError, match=message):
        fit_features(K, "precomputed", exact_limit=limit, rng=0)


# ------------------------------------------------------------------ indefinite kernels


@pytest.mark.parametrize("limit", [0, 4000])
def test_indefinite_kernel_is_replaced_by_its_positive_part(limit):
    X, y = records()
    new = records(30, seed=1)[0]
    K = reference(X, X, "sigmoid", **SIGMOID)
    values, vectors = np.linalg.eigh(K)
    share = -values[values < 0].sum() / np.abs(values).sum()
    with pytest.warns(UserWarning, match=rf"'sigmoid' is indefinite.*{share:.2%}"):
        feature_map, rows = fit_features(X, "sigmoid", exact_limit=limit, rng=0, **SIGMOID)
    clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
    np.testing.assert_allclose(rows @ rows.T, clipped, atol=1e-6)
    assert rows.flags.c_contiguous
    np.testing.assert_allclose(feature_map.transform(X), rows, atol=1e-9)

    # Values of a new record count as far as they lie in the span of the positive part.
    positive = vectors[:, values > 0] @ vectors[:, values > 0].T
    K_new = reference(new, X, "sigmoid", **SIGMOID) @ positive
    expected = svc("precomputed").fit(clipped, y).decision_function(K_new)
    found = svc().fit(rows, y).decision_function(feature_map.transform(new))
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_sigmoid_svm_is_that_of_libsvm_where_the_kernel_is_definite():
    X, y = records(20, 60)
    params = {"gamma": 0.002, "coef0": 0.0}
    feature_map, rows = fit_features(X, "sigmoid", tol=TIGHT, **params)
    new = records(30, 60, seed=1)[0]
    expected = svc("sigmoid", **params).fit(X, y).decision_function(new)
    found = svc().fit(rows, y).decision_function(feature_map.transform(new))
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_polynomial_with_negative_offset_may_be_indefinite():
    X = records()[0]
    with pytest.warns(UserWarning, match="'poly' is indefinite"):
        fit_features(X, "poly", gamma=0.3, degree=3, coef0=-2.0)


@pytest.mark.parametrize("limit", [0, 4000])
def test_kernel_without_positive_part_gives_one_empty_column(limit):
    X = records()[0]
    feature_map, rows = fit_features(0.0 * X, "poly", gamma=1.0, exact_limit=limit, rng=0)
    np.testing.assert_array_equal(rows, np.zeros((80, 1)))
    np.testing.assert_array_equal(feature_map.transform(X), np.zeros((80, 1)))
    with pytest.warns(UserWarning, match="indefinite"):
        _, rows = fit_features(0.0 * X, "sigmoid", gamma=1.0, coef0=-1.0, exact_limit=limit, rng=0)
    np.testing.assert_array_equal(rows, np.zeros((80, 1)))


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "gauss"}, "linear, rbf, poly, sigmoid, precomputed, got 'gauss'"),
        ({"kernel": np.dot}, "not a callable"),
        ({"kernel": None}, "got None"),
        ({"kernel": "rbf", "gamma": 0.0}, r"gamma must be .* > 0, got 0\.0"),
        ({"kernel": "rbf", "gamma": -1}, "got -1"),
        ({"kernel": "rbf", "gamma": np.inf}, "got inf"),
        ({"kernel": "rbf", "gamma": "median"}, "got 'median'"),
        ({"kernel": "poly", "degree": 2.5}, r"degree must be an integer >= 1, got 2\.5"),
        ({"kernel": "poly", "degree": 0}, "got 0"),
        ({"kernel": "poly", "coef0": np.nan}, "coef0 must be a finite number, got nan"),
        ({"kernel": "rbf", "n_components": 0}, "n_components must be .* >= 1, got 0"),
        ({"kernel": "poly", "gamma": 1.0, "degree": 2000}, "'poly'.*degree=2000.*not finite"),
        (
            {"kernel": "poly", "gamma": 1.0, "degree": 2000, "exact_limit": 0},
            "'poly'.*degree=2000.*not finite",
        ),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        fit_features(records()[0], **options)


def test_bad_tables_are_named():
    X = records()[0]
    with pytest.raises(ValueError, match="1 axes"):
        fit_features(X[0])
    for kernel in ("linear", "rbf"):
        feature_map, _ = fit_features(X, kernel)
        with pytest.raises(ValueError, match=r"5 columns, got shape \(80, 4\)"):
            feature_map.transform(X[:, :4])
        with pytest.raises(ValueError, match=r"5 columns, got shape \(5,\)"):
            feature_map.transform(X[0])
    with pytest.raises(ValueError, match="only the linear kernel"):
        feature_map.input_coef(np.ones(3))
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fit_features(X, "rbf", gamma=1.0)
