from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from svmproba.solvers.problem import (
    Reach,
    certify,
    certify_tensors,
    relative_gaps,
    row_reach,
    stretch,
)
from svmproba.solvers.problem import relative_gap as compiled_gap

from .twins import CLOSED_FORMS, TRIVIAL, Instance, clarabel_solution, closed_form, objective

few = settings(max_examples=40, deadline=None, derandomize=True)


def certify_one(instance, coef, intercept, alpha):
    """Gap, scores and the signed multipliers that were used, for one model."""
    rows, signs, targets, bounds = instance
    alphas = np.array(alpha, dtype=float).reshape(1, 1, -1)
    gap, scores = certify(
        rows,
        signs,
        targets,
        bounds[None],
        np.ones(1),
        np.array(coef, dtype=float).reshape(1, 1, -1),
        np.array(intercept, dtype=float).reshape(1, 1),
        alphas,
    )
    return gap[0, 0], scores[0, 0], alphas[0, 0]


def dual_value(instance, alpha):
    """Value of multipliers as they are."""
    signed = alpha * instance.signs
    combined = signed @ instance.rows
    return alpha @ instance.targets - 0.5 * combined @ combined


def random_instance(rng, hard=False):
    n, d = rng.integers(2, 12), rng.integers(1, 5)
    signs = rng.choice([-1.0, 1.0], n)
    signs[:2] = 1.0, -1.0
    bounds = rng.choice([0.0, 1.0, 1.0, 1.0], n) * 10.0 ** rng.uniform(-2, 2, n)
    bounds[:2] = np.inf if hard else 1.0
    return Instance(rng.normal(size=(n, d)), signs, rng.uniform(0.1, 2.0, n), bounds)


@few
@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([0.0, 1e-3, 1.0, 1e3]))
def test_gap_bounds_the_error_whatever_is_certified(seed, size):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng)
    n, d = instance.rows.shape
    coef, intercept = size * rng.normal(size=d), size * rng.normal()
    gap, _, _ = certify_one(instance, coef, intercept, 10 * size * rng.normal(size=n))
    primal, best = objective(instance, coef, intercept), clarabel_solution(instance).value
    assert gap >= 0
    assert gap >= (primal - best) / primal - 1e-8


@few
@given(seed=st.integers(0, 2**32 - 1), hard=st.booleans())
def test_gap_is_the_difference_of_the_two_values(seed, hard):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, hard)
    # Multipliers that are feasible already are used as they are.
    alpha = rng.random(len(instance.signs)) * np.minimum(instance.bounds, 5.0)
    positive = instance.signs > 0
    smaller = min(alpha[positive].sum(), alpha[~positive].sum())
    alpha[positive] *= smaller / alpha[positive].sum()
    alpha[~positive] *= smaller / alpha[~positive].sum()
    coef, intercept = rng.normal(size=instance.rows.shape[1]), rng.normal()
    primal = objective(instance, coef, intercept)
    gap, _, used = certify_one(instance, coef, intercept, alpha)
    if np.isinf(primal):
        assert gap == np.inf
    else:
        np.testing.assert_allclose(gap, (primal - dual_value(instance, alpha)) / primal)
    np.testing.assert_allclose(used, alpha * instance.signs, rtol=1e-12)


GARBAGE = {
    "zeros": lambda n: np.zeros(n),
    "negative": lambda n: -np.ones(n),
    "above the bounds": lambda n: np.full(n, 1e6),
    "one class only": lambda n: np.arange(n) == 0,
    "unbalanced": lambda n: np.where(np.arange(n) == 0, 0.5, 0.01),
    "not a number": lambda n: np.full(n, np.nan),
    "some not a number": lambda n: np.where(np.arange(n) == 3, np.nan, 0.1),
    "infinite": lambda n: np.full(n, np.inf),
    "minus infinite": lambda n: np.full(n, -np.inf),
}


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("garbage", GARBAGE)
def test_multipliers_are_not_trusted(garbage, hard):
    rng = np.random.default_rng(3)
    rows, signs = rng.normal(size=(8, 2)), np.tile([1.0, -1.0], 4)
    bounds = np.array([1.0, 2.0, 0.0, 0.5, 3.0, 1.0, 1.0, 0.1])
    if hard:
        bounds[:2] = np.inf
    instance = Instance(rows, signs, np.ones(8), bounds)
    best = clarabel_solution(instance)
    coef, intercept = 1.5 * best.coef, 1.5 * best.intercept  # feasible, too long
    primal = objective(instance, coef, intercept)
    assert np.isfinite(primal)
    gap, _, used = certify_one(instance, coef, intercept, GARBAGE[garbage](8))
    # A gap that cannot be computed must not pass for a small one: nan would, in `gap > tol`.
    assert gap >= (primal - best.value) / primal - 1e-9
    if np.isfinite(gap):
        alpha = used * signs
        assert (alpha >= 0).all()
        assert (alpha <= bounds).all()
        assert abs(used.sum()) <= 1e-12 * alpha.sum()
        np.testing.assert_allclose(gap, (primal - dual_value(instance, alpha)) / primal)


def test_a_model_that_is_not_a_number_has_an_infinite_gap():
    instance = Instance(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2), np.ones(2))
    assert certify_one(instance, [np.nan], 0.0, [0.5, 0.5])[0] == np.inf
    assert certify_one(instance, [1.0], np.nan, [0.5, 0.5])[0] == np.inf
    assert certify_one(instance, [np.inf], 0.0, [0.5, 0.5])[0] == np.inf


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_gap_is_zero_at_the_optimum(name):
    instance, coef, intercept, alpha = closed_form(name)
    coef, intercept = np.array(coef, dtype=float), np.array(intercept, dtype=float)
    stretch(coef, intercept, instance.targets, row_reach(instance.rows))
    gap, scores, used = certify_one(instance, coef, intercept, alpha)
    assert gap <= 1e-13  # the bounds of some hundred roundings
    np.testing.assert_array_equal(scores, instance.rows @ coef + intercept)
    np.testing.assert_array_equal(used, alpha * instance.signs)


