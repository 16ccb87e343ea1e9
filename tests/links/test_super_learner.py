from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from svmproba.links import (
    AutoLink,
    BetaLink,
    IsotonicLink,
    PlattLink,
    QuadraticLink,
    SplineLink,
    StackLink,
)
from svmproba.links._super_learner import _candidates, convex_weights, deal, deal_groups


def sample(truth, n=600, n_theta=4, seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    s = rng.normal(size=n)
    return s + noise * rng.normal(size=(n_theta, n)), rng.random(n) < truth(s)


def sigmoid(s):
    return expit(2 * s)


def steps(s):
    """A truth that no sigmoid comes near."""
    return np.select([s < -0.5, s < 0.8], [0.02, 0.5], 0.98)


def brier(link, scores, positive):
    return np.mean((link.predict(scores) - positive) ** 2)


def naive(scores, positive, families, new):
    """The definition, sample by sample and candidate by candidate."""
    order = np.lexsort((*scores[::-1], positive))
    scores, positive = scores[:, order], positive[order]
    centre, scale = scores.mean(axis=1)[:, None], scores.std(axis=1)[:, None]
    scores, new = (scores - centre) / scale, (new - centre) / scale
    families = np.asarray(families)
    groups = [np.flatnonzero(families == family) for family in sorted(set(families)) if family >= 0]
    groups += [np.flatnonzero(families >= 0)] if len(groups) > 1 else []
    groups += [[k] for k in np.flatnonzero(families < 0)]
    candidates = [(IsotonicLink(), [k]) for k in range(len(scores))]
    for group in groups:
        made = [PlattLink(), BetaLink(), QuadraticLink(), SplineLink()]
        if len(group) > 1:
            made += [IsotonicLink()]
            made += [StackLink(ridge, non_negative=True) for ridge in (1.0, 10.0, 100.0)]
        candidates += [(link, group) for link in made]

    def read(link, group, table):
        return table[group] if isinstance(link, StackLink) else table[group].mean(axis=0)

    fold = deal(scores.mean(axis=0), positive, 5)
    P, Q = np.empty((len(candidates), len(positive))), []
    for k, (link, group) in enumerate(candidates):
        for i in range(len(positive)):
            kept = fold != fold[i]
            link.fit(read(link, group, scores)[..., kept], positive[kept])
            P[k, i] = link.predict(read(link, group, scores)[..., i : i + 1])[0]
        link.fit(read(link, group, scores), positive)
        Q.append(link.predict(read(link, group, new)))
    w = slow_weights(P, positive, 3.0)
    w = np.where(w < 1e-3, 0.0, w)
    return w / w.sum() @ np.array(Q)


def slow_weights(P, positive, shrinkage):
    """Convex weights by a general minimiser with constraints."""
    errors = P - positive
    system = errors @ errors.T + shrinkage * np.eye(len(P))
    found = minimize(
        lambda w: w @ system @ w,
        np.full(len(P), 1 / len(P)),
        jac=lambda w: 2 * system @ w,
        bounds=[(0, 1)] * len(P),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    return found.x


@pytest.mark.parametrize("families", [[0, 0, 1], [0, 0, -1], [0, 1, -1, -1]])
def test_candidates_and_weights_as_defined(families):
    scores, positive = sample(sigmoid, n=60, n_theta=len(families))
    new, _ = sample(sigmoid, n=25, n_theta=len(families), seed=1)
    link = AutoLink(families).fit(scores, positive)
    # Both minimisers stop at about 1e-6 of the objective, hence of the weights at 1e-3.
    np.testing.assert_allclose(link.predict(new), naive(scores, positive, families, new), atol=2e-3)


@pytest.mark.parametrize("shrinkage", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_weights_solve_their_problem(seed, shrinkage):
    """First-order conditions: among used candidates the derivatives agree, others are larger."""
    rng = np.random.default_rng(seed)
    P, positive = rng.random((6, 50)), rng.random(50) < 0.4
    w = convex_weights(P, positive, shrinkage)
    slope = ((P - positive) @ (P - positive).T + shrinkage * np.eye(6)) @ w
    assert w.min() >= 0
    assert w.sum() == pytest.approx(1)
    np.testing.assert_allclose(slope[w > 0], slope[w > 0].mean(), rtol=1e-8)
    assert np.all(slope >= slope[w > 0].mean() * (1 - 1e-8))


def test_perfect_candidates_share_the_weight():
    positive = np.array([False, True])
    np.testing.assert_allclose(convex_weights(np.array([[0.0, 1.0]] * 2), positive, 0.0), 0.5)


def test_folds_hold_their_share_of_either_class_and_do_not_hang_on_the_order():
    rng = np.random.default_rng(0)
    scores, positive = rng.normal(size=103), rng.random(103) < 0.3
    fold = deal(scores, positive, 5)
    assert np.ptp(np.bincount(fold[positive])) <= 1
    assert np.ptp(np.bincount(fold[~positive])) <= 1
    order = rng.permutation(103)
    np.testing.assert_array_equal(deal(scores[order], positive[order], 5), fold[order])


@pytest.mark.parametrize("truth", [sigmoid, steps])
def test_near_the_better_of_a_stiff_and_a_flexible_link_on_new_samples(truth):
    found = []
    for seed in range(6):
        scores, positive = sample(truth, n=600, seed=seed)
        new, new_positive = sample(truth, n=20_000, seed=100 + seed)
        auto = brier(AutoLink().fit(scores, positive), new, new_positive)
        parts = [
            np.mean((link.fit(scores.mean(0), positive).predict(new.mean(0)) - new_positive) ** 2)
            for link in (IsotonicLink(), PlattLink())
        ]
        found.append([auto, *parts])
    auto, *parts = np.mean(found, axis=0)
    assert auto - min(parts) < (max(parts) - min(parts)) / 3


@pytest.mark.parametrize("truth", [sigmoid, steps])
def test_brier_tells_the_score_on_new_samples(truth):
    scores, positive = sample(truth, n=4000)
    link = AutoLink().fit(scores, positive)
    # Four standard errors of a Brier score on 4000 samples.
    new = sample(truth, n=50_000, seed=1)
    assert brier(link, *new) == pytest.approx(link.brier_, abs=4 * 0.2 / np.sqrt(4000))


def test_one_good_value_among_many_is_found():
    """Links on the mean of all values, the rule of old, drown it."""
    scores, positive = sample(sigmoid, n=2000, n_theta=10, noise=8.0)
    scores[3] = sample(sigmoid, n=2000, n_theta=1, noise=0.0)[0][0]
    link = AutoLink().fit(scores, positive)
    alone = PlattLink().fit(scores[3], positive)
    best = np.mean((alone.predict(scores[3]) - positive) ** 2)
    assert brier(link, scores, positive) < best + 1e-3
    mixed = scores.mean(axis=0)
    for old in (PlattLink(), IsotonicLink(), SplineLink()):
        P = old.fit(mixed, positive).predict(mixed)
        assert np.mean((P - positive) ** 2) > best + 0.04


def test_a_row_of_no_family_is_read_alone():
    scores, positive = sample(sigmoid, n_theta=4)
    link = AutoLink([0, 0, 1, -1]).fit(scores, positive)
    assert all(3 not in places for places in link.places_ if len(places) > 1)
    scores[3] = positive + 0.1 * scores[3]  # the best one
    assert [3] in [list(places) for places in AutoLink([0, 0, 1, -1]).fit(scores, positive).places_]


def test_constant_values_take_no_part():
    scores, positive = sample(sigmoid, n_theta=3)
    scores[1] = -1.0
    link = AutoLink().fit(scores, positive)
    assert all(1 not in places for places in link.places_)
    moved = scores.copy()
    moved[1] = 7.0
    np.testing.assert_array_equal(link.predict(scores), link.predict(moved))
    without = AutoLink().fit(scores[[0, 2]], positive)
    np.testing.assert_allclose(link.predict(scores), without.predict(scores[[0, 2]]), atol=1e-12)


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_scores_are_constant_up_to_rounding_at_any_size(size):
    scores, positive = sample(sigmoid, n_theta=2)
    scores[1] = 1 + 1e-12 * np.sign(scores[1])
    link = AutoLink().fit(size * scores, positive)
    assert np.isinf(link.scale_).tolist() == [False, True]
    expected = AutoLink().fit(scores, positive).predict(scores)
    np.testing.assert_allclose(link.predict(size * scores), expected, atol=1e-9)


def test_a_shift_of_the_scores_changes_nothing():
    scores, positive = sample(sigmoid, n_theta=2)
    moved = scores + np.array([[3.0], [-5.0]])
    expected = AutoLink().fit(scores, positive).predict(scores)
    link = AutoLink().fit(moved, positive)
    np.testing.assert_allclose(link.predict(moved), expected, atol=1e-9)


def test_one_value_gives_a_non_decreasing_probability():
    scores, positive = sample(steps, n_theta=1)
    P = AutoLink().fit(scores, positive).predict(np.linspace(-4, 4, 4001)[np.newaxis])
    assert np.all(np.diff(P) >= -1e-15)


def test_the_order_of_the_samples_changes_nothing_at_all():
    scores, positive = sample(sigmoid)
    order = np.random.default_rng(1).permutation(len(positive))
    first = AutoLink().fit(scores, positive).predict(scores)
    again = AutoLink().fit(scores[:, order], positive[order]).predict(scores)
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize(("n_plus", "n_minus"), [(1, 30), (30, 1), (2, 30), (3, 3)])
def test_few_samples_of_a_class(n_plus, n_minus):
    positive = np.arange(n_plus + n_minus) < n_plus
    scores = np.where(positive, 1.0, -1.0) + 0.5 * np.sin(np.arange(positive.size))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        link = AutoLink().fit(scores[np.newaxis], positive)
    assert np.isnan(link.brier_) == (min(n_plus, n_minus) < 2)
    P = link.predict(scores[np.newaxis])
    assert np.all((P > 0) & (P < 1))
    assert P[positive].min() > P[~positive].max()


def test_families_of_another_length_are_named():
    scores, positive = sample(sigmoid)
    with pytest.raises(ValueError, match=r"families must have shape \(4,\), got \(3,\)"):
        AutoLink([0, 0, 1]).fit(scores, positive)


def test_scores_that_fall_with_the_labels_are_worth_nothing():
    scores, positive = sample(sigmoid)
    P = AutoLink().fit(-scores, positive).predict(-scores)
    assert np.ptp(P) < 1e-6
    assert P[0] == pytest.approx(positive.mean(), abs=0.01)


@pytest.mark.parametrize(
    ("families", "varies", "sizes"),
    [
        # An isotonic link for each value; four links of a group, and four more of several values.
        ([0, 0, 0], [1, 1, 1], [1] * 3 + [3] * 8),
        ([0, 0, 1], [1, 1, 1], [1] * 3 + [2] * 8 + [1] * 4 + [3] * 8),
        ([0, 0, 1], [1, 0, 1], [1] * 2 + [1] * 4 + [1] * 4 + [2] * 8),
        ([0, 0, 1], [1, 1, 0], [1] * 2 + [2] * 8),
        ([0, 0], [0, 0], [1] * 2 + [2] * 8),
        ([0], [1], [1] * 5),
    ],
)
def test_candidates_of_values_families_and_all(families, varies, sizes):
    found = list(_candidates(np.array(families), np.array(varies, bool)))
    assert [len(candidate.places) for candidate in found] == sizes
    usable = np.flatnonzero(varies) if any(varies) else np.arange(len(varies))
    assert all(set(candidate.places) <= set(usable) for candidate in found)


def test_folds_of_groups():
    rng = np.random.default_rng(0)
    groups, positive = rng.integers(0, 40, 300), rng.random(300) < 0.05
    fold = deal_groups(groups, positive, 5)
    by_group = [set(fold[groups == group]) for group in np.unique(groups)]
    assert all(len(found) == 1 for found in by_group)
    with_positive = np.unique(groups[positive])
    counts = np.bincount([fold[groups == group][0] for group in with_positive], minlength=5)
    assert np.ptp(counts) <= 1
    names = rng.permutation(1000)[groups]
    np.testing.assert_array_equal(deal_groups(names, positive, 5), fold)


def test_copies_of_a_sample_do_not_judge_themselves():
    rng = np.random.default_rng(1)
    once, labels = rng.normal(size=(2, 80)), rng.random(80) < 0.5
    scores, positive, groups = np.repeat(once, 8, axis=1), np.repeat(labels, 8), np.arange(640) // 8
    assert AutoLink().fit(scores, positive).brier_ < 0.235
    link = AutoLink().fit(scores, positive, groups)
    assert link.brier_ > 0.245  # labels are noise
    moved = rng.permutation(640)
    again = AutoLink().fit(scores[:, moved], positive[moved], groups[moved])
    assert again.brier_ == pytest.approx(link.brier_, rel=1e-9)


def test_groups_that_cannot_be_dealt():
    scores, positive = sample(sigmoid, n=60)
    one_group_of_positives = np.where(positive, 99, np.arange(60))
    assert np.isnan(AutoLink().fit(scores, positive, one_group_of_positives).brier_)
    every = AutoLink().fit(scores, positive, np.arange(60))
    assert every.brier_ < 0.25
    with pytest.raises(ValueError, match=r"groups must have shape \(60,\), got \(59,\)"):
        AutoLink().fit(scores, positive, np.arange(59))
