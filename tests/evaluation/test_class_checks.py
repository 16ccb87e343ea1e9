"""Warnings about figures of several classes, at their limits."""

import numpy as np

from svmproba.evaluation._class_checks import check_class_calls, check_class_proba


def names_of(confusion, usual=True):
    return [one.name for one in found(confusion, usual)]


def found(confusion, usual=True):
    return check_class_calls(np.array(confusion), ["a", "b"], "See {}.", usual)


def test_limits_of_the_checks():
    assert names_of([[11, 9], [1, 19]]) == []
    few, worse = found([[9, 10], [10, 9]])
    assert "Classes with few records: 'a' (19), 'b' (19)." in few.text
    assert worse.text == (
        "The accuracy is 47.4 %; always predicting 'a' has an accuracy of 50.0 %."
    )
    assert names_of([[9, 31], [31, 9]], usual=False) == []
    assert names_of([[10, 30], [30, 31]]) == ["worse than the largest class"]
    assert names_of([[10, 30], [10, 50]]) == []  # as accurate as one class for all
    (rare,) = found([[2, 38], [0, 200]], usual=False)
    assert rare.text == "The model hardly ever decides for 'a' (2 of 240). See a."
    assert names_of([[2, 38], [1, 199]], usual=False) == []
    assert names_of([[0, 0], [0, 30]]) == ["few records", "class not called"]


def test_probabilities_against_the_shares_of_the_classes():
    label = np.repeat([0, 1, 2], 20)
    right, shares = np.eye(3)[label], np.full((60, 3), 1 / 3)
    better = 0.8 * right + 0.2 * shares
    assert check_class_proba(label, better) == []
    (same,) = check_class_proba(label, shares)
    assert same.text == (
        "The probabilities are no better than the shares of the classes: their Brier score is "
        "0.667, and 0.667 with these shares for every record."
    )
    worse = 0.8 * np.roll(right, 1, axis=1) + 0.2 * shares
    mixed = np.where((np.arange(60) % 20 < 13)[:, None], better, worse)
    (doubt,) = check_class_proba(label, mixed)
    assert doubt.name == "not significantly better than the base rate"
    mixed = np.where((np.arange(60) % 20 < 15)[:, None], better, worse)
    assert check_class_proba(label, mixed) == []
