import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from svmproba.paper.protocol import cut_parts, out_of_fold, summarise
from svmproba.paper.tables import read_table
from svmproba.preparation.preprocessing import make_preprocessor


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "c"])
    X["kind"] = rng.choice(["u", "v", "w"], 120)
    X.loc[::9, "a"] = np.nan
    y = (X["b"] + (X["kind"] == "u") + rng.normal(size=120) > 0).to_numpy(np.int64)
    return X, y


def test_equals_cross_val_predict(table):
    X, y = table
    values, fold = out_of_fold(LogisticRegression(), X, y, random_state=3)
    folds = StratifiedKFold(10, shuffle=True, random_state=3)
    model = make_pipeline(make_preprocessor(X), LogisticRegression())
    twin = cross_val_predict(model, X, y, cv=folds, method="predict_proba")[:, 1]
    np.testing.assert_array_equal(values["proba"], twin)
    summary = summarise(y, twin, fold)
    aucs = [roc_auc_score(y[t], twin[t]) for _, t in folds.split(X, y)]
    assert summary.mse == pytest.approx(brier_score_loss(y, twin))
    assert summary.mse_se == pytest.approx(np.std((y - twin) ** 2, ddof=1) / np.sqrt(120))
    assert summary.auc == pytest.approx(np.mean(aucs))
    assert summary.auc_se == pytest.approx(np.std(aucs, ddof=1) / np.sqrt(10))
    share = y.mean()
    assert summary.mse == pytest.approx(share * summary.mse_plus + (1 - share) * summary.mse_minus)


def test_readers_share_one_fit_and_progress_is_told(table):
    X, y = table
    n_fits, told = [], []

    class Counter(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            n_fits.append(len(y))
            self.mean_ = y.mean()
            return self

    values, fold = out_of_fold(
        Counter(),
        X,
        y,
        readers={
            "one": lambda model, rows: np.full(len(rows), model.mean_),
            "three": lambda model, rows: rows[:, :3],
        },
        n_folds=5,
        progress=lambda done, total: told.append((done, total)),
    )
    assert n_fits == [96] * 5
    assert told == [(k, 5) for k in range(1, 6)]
    assert values["one"].shape == (120,)
    assert values["three"].shape == (120, 3)
    assert np.bincount(fold).tolist() == [24] * 5


def test_fold_without_positives():
    y, fold = np.array([0, 0, 1, 0]), np.array([0, 0, 1, 1])
    summary = summarise(y, np.array([0.5, 0.0, 1.0, 0.0]), fold)
    assert summary.mse == pytest.approx(0.0625)
    assert summary.auc == 1.0
    assert np.isnan(summary.auc_se)


def test_fair_folds_are_a_stratified_partition_for_every_method(table):
    _, y = table
    parts = cut_parts("fair", y, bootstrap=True, n_folds=5, n_repeats=2, seed=7)
    twins = cut_parts("fair", y, bootstrap=False, n_folds=5, n_repeats=2, seed=7)
    for part, twin in zip(parts, twins, strict=True):
        np.testing.assert_array_equal(part.test, twin.test)
        assert abs(y[part.test].sum() - y.sum() / 5) < 1
        assert not np.intersect1d(part.train, part.test).size
    for repeat in (0, 1):
        tests = [part.test for part in parts if part.repeat == repeat]
        np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.arange(len(y)))
    assert not np.array_equal(parts[0].test, parts[5].test)
    other = cut_parts("fair", y, bootstrap=True, n_folds=5, n_repeats=1, seed=8)
    for part, twin in zip(parts[5:], other, strict=True):
        np.testing.assert_array_equal(part.test, twin.test)


@pytest.mark.parametrize("row", read_table(1), ids=lambda row: row["dataset"])
def test_the_tenth_held_out_has_the_size_of_the_paper(row):
    y = np.zeros(int(row["records"]), dtype=np.int64)
    (part,) = cut_parts("paper", y, bootstrap=True)
    assert (len(part.test), len(part.train)) == (row["validation"], row["training"])
    assert np.union1d(part.train, part.test).size == len(y)


