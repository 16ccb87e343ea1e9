"""The batched engine on torch's CPU: certificates, agreement, blocks, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from svmproba.solvers.ensemble import Part, _make_task, fit_ensemble, fit_ensembles
from svmproba.solvers.problem import certify, row_reach
from svmproba.solvers.runtime import devices
from svmproba.solvers.runtime.devices import memory_budget, resolve_device

from ..twins import CASES, CLOSED_FORMS, TRIVIAL, bags, closed_form, objective, records, scores_of

torch = pytest.importorskip("torch", reason="the batched engine needs torch")

from svmproba.solvers.gpu import ensemble, newton, torch_ops  # noqa: E402

GRID = 2.0 ** np.arange(-5.0, 6.0)
CPU = torch.device("cpu")


def fit_on_torch(*args, **options):
    return fit_ensemble(*args, device="torch", **options)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def task():
    rows, signs = records(150, 5, 1)
    return rows, signs, bags(signs, 12).astype(np.uint8), GRID


SOFT = [name for name in CLOSED_FORMS if np.isfinite(closed_form(name)[0].bounds).all()]


@pytest.mark.parametrize("name", SOFT)
def test_closed_forms(name):
    instance, coef, _, _ = closed_form(name)
    rows, signs, targets, bounds = instance
    fit = fit_on_torch(rows, signs, bounds[None], np.ones(1), targets=targets, tol=1e-9)
    value = objective(instance, fit.coef[0, 0], fit.intercept[0, 0])
    if name in TRIVIAL:
        assert value <= 1e-9
    else:
        np.testing.assert_allclose(fit.coef[0, 0], coef, atol=1e-4)
        assert fit.gap.max() <= 1e-9


FINITE = [name for name, case in CASES.items() if np.isfinite(case().counts).all()]
NARROW = [name for name in FINITE if CASES[name]().rows.shape[1] < 400]


@pytest.mark.parametrize("name", NARROW)
def test_twins(name):
    """Objectives are those of the CPU engine, up to the certified gaps of both."""
    case = CASES[name]()
    args, options = case.arguments()
    fit, other = fit_on_torch(*args, **options), fit_ensemble(*args, **options)
    assert fit.gap.max() <= 1e-3
    for k in range(len(case.grid)):
        for b in range(len(case.counts)):
            instance = case.instance(k, b)
            ours = objective(instance, fit.coef[k, b], fit.intercept[k, b])
            theirs = objective(instance, other.coef[k, b], other.intercept[k, b])
            # Both are within their gap of the same optimum.
            assert ours * (1 - fit.gap[k, b]) <= theirs * (1 + 1e-9) + 1e-12
            assert theirs * (1 - other.gap[k, b]) <= ours * (1 + 1e-9) + 1e-12


def random_certificate(seed, n=40, d=3, n_bags=4):
    rng = np.random.default_rng(seed)
    rows, signs = records(n, d, seed)
    targets, base = rng.uniform(0.2, 2.0, n), rng.poisson(1.0, (n_bags, n)).astype(float)
    point = rng.normal(size=(n_bags, 2, d + 1))
    shares = rng.normal(0.5, 1.0, (n_bags, 2, n))
    shares[0, 0, :5] = np.nan
    return rows, signs, targets, base, np.array([0.5, 3.0]), point, shares


@pytest.mark.parametrize("seed", range(5))
def test_certificate_on_the_device_is_that_of_problem(seed):
    """Any numbers, feasible or not: the same gaps and scores as `certify`."""
    rows, signs, targets, base, grid, point, shares = random_certificate(seed)
    bounds = grid[:, None] * base[:, None]
    alphas = np.where(np.isnan(shares), 0.0, shares) * bounds
    w, b = point[:, :, :-1].copy(), point[:, :, -1].copy()
    gap, scores = certify(rows, signs, targets, base, grid, w, b, alphas)
    moved = (torch.as_tensor(part) for part in (rows, signs, targets))
    table = newton.make_table(*moved, 10**9)
    flat = [torch.as_tensor(part).flatten(0, 1).clone() for part in (bounds, point, shares)]
    reach = row_reach(rows)
    reach = reach._replace(inner=torch.as_tensor(reach.inner), outer=torch.as_tensor(reach.outer))
    fixed = (table.rows, table.sums, reach, torch.as_tensor(targets))
    found, margins = ensemble.certify_tensors(*fixed, *flat)
    np.testing.assert_allclose(found.numpy().reshape(gap.shape), gap, rtol=1e-12)
    np.testing.assert_allclose(margins.numpy().reshape(scores.shape), signs * scores, rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_returned_arrays_have_the_certified_gap(task, weighted, monkeypatch):
    """`certify`, given the returned NumPy arrays and the engine's multipliers, confirms the gap."""
    rows, signs, counts, grid = task
    rng, n, kept = np.random.default_rng(0), len(signs), []
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    targets = rng.uniform(0.5, 1.5, n) if weighted else np.ones(n)
    inner = ensemble.certify_tensors
    monkeypatch.setattr(
        ensemble, "certify_tensors", lambda *args: (kept.append(args[-1].clone()), inner(*args))[1]
    )
    fit = fit_on_torch(*task, weight=weight, targets=targets)
    shares = kept[-1].numpy().reshape(len(counts), len(grid), n)
    base = counts * (1.0 if weight is None else weight)
    w, b = (np.ascontiguousarray(part.swapaxes(0, 1)) for part in (fit.coef, fit.intercept))
    alphas = shares * (grid[:, None] * base[:, None])
    gap, _ = certify(rows, signs, targets, base, grid, w, b, alphas)
    np.testing.assert_allclose(fit.gap.T, gap, rtol=1e-9, atol=1e-12)
    assert gap.max() <= 1e-3


