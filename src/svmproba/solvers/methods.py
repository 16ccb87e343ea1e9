"""What a method is, and which one serves which table.

A method finds the members of a bag for all values of C. It consists of

* ``serves(shape)``: whether it may take a table of this shape;
* ``prepare(task, counts, stop)``: returns the task with what all bags share (`Task.plan`), or None
  where the first bags show that another method is faster;
* ``space(problem, width)``: the memory it works in, allocated once for many bags;
* ``solve(task, space, base, stop, out)``: solves the bag with bounds ``C * base`` and writes
  weights with the bias (n_C, width) and multipliers (n_C, n) to the two arrays of ``out``. Methods
  that work on a kernel matrix write the bias alone, ``width`` is 1.

No method judges its result. :mod:`~svmproba.solvers.blocks` computes every gap by
:func:`~svmproba.solvers.problem.certify` or :func:`~svmproba.solvers.problem.certify_gram`, and
solves bags above the tolerance once more by Newton steps from a cold start, where these can take
the table (`newton_serves`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from svmproba._types import Floats, Rows
from svmproba.solvers.core.rows import signed_rows
from svmproba.solvers.core.tables import row_products
from svmproba.solvers.dual.coordinate_descent import solve_sweeps
from svmproba.solvers.dual.smo import new_space, solve_pairs
from svmproba.solvers.dual.working_sets import SET_SIZE, solve_sets
from svmproba.solvers.exact_path.homotopy import find_route, new_walk, walk_path
from svmproba.solvers.gram import Gram
from svmproba.solvers.newton.guide import learn_guide, no_guide
from svmproba.solvers.newton.lagrangian import DIRECT_WIDTH, clear, new_state
from svmproba.solvers.newton.path import solve_path
from svmproba.solvers.problem import Problem

#: Samples up to which the kernel matrix of wide rows is kept (128 MB).
_KERNEL_ROWS = 4000
#: Bags up to which the rows of a kernel matrix are computed when they are needed.
FEW_BAGS = 16
#: Bags that are solved first, to learn from. Fewer than twice as many bags are not worth it.
_PILOTS = 2

Pair = tuple[Floats, Floats]
Tally = Callable[[Any, Any], Pair]


class Task(NamedTuple):
    """What all bags share."""

    rows: Rows  #: None for the samples of a kernel
    reach: Any  #: `Reach` of the rows
    problem: Problem
    width: int  #: columns of the signed rows, with bias and padding
    grid: Floats  #: (n_C,), increasing values of C
    tol: float  #: relative gap that every member should reach
    weight: Floats | None  #: (n,), factors of the bounds
    tally: Tally | None
    n_threads: int  #: for products of the whole table
    gram: Any = None  #: `Gram` of the samples, or of wide rows; None: not needed
    method: str = ""  #: key of `METHODS`
    plan: Any = None  #: what the method learned
    n_kept: int = 0  #: training samples whose scores are returned


class Shape(NamedTuple):
    """What the choice of a method depends on."""

    n: int  #: samples
    width: int  #: columns of the signed rows
    n_bags: int
    hard: bool  #: some bounds are infinite
    kernel: bool  #: the table is a kernel matrix

    @property
    def narrow(self) -> bool:
        """Whether the Newton matrix can be formed and factored."""
        return not self.kernel and self.width <= DIRECT_WIDTH

    @property
    def few(self) -> bool:
        """Whether rows of the kernel matrix are better computed when they are needed."""
        return self.n_bags <= FEW_BAGS

    @property
    def short(self) -> bool:
        """Whether the kernel matrix can be kept."""
        return self.n <= _KERNEL_ROWS


class Method(NamedTuple):
    """See the text above."""

    serves: Callable[[Shape], bool]
    prepare: Callable[[Task, Any, Any], Task | None]
    space: Callable[[Problem, int], Any]
    solve: Callable[[Task, Any, Floats, Any, Pair], None]


def choose_method(task: Task, counts: Any, stop: Any) -> Task:
    """Prepare the first method that serves the table, with ``counts`` (n_bags, n)."""
    hard = bool(np.isinf(counts).any())
    n, kernel = task.problem.signs.shape[0], task.gram is not None
    shape = Shape(n, task.width, counts.shape[0], hard, kernel)
    for name, method in METHODS.items():
        prepared = method.prepare(task, counts, stop) if method.serves(shape) else None
        if prepared is not None:
            return prepared._replace(method=name)
    raise AssertionError("the last method serves every table")


def bounds_of(task: Task, counts: Any) -> Floats:
    """Bounds at C = 1."""
    base = np.array(counts, np.float64, order="C")
    if task.weight is not None:
        base *= task.weight
    return base


def full_bounds(task: Task) -> Floats:
    """Bounds of the full sample at C = 1."""
    return np.ones(task.problem.signs.shape[0]) if task.weight is None else task.weight


def newton_serves(task: Task) -> bool:
    """Whether Newton steps can take the table: narrow rows, or a kernel matrix at hand."""
    narrow = task.gram is None and task.width <= DIRECT_WIDTH
    return narrow or task.problem.kernel is not None


def _prepare_exact(task: Task, counts: Any, stop: Any) -> Task | None:
    pilots = bounds_of(task, counts[:_PILOTS])
    fixed = (task.problem, task.width, full_bounds(task), pilots)
    route = find_route(*fixed, task.grid, task.tol, stop)
    return None if route is None else task._replace(plan=route)


def _solve_exact(task: Task, space: Any, base: Floats, stop: Any, out: Pair) -> None:
    watched = np.zeros(task.grid.shape[0])
    fixed = (task.problem, space, base, task.grid, task.tol, task.plan)
    walk_path(*fixed, stop, *out, watched)


def _prepare_newton(task: Task, counts: Any, stop: Any) -> Task:
    task = _with_kernel(task)
    if counts.shape[0] <= 2 * _PILOTS:
        return task._replace(plan=no_guide(task.grid.shape[0]))
    state, pilots = new_state(task.problem, task.width), bounds_of(task, counts[:_PILOTS])
    fixed = (task.problem, task.rows, state, full_bounds(task), pilots)
    return task._replace(plan=learn_guide(*fixed, task.grid, task.tol, stop))


def _solve_newton(task: Task, space: Any, base: Floats, stop: Any, out: Pair) -> None:
    clear(space)
    moved = np.zeros(task.grid.shape[0])
    fixed = (task.problem, space, base, task.grid, task.tol, task.plan)
    solve_path(*fixed, stop, *out, moved)


def _prepare_sets(task: Task, counts: Any, stop: Any) -> Task:
    """Few bags use rows of the kernel matrix one after the other, and threads within a row."""
    assert task.gram is not None
    task.gram.n_threads = task.n_threads
    if counts.shape[0] > FEW_BAGS:
        task.gram.complete()
    return task


def _solve_sets(task: Task, space: Any, base: Floats, stop: Any, out: Pair) -> None:
    assert task.gram is not None
    fixed = (task.problem.signs, task.problem.targets, base, task.grid, task.tol, stop)
    solve_sets(task.gram, *fixed, out[0][:, 0], out[1])


def _prepare_smo(task: Task, counts: Any, stop: Any) -> Task:
    gram = task.gram
    if gram is None:
        gram = Gram.of_matrix(row_products(task.rows, task.n_threads))
    gram.n_threads = task.n_threads
    if counts is None or counts.shape[0] > FEW_BAGS:
        gram.complete()
    gram.singles()
    return task._replace(gram=gram, width=1)


def _smo_space(problem: Problem, width: int) -> Any:
    return new_space(problem.signs.shape[0])


def _solve_smo(task: Task, space: Any, base: Floats, stop: Any, out: Pair) -> None:
    assert task.gram is not None
    kernel, problem = (task.gram.singles(), task.gram.unit), task.problem
    fixed = (*kernel, problem.signs, problem.targets, space, base, task.grid)
    solve_pairs(*fixed, task.tol, stop, out[0][:, 0], out[1])


def _no_space(problem: Problem, width: int) -> None:
    """Methods that allocate their few vectors themselves."""


def _prepare_descent(task: Task, counts: Any, stop: Any) -> Task:
    return task


def _solve_descent(task: Task, space: Any, base: Floats, stop: Any, out: Pair) -> None:
    solve_sweeps(task.problem, base, task.grid, task.tol, stop, *out)


#: The methods, in the order in which they are tried. Exact paths also decline tables that are not
#: small, dense and nearly separable, and those whose first bags have long paths.
METHODS = {
    "exact path": Method(
        lambda t: t.narrow and not t.hard and t.n_bags > 2 * _PILOTS,
        _prepare_exact, new_walk, _solve_exact,
    ),
    "newton": Method(
        lambda t: t.narrow or (t.hard and t.short),
        _prepare_newton, new_state, _solve_newton,
    ),
    "working sets": Method(
        lambda t: t.kernel and ((t.few and t.n > SET_SIZE) or not t.short),
        _prepare_sets, _no_space, _solve_sets,
    ),
    "smo": Method(
        lambda t: t.kernel or t.short,
        _prepare_smo, _smo_space, _solve_smo,
    ),
    "coordinate descent": Method(
        lambda t: True,
        _prepare_descent, _no_space, _solve_descent,
    ),
}  # fmt: skip


def _with_kernel(task: Task) -> Task:
    """Add the kernel matrix of the signed rows, if they are wide and not too many."""
    problem = task.problem
    if problem.signs.shape[0] > _KERNEL_ROWS or task.width <= DIRECT_WIDTH:
        return task
    kernel = row_products(task.rows, task.n_threads) * np.outer(problem.signs, problem.signs)
    return task._replace(problem=problem._replace(kernel=kernel))


def without_products(task: Task) -> Task:
    """Leave out what a worker process computes sooner than it receives it."""
    problem = task.problem._replace(table=None, kernel=None)
    gram = task.gram if task.rows is None else None
    return task._replace(problem=problem, gram=gram, n_threads=1)


def with_products(task: Task) -> Task:
    """Compute it again."""
    if task.rows is not None:
        table, _ = signed_rows(task.rows, task.problem.signs)
        task = _with_kernel(task._replace(problem=task.problem._replace(table=table)))
    if task.gram is not None:
        task.gram.complete()  # a worker may have several threads
    return _prepare_smo(task, None, None) if task.method == "smo" else task
