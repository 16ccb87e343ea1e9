"""Contributions of columns: Shapley values by enumeration, limits bag by bag, shap where it is."""

from dataclasses import replace
from itertools import permutations
from math import factorial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from svmproba import BootstrapSVC, ConstrainedBootstrapSVC, ThresholdBootstrapSVC, load, save

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4)) * [1.0, 2.0, 0.5, 1.0] + [0.0, 3.0, -1.0, 10.0]
y = np.where(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=80) > 1.5, "yes", "no")
NEW = rng.normal(size=(7, 4)) * [1.0, 2.0, 0.5, 1.0] + [0.0, 3.0, -1.0, 10.0]


def small(cls=BootstrapSVC, **options):
    return cls(**{"Cs": [0.1, 1.0], "n_bootstraps": 25, "random_state": 0, **options})


@pytest.fixture(scope="module")
def model():
    return small().fit(X, y)


def bag_scores(model, rows):
    """Mixture of the scores of every bag, from those of the members."""
    factors = model.weights_ / model.score_scales_
    return np.concatenate(
        [np.tensordot(factors, scores, axes=1) for _, scores in model.member_scores(rows)], axis=1
    )


def shapley(score, row, centre):
    """Mean over all orders of what each column adds when it becomes known."""
    found = np.zeros(len(row))
    for order in permutations(range(len(row))):
        known = centre.copy()
        before = score(known)
        for j in order:
            known[j] = row[j]
            after = score(known)
            found[j] += after - before
            before = after
    return found / factorial(len(row))


def test_values_are_shapley_values_of_the_mean_score(model):
    def score(row):
        return bag_scores(model, row[np.newaxis]).mean()

    found = model.contributions(NEW)
    for row, values in zip(NEW, found.values, strict=True):
        np.testing.assert_allclose(values, shapley(score, row, X.mean(axis=0)), atol=1e-10)
    assert found.base == pytest.approx(score(X.mean(axis=0)), abs=1e-10)


@pytest.mark.parametrize(
    "fitted",
    [
        small(class_weight=[None, "balanced"], calibration="platt"),
        small(epsilon=0.0, pos_label="no"),
        small(ThresholdBootstrapSVC, target_tpr=0.9),
        small(ConstrainedBootstrapSVC, min_tpr=0.8, n_bootstraps=15, effort="fast"),
        small(resample="blb", subset_exponent=0.8),
    ],
    ids=["families", "one value", "threshold", "constrained", "little"],
)
def test_values_sum_to_score_minus_mean_score(fitted):
    fitted.fit(X, y)
    found = fitted.contributions(NEW)
    total = found.values.sum(axis=1) + found.base
    np.testing.assert_allclose(total, bag_scores(fitted, NEW).mean(axis=0), rtol=0, atol=1e-9)
    by_rule = NEW @ fitted.mean_coef_ + fitted.mean_intercept_
    np.testing.assert_allclose(total, by_rule, rtol=0, atol=1e-9)
    seen = X if fitted.oob_records_ is None else X[fitted.oob_records_]
    at_mean = bag_scores(fitted, seen.mean(axis=0)[np.newaxis]).mean()
    assert found.base == pytest.approx(at_mean, abs=1e-9)


def test_positive_values_speak_for_the_class_of_interest(model):
    other = small(pos_label="no").fit(X, y)
    np.testing.assert_allclose(
        np.sign(model.contributions(NEW).values[:, :2]),
        -np.sign(other.contributions(NEW).values[:, :2]),
    )
    assert model.mean_coef_[0] > 0 > other.mean_coef_[0]


def test_limits_are_percentiles_over_the_bags(model):
    """A column alone changes; the others stay at their mean."""
    found = model.contributions(NEW, confidence=0.8)
    centre = X.mean(axis=0)
    for j in range(4):
        rows = np.tile(centre, (len(NEW), 1))
        rows[:, j] = NEW[:, j]
        by_bag = bag_scores(model, rows) - bag_scores(model, centre[np.newaxis])
        lower, upper = np.quantile(by_bag, [0.1, 0.9], axis=0)
        np.testing.assert_allclose(found.lower[:, j], lower, atol=1e-10)
        np.testing.assert_allclose(found.upper[:, j], upper, atol=1e-10)


