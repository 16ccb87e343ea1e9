"""Blocks, jobs, tallies, interruption, and compilation."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from fractions import Fraction
from pathlib import Path

import joblib
import numpy as np
import pytest
from scipy import sparse

import svmproba
from svmproba.solvers import blocks, ensemble, methods
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.features import fit_features
from svmproba.solvers.newton.path import solve_path
from svmproba.solvers.problem import certify

from .twins import bags, records, scores_of

GRID = 2.0 ** np.arange(-5.0, 6.0)
PACKAGE = Path(svmproba.__file__).parent


def tally(scores, counts):
    """Votes and their shares: integers, so that their sums are exact."""
    assert scores.shape == (counts.shape[0], len(GRID), counts.shape[1])
    assert scores.dtype == np.float64
    votes = (scores > 0).sum(axis=0, dtype=np.int64)
    return votes, np.where(counts[:, None] == 0, scores > 0, False).mean(axis=2).T


def assert_bitwise(fit, other):
    for name, array in fit._asdict().items():
        np.testing.assert_array_equal(getattr(other, name), array, err_msg=name, strict=True)


TABLES = {
    "dense": lambda: records(150, 5, 1),
    "sparse": lambda: (sparse.csr_array(records(150, 5, 1)[0]), records(150, 5, 1)[1]),
    "square": lambda: records(80, 60, 2),
    "very wide": lambda: records(30, 450, 3),
}


@pytest.fixture(params=TABLES)
def task(request):
    rows, signs = TABLES[request.param]()
    return rows, signs, bags(signs, 23).astype(np.uint8), GRID


def test_jobs_do_not_change_the_result(task):
    fit = fit_ensemble(*task, tally=tally, n_jobs=1)
    assert_bitwise(fit, fit_ensemble(*task, tally=tally, n_jobs=2))
    assert_bitwise(fit, fit_ensemble(*task, tally=tally, n_jobs=None))


@pytest.mark.parametrize(("name", "most"), [("_BLOCK_SCORES", 1), ("_BLOCK_BAGS", 2)])
def test_blocks_do_not_change_the_result(task, name, most, monkeypatch):
    fit = fit_ensemble(*task, tally=tally, n_jobs=1)
    monkeypatch.setattr(ensemble, name, most)
    finished = []
    other = fit_ensemble(*task, tally=tally, n_jobs=1, report=finished.append)
    assert_bitwise(fit, other)
    assert max(finished) <= most
    assert sum(finished) == 23


@pytest.mark.parametrize("bags_at_once", [1, 4])
def test_portions_do_not_change_the_result(task, bags_at_once, monkeypatch):
    seen = []

    def note(scores, counts):
        seen.append(len(scores))
        return tally(scores, counts)

    fit = fit_ensemble(*task, tally=tally, n_jobs=1)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", bags_at_once * 2 * 8 * 11 * task[0].shape[0])
    assert_bitwise(fit, fit_ensemble(*task, tally=note, n_jobs=1))
    assert max(seen) == bags_at_once
    assert sum(seen) == 23


@pytest.mark.parametrize(
    ("n", "n_workers", "threads", "processes"),
    [
        (900, 1, 125, 423),  # 5 million scores: little enough for one block a worker
        (900, 2, 63, 250),
        (900, 4, 32, 125),
        (900, 8, 16, 63),  # no worker is left without a block
        (20, 2, 63, 250),
        (24_304, 2, 15, 15),
        (10**7, 2, 1, 1),
    ],
)
def test_blocks_are_larger_where_they_are_sent(n, n_workers, threads, processes):
    with joblib.parallel_config("threading"):
        assert ensemble._block_size(n, 11, 500, n_workers) == threads
    with joblib.parallel_config("loky"):
        assert ensemble._block_size(n, 11, 500, n_workers) == processes


def test_shapes_and_tallies(task):
    rows, signs, counts, grid = task
    finished = []
    fit = fit_ensemble(*task, tally=tally, report=finished.append)
    n, d = rows.shape
    assert fit.coef.shape == (11, 23, d)
    assert fit.intercept.shape == fit.gap.shape == (11, 23)
    assert sum(finished) == 23
    scores = scores_of(fit, rows.toarray() if sparse.issparse(rows) else rows)
    votes, shares = tally(np.ascontiguousarray(scores.transpose(1, 0, 2)), counts)
    np.testing.assert_array_equal(fit.summed, votes, strict=True)
    np.testing.assert_array_equal(fit.stacked, shares, strict=True)
    # The gap is that of problem.certify, which multipliers of 0 can only make larger.
    w, b = (np.ascontiguousarray(a.swapaxes(0, 1)) for a in (fit.coef, fit.intercept))
    gap, _ = certify(
        rows, signs, np.ones(n), counts.astype(float), grid, w, b, np.zeros((23, 11, n))
    )
    assert (fit.gap >= 0).all()
    assert (fit.gap <= np.minimum(gap.T, 1e-3)).all()


def test_hardly_a_bag_is_solved_twice(task, monkeypatch):
    again, calls = blocks.solve_again, []
    monkeypatch.setattr(blocks, "solve_again", lambda *args: calls.append(args) or again(*args))
    fit_ensemble(*task, n_jobs=1)
    assert len(calls) <= 1


def test_without_a_tally():
    fit = fit_ensemble(*records(20, 2), np.ones((2, 20)), GRID)
    assert fit.summed is None
    assert fit.stacked is None


@pytest.mark.parametrize("n_bags", [1, 2, 5])
@pytest.mark.parametrize("n_C", [1, 2])
def test_few_bags_and_small_grids(n_bags, n_C):
    rows, signs = records(50, 3)
    counts, finished = bags(signs, n_bags), []
    fit = fit_ensemble(rows, signs, counts, GRID[:n_C], report=finished.append)
    assert fit.gap.shape == (n_C, n_bags)
    assert fit.gap.max() <= 1e-3
    assert sum(finished) == n_bags


@pytest.mark.parametrize("d", [4, 60, 450])
def test_bags_without_records_or_without_a_class(d):
    rows, signs = records(60, d)
    counts = bags(signs, 8)
    counts[0] = 0.0
    counts[1, signs > 0] = 0.0
    counts[5, signs < 0] = 0.0
    fit = fit_ensemble(rows, signs, counts, GRID)
    assert fit.gap.max() <= 1e-3
    assert (scores_of(fit, rows)[:, 1, counts[1] > 0] <= -1 + 1e-3).all()
    assert (scores_of(fit, rows)[:, 5, counts[5] > 0] >= 1 - 1e-3).all()


def test_two_records():
    fit = fit_ensemble(np.array([[0.0], [2.0]]), np.array([-1.0, 1.0]), np.ones((3, 2)), GRID)
    assert fit.gap.max() <= 1e-3
    # w = min(1, 2C) at distance 2: see the dual, alpha = min(C, 1/2).
    np.testing.assert_allclose(fit.coef[:, 0, 0], np.minimum(1.0, 2 * GRID), rtol=0.05)


def test_the_grid_may_be_in_any_order():
    rows, signs = records(60, 3)
    counts = bags(signs, 6)
    fit = fit_ensemble(rows, signs, counts, GRID, tol=1e-9)
    other = fit_ensemble(rows, signs, counts, GRID[::-1].copy(), tol=1e-9)
    assert other.gap.max() <= 1e-9
    np.testing.assert_allclose(other.coef[::-1], fit.coef, atol=1e-3)


@pytest.mark.parametrize("d", [4, 60])
@pytest.mark.parametrize("n_bags", [1, 6])
@pytest.mark.parametrize("C", [1e-6, 1e6])
def test_extreme_C(C, n_bags, d):
    for noise in (0.0, 1.0):
        rows, signs = records(100, d, noise=noise)
        fit = fit_ensemble(rows, signs, bags(signs, n_bags), np.array([C]))
        assert fit.gap.max() <= 1e-3


@pytest.mark.parametrize("kernel_rows", [0, 4000])
@pytest.mark.parametrize("d", [1, 60, 450])
def test_records_that_tell_nothing(d, kernel_rows, monkeypatch):
    monkeypatch.setattr(methods, "_KERNEL_ROWS", kernel_rows)
    signs = np.where(np.arange(30) < 10, 1.0, -1.0)
    for rows in (np.zeros((30, d)), np.ones((30, d)), sparse.csr_array((30, d))):
        fit = fit_ensemble(rows, signs, bags(signs, 6), GRID)
        assert fit.gap.max() <= 1e-3
        # The larger class is right everywhere; the others lose twice their bound.
        np.testing.assert_allclose(rows @ fit.coef[0, 0] + fit.intercept[0, 0], -1.0, atol=1e-2)


@pytest.mark.parametrize("d", [4, 60])
def test_columns_on_very_different_scales(d):
    rows, signs = records(100, d)
    rows *= 10.0 ** np.linspace(-3, 3, d)
    fit = fit_ensemble(rows, signs, bags(signs, 6), GRID)
    assert fit.gap.max() <= 1e-3


@pytest.mark.parametrize(
    ("mean", "deviation"), [(2000, 10), (0, 1e-5), (0, 1e5), (1.7e5, 1e3)], ids=str
)
@pytest.mark.parametrize("d", [4, 20, 60])
def test_a_column_in_other_units(d, mean, deviation):
    rows, signs = records(200, d)
    rows[:, 0] = mean + deviation * rows[:, 0]
    fit = fit_ensemble(rows, signs, bags(signs, 6), GRID)
    assert fit.gap.max() <= 1e-3


@pytest.mark.parametrize("d", [4, 20, 60])
def test_what_rounding_forbids_is_still_a_number(d):
    rows, signs = records(200, d)
    rows[:, 0] = 1.7e9 + 1e7 * rows[:, 0]  # times in seconds, beside columns of size 1
    fit = fit_ensemble(rows, signs, bags(signs, 6), GRID)
    assert np.isfinite(fit.coef).all()
    assert np.isfinite(fit.intercept).all()
    assert np.isfinite(fit.gap).all()


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("d", [4, 60])
def test_weights_of_any_size(d, scale):
    rows, signs = records(100, d)
    weight = np.full(100, scale)
    fit = fit_ensemble(rows, signs, bags(signs, 6), GRID / scale, weight=weight)
    assert fit.gap.max() <= 1e-3


@pytest.mark.parametrize("d", [1, 60])
def test_hard_margins_that_cannot_be_met(d):
    rows = np.repeat(np.random.default_rng(0).normal(size=(30, d)), 2, axis=0)
    signs = np.tile([1.0, -1.0], 30)  # every record with both labels
    counts = np.ones((6, 60))
    counts[:, :2] = np.inf
    started = time.monotonic()
    fit = fit_ensemble(rows, signs, counts, GRID)
    assert time.monotonic() - started < 20  # compilation included
    assert (fit.gap == np.inf).all()
    assert np.isfinite(fit.coef).all()
    assert np.isfinite(fit.intercept).all()


def test_a_model_that_cannot_be_met_spares_the_others():
    rows, signs = np.array([[-1.0], [1.0], [1.0]]), np.array([-1.0, 1.0, -1.0])
    counts = np.array([[1.0, np.inf, np.inf], [1.0, 1.0, 0.0]])
    fit = fit_ensemble(rows, signs, counts, GRID)
    assert (fit.gap[:, 0] == np.inf).all()
    assert (fit.gap[:, 1] <= 1e-3).all()


def test_the_input_is_left_alone():
    rows, signs = records(40, 3)
    arrays = [rows, signs, bags(signs, 6), GRID.copy(), np.ones(40), np.ones(40)]
    for array in arrays:
        array.flags.writeable = False
    fit_ensemble(*arrays[:4], weight=arrays[4], targets=arrays[5])


def test_every_layout_shares_one_compiled_function():
    rows, signs = records(40, 3)
    counts, named = bags(signs, 6), {"weight": np.ones(40), "targets": np.ones(40)}
    fit = fit_ensemble(rows, signs, counts, GRID, **named)
    compiled = len(solve_path.signatures)
    strided = {name: np.ones(80)[::2] for name in named}
    for other in (
        fit_ensemble(rows, signs, np.asfortranarray(counts), GRID, **named),
        fit_ensemble(rows, signs, counts.astype(np.uint8), GRID, **named),
        fit_ensemble(rows, np.repeat(signs, 2)[::2], counts, np.repeat(GRID, 2)[::2], **strided),
        fit_ensemble(rows, signs, counts, GRID, weight=np.ones(40, int), targets=np.ones(40, int)),
    ):
        assert_bitwise(fit, other)
    for array in (rows, signs, counts, *named.values()):
        array.flags.writeable = False  # as joblib's shared memory is
    assert_bitwise(fit, fit_ensemble(rows, signs, counts, GRID, **named))
    assert len(solve_path.signatures) == compiled


def test_sparse_rows_are_not_densified():
    n, d = 2000, 20_000  # 320 MB as an array
    rng = np.random.default_rng(0)
    rows = sparse.random_array((n, d), density=0.001, format="csr", rng=rng)
    signs = np.where(rows @ rng.normal(size=d) > 0, 1.0, -1.0)
    tracemalloc.start()
    try:
        fit = fit_ensemble(rows, signs, bags(signs, 2), np.array([0.1, 10.0]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert fit.gap.max() <= 1e-3
    assert peak < 200e6


@pytest.mark.parametrize("name", ["german", "wisconsin", "churn", "leukemia", "adult"])
def test_data_of_the_paper(name, data_dir):
    pytest.importorskip("pandas")
    from svmproba.paper.data.datasets import load_dataset
    from svmproba.preparation.preprocessing import make_preprocessor

    X, y = load_dataset(name, data_dir)
    _, rows = fit_features(make_preprocessor(X).fit_transform(X))
    signs = np.where(y == 1, 1.0, -1.0)
    counts = bags(signs, 5).astype(np.uint8)
    fit = fit_ensemble(rows, signs, counts, GRID)
    assert fit.gap.max() <= 1e-3


PROCESSES = """
import joblib, numpy as np
from svmproba.solvers.ensemble import fit_ensemble

