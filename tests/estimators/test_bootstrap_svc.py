from __future__ import annotations

import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import accuracy_score, balanced_accuracy_score, recall_score, roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmproba.bootstrap.fitting.members as members
import svmproba.bootstrap.summaries.blocks as blocks
from svmproba import EBB, BootstrapSVC
from svmproba.bootstrap.summaries.votes import DECIMALS


def table(n=80, d=4, seed=0):
    """Two overlapping classes, so that votes are split."""
    return make_classification(
        n, d, n_informative=3, n_redundant=0, flip_y=0.15, class_sep=0.6, random_state=seed
    )


def small(**params):
    defaults = {"Cs": [0.05, 0.5, 5.0], "n_bootstraps": 40, "random_state": 0}
    return BootstrapSVC(**(defaults | params))


@pytest.fixture(scope="module")
def data():
    return table()


@pytest.fixture(scope="module")
def model(data):
    return small().fit(*data)


def all_scores(model, X):
    """Scores (n_theta, n_bootstraps, n) from the public coefficients."""
    return model.member_coef_ @ X.T + model.intercept_[:, :, np.newaxis]


# The method, by brute force


def test_shapes_and_names(model, data):
    X, _ = data
    assert EBB is BootstrapSVC
    assert model.member_coef_.shape == (3, 40, 4)
    assert model.intercept_.shape == model.duality_gap_.shape == (3, 40)
    assert model.counts_.shape == (40, 80)
    assert model.reliability_.shape == model.weights_.shape == (3,)
    assert model.vote_shares(X[:7]).shape == (3, 7)
    assert model.oob_proba_.shape == (80, 2)
    assert model.thetas_["C"].tolist() == [0.05, 0.5, 5.0]
    assert np.isnan(model.thetas_["gamma"]).all()
    assert model.threshold_ == 0.0
    assert model.n_redraws_ == 0
    assert model.duality_gap_.max() <= model.tol


def test_default_grid_is_the_papers():
    X, y = table(30)
    model = BootstrapSVC(n_bootstraps=15, random_state=0).fit(X, y)
    assert model.thetas_["C"].tolist() == [2.0**k for k in range(-5, 6)]


def test_votes_by_loop(model, data):
    X, _ = data
    scores = all_scores(model, X)
    for theta in range(3):
        for i in range(len(X)):
            share = np.mean([f > 0 for f in scores[theta, :, i]])
            assert model.vote_shares(X)[theta, i] == share
    mixture = sum(model.weights_[t] * model.vote_shares(X)[t] for t in range(3))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], mixture, atol=10.0**-DECIMALS)


def test_out_of_bag_probabilities_by_loop(model, data):
    X, y = data
    scores = all_scores(model, X)
    for i in range(len(X)):
        left_out = np.flatnonzero(model.counts_[:, i] == 0)
        P = sum(model.weights_[t] * (scores[t, left_out, i] > 0).mean() for t in range(3))
        assert model.oob_proba_[i, 1] == pytest.approx(P, abs=10.0**-DECIMALS)
    np.testing.assert_allclose(model.oob_proba_.sum(axis=1), 1)
    assert model.oob_score_ == accuracy_score(y, model.oob_proba_[:, 1] >= 0.5)


MEASURES = {
    "accuracy": lambda y, f: accuracy_score(y, f > 0),
    "balanced_accuracy": lambda y, f: balanced_accuracy_score(y, f > 0),
    "g_mean": lambda y, f: np.sqrt(recall_score(y, f > 0) * recall_score(1 - y, f <= 0)),
    "auc": roc_auc_score,
}


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("epsilon", [0.0, 0.02, np.inf])
def test_reliability_and_weights_by_hand(name, epsilon, data):
    X, y = data
    model = small(reliability=name, epsilon=epsilon).fit(X, y)
    scores = all_scores(model, X)
    r = np.zeros(3)
    for t in range(3):
        outs = [model.counts_[b] == 0 for b in range(40)]
        r[t] = np.mean([MEASURES[name](y[o], scores[t, b, o]) for b, o in enumerate(outs)])
    np.testing.assert_allclose(model.reliability_, r)
    kept = r >= r.max() - epsilon
    np.testing.assert_allclose(model.weights_, np.where(kept, r, 0) / r[kept].sum())


