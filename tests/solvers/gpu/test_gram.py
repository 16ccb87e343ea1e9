"""Kernels on torch's CPU: certificates, libsvm, weights, duplicates, one class, blocks, stops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from svmproba.solvers.ensemble import _make_task, fit_ensemble
from svmproba.solvers.features import fit_features
from svmproba.solvers.gram import Gram
from svmproba.solvers.problem import certify_gram
from svmproba.solvers.runtime import devices

from ..twins import bags, records

torch = pytest.importorskip("torch", reason="the batched engine needs torch")

from svmproba.solvers.gpu import active_sets, gram  # noqa: E402
from svmproba.solvers.gpu.kernels import device_gram, device_map  # noqa: E402
from svmproba.solvers.problem import best_intercepts, certify_gram_tensors  # noqa: E402

GRID = 2.0 ** np.arange(-5.0, 6.0)
CPU = torch.device("cpu")
KERNELS = {
    "rbf": {},
    "steep": {"kernel": "rbf", "gamma": 2.0},
    "poly": {"coef0": 1.0, "degree": 2},
    "sigmoid": {"gamma": 0.05, "coef0": -0.5},
}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def table(n=120, d=4, seed=0):
    rows, signs = records(n, d, seed)
    return rows, signs, bags(signs, 5, seed).astype(np.uint8)


@pytest.fixture(params=[10**6, 0], ids=["together", "C by C"])
def order(request, monkeypatch):
    monkeypatch.setattr(gram, "_TOGETHER", request.param)


def kernel_of(X, name="rbf"):
    options = dict(KERNELS[name])
    _, rows = fit_features(X, options.pop("kernel", name), **options)
    return rows


def matrix_of(rows):
    rows.complete()
    return rows.table


def confirmed(K, signs, targets, base, grid, fit):
    """Gaps that the CPU's certificate computes from the returned arrays."""
    alphas = np.ascontiguousarray((fit.coef * signs).transpose(1, 0, 2))
    scores = np.empty_like(alphas)
    fixed = (Gram.of_matrix(K), signs, targets, np.asarray(base, float), grid)
    return certify_gram(*fixed, np.ascontiguousarray(fit.intercept.T), alphas, scores).T, scores


def objective(K, signs, bounds, beta, intercept, targets=1.0):
    lack = targets - signs * (K @ beta + intercept)
    return 0.5 * beta @ K @ beta + bounds @ np.maximum(lack, 0.0)


@pytest.mark.filterwarnings("ignore:kernel='sigmoid' is indefinite")
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.usefixtures("order")
def test_every_member_is_certified_as_on_the_cpu(name):
    X, signs, counts = table()
    rows = kernel_of(X, name)
    fit = fit_ensemble(rows, signs, counts, GRID, device="torch")
    gap, _ = confirmed(matrix_of(rows), signs, np.ones(len(signs)), counts, GRID, fit)
    np.testing.assert_allclose(fit.gap, gap, rtol=1e-6, atol=1e-12)
    assert gap.max() <= 1e-3


@pytest.mark.parametrize("name", ["rbf", "steep", "poly"])
def test_libsvm_finds_nothing_better(name):
    X, signs, counts = table(seed=3)
    rows = kernel_of(X, name)
    K = matrix_of(rows)
    fit = fit_ensemble(rows, signs, counts, GRID, device="torch")
    for b, k in [(0, 0), (1, 5), (2, 8), (4, 10)]:
        bounds = GRID[k] * counts[b]
        here = bounds > 0
        other = SVC(kernel="precomputed", C=1.0, tol=1e-5)
        other.fit(K[np.ix_(here, here)], signs[here], sample_weight=bounds[here])
        beta = np.zeros(len(signs))
        beta[np.flatnonzero(here)[other.support_]] = other.dual_coef_[0]
        theirs = objective(K, signs, bounds, beta, other.intercept_[0])
        ours = objective(K, signs, bounds, fit.coef[k, b], fit.intercept[k, b])
        assert ours * (1.0 - fit.gap[k, b]) <= theirs
        assert theirs <= ours * (1.0 + 1e-3)


