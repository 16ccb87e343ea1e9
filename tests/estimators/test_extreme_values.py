"""Very large and very small numbers: an error that names them, or finite results."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from svmproba import (
    BootstrapSVC,
    ConstrainedSVC,
    PosteriorProbabilitySVC,
    ProbabilitySVC,
    WeightedProbabilitySVC,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(24, 3))
y = (X[:, 0] + 0.5 * rng.normal(size=24) > 0).astype(int)
y[:4] = 0, 1, 0, 1
SMALL = {"Cs": [1.0], "random_state": 0}
ESTIMATORS = [
    BootstrapSVC(n_bootstraps=30, **SMALL),
    ProbabilitySVC(cv=3, **SMALL),
    WeightedProbabilitySVC(cv=3, **SMALL),
    PosteriorProbabilitySVC(cv=3, **SMALL),
]
WEIGHED = ESTIMATORS[:2]
MARGIN = [ConstrainedSVC(random_state=0)]


def large(value, column=1):
    table = X.copy()
    table[3, column] = value
    return table


@pytest.mark.parametrize("value", [1e51, -1e155, 1.7e308])
@pytest.mark.parametrize("estimator", [*ESTIMATORS, *MARGIN])
def test_values_too_large_are_named_by_column(estimator, value):
    said = re.escape(f"X must hold no value above 1e+50 in size, got {abs(value):.4g} in column ")
    with pytest.raises(ValueError, match=said + "1: scale"):
        estimator.fit(large(value), y)
    frame = pd.DataFrame(X.copy(), columns=["age", "income", "debt"])
    fitted = estimator.fit(frame, y)
    frame.loc[3, "income"] = value
    for name in ("fit", "predict", "predict_proba", "decision_function"):
        if hasattr(fitted, name):
            with pytest.raises(ValueError, match=said + "'income'"):
                getattr(fitted, name)(frame, **({"y": y} if name == "fit" else {}))
    with pytest.raises(ValueError, match="in column 2"):
        estimator.fit(sparse.csr_array(large(value, 2)), y)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("C", [1e300, 1e-300, 1e51])
def test_C_out_of_range(estimator, C):
    with pytest.raises(ValueError, match=r"Cs must lie between 1e-50 and 1e\+50, got 1e"):
        type(estimator)(Cs=[1.0, C]).fit(X, y)


@pytest.mark.parametrize("estimator", WEIGHED)
@pytest.mark.parametrize(
    ("weights", "class_weight", "message"),
    [
        (1e155, None, r"sample_weight must lie between 1e-40 and 1e\+40, or be 0 .*got 1e\+155"),
        (1e-200, None, r"sample_weight must lie between .* got 1e-200"),
        (None, {0: 1.0, 1: 1e60}, r"class_weight must lie between .* got 1e\+60"),
        (1e30, {0: 1.0, 1: 1e30}, r"sample_weight times class_weight must lie .* got 1e\+60"),
        (1e200, {0: 1.0, 1: 1e200}, r"sample_weight.* must lie .* got (inf|1e\+200)"),
        (1e-200, {0: 1.0, 1: 1e-200}, "sample_weight.* must lie .* got (0|1e-200)"),
    ],
)
def test_weights_out_of_range(estimator, weights, class_weight, message):
    weight = None if weights is None else np.where(y == 1, weights, 1.0)
    model = type(estimator)(**{**estimator.get_params(), "class_weight": class_weight})
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, sample_weight=weight)


def test_kernel_values_too_large():
    with pytest.raises(ValueError, match=r"coef0=1e\+60, degree=2 has values .* above 1e\+100"):
        BootstrapSVC(kernel="poly", degree=2, coef0=1e60, **SMALL).fit(X, y)


NAMED = ("X must", "Cs must", "sample_weight must", "kernel=", "precomputed kernel", "X contains")


def refusal(names, call, *args, **options):
    """Whether a call raises a ValueError, which must hold one of the names."""
    try:
        call(*args, **options)
    except ValueError as error:
        if not any(name in str(error) for name in names):
            raise
        return True
    return False


def power(least, most):
    return st.floats(least, most).map(lambda exponent: 10.0**exponent)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    kind=st.sampled_from([0, 0, 1, 2, 3]),
    kernel=st.sampled_from(["linear", "linear", "rbf", "poly", "sigmoid", "precomputed"]),
    scales=st.lists(power(-320, 52), min_size=3, max_size=3),
    shift=st.one_of(st.just(0.0), power(-300, 51)),
    C=power(-52, 52),
    gamma=st.one_of(st.sampled_from(["scale", "auto"]), power(-300, 300)),
    coef0=st.one_of(st.just(0.0), power(-300, 300)),
    spread=st.one_of(st.none(), st.floats(0, 42)),
    form=st.sampled_from([np.asarray, sparse.csr_array]),
)
def test_errors_or_finite_results(kind, kernel, scales, shift, C, gamma, coef0, spread, form):
    """Gaps too: members that were not solved say so by gaps that are numbers."""
    model = type(ESTIMATORS[kind])(**ESTIMATORS[kind].get_params())
    model.set_params(Cs=[C], kernel=kernel, gammas=gamma, coef0=coef0)
    table = X * scales + shift
    if kernel == "precomputed":
        table = table @ table.T
    elif form is sparse.csr_array:
        table = form(table)
    weights = {}
    if spread is not None and kind < 2:
        weights["sample_weight"] = 10.0 ** np.linspace(-spread, spread, 24)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if refusal(NAMED, model.fit, table, y, **weights):
            return
        assert np.isfinite(model.intercept_).all()
        assert np.isfinite(model.duality_gap_).all()
        assert np.isfinite(model.predict_proba(table)).all()
        new = np.where(X > 0, 1e50, -1e50)
        if not refusal(("kernel=", "features"), model.predict_proba, new):
            assert np.isfinite(model.predict_proba(new)).all()
    if kernel == "linear":
        assert np.isfinite(model.member_coef_ if kind == 0 else model.coef_).all()
