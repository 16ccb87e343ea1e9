import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from svmproba.paper.preprocessing import make_preprocessor
from svmproba.paper.protocol import out_of_fold, summarise


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
    briers = [brier_score_loss(y[t], twin[t]) for _, t in folds.split(X, y)]
    assert summary.mse == pytest.approx(brier_score_loss(y, twin))
    assert summary.mse_se == pytest.approx(np.std(briers, ddof=1) / np.sqrt(10))
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
