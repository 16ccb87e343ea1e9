import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import brier_score_loss

from svmproba.evaluation import class_mse, mse, reliability_curve
from svmproba.evaluation.metrics import clopper_pearson, is_positive, positive_label


def pairs(seed, n=200):
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(n), 2)
    return (rng.random(n) < p).astype(int), p


def test_mse_is_the_brier_score():
    y, p = pairs(0)
    assert mse(y, p) == pytest.approx(brier_score_loss(y, p), abs=1e-15)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1, allow_nan=False)), min_size=1, max_size=50)
)
def test_mse_is_the_mixture_of_class_mse(records):
    y, p = np.array([r[0] for r in records], dtype=int), np.array([r[1] for r in records])
    plus, minus = class_mse(y, p)
    n_plus = y.sum()
    parts = (n_plus * plus if n_plus else 0) + ((len(y) - n_plus) * minus if (y == 0).any() else 0)
    assert len(y) * mse(y, p) == pytest.approx(parts, abs=1e-12)


def test_class_mse_of_an_absent_class_is_nan():
    plus, minus = class_mse([0, 0], [0.5, 0.0])
    assert np.isnan(plus)
    assert minus == 0.125


def test_flipping_labels_swaps_the_classes():
    y, p = pairs(1)
    assert class_mse(y, p, pos_label=0) != class_mse(y, p)
    assert class_mse(1 - y, 1 - p) == pytest.approx(class_mse(y, p)[::-1], abs=1e-15)


@pytest.mark.parametrize(
    ("y", "pos_label", "expected"),
    [
        ([0, 1, 1], None, 1),
        ([-1, 1], None, 1),
        (["a", "b"], None, "b"),
        (["a", "b"], "a", "a"),
        ([True, False], None, True),
        ([0, 0], None, 1),
        ([1, 1], None, 1),
        ([7, 7], 8, 8),
    ],
)
def test_positive_label(y, pos_label, expected):
    assert positive_label(y, pos_label) == expected
    assert is_positive(y, pos_label).tolist() == [v == expected for v in y]


@pytest.mark.parametrize(
    ("y", "p", "pos_label", "message"),
    [
        ([0, 1, 2], [0, 0, 0], None, "at most two classes"),
        ([0, 1], [0.2, 1.2], None, r"proba must lie in \[0, 1\]"),
        ([0, 1], [0.2, np.nan], None, r"proba must lie in \[0, 1\]"),
        ([0, 1], [0.2], None, "shape"),
        ([0, 1], [[0.8, 0.2], [0.1, 0.9]], None, "shape"),
        ([0, 1], [0.2, 0.3], 5, "pos_label=5"),
        (["a", "a"], [0.2, 0.3], None, "say which class pos_label is"),
        ([], [], None, "non-empty"),
    ],
)
def test_bad_input_is_named(y, p, pos_label, message):
    with pytest.raises(ValueError, match=message):
        mse(y, p, pos_label=pos_label)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_clopper_pearson_equals_scipy(confidence):
    cases = [(k, n) for n in (1, 2, 7, 40) for k in range(n + 1)]
    lower, upper = clopper_pearson(*zip(*cases, strict=True), confidence=confidence)
    for (k, n), low, high in zip(cases, lower, upper, strict=True):
        twin = stats.binomtest(k, n).proportion_ci(confidence, method="exact")
        assert (low, high) == pytest.approx((twin.low, twin.high), abs=1e-10)


def test_clopper_pearson_covers():
    """Exact coverage by enumeration: never below the stated confidence."""
    n, confidence = 25, 0.9
    k = np.arange(n + 1)
    lower, upper = clopper_pearson(k, np.full(n + 1, n), confidence=confidence)
    for p in np.linspace(0.01, 0.99, 99):
        covered = stats.binom.pmf(k, n, p)[(lower <= p) & (p <= upper)].sum()
        assert covered >= confidence - 1e-12


def test_uniform_bins():
    p = np.array([0.0, 0.05, 0.1, 0.3, 0.95, 1.0])
    y = np.array([0, 1, 0, 1, 1, 1])
    curve = reliability_curve(y, p)
    np.testing.assert_allclose(curve.mean_predicted, [0.025, 0.1, 0.3, 0.975])
    np.testing.assert_array_equal(curve.observed, [0.5, 0, 1, 1])
    np.testing.assert_array_equal(curve.n_records, [2, 1, 1, 2])
    assert (curve.lower <= curve.observed).all()
    assert (curve.upper >= curve.observed).all()


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_bins_partition_the_records(strategy):
    y, p = pairs(2, 500)
    curve = reliability_curve(y, p, strategy=strategy, n_bins=7)
    assert curve.n_records.sum() == 500
    assert curve.n_records @ curve.observed == pytest.approx(y.sum())
    assert curve.n_records @ curve.mean_predicted == pytest.approx(p.sum())
    if strategy == "quantile":
        assert np.ptp(curve.n_records) <= 20


def test_quantile_bins_with_ties():
    p = np.array([0.0] * 60 + [0.4, 0.6] + [1.0] * 38)
    curve = reliability_curve(np.r_[np.zeros(61), np.ones(39)], p, strategy="quantile")
    assert curve.n_records.sum() == 100
    assert len(curve.n_records) < 10
    constant = reliability_curve([0, 1, 1], [0.3, 0.3, 0.3], strategy="quantile")
    assert constant.observed == pytest.approx([2 / 3])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bins": 0}, "n_bins"),
        ({"n_bins": 2.5}, "n_bins"),
        ({"strategy": "equal"}, "strategy"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        reliability_curve([0, 1], [0.2, 0.4], **options)
