from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from svmproba.links import AutoLink, StackLink, fit_link
from svmproba.links._choose import LINKS


def sample(truth, n=600, n_theta=4, seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    s = rng.normal(size=n)
    return s + noise * rng.normal(size=(n_theta, n)), rng.random(n) < truth(s)


def sigmoid(s):
    return expit(2 * s)


@pytest.mark.parametrize("name", LINKS)
def test_every_name_gives_a_fitted_link_on_its_kind_of_scores(name):
    scaled, positive = sample(sigmoid)
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    mixed = weights @ scaled
    link = fit_link(name, scaled, mixed, positive)
    assert link.reads in ("mixed", "scaled", "ratios")
    P = link.predict(mixed if link.reads == "mixed" else scaled)
    assert P.shape == positive.shape
    assert np.mean((P - positive) ** 2) < 0.9 * positive.var()


def test_ratios_are_rows_of_no_family():
    scaled, positive = sample(sigmoid)
    ratios = np.random.default_rng(1).normal(size=(2, len(positive)))
    rows = np.vstack([scaled, ratios])
    link = fit_link("auto", scaled, scaled[0], positive, np.array([0, 0, 1, 1]), ratios)
    expected = AutoLink([0, 0, 1, 1, -1, -1]).fit(rows, positive)
    np.testing.assert_array_equal(link.predict(rows), expected.predict(rows))


def test_an_unknown_name_is_named():
    scaled, positive = sample(sigmoid)
    with pytest.raises(ValueError, match=r"name must be one of platt, isotonic, .* got 'plat'"):
        fit_link("plat", scaled, scaled[0], positive)


def test_a_pair_of_few_samples_has_one_rising_stack():
    scaled, positive = sample(sigmoid, n=700)
    few = scaled[:, :699], positive[:699]
    link = fit_link("auto", few[0], few[0][0], few[1], of_pair=True)
    expected = StackLink(non_negative=True).fit(*few)
    np.testing.assert_array_equal(link.predict(scaled), expected.predict(scaled))
    assert (link.coef_ >= 0).all()
    assert isinstance(fit_link("auto", scaled, scaled[0], positive, of_pair=True), AutoLink)
    assert isinstance(fit_link("auto", few[0], few[0][0], few[1]), AutoLink)