def test_small_tolerances_and_the_cpu():
    X, signs, counts = table(90, seed=5)
    fit = fit_ensemble(kernel_of(X), signs, counts, GRID, tol=1e-7, device="torch")
    other = fit_ensemble(kernel_of(X), signs, counts, GRID, tol=1e-7)
    assert fit.gap.max() <= 1e-7
    K = matrix_of(kernel_of(X))
    np.testing.assert_allclose(fit.coef @ K, other.coef @ K, atol=5e-3)


@pytest.mark.usefixtures("order")
def test_weights_and_targets():
    X, signs, counts = table(seed=1)
    rng = np.random.default_rng(0)
    weight, targets = rng.uniform(0.0, 3.0, len(signs)), rng.uniform(0.2, 1.5, len(signs))
    weight[:10] = 0.0
    rows = kernel_of(X)
    fit = fit_ensemble(rows, signs, counts, GRID, weight=weight, targets=targets, device="torch")
    gap, _ = confirmed(matrix_of(rows), signs, targets, counts * weight, GRID, fit)
    assert gap.max() <= 1e-3
    assert not fit.coef[:, :, :10].any()


def test_a_duplicate_equals_a_double_weight():
    X, signs, counts = table(60, seed=2)
    twice = np.repeat(np.arange(60), 2)
    fit = fit_ensemble(kernel_of(X, "steep"), signs, 2 * counts, GRID, tol=1e-5, device="torch")
    rows = kernel_of(X[twice], "steep")
    other = fit_ensemble(rows, signs[twice], counts[:, twice], GRID, tol=1e-5, device="torch")
    assert max(fit.gap.max(), other.gap.max()) <= 1e-5
    K = matrix_of(rows)
    ours = np.einsum("kbi,ij,kbj->kb", fit.coef, K[::2, ::2], fit.coef)
    theirs = np.einsum("kbi,ij,kbj->kb", other.coef, K, other.coef)
    np.testing.assert_allclose(ours, theirs, rtol=2e-2)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_one_class_in_a_bag(sign):
    X, signs, counts = table(50)
    counts[1, signs != sign] = 0
    counts[2] = 0
    fit = fit_ensemble(kernel_of(X), signs, counts, GRID, device="torch")
    assert not fit.coef[:, 1:3].any()
    assert np.all(sign * fit.intercept[:, 1] >= 1.0)
    assert fit.gap.max() <= 1e-3


def test_one_sample_of_each_class_and_any_grid():
    """The solution: beta = ±min(C, 1 / (1 - k)), with no intercept."""
    X, signs = np.array([[0.0], [1.0]]), np.array([-1.0, 1.0])
    for grid in (np.array([100.0]), np.array([1e-3, 1e3])):
        rows = kernel_of(X)
        fit = fit_ensemble(rows, signs, np.ones((1, 2), np.uint8), grid, tol=1e-8, device="torch")
        expected = np.minimum(grid, 1.0 / (1.0 - matrix_of(rows)[0, 1]))
        np.testing.assert_allclose(fit.coef[:, 0], np.outer(expected, signs), rtol=1e-4)
        np.testing.assert_allclose(fit.intercept, 0.0, atol=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_certificate_is_that_of_problem(seed):
    """Any numbers, feasible or not."""
    rng = np.random.default_rng(seed)
    X, signs, counts = table(40, seed=seed)
    K, targets = matrix_of(kernel_of(X)), rng.uniform(0.2, 2.0, 40)
    beta = rng.normal(size=(10, 40))
    beta[0, :5] = np.nan
    bounds = np.concatenate([0.5 * counts, 3.0 * counts]).astype(float)
    gap, intercept, scores = certify_gram_tensors(
        *map(torch.as_tensor, (K, 1.0, signs, targets, bounds)), torch.as_tensor(beta.copy())
    )
    alphas = np.nan_to_num(beta * signs).reshape(2, 5, 40).transpose(1, 0, 2).copy()
    out, grid = np.empty_like(alphas), np.array([0.5, 3.0])
    fixed = (Gram.of_matrix(K), signs, targets, counts.astype(float), grid)
    expected = certify_gram(*fixed, intercept.numpy().reshape(2, 5).T.copy(), alphas, out)
    np.testing.assert_allclose(gap.numpy().reshape(2, 5).T, expected, rtol=1e-9)
    np.testing.assert_allclose(scores.numpy().reshape(2, 5, 40).transpose(1, 0, 2), out, rtol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_best_intercepts_leave_the_least_loss(seed):
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], 12)
    scores, targets = rng.integers(-4, 5, 12) / 2.0, rng.choice([0.5, 1.0], 12)
    bounds = rng.integers(0, 3, 12).astype(float)
    args = (torch.as_tensor(part)[None] for part in (scores, signs, targets, bounds))
    found = float(best_intercepts(*args))
    tried = np.append(signs * targets - scores, found)
    losses = np.maximum(targets - signs * (scores + tried[:, None]), 0.0) @ bounds
    assert losses[-1] == pytest.approx(losses.min(), abs=1e-12)


