import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from svmproba.paper.tables import read_table
from svmproba.preparation import folds
from svmproba.preparation.folds import out_of_fold, split_parts
from svmproba.preparation.performance import summarise
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
    values, fold, _ = out_of_fold(LogisticRegression(), X, y, random_state=3)
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

    values, fold, seconds = out_of_fold(
        Counter(),
        X,
        y,
        readers={
            "one": lambda model, rows: np.full(len(rows), model.mean_),
            "three": lambda model, rows: rows[:, :3],
        },
        n_folds=5,
        progress=told.append,
    )
    assert n_fits == [96] * 5
    assert told == [1, 2, 3, 4, 5]
    assert set(seconds) == {"one", "three"}
    assert min(seconds.values()) > 0
    assert values["one"].shape == (120,)
    assert values["three"].shape == (120, 3)
    assert np.bincount(fold).tolist() == [24] * 5


def test_fair_folds_are_a_stratified_partition_for_every_method(table):
    _, y = table
    parts = split_parts("fair", y, bootstrap=True, n_folds=5, n_repeats=2, seed=7)
    twins = split_parts("fair", y, bootstrap=False, n_folds=5, n_repeats=2, seed=7)
    for part, twin in zip(parts, twins, strict=True):
        np.testing.assert_array_equal(part.test, twin.test)
        assert abs(y[part.test].sum() - y.sum() / 5) < 1
        assert not np.intersect1d(part.train, part.test).size
    for repeat in (0, 1):
        tests = [part.test for part in parts if part.repeat == repeat]
        np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.arange(len(y)))
    assert not np.array_equal(parts[0].test, parts[5].test)
    other = split_parts("fair", y, bootstrap=True, n_folds=5, n_repeats=1, seed=8)
    for part, twin in zip(parts[5:], other, strict=True):
        np.testing.assert_array_equal(part.test, twin.test)


@pytest.mark.parametrize("row", read_table(1), ids=lambda row: row["dataset"])
def test_the_tenth_held_out_has_the_size_of_the_paper(row):
    y = np.zeros(int(row["records"]), dtype=np.int64)
    (part,) = split_parts("paper", y, bootstrap=True)
    assert (len(part.test), len(part.train)) == (row["validation"], row["training"])
    assert np.union1d(part.train, part.test).size == len(y)


def test_the_tenth_is_not_stratified_and_rivals_have_folds():
    y = np.repeat([0, 1], [823, 35])
    counts = [y[part.test].sum() for part in split_parts("paper", y, bootstrap=True, n_repeats=50)]
    # Hypergeometric: mean 3.5, standard deviation 1.74; folds would always have 3 or 4.
    assert 2.5 < np.mean(counts) < 4.5
    assert 1.2 < np.std(counts) < 2.3
    folds = split_parts("paper", y, bootstrap=False)
    assert sorted(np.concatenate([part.test for part in folds])) == list(range(858))
    assert len(folds) == 10


def test_unknown_protocol():
    with pytest.raises(ValueError, match="protocol must be one of fair, paper, got 'kind'"):
        split_parts("kind", np.zeros(20), bootstrap=True)


def test_seconds_are_those_of_fits_and_readings(monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr(folds, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    X, y = pd.DataFrame({"a": np.arange(20.0)}), np.arange(20) % 2
    assert out_of_fold(LogisticRegression(), X, y, n_folds=4).seconds == {"proba": 2 * 4}
