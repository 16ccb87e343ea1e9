"""BootstrapSVC(resample="blb"), in memory and on tables of dask."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from svmproba import BootstrapSVC

N = 4000


def table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=n) > 0.5, "yes", "no")
    return X, y


def little(**params):
    defaults = {"Cs": [0.1, 1.0], "n_bootstraps": 60, "random_state": 0}
    return BootstrapSVC(resample="blb", **(defaults | params))


@pytest.fixture(scope="module")
def fitted():
    return little().fit(*table())


NOT_REPETITION = "Bags are drawn from records: see tests/test_common.py."


@pytest.mark.filterwarnings("ignore:The vote shares of all samples are alike:UserWarning")
@parametrize_with_checks(
    [little(n_bootstraps=25)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": NOT_REPETITION,
        "check_sample_weight_equivalence_on_sparse_data": NOT_REPETITION,
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_attributes_speak_of_the_records_held_out(fitted):
    X, y = table()
    held = fitted.oob_records_
    assert held.shape == (800,)
    assert len(np.unique(held)) == 800
    assert (fitted.n_subsets_, fitted.subset_size_) == (6, 332)
    assert "SVMs on 6 subsets of 332 samples" in fitted._summary()[0]
    assert fitted.counts_.shape == (60, 800)
    assert not fitted.counts_.any()
    np.testing.assert_allclose(fitted.oob_proba_, fitted.predict_proba(X[held]), atol=1e-12)
    assert fitted.oob_score_ == (fitted.predict(X[held]) == y[held]).mean()
    assert fitted.duality_gap_.max() <= 1e-3


def test_everything_out_of_bag_works(fitted):
    X, y = table()
    held = fitted.oob_records_
    wary = fitted.with_rate(tpr=0.95)
    assert np.mean(wary.predict(X[held])[y[held] == "yes"] == "yes") >= 0.95
    for guarantee in ("oob", "jackknife+"):
        sure = fitted.with_rate(tpr=0.9, guarantee=guarantee)
        new_X, new_y = table(seed=1)
        assert np.mean(sure.predict(new_X)[new_y == "yes"] == "yes") > 0.87
    calibrated = fitted.with_calibration("platt")
    probable = calibrated.predict_proba(X)[:, 1]
    assert np.mean((probable - (y == "yes")) ** 2) < 0.17
    assert len(calibrated.decide(X[:5], fn_cost=3.0)) == 5
    for model in (fitted, calibrated):
        for kind in ("simulation", "sampling", "venn_abers"):
            limits = model.predict_proba_interval(X[:50], kind=kind)
            assert (limits[:, 0] <= limits[:, 1]).all()
    # The spread of the bags, and no more: calibrated probabilities of many records are sharp.
    widths = np.diff(calibrated.predict_proba_interval(X[:50]), axis=1)
    assert 0.005 < widths.mean() < 0.2
    assert fitted.score_interval(X[:5]).shape == (5, 2)


def test_result_does_not_depend_on_the_jobs(fitted):
    again = clone(fitted).set_params(n_jobs=2).fit(*table())
    np.testing.assert_array_equal(again.member_coef_, fitted.member_coef_)
    np.testing.assert_array_equal(again.oob_proba_, fitted.oob_proba_)


def test_a_bootstrap_after_little_ones_forgets_them(fitted):
    X, y = table(300)
    model = clone(fitted).fit(*table(2000)).set_params(resample="bootstrap").fit(X, y)
    assert model.oob_records_ is None
    assert model.counts_.shape == (60, 300)


def test_kernels_sparse_rows_and_weights():
    X, y = table()
    assert little(kernel="rbf", n_bootstraps=20).fit(X, y).oob_score_ > 0.75
    assert little(n_bootstraps=20).fit(sparse.csr_matrix(np.where(X > 0, X, 0)), y).oob_score_ > 0.7
    weight = np.where(np.arange(N) < N / 2, 0.0, 1.0)
    assert little(n_bootstraps=20).fit(X, y, weight).oob_records_.min() >= N / 2


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"resample": "none"}, "resample must be one of 'bootstrap', 'blb', got 'none'"),
        ({"subset_exponent": 0.2}, r"subset_exponent must be a number in \[0.5, 1\], got 0.2"),
        ({"kernel": "precomputed"}, "resample='blb' cannot take kernel='precomputed' apart"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        little().set_params(**params).fit(*table(100))


@pytest.fixture(scope="module")
def da():
    return pytest.importorskip("dask.array")


@pytest.fixture
def lazy(da):
    X, y = table()
    return da.from_array(X, chunks=(700, 3)), da.from_array(y, chunks=700)


def test_partitions_do_not_change_the_result(da, lazy, fitted, monkeypatch):
    def collect(*_, **__):
        raise AssertionError("the table was collected")

    with monkeypatch.context() as patch:
        for name in ("__array__", "compute"):
            patch.setattr(da.Array, name, collect)
        model = little().fit(*lazy)
        lazy_P, lazy_labels = model.predict_proba(lazy[0]), model.predict(lazy[0])
    for name in ("member_coef_", "oob_proba_", "oob_records_", "reliability_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(fitted, name))
    X, _ = table()
    assert lazy_P.shape == (N, 2)
    np.testing.assert_array_equal(lazy_P.compute(), fitted.predict_proba(X))
    np.testing.assert_array_equal(lazy_labels.compute(), fitted.predict(X))


def test_a_few_partitions_are_in_memory_at_a_time(da):
    dask = pytest.importorskip("dask")
    X, y = table(6000)
    alive, most = set(), []

    class Part(np.ndarray):
        def __del__(self):
            alive.discard(id(self))

    def load(k):
        part = X[100 * k : 100 * (k + 1)].copy().view(Part)
        alive.add(id(part))
        most.append(len(alive))
        return part

    parts = [
        da.from_delayed(dask.delayed(load)(k), (100, 4), dtype=X.dtype, meta=np.empty((0, 0)))
        for k in range(60)
    ]
    with dask.config.set(scheduler="synchronous"):
        little(n_bootstraps=20).fit(da.concatenate(parts), da.from_array(y, chunks=100))
    assert len(most) == 60
    assert max(most) <= 2


def test_data_frames(da, fitted):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y)
    parts = dd.from_pandas(frame, npartitions=5)
    model = little(class_weight="balanced").fit(parts[list("abcd")], parts["label"])
    known = little(class_weight="balanced").fit(frame[list("abcd")], frame["label"])
    np.testing.assert_array_equal(model.member_coef_, known.member_coef_)
    assert model.feature_names_in_.tolist() == list("abcd")
    P = model.predict_proba(parts[list("abcd")])
    np.testing.assert_array_equal(P.compute(), known.predict_proba(frame[list("abcd")]))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict_proba(parts[list("dcba")]).compute()
    with pytest.raises(ValueError, match="X must have numeric columns, got columns of type object"):
        little().fit(parts, parts["label"])


def test_files(fitted, tmp_path):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    pytest.importorskip("pyarrow")
    X, y = table()
    for k in range(10):
        part = slice(400 * k, 400 * (k + 1))
        frame = pd.DataFrame(X[part], columns=list("abcd")).assign(label=y[part])
        frame.to_parquet(tmp_path / f"{k}.parquet")
    frame = dd.read_parquet(tmp_path)
    model = little().fit(frame[list("abcd")], frame["label"])
    np.testing.assert_array_equal(model.member_coef_, fitted.member_coef_)
    P = model.predict_proba(frame[list("abcd")])
    np.testing.assert_array_equal(P.compute(), fitted.predict_proba(X))


def test_lazy_tables_are_refused_where_they_would_be_collected(da, lazy, fitted):
    X, y = lazy
    with pytest.raises(TypeError, match=r"BootstrapSVC\(resample='blb'\) takes it by partitions"):
        BootstrapSVC().fit(X, y)
    with pytest.raises(TypeError, match="predict_proba and predict take it by partitions"):
        fitted.vote_shares(X)
    with pytest.raises(TypeError, match="y must be a dask Series or array as X is, got ndarray"):
        little().fit(X, y.compute())
    with pytest.raises(ValueError, match="X and y must have the same partitions, got 6 and 40"):
        little().fit(X, y.rechunk(100))
    with pytest.raises(ValueError, match=r"one has [57]00 samples of X and [678]00 labels"):
        little().fit(X, y.rechunk(((600, 800, 700, 700, 700, 500),)))
    with pytest.raises(ValueError, match=r"at least 2 samples, .* class 1 of y has 1"):
        little().fit(X, da.from_array(np.eye(1, len(X), dtype=int)[0], y.chunks))
    with pytest.raises(ValueError, match="y must have two classes, got 3"):
        little().fit(X, (y == "yes").astype(int) + (X[:, 0] > 2))
    with pytest.raises(ValueError, match="sample_weight cannot be given with a table of dask"):
        little().fit(X, y, np.ones(N))


def test_empty_partitions(da, fitted):
    X, y = table()
    chunks = (0, 1000, 0, 3000)
    parts = da.from_array(X, chunks=((0, 1000, 0, 3000), 4)), da.from_array(y, chunks=(chunks,))
    model = little().fit(*parts)
    np.testing.assert_array_equal(model.member_coef_, fitted.member_coef_)
    np.testing.assert_array_equal(model.predict(parts[0]).compute(), fitted.predict(X))