rng = np.random.default_rng(0)
signs = np.where(rng.random(700) < 0.5, -1.0, 1.0)
rows = rng.normal(size=(700, 200)) + 0.2 * signs[:, None]  # joblib shares it as a read-only file
counts = rng.integers(0, 3, (6, 700), dtype=np.uint8)
grid = 2.0 ** np.arange(-5, 6)
tally = lambda scores, counts: ((scores > 0).sum(axis=0), scores.mean(axis=2).T)
fit = fit_ensemble(rows, signs, counts, grid, tally=tally, n_jobs=1)
with joblib.parallel_config("loky", n_jobs=2):
    other = fit_ensemble(rows, signs, counts, grid, tally=tally)
for one, two in zip(fit, other):
    np.testing.assert_array_equal(one, two)
"""
LONG_FIT = """
import signal
import sys
import numpy as np
from svmproba.solvers.ensemble import fit_ensemble

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in jobs in the background

rng = np.random.default_rng(0)
signs = np.where(rng.random(20_000) < 0.5, -1.0, 1.0)
rows = rng.normal(size=(20_000, 50)) + 0.2 * signs[:, None]
counts = rng.integers(0, 3, (2000, 20_000), dtype=np.uint8)
report = lambda n_bags: print("running", flush=True)
fit_ensemble(rows, signs, counts, 2.0 ** np.arange(-5, 6), n_jobs=int(sys.argv[1]), report=report)
"""


def start(code, *arguments, path=PACKAGE.parent, **environment):
    env = {**os.environ, "PYTHONPATH": str(path), **environment}
    if path != PACKAGE.parent:  # a copy of the package, which has to find a folder for its cache
        for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
            env.pop(name, None)
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    )


def run(code, **options):
    """Output of a process that must end well."""
    process = start(code, PYTHONDONTWRITEBYTECODE="1", **options)
    try:
        output, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    return output.strip()


def test_processes_do_not_change_the_result():
    rows, signs = records(700, 200)
    fit_ensemble(rows, signs, bags(signs, 6), GRID)
    # What this process has compiled itself may differ in the last bit from what it left in the
    # cache, so processes that all take it from there are compared.
    run(PROCESSES)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process")
@pytest.mark.parametrize("n_jobs", ["1", "2"])
def test_ctrl_c_is_heard(n_jobs):
    process = start(LONG_FIT, n_jobs)
    try:
        assert process.stdout.readline() == "running\n", process.stderr.read()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)  # the whole fit takes minutes
    finally:
        process.kill()
    assert process.returncode != 0
    assert errors.rstrip().endswith("KeyboardInterrupt")


def test_no_block_is_solved_in_the_main_thread(monkeypatch):
    """Ctrl-C would be heard only when the block is done."""
    threads, solve_block = [], ensemble.solve_block

    def note(*arguments):
        threads.append(threading.current_thread())
        return solve_block(*arguments)

    monkeypatch.setattr(ensemble, "solve_block", note)
    rows, signs = records(60, 3)
    fit_ensemble(rows, signs, bags(signs, 6), GRID, n_jobs=1)
    assert threads
    assert threading.main_thread() not in threads


TINY_FIT = """
import numpy as np
from svmproba.solvers.ensemble import fit_ensemble
from svmproba.solvers.newton.path import solve_path

