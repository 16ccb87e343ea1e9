from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from svmproba.links import ModeratedLink, WahbaLink


def test_no_variance_is_wahbas_link():
    scores = np.linspace(-5, 5, 11)
    np.testing.assert_array_equal(ModeratedLink().predict(scores), WahbaLink().predict(scores))


@pytest.mark.parametrize("score", [-2.0, 0.0, 0.7, 3.0])
@pytest.mark.parametrize("variance", [0.2, 1.0, 6.0])
def test_close_to_the_mean_over_a_gaussian(score, variance):
    spread = variance**0.5
    exact = quad(
        lambda z: expit(score + spread * z) * norm.pdf(z), -9, 9, points=[-score / spread]
    )[0]
    found = ModeratedLink().predict([score], variance=[variance])[0]
    assert found == pytest.approx(exact, abs=0.015)


def test_infinite_variance_is_one_half():
    assert ModeratedLink().predict([3.0], variance=[np.inf])[0] == 0.5


def test_reads_the_variance_it_was_told():
    assert ModeratedLink().reads == "bootstrap"
    assert ModeratedLink("margin").reads == "margin"


def test_bad_input():
    with pytest.raises(ValueError, match="variance must be one of bootstrap, margin, got 'x'"):
        ModeratedLink("x")
    with pytest.raises(ValueError, match="n_bootstraps must be an integer >= 2, got 1"):
        ModeratedLink(n_bootstraps=1)
    with pytest.raises(ValueError, match=r"variance must not be negative, got -1\.0"):
        ModeratedLink().predict([0.0], variance=[-1.0])


@pytest.mark.parametrize("variance", [[1.0, -1.0], [np.nan, 1.0]])
def test_one_bad_variance_among_good_ones(variance):
    with pytest.raises(ValueError, match="variance must not be negative"):
        ModeratedLink().predict([0.0, 0.0], variance=variance)


def test_the_ends_of_the_parameters():
    """No bias at all, and two bags, are the least that is allowed."""
    link = ModeratedLink(n_bootstraps=2, bias_scale=0)
    assert (link.n_bootstraps, link.bias_scale) == (2, 0.0)
    for params in ({"n_bootstraps": 1}, {"bias_scale": -1e-9}, {"bias_scale": np.nan}):
        (name,) = params
        with pytest.raises(ValueError, match=f"{name} must be"):
            ModeratedLink(**params)
