"""What all classifiers with SVMs for pairs of classes do."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.preprocessing import scale

from svmproba import PosteriorProbabilitySVC, ProbabilitySVC, WeightedProbabilitySVC

X, y = make_classification(
    100, 3, n_informative=2, n_redundant=0, flip_y=0.2, class_sep=0.6, random_state=0
)
NEW = np.random.default_rng(1).normal(size=(60, 3))
IRIS, SPECIES = load_iris(return_X_y=True)
IRIS = scale(IRIS)
MODELS = {
    "platt": (ProbabilitySVC, {}),
    "window": (PosteriorProbabilitySVC, {}),
    "score": (PosteriorProbabilitySVC, {"readout": "score"}),
    "weighted": (WeightedProbabilitySVC, {"weights": [0.2, 0.5, 0.8]}),
}


@pytest.fixture(params=MODELS)
def model(request):
    cls, params = MODELS[request.param]
    return cls(Cs=[0.1, 1.0], random_state=0, **params)


def axes(model):
    """Axes of the scores after those of samples and pairs."""
    return (3,) if isinstance(model, WeightedProbabilitySVC) else ()


def test_member_scores_are_linear_and_in_the_order_of_coef(model):
    model.fit(X, y)
    assert model.coef_.shape == (1, *axes(model), 3)
    expected = NEW @ model.coef_[0].T + model.intercept_[0]
    assert expected.shape == (60, *axes(model))
    np.testing.assert_allclose(model.member_scores(NEW), expected, atol=1e-12)


def test_member_scores_of_many_classes_have_an_axis_of_pairs(model):
    model.fit(IRIS, SPECIES)
    expected = np.moveaxis(np.dot(model.coef_, IRIS.T), -1, 0) + model.intercept_
    assert expected.shape == (150, 3, *axes(model))
    np.testing.assert_allclose(model.member_scores(IRIS), expected, atol=1e-12)


def test_class_of_interest_turns_the_scores_round(model):
    scores = model.fit(X, y).member_scores(NEW)
    other = model.set_params(pos_label=0, Cs=model.C_, tol=1e-9).fit(X, y)
    assert other.pos_label_ == 0
    turned = other.member_scores(NEW)
    turned = turned[:, ::-1] if axes(model) else turned  # weights of the other class
    assert np.mean(np.sign(turned) == -np.sign(scores)) > 0.98


def test_labels_and_decisions_come_from_the_probabilities(model):
    model.fit(X, np.where(y == 1, "yes", "no"))
    P = model.predict_proba(NEW)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert P.min() >= 0
    np.testing.assert_array_equal(model.predict(NEW), np.where(P[:, 1] >= 0.5, "yes", "no"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        costly_miss = model.decide(NEW, fn_cost=9.0)
    np.testing.assert_array_equal(costly_miss, np.where(P[:, 1] * 9 >= P[:, 0], "yes", "no"))


def test_many_classes_have_no_class_of_interest(model):
    model.fit(IRIS, SPECIES)
    P = model.predict_proba(IRIS)
    np.testing.assert_array_equal(model.predict(IRIS), P.argmax(axis=1))
    assert not hasattr(model, "pos_label_")
    assert "classes_" in dir(model)
    assert type(model).__name__ in model._repr_html_()
    np.testing.assert_array_equal(model.decide(IRIS), model.predict(IRIS))
    with pytest.raises(ValueError, match="fn_cost need two classes, got 3: give cost_matrix"):
        model.decide(IRIS, fn_cost=2.0)
    with pytest.raises(ValueError, match="pos_label must be None with 3 classes, got 1"):
        model.set_params(pos_label=1).fit(IRIS, SPECIES)


def test_coefficients_only_with_the_linear_kernel(model):
    with pytest.raises(AttributeError, match="coef_ is only available with kernel='linear'"):
        model.set_params(kernel="rbf").fit(X, y).coef_  # noqa: B018


def test_jobs_and_pickles_do_not_change_anything(model):
    one, two = (model.set_params(n_jobs=n).fit(X, y).predict_proba(NEW) for n in (1, 2))
    np.testing.assert_array_equal(one, two)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(NEW), two)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"Cs": -1.0}, r"Cs must be .* got -1\.0"),
        ({"Cs": []}, "Cs must be"),
        ({"cv": 1}, "cv must be an integer >= 2, got 1"),
        ({"tol": 0.0}, r"tol must be a number in \(0, 1\], got 0\.0"),
        ({"pos_label": 7}, r"pos_label must be None or one of the classes \[0, 1\], got 7"),
        ({"kernel": "gaussian"}, "kernel must be one of"),
        ({"kernel": "precomputed"}, "X must be a square matrix of kernel values"),
    ],
)
def test_bad_parameters(model, params, message):
    with pytest.raises(ValueError, match=message):
        model.set_params(**params).fit(X, y)
