"""Progress of a fit: scikit-learn's callbacks where it has them, a line on stderr with verbose."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from svmproba._pace import Pace
from svmproba._sklearn_compat import callback_context, has_callbacks

SECONDS_BETWEEN_LINES = 1.0

#: ``listener(n_more, n_bags)``: so many more bags are done, of all bags of the fit.
Listener = Callable[[int, int], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell a function of the bags that are done, block by block, of all fits in this context."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


class FitProgress:
    """Reports the bags of one fit as they are done; to be called from the fitting thread alone.

    There are `n_bags` in all, over all feature maps. The estimator's ``verbose`` asks for lines on
    stderr; the data, ``X``, ``y`` and ``metadata``, are what callbacks may ask for.
    """

    def __init__(self, estimator: Any, n_bags: int, **data: Any) -> None:
        self._estimator, self._data = estimator, data
        self._n_bags, self._pace = n_bags, Pace(n_bags)
        self._listener = _listener.get()
        self._started = self._printed = time.monotonic()
        self._context = callback_context(estimator, n_bags)
        if self._context is not None:
            self._context.call_on_fit_task_begin(estimator=estimator, **data)

    def __call__(self, n_done_now: int) -> None:
        """Note that so many more bags are done."""
        self._pace.note(n_done_now)
        if self._context is not None and has_callbacks(self._estimator):
            for _ in range(n_done_now):
                bag = self._context.subcontext(task_name="bag")
                bag.call_on_fit_task_begin(estimator=self._estimator)
                bag.call_on_fit_task_end(estimator=self._estimator)
        if self._listener is not None:
            self._listener(n_done_now, self._n_bags)
        if self._estimator.verbose:
            self._print_line()

    def finish(self) -> None:
        """Tell the callbacks that the estimator is fitted."""
        if self._context is not None:
            self._context.call_on_fit_task_end(
                estimator=self._estimator, reconstruction_attributes={}, **self._data
            )

    def _print_line(self) -> None:
        now = time.monotonic()
        is_done = self._pace.done == self._n_bags
        if not is_done and now - self._printed < SECONDS_BETWEEN_LINES:
            return
        self._printed, left = now, self._pace.left()
        when = "" if left is None else f", {left:.0f} s left"
        when = f", done in {now - self._started:.1f} s" if is_done else when
        said = f"{type(self._estimator).__name__}: {self._pace.done} of {self._n_bags} bags"
        print(f"{said}{when}", file=sys.stderr)