def test_the_tenth_is_not_stratified_and_rivals_have_folds():
    y = np.repeat([0, 1], [823, 35])
    counts = [y[part.test].sum() for part in cut_parts("paper", y, bootstrap=True, n_repeats=50)]
    # Hypergeometric: mean 3.5, standard deviation 1.74; folds would always have 3 or 4.
    assert 2.5 < np.mean(counts) < 4.5
    assert 1.2 < np.std(counts) < 2.3
    folds = cut_parts("paper", y, bootstrap=False)
    assert sorted(np.concatenate([part.test for part in folds])) == list(range(858))
    assert len(folds) == 10


def test_unknown_protocol():
    with pytest.raises(ValueError, match="protocol must be one of fair, paper, got 'kind'"):
        cut_parts("kind", np.zeros(20), bootstrap=True)


def test_repeats_do_not_feign_more_records(table):
    _, y = table
    rng = np.random.default_rng(1)
    proba, fold, record = rng.uniform(size=120), np.arange(120) % 6, np.arange(120)
    once = summarise(y, proba, fold)
    thrice = summarise(
        np.tile(y, 3),
        np.tile(proba, 3),
        np.tile(fold, 3),
        repeat=np.repeat([0, 1, 2], 120),
        record=np.tile(record, 3),
    )
    assert thrice == pytest.approx(once)
    assert once.mse_plus_se == pytest.approx(
        np.std((1 - proba[y == 1]) ** 2, ddof=1) / np.sqrt(y.sum())
    )


def test_error_of_a_single_area_under_the_curve():
    """DeLong's formula against the spread of fresh samples."""
    rng = np.random.default_rng(0)
    y, areas, errors = np.repeat([0, 1], [60, 40]), [], []
    for _ in range(300):
        score = rng.normal(size=100) + y
        summary = summarise(y, np.round(1 / (1 + np.exp(-score)), 2), np.zeros(100, dtype=int))
        areas.append(summary.auc)
        errors.append(summary.auc_se)
    assert np.mean(errors) == pytest.approx(np.std(areas), rel=0.1)


def deviation(values):
    """Standard deviation of a sample, by its definition."""
    mean = sum(values) / len(values)
    return (sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5


@pytest.mark.parametrize("n_folds", [2, 3])
def test_standard_errors_by_their_definitions(n_folds):
    rng = np.random.default_rng(2)
    y, fold = np.tile([0, 1, 1, 0, 0], 6), np.arange(30) // 5 % n_folds
    repeat, proba = np.repeat([0, 1], 15), rng.random(30)
    summary = summarise(y, proba, fold, repeat=repeat)
    squares = (y - proba) ** 2
    for name, chosen in (("mse", y >= 0), ("mse_plus", y == 1), ("mse_minus", y == 0)):
        expected = deviation(squares[chosen]) / np.sqrt(chosen.sum())
        assert getattr(summary, f"{name}_se") == pytest.approx(expected), name
    areas = [
        [
            roc_auc_score(y[part], proba[part])
            for k in range(n_folds)
            for part in [(fold == k) & here]
        ]
        for here in (repeat == 0, repeat == 1)
    ]
    # Repeats use the same records: they make the error of one repeat more precise, not smaller.
    of_one = [deviation(of_repeat) ** 2 / n_folds for of_repeat in areas]
    assert summary.auc_se == pytest.approx(np.sqrt(np.mean(of_one)))
    # One part a repeat: the parts are drawn anew each time.
    summary = summarise(y, proba, np.zeros(30, dtype=int), repeat=np.arange(30) // 10)
    thirds = [roc_auc_score(y[k : k + 10], proba[k : k + 10]) for k in (0, 10, 20)]
    assert summary.auc_se == pytest.approx(deviation(thirds) / np.sqrt(3))


def test_delong_by_its_definition():
    """The variance of the placements of either class, divided by its size."""
    y, proba = np.array([1, 1, 1, 0, 0, 0, 0]), np.array([0.9, 0.4, 0.6, 0.4, 0.1, 0.7, 0.2])
    wins = (proba[y == 1][:, None] > proba[y == 0]) + 0.5 * (
        proba[y == 1][:, None] == proba[y == 0]
    )
    expected = deviation(wins.mean(axis=1)) ** 2 / 3 + deviation(wins.mean(axis=0)) ** 2 / 4
    summary = summarise(y, proba, np.zeros(7, dtype=int))
    assert summary.auc_se == pytest.approx(np.sqrt(expected))
