"""Bad input gets a clear answer: the error names the parameter, the value and what is allowed."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification

import svmproba
from svmproba import (
    BootstrapSVC,
    ConstrainedBootstrapSVC,
    ConstrainedSVC,
    PosteriorProbabilitySVC,
    ProbabilitySVC,
    ThresholdBootstrapSVC,
    WeightedProbabilitySVC,
)

WITH_GRIDS = [
    BootstrapSVC,
    ConstrainedBootstrapSVC,
    PosteriorProbabilitySVC,
    ProbabilitySVC,
    ThresholdBootstrapSVC,
    WeightedProbabilitySVC,
]

X, y = make_classification(60, 4, random_state=0)
GRAM = X @ X.T


def small(**params):
    return BootstrapSVC(**({"Cs": [1.0], "n_bootstraps": 15, "random_state": 0} | params))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"Cs": []}, r"Cs must be .* non-empty list .* got \[\]"),
        ({"Cs": [1.0, -2.0]}, r"Cs must be a positive finite .* got \[1.0, -2.0\]"),
        ({"Cs": 0}, "Cs must be a positive .* got 0"),
        ({"Cs": [np.nan]}, "Cs must be .* got .nan"),
        ({"Cs": [np.inf]}, "Cs must be .* finite .* got .inf"),
        ({"Cs": [[1.0]]}, "Cs must be"),
        ({"Cs": "many"}, "Cs must be .* got 'many'"),
        ({"kernel": "gaussian"}, "kernel must be one of linear, rbf.* got 'gaussian'"),
        ({"kernel": np.dot}, "kernel must be a name, not a callable"),
        ({"kernel": "rbf", "gammas": []}, r"gammas must be .* non-empty list .* got \[\]"),
        ({"kernel": "rbf", "gammas": -1.0}, "gammas must be .* got -1.0"),
        ({"kernel": "rbf", "gammas": ["scale", 0]}, r"gammas must be .* got \['scale', 0\]"),
        ({"kernel": "rbf", "gammas": "wide"}, "gammas must be 'scale', 'auto'.* got 'wide'"),
        ({"kernel": "rbf", "gammas": np.nan}, "gammas must be .* got nan"),
        ({"kernel": "poly", "degree": 0}, "degree must be an integer >= 1, got 0"),
        ({"kernel": "poly", "coef0": np.nan}, "coef0 must be a finite number, got nan"),
        ({"n_bootstraps": 0}, "n_bootstraps must be an integer >= 1, got 0"),
        ({"n_bootstraps": 2.5}, "n_bootstraps must be an integer >= 1, got 2.5"),
        ({"n_bootstraps": True}, "n_bootstraps must be an integer >= 1, got True"),
        ({"epsilon": -0.1}, "epsilon must be a number >= 0, infinity included, got -0.1"),
        ({"epsilon": np.nan}, "epsilon must be .* got nan"),
        ({"epsilon": "all"}, "epsilon must be .* got 'all'"),
        ({"reliability": "f1"}, "reliability must be one of 'accuracy', .* got 'f1'"),
        ({"tol": 0.0}, r"tol must be a number in \(0, 1\], got 0.0"),
        ({"tol": np.nan}, "tol must be .* got nan"),
        ({"n_components": 0}, "n_components must be None.* integer >= 1, got 0"),
        ({"pos_label": 7}, r"pos_label must be None or one of the classes \[0, 1\], got 7"),
        ({"pos_label": "1"}, r"pos_label must be .* got '1'"),
        ({"class_weight": "even"}, "class_weight must be None, 'balanced' or a dict, got 'even'"),
        ({"class_weight": {0: 1.0, 1: 0.0}}, "class_weight must be positive and finite"),
        ({"class_weight": {0: 1.0, 1: -1.0}}, "class_weight must be positive and finite"),
    ],
)
def test_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        small(**params).fit(X, y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": "gaussian"}, "kernel must be one of linear, rbf.* got 'gaussian'"),
        ({"kernel": "poly", "degree": 0}, "degree must be an integer >= 1, got 0"),
        ({"kernel": "poly", "coef0": np.nan}, "coef0 must be a finite number, got nan"),
    ],
)
@pytest.mark.parametrize("estimator", [ConstrainedSVC, *WITH_GRIDS])
def test_kernels_of_all_estimators(estimator, params, message):
    with pytest.raises(ValueError, match=message):
        estimator(**params).fit(X, y)


@pytest.mark.parametrize(
    ("name", "instead"),
    [("C", "called Cs here"), ("gamma", "called gammas here"), ("probability", "always there")],
)
@pytest.mark.parametrize("estimator", WITH_GRIDS)
def test_names_of_svc(estimator, name, instead):
    with pytest.raises(TypeError, match=f"{estimator.__name__} .* argument '{name}': .*{instead}"):
        estimator(**{name: 1.0})
    assert {"Cs", "gammas"} <= set(estimator().get_params())
    with pytest.raises(TypeError, match="unexpected keyword argument 'shrinking'"):
        estimator(shrinking=True)


def test_several_classes_are_sent_where_they_are_taken():
    species = np.arange(60) % 3
    for estimator in (ConstrainedSVC(), BootstrapSVC(resample="blb")):
        with pytest.raises(ValueError, match="More than two") as caught:
            estimator.fit(X, species)
    named = re.findall(r"\w+SVC", str(caught.value).split("classes.")[1])
    assert sorted(named) == [
        "BootstrapSVC",
        "ConstrainedBootstrapSVC",
        "PosteriorProbabilitySVC",
        "ProbabilitySVC",
        "ThresholdBootstrapSVC",
        "WeightedProbabilitySVC",
    ]
    for name in named:
        model = getattr(svmproba, name)(Cs=1.0).fit(X, species)
        assert model.predict_proba(X).shape == (60, 3)


@pytest.mark.parametrize("estimator", [BootstrapSVC, ProbabilitySVC, WeightedProbabilitySVC])
@pytest.mark.parametrize("n_jobs", [0, 1.5, "all", True])
def test_number_of_jobs(estimator, n_jobs):
    with pytest.raises(ValueError, match=f"n_jobs must be None .* other than 0, got {n_jobs!r}"):
        estimator(n_jobs=n_jobs).fit(X, y)


def put(value):
    bad = X.copy()
    bad[3, 1] = value
    return bad


@pytest.mark.parametrize(
    ("records", "labels", "message"),
    [
        (put(np.nan), y, "contains NaN"),
        (put(np.inf), y, "contains infinity"),
        (sparse.csr_array(put(np.nan)), y, "contains NaN"),
        (X[:, 0], y, "Expected 2D array, got 1D array"),
        (X[:0], y[:0], r"Found array with 0 sample\(s\)"),
        (X[:, :0], y, r"0 feature\(s\)"),
        (X, y[:-1], "inconsistent numbers of samples"),
        (X, np.zeros(60), "two classes, got one class only"),
        (X, np.arange(60) // 59 + np.arange(60) % 2, "has 1 of class 2"),
        (X, np.where(np.arange(60) == 5, "rare", "usual"), "class 'rare' of y has 1"),
        (X, np.where(y == 1, 1.0, np.nan), "contains NaN"),
        (X, y + np.linspace(0, 0.5, 60), "Unknown label type"),
        (X, np.column_stack([y, y]), "y should be a 1d array"),
        (X + 1j, y, "Complex data not supported"),
        (X.astype(str).astype(object) + "x", y, "could not convert string to float"),
    ],
)
def test_data(records, labels, message):
    with pytest.raises(ValueError, match=message):
        small().fit(records, labels)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(60), "sample_weight must not be zero for every sample"),
        (np.where(np.arange(60) == 0, -1.0, 1.0), "sample_weight must not be negative, got -1.0"),
        (np.where(np.arange(60) == 0, np.nan, 1.0), "sample_weight contains NaN"),
        (np.ones(59), "inconsistent numbers of samples"),
        (np.ones((60, 2)), r"sample_weight must be 1-D, got shape \(60, 2\)"),
        (y.astype(float), "two classes, got one class only"),
    ],
)
def test_sample_weight(weight, message):
    with pytest.raises(ValueError, match=message):
        small().fit(X, y, sample_weight=weight)


@pytest.mark.parametrize(
    ("kernel_matrix", "message"),
    [
        (GRAM[:, :30], r"square matrix of kernel values .* got shape \(60, 30\)"),
        (-GRAM, "positive semidefinite"),
        (np.triu(GRAM), "symmetric"),
        (np.where(np.eye(60) == 1, np.nan, GRAM), "contains NaN"),
    ],
)
def test_precomputed_kernel(kernel_matrix, message):
    with pytest.raises(ValueError, match=message):
        small(kernel="precomputed").fit(kernel_matrix, y)


def test_precomputed_kernel_must_be_dense():
    with pytest.raises((ValueError, TypeError), match=r"[Ss]parse"):
        small(kernel="precomputed").fit(sparse.csr_array(GRAM), y)


def test_new_records():
    model = small().fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but BootstrapSVC is expecting 4"):
        model.predict_proba(X[:, :3])
    with pytest.raises(ValueError, match="contains NaN"):
        model.predict(put(np.nan))
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.vote_shares(X[0])
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.member_scores(X[0])


def test_odd_but_honest_data_is_taken():
    """Constant columns, and equal records with opposite labels."""
    records = np.column_stack([np.vstack([X, X]), np.full(120, 3.0), np.zeros(120)])
    model = small().fit(records, np.concatenate([y, 1 - y]))
    P = model.predict_proba(records)
    assert np.isfinite(P).all()
    assert np.array_equal(P[:60], P[60:])


def test_all_columns_constant():
    P = small().fit(np.ones((20, 2)), np.arange(20) % 2).predict_proba(np.ones((3, 2)))
    assert np.isfinite(P).all()


def test_two_records_of_a_class_are_enough():
    labels = (np.arange(60) < 2).astype(int)
    model = small(n_bootstraps=40).fit(X, labels)
    assert model.n_redraws_ > 0
    assert (model.counts_[:, :2].sum(axis=1) > 0).all()