def test_models_and_votes_differ_from_the_cpu_engine_within_the_gaps(task):
    r"""Two models of one problem, both within their gap, are not the same, but near.

    P is 1-strongly convex in w, so a model whose gap is g has :math:`\|w-w^*\|^2\le 2gP`, and two
    such models are apart by no more than the sum of these roots. Votes differ only where scores
    are small: here less than 1 % of the votes, none at more than a quarter of a margin.
    """
    rows, signs, counts, grid = task
    fit, other = fit_on_torch(*task), fit_ensemble(*task)
    mine, theirs = scores_of(fit, rows), scores_of(other, rows)
    radius = np.zeros_like(fit.gap)
    for found, scores in ((fit, mine), (other, theirs)):
        hinge = np.einsum("kbn,bn->kb", np.maximum(0.0, 1.0 - signs * scores), counts)
        value = 0.5 * np.square(found.coef).sum(axis=2) + grid[:, None] * hinge
        radius += np.sqrt(2.0 * found.gap * value)
    assert (np.linalg.norm(fit.coef - other.coef, axis=2) <= radius).all()
    differ = (mine > 0) != (theirs > 0)
    assert differ.mean() < 0.01
    assert np.abs(mine[differ]).max(initial=0.0) < 0.25


def test_sharp_tolerance_gives_the_same_models(task):
    fit, other = fit_on_torch(*task, tol=1e-9), fit_ensemble(*task, tol=1e-9)
    assert fit.gap.max() <= 1e-9
    np.testing.assert_allclose(fit.coef, other.coef, atol=2e-3)
    differ = (scores_of(fit, task[0]) > 0) != (scores_of(other, task[0]) > 0)
    assert differ.mean() < 1e-3


def test_same_bits_again(task):
    fit, other = fit_on_torch(*task), fit_on_torch(*task)
    np.testing.assert_array_equal(fit.coef, other.coef)
    np.testing.assert_array_equal(fit.gap, other.gap)


@pytest.mark.parametrize("n_bytes", [1, 2**20])
def test_blocks_fit_the_memory_and_hardly_change_the_result(task, n_bytes, monkeypatch):
    whole, sizes = fit_on_torch(*task), []
    monkeypatch.setattr(devices, "CPU_BYTES", n_bytes)
    fit = fit_on_torch(*task, report=sizes.append)
    expected = ensemble.block_size(150, 6, 11, 12, CPU)
    assert expected < 12
    assert sizes[0] == max(sizes) == expected
    assert sum(sizes) == 12
    assert fit.gap.max() <= 1e-3
    # Products of other shapes are rounded otherwise, and that is all.
    np.testing.assert_allclose(fit.coef, whole.coef, rtol=1e-6, atol=1e-9)


def test_a_block_stays_within_its_budget(monkeypatch):
    """Bytes of all tensors that the steps allocate, as the profiler counts them."""
    rows, signs = records(500, 10)
    counts = bags(signs, 200).astype(np.uint8)
    monkeypatch.setattr(devices, "CPU_BYTES", 4 * 2**20)
    path, grid = (np.zeros((2, 11)), np.zeros((2, 500))), np.array([0.1, 1.0])
    shared = _make_task(rows, None, signs, grid, None, None, 1e-3, None, 1)
    task = ensemble.make_task(shared, rows, path, counts, CPU)
    size = ensemble.block_size(500, 11, 2, 200, CPU)
    assert 1 < size < 200
    with torch.autograd.profiler.profile(profile_memory=True, use_kineto=True) as profile:
        block = ensemble.solve_block([task], [counts[:size]])[0]
    events = sorted(profile.function_events, key=lambda event: event.time_range.start)
    alone = [
        e.cpu_memory_usage if e.name == "[memory]" else e.self_cpu_memory_usage for e in events
    ]
    peak = np.cumsum(alone).max()
    assert 4 * block.scores.nbytes < peak <= memory_budget(CPU)


