"""What to know before figures are trusted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from svmproba.evaluation._checks import (
    Calls,
    category_shares,
    check_calls,
    check_columns,
    check_probabilities,
    check_size,
    column_auc,
    leak_limit,
)
from svmproba.evaluation.measures.limits import mean_limits

NAMES = ("bad", "good")


def names_of(findings):
    return [finding.name for finding in findings]


@pytest.mark.parametrize(
    ("n_plus", "n_minus", "expected"),
    [
        (5, 5, ["few records"]),
        (19, 60, ["few records"]),
        (20, 80, []),
        (20, 81, ["imbalance"]),
        (81, 20, ["imbalance"]),
        (3, 100, ["few records", "imbalance"]),
    ],
)
def test_few_and_rare_records(n_plus, n_minus, expected):
    found = check_size(n_plus, n_minus, NAMES)
    assert names_of(found) == expected
    if "imbalance" in expected:
        rare = NAMES[0] if n_plus < n_minus else NAMES[1]
        assert f"% of the records are {rare}." in found[-1].text
    if expected == ["few records"] and n_plus == 5:
        assert "only 10 records, 5 of them bad" in found[0].text


@pytest.mark.parametrize(
    ("calls", "name", "words"),
    [
        (
            Calls(0, 0, 55, 800),
            "no record positive",
            "no record as bad (0 of 855). Do this.",
        ),
        (Calls(1, 1, 55, 800), "no record positive", "almost no record as bad (2 of 855)"),
        (Calls(55, 800, 55, 800), "every record positive", "classifies every record as bad (855"),
        (Calls(55, 760, 55, 800), "every record positive", "almost every record as bad (815 of"),
        (Calls(20, 30, 55, 800), "worse than the larger class", "The accuracy is 92.4 %"),
        (Calls(30, 20, 55, 800), None, ""),
    ],
)
def test_calls(calls, name, words):
    found = check_calls(calls, NAMES, "Do this.", usual=True)
    assert names_of(found) == ([] if name is None else [name])
    assert all(words in finding.text for finding in found)
    if name == "worse than the larger class":
        assert check_calls(calls, NAMES, "Do this.", usual=False) == []


def test_probabilities_against_one_for_all():
    rng = np.random.default_rng(0)
    truth = rng.random(400)
    positive = rng.random(400) < truth
    assert check_probabilities(positive, truth) == []
    useless = check_probabilities(positive, np.clip(0.5 + 0.02 * rng.normal(size=400), 0, 1))
    assert names_of(useless) == ["no better than the base rate"]
    # Right about 14 of 20, by .09 each, and wrong about 6, by .11 each: t = 1.45.
    positive = np.arange(20) < 10
    stated = np.where(positive ^ (np.arange(20) % 10 < 3), 0.6, 0.4)
    found = check_probabilities(positive, stated)
    assert names_of(found) == ["not significantly better than the base rate"]
    assert check_probabilities(np.tile(positive, 2), np.tile(stated, 2)) == []


def test_a_gain_without_an_order_of_the_records():
    """A link that was fitted to noise gains a little on the base rate, on the same records."""
    positive = np.arange(1000) % 2 == 0
    fitted = np.where(positive & (np.arange(1000) < 16), 0.9, 0.5)
    gain = 0.25 - (positive - fitted) ** 2
    assert mean_limits(gain)[0] > 0
    assert names_of(check_probabilities(positive, fitted)) == [
        "not significantly better than the base rate"
    ]


def test_a_golden_column_and_one_that_knows_the_outcome():
    rng = np.random.default_rng(0)
    positive = rng.random(600) < 0.4
    golden = positive + rng.normal(size=600)
    columns = {
        "golden": golden,
        "weak": 0.3 * positive + rng.normal(size=600),
        "word": np.where(rng.random(600) < 0.5, "a", "b").astype(object),
    }
    proba = golden + 0.3 * columns["weak"]
    assert names_of(check_columns(columns, positive, proba)) == ["golden feature"]
    found = check_columns(columns, positive, proba)
    assert found[0].text.startswith("Column 'golden' (AUC 0.")
    assert "alone ranks the records almost as well as the model" in found[0].text
    # Alone in the table it is no news, and where a model knows nothing nobody is as good as it.
    assert check_columns({"golden": golden}, positive, proba) == []
    assert check_columns({"a": columns["weak"], "b": golden * 0}, positive, columns["weak"]) == []
    columns["after"] = np.where(positive, "paid back late", "paid").astype(object)
    assert names_of(check_columns(columns, positive, proba)) == ["leak", "golden feature"]


def test_golden_columns_share_one_sentence():
    rng = np.random.default_rng(0)
    positive = rng.random(600) < 0.4
    golden = positive + rng.normal(size=600)
    columns = {"one": golden, "two": golden + 0.1 * rng.normal(size=600)}
    (found,) = check_columns(columns, positive, golden)
    assert found.text.startswith("Each of the columns 'one' (AUC 0.")
    assert ", 'two' (AUC 0." in found.text


def test_the_limit_of_a_leak_depends_on_the_number_of_records():
    assert 0.94 < leak_limit(10, 10) < leak_limit(100, 100) < leak_limit(10**6, 10**6) < 0.99
    assert leak_limit(300, 700) < 0.9898 < leak_limit(10**6, 10**6)


def test_the_area_of_one_column():
    rng = np.random.default_rng(0)
    positive = rng.random(300) < 0.3
    numbers = rng.normal(size=300) - positive
    assert column_auc(numbers, positive) == pytest.approx(1 - roc_auc_score(positive, numbers))
    gaps = np.where(positive, np.nan, numbers)
    assert column_auc(gaps, positive) == 1.0
    assert column_auc(np.where(positive, "x", None), positive) == 1.0
    # No two records share a category: it tells nothing of new records.
    own = np.array([f"C{k}" for k in range(300)], dtype=object)
    assert column_auc(own, positive) == 0.5


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), min_size=2, max_size=30))
def test_shares_of_categories_in_the_other_half(records):
    """Every second record of either class is in the one half, the others in the other half."""
    cells = np.array([cell for cell, _ in records], dtype=object)
    positive = np.array([label for _, label in records])
    seen = {True: 0, False: 0}
    half = []
    for _, label in records:
        half.append(seen[label] % 2)
        seen[label] += 1
    shares = category_shares(cells, positive)
    for i, (cell, _) in enumerate(records):
        same = [
            label
            for j, (other, label) in enumerate(records)
            if half[j] != half[i] and other == cell
        ]
        expected = (sum(same) + positive.mean()) / (len(same) + 1)
        assert shares[i] == pytest.approx(expected)


def test_limits_of_the_checks():
    rng = np.random.default_rng(0)
    positive = np.arange(200) < 100
    good = positive + 0.7 * rng.normal(size=200)
    columns = {"good": good, "noise": rng.normal(size=200)}
    assert names_of(check_columns(columns, positive, good)) == ["golden feature"]
    few = np.concatenate([np.arange(9), np.arange(100, 200)])  # nine positives
    part = {name: values[few] for name, values in columns.items()}
    assert check_columns(part, positive[few], good[few]) == []
    few = np.concatenate([np.arange(10), np.arange(100, 200)])
    part = {name: values[few] for name, values in columns.items()}
    assert names_of(check_columns(part, positive[few], good[few])) == ["golden feature"]