def test_groups_are_added_before_the_limits(model):
    """Rows that occur twice too, and columns of a group that are not side by side."""
    rows = np.concatenate([NEW, NEW[:2]])
    single = model.contributions(rows)
    found = model.contributions(rows, groups=["b", "a", "b", "c"])
    assert found.names == ["b", "a", "c"]
    assert single.names == ["x0", "x1", "x2", "x3"]
    np.testing.assert_allclose(found.values[:, 0], single.values[:, [0, 2]].sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(found.values[:, 1], single.values[:, 1], atol=1e-12)
    np.testing.assert_allclose(found.upper[:, 2], single.upper[:, 3], atol=1e-12)
    centre = X.mean(axis=0)
    moved = np.tile(centre, (len(rows), 1))
    moved[:, [0, 2]] = rows[:, [0, 2]]
    by_bag = bag_scores(model, moved) - bag_scores(model, centre[np.newaxis])
    limits = np.quantile(by_bag, [0.025, 0.975], axis=0)
    np.testing.assert_allclose([found.lower[:, 0], found.upper[:, 0]], limits, atol=1e-10)


def test_background_and_names():
    frame = pd.DataFrame(X, columns=["age", "income", "debt", "years"])
    named = small().fit(frame, y)
    background = frame[y == "yes"]
    found = named.contributions(frame[:3], background=background)
    assert found.names == list(frame)
    expected = (X[:3] - X[y == "yes"].mean(axis=0)) * named.mean_coef_
    np.testing.assert_allclose(found.values, expected, atol=1e-10)


def test_sparse_rows_have_the_same_contributions(model):
    given = sparse.csr_array(np.where(NEW > 0, NEW, 0.0))
    for groups in (None, [0, 1, 0, 1]):
        found = model.contributions(given, groups=groups)
        dense = model.contributions(given.toarray(), groups=groups)
        for one, other in zip(found[:3], dense[:3], strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)
    fitted = small().fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(fitted.ensemble_.column_means, X.mean(axis=0))


def test_more_columns_than_samples():
    wide = rng.normal(size=(30, 60))
    labels = wide[:, 0] > 0
    fitted = small().fit(wide, labels)
    total = fitted.contributions(wide).values.sum(axis=1)
    means = bag_scores(fitted, wide).mean(axis=0)
    np.testing.assert_allclose(total, means - means.mean(), atol=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_constant_scores_have_no_contributions():
    """A class so rare that all scores are alike has infinite scales."""
    labels = np.arange(80) < 2
    fitted = small(Cs=[1e-6], class_weight=[None]).fit(X, labels)
    assert np.isinf(fitted.score_scales_).all()
    found = fitted.contributions(NEW)
    assert not np.any(found.values)
    assert found.base == 0.0


def test_every_class_has_contributions():
    """The score of a class is the mean of its scores against the others."""
    labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    fitted = small().fit(X, labels)
    scores = np.zeros((len(NEW), 3))
    at_mean = np.zeros(3)
    for rows, total in ((NEW, scores), (X.mean(axis=0)[np.newaxis], at_mean[np.newaxis])):
        of_pairs = np.concatenate([part for _, part in fitted.member_scores(rows)], axis=-1)
        for p, (first, second) in enumerate(fitted.pairs_):
            factors = fitted.weights_ / fitted.score_scales_[p]
            mean = np.tensordot(factors, of_pairs[p].mean(axis=1), axes=1) / 2
            total[:, first] -= mean
            total[:, second] += mean
    found = fitted.contributions(NEW)
    assert found.values.shape == found.lower.shape == (len(NEW), 4, 3)
    np.testing.assert_allclose(found.base, at_mean, atol=1e-9)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base, scores, atol=1e-9)
    by_rule = NEW @ fitted.mean_coef_.T + fitted.mean_intercept_
    np.testing.assert_allclose(by_rule, scores, atol=1e-9)
    np.testing.assert_allclose(found.values.sum(axis=2), 0, atol=1e-12)
    assert (found.lower <= found.upper).all()
    grouped = fitted.contributions(NEW, groups=[0, 0, 1, 1], background=NEW)
    np.testing.assert_allclose(grouped.values.mean(axis=0), 0, atol=1e-12)
    assert grouped.values.shape == (len(NEW), 2, 3)


@pytest.mark.parametrize("kernel", ["rbf", ["linear", "rbf"]])
def test_kernels_are_told_what_to_use(kernel):
    fitted = small(kernel=kernel).fit(X, y)
    with pytest.raises(ValueError, match=r"kernel='linear' only.*permutation_importance"):
        fitted.contributions(NEW)
    for name in ("member_coef_", "mean_coef_", "mean_intercept_"):
        assert not hasattr(fitted, name)
    assert fitted.ensemble_.column_means is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"groups": ["a", "b"]}, "groups must hold one label for each of the 4 columns, got 2"),
        ({"groups": "abcd"}, "groups must hold one label"),
        ({"confidence": 1.0}, "confidence"),
        ({"background": NEW[:, :3]}, "3 features"),
        ({"background": NEW[:0]}, "0 sample"),
    ],
)
def test_bad_input_is_named(model, options, said):
    with pytest.raises(ValueError, match=said):
        model.contributions(NEW, **options)


def test_files_keep_the_means_and_old_ones_ask_for_a_background(model, tmp_path):
    path = tmp_path / "model.svmproba"
    save(model, path)
    again = load(path)
    for one, other in zip(model.contributions(NEW)[:4], again.contributions(NEW)[:4], strict=True):
        np.testing.assert_array_equal(one, other)
    again.ensemble_ = replace(again.ensemble_, column_means=None)
    with pytest.raises(ValueError, match="background must be given"):
        again.contributions(NEW)
    found = again.contributions(NEW, background=X)
    np.testing.assert_allclose(found.values, model.contributions(NEW).values, atol=1e-12)


def test_shap_gives_the_same_numbers(model):
    shap = pytest.importorskip("shap")
    explainer = shap.LinearExplainer((model.mean_coef_, model.mean_intercept_), X)
    found = explainer(NEW)
    ours = model.contributions(NEW)
    np.testing.assert_allclose(found.values, ours.values, atol=1e-9)
    np.testing.assert_allclose(found.base_values, ours.base, atol=1e-9)


def test_shap_does_not_take_the_members_for_one_model(model):
    """It once read coef_ of all members and gave values of shape (n, p, 550)."""
    shap = pytest.importorskip("shap")
    with pytest.raises(TypeError, match="not callable"):
        shap.Explainer(model, X)
    by_proba = shap.Explainer(lambda rows: model.predict_proba(rows)[:, 1], X)(NEW[:2])
    assert by_proba.values.shape == (2, 4)
    assert not hasattr(model, "coef_")