@pytest.mark.parametrize("name", [name for name in CLOSED_FORMS if name not in TRIVIAL])
def test_gap_is_positive_beside_the_optimum(name):
    instance, coef, intercept, alpha = closed_form(name)
    longer, shorter = (certify_one(instance, s * coef, s * intercept, alpha)[0] for s in (1.1, 0.9))
    fewer = certify_one(instance, coef, intercept, 0.9 * np.array(alpha))[0]
    if coef.any():
        assert longer > 1e-4
        assert shorter > 1e-4
    assert fewer > 1e-4


def test_gap_is_infinite_where_a_hard_margin_is_violated():
    instance = Instance(
        np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2), np.array([1.0, np.inf])
    )
    alpha = [0.5, 0.5]
    assert certify_one(instance, [1.0], -1e-6, alpha)[0] == np.inf
    assert certify_one(instance, [0.9], 0.0, alpha)[0] == np.inf
    assert certify_one(instance, [0.0], 0.0, alpha)[0] == np.inf
    # The soft record of the two may be violated, and the hard one met with room to spare.
    assert certify_one(instance, [1.0], 1e-6, alpha)[0] == pytest.approx(2e-6, rel=1e-4)


def test_a_model_that_knows_nothing_has_gap_one():
    instance = Instance(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2), np.ones(2))
    assert certify_one(instance, [0.0], 0.0, [0.0, 0.0])[0] == 1.0


def block(rng, n_bags=3, n_grid=4, n=20, d=5):
    rows = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4)
    base = rng.integers(0, 3, (n_bags, n)).astype(float)
    fixed = (rng.choice([-1.0, 1.0], n), rng.uniform(0.1, 2.0, n), base, 2.0 ** np.arange(n_grid))
    coef, intercept = rng.normal(size=(n_bags, n_grid, d)), rng.normal(size=(n_bags, n_grid))
    return rows, fixed, coef, intercept, rng.random((n_bags, n_grid, n))


def test_a_block_is_its_models_one_by_one():
    rows, fixed, coef, intercept, alphas = block(np.random.default_rng(0))
    signs, targets, base, grid = fixed
    given = alphas.copy()
    gap, scores = certify(rows, *fixed, coef, intercept, alphas)
    assert gap.shape == (3, 4)
    assert scores.shape == (3, 4, 20)
    for b in range(3):
        for k in range(4):
            instance = Instance(rows, signs, targets, grid[k] * base[b])
            one = certify_one(instance, coef[b, k], intercept[b, k], given[b, k])
            np.testing.assert_allclose(gap[b, k], one[0], rtol=1e-12)
            np.testing.assert_allclose(scores[b, k], rows @ coef[b, k] + intercept[b, k])
            np.testing.assert_allclose(alphas[b, k], one[2], atol=1e-14)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix])
def test_dense_is_sparse(form):
    rows, fixed, coef, intercept, alphas = block(np.random.default_rng(1))
    dense = certify(rows, *fixed, coef, intercept, alphas.copy())
    for got, expected in zip(
        certify(form(rows), *fixed, coef, intercept, alphas.copy()), dense, strict=True
    ):
        assert isinstance(got, np.ndarray)
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


def test_relative_gap():
    relative_gap = compiled_gap.py_func  # only compiled code calls it
    assert relative_gap(2.0, 1.0) == 0.5
    assert relative_gap(1.0, -3.0) == 4.0
    assert relative_gap(1.0, 1.0 + 1e-16) == 0.0
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(np.inf, 1.0) == np.inf
    assert relative_gap(np.nan, 1.0) == np.inf
    assert relative_gap(1.0, np.nan) == np.inf


def test_relative_gaps_of_many_members():
    primal = np.array([2.0, 1.0, 0.0, 1.0, np.inf])
    dual = np.array([1.0, 1.0, 0.0, 1.0 + 1e-12, 0.5])  # rounding may put it above
    np.testing.assert_array_equal(relative_gaps(primal, dual), [0.5, 0.0, 0.0, 0.0, np.inf])


def test_an_objective_that_is_all_but_zero_counts_as_solved():
    """One class alone: the least value is 0, and any rounding error is as large as the value."""
    rows, signs, ones = np.array([[1.0], [2.0]]), np.ones(2), np.ones(2)
    gap, _, used = certify_one(Instance(rows, signs, ones, ones), [1e-9], 1.0, [0.0, 0.0])
    assert not used.any()
    assert 0 < gap <= 1e-3
    assert certify_one(Instance(rows, signs, ones, ones), [1e-3], 1.0, [0.0, 0.0])[0] == 1.0
    torch = pytest.importorskip("torch")
    table = torch.tensor([[1.0, 1.0, 1.0], [2.0, 1.0, 1.0]], dtype=torch.float64)
    sums = torch.stack([table, torch.zeros_like(table)], dim=1)
    wide, point = torch.ones(1, 2, dtype=torch.float64), torch.tensor([[1e-9, 1.0]]).double()
    largest = torch.tensor([2.0], dtype=torch.float64)
    reach = Reach(largest, largest, 1, 0.0)
    fixed = (table[:, :2].contiguous(), sums, reach, wide[0], wide)
    (on_device,), _ = certify_tensors(*fixed, point, torch.zeros_like(wide))
    assert 0 < on_device <= 1e-3
    (on_device,), _ = certify_tensors(*fixed, point * 1e6, torch.zeros_like(wide))
    assert on_device == 1.0