def test_systems_larger_than_the_columns_factored_at_once(monkeypatch):
    rng = np.random.default_rng(0)
    half, sides = rng.normal(size=(3, 33, 33)), rng.normal(size=(3, 33, 2))
    matrix = half @ half.transpose(0, 2, 1) + np.eye(33)
    monkeypatch.setattr(active_sets, "_COLUMNS", 8)
    found = active_sets._solve_positive(torch.tensor(matrix), torch.tensor(sides)).numpy()
    np.testing.assert_allclose(found, np.linalg.solve(matrix, sides), rtol=1e-8)


@pytest.mark.usefixtures("order")
def test_newton_steps_do_without_first_order_steps(monkeypatch):
    """All bags above the tolerance after one look, in batches of two systems."""
    monkeypatch.setattr(gram, "_LOOKS", 1)
    monkeypatch.setattr(gram, "_MORE_LOOKS", 1)
    monkeypatch.setattr(gram, "_STEPS", 1)
    monkeypatch.setattr(active_sets, "_SMALL", 1)
    X, signs, counts = table(seed=4)
    fit = fit_ensemble(kernel_of(X), signs, counts, GRID, tol=1e-6, device="torch")
    assert fit.gap.max() <= 1e-6


def test_blocks_of_bags(monkeypatch):
    X, signs, counts = table()
    whole = fit_ensemble(kernel_of(X), signs, counts, GRID, device="torch")
    sizes = []
    solve = gram._solve_block

    def solve_block(shared, base, *rest):
        sizes.append(len(base))
        return solve(shared, base, *rest)

    monkeypatch.setattr(gram, "_solve_block", solve_block)
    monkeypatch.setattr(devices, "CPU_BYTES", 5 * 2**18)
    seen: list[int] = []
    fit = fit_ensemble(
        kernel_of(X), signs, counts, GRID, device="torch", report=seen.append, tally=tally
    )
    assert len(sizes) > 1
    assert sum(sizes) == sum(seen) == 5
    assert fit.gap.max() <= 1e-3
    K = matrix_of(kernel_of(X))
    scores = (fit.coef @ K + fit.intercept[:, :, None]).transpose(1, 0, 2)
    np.testing.assert_allclose(fit.stacked, scores.sum(2).T, rtol=1e-9)
    np.testing.assert_allclose(fit.summed, scores.sum(0), rtol=1e-9, atol=1e-9)
    # Both are within a ball around the optimum whose radius follows from the gap.
    apart = fit.coef - whole.coef
    squares = np.einsum("kbi,ij,kbj->kb", apart, K, apart)
    primal = [[objective(K, signs, C * c, w, b) for c, w, b in zip(counts, *part, strict=True)]
              for C, *part in zip(GRID, fit.coef, fit.intercept, strict=True)]  # fmt: skip
    assert np.all(squares <= 8e-3 * np.array(primal))


def tally(scores, counts):
    assert scores.shape[0] == len(counts)
    return scores.sum(0).numpy(), scores.sum(2).T.numpy()