fit = fit_ensemble(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.ones((1, 2)), np.ones(1))
assert fit.gap.max() <= 1e-3
stats = solve_path.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


@pytest.fixture
def read_only_package(tmp_path):
    """Copy of the package whose folder cannot hold a cache, even for root."""
    shutil.copytree(PACKAGE, tmp_path / "svmproba", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("solvers", "solvers/newton"):
        (tmp_path / "svmproba" / folder / "__pycache__").touch()
    return tmp_path


def test_compiled_code_is_cached_when_the_package_is_read_only(read_only_package, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    assert run(TINY_FIT, path=read_only_package, HOME=str(home)) == "0 1"
    assert run(TINY_FIT, path=read_only_package, HOME=str(home)) == "1 0"


def test_nothing_is_cached_when_no_folder_can_be_written(read_only_package):
    missing, again = "/proc/nonexistent", "\n".join(TINY_FIT.splitlines()[5:7])
    told = "warnings.catch_warnings(record=True, action='always') as caught"
    fits = "\n".join(f"    {line}" for line in again.splitlines())
    code = f"import warnings\n{TINY_FIT.partition('fit = ')[0]}\nwith {told}:\n{fits}\n{fits}\n"
    code += "print(len(caught), 'NUMBA_CACHE_DIR' in str(caught[0].message))"
    env = {"HOME": missing, "LOCALAPPDATA": missing}
    assert run(code, path=read_only_package, **env) == "1 True"


def exact_objective(rows, signs, bounds, coef, intercept):
    """Primal value of the numbers as they are, with no rounding at all."""
    w, b = [Fraction(x) for x in coef.tolist()], Fraction(float(intercept))
    value = sum(x * x for x in w) / 2
    for row, sign, c in zip(rows.tolist(), signs.tolist(), bounds.tolist(), strict=True):
        score = sum(x * Fraction(a) for x, a in zip(w, row, strict=True)) + b
        value += Fraction(c) * max(Fraction(0), 1 - Fraction(sign) * score)
    return value


@pytest.mark.parametrize("device", ["cpu", "torch"])
@pytest.mark.parametrize("form", ["dense", "sparse", "wide"])
@pytest.mark.parametrize("shift", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_gaps_are_bounds_in_exact_arithmetic(shift, form, noise, device):
    """Of the shifted columns too, whose best value is that of the others: the bias is free."""
    if device == "torch":
        pytest.importorskip("torch")
    rows, signs = records(40, 50 if form == "wide" else 4, noise=noise)
    rows = np.round(rows * 1024) / 1024  # so that the shift loses no digit
    counts, grid = bags(signs, 2), np.array([0.1, 10.0, 1000.0])
    moved = rows + shift
    assert (moved - shift == rows).all()
    best = fit_ensemble(rows, signs, counts, grid, tol=1e-9)
    map_, mapped = fit_features(sparse.csr_array(moved) if form == "sparse" else moved)
    fit = fit_ensemble(mapped, signs, counts, grid, tol=1e-7, device=device)
    coef = map_.input_coef(fit.coef)
    for k, C in enumerate(grid):
        for b, count in enumerate(counts):
            known = exact_objective(rows, signs, C * count, best.coef[k, b], best.intercept[k, b])
            value = exact_objective(moved, signs, C * count, coef[k, b], fit.intercept[k, b])
            assert value - known <= Fraction(float(fit.gap[k, b])) * value
    if shift < 1e8 and form == "dense":
        assert fit.gap.max() <= 1e-6  # no idle bound


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_blocks_in_other_threads_are_told_to_stop(error, monkeypatch):
    """Or they would go on after Ctrl-C, and the interpreter would wait for them at its end."""
    flags, solve = [], ensemble.solve_block

    def note(task, counts, stop):
        flags.append(stop)
        return solve(task, counts, stop)

    def fail(n_bags):
        raise error

    monkeypatch.setattr(ensemble, "solve_block", note)
    rows, signs = records(50, 3)
    with pytest.raises(error):
        fit_ensemble(rows, signs, bags(signs, 6), GRID, n_jobs=1, report=fail)
    assert flags
    assert all(flag[0] == 1 for flag in flags)


def test_a_kernel_matrix_takes_no_hard_margins():
    rows, signs = records(20, 2, 0)
    counts = np.ones((1, 20))
    counts[0, 0] = np.inf
    with pytest.raises(ValueError, match="a kernel matrix takes no hard margins"):
        fit_ensemble(fit_features(rows, "rbf")[1], signs, counts, np.ones(1))