def test_epsilon_zero_is_the_best_theta(data):
    X, y = data
    model = small(epsilon=0.0).fit(X, y)
    best = np.argmax(model.reliability_)
    assert np.count_nonzero(model.weights_) == 1
    np.testing.assert_array_equal(model.predict_proba(X)[:, 1], model.vote_shares(X)[best])


def test_bag_is_the_resampled_rows(data):
    X, y = data
    model = small(n_bootstraps=15, tol=1e-7).fit(X, y)
    for t, C in enumerate(model.thetas_["C"]):
        for b in (0, 7, 14):
            drawn = np.repeat(np.arange(len(X)), model.counts_[b])
            twin = SVC(kernel="linear", C=C, tol=1e-8).fit(X[drawn], y[drawn])
            scores = X @ model.member_coef_[t, b] + model.intercept_[t, b]
            np.testing.assert_allclose(scores, twin.decision_function(X), atol=2e-3)


# Invariants (METHODS 13)


tables = st.builds(table, n=st.integers(20, 50), d=st.integers(3, 6), seed=st.integers(0, 10**6))
few = settings(max_examples=12, deadline=None, derandomize=True)


def fast(**params):
    return small(Cs=[0.1, 1.0], n_bootstraps=25, **params)


@few
@given(tables)
def test_outputs_are_probabilities(xy):
    X, y = xy
    model = fast().fit(X, y)
    P = model.predict_proba(X)
    assert np.all((P >= 0) & (P <= 1))
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), (P[:, 1] >= 0.5).astype(int))


@few
@given(tables)
def test_label_flip_gives_the_complement(xy):
    X, y = xy
    P, flipped = (fast().fit(X, labels).predict_proba(X)[:, 1] for labels in (y, 1 - y))
    np.testing.assert_allclose(flipped, 1 - P, atol=10.0**-DECIMALS)


@few
@given(tables, st.randoms(use_true_random=False))
def test_order_of_columns_does_not_matter(xy, random):
    X, y = xy
    columns = list(range(X.shape[1]))
    random.shuffle(columns)
    P = fast(tol=1e-6).fit(X, y).predict_proba(X)
    permuted = fast(tol=1e-6).fit(X[:, columns], y).predict_proba(X[:, columns])
    np.testing.assert_allclose(permuted, P, atol=10.0**-DECIMALS)


@few
@given(tables)
def test_same_seed_same_output(xy):
    X, y = xy
    first, again = (fast().fit(X, y) for _ in range(2))
    assert np.array_equal(first.member_coef_, again.member_coef_)
    assert np.array_equal(first.predict_proba(X), again.predict_proba(X))


def test_random_state(data):
    X, y = data
    counts = small().fit(X, y).counts_
    assert not np.array_equal(small(random_state=1).fit(X, y).counts_, counts)
    state = np.random.RandomState(0)
    first = small(random_state=state).fit(X, y).counts_
    assert np.array_equal(first, counts)
    assert not np.array_equal(small(random_state=state).fit(X, y).counts_, counts)


def test_bags_do_not_depend_on_the_table(data):
    X, y = data
    assert np.array_equal(small().fit(X, y).counts_, small(Cs=[1.0]).fit(X[:, :2], y).counts_)


def test_n_jobs_and_block_size_do_not_matter(model, data, monkeypatch):
    X, y = data
    parallel = small(n_jobs=2).fit(X, y)
    assert np.array_equal(parallel.member_coef_, model.member_coef_)
    P = model.predict_proba(X)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 8 * 1000)
    assert len(list(parallel.member_scores(X))) > 5
    assert np.array_equal(parallel.predict_proba(X), P)


