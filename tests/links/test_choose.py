from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import expit

from svmproba.links import AutoLink, IsotonicMixtureLink, StackLink, fit_link
from svmproba.links.choose import LINKS, _deal


def sample(truth, n=600, n_theta=4, seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    s = rng.normal(size=n)
    return s + noise * rng.normal(size=(n_theta, n)), rng.random(n) < truth(s)


def sigmoid(s):
    return expit(2 * s)


def steps(s):
    """A truth that no sigmoid comes near."""
    return np.select([s < -0.5, s < 0.8], [0.02, 0.5], 0.98)


def brier(link, scaled, positive):
    return np.mean((link.predict(scaled) - positive) ** 2)


@pytest.mark.parametrize("name", LINKS)
def test_every_name_gives_a_fitted_link_on_its_kind_of_scores(name):
    scaled, positive = sample(sigmoid)
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    mixed = weights @ scaled
    link = fit_link(name, scaled, mixed, positive)
    assert link.reads in ("mixed", "scaled")
    P = link.predict(scaled if link.reads == "scaled" else mixed)
    assert P.shape == positive.shape
    assert np.mean((P - positive) ** 2) < 0.9 * positive.var()


def test_an_unknown_name_is_named():
    scaled, positive = sample(sigmoid)
    with pytest.raises(ValueError, match=r"name must be one of platt, isotonic, .* got 'plat'"):
        fit_link("plat", scaled, scaled[0], positive)


def test_folds_hold_their_share_of_either_class_and_do_not_hang_on_the_order():
    rng = np.random.default_rng(0)
    scores, positive = rng.normal(size=103), rng.random(103) < 0.3
    fold = _deal(scores, positive, 5)
    assert np.ptp(np.bincount(fold[positive])) <= 1
    assert np.ptp(np.bincount(fold[~positive])) <= 1
    order = rng.permutation(103)
    np.testing.assert_array_equal(_deal(scores[order], positive[order], 5), fold[order])


def test_cross_validation_favours_neither_part():
    """Folds dealt in turn in the order of the scores would favour the isotonic part."""
    bias = []
    for seed in range(50):
        scaled, positive = sample(sigmoid, n=200 + 10 * seed, seed=seed)
        new, new_positive = sample(sigmoid, n=20_000, seed=1000 + seed)
        parts = (IsotonicMixtureLink(), StackLink())
        true = [brier(part.fit(scaled, positive), new, new_positive) for part in parts]
        found = AutoLink().fit(scaled, positive).candidates_
        bias.append(found["isotonic"] - found["stack"] - (true[0] - true[1]))
    assert abs(np.mean(bias)) < 3 * np.std(bias) / np.sqrt(len(bias))


def test_the_mean_of_both_where_neither_is_clearly_better():
    scaled, positive = sample(sigmoid)
    link = AutoLink().fit(scaled, positive)
    assert link.chosen_ == "mean"
    parts = [IsotonicMixtureLink().fit(scaled, positive), StackLink().fit(scaled, positive)]
    expected = (parts[0].predict(scaled) + parts[1].predict(scaled)) / 2
    np.testing.assert_allclose(link.predict(scaled), expected, rtol=0, atol=1e-15)


def test_the_isotonic_one_alone_where_no_sigmoid_fits():
    scaled, positive = sample(steps, n=3000)
    link = AutoLink().fit(scaled, positive)
    assert link.chosen_ == "isotonic"
    assert link.candidates_["isotonic"] < link.candidates_["mean"] < link.candidates_["stack"]


def test_the_stack_alone_where_only_a_difference_of_scores_tells():
    rng = np.random.default_rng(0)
    common, signal = rng.normal(size=(2, 2000))
    scaled = np.stack([common + signal, common - signal, common])
    link = AutoLink().fit(scaled, rng.random(2000) < expit(3 * signal))
    assert link.chosen_ == "stack"


@pytest.mark.parametrize("truth", [sigmoid, steps])
def test_candidates_tell_the_brier_score_of_new_records(truth):
    scaled, positive = sample(truth, n=4000)
    link = AutoLink().fit(scaled, positive)
    new, new_positive = sample(truth, n=50_000, seed=1)
    # Four standard errors of a Brier score on 4000 records.
    assert brier(link, new, new_positive) == pytest.approx(
        link.candidates_[link.chosen_], abs=4 * 0.2 / np.sqrt(4000)
    )
    parts = {"isotonic": IsotonicMixtureLink(), "stack": StackLink()}
    for name, part in parts.items():
        found = brier(part.fit(scaled, positive), new, new_positive)
        assert found == pytest.approx(link.candidates_[name], abs=4 * 0.2 / np.sqrt(4000))


@pytest.mark.parametrize("truth", [sigmoid, steps])
def test_near_the_better_part_on_new_records(truth):
    found = []
    for seed in range(8):
        scaled, positive = sample(truth, n=600, seed=seed)
        new, new_positive = sample(truth, n=20_000, seed=100 + seed)
        links = (AutoLink(), IsotonicMixtureLink(), StackLink())
        found.append([brier(link.fit(scaled, positive), new, new_positive) for link in links])
    auto, *parts = np.mean(found, axis=0)
    assert auto - min(parts) < (max(parts) - min(parts)) / 4


def test_equal_calls_give_equal_links():
    scaled, positive = sample(sigmoid)
    first, second = (AutoLink().fit(scaled, positive) for _ in range(2))
    assert first.candidates_ == second.candidates_
    np.testing.assert_array_equal(first.predict(scaled), second.predict(scaled))


@pytest.mark.parametrize(("n_plus", "n_minus"), [(1, 30), (30, 1), (2, 30), (3, 3)])
def test_few_records_of_a_class(n_plus, n_minus):
    positive = np.arange(n_plus + n_minus) < n_plus
    scaled = np.where(positive, 1.0, -1.0) + 0.5 * np.sin(np.arange(positive.size))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        link = AutoLink().fit(scaled[np.newaxis], positive)
    assert bool(link.candidates_) == (min(n_plus, n_minus) >= 2)
    P = link.predict(scaled[np.newaxis])
    assert np.all((P > 0) & (P < 1))
    assert P[positive].min() > P[~positive].max()


def test_constant_scores_leave_the_mean():
    link = AutoLink().fit(np.ones((2, 40)), np.arange(40) < 10)
    assert link.chosen_ == "mean"
    assert link.predict(np.ones((2, 1))) == pytest.approx(0.25, abs=0.02)