def test_a_stop_ends_the_work(monkeypatch):
    X, signs, counts = table()
    task = _make_task(kernel_of(X), None, signs, GRID, None, None, 1e-9, None, 1)
    monkeypatch.setattr(gram, "_first_steps", lambda *args: pytest.fail("work after a stop"))
    monkeypatch.setattr(active_sets, "_step", lambda *args: pytest.fail("work after a stop"))
    gram.solve_gram(task, counts, CPU, None, np.ones(1, np.uint8))


def test_hard_margins_stay_on_the_cpu():
    X, signs, _ = table(30)
    counts = np.where(np.arange(30) < 2, np.inf, 1.0)[None]
    with pytest.warns(UserWarning, match="device='torch' does not take hard margins"):
        fit_ensemble(X, signs, counts, np.ones(1), device="torch")


@pytest.mark.filterwarnings("ignore:kernel='sigmoid' is indefinite")
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_kernel_values_are_those_of_the_map(name, form):
    X, _, _ = table(60)
    options = dict(KERNELS[name])
    feature_map, rows = fit_features(form(X), options.pop("kernel", name), **options)
    np.testing.assert_allclose(device_gram(rows, CPU).numpy(), matrix_of(rows), atol=1e-12)
    new = form(X[:7] + 0.1)
    found = device_map(feature_map, CPU)(new).numpy()
    np.testing.assert_allclose(found, feature_map.transform(new), atol=1e-11)


def test_rbf_of_equal_rows_is_never_above_one():
    X = np.repeat(1e3 * table(30)[0], 2, axis=0)
    _, rows = fit_features(X, "rbf", gamma=0.3)
    assert float(device_gram(rows, CPU).max()) == 1.0


def test_maps_of_other_rows():
    X, _, _ = table(20, 30)
    for samples, options in [
        (X, {"kernel": "linear"}),
        (X[:, :3], {"kernel": "linear"}),
        (X @ X.T, {"kernel": "precomputed"}),
        (X, {"kernel": "rbf", "factored": True}),
        (X, {"kernel": "rbf", "n_components": 5, "rng": 0}),
    ]:
        feature_map, _ = fit_features(samples, **options)
        found = device_map(feature_map, CPU)(samples[:6]).numpy()
        np.testing.assert_allclose(found, feature_map.transform(samples[:6]), atol=1e-10)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_returns_what_the_cpu_confirms():
    X, signs, counts = table(400, 6)
    rows = kernel_of(X)
    fit = fit_ensemble(rows, signs, counts, GRID, device="cuda")
    gap, _ = confirmed(matrix_of(rows), signs, np.ones(len(signs)), counts, GRID, fit)
    assert gap.max() <= 1e-3 * (1 + 1e-6)


@pytest.mark.parametrize("name", ["rbf", "poly"])
def test_members_that_miss_the_tolerance_are_improved_on_the_cpu(name, monkeypatch):
    rows, signs, counts = table()
    features = fit_features(rows, **{"kernel": name, "gamma": 0.3, **KERNELS[name]})[1]
    monkeypatch.setattr(gram, "newton_steps", lambda *_: 0)
    tallied = []

    def tally(scores, counted):
        tallied.append(torch.as_tensor(scores).clone())
        return np.zeros(1), np.zeros((1, len(counted)))

    monkeypatch.setattr(gram, "polish_missed", lambda *_: None)
    assert fit_ensemble(features, signs, counts, GRID, device="torch").gap.max() > 1e-3
    monkeypatch.undo()
    monkeypatch.setattr(gram, "newton_steps", lambda *_: 0)
    found = fit_ensemble(features, signs, counts, GRID, device="torch", tally=tally)
    assert found.gap.max() <= 1e-3
    scores = torch.cat(tallied).numpy()
    assert scores.shape == (5, len(GRID), len(signs))
    features.complete()
    products = np.einsum("kbi,ij->bkj", found.coef, features.table)
    np.testing.assert_allclose(scores, products + found.intercept.T[:, :, None], atol=1e-8)