def test_member_scores_gives_every_member(model, data):
    X, _ = data
    seen = np.zeros(len(X), dtype=int)
    for block, scores in model.member_scores(X):
        seen[block] += 1
        np.testing.assert_allclose(scores, all_scores(model, X[block]))
    assert seen.tolist() == [1] * len(X)


def test_memory_of_prediction_is_bounded(model):
    X = np.random.default_rng(0).normal(size=(100_000, 4))
    tracemalloc.start()
    model.predict_proba(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 8 * X.shape[0] * model.intercept_.size > 90 * 2**20  # what all scores would take
    assert peak < 40 * 2**20


# Weights


def test_class_weight_equals_sample_weight(data):
    X, y = data
    by_class = small(class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    by_record = small().fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    assert np.array_equal(by_class.member_coef_, by_record.member_coef_)
    assert np.array_equal(by_class.oob_proba_, by_record.oob_proba_)


def test_balanced_class_weight(data):
    X, y = data
    keep = np.flatnonzero((y == 1) | (np.arange(len(y)) < 40))
    X, y = X[keep], y[keep]
    factor = len(y) / (2 * np.bincount(y))
    named = small(class_weight={0: factor[0], 1: factor[1]}).fit(X, y)
    assert np.array_equal(small(class_weight="balanced").fit(X, y).member_coef_, named.member_coef_)


def test_weights_multiply_C(data):
    X, y = data
    doubled = small(Cs=[0.5, 1.0], tol=1e-6).fit(X, y, sample_weight=np.full(len(y), 2.0))
    plain = small(Cs=[1.0, 2.0], tol=1e-6).fit(X, y)
    assert np.array_equal(doubled.counts_, plain.counts_)
    np.testing.assert_allclose(doubled.member_coef_, plain.member_coef_, atol=2e-3)


def test_a_scalar_weight_is_taken(data):
    X, y = data
    ones = small().fit(X, y, sample_weight=np.ones(len(y)))
    assert np.array_equal(small().fit(X, y, sample_weight=1.0).member_coef_, ones.member_coef_)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_weight_zero_is_absence(kernel, data):
    X, y = data
    weight = np.ones(len(y))
    weight[::5] = 0
    kept = weight > 0
    train, test = (X, X) if kernel != "precomputed" else (rbf_kernel(X), rbf_kernel(X))
    dropped_train = train[kept] if kernel != "precomputed" else train[np.ix_(kept, kept)]
    dropped_test = test if kernel != "precomputed" else test[:, kept]
    weighted = small(kernel=kernel).fit(train, y, sample_weight=weight)
    dropped = small(kernel=kernel).fit(dropped_train, y[kept])
    assert np.array_equal(weighted.predict_proba(test), dropped.predict_proba(dropped_test))
    assert np.array_equal(weighted.oob_proba_[kept], dropped.oob_proba_)
    assert np.isnan(weighted.oob_proba_[~kept]).all()
    assert np.array_equal(weighted.counts_[:, kept], dropped.counts_)
    assert not weighted.counts_[:, ~kept].any()
    assert weighted.oob_score_ == dropped.oob_score_


# Kernels


def test_grid_of_gammas(data):
    X, y = data
    model = small(kernel="rbf", gammas=[1.0, "scale", 0.01, 1.0], Cs=[2.0, 0.5]).fit(X, y)
    scale = 1 / (X.shape[1] * X.var())
    expected = [(C, g) for g in sorted([0.01, scale, 1.0]) for C in (0.5, 2.0)]
    np.testing.assert_allclose(model.thetas_[["C", "gamma"]].tolist(), expected)
    assert model.intercept_.shape == (6, 40)
    alone = small(kernel="rbf", gammas=1.0, Cs=[0.5, 2.0]).fit(X, y)
    place = np.flatnonzero(model.thetas_["gamma"] == 1.0)
    assert np.array_equal(model.vote_shares(X)[place], alone.vote_shares(X))
    assert np.array_equal(model.reliability_[place], alone.reliability_)
    with pytest.raises(AttributeError, match="only available with kernel='linear'"):
        _ = model.member_coef_
    assert not hasattr(model, "member_coef_")


@pytest.mark.parametrize("name", ["linear", "rbf"])
def test_precomputed_kernel_is_the_same_model(name, data):
    X, y = data
    K = X @ X.T if name == "linear" else rbf_kernel(X, gamma=0.3)
    by_name = small(kernel=name, gammas=0.3, tol=1e-6).fit(X, y)
    by_matrix = small(kernel="precomputed", tol=1e-6).fit(K, y)
    np.testing.assert_allclose(by_matrix.intercept_, by_name.intercept_, atol=5e-3)
    difference = np.abs(by_matrix.vote_shares(K) - by_name.vote_shares(X))
    assert difference.mean() < 1e-3


# Labels


def test_string_labels_and_pos_label(data):
    X, y = data
    names = np.array(["good", "bad"])[y]
    model = small(pos_label="bad").fit(X, names)
    assert model.classes_.tolist() == ["bad", "good"]
    assert model.pos_label_ == "bad"
    assert set(model.predict(X)) == {"bad", "good"}
    reference = small().fit(X, y)  # 1 is "bad", the class of interest here too
    assert np.array_equal(model.vote_shares(X), reference.vote_shares(X))
    assert np.array_equal(model.predict_proba(X), reference.predict_proba(X)[:, ::-1])
    assert np.array_equal(model.oob_proba_, reference.oob_proba_[:, ::-1])
    assert model.oob_score_ == reference.oob_score_


@pytest.mark.parametrize(("pos_label", "tied"), [(None, 1), (1, 1), (0, 0)])
def test_one_half_goes_to_the_class_of_interest(pos_label, tied):
    """Without any information every score is a toss-up between bags."""
    X, y = np.zeros((40, 1)), np.arange(40) % 2
    model = small(pos_label=pos_label).fit(X, y)
    model.ensemble_.members.intercept[:] = 0.0
    assert model.predict_proba(X[:1]).tolist() == [[0.5, 0.5]]
    assert model.predict(X[:1]).tolist() == [tied]


@pytest.mark.parametrize("kind", [bool, np.int8, float, str, object])
def test_label_types(kind, data):
    X, y = data
    labels = y.astype(str).astype(object) if kind is object else y.astype(kind)
    model = small(Cs=[1.0]).fit(X, labels)
    assert model.classes_.dtype == labels.dtype
    assert model.score(X, labels) > 0.6


# Tables


def test_pandas_polars_sparse_and_lists_are_the_same(model, data):
    X, y = data
    P = model.predict_proba(X)
    columns = ["age", "income", "debt", "tenure"]
    for frame, series in (
        (pd.DataFrame(X, columns=columns), pd.Series(y)),
        (pl.DataFrame(X, schema=columns), pl.Series(y)),
    ):
        fitted = small().fit(frame, series)
        assert fitted.feature_names_in_.tolist() == columns
        assert np.array_equal(fitted.predict_proba(frame), P)
        with pytest.raises(ValueError, match="feature names should match"):
            fitted.predict(frame[columns[::-1]])
    assert np.array_equal(small().fit(X.tolist(), y.tolist()).predict_proba(X.tolist()), P)
    dense = small(tol=1e-6).fit(X, y)
    for container in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        fitted = small(tol=1e-6).fit(container(X), y)
        np.testing.assert_allclose(fitted.member_coef_, dense.member_coef_, atol=2e-3)
        np.testing.assert_allclose(fitted.predict_proba(container(X)), dense.predict_proba(X))


def test_float32_records_are_scored_in_float64(model, data):
    X = data[0].astype(np.float32)
    assert np.array_equal(model.predict_proba(X), model.predict_proba(X.astype(float)))


# scikit-learn's ways


def test_not_fitted():
    for method in ("predict", "predict_proba", "vote_shares", "member_scores"):
        with pytest.raises(NotFittedError):
            getattr(small(), method)(np.zeros((2, 2)))
    with pytest.raises(NotFittedError):
        small().rate_curve()
    with pytest.raises(NotFittedError):
        small().with_calibration("beta")
    with pytest.raises(NotFittedError):
        small().with_rate(tpr=0.9)
    assert not hasattr(small(), "member_coef_")


def test_pickle_and_clone(model, data):
    X, _ = data
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(copy.member_coef_, model.member_coef_)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "counts_")


def test_pipeline_grid_search_and_scorers(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), small(Cs=[1.0], n_bootstraps=20))
    grid = {"bootstrapsvc__epsilon": [0.0, np.inf], "bootstrapsvc__Cs": [[0.1], [0.1, 1.0]]}
    search = GridSearchCV(pipeline, grid, cv=3, scoring="neg_brier_score").fit(X, y)
    assert search.best_score_ > -0.3
    assert cross_val_score(pipeline, X, y, cv=3, scoring="roc_auc").mean() > 0.6


