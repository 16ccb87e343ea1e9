"""The contract of a method, and which one serves which table."""

from pathlib import Path

import numpy as np
import pytest

from svmproba.solvers import blocks
from svmproba.solvers.ensemble import _make_task
from svmproba.solvers.gram import Gram
from svmproba.solvers.methods import METHODS, Shape

from .twins import bags, records

GRID = np.array([0.1, 1.0, 10.0])
GUIDE = Path(__file__).parents[2] / "docs" / "solver.md"


@pytest.mark.parametrize(
    ("n", "width", "n_bags", "hard", "kernel", "names"),
    [
        (500, 32, 500, False, False, ["exact path", "newton"]),
        (500, 32, 4, False, False, ["newton"]),  # too few bags to learn from
        (500, 32, 500, True, False, ["newton"]),
        (500, 504, 500, False, False, ["smo"]),
        (500, 504, 500, True, False, ["newton"]),
        (50_000, 32, 500, False, False, ["exact path", "newton"]),
        (50_000, 504, 500, False, False, ["coordinate descent"]),
        (50_000, 504, 500, True, False, ["coordinate descent"]),
        (500, 1, 500, False, True, ["smo"]),
        (500, 1, 6, False, True, ["smo"]),
        (1500, 1, 6, False, True, ["working sets"]),  # rows when they are needed
        (15_000, 1, 500, False, True, ["working sets"]),
    ],
)
def test_which_method_serves_which_table(n, width, n_bags, hard, kernel, names):
    """The first of these is tried; exact paths may decline."""
    shape = Shape(n, width, n_bags, hard, kernel)
    serving = [name for name, method in METHODS.items() if method.serves(shape)]
    assert serving[: len(names)] == names


def test_the_guide_has_the_same_table():
    lines = GUIDE.read_text(encoding="utf-8").split("## Which method serves")[1].splitlines()
    rows = [line.split("|")[1].strip().lower() for line in lines if line.startswith("| ")]
    assert rows[2:] == list(METHODS)


@pytest.mark.parametrize("name", ["smo", "working sets"])
def test_long_work_on_a_kernel_needs_no_help(name, monkeypatch):
    """The gap is looked at on the way: neither too few steps are taken nor far too many."""
    monkeypatch.delattr(blocks, "solve_again")
    monkeypatch.delattr(blocks, "polish")
    rows, signs = records(300, 4, 1)
    squares = np.square(rows).sum(axis=1)
    kernel = np.exp(-0.3 * (squares[:, None] + squares - 2.0 * rows @ rows.T))
    counts, stop = bags(signs, 3), np.zeros(1, np.uint8)
    gram, none = Gram.of_matrix(kernel), (None,) * 2
    task = _make_task(gram, None, signs, np.array([1.0, 30.0]), *none, 1e-3, None, 1)
    prepared = METHODS[name].prepare(task, counts, stop)
    members = blocks.solve_block(prepared._replace(method=name), counts, stop)
    assert 1e-6 < members.gap.max() <= 1e-3


@pytest.mark.parametrize("name", METHODS)
def test_every_method_keeps_the_contract(name, monkeypatch):
    """One table that all can take; nobody is helped by a second attempt."""
    monkeypatch.delattr(blocks, "solve_again")
    monkeypatch.delattr(blocks, "polish")
    rows, signs = records(30, 450, 3)
    counts, stop = bags(signs, 6), np.zeros(1, np.uint8)
    task = _make_task(rows, None, signs, GRID, None, None, 1e-3, None, 1)
    if name == "working sets":
        task = task._replace(gram=Gram.of_matrix(rows @ rows.T), width=1)
    prepared = METHODS[name].prepare(task, counts, stop)
    members = blocks.solve_block(prepared._replace(method=name), counts, stop)
    assert members.coef.shape == (3, 6, 450)
    assert members.gap.max() <= 1e-3
