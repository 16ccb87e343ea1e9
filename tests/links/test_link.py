"""What every link must do."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from functools import partial

import numpy as np
import pytest
from scipy.special import expit

from svmproba.links import (
    AutoLink,
    BetaLink,
    CosineLink,
    CponLink,
    GaussianLink,
    IsotonicLink,
    ModeratedLink,
    PlattLink,
    QuadraticLink,
    SollichLink,
    SplineLink,
    StackLink,
    VennAbersLink,
)
from svmproba.links.rivals._sollich import AVERAGES

ONE_SCORE = {
    "platt": PlattLink,
    "isotonic": IsotonicLink,
    "beta": BetaLink,
    "quadratic": QuadraticLink,
    "spline": SplineLink,
    "venn_abers": VennAbersLink,
    "venn_abers_log": lambda: VennAbersLink(loss="log"),
}
ALL = {
    **ONE_SCORE,
    "stack": StackLink,
    "auto": AutoLink,
}


def sample(n=300, seed=0, slope=1.5):
    """Scores with a logistic truth, some of them tied."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n).round(2)
    return scores, rng.random(n) < expit(slope * scores)


def as_read(link, scores):
    """Scores in the shape the link reads: for a stack, two more or less noisy copies."""
    if link.reads == "mixed":
        return scores
    return np.stack([scores, scores + np.sin(37 * scores)])


@pytest.fixture(params=ALL)
def link(request):
    return ALL[request.param]()


def test_fit_returns_the_link_and_probabilities_follow_the_score(link):
    scores, positive = sample()
    assert link.fit(as_read(link, scores), positive) is link
    P = link.predict(as_read(link, np.linspace(-50, 50, 1001)))
    assert P.shape == (1001,)
    assert P.dtype == np.float64
    assert np.all((P >= 0) & (P <= 1))
    assert P[0] < 0.05
    assert P[-1] > 0.95
    if link.reads == "mixed":
        assert np.all(np.diff(P) >= -1e-15)


def test_plain_state_that_pickles(link):
    scores, positive = sample()
    link.fit(as_read(link, scores), positive)
    state = [value for part in getattr(link, "links_", [link]) for value in vars(part).values()]
    assert state
    assert all(isinstance(value, (int, float, str, np.ndarray)) for value in state)
    again = pickle.loads(pickle.dumps(link))
    x = as_read(link, np.linspace(-3, 3, 50))
    np.testing.assert_array_equal(again.predict(x), link.predict(x))


def test_order_of_the_samples_does_not_matter(link):
    scores, positive = sample()
    x = as_read(link, np.linspace(-3, 3, 50))
    before = link.fit(as_read(link, scores), positive).predict(x)
    order = np.random.default_rng(1).permutation(len(scores))
    after = link.fit(as_read(link, scores[order]), positive[order]).predict(x)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-9)


def test_exchanged_labels_exchange_the_probabilities(link):
    if isinstance(link, AutoLink):
        pytest.skip("its folds are dealt at random, and differ where the labels are exchanged")
    scores, positive = sample()
    x = np.linspace(-3, 3, 50)
    P = link.fit(as_read(link, scores), positive).predict(as_read(link, x))
    flipped = link.fit(-as_read(link, scores), ~positive).predict(-as_read(link, x))
    np.testing.assert_allclose(flipped, 1 - P, rtol=0, atol=1e-9)