def test_precomputed_kernel_in_cross_validation(data):
    X, y = data
    scores = cross_val_score(small(kernel="precomputed", Cs=[1.0]), rbf_kernel(X), y, cv=3)
    assert scores.mean() > 0.6


def test_sample_weight_is_routed(data):
    X, y = data
    weight = np.where(y == 1, 5.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        member = small(Cs=[1.0]).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, member).fit(X, y, sample_weight=weight)
    direct = small(Cs=[1.0]).fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    assert np.array_equal(routed[-1].member_coef_, direct.member_coef_)


def test_fit_leaves_its_input_alone(data):
    X, y = data[0].copy(), data[1].copy()
    X.flags.writeable = y.flags.writeable = False
    small(Cs=[1.0]).fit(X, y)


# Warnings and progress


def test_unfinished_members_are_named(data, monkeypatch):
    real = members.fit_ensembles

    def sloppy(*args, **kwargs):
        (fit,) = real(*args, **kwargs)
        gap = fit.gap.copy()
        gap[0, :3] = [0.5, 0.02, np.nan]
        return [fit._replace(gap=gap)]

    monkeypatch.setattr(members, "fit_ensembles", sloppy)
    with pytest.warns(ConvergenceWarning, match=r"3 of 120 SVMs .* tol=0.001; the largest is"):
        small().fit(*data)


