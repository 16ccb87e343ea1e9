"""Summaries of predicted probabilities and their standard errors, by their definitions."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, brier_score_loss, roc_auc_score

from svmproba.preparation.performance import summarise, summarise_classes


def test_fold_without_positives():
    y, fold = np.array([0, 0, 1, 0]), np.array([0, 0, 1, 1])
    summary = summarise(y, np.array([0.5, 0.0, 1.0, 0.0]), fold)
    assert summary.mse == pytest.approx(0.0625)
    assert summary.auc == 1.0
    assert np.isnan(summary.auc_se)


def test_repeats_do_not_feign_more_records():
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=120)
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


def test_several_classes_by_the_measures_of_scikit_learn():
    rng = np.random.default_rng(0)
    label, P = rng.integers(3, size=90), rng.dirichlet(np.ones(3), 90)
    found = summarise_classes(label, P)
    assert found.brier == pytest.approx(brier_score_loss(label, P, labels=[0, 1, 2]))
    assert found.accuracy == accuracy_score(label, P.argmax(axis=1))
    assert found.accuracy_se == pytest.approx(
        np.sqrt(found.accuracy * (1 - found.accuracy) / 89), rel=1e-12
    )
    pairs = []
    for k in range(3):
        for j in range(3):
            if k != j:
                two = np.isin(label, [k, j])
                pairs.append(roc_auc_score(label[two] == k, P[two, k]))
    assert found.auc == pytest.approx(np.mean(pairs))