def test_separated_classes_stay_finite(link):
    scores = np.concatenate([np.linspace(-3, -1, 20), np.linspace(1, 3, 20)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        link.fit(as_read(link, scores), scores > 0)
        P = link.predict(as_read(link, scores))
    assert np.isfinite(P).all()
    assert P[:20].max() < 0.4
    assert P[20:].min() > 0.6


def test_constant_scores_give_one_probability_near_the_base_rate(link):
    scores, positive = np.full(50, 0.1), np.arange(50) < 20
    link.fit(as_read(link, scores), positive)
    P = link.predict(as_read(link, scores))
    assert np.ptp(P) == 0
    assert P[0] == pytest.approx(0.4, abs=0.02)


@pytest.mark.parametrize("label", [True, False])
def test_a_single_class_is_warned_of_and_kept(link, label):
    scores = np.linspace(-1, 1, 20)
    with pytest.warns(UserWarning, match="All 20 calibration samples are"):
        link.fit(as_read(link, scores), np.full(20, label))
    P = link.predict(as_read(link, scores))
    # One pseudo-sample of each class; Venn–Abers hedges more where a class has no samples.
    assert np.all((P >= 0.5) if label else (P <= 0.5))
    if not isinstance(link, VennAbersLink):
        np.testing.assert_allclose(P, 21 / 22 if label else 1 / 22, atol=1e-6)


@pytest.mark.parametrize("make", [PlattLink, BetaLink, GaussianLink])
def test_warnings_point_to_the_call_of_fit(make):
    scores, positive = sample()
    for labels in (~positive, np.ones_like(positive)):
        with pytest.warns(UserWarning, match="the score") as caught:
            make().fit(scores, labels)
        assert [warning.filename for warning in caught] == [__file__]


def test_a_single_sample(link):
    with pytest.warns(UserWarning, match="All 1 calibration samples"):
        link.fit(as_read(link, np.array([0.3])), np.array([True]))
    assert 0.5 <= link.predict(as_read(link, np.array([0.0])))[0] <= 1


@pytest.mark.parametrize(
    ("scores", "positive", "message"),
    [
        ([[[0.0]]], [True], "scores must be a non-empty array of shape"),
        ([0.0, np.nan], [True, False], "scores must be finite"),
        ([0.0, np.inf], [True, False], "scores must be finite"),
        ([0.0, 1.0], [1, 0], "positive must be an array of bool of shape \\(2,\\)"),
        ([0.0, 1.0], [True], "positive must be an array of bool of shape \\(2,\\)"),
    ],
)
def test_bad_input_is_named(link, scores, positive, message):
    scores = np.array(scores)
    if scores.ndim == 1 and link.reads in ("scaled", "ratios"):
        scores = scores[np.newaxis]
    with pytest.raises(ValueError, match=message):
        link.fit(scores, np.array(positive))


@pytest.mark.parametrize("name", ONE_SCORE)
def test_more_samples_bring_it_closer_to_the_truth(name):
    x = np.linspace(-2, 2, 401)
    errors = []
    for n in (200, 2000, 20000):
        predicted = [ONE_SCORE[name]().fit(*sample(n, seed)).predict(x) for seed in range(5)]
        errors.append(np.mean((predicted - expit(1.5 * x)) ** 2))
    assert errors[1] < errors[0] / 2
    assert errors[2] < errors[1] / 2
    assert errors[2] < 1e-3


def test_the_room_needs_no_scikit_learn():
    # The package's own __init__ imports the estimators, so it is left out.
    code = (
        "import sys; sys.modules['sklearn'] = None; "
        "import importlib.util, pathlib, types; "
        "root = pathlib.Path(importlib.util.find_spec('svmproba').origin).parent; "
        "package = types.ModuleType('svmproba'); package.__path__ = [str(root)]; "
        "sys.modules['svmproba'] = package; import svmproba.links._choose"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    ("make", "name", "taken", "refused"),
    [
        (CosineLink, "n_terms", [1, 5, np.int64(2)], [0, -1, 2.0, True, "2"]),
        (CosineLink, "gamma", [None, 0, 0.5], [-0.1, INF, NAN]),
        (CponLink, "epsilon", [1e-6, 0.499], [0, 0.5, -0.1, NAN]),
        (ModeratedLink, "n_bootstraps", [2, 3], [1, 0]),
        (ModeratedLink, "bias_scale", [0, 1, INF], [-0.1, NAN]),
        (SollichLink, "C", [1e-9, 3], [0, -1, INF, NAN]),
        (SollichLink, "bias_scale", [0, 1, INF], [-0.1, NAN]),
        (partial(SollichLink, average="sampled"), "bias_scale", [0, 1], [-0.1, INF, NAN]),
        (SollichLink, "n_draws", [1, 2], [0, -1]),
        (SollichLink, "average", [*AVERAGES], ["mean", None]),
        (SplineLink, "n_knots", [2, 3], [1, 0]),
        (SplineLink, "smoothing", [0, 1], [-0.1, NAN]),
        (QuadraticLink, "smoothing", [0, 1], [-0.1, NAN]),
        (StackLink, "ridge", [0.1, 1], [0, -1, NAN]),
        (VennAbersLink, "loss", ["brier", "log"], ["square", None]),
    ],
)
def test_limits_of_parameters(make, name, taken, refused):
    for value in taken:
        assert getattr(make(**{name: value}), name) == value
    for value in refused:
        with pytest.raises(ValueError, match=f"{name} must be .*, got {value!r}"):
            make(**{name: value})