def test_records_in_every_bag(data):
    X, y = data
    with pytest.warns(UserWarning, match=r"\d+ samples are in every bag"):
        model = small(n_bootstraps=1).fit(X, y)
    inside = model.counts_[0] > 0
    assert np.isnan(model.oob_proba_[inside]).all()
    assert np.isfinite(model.oob_proba_[~inside]).all()
    assert 0 <= model.oob_score_ <= 1


def test_reliability_without_any_defined_bag():
    """With four records and one bag, some seeds leave only one class out."""
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    for seed in range(100):
        model = small(n_bootstraps=1, reliability="auc", random_state=seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y)
        left_out = y[model.counts_[0] == 0]
        undefined = len(np.unique(left_out)) < 2
        message = "reliability='auc' is defined in none of the 1 bags, so all hyperparameter values"
        assert undefined == any(str(w.message).startswith(message) for w in caught)
        if undefined:
            assert np.isnan(model.reliability_).all()
            assert model.weights_.tolist() == [1 / 3] * 3


def test_silent_by_default_and_talkative_on_request(data, capsys):
    small().fit(*data)
    assert capsys.readouterr() == ("", "")
    small(verbose=1).fit(*data)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("BootstrapSVC: 40 of 40 bags, done in ")


def test_lines_tell_the_time_left(data, capsys, monkeypatch):
    import svmproba.estimators.shared.progress as progress

    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    report = progress.FitProgress(BootstrapSVC(verbose=1), 10)
    for seconds in (20.0, *[2.0] * 9):  # compilation comes before the first bag
        now += seconds
        report(1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "BootstrapSVC: 1 of 10 bags"
    assert lines[1] == "BootstrapSVC: 2 of 10 bags, 16 s left"
    assert lines[-1] == "BootstrapSVC: 10 of 10 bags, done in 38.0 s"
    assert len(lines) == 10


class Recorder:
    """A callback that writes down what it is told."""

    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name, context.max_subtasks))

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.events.append(("end", context.task_name))
        if context.task_name == "fit":
            self.score = fitted_estimator.score(X, y)
            self.metadata = metadata


