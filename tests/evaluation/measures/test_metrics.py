import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss

from svmproba.evaluation import class_mse, mse
from svmproba.evaluation.measures.metrics import finite, is_positive, positive_label


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
        ([-1, -1], None, 1),
        ([7, 7], 8, 8),
    ],
)
def test_positive_label(y, pos_label, expected):
    assert positive_label(y, pos_label) == expected
    assert is_positive(y, pos_label).tolist() == [v == expected for v in y]


@pytest.mark.parametrize(
    ("y", "p", "pos_label", "message"),
    [
        (
            [0, 1, 2],
            [0, 0, 0],
            None,
            "y_true holds 3 classes: pos_label must name one of",
        ),
        ([0, 1, 2], [0, 0, 0], 7, "pos_label=7 is not among"),
        ([0, 1], [0.2, 1.2], None, r"proba must lie in \[0, 1\]"),
        ([0, 1], [0.2, np.nan], None, r"proba must lie in \[0, 1\]"),
        ([0, 1], [0.2], None, "shape"),
        ([0, 1], [[0.8, 0.2], [0.1, 0.9]], None, "shape"),
        ([0, 1], [0.2, 0.3], 5, "pos_label=5"),
        (["a", "a"], [0.2, 0.3], None, "set pos_label"),
        ([], [], None, "non-empty"),
    ],
)
def test_bad_input_is_named(y, p, pos_label, message):
    with pytest.raises(ValueError, match=message):
        mse(y, p, pos_label=pos_label)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_bad_number_among_good_ones(bad):
    with pytest.raises(ValueError, match="x must not hold NaN or infinite values"):
        finite([1.0, bad], "x")
    if np.isnan(bad):
        with pytest.raises(ValueError, match=r"x must not hold NaN$"):
            finite([1.0, bad], "x", infinite=True)
    else:
        assert finite([1.0, bad], "x", infinite=True).tolist() == [1.0, bad]