def test_products_of_columns_in_pieces():
    rows, signs = records(50, 4)
    moved = [torch.as_tensor(part) for part in (rows, signs, np.ones(50))]
    whole, pieces = (newton.make_table(*moved, n_bytes) for n_bytes in (10**9, 1000))
    assert len(pieces.products) == 0
    assert 1 < pieces.piece < 50
    inner, scale = torch.rand((3, 50), dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    found = newton._hessians([pieces], [3], inner, scale)
    torch.testing.assert_close(found, newton._hessians([whole], [3], inner, scale))
    signed = whole.rows * inner[0][:, None].sqrt()
    expected = signed.T @ signed + torch.diag(torch.tensor([1.0] * 4 + [0.0]).double())
    torch.testing.assert_close(found[0], expected)


def test_models_left_by_the_device_are_finished_on_the_cpu(task, monkeypatch):
    monkeypatch.setattr(newton, "MAX_STEPS", 2)
    seen = []

    def tally(scores, counts):
        seen.append(scores.numpy().copy())
        return np.zeros(1), np.zeros((11, len(counts)))

    fit = fit_on_torch(*task, tally=tally)
    assert fit.gap.max() <= 1e-3
    scores = scores_of(fit, task[0]).swapaxes(0, 1)
    np.testing.assert_allclose(np.concatenate(seen), scores, atol=1e-9)


def test_no_memory_halves_the_block(task, monkeypatch):
    solve, sizes = ensemble.solve_block, []

    def crowded(tasks, counts):
        sizes.append(len(counts[0]))
        if len(counts[0]) > 3:
            raise torch.cuda.OutOfMemoryError("no room")
        return solve(tasks, counts)

    monkeypatch.setattr(ensemble, "solve_block", crowded)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    fit = fit_on_torch(*task)
    assert sizes == [12, 6, 3, 3, 3, 3]
    assert fit.gap.max() <= 1e-3


def test_hard_margins_stay_on_the_cpu():
    rows, signs = records(40, 3, noise=0.0)
    counts = np.where(np.arange(40) < 2, np.inf, 1.0)[None]
    fit = fit_ensemble(rows, signs, counts, np.ones(1))
    with pytest.warns(UserWarning, match="device='torch' does not take hard margins"):
        other = fit_on_torch(rows, signs, counts, np.ones(1))
    np.testing.assert_array_equal(fit.coef, other.coef)


def test_wide_rows_stay_on_the_cpu():
    rows, signs = records(30, 450)
    counts = bags(signs, 3)
    fit = fit_ensemble(rows, signs, counts, GRID)
    with pytest.warns(UserWarning, match=r"rows of 450 columns \(at most 399\)"):
        other = fit_on_torch(rows, signs, counts, GRID)
    np.testing.assert_array_equal(fit.coef, other.coef)
    fit_ensemble(rows, signs, counts, GRID, device="auto")  # warns of nothing


def test_narrow_sparse_rows_are_made_dense(task):
    rows, *others = task
    fit = fit_on_torch(sparse.csr_array(rows), *others)
    np.testing.assert_allclose(fit.coef, fit_on_torch(rows, *others).coef, rtol=1e-3, atol=1e-3)
    assert fit.gap.max() <= 1e-3


def test_off_centre_columns(task):
    rows, *others = task
    fit, shifted = fit_on_torch(rows, *others), fit_on_torch(rows + 100.0, *others)
    assert shifted.gap.max() <= 1e-3
    np.testing.assert_allclose(
        scores_of(shifted, rows + 100.0), scores_of(fit, rows), atol=0.3, rtol=0.1
    )


@pytest.mark.parametrize("name", ["gpu", "cuda:", "CUDA", "cuda:-1", "", None, 0])
def test_unknown_names(name):
    with pytest.raises(ValueError, match=r"device must be 'cpu', 'torch', 'cuda', .*, got"):
        resolve_device(name)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
@pytest.mark.parametrize("name", ["cuda", "cuda:1"])
def test_no_cuda(name):
    with pytest.raises(RuntimeError, match=rf"device='{name}': torch .* sees no CUDA device"):
        resolve_device(name)
    assert resolve_device("auto") is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_kernels_do_what_the_operations_do():
    kernels = newton.operations("cuda")
    assert kernels is not torch_ops
    n_models, n = 13, 1500
    generator = torch.Generator("cuda").manual_seed(0)
    draw = {"generator": generator, "device": "cuda", "dtype": torch.float64}
    base = torch.poisson(torch.ones((n_models, n), device="cuda"), generator).to(torch.uint8)
    share, lack = torch.rand((n_models, n), **draw), torch.randn((n_models, n), **draw)
    change, penalty = torch.randn((n_models, n), **draw), torch.rand(n_models, **draw)
    C, ready = torch.rand(n_models, **draw), torch.rand(n_models, **draw) < 0.5
    a0, a1 = -torch.rand(n_models, **draw), torch.rand(n_models, **draw)
    found = []
    for ops in (kernels, torch_ops):
        state = torch_ops.Samples(base, share.clone(), lack.clone())
        weighted, hinge = ops.evaluate(state, penalty)
        first = a0 + C * (weighted * change).sum(1)
        moved = ops.move(state, ready, penalty, 1.5 * penalty)
        first = torch.where(first < 0, first, 0.0)
        tau = ops.line_search(state, change, 1.5 * penalty, C, first, a0, a1)
        found.append((weighted, hinge, *moved, tau, *state[1:]))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def several_tables():
    """Tables of three sizes, one with weights, one with another number of columns."""
    parts = []
    for n, d, seed in ((80, 4, 0), (95, 4, 1), (30, 4, 2), (90, 4, 3), (60, 6, 4)):
        rows, signs = records(n, d, seed)
        weight = np.random.default_rng(seed).uniform(0.5, 2.0, n) if seed == 1 else None
        parts.append(Part(rows + seed, signs, bags(signs, 9).astype(np.uint8), weight))
    return parts


def test_groups_have_like_tables_that_fit_into_the_memory(monkeypatch):
    shapes = [(80, 5), (95, 5), (30, 5), (90, 5), (60, 7)]
    assert ensemble.groups_of(shapes, 11, 9, CPU) == [[2], [0, 3, 1], [4]]
    monkeypatch.setattr(ensemble, "memory_budget", lambda device: 5 * 2**19)
    assert ensemble.groups_of(shapes, 11, 9, CPU) == [[2], [0, 3], [1], [4]]
    monkeypatch.setattr(ensemble, "memory_budget", lambda device: 1)
    assert ensemble.groups_of(shapes, 11, 9, CPU) == [[2], [0], [3], [1], [4]]


@pytest.mark.parametrize("device", ["cpu", "torch"])
def test_several_tables_have_the_members_of_each(device, monkeypatch):
    """Padding and neighbours change nothing but the rounding; every member is certified."""
    sizes, solve = [], ensemble.solve_block

    def note(tasks, counts):
        sizes.append(len(tasks))
        return solve(tasks, counts)

    monkeypatch.setattr(ensemble, "solve_block", note)
    parts, reported = several_tables(), []
    fits = fit_ensembles(parts, GRID, tol=1e-8, device=device, report=reported.append)
    assert sizes == ([] if device == "cpu" else [1, 3, 1])
    assert sum(reported) == 5 * 9
    for part, fit in zip(parts, fits, strict=True):
        rows, signs, counts, weight, *_ = part
        alone = fit_ensemble(rows, signs, counts, GRID, weight=weight, tol=1e-8)
        assert fit.gap.max() <= 1e-8
        assert fit.coef.shape == alone.coef.shape
        np.testing.assert_allclose(fit.coef, alone.coef, atol=3e-3)
        base = counts * (1.0 if weight is None else weight)
        mine, theirs = (
            0.5 * np.square(found.coef).sum(axis=2)
            + GRID[:, None] * np.einsum("kbn,bn->kb", hinges(found, rows, signs), base)
            for found in (fit, alone)
        )
        np.testing.assert_allclose(mine, theirs, rtol=3e-8)  # both gaps, and rounding


def hinges(fit, rows, signs):
    return np.maximum(0.0, 1.0 - signs * scores_of(fit, rows))


def test_tables_of_a_group_that_is_too_large_share_blocks_of_bags(monkeypatch):
    """What does not fit after all is halved, and the bags of every table keep their order."""
    solve, sizes = ensemble.solve_block, []

    def crowded(tasks, counts):
        sizes.append((len(tasks), len(counts[0])))
        if len(tasks) * len(counts[0]) > 15:
            raise torch.cuda.OutOfMemoryError("no room")
        return solve(tasks, counts)

    parts = several_tables()[:2]
    whole = fit_ensembles(parts, GRID, device="torch")
    monkeypatch.setattr(ensemble, "solve_block", crowded)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    fits = fit_ensembles(parts, GRID, device="torch")
    assert sizes == [(2, 9), (2, 5), (2, 4)]
    for fit, other in zip(fits, whole, strict=True):
        np.testing.assert_allclose(fit.coef, other.coef, rtol=1e-6, atol=1e-9)