def test_callbacks_see_every_bag(data):
    pytest.importorskip("sklearn.callback")
    X, y = data
    recorder = Recorder()
    model = small(kernel="rbf", gammas=[0.1, 1.0], n_bootstraps=20).set_callbacks(recorder)
    model.fit(X, y, sample_weight=np.ones(80))
    events = recorder.events
    assert events[:2] == ["setup", ("begin", "fit", 40)]
    assert events[-2:] == [("end", "fit"), "teardown"]
    assert events.count(("end", "bag")) == 40
    assert recorder.score == model.score(X, y)
    assert recorder.metadata["sample_weight"].sum() == 80


def test_callbacks_are_closed_after_an_error(data):
    pytest.importorskip("sklearn.callback")

    class Bomb(Recorder):
        def on_fit_task_end(self, estimator, context):
            raise KeyboardInterrupt

    bomb = Bomb()
    with pytest.raises(KeyboardInterrupt):
        small().set_callbacks(bomb).fit(*data)
    assert bomb.events[-1] == "teardown"


def test_progress_bar_of_scikit_learn(data, capsys):
    callback = pytest.importorskip("sklearn.callback")
    pytest.importorskip("rich")
    bar = callback.ProgressBar()
    make_pipeline(StandardScaler(), small()).set_callbacks(bar).fit(*data)
    assert "BootstrapSVC" in capsys.readouterr().out


# Known data


def test_wisconsin():
    """The best C is small and reliabilities lie close together."""
    X, y = load_breast_cancer(return_X_y=True)
    model = BootstrapSVC(n_bootstraps=100, random_state=0).fit(StandardScaler().fit_transform(X), y)
    assert 0.95 < model.reliability_.min() < model.reliability_.max() < 0.98
    assert model.thetas_["C"][model.reliability_.argmax()] <= 0.25
    assert model.weights_.max() < 1.03 * model.weights_.min()
    assert model.oob_score_ > 0.965


def test_votes_are_stability_not_probability_of_the_label():
    """With a known P(y|x) the squared distance to it grows with the number of records."""

    def distance(n, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n + 2000, 2))
        truth = expit(X @ [1.5, 1.0])
        y = (rng.random(n + 2000) < truth).astype(int)
        model = BootstrapSVC(Cs=1.0, n_bootstraps=50, random_state=seed).fit(X[:n], y[:n])
        return np.mean((model.predict_proba(X[n:])[:, 1] - truth[n:]) ** 2)

    near, far = (np.mean([distance(n, seed) for seed in range(4)]) for n in (100, 800))
    assert far > 1.2 * near


def test_class_and_sample_weights_multiply(data):
    X, y = data
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    both = small(class_weight={0: 1.0, 1: 3.0}).fit(X, y, sample_weight=weight)
    product = small().fit(X, y, sample_weight=weight * np.where(y == 1, 3.0, 1.0))
    assert np.array_equal(both.member_coef_, product.member_coef_)
